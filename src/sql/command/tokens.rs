//! Queries of tokens that keep their places.

use super::syntax::Result;
use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// `SELECT columns FROM table`, of tokens that keep their places.
pub(super) fn table_query(
    table: Vec<TokenWithSpan>,
    columns: Vec<TokenWithSpan>,
    max_depth: usize,
) -> Result<Box<ast::Query>> {
    let span = span(&table);
    let columns = if columns.is_empty() { vec![TokenWithSpan::new(Token::Mul, span)] } else { columns };
    let select = vec![keyword(Keyword::SELECT, "SELECT", span)];
    query_of([select, columns, vec![keyword(Keyword::FROM, "FROM", span)], table].concat(), max_depth)
}

pub(super) fn span(tokens: &[TokenWithSpan]) -> Span {
    tokens.first().map_or(Span::empty(), |t| t.span)
}

/// A keyword that stands for something at this place.
pub(crate) fn keyword(keyword: Keyword, text: &str, span: Span) -> TokenWithSpan {
    TokenWithSpan::new(Token::Word(Word { value: text.into(), quote_style: None, keyword }), span)
}

/// The query that these tokens are, all of them.
pub(super) fn query_of(tokens: Vec<TokenWithSpan>, max_depth: usize) -> Result<Box<ast::Query>> {
    let dialect = PostgreSqlDialect {};
    let parser = Parser::new(&dialect).with_recursion_limit(max_depth);
    let mut parser = parser.with_tokens_with_locations(tokens);
    let query = parser.parse_query()?;
    match parser.peek_token_ref().clone() {
        end if end.token == Token::EOF => Ok(query),
        found => parser.expected("the end", found),
    }
}
