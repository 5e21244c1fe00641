//! PREPARE and EXECUTE as statements.

use super::syntax::{Result, Syntax};
use super::tokens::{keyword, query_of, span};
use super::words::{expect, name};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// `PREPARE name [(types)] AS query`
pub(super) fn prepare(parser: &mut Parser<'_>) -> Result<Syntax> {
    parser.advance_token();
    let name = name(parser)?;
    let mut types = Vec::new();
    if parser.consume_token(&Token::LParen) {
        types = parser.parse_comma_separated(Parser::parse_data_type)?;
        parser.expect_token(&Token::RParen)?;
    }
    expect(parser, "as")?;
    Ok(Syntax::Prepare(name, types, parser.parse_query()?))
}

/// `EXECUTE name [(arguments)]`. The arguments become `VALUES (arguments)`: nothing but expressions can stand there.
pub(super) fn execute(parser: &mut Parser<'_>, max_depth: usize) -> Result<Syntax> {
    parser.advance_token();
    let name = name(parser)?;
    if parser.peek_token_ref().token != Token::LParen {
        return Ok(Syntax::Execute(name, None));
    }
    let mut tokens: Vec<TokenWithSpan> = Vec::new();
    let mut depth = 0usize;
    loop {
        let found = parser.next_token();
        match found.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::EOF | Token::SemiColon => return parser.expected(")", found),
            _ => {}
        }
        if found.token == Token::RParen && tokens.len() == 1 {
            return parser.expected("an argument", found);
        }
        tokens.push(found);
        if depth == 0 {
            break;
        }
    }
    let values = vec![keyword(Keyword::VALUES, "VALUES", span(&tokens))];
    Ok(Syntax::Execute(name, Some(query_of([values, tokens].concat(), max_depth)?)))
}
