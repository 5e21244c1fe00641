//! COPY, in both of its syntaxes.

use super::options::{Given, Value, judge};
use super::syntax::{Result, Syntax};
use super::tokens::table_query;
use super::words::{eat, expect, name, plain, string, word};
use crate::insert::Insert;
use crate::read_only::read_only;
use answer::{ClientError, SqlState};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// `COPY (query) TO STDOUT …`, `COPY table [(columns)] TO STDOUT …`
pub(super) fn copy(parser: &mut Parser<'_>, max_depth: usize) -> Result<Syntax> {
    parser.advance_token();
    let mut given = Given::default();
    // `COPY BINARY t`, but also `COPY binary TO`, a table of that name.
    let followed = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
    let direction = plain(&parser.peek_nth_token_ref(1).token);
    if word(parser).as_deref() == Some("binary")
        && followed
        && !matches!(direction.as_deref(), Some("to" | "from"))
    {
        parser.advance_token();
        given.push(("format".into(), Value::Text("binary".into())));
    }
    let query = if parser.consume_token(&Token::LParen) {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        expect(parser, "to")?;
        query
    } else {
        let table = qualified(parser)?;
        let columns = columns(parser)?;
        if eat(parser, "from") {
            return from(parser, given, &table, &columns);
        }
        expect(parser, "to")?;
        table_query(table, columns, max_depth)?
    };
    let target = target(parser)?;
    read_options(parser, &mut given)?;
    Ok(match target.map_or_else(|| judge(given), Err) {
        Ok(copy) => Syntax::Copy(copy, query),
        Err(e) => Syntax::Refused(e),
    })
}

/// `COPY table [(columns)] FROM STDIN …`
fn from(
    parser: &mut Parser<'_>,
    mut given: Given,
    table: &[TokenWithSpan],
    columns: &[TokenWithSpan],
) -> Result<Syntax> {
    let refused = Ok(Syntax::Refused(read_only("COPY FROM", None)));
    let stdin = eat(parser, "stdin");
    if stdin {
        read_options(parser, &mut given)?;
    }
    if !stdin || !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        // A file, a program, WHERE: nothing that is collected comes that way.
        while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
            parser.advance_token();
        }
        return refused;
    }
    let words = |tokens: &[TokenWithSpan]| -> Vec<String> {
        let word = |t: &TokenWithSpan| match &t.token {
            Token::Word(w) if w.quote_style.is_none() => Some(w.value.to_lowercase()),
            Token::Word(w) => Some(w.value.clone()),
            _ => None,
        };
        tokens.iter().filter_map(word).collect()
    };
    let columns = Some(words(columns)).filter(|c| !c.is_empty());
    let insert = match words(table).as_slice() {
        [relation] => Insert::copy(None, relation.clone(), columns),
        [schema, relation] => Insert::copy(Some(schema.clone()), relation.clone(), columns),
        _ => return refused,
    };
    Ok(match judge(given) {
        Ok(copy) => Syntax::CopyFrom(copy, Box::new(insert)),
        Err(e) => Syntax::Refused(e),
    })
}

/// Where to: None is the client, the only place that is not refused.
fn target(parser: &mut Parser<'_>) -> Result<Option<ClientError>> {
    let refused = |what: &str| {
        let message = format!("permission denied to COPY to {what}");
        let e = ClientError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
        Ok(Some(e.hint(
            "COPY … TO STDOUT, which psql's \\copy and every driver read, writes on the client's side.",
        )))
    };
    // As PostgreSQL, which minds only that it is the client.
    if eat(parser, "stdout") || eat(parser, "stdin") {
        return Ok(None);
    }
    if eat(parser, "program") {
        string(parser)?;
        return refused("or from an external program");
    }
    string(parser)?;
    refused("a file")
}

fn qualified(parser: &mut Parser<'_>) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Vec::new();
    loop {
        let found = parser.next_token();
        if !matches!(found.token, Token::Word(_)) {
            return parser.expected("the name of a table", found);
        }
        tokens.push(found);
        if parser.peek_token_ref().token != Token::Period {
            return Ok(tokens);
        }
        tokens.push(parser.next_token());
    }
}

fn columns(parser: &mut Parser<'_>) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Vec::new();
    if !parser.consume_token(&Token::LParen) {
        return Ok(tokens);
    }
    loop {
        let found = parser.next_token();
        if !matches!(found.token, Token::Word(_)) {
            return parser.expected("the name of a column", found);
        }
        tokens.push(found);
        match parser.next_token() {
            comma if comma.token == Token::Comma => tokens.push(comma),
            end if end.token == Token::RParen => return Ok(tokens),
            other => return parser.expected(") or ,", other),
        }
    }
}

fn read_options(parser: &mut Parser<'_>, given: &mut Given) -> Result<()> {
    let old_delimiter = eat(parser, "using") || word(parser).as_deref() == Some("delimiters");
    if old_delimiter {
        expect(parser, "delimiters")?;
        given.push(("delimiter".into(), Value::Text(string(parser)?)));
    }
    eat(parser, "with");
    if parser.consume_token(&Token::LParen) {
        loop {
            let option = name(parser)?;
            given.push((option, value(parser)?));
            if !parser.consume_token(&Token::Comma) {
                return parser.expect_token(&Token::RParen).map(|_| ());
            }
        }
    }
    while let Some(option) = word(parser) {
        parser.advance_token();
        let text = |parser: &mut Parser<'_>| {
            eat(parser, "as");
            string(parser).map(Value::Text)
        };
        let (option, value) = match option.as_str() {
            "binary" | "csv" => ("format".to_owned(), Value::Text(option)),
            "header" | "freeze" => (option, Value::None),
            "delimiter" | "null" | "quote" | "escape" | "encoding" => (option, text(parser)?),
            "force" => {
                let (option, star) = if eat(parser, "quote") {
                    ("force_quote", parser.consume_token(&Token::Mul))
                } else if eat(parser, "not") {
                    expect(parser, "null")?;
                    ("force_not_null", false)
                } else {
                    expect(parser, "null")?;
                    ("force_null", false)
                };
                (option.to_owned(), if star { Value::Star } else { Value::List(names(parser)?) })
            }
            _ => {
                parser.prev_token();
                return Ok(());
            }
        };
        given.push((option, value));
    }
    Ok(())
}

/// What stands behind an option's name in brackets.
fn value(parser: &mut Parser<'_>) -> Result<Value> {
    if parser.consume_token(&Token::Mul) {
        return Ok(Value::Star);
    }
    if parser.consume_token(&Token::LParen) {
        let names = names(parser)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(Value::List(names));
    }
    Ok(match &parser.peek_token_ref().token {
        Token::Comma | Token::RParen => Value::None,
        Token::Word(_) => Value::Text(name(parser)?),
        Token::Number(n, _) => {
            let n = n.clone();
            parser.advance_token();
            Value::Text(n)
        }
        _ => Value::Text(string(parser)?),
    })
}

fn names(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    parser.parse_comma_separated(|p| name(p))
}
