//! `columns.NAME` of `[collect.NAME]`: a public domain, and how it is randomised.

use crate::budget;
use crate::declared::{self, Bound, Literal};
use crate::error::{At, Findings};
use crate::keys::{Key, Keys, REQUIRED};
use crate::model::{Collected, CollectedKind, Randomiser};
use crate::reader::{Section, shorten};
use crate::suggest::suggest;
use bigdecimal::BigDecimal;
use dp::Ratio;
use dp::randomised::{Mean, MeanKind, Oracle, OracleKind, Sets};
use num_traits::{Signed, ToPrimitive};

/// Keys of a column.
pub(crate) const COLUMN: Keys = Keys {
    section: "[collect.NAME] columns.NAME",
    list: &[
        Key::of("kind", "`categorical`, `boolean`, `count`, `number` or `set`", REQUIRED, "\"boolean\"")
            .says("What its values are: one of `values`, true or false, a whole number of `range` whose distribution is asked for, a number of `range` whose sums and averages are, or a list of up to `max_values` of `values`."),
        Key::of("epsilon", "number, 1e-9 to 1000", REQUIRED, "1.0")
            .says("ε of one report of this column: whatever its writer says, any report is at most e^ε times as likely as had they said anything else. Columns of a row add up."),
        Key::of("values", "list of strings", "of `categorical` and `set` only, which need it", "[\"yes\", \"no\"]")
            .says("All that may be said: the public domain."),
        Key::of("max_values", "whole number", "of `set` only, which needs it", "2")
            .says("How many values one set has at most. Errors of estimates grow with it: one of so many is drawn, and told."),
        Key::of("range", "two numbers", "of `count` and `number` only, which need it", "[0, 10]")
            .says("The least and the largest number that may be said: of a `count` whole ones, at most 10,000 from one to the other; a `number` outside is cut to the nearer end."),
        Key::of("grid", "number", "1, of `number` only", "0.5")
            .says("Numbers are rounded to steps of this size from the low end of `range`."),
        Key::of("other", "string", "such a value is an error", "\"other\"")
            .says("One of `values`, that stands for whatever is none of them."),
        Key::of("missing", "boolean", "false", "true")
            .says("It may be NULL, which is then one more value of the domain: whether somebody answered is randomised as what they answered is."),
        Key::of("randomiser", "`auto`, `response`, `unary`, `hadamard`; of a `number` `auto`, `rounding`, `piecewise`", "\"auto\"", "\"response\"")
            .says("How it is randomised; `auto` takes what has the least error: k-ary randomised response for few values, Hadamard response for many; optimised unary encoding has up to 256 values. [collecting.md](collecting.md) tells them apart."),
    ],
    later: &[],
};

/// Values of one column, NULL included.
const MOST_VALUES: usize = 10_000;
/// Values whose reports have a bit for each: reading them takes time for each.
const MOST_BITS: u32 = 256;

/// A column, or None where there are mistakes. `permanent`: its reports are the same each time, under a second layer.
pub(super) fn column(
    name: At<String>,
    section: &Section<'_, '_>,
    permanent: bool,
    f: &mut Findings,
) -> Option<Collected> {
    section.keys(&COLUMN, f);
    if name.value.is_empty() || name.value.len() > 63 || name.value.contains('\0') {
        f.error(&name.span, "this cannot be a column's name", "names have 1 to 63 bytes");
        return None;
    }
    let kind = kind(section, f);
    if section.get("epsilon").is_none() {
        section.missing("epsilon", "epsilon = 1.0", f);
    }
    let epsilon = budget::epsilon(section, f);
    if let Some(e) = epsilon.as_ref().filter(|e| budget::promises_little(&e.value)) {
        let what = format!(
            "epsilon = {} keeps nearly every report as it was said",
            e.value.normalized().to_plain_string()
        );
        f.warn(
            &e.span,
            what,
            "usual values are from 0.5 to 4; at 20, one yes or no in 480 million is turned round",
        );
    }
    let missing = section.boolean("missing", f).is_some_and(|b| b.value);
    let values = values(section, kind?, f);
    let other = section.string("other", "other = \"other\"", f);
    let mut word = section.string("randomiser", "randomiser = \"auto\"", f);
    if permanent {
        word = Some(narrow(word, kind?, &name, f)?);
    }
    let (kind, epsilon, values) = (kind?, epsilon?, values?);
    let other = match other {
        None => None,
        Some(o) => match values.iter().position(|v| *v == o.value) {
            Some(place) => Some(place),
            None => {
                let what = format!("other = {:?} is not among the values", shorten(&o.value));
                f.error(&o.span, what, "write one of values, or add it to them");
                return None;
            }
        },
    };
    let Some(exact) = dp::ratio(&epsilon.value) else {
        f.error(&epsilon.span, "this epsilon cannot be drawn with", "write fewer digits");
        return None;
    };
    let randomiser = if kind == CollectedKind::Number {
        if missing {
            let hint = "a number that may be missing has no mean: collect a boolean that says whether there is one, beside it";
            f.error(&name.span, "a column with kind = \"number\" has no missing", hint);
            return None;
        }
        mean(section, word.as_ref(), &exact, f)?
    } else {
        let is_set = kind == CollectedKind::Set;
        if is_set && missing {
            let hint = "remove missing: who gives an empty set says nothing, and that is hidden, too";
            f.error(&name.span, "a column with kind = \"set\" has no missing", hint);
            return None;
        }
        let size = values.len() + usize::from(missing || is_set);
        if size < 2 {
            f.error(
                &name.span,
                "a column with one value says nothing",
                "give it two values, or missing = true",
            );
            return None;
        }
        if size > MOST_VALUES {
            let what = format!("{size} values; at most {MOST_VALUES} are collected in one column");
            f.error(&name.span, what, "collect coarser values");
            return None;
        }
        let oracle = oracle(word.as_ref(), u32::try_from(size).unwrap_or(u32::MAX), &exact, &epsilon, f)?;
        if is_set { sets(section, oracle, f)? } else { Randomiser::Oracle(oracle) }
    };
    let (name, epsilon) = (name.value, epsilon.value);
    Some(Collected { name, kind, values, other, missing, epsilon, randomiser, instant: None })
}

/// The randomiser of a permanent column: one whose reports are no wider than its values. A report of many bits, or of more symbols
/// than there are values, that is the same each time is a fingerprint of its writer, which a second layer hides only by hiding all
/// that it says.
fn narrow(
    word: Option<At<String>>,
    kind: CollectedKind,
    name: &At<String>,
    f: &mut Findings,
) -> Option<At<String>> {
    let own = if kind == CollectedKind::Number { "rounding" } else { "response" };
    match word {
        Some(word) if ["unary", "hadamard", "piecewise"].contains(&word.value.as_str()) => {
            let what = format!(
                "randomiser = {:?} is not permanent: its reports, the same each time, would be fingerprints that link the rows of a person",
                word.value
            );
            f.error(&word.span, what, format!("write randomiser = {own:?}, or leave it out"));
            None
        }
        Some(word) if word.value != "auto" => Some(word),
        word => Some(At { value: own.to_owned(), span: word.map_or(name.span.clone(), |w| w.span) }),
    }
}

/// The frequency oracle of a word; None where there are mistakes.
fn oracle(
    word: Option<&At<String>>,
    size: u32,
    exact: &Ratio,
    epsilon: &At<BigDecimal>,
    f: &mut Findings,
) -> Option<Oracle> {
    let made = match word.filter(|w| w.value != "auto") {
        None => {
            // What has a bit for each value is no choice where there are many.
            Oracle::auto(size, exact).and_then(|o| match o.kind() {
                OracleKind::Unary if size > MOST_BITS => Oracle::new(OracleKind::Hadamard, size, exact),
                _ => Ok(o),
            })
        }
        Some(w) => match OracleKind::parse(&w.value) {
            Some(OracleKind::Unary) if size > MOST_BITS => {
                let what =
                    format!("randomiser = \"unary\" has up to {MOST_BITS} values, this column has {size}");
                f.error(&w.span, what, "write randomiser = \"hadamard\", whose reports are one number");
                return None;
            }
            Some(kind) => Oracle::new(kind, size, exact),
            None => {
                let what = format!("unknown randomiser {:?}", shorten(&w.value));
                f.error(
                    &w.span,
                    what,
                    suggest(&w.value, OracleKind::ALL.map(OracleKind::word).into_iter().chain(["auto"])),
                );
                return None;
            }
        },
    };
    let Ok(oracle) = made else {
        f.error(&epsilon.span, "this epsilon cannot be drawn with", "write fewer digits");
        return None;
    };
    let (p, q) = oracle.probabilities();
    if p - q < 1e-7 {
        let hint = "write a larger epsilon, or collect fewer values";
        f.error(&epsilon.span, "so small an epsilon leaves nothing to estimate from", hint);
        return None;
    }
    Some(oracle)
}

/// Sets over an oracle whose last value fills them up; None where there are mistakes.
fn sets(section: &Section<'_, '_>, oracle: Oracle, f: &mut Findings) -> Option<Randomiser> {
    if section.get("max_values").is_none() {
        section.missing("max_values", "max_values = 2", f);
        return None;
    }
    let values = oracle.values() - 1;
    let most = section.count("max_values", values.into(), f)?;
    Sets::new(oracle, u32::try_from(most).ok()?).ok().map(Randomiser::Sets)
}

/// The mechanism of a bounded number; None where there are mistakes.
fn mean(
    section: &Section<'_, '_>,
    word: Option<&At<String>>,
    exact: &Ratio,
    f: &mut Findings,
) -> Option<Randomiser> {
    let range = declared::range(section, f)?;
    let (Bound::Number(low), Bound::Number(high)) = &range.value else {
        f.error(
            &range.span,
            "the range of a number has numbers at its ends",
            "write for example: range = [0, 100]",
        );
        return None;
    };
    let grid = section.number("grid", f);
    if let Some(g) = grid.as_ref().filter(|g| !g.value.is_positive()) {
        f.error(&g.span, "grid must be greater than 0", "write for example: grid = 0.5");
        return None;
    }
    let grid = grid.map_or_else(|| BigDecimal::from(1), |g| g.value);
    let steps = (high - low) / &grid;
    let Some(steps) =
        steps.is_integer().then(|| steps.to_u32()).flatten().filter(|n| (1..=Mean::MAX_STEPS).contains(n))
    else {
        let hint = "the range is a whole number of steps of the grid, from 1 to 2^29 of them";
        f.error(&range.span, "the range does not fit the grid", hint);
        return None;
    };
    let made = match word.filter(|w| w.value != "auto") {
        None => Mean::auto(steps, exact),
        Some(w) => match MeanKind::parse(&w.value) {
            Some(kind) => Mean::new(kind, steps, exact),
            None => {
                let what = format!("unknown randomiser {:?} of a number", shorten(&w.value));
                f.error(&w.span, what, suggest(&w.value, ["auto", "rounding", "piecewise"]));
                return None;
            }
        },
    };
    match made {
        Ok(mean) => Some(Randomiser::Mean { mean, low: low.clone(), grid }),
        Err(_) => {
            f.error(&range.span, "this cannot be drawn", "write fewer digits of epsilon, or a coarser grid");
            None
        }
    }
}

fn kind(section: &Section<'_, '_>, f: &mut Findings) -> Option<CollectedKind> {
    let v = section.required_string("kind", "kind = \"boolean\"", f)?;
    let found = CollectedKind::ALL.into_iter().find(|k| k.word() == v.value);
    if found.is_none() {
        let what = format!("unknown kind {:?}", shorten(&v.value));
        f.error(&v.span, what, suggest(&v.value, CollectedKind::ALL.map(CollectedKind::word)));
    }
    found
}

/// The public domain, in the order that numbers count.
fn values(section: &Section<'_, '_>, kind: CollectedKind, f: &mut Findings) -> Option<Vec<String>> {
    for key in ["values", "range", "other", "grid", "max_values"] {
        let wanted = match kind {
            CollectedKind::Categorical => matches!(key, "values" | "other"),
            CollectedKind::Boolean => false,
            CollectedKind::Count => key == "range",
            CollectedKind::Number => matches!(key, "range" | "grid"),
            CollectedKind::Set => matches!(key, "values" | "other" | "max_values"),
        };
        match section.get(key) {
            Some(value) if !wanted => {
                let what = format!("a column with kind = {:?} has no {key}", kind.word());
                f.error(&value.span(), what, format!("remove {key}"));
                return None;
            }
            None if wanted && !matches!(key, "other" | "grid" | "max_values") => {
                let example = if key == "range" { "range = [0, 10]" } else { "values = [\"yes\", \"no\"]" };
                section.missing(key, example, f);
                return None;
            }
            _ => {}
        }
    }
    match kind {
        CollectedKind::Number => Some(Vec::new()),
        CollectedKind::Boolean => Some(vec!["false".into(), "true".into()]),
        CollectedKind::Categorical | CollectedKind::Set => {
            let list = declared::values(section, f)?;
            let text = |v: &At<Literal>| match &v.value {
                Literal::Text(s) => Some(s.clone()),
                _ => None,
            };
            let texts: Option<Vec<String>> = list.value.iter().map(text).collect();
            if texts.is_none() {
                let hint = "write them in quotes; numbers are kind = \"count\", with a range";
                f.error(&list.span, format!("values of a {} column are strings", kind.word()), hint);
            }
            texts
        }
        CollectedKind::Count => {
            let range = declared::range(section, f)?;
            let whole = |b: &Bound| match b {
                Bound::Number(n) if n.is_integer() => n.to_i32(),
                _ => None,
            };
            let (Some(low), Some(high)) = (whole(&range.value.0), whole(&range.value.1)) else {
                let hint = "write for example: range = [0, 10]";
                f.error(&range.span, "the range of a count has whole ends, within 32 bits", hint);
                return None;
            };
            if low >= high {
                f.error(
                    &range.span,
                    "the range's low end is not below its high one",
                    "write the smaller first",
                );
                return None;
            }
            if i64::from(high) - i64::from(low) >= MOST_VALUES as i64 {
                let what = format!("the range holds over {MOST_VALUES} numbers");
                f.error(&range.span, what, "collect a coarser number");
                return None;
            }
            Some((low..=high).map(|n| n.to_string()).collect())
        }
    }
}
