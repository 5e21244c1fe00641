//! The table of functions. What is not here does not exist for analysts.
//!
//! A plain function is either *row-safe* (it may stand below a release, where `plan::expr` gives it types, bounds and a total
//! form) or for finish only, where it sees released values and public tables. Nothing here reads tables, files, settings or the
//! clock, executes text, sleeps, or draws random numbers.

use Class::{Aggregate, Catalog, Plain, Window};
use Growth::*;
use Nulls::{All, Any, First, Unknown};

/// Class of a function: how it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An aggregate.
    Aggregate,
    /// A function that needs OVER.
    Window,
    /// A plain function.
    Plain,
    /// Functions that no analyst calls: they stand in statements over catalogs, and in an owner's
    /// texts.
    Catalog,
}

/// Arguments that a function needs: without these it is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// Every argument.
    Any,
    /// The first.
    First,
    /// At least one argument, whichever it is.
    All,
    /// Nothing relies on it.
    Unknown,
}

/// Length of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// As all arguments, and a bit.
    Sum,
    /// As one of its arguments, or of its column.
    Longest,
    /// As the first argument, or as many characters as the one in this place says.
    Cut(usize),
    /// A multiple of the first argument, and a constant.
    Times(u64, u64),
    Translated,
    Replaced,
    RegexReplaced,
    ElementsReplaced,
    Joined,
    /// As the items of a format ask for, of `to_char`.
    Formatted,
    /// As `format` puts it together.
    Format,
    Power,
    /// A number rounded to a number of places.
    Rounded,
    /// As all rows of an aggregate.
    Gathered,
    GatheredJson,
    Json,
    /// As a number, or another short value.
    Value,
}

/// Functions of which the same is known.
#[derive(Clone, Copy)]
pub struct Family {
    /// Class of the functions.
    pub class: Class,
    /// Arguments that they need.
    pub nulls: Nulls,
    growth: Growth,
    /// As they may be written.
    names: &'static str,
    /// Whether they are the same for rows that tie in the order of their window.
    pub of_peers: bool,
    /// Whether they read a text as a moment, as a cast does: `date('today')`.
    pub reads_moments: bool,
}

impl Family {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }
}

const fn row(class: Class, nulls: Nulls, growth: Growth, names: &'static str) -> Family {
    Family { class, nulls, growth, names, of_peers: false, reads_moments: false }
}

const TABLE: &[Family] = &[
    row(Aggregate, Unknown, Value, "count"),
    row(Aggregate, Unknown, Sum, "sum avg"),
    row(Aggregate, Unknown, Longest, "min max"),
    row(Aggregate, Unknown, Sum, "var_pop var_samp variance stddev stddev_pop stddev_samp covar_pop"),
    row(Aggregate, Unknown, Sum, "covar_samp corr regr_slope regr_intercept regr_r2 regr_count regr_avgx"),
    row(Aggregate, Unknown, Sum, "regr_avgy regr_sxx regr_syy regr_sxy bool_and bool_or every"),
    // Not PostgreSQL's: printed as percentile_cont(0.5).
    row(Aggregate, Unknown, Sum, "median"),
    row(Aggregate, Unknown, Sum, "percentile_cont"),
    row(Aggregate, Unknown, Longest, "percentile_disc mode"),
    row(Aggregate, Unknown, Gathered, "string_agg array_agg"),
    // Syntax: which keys a row is not grouped by.
    row(Aggregate, Unknown, Sum, "grouping"),
    row(Window, Unknown, Sum, "row_number"),
    Family { of_peers: true, ..row(Window, Unknown, Sum, "rank dense_rank percent_rank cume_dist") },
    row(Window, Unknown, Sum, "ntile"),
    row(Window, Unknown, Longest, "lag lead first_value last_value nth_value"),
    // Numbers.
    row(Plain, Any, Sum, "abs ceil ceiling floor"),
    row(Plain, Any, Rounded, "round trunc"),
    row(Plain, Unknown, Sum, "sign"),
    row(Plain, Any, Sum, "mod"),
    row(Plain, Unknown, Sum, "div"),
    row(Plain, Unknown, Power, "power"),
    row(Plain, Any, Sum, "sqrt"),
    row(Plain, Unknown, Sum, "cbrt"),
    row(Plain, Unknown, Power, "exp"),
    row(Plain, Unknown, Sum, "ln log degrees radians pi width_bucket sin cos tan atan atan2"),
    // Choice: these four are syntax in PostgreSQL, not functions.
    row(Plain, All, Longest, "coalesce"),
    row(Plain, First, Longest, "nullif"),
    row(Plain, All, Longest, "greatest least"),
    // Text.
    // Some letters are longer on the other side.
    row(Plain, Unknown, Times(2, 0), "upper lower initcap"),
    row(Plain, Unknown, Value, "length char_length character_length octet_length"),
    row(Plain, Unknown, Longest, "btrim ltrim rtrim"),
    row(Plain, Unknown, Cut(2), "substr substring"),
    row(Plain, Unknown, Cut(1), "left right"),
    row(Plain, Unknown, Replaced, "replace"),
    row(Plain, Unknown, Translated, "translate"),
    row(Plain, Unknown, Sum, "concat concat_ws"),
    row(Plain, Unknown, Value, "strpos"),
    row(Plain, Unknown, Longest, "split_part reverse"),
    row(Plain, Unknown, Value, "md5 ascii chr starts_with"),
    row(Plain, Unknown, Times(2, 4), "quote_ident quote_literal quote_nullable"),
    // Dates.
    row(Plain, Any, Sum, "date_trunc"),
    Family { reads_moments: true, ..row(Plain, Unknown, Sum, "date") },
    row(Plain, Unknown, Sum, "date_bin"),
    row(Plain, Any, Sum, "date_part"),
    row(Plain, Unknown, Sum, "age make_date make_timestamp make_interval"),
    row(Plain, Unknown, Formatted, "to_char"),
    row(Plain, Unknown, Sum, "to_date to_timestamp to_number justify_days justify_hours justify_interval"),
    row(Plain, Unknown, Sum, "isfinite timezone"),
    // About the server, the same for everybody.
    row(Plain, Unknown, Sum, "version pg_typeof"),
    // Poolers send it when they take a connection back; noisegate's own sessions hold no such locks.
    row(Plain, Unknown, Sum, "pg_advisory_unlock_all"),
    // Of statements over catalogs, and of an owner's own texts.
    row(Catalog, Unknown, RegexReplaced, "regexp_replace"),
    row(Catalog, Unknown, ElementsReplaced, "array_replace"),
    row(Catalog, Unknown, Joined, "array_to_string"),
    row(Catalog, Unknown, Times(4, 0), "encode"),
    row(Catalog, Unknown, Format, "format"),
    row(Catalog, Unknown, Power, "pow factorial"),
    row(Catalog, Unknown, Value, "cardinality array_length position"),
];

/// Family of a function.
pub fn get(name: &str) -> Option<&'static Family> {
    TABLE.iter().find(|row| row.names().any(|n| n == name))
}

/// Length of a function's result; of functions that only a catalog's statements have, as their
/// names say.
pub(crate) fn growth(name: &str) -> Growth {
    match get(name) {
        Some(known) => known.growth,
        None if name.ends_with("_agg") => GatheredJson,
        None if name.contains("json") => Json,
        None => Sum,
    }
}

/// Names that PostgreSQL has under several spellings.
fn canonical(name: &'static str) -> &'static str {
    match name {
        "ceiling" => "ceil",
        "character_length" | "char_length" => "length",
        n => n,
    }
}

/// The class of a function that analysts may call, and its name in `pg_catalog`.
pub fn lookup(name: &str) -> Option<(Class, &'static str)> {
    let row = get(name).filter(|row| row.class != Catalog)?;
    row.names().find(|n| *n == name).map(|n| (row.class, canonical(n)))
}

/// The names of a class, as they may be written.
pub fn names(class: Class) -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(move |row| row.class == class).flat_map(Family::names)
}

fn allowed() -> impl Iterator<Item = &'static str> {
    [Aggregate, Window, Plain].into_iter().flat_map(names)
}

/// The allowed function whose name is nearest to this one.
pub fn nearest(name: &str) -> Option<&'static str> {
    nearest_of(name, allowed())
}

/// The candidate within an edit distance of about a third of its length (two letters that changed places, distance
/// 2, are found in a word of five), the nearest first.
pub fn nearest_of<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|c| (distance(name, c), c))
        .filter(|(d, c)| *d * 3 <= c.len().max(name.len()) + 1)
        .min()
        .map(|(_, c)| c)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (j, cb) in b.iter().enumerate() {
            let up = row.get(j + 1).copied().unwrap_or(usize::MAX - 1);
            let cost = (diagonal + usize::from(ca != *cb)).min(up + 1).min(left + 1);
            diagonal = up;
            left = cost;
            next.push(cost);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_nothing_dangerous_is() {
        for n in allowed() {
            assert!(lookup(n).is_some(), "{n}");
        }
        for n in [
            "pg_sleep",
            "random",
            "setseed",
            "query_to_xml",
            "ts_stat",
            "dblink",
            "lo_import",
            "pg_read_file",
            "current_setting",
            "set_config",
            "pg_relation_size",
            "nextval",
            "txid_current",
            "clock_timestamp",
            "pg_advisory_lock",
            "repeat",
            "generate_series",
        ] {
            assert!(lookup(n).is_none(), "{n}");
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let all: Vec<&str> = TABLE.iter().flat_map(Family::names).collect();
        for (i, name) in all.iter().enumerate() {
            assert!(!all.iter().skip(i + 1).any(|n| n == name), "{name}");
        }
    }

    #[test]
    fn nearest_names() {
        assert_eq!(nearest("cuont"), Some("count"));
        assert_eq!(nearest("pg_sleep"), None);
    }
}
