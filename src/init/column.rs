//! The line of one column of a private table.

use super::identify::looks_like;
use super::scope::Scope;
use super::text::{comment, key, quote};
use super::way::Placed;
use bigdecimal::BigDecimal;
use schema::{Column, Relation, RelationKind, SqlType};

/// Longer lists of values are left to the schema, from which they come anyway.
const MOST_VALUES: usize = 40;

/// What CHECK constraints say of a column, all of them together.
#[derive(Default)]
struct Checked {
    low: Option<String>,
    high: Option<String>,
    values: Option<Vec<String>>,
}

/// `columns.name = { … }   # why`
pub(super) fn line(r: &Relation, c: &Column, scope: &Scope<'_>, placed: &[Placed]) -> String {
    let name = key(&c.name);
    let with = |settings: &[String], why: &str| {
        let value =
            if settings.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", settings.join(", ")) };
        let why = if why.is_empty() { String::new() } else { format!("  # {}", comment(why)) };
        format!("columns.{name} = {value}{why}\n")
    };
    if c.virtual_expression {
        return format!(
            "# columns.{name}: computed when it is read, by an expression that may fail on chosen rows\n"
        );
    }
    let checked = checked(r, c);
    if let Some(values) = checked.values.as_ref().filter(|_| listable(c)) {
        return with(&values_of(c, values), "by its CHECK constraint");
    }
    if let Some(labels) = &c.enum_labels {
        return with(&values_of(c, labels), "the labels of its type");
    }
    if let Some(what) = looks_like(c) {
        return with(&["hidden = true".into()], &format!("looks like {what}"));
    }
    if let Some(to) = reference(r, c, scope) {
        let public = matches!(placed.get(to.0), Some(Placed::Public));
        let target = scope.relations.get(to.0).map_or("", |r| r.name.as_str());
        let references = format!("references = {}", quote(&format!("{target}.{}", to.1)));
        return match placed.get(to.0) {
            Some(Placed::Private { .. }) => with(&[], "refers to a private row"),
            _ if public => with(&[references], ""),
            Some(Placed::Not(_)) | None | Some(Placed::Public) => {
                with(&[], &format!("TODO {references}, if {target} is public"))
            }
        };
    }
    if r.keys.iter().any(|k| k.columns == [c.name.clone()]) {
        return with(&[], "a key: to join and to count by");
    }
    measure(c, &checked, &with)
}

/// A column by its type alone.
fn measure(c: &Column, checked: &Checked, with: &dyn Fn(&[String], &str) -> String) -> String {
    let both = checked.low.as_ref().zip(checked.high.as_ref());
    let todo = |kind: &str| match (&checked.low, &checked.high) {
        (Some(low), None) => format!("TODO range = [{low}, …]{kind}: a CHECK gives its low end"),
        (None, Some(high)) => format!("TODO range = […, {high}]{kind}: a CHECK gives its high end"),
        _ => format!("TODO range = […, …]{kind}, for sums and averages"),
    };
    match &c.ty {
        SqlType::Bool => with(&["values = [false, true]".into()], "the values of its type"),
        ty if ty.is_integer() => match both.filter(|(low, high)| ordered(low, high) && fits(c, low, high)) {
            Some((low, high)) => with(&[format!("range = [{low}, {high}]")], "by its CHECK constraint"),
            None => with(&[], &todo("")),
        },
        SqlType::Numeric { scale: Some(scale) } => {
            let grid = BigDecimal::new(1.into(), i64::from(*scale)).to_plain_string();
            let grid = format!("grid = {grid}");
            match both.filter(|(low, high)| ordered(low, high) && fits(c, low, high)) {
                Some((low, high)) => {
                    with(&[format!("range = [{low}, {high}]"), grid], "by its CHECK constraint and its type")
                }
                None => with(&[grid], &todo("")),
            }
        }
        ty if ty.is_number() => match both.filter(|(low, high)| ordered(low, high)) {
            Some((low, high)) => {
                let text =
                    format!("TODO grid = …, the step for sums; its CHECK gives the range {low} to {high}");
                with(&[], &text)
            }
            None => with(&[], &todo(", grid = …")),
        },
        ty if ty.is_datetime() => match both {
            Some((low, high)) => with(&[], &format!("its CHECK gives the range {low} to {high}")),
            None => {
                with(&[], "TODO range = [YYYY-MM-DD, YYYY-MM-DD], for public groups by day, month or year")
            }
        },
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar if c.deterministic_collation => {
            with(&[], "TODO values = [\"…\"], if they are few and everybody may know them")
        }
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar => {
            with(&[], "to filter by; its collation is not deterministic")
        }
        ty if policy::is_jsonb(ty) => with(&[], "TODO paths = { name = {} }, the members that may be read"),
        SqlType::Other { name, .. } => {
            let name = name.trim_start_matches("pg_catalog.");
            format!("# columns.{}: nothing can be computed with type {} yet\n", key(&c.name), comment(name))
        }
        _ => with(&[], ""),
    }
}

fn checked(r: &Relation, c: &Column) -> Checked {
    let mut all = Checked::default();
    // Children may break a CHECK only where it is not inherited, and such are not in the schema.
    for k in r.checks.iter().filter(|k| k.column == c.name && r.kind != RelationKind::Foreign) {
        tighten(&mut all.low, &k.low, |new, old| new > old);
        tighten(&mut all.high, &k.high, |new, old| new < old);
        if let Some(values) = &k.values
            && all.values.as_ref().is_none_or(|v| values.len() < v.len())
        {
            all.values = Some(values.clone());
        }
    }
    all
}

/// The stricter of two bounds. Dates in ISO compare as text does; of what does not compare, the first stays.
fn tighten(have: &mut Option<String>, new: &Option<String>, stricter: fn(&BigDecimal, &BigDecimal) -> bool) {
    let Some(new) = new else { return };
    let number = |s: &str| policy::decimal_text(s, 10);
    let replace = match have.as_deref() {
        None => true,
        Some(old) => number(new).zip(number(old)).is_some_and(|(new, old)| stricter(&new, &old)),
    };
    if replace {
        *have = Some(new.clone());
    }
}

/// Values of this type can be listed in a policy.
fn listable(c: &Column) -> bool {
    c.deterministic_collation
        && (c.ty.is_text() || c.ty.is_integer() || matches!(c.ty, SqlType::Enum { .. } | SqlType::Bool))
}

fn values_of(c: &Column, values: &[String]) -> Vec<String> {
    if values.len() > MOST_VALUES || !c.deterministic_collation {
        return Vec::new();
    }
    let bare = c.ty.is_integer() || c.ty == SqlType::Bool;
    let values: Vec<String> = values.iter().map(|v| if bare { v.clone() } else { quote(v) }).collect();
    vec![format!("values = [{}]", values.join(", "))]
}

fn ordered(low: &str, high: &str) -> bool {
    let number = |s: &str| policy::decimal_text(s, 10);
    number(low).zip(number(high)).is_some_and(|(low, high)| low <= high)
}

/// Both ends are values of the type, so that the policy can repeat them.
fn fits(c: &Column, low: &str, high: &str) -> bool {
    let held = |text: &str| {
        let Some(n) = policy::decimal_text(text, 10) else { return false };
        match (&c.ty, c.numeric_precision) {
            (SqlType::Int2, _) => text.parse::<i16>().is_ok(),
            (SqlType::Int4, _) => text.parse::<i32>().is_ok(),
            (SqlType::Int8, _) => text.parse::<i64>().is_ok(),
            (SqlType::Numeric { scale: Some(scale) }, precision) => {
                let (_, digits) = n.normalized().as_bigint_and_exponent();
                let whole = precision.map(|p| i64::from(p) - i64::from(*scale));
                let limit = whole.map(|w| BigDecimal::new(1.into(), -w));
                digits <= i64::from(*scale) && limit.is_none_or(|limit| n.abs() < limit)
            }
            _ => false,
        }
    };
    held(low) && held(high)
}

/// What a foreign key of this column, alone or with others, refers to, where the types are the same.
fn reference(r: &Relation, c: &Column, scope: &Scope<'_>) -> Option<(usize, String)> {
    let mut keys: Vec<_> = r.foreign_keys.iter().filter(|k| k.columns.contains(&c.name)).collect();
    keys.sort_by_key(|k| k.columns.len());
    keys.into_iter().find_map(|k| {
        let to = scope
            .relations
            .iter()
            .position(|t| (&t.schema, &t.name) == (&k.references.0, &k.references.1))?;
        let (_, there) = k.columns.iter().zip(&k.referenced_columns).find(|(mine, _)| **mine == c.name)?;
        let there = scope.relations.get(to)?.column(there)?;
        let same = there.ty.oid() == c.ty.oid() && there.deterministic_collation && c.deterministic_collation;
        same.then(|| (to, there.name.clone()))
    })
}
