//! A text as a syntax tree, where two lexers must agree.
//!
//! What is certified is sqlparser's tree, what runs is PostgreSQL's. Characters and tokens that the two could read
//! differently are refused before: comments, dollar quotes, backslashes, strange prefixes of strings, strings in a row.

use super::{Result, refuse};
use sqlparser::ast::Query;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

/// Brackets within brackets.
const NESTING: usize = 400;
/// Words and operators that may stand above one another in a tree; chains of them are trees as deep as they are long.
const DEPTH: usize = 2_500;
/// What a query, and a set operation, count as: more is kept while those inside of them are read.
const QUERY: usize = 50;
const SET_OPERATION: usize = 20;

/// A text that was read.
pub(crate) struct Text {
    /// Its tree.
    pub query: Box<Query>,
    /// Where names of tables start that stand behind ONLY, which the parser does not know.
    pub only: Vec<Location>,
    /// It takes a parameter.
    pub seeded: bool,
}

/// Reads one query.
pub(crate) fn read(sql: &str) -> Result<Text> {
    characters(sql)?;
    let dialect = PostgreSqlDialect {};
    let tokens = match Tokenizer::new(&dialect, sql).tokenize_with_location() {
        Ok(tokens) => tokens,
        Err(e) => return refuse("these are no tokens", e),
    };
    depth(&tokens)?;
    let (tokens, only) = without_only(tokens)?;
    let seeded = tokens.iter().any(|t| matches!(t.token, Token::Placeholder(_)));
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(4 * NESTING).with_tokens_with_locations(tokens);
    match parser.parse_query() {
        Ok(query) if parser.peek_token_ref().token == Token::EOF => Ok(Text { query, only, seeded }),
        Ok(_) => refuse("there is more than one query", &parser.peek_token_ref().token),
        Err(e) => refuse("this is no query", e),
    }
}

/// Outside of quotes stand plain characters only, and quotes begin and end where both lexers see them.
fn characters(sql: &str) -> Result<()> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut chars = sql.chars().peekable();
    // The two characters before.
    let (mut before, mut last) = (' ', ' ');
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let escapes = c == '\'' && matches!(last, 'E' | 'e') && !word(before);
                if word(last) && !escapes {
                    return refuse("a quote behind a word", last);
                }
                loop {
                    match chars.next() {
                        None => return refuse("a quote without end", c),
                        Some('\\') if c == '"' => return refuse("a backslash in a name", c),
                        Some('\\') if !(escapes && chars.next() == Some('\\')) => {
                            return refuse("a backslash in a string", c);
                        }
                        Some('\0') => return refuse("the character NUL", c),
                        Some(q) if q == c => match chars.peek() {
                            Some(next) if *next == c => {
                                chars.next();
                            }
                            _ => break,
                        },
                        Some(_) => {}
                    }
                }
            }
            '-' if last == '-' => return refuse("a comment", c),
            '*' if last == '/' => return refuse("a comment", c),
            c if word(c) || " \n.,()[]+-*/%<>=|:!".contains(c) => {}
            c => return refuse("a character that has no place here", c),
        }
        (before, last) = (last, c);
    }
    Ok(())
}

/// Trees are walked and dropped by recursion: how deep they are is limited before they are made.
fn depth(tokens: &[TokenWithSpan]) -> Result<()> {
    // Words and operators since the last comma, for each open bracket.
    let mut open: Vec<usize> = vec![0];
    let (mut total, mut string) = (0usize, false);
    for t in tokens {
        let strings = matches!(t.token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_));
        let case =
            matches!(&t.token, Token::Word(w) if w.keyword == Keyword::CASE && w.quote_style.is_none());
        let end = matches!(&t.token, Token::Word(w) if w.keyword == Keyword::END && w.quote_style.is_none());
        match &t.token {
            Token::Whitespace(Whitespace::Space | Whitespace::Newline) => continue,
            Token::Whitespace(_) => return refuse("a comment", &t.token),
            _ if strings && string => return refuse("strings in a row", &t.token),
            Token::LParen | Token::LBracket => open.push(0),
            Token::RParen | Token::RBracket => total -= open.pop().unwrap_or(0).min(total),
            _ if case => open.push(0),
            _ if end => total -= open.pop().unwrap_or(0).min(total),
            Token::Comma => {
                if let Some(n) = open.last_mut() {
                    total -= (*n).min(total);
                    *n = 0;
                }
            }
            Token::Period | Token::Number(..) => {}
            Token::Word(w) if w.keyword == Keyword::NoKeyword => {}
            token => {
                let weight = match token {
                    Token::Word(w) if w.keyword == Keyword::SELECT => QUERY,
                    Token::Word(w)
                        if matches!(w.keyword, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) =>
                    {
                        SET_OPERATION
                    }
                    _ => 1,
                };
                total += weight;
                if let Some(n) = open.last_mut() {
                    *n += weight;
                }
            }
        }
        string = strings;
        if open.len() > NESTING || total > DEPTH {
            return refuse("a text nested too deeply", &t.token);
        }
    }
    Ok(())
}

/// Takes `ONLY` before a qualified name away, and remembers it.
fn without_only(tokens: Vec<TokenWithSpan>) -> Result<(Vec<TokenWithSpan>, Vec<Location>)> {
    let mut tokens: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let is = |t: &TokenWithSpan, k: Keyword| matches!(&t.token, Token::Word(w) if w.keyword == k && w.quote_style.is_none());
    // Behind a point a keyword is a name like others; the parser has forms of its own for some.
    for i in 1..tokens.len() {
        let point = tokens.get(i - 1).is_some_and(|t| t.token == Token::Period);
        if let (true, Some(Token::Word(w))) = (point, tokens.get_mut(i).map(|t| &mut t.token)) {
            w.keyword = Keyword::NoKeyword;
        }
    }
    let mut only = Vec::new();
    let mut at = 0;
    while let Some(t) = tokens.get(at) {
        if is(t, Keyword::ONLY) {
            let behind = at.checked_sub(1).and_then(|i| tokens.get(i));
            let from = behind
                .is_some_and(|b| is(b, Keyword::FROM) || is(b, Keyword::JOIN) || b.token == Token::LParen);
            match (tokens.get(at + 1), tokens.get(at + 2)) {
                (Some(name), Some(dot)) if from && dot.token == Token::Period => only.push(name.span.start),
                _ => return refuse("ONLY without a table", &t.token),
            }
            tokens.remove(at);
        }
        at += 1;
    }
    Ok((tokens, only))
}
