//! Words and names, as the parser's tokens hold them.

use super::syntax::Result;
use sqlparser::ast::Ident;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// The word that comes next, in lower case, unless it is quoted.
pub(super) fn word(parser: &Parser<'_>) -> Option<String> {
    plain(&parser.peek_token_ref().token)
}

pub(super) fn plain(token: &Token) -> Option<String> {
    match token {
        Token::Word(w) if w.quote_style.is_none() => Some(w.value.to_lowercase()),
        _ => None,
    }
}

/// Takes the next word if it is this one.
pub(super) fn eat(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let found = word(parser).as_deref() == Some(wanted);
    if found {
        parser.advance_token();
    }
    found
}

pub(super) fn expect(parser: &mut Parser<'_>, wanted: &str) -> Result<()> {
    if eat(parser, wanted) {
        return Ok(());
    }
    let found = parser.peek_token_ref().clone();
    parser.expected(&wanted.to_uppercase(), found)
}

/// A name, folded.
pub(super) fn name(parser: &mut Parser<'_>) -> Result<String> {
    parser.parse_identifier().map(|i: Ident| crate::names::fold(&i))
}

/// A string.
pub(super) fn string(parser: &mut Parser<'_>) -> Result<String> {
    let found = parser.next_token();
    match found.token {
        Token::SingleQuotedString(s) | Token::EscapedStringLiteral(s) => Ok(s),
        Token::DollarQuotedString(s) => Ok(s.value),
        _ => parser.expected("a string", found),
    }
}
