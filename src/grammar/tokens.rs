//! The tokens of a fetch: those that our printer writes, and none that PostgreSQL's lexer could read in another way.
//!
//! There are no comments, dollar quotes, prefixes of strings but `E`, backslashes but doubled ones, and operators are as
//! long as they can be, as in PostgreSQL. Keywords are in upper case, names in lower case or in quotes.

use super::{Result, refuse};

/// Longer names are cut by PostgreSQL: two could be one.
const NAME_BYTES: usize = 63;
const BRACKETS: &str = "()[],.";
const OPERATORS: &str = "+-*/%<>=|:";
const LISTED: &[&str] = &["+", "-", "*", "/", "%", "<", ">", "=", "<=", ">=", "<>", "||", "::"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A keyword, a truth value, a bracket or an operator.
    Mark(String),
    /// A name as PostgreSQL folds it.
    Name(String),
    Number(String),
    Text(String),
    /// `$1`
    Seed,
    /// `$2` and what follows: values that were released before, whichever they are.
    Given(String),
}

pub fn read(sql: &str) -> Result<Vec<Token>> {
    let (mut rest, mut out) = (sql, Vec::new());
    loop {
        rest = rest.trim_start_matches(' ');
        let Some(first) = rest.chars().next() else { return Ok(out) };
        let string = rest.strip_prefix("E'").or(rest.strip_prefix('\''));
        let (token, after) = if let Some(inner) = rest.strip_prefix('"') {
            let (name, after) = quoted(inner, '"', false)?;
            (named(name)?, after)
        } else if let Some(inner) = string {
            let (text, after) = quoted(inner, '\'', first == 'E')?;
            (Token::Text(text), after)
        } else if let Some(after) = rest.strip_prefix('$') {
            let (number, after) = split(after, |c| c.is_ascii_digit());
            (if number == "1" { Token::Seed } else { Token::Given(number.into()) }, after)
        } else if first.is_ascii_digit() {
            let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.' || c == 'e');
            match number.parse::<f64>() {
                Ok(_) => (Token::Number(number.into()), after),
                Err(_) => return refuse("a number of an unknown kind", number),
            }
        } else if BRACKETS.contains(first) {
            (Token::Mark(first.into()), rest.strip_prefix(first).unwrap_or_default())
        } else if OPERATORS.contains(first) {
            let (run, after) = split(rest, |c| OPERATORS.contains(c));
            match LISTED.contains(&run) {
                true => (Token::Mark(run.into()), after),
                false => return refuse("an operator or a comment that is not listed", run),
            }
        } else {
            let (name, after) = split(rest, word);
            let all = |of: fn(&char) -> bool| !name.is_empty() && name.chars().all(|c| of(&c));
            match name {
                "true" | "false" => (Token::Mark(name.into()), after),
                _ if all(char::is_ascii_uppercase) => (Token::Mark(name.into()), after),
                _ if all(|c| !c.is_ascii_uppercase()) => (named(name.into())?, after),
                _ => return refuse("a character or a word that has no place here", rest),
            }
        };
        let sign = BRACKETS.contains(first) || OPERATORS.contains(first);
        if !sign && after.starts_with(|c| word(c) || "'\"$".contains(c)) {
            return refuse("a quote behind a word, or words without a space", rest);
        }
        rest = after;
        out.push(token);
    }
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The characters at the beginning that are of a kind, and the rest.
fn split(text: &str, of: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at_checked(text.find(|c| !of(c)).unwrap_or(text.len())).unwrap_or_default()
}

fn named(name: String) -> Result<Token> {
    match name.is_empty() || name.len() > NAME_BYTES {
        true => refuse("a name that PostgreSQL would cut", name),
        false => Ok(Token::Name(name)),
    }
}

/// What stands before the closing quote, and the rest.
fn quoted(text: &str, quote: char, escapes: bool) -> Result<(String, &str)> {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\0' => return refuse("the character NUL", text),
            '\\' if quote == '\'' && !(escapes && chars.next() == Some('\\')) => {
                return refuse("a backslash in a string", text);
            }
            c if c == quote => match chars.as_str().strip_prefix(quote) {
                Some(more) => chars = more.chars(),
                None => return Ok((out, chars.as_str())),
            },
            _ => {}
        }
        out.push(c);
    }
    refuse("a quote without end", text)
}
