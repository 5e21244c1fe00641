//! Text to syntax trees, within limits.
//!
//! The parser's own recursion is limited by depth. Chains of operators (`1+1+1+…`) are parsed in a loop into a tree
//! as deep as the chain is long, and such a tree is walked and dropped by recursion: their number is limited before
//! the parser sees them.

use crate::error::{ClientError, SqlState};
use crate::policy::Limits;
use sqlparser::ast::{self, Spanned};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// Operators, keywords that chain, and opening brackets allowed in one message, for each level of `limits.max_depth`.
const CHAIN_PER_DEPTH: usize = 20;

/// One parsed statement with the text it came from.
pub struct Parsed {
    /// sqlparser's tree.
    pub ast: ast::Statement,
    /// Where lines of the whole message start, to turn locations into positions.
    pub lines: Lines,
    /// Where the statement starts.
    pub start: Option<usize>,
}

/// Turns a line and a column into a character position in the message.
#[derive(Clone, Debug)]
pub struct Lines(std::sync::Arc<Vec<usize>>, usize);

impl Lines {
    fn of(sql: &str) -> Self {
        let mut starts = vec![0];
        let mut length = 0;
        for (i, c) in sql.chars().enumerate() {
            length = i + 1;
            if c == '\n' {
                starts.push(i + 1);
            }
        }
        Self(starts.into(), length)
    }

    /// The position behind the last character.
    fn end(&self) -> usize {
        self.1 + 1
    }

    /// The position (characters, from 1) of a location; None for the empty location.
    pub fn position(&self, at: Location) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        Some(self.0.get(line)? + usize::try_from(at.column).ok()?)
    }

    /// The position where a node starts.
    pub fn start(&self, node: &impl Spanned) -> Option<usize> {
        self.position(node.span().start)
    }
}

/// Parses a message into its statements.
pub fn parse(sql: &str, limits: &Limits) -> Result<Vec<Parsed>, ClientError> {
    if sql.len() > limits.max_statement_bytes {
        return Err(too_large("the statement", "max_statement_bytes", limits.max_statement_bytes));
    }
    if let Some(nul) = sql.find('\0') {
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, "a statement cannot contain the character NUL")
            .at(Some(sql.get(..nul).map_or(0, |s| s.chars().count()) + 1)));
    }
    let lines = Lines::of(sql);
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().map_err(|e| {
        ClientError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {}", e.message))
            .at(lines.position(e.location))
    })?;
    let chain = tokens.iter().filter(|t| chains(&t.token)).count();
    let allowed = limits.max_depth.saturating_mul(CHAIN_PER_DEPTH);
    if chain > allowed {
        return Err(too_large("the number of operators", "max_depth", limits.max_depth)
            .detail(format!("{chain} operators and brackets; {allowed} are allowed.")));
    }
    let tokens = postgres_spellings(tokens);
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(limits.max_depth).with_tokens_with_locations(tokens);
    let mut statements = Vec::new();
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        if parser.peek_token_ref().token == Token::EOF {
            return Ok(statements);
        }
        if statements.len() >= limits.max_statements {
            return Err(too_large("the number of statements", "max_statements", limits.max_statements));
        }
        let at = parser.peek_token_ref().span.start;
        let ast = parser.parse_statement().map_err(|e| syntax_error(e, &parser, &lines, at))?;
        let next = parser.peek_token_ref();
        if !matches!(next.token, Token::SemiColon | Token::EOF) {
            return Err(near(&next.token, lines.position(next.span.start)));
        }
        statements.push(Parsed { ast, lines: lines.clone(), start: lines.position(at) });
    }
}

/// Spellings that PostgreSQL has and the parser has not, each turned into one that it has.
fn postgres_spellings(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // `END` and `ABORT` as statements of their own are COMMIT and ROLLBACK.
    let mut first = true;
    tokens
        .into_iter()
        .map(|mut t| {
            if first
                && let Token::Word(w) = &mut t.token
                && w.keyword == Keyword::ABORT
            {
                w.value = "ROLLBACK".into();
                w.keyword = Keyword::ROLLBACK;
            }
            match &t.token {
                Token::Whitespace(_) => {}
                Token::SemiColon => first = true,
                _ => first = false,
            }
            t
        })
        .collect()
}

fn chains(token: &Token) -> bool {
    match token {
        Token::Word(w) => matches!(
            w.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::BETWEEN
                | Keyword::IN
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::JOIN
                | Keyword::SELECT
                | Keyword::CASE
                | Keyword::AT
                | Keyword::COLLATE
        ),
        Token::Number(..)
        | Token::Comma
        | Token::SemiColon
        | Token::EOF
        | Token::Period
        | Token::Whitespace(_)
        | Token::SingleQuotedString(_)
        | Token::RParen
        | Token::Placeholder(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::DollarQuotedString(_) => false,
        _ => true,
    }
}

/// 54000, naming the key of `[limits]`.
pub fn too_large(what: &str, key: &str, limit: usize) -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("{what} exceeds limits.{key} = {limit}"))
        .hint(format!("Write a smaller statement, or ask the owner to raise limits.{key} in the policy."))
}

fn near(token: &Token, position: Option<usize>) -> ClientError {
    let message = match token {
        Token::EOF => "syntax error at end of input".to_owned(),
        t => format!("syntax error at or near \"{t}\""),
    };
    ClientError::new(SqlState::SYNTAX_ERROR, message).at(position)
}

fn syntax_error(
    error: sqlparser::parser::ParserError,
    parser: &Parser<'_>,
    lines: &Lines,
    start: Location,
) -> ClientError {
    use sqlparser::parser::ParserError as P;
    match error {
        P::RecursionLimitExceeded => ClientError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "the statement is nested deeper than limits.max_depth",
        )
        .hint("Flatten it, or ask the owner to raise limits.max_depth in the policy.")
        .at(lines.position(start)),
        P::TokenizerError(message) => {
            ClientError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {message}"))
                .at(lines.position(start))
        }
        P::ParserError(message) => {
            // The parser stands behind the token it did not expect, or at it; its message says where.
            let (text, at) = split_location(&message);
            if text.ends_with("found: EOF") {
                return near(&Token::EOF, Some(lines.end()));
            }
            let at = at.unwrap_or_else(|| parser.peek_token_ref().span.start);
            ClientError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {text}")).at(lines.position(at))
        }
    }
}

/// `Expected: …, found: x at Line: 1, Column: 5` without its tail, and the tail as a location.
fn split_location(message: &str) -> (&str, Option<Location>) {
    let Some((text, tail)) = message.rsplit_once(" at Line: ") else { return (message, None) };
    let location = tail.split_once(", Column: ").and_then(|(line, column)| {
        let column = column.trim_end_matches(|c: char| !c.is_ascii_digit());
        Some(Location::new(line.parse().ok()?, column.parse().ok()?))
    });
    (text, location)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn error(sql: &str) -> ClientError {
        parse(sql, &Limits::default()).err().unwrap()
    }

    #[test]
    fn positions_count_characters() {
        assert_eq!(error("SELECT 'ä',\n FRM x y z").position, Some(20));
        assert_eq!(error("SELECT 1 +").code, SqlState::SYNTAX_ERROR);
        assert_eq!(error("SELECT 1; SELEC 2").position, Some(11));
    }

    #[test]
    fn long_chains_and_deep_nests_are_refused_before_they_can_overflow_the_stack() {
        let sum = format!("SELECT {}1", "1+".repeat(200_000));
        assert_eq!(error(&sum).code, SqlState::PROGRAM_LIMIT_EXCEEDED);
        let nest = format!("SELECT {}1{}", "(".repeat(1_500), ")".repeat(1_500));
        assert_eq!(error(&nest).code, SqlState::PROGRAM_LIMIT_EXCEEDED);
        let big = format!("SELECT '{}'", "x".repeat(2 << 20));
        assert_eq!(error(&big).code, SqlState::PROGRAM_LIMIT_EXCEEDED);
    }

    #[test]
    fn several_statements() {
        assert_eq!(parse(";; SELECT 1 ;; BEGIN; END ;", &Limits::default()).unwrap().len(), 3);
        assert_eq!(parse("", &Limits::default()).unwrap().len(), 0);
        assert_eq!(parse("-- nothing\n", &Limits::default()).unwrap().len(), 0);
    }
}
