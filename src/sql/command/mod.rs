//! Statements that hold a query and do something with its rows, or with what other statements left: the parser knows them in
//! part, or not at all.

mod copy;
mod cursor;
mod options;
mod prepare;
mod syntax;
mod tokens;
mod words;

pub use syntax::Syntax;
pub(super) use tokens::keyword;

use sqlparser::parser::Parser;
use syntax::Result;
use words::word;

/// Reads one statement.
pub(super) fn parse(parser: &mut Parser<'_>, max_depth: usize) -> Result<Syntax> {
    let first = word(parser).unwrap_or_default();
    match first.as_str() {
        "declare" => cursor::declare(parser),
        "fetch" | "move" => cursor::fetch(parser),
        "copy" => copy::copy(parser, max_depth),
        "prepare" => prepare::prepare(parser),
        "execute" => prepare::execute(parser, max_depth),
        _ => parser.parse_statement().map(|tree| Syntax::Tree(Box::new(tree))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::parse;
    use answer::{Copy, Direction, Fetch, ForceQuote};
    use policy::Limits;

    fn read(sql: &str) -> Syntax {
        parse::parse(sql, &Limits::default()).unwrap_or_else(|e| panic!("{sql}: {e}")).remove(0).ast
    }

    fn fails(sql: &str) -> (String, String) {
        let parsed = parse::parse(sql, &Limits::default());
        let e = match parsed.map(|mut p| p.remove(0).ast) {
            Err(e) | Ok(Syntax::Refused(e)) => e,
            // As everybody hears for whom nothing is collected.
            Ok(Syntax::CopyFrom(_, insert)) => insert.read_only(),
            Ok(_) => panic!("{sql}"),
        };
        (e.code.as_str().to_owned(), e.message)
    }

    #[test]
    fn every_spelling_of_fetch() {
        use Direction::{Absolute, Backward, Forward, Relative};
        for (what, direction, count) in [
            ("c", Forward, 1),
            ("FROM c", Forward, 1),
            ("NEXT IN c", Forward, 1),
            ("prior c", Backward, 1),
            ("FIRST FROM c", Absolute, 1),
            ("LAST FROM c", Absolute, -1),
            ("ABSOLUTE -3 FROM c", Absolute, -3),
            ("RELATIVE +2 c", Relative, 2),
            ("10 c", Forward, 10),
            ("-10 FROM c", Forward, -10),
            ("ALL c", Forward, Fetch::ALL),
            ("FORWARD c", Forward, 1),
            ("FORWARD 5 IN c", Forward, 5),
            ("FORWARD ALL FROM c", Forward, Fetch::ALL),
            ("BACKWARD c", Backward, 1),
            ("BACKWARD 0 FROM c", Backward, 0),
            ("BACKWARD ALL FROM \"c\"", Backward, Fetch::ALL),
        ] {
            for (verb, moves) in [("FETCH", false), ("MOVE", true)] {
                let Syntax::Fetch(found) = read(&format!("{verb} {what};")) else { panic!("{what}") };
                assert_eq!(found, Fetch { name: "c".into(), direction, count, moves }, "{what}");
            }
        }
        let Syntax::Fetch(found) = read("FETCH next") else { panic!() };
        assert_eq!((found.name.as_str(), found.count), ("next", 1), "the name of a cursor");
        for bad in ["FETCH", "FETCH 1.5 FROM c", "FETCH 3000000000 FROM c", "FETCH ABSOLUTE c", "MOVE 2 FROM"]
        {
            assert_eq!(fails(bad).0, "42601", "{bad}");
        }
    }

    #[test]
    fn every_option_of_declare() {
        for (what, expected) in [
            ("c CURSOR FOR", (false, false, false)),
            ("c NO SCROLL CURSOR WITHOUT HOLD FOR", (false, true, false)),
            ("C BINARY INSENSITIVE SCROLL CURSOR WITH HOLD FOR", (true, false, true)),
            ("\"c\" ASENSITIVE NO SCROLL CURSOR WITH HOLD FOR", (true, true, false)),
        ] {
            let Syntax::Declare(found, _) = read(&format!("DECLARE {what} SELECT 1")) else {
                panic!("{what}")
            };
            assert_eq!((found.hold, found.forward_only, found.binary), expected, "{what}");
            assert_eq!(found.name, "c");
        }
        let both = fails("DECLARE c SCROLL NO SCROLL CURSOR FOR SELECT 1");
        assert_eq!(both, ("42P11".into(), "cannot specify both SCROLL and NO SCROLL".into()));
        assert_eq!(fails("DECLARE c ASENSITIVE INSENSITIVE CURSOR FOR SELECT 1").0, "42P11");
        assert_eq!(fails("DECLARE c CURSOR SELECT 1").0, "42601");
    }

    #[test]
    fn prepare_execute_and_table() {
        let Syntax::Prepare(name, types, query) = read("PREPARE p (int, text) AS SELECT $1, $2") else {
            panic!()
        };
        assert_eq!((name.as_str(), types.len(), query.to_string().as_str()), ("p", 2, "SELECT $1, $2"));
        let Syntax::Execute(name, Some(query)) = read("EXECUTE \"P\"(1, (2 + 3), f(')'))") else { panic!() };
        assert_eq!((name.as_str(), query.to_string().as_str()), ("P", "VALUES (1, (2 + 3), f(')'))"));
        assert!(matches!(read("EXECUTE p;"), Syntax::Execute(_, None)));
        for bad in
            ["EXECUTE p()", "EXECUTE p(1 FROM t)", "EXECUTE p(1), (2)", "EXECUTE p(1", "PREPARE p SELECT 1"]
        {
            assert_eq!(fails(bad).0, "42601", "{bad}");
        }
        for (sql, expected) in [
            ("TABLE t", "SELECT * FROM t"),
            ("(TABLE s.t) UNION ALL TABLE t", "(SELECT * FROM s.t) UNION ALL SELECT * FROM t"),
            ("WITH x AS (TABLE t) TABLE x", "WITH x AS (SELECT * FROM t) SELECT * FROM x"),
            ("EXPLAIN TABLE t", "EXPLAIN SELECT * FROM t"),
        ] {
            let Syntax::Tree(tree) = read(sql) else { panic!("{sql}") };
            assert_eq!(tree.to_string(), expected, "{sql}");
        }
        assert!(matches!(read("COPY (TABLE t) TO STDOUT"), Syntax::Copy(..)));
        assert!(matches!(read("DECLARE c CURSOR FOR TABLE t"), Syntax::Declare(..)));
    }

    #[test]
    fn copy_in_both_syntaxes() {
        let csv = |delimiter, null: &str, header, force_quote| Copy::Csv {
            delimiter,
            null: null.into(),
            header,
            quote: b'"',
            escape: b'"',
            force_quote,
        };
        let text = |delimiter, null: &str, header| Copy::Text { delimiter, null: null.into(), header };
        let none = || ForceQuote::Columns(Vec::new());
        for (sql, expected) in [
            ("COPY t TO STDOUT", text(b'\t', "\\N", false)),
            ("COPY (SELECT 1) TO STDOUT WITH BINARY", Copy::Binary),
            ("COPY BINARY t TO STDOUT", Copy::Binary),
            ("COPY (SELECT 1) TO STDOUT (FORMAT binary)", Copy::Binary),
            ("COPY (SELECT 1) TO STDOUT (FORMAT 'CSV', HEADER)", csv(b',', "", true, none())),
            (
                "COPY t (a, b) TO STDOUT WITH (FORMAT csv, HEADER false, DELIMITER ';')",
                csv(b';', "", false, none()),
            ),
            ("COPY s.t TO STDOUT CSV HEADER NULL AS 'x'", csv(b',', "x", true, none())),
            ("COPY t TO STDOUT WITH DELIMITER AS '|' NULL ''", text(b'|', "", false)),
            ("COPY t TO STDOUT USING DELIMITERS '|' WITH NULL ''", text(b'|', "", false)),
            ("COPY t TO STDOUT (HEADER 1, NULL 'none', ENCODING 'utf-8')", text(b'\t', "none", true)),
            ("COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE *)", csv(b',', "", false, ForceQuote::All)),
            (
                "COPY t TO STDOUT CSV FORCE QUOTE a, \"B\"",
                csv(b',', "", false, ForceQuote::Columns(vec!["a".into(), "B".into()])),
            ),
        ] {
            let Syntax::Copy(found, _) = read(sql) else { panic!("{sql}") };
            assert_eq!(found, expected, "{sql}");
        }
        let Syntax::Copy(_, query) = read("COPY s.t (a, \"B\") TO STDOUT") else { panic!() };
        assert_eq!(query.to_string(), "SELECT a, \"B\" FROM s.t");
    }

    #[test]
    fn what_copy_refuses_as_postgresql_does() {
        for (sql, code, message) in [
            ("COPY t FROM STDIN", "42501", "cannot execute COPY FROM: noisegate is read-only"),
            ("COPY t FROM '/tmp/x'", "42501", "cannot execute COPY FROM: noisegate is read-only"),
            ("COPY t FROM STDIN WHERE x > 1", "42501", "cannot execute COPY FROM: noisegate is read-only"),
            ("COPY t TO '/tmp/x'", "42501", "permission denied to COPY to a file"),
            ("COPY t TO PROGRAM 'cat'", "42501", "permission denied to COPY to or from an external program"),
            ("COPY t TO STDOUT (FORMAT csv, FORMAT text)", "42601", "conflicting or redundant options"),
            ("COPY t TO STDOUT (FORMAT json)", "22023", "COPY format \"json\" not recognized"),
            (
                "COPY t TO STDOUT (FORMAT binary, DELIMITER ',')",
                "42601",
                "cannot specify DELIMITER in BINARY mode",
            ),
            ("COPY t TO STDOUT (FORMAT binary, NULL '')", "42601", "cannot specify NULL in BINARY mode"),
            ("COPY t TO STDOUT (FORMAT binary, HEADER)", "0A000", "cannot specify HEADER in BINARY mode"),
            (
                "COPY t TO STDOUT (DELIMITER 'ab')",
                "0A000",
                "COPY delimiter must be a single one-byte character",
            ),
            ("COPY t TO STDOUT (DELIMITER 'a')", "22023", "COPY delimiter cannot be \"a\""),
            ("COPY t TO STDOUT (QUOTE '''')", "0A000", "COPY quote available only in CSV mode"),
            ("COPY t TO STDOUT (ESCAPE '''')", "0A000", "COPY escape available only in CSV mode"),
            ("COPY t TO STDOUT (FORCE_QUOTE *)", "0A000", "COPY force quote available only in CSV mode"),
            (
                "COPY t TO STDOUT (FORMAT csv, QUOTE ',')",
                "22023",
                "COPY delimiter and quote must be different",
            ),
            (
                "COPY t TO STDOUT (FORMAT csv, FORCE_NULL (a))",
                "0A000",
                "COPY force null only available using COPY FROM",
            ),
            (
                "COPY t TO STDOUT (NULL E'a\\n')",
                "22023",
                "COPY null representation cannot use newline or carriage return",
            ),
            (
                "COPY t TO STDOUT (NULL E'a\\tb')",
                "22023",
                "COPY delimiter must not appear in the NULL specification",
            ),
            (
                "COPY t TO STDOUT (FORMAT csv, NULL '\"')",
                "22023",
                "CSV quote character must not appear in the NULL specification",
            ),
            ("COPY t TO STDOUT (ENCODING latin1)", "0A000", "COPY writes UTF8 only"),
            ("COPY t TO STDOUT (SPEED 9)", "42601", "option \"speed\" not recognized"),
            ("COPY t TO STDOUT (HEADER match)", "42601", "cannot use \"match\" with HEADER in COPY TO"),
            ("COPY t TO STDOUT (HEADER maybe)", "42601", "header requires a Boolean value or \"match\""),
        ] {
            assert_eq!(fails(sql), (code.to_owned(), message.to_owned()), "{sql}");
        }
        assert_eq!(fails("COPY (SELECT 1) FROM STDIN").0, "42601");
        assert_eq!(fails("COPY t TO").0, "42601");
    }
}
