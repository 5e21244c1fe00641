//! Texts that two lexers could read differently, deep ones, and arbitrary ones.

use super::{accept, golden, policy, refused};
use crate::certify;
use proptest::prelude::*;

#[test]
fn what_two_lexers_could_read_differently_is_refused() {
    let of = |what: &str| {
        format!(
            "WITH g AS (SELECT P.count(*) AS a0 FROM \"public\".\"riders\" AS b0 WHERE (b0.\"plan\" = {what})) SELECT g.a0 FROM g"
        )
    };
    accept(&of("'day'::P.text"));
    accept(&of("E'a\\\\b''c'::P.text"));
    accept(&of("'it''s'::P.text"));
    for (name, what, words) in [
        ("comment", "'a' -- b\n", "comment"),
        ("block comment", "'a' /* b */", "comment"),
        ("backslash", r"'a\' OR true'", "backslash"),
        ("escaped quote", r"E'a\' OR 1'", "backslash"),
        ("national string", "N'a'", "behind a word"),
        ("bits", "B'1'", "behind a word"),
        ("unicode string", "U&'a'", "no place"),
        ("dollar quote", "$x$a$x$", ""),
        ("two strings", "'a'\n'b'", "no place"),
        ("two strings without a line between", "'a' 'b'", ""),
        ("parameter", "$2", "no place"),
        ("seed", "$1", "parameter"),
        ("semicolon", "'a'); SELECT (1", "no place"),
        ("letter", "é", "no place"),
        ("underscores", "1_000", ""),
        ("hex", "0x10", ""),
    ] {
        refused(name, &of(what), words);
    }
}

#[test]
fn deep_texts_are_refused_or_walked() {
    for n in [10, 100, 1_000, 10_000, 100_000] {
        for (open, middle, close) in [
            ("(", "true", ")"),
            ("NOT ", "true", ""),
            ("- ", "1", ""),
            ("", "1", " + 1"),
            ("", "true", " AND true"),
            ("", "true", " IS TRUE"),
            ("", "1", "::pg_catalog.int4"),
            ("CASE WHEN ", "true", " THEN true END"),
            ("COALESCE(", "true", ")"),
            ("EXISTS (SELECT 1 FROM \"public\".\"stations\" AS t WHERE ", "true", ")"),
            ("ARRAY[", "1", "]"),
        ] {
            let deep = format!("{}{middle}{}", open.repeat(n), close.repeat(n));
            let sql = format!(
                "WITH g AS (SELECT pg_catalog.count(*) AS a0 FROM \"public\".\"riders\" AS b0 WHERE {deep}) SELECT g.a0 FROM g"
            );
            let _ = certify(&sql, policy());
        }
    }
    for n in [100, 5_000] {
        let unions = vec!["(SELECT b0.\"rider_id\" FROM \"public\".\"trips\" AS b0)"; n].join(" UNION ");
        let _ = certify(
            &format!("WITH c AS (SELECT b1.x AS u FROM ({unions}) AS b1(x) GROUP BY 1) SELECT 1"),
            policy(),
        );
    }
    let many: Vec<String> = (0..1_500).map(|i| format!("(b0.\"minutes\" <> {i})")).collect();
    accept(&format!(
        "WITH c AS (SELECT b0.\"rider_id\" AS u, P.count(*) AS n0 FROM \"public\".\"trips\" AS b0 WHERE {} GROUP BY 1), g AS (SELECT COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g",
        many.join(" AND ")
    ));
}

/// Words, strings, and single characters.
fn tokens(sql: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut quote = None;
    for c in sql.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        match (&mut quote, out.last_mut()) {
            (Some(q), Some(last)) => {
                last.push(c);
                if c == *q {
                    quote = None;
                }
            }
            (_, Some(last)) if word(c) && last.ends_with(word) => last.push(c),
            _ => {
                quote = Some(c).filter(|c| "'\"".contains(*c));
                out.push(c.to_string());
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn changed_texts_do_no_harm(which: usize, changes in prop::collection::vec((0..4, any::<usize>(), any::<usize>()), 1..4)) {
        let all = golden::fetches();
        let sql = &all[which % all.len()].1;
        let mut t = tokens(sql);
        for (kind, i, j) in changes {
            let (i, j) = (i % t.len(), j % t.len());
            match kind {
                0 if t.len() > 1 => { t.remove(i); }
                1 => t.insert(i, t[i].clone()),
                2 => t.swap(i, j),
                _ => t[i] = t[j].clone(),
            }
        }
        let changed = t.concat();
        if let Ok(c) = certify(&changed, policy()) {
            prop_assert_eq!(c.text(), &changed);
            prop_assert!(c.l0 >= 1);
        }
    }

    #[test]
    fn any_text_is_refused(sql in "\\PC{0,200}") {
        prop_assert!(certify(&sql, policy()).is_err());
    }
}
