//! Patterns over texts, within a bound on their cost.

use super::facts::Facts;
use super::leaves::is_padded;
use super::print::{Print, string};
use super::refusal::{Result, refused};
use super::scalar::{Param, Scalar};
use super::table::{Entry, Function};
use crate::refusals::text::Text;
use crate::refusals::value::{Unfit, Value};
use sql::ast::Pos;

/// The most characters of a text that patterns look at.
pub const LONGEST_TEXT: u64 = 10_000;

/// Each `%` may be a level of recursion in PostgreSQL.
const MOST_WILDCARDS: usize = 100;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    form: "x [NOT] LIKE | ILIKE 'pattern' [ESCAPE 'c']",
    types: "text → boolean",
    total: "the pattern is a constant that does not end in its escape character, with at most 100 %; the first 10,000 \
            characters of x are looked at",
    range: "NULL where x is",
    cost: "10,000 × (2 + the longest run of characters between two %), four times as much for ILIKE",
    samples: &["({s} LIKE {p})", "({s} ILIKE {p})", "({s} NOT LIKE {p})"],
}];

const LIKE: Function = Function { name: "like", rule, text: like_text, commutes: false, int8: false };

/// LIKE or ILIKE with a constant pattern.
pub(super) fn like(
    x: Scalar,
    pattern: &str,
    escape: Option<&str>,
    insensitive: bool,
    pos: Pos,
) -> Result<Scalar> {
    if x.facts.ty.is_text() && !x.facts.canonical {
        // Fails for each row, where there is one.
        return refused(Value::LikeSpelled, pos);
    }
    if !x.facts.ty.is_text() {
        return refused(Value::LikeOf, pos);
    }
    if ends_in_escape(pattern, escape) {
        return refused(Value::Escape, pos);
    }
    // PostgreSQL looks at the blanks, too, which are in front of no pattern's end but one of %.
    if is_padded(&x) && !pattern.ends_with('%') {
        return refused(Value::LikePadded, pos);
    }
    let param =
        Param::Pattern { pattern: pattern.to_owned(), escape: escape.map(str::to_owned), insensitive };
    Scalar::apply(&LIKE, vec![x], param).map_err(|e| e.at(pos))
}

/// Such a pattern fails for the first row that gets so far.
fn ends_in_escape(pattern: &str, escape: Option<&str>) -> bool {
    let escape = match escape {
        None => Some('\\'),
        Some(e) => e.chars().next(),
    };
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape && chars.next().is_none() {
            return true;
        }
    }
    false
}

fn rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Pattern { pattern, escape, insensitive }) = (args, param) else {
        return Err(Unfit::Like.into());
    };
    if !x.facts.ty.is_text() || !x.facts.canonical || ends_in_escape(pattern, escape.as_deref()) {
        return Err(Unfit::Like.into());
    }
    if pattern.matches('%').count() > MOST_WILDCARDS {
        return Err(Text::Wildcards(MOST_WILDCARDS).into());
    }
    let run = pattern.split('%').map(|s| s.chars().count()).max().unwrap_or(0);
    let each = LONGEST_TEXT.saturating_mul(u64::try_from(run).unwrap_or(u64::MAX).saturating_add(2));
    Ok(Facts::truth(x.facts.nullable, if *insensitive { each.saturating_mul(4) } else { each }))
}

fn like_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Pattern { pattern, escape, insensitive }) = (args.first(), param) else {
        return "NULL".into();
    };
    let like = if *insensitive { "ILIKE" } else { "LIKE" };
    let escape = escape.as_ref().map_or_else(String::new, |e| format!(" ESCAPE {}", string(e)));
    format!("(pg_catalog.\"left\"({}, {LONGEST_TEXT}) {like} {}{escape})", print(x), string(pattern))
}
