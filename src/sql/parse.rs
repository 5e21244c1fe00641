//! Text to syntax trees, within limits.
//!
//! The parser's own recursion is limited by depth. Chains of operators (`1+1+1+…`) are parsed in a loop into a tree
//! as deep as the chain is long, and such a tree is walked and dropped by recursion: its depth is limited before the parser sees it
//! (`depth`).

use super::command::{self, Syntax};
use answer::{ClientError, SqlState};
use policy::Limits;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

pub use super::lines::Lines;
pub use super::spend::{nested, too_large};

/// Words and signs of one message for each of `limits.max_expressions`, before it is known which of them stand in texts.
const PIECES: usize = 2;
/// Weight of the tokens of one message for each of `limits.max_expressions`: what [`super::weight::tree`] is told.
const WEIGHT: usize = 1;

/// How deep POSITION may stand in the arguments of POSITION: the parser reads the arguments of each twice, once as
/// `a IN b` and once as an ordinary call's, so that its time doubles with each level.
const POSITION_DEPTH: usize = 3;

/// A parsed statement with the text that it is from.
#[derive(Clone)]
pub struct Parsed {
    /// Syntax tree.
    pub ast: Syntax,
    /// Starts of lines of the whole message, to turn locations into positions.
    pub lines: Lines,
    /// Start of the statement.
    pub start: Option<usize>,
    /// As it was written.
    pub text: std::sync::Arc<str>,
    /// Number of tokens, by their weight: a name counts as three.
    pub tokens: usize,
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
    let most = limits.max_expressions;
    let too_many = || too_large("the statement", "max_expressions", most);
    if pieces(sql) > most.saturating_mul(PIECES) {
        return Err(
            too_many().detail("Blanks and signs count, in texts, too: bind long texts as parameters.")
        );
    }
    let lines = Lines::of(sql);
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().map_err(|e| {
        ClientError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {}", e.message))
            .at(lines.position(e.location))
    })?;
    if tokens.iter().map(|t| super::weight::tokens(&t.token)).sum::<usize>() > most.saturating_mul(WEIGHT) {
        return Err(too_many());
    }
    let (levels, allowed) = (super::depth::deepest(&tokens), super::spend::most_levels(limits));
    if levels > allowed {
        return Err(nested(limits)
            .detail(format!("Operators in a row count: {levels} levels, of which {allowed} are allowed.")));
    }
    let nesting = Nesting::of(&tokens);
    if nesting.position > POSITION_DEPTH {
        let m = format!("POSITION is nested deeper than {POSITION_DEPTH} levels");
        return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m)
            .hint("Write strpos(b, a) for POSITION(a IN b)."));
    }
    // The parser takes back some keywords (NOT, CASE) as names when what follows is too deep, and then trips over it.
    let too_deep = nesting.deepest.saturating_mul(2) >= limits.max_depth;
    let tokens = postgres_spellings(tokens);
    // Those before each place.
    let counted = tokens.iter().scan(0, |n, t| {
        let before = *n;
        *n += super::weight::tokens(&t.token);
        Some(before)
    });
    let counted: Vec<usize> = counted.collect();
    let count = |at: usize| counted.get(at).or(counted.last()).copied().unwrap_or(0);
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
        let start = lines.position(at);
        let before = count(parser.index());
        let ast = command::parse(&mut parser, limits.max_depth).map_err(|e| match e {
            _ if too_deep => nested(limits).at(start),
            sqlparser::parser::ParserError::RecursionLimitExceeded => nested(limits).at(start),
            e => further(syntax_error(e, &parser, &lines, at), sql, limits, &lines),
        })?;
        let next = parser.peek_token_ref();
        if !matches!(next.token, Token::SemiColon | Token::EOF) {
            let at = lines.position(next.span.start);
            let wrong = near(&next.token, at);
            return Err(if too_deep {
                nested(limits).at(start)
            } else {
                further(wrong, sql, limits, &lines)
            });
        }
        let end = lines.position(next.span.start).unwrap_or(lines.end());
        let first = start.unwrap_or(1);
        let length = end.saturating_sub(first);
        let text: String = sql.chars().skip(first.saturating_sub(1)).take(length).collect();
        let tokens = (count(parser.index()) + 1).saturating_sub(before);
        statements.push(Parsed { ast, lines: lines.clone(), start, text: text.trim_end().into(), tokens });
    }
}

/// Whether a text calls a function of this name.
pub fn calls(sql: &str, name: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize() else { return false };
    let words: Vec<&Token> = tokens.iter().filter(|t| !matches!(t, Token::Whitespace(_))).collect();
    words.windows(2).any(|pair| match pair {
        [Token::Word(w), Token::LParen] => w.value.eq_ignore_ascii_case(name),
        _ => false,
    })
}

/// Spellings that PostgreSQL has and the parser has not, each turned into one that it has.
fn postgres_spellings(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut first: Option<Keyword> = None;
    // Whether a query can stand here, of what comes before: `TABLE t` is one.
    let mut query = true;
    for mut t in tokens {
        if let Token::Word(w) = &t.token
            && query
            && w.keyword == Keyword::TABLE
        {
            let span = t.span;
            out.push(command::keyword(Keyword::SELECT, "SELECT", span));
            out.push(TokenWithSpan::new(Token::Mul, span));
            t = command::keyword(Keyword::FROM, "FROM", span);
            first.get_or_insert(Keyword::SELECT);
        }
        query = match &t.token {
            Token::Whitespace(_) => query,
            Token::SemiColon | Token::LParen | Token::RParen => true,
            // `PREPARE q AS TABLE t`, but `SELECT x AS table`.
            Token::Word(w) if w.keyword == Keyword::AS => {
                matches!(first, Some(Keyword::PREPARE | Keyword::CREATE))
            }
            Token::Word(w) => matches!(
                w.keyword,
                Keyword::UNION
                    | Keyword::EXCEPT
                    | Keyword::INTERSECT
                    | Keyword::ALL
                    | Keyword::DISTINCT
                    | Keyword::EXPLAIN
                    | Keyword::ANALYZE
                    | Keyword::VERBOSE
                    | Keyword::FOR
            ),
            _ => false,
        };
        match &mut t.token {
            Token::Whitespace(_) => {}
            Token::SemiColon => first = None,
            Token::Word(w) => {
                // `ABORT` as a statement of its own is ROLLBACK.
                if first.is_none() && w.keyword == Keyword::ABORT {
                    w.value = "ROLLBACK".into();
                    w.keyword = Keyword::ROLLBACK;
                }
                let begins = matches!(first, Some(Keyword::BEGIN | Keyword::START | Keyword::SET));
                // `[NOT] DEFERRABLE` changes nothing where every statement has its own snapshot.
                if begins && w.keyword == Keyword::DEFERRABLE {
                    let idle = |t: &TokenWithSpan| match &t.token {
                        Token::Word(w) => w.keyword == Keyword::NOT,
                        Token::Whitespace(_) | Token::Comma => true,
                        _ => false,
                    };
                    while out.last().is_some_and(idle) {
                        out.pop();
                    }
                    continue;
                }
                first.get_or_insert(w.keyword);
                match between(&out, w.keyword) {
                    Some(Keyword::SYMMETRIC) => {
                        t = command::keyword(Keyword::NOT, "NOT", t.span);
                    }
                    Some(Keyword::ASYMMETRIC) => continue,
                    // PostgreSQL has no such spelling: a name, for the parser to trip over.
                    Some(_) => w.keyword = Keyword::NoKeyword,
                    None => {}
                }
            }
            _ => {
                first.get_or_insert(Keyword::NoKeyword);
            }
        }
        out.push(t);
    }
    out
}

/// What follows BETWEEN, where it is a keyword that the parser does not read there: BETWEEN SYMMETRIC becomes BETWEEN NOT, which
/// nobody else can write, and which `resolve` knows.
fn between(before: &[TokenWithSpan], next: Keyword) -> Option<Keyword> {
    let mut words = before.iter().rev().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    let after =
        matches!(words.next().map(|t| &t.token), Some(Token::Word(w)) if w.keyword == Keyword::BETWEEN);
    (after && matches!(next, Keyword::SYMMETRIC | Keyword::ASYMMETRIC | Keyword::NOT)).then_some(next)
}

/// Tokens of a text, at most: runs of letters and digits, and every other character.
fn pieces(sql: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut last = false;
    let begins = |c: char| !(std::mem::replace(&mut last, is_word(c)) && is_word(c));
    sql.chars().map(begins).filter(|new| *new).count()
}

/// How deep a message nests, as far as its tokens tell.
#[derive(Default)]
struct Nesting {
    /// Open brackets, open CASEs, and NOTs in a row, at the deepest point.
    deepest: usize,
    /// POSITIONs around one another.
    position: usize,
}

impl Nesting {
    fn of(tokens: &[TokenWithSpan]) -> Self {
        let mut found = Self::default();
        // Of each open bracket, whether it is POSITION's.
        let mut open: Vec<bool> = Vec::new();
        let (mut positions, mut cases, mut nots) = (0usize, 0usize, 0usize);
        let mut last = None;
        for token in tokens.iter().map(|t| &t.token).filter(|t| !matches!(t, Token::Whitespace(_))) {
            let keyword = match token {
                Token::Word(w) => Some(w.keyword),
                _ => None,
            };
            match (token, keyword) {
                (Token::LParen | Token::LBracket | Token::LBrace, _) => {
                    let position = last == Some(Keyword::POSITION);
                    positions += usize::from(position);
                    open.push(position);
                }
                (Token::RParen | Token::RBracket | Token::RBrace, _) => {
                    positions -= usize::from(open.pop() == Some(true));
                }
                (_, Some(Keyword::CASE)) => cases += 1,
                (_, Some(Keyword::END)) => cases = cases.saturating_sub(1),
                _ => {}
            }
            nots = if keyword == Some(Keyword::NOT) { nots + 1 } else { 0 };
            found.deepest = found.deepest.max(open.len() + cases + nots);
            found.position = found.position.max(positions);
            last = keyword;
        }
        found
    }
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
        e @ (P::RecursionLimitExceeded | P::TokenizerError(_)) => {
            ClientError::new(SqlState::SYNTAX_ERROR, format!("syntax error: {e}")).at(lines.position(start))
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

/// Subqueries that are looked into for what is wrong with a statement.
const LOOKED_INTO: usize = 50;

/// The error that stands furthest behind. The parser takes back what it has read of a query in brackets that it cannot read to its
/// end, and reads the bracket as something else: by themselves such queries tell where they went wrong.
fn further(error: ClientError, sql: &str, limits: &Limits, lines: &Lines) -> ClientError {
    let dialect = PostgreSqlDialect {};
    let Ok(tokens) = Tokenizer::new(&dialect, sql).tokenize_with_location() else { return error };
    let tokens: Vec<TokenWithSpan> =
        postgres_spellings(tokens).into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let begins = |at: usize| match tokens.get(at..at + 2) {
        Some([open, next]) if open.token == Token::LParen => {
            matches!(&next.token, Token::Word(w) if matches!(w.keyword, Keyword::SELECT | Keyword::WITH))
        }
        _ => false,
    };
    let mut furthest = error;
    for at in (0..tokens.len()).filter(|at| begins(*at)).take(LOOKED_INTO) {
        let mut open = 0usize;
        let end = tokens.iter().skip(at).position(|t| {
            match t.token {
                Token::LParen => open += 1,
                Token::RParen => open -= 1,
                _ => {}
            }
            open == 0
        });
        let (Some(length), Some(inside)) = (end, tokens.get(at + 1..)) else { continue };
        let inside: Vec<TokenWithSpan> = inside.iter().take(length - 1).cloned().collect();
        let mut parser =
            Parser::new(&dialect).with_recursion_limit(limits.max_depth).with_tokens_with_locations(inside);
        let found = match parser.parse_query() {
            Err(e @ sqlparser::parser::ParserError::ParserError(_)) => {
                let start = parser.peek_token_ref().span.start;
                syntax_error(e, &parser, lines, start)
            }
            Ok(_) if parser.peek_token_ref().token != Token::EOF => {
                let next = parser.peek_token_ref();
                near(&next.token, lines.position(next.span.start))
            }
            _ => continue,
        };
        // What ends too early is known where it ends.
        let ends = found.position == Some(lines.end());
        if found.position > furthest.position && !ends {
            furthest = found;
        }
    }
    furthest
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
    fn what_is_wrong_within_brackets_is_told_there() {
        for (sql, wrong) in [
            ("SELECT q.n FROM (SELECT a, count(*) AS n FROM t GRUOP BY 1) q WHERE n > 3", "BY 1"),
            ("SELECT * FROM (SELECT a, count(*) FORM t GROUP BY 1) q", "t GROUP"),
            ("SELECT * FROM (SELECT a FROM (SELECT b FROM c WHRE d > 1) q) r", "d > 1"),
            ("SELECT 1 WHERE x IN (SELECT a FROM t ORDR BY a)", "BY a"),
            ("WITH q AS (SELECT a FROM t ODRER BY 1) SELECT * FROM q", "BY 1"),
        ] {
            let at = error(sql).position.unwrap();
            let told = sql.get(at - 1..).unwrap();
            assert!(told.starts_with(wrong), "{sql}: {told}");
        }
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
    fn nesting_that_the_parser_would_read_again_and_again_is_refused() {
        let position = |n: usize| format!("SELECT {}1{}", "POSITION(".repeat(n), ")".repeat(n));
        let refused = error(&position(40));
        assert_eq!(refused.code, SqlState::PROGRAM_LIMIT_EXCEEDED);
        assert!(refused.message.contains("POSITION"), "{refused}");
        assert!(parse(&position(3), &Limits::default()).is_ok());
        let beside = "SELECT POSITION('a' IN x)".to_owned() + &", POSITION('a' IN x)".repeat(50);
        assert!(parse(&beside, &Limits::default()).is_ok());
        for deep in ["NOT ", "CASE WHEN true THEN ", "CAST(", "EXISTS (SELECT "] {
            let refused = error(&format!("SELECT {}1", deep.repeat(300)));
            assert_eq!(refused.code, SqlState::PROGRAM_LIMIT_EXCEEDED, "{deep}");
            assert!(refused.message.contains("max_depth"), "{refused}");
        }
    }

    #[test]
    fn several_statements() {
        assert_eq!(parse(";; SELECT 1 ;; BEGIN; END ;", &Limits::default()).unwrap().len(), 3);
        assert_eq!(parse("", &Limits::default()).unwrap().len(), 0);
        assert_eq!(parse("-- nothing\n", &Limits::default()).unwrap().len(), 0);
    }
}
