//! The allow-list of functions. What is not here does not exist for analysts.
//!
//! Three lists: aggregates; window functions; plain functions. A plain function is either *row-safe* (it may stand
//! below a release, where `plan::lower` gives it types, bounds and a total form) or for finish only, where it sees
//! released values and public tables. Nothing here reads tables, files, settings or the clock, executes text,
//! sleeps, or draws random numbers.

/// How a function may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An aggregate.
    Aggregate,
    /// A function that needs OVER.
    Window,
    /// A plain function.
    Plain,
}

const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "var_pop",
    "var_samp",
    "variance",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "covar_pop",
    "covar_samp",
    "corr",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "regr_count",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "bool_and",
    "bool_or",
    "every",
    // Not PostgreSQL's: printed as percentile_cont(0.5).
    "median",
    "percentile_cont",
    "percentile_disc",
    "mode",
    "string_agg",
    "array_agg",
    // Syntax: which keys a row is not grouped by.
    "grouping",
];

const WINDOW: &[&str] = &[
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

const PLAIN: &[&str] = &[
    // Numbers.
    "abs",
    "ceil",
    "ceiling",
    "floor",
    "round",
    "trunc",
    "sign",
    "mod",
    "div",
    "power",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log",
    "degrees",
    "radians",
    "pi",
    "width_bucket",
    "sin",
    "cos",
    "tan",
    "atan",
    "atan2",
    // Choice: these four are syntax in PostgreSQL, not functions.
    "coalesce",
    "nullif",
    "greatest",
    "least",
    // Text.
    "upper",
    "lower",
    "initcap",
    "length",
    "char_length",
    "character_length",
    "octet_length",
    "btrim",
    "ltrim",
    "rtrim",
    "substr",
    "substring",
    "left",
    "right",
    "replace",
    "translate",
    "concat",
    "concat_ws",
    "strpos",
    "split_part",
    "reverse",
    "md5",
    "ascii",
    "chr",
    "starts_with",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    // Dates.
    "date_trunc",
    "date",
    "date_bin",
    "date_part",
    "age",
    "make_date",
    "make_timestamp",
    "make_interval",
    "to_char",
    "to_date",
    "to_timestamp",
    "to_number",
    "justify_days",
    "justify_hours",
    "justify_interval",
    "isfinite",
    "timezone",
    // About the server, the same for everybody.
    "version",
    "pg_typeof",
    // Poolers send it when they take a connection back; noisegate's own sessions hold no such locks.
    "pg_advisory_unlock_all",
];

/// Names that PostgreSQL has under several spellings.
fn canonical(name: &str) -> &str {
    match name {
        "ceiling" => "ceil",
        "character_length" | "char_length" => "length",
        n => n,
    }
}

/// The class of a function and its name in `pg_catalog`.
pub fn lookup(name: &str) -> Option<(Class, &'static str)> {
    let find = |list: &'static [&'static str]| list.iter().copied().find(|n| *n == canonical(name));
    let known = AGGREGATES.iter().chain(WINDOW).chain(PLAIN).any(|n| *n == name);
    if !known {
        return None;
    }
    find(AGGREGATES)
        .map(|n| (Class::Aggregate, n))
        .or_else(|| find(WINDOW).map(|n| (Class::Window, n)))
        .or_else(|| find(PLAIN).map(|n| (Class::Plain, n)))
}

/// The names of a class, as they may be written.
pub fn names(class: Class) -> &'static [&'static str] {
    match class {
        Class::Aggregate => AGGREGATES,
        Class::Window => WINDOW,
        Class::Plain => PLAIN,
    }
}

/// The allowed function whose name is nearest to this one.
pub fn nearest(name: &str) -> Option<&'static str> {
    nearest_of(name, AGGREGATES.iter().chain(WINDOW).chain(PLAIN).copied())
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
        for n in AGGREGATES.iter().chain(WINDOW).chain(PLAIN) {
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
    fn nearest_names() {
        assert_eq!(nearest("cuont"), Some("count"));
        assert_eq!(nearest("pg_sleep"), None);
    }
}
