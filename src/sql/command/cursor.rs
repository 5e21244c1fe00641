//! DECLARE, FETCH and MOVE, as PostgreSQL's grammar has them.

use super::syntax::{Result, Syntax};
use super::words::{eat, expect, name, plain, word};
use answer::{ClientError, Cursor, Direction, Fetch, SqlState};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// 42P11: the definition contradicts itself.
const INVALID_CURSOR_DEFINITION: SqlState = SqlState(*b"42P11");

/// `DECLARE name options CURSOR [WITH HOLD] FOR query`
pub(super) fn declare(parser: &mut Parser<'_>) -> Result<Syntax> {
    parser.advance_token();
    let name = name(parser)?;
    let (mut binary, mut scroll, mut no_scroll, mut sensitive, mut insensitive) =
        (false, false, false, false, false);
    loop {
        match word(parser).as_deref() {
            Some("no") => {
                parser.advance_token();
                expect(parser, "scroll")?;
                no_scroll = true;
                continue;
            }
            Some("scroll") => scroll = true,
            Some("binary") => binary = true,
            Some("asensitive") => sensitive = true,
            Some("insensitive") => insensitive = true,
            _ => break,
        }
        parser.advance_token();
    }
    expect(parser, "cursor")?;
    let hold = eat(parser, "with");
    if hold || eat(parser, "without") {
        expect(parser, "hold")?;
    }
    expect(parser, "for")?;
    let query = parser.parse_query()?;
    let both = |a: &str, b: &str| {
        let message = format!("cannot specify both {a} and {b}");
        Ok(Syntax::Refused(ClientError::new(INVALID_CURSOR_DEFINITION, message)))
    };
    if scroll && no_scroll {
        return both("SCROLL", "NO SCROLL");
    }
    if sensitive && insensitive {
        return both("ASENSITIVE", "INSENSITIVE");
    }
    Ok(Syntax::Declare(Cursor { name, hold, forward_only: no_scroll, binary }, query))
}

/// `FETCH [direction] [FROM | IN] name`, and `MOVE` likewise.
pub(super) fn fetch(parser: &mut Parser<'_>) -> Result<Syntax> {
    use Direction::{Absolute, Backward, Forward, Relative};
    let moves = word(parser).as_deref() == Some("move");
    parser.advance_token();
    // A word that nothing follows is the name of a cursor, whatever it means elsewhere.
    let last = matches!(parser.peek_nth_token_ref(1).token, Token::EOF | Token::SemiColon);
    let direction = word(parser).filter(|_| !last);
    let (direction, count) = match direction.as_deref() {
        Some("next") => (Forward, Some(1)),
        Some("prior") => (Backward, Some(1)),
        Some("first") => (Absolute, Some(1)),
        Some("last") => (Absolute, Some(-1)),
        Some("all") => (Forward, Some(Fetch::ALL)),
        Some("absolute") => (Absolute, None),
        Some("relative") => (Relative, None),
        Some(word @ ("forward" | "backward")) => {
            let direction = if word == "forward" { Forward } else { Backward };
            parser.advance_token();
            let count = match parser.peek_token_ref().token {
                Token::Number(..) | Token::Plus | Token::Minus => signed(parser)?,
                _ => match plain(&parser.peek_token_ref().token).as_deref() {
                    Some("all") if !is_last(parser) => {
                        parser.advance_token();
                        Fetch::ALL
                    }
                    _ => 1,
                },
            };
            return rest(parser, direction, count, moves);
        }
        _ => {
            let count = match parser.peek_token_ref().token {
                Token::Number(..) | Token::Plus | Token::Minus => signed(parser)?,
                _ => 1,
            };
            return rest(parser, Forward, count, moves);
        }
    };
    parser.advance_token();
    let count = match count {
        Some(count) => count,
        None => signed(parser)?,
    };
    rest(parser, direction, count, moves)
}

fn is_last(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_nth_token_ref(1).token, Token::EOF | Token::SemiColon)
}

fn rest(parser: &mut Parser<'_>, direction: Direction, count: i64, moves: bool) -> Result<Syntax> {
    if matches!(word(parser).as_deref(), Some("from" | "in")) {
        parser.advance_token();
    }
    let name = name(parser)?;
    Ok(Syntax::Fetch(Fetch { name, direction, count, moves }))
}

/// A whole number of 32 bits with its sign, as everywhere in PostgreSQL's grammar.
fn signed(parser: &mut Parser<'_>) -> Result<i64> {
    let sign = parser.next_token();
    let minus = sign.token == Token::Minus;
    let found = if minus || sign.token == Token::Plus { parser.next_token() } else { sign };
    let number = match &found.token {
        Token::Number(digits, _) => digits.parse::<i32>().ok(),
        _ => None,
    };
    match number {
        Some(n) => Ok(if minus { -i64::from(n) } else { i64::from(n) }),
        None => parser.expected("a whole number", found),
    }
}
