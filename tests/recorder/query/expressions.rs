//! Values of each kind, from columns, constants and the samples of the allow-list.

use super::*;

impl Generator<'_> {
    pub(super) fn moment(&mut self) -> String {
        self.column(&[Ty::Time]).unwrap_or_else(|| "TIMESTAMP '2024-05-05 10:00'".into())
    }

    pub(super) fn time(&mut self) -> String {
        let column =
            self.column(&[Ty::Time, Ty::Date]).unwrap_or_else(|| "TIMESTAMP '2024-05-05 10:00'".into());
        match self.rng.below(8) {
            0 if self.columns.iter().any(|(c, _)| *c == column && c.ends_with("started_at")) => {
                format!("CAST({column} AS date)")
            }
            1 => format!("COALESCE({column}, '2024-02-29')"),
            7 if !self.exact && self.rng.chance(25) => "(SELECT max(started_at) FROM trips)".into(),
            2 => format!("NULLIF({column}, '2024-01-01')"),
            4 if !self.exact && self.rng.chance(25) => {
                let by =
                    self.one(&["1 mon -2 days", "-1 mon 2 days 03:00", "-1 year 30 days", "1 day -24:00"]);
                format!("{} + INTERVAL '{by}'", self.moment())
            }
            3 if column.ends_with("at") || column.ends_with("joined") => {
                format!("CAST({column} AS timestamptz)")
            }
            _ => column,
        }
    }

    pub(super) fn text(&mut self, depth: usize) -> String {
        if self.rng.chance(8)
            && let Some(column) = self.column(&[Ty::Enum])
        {
            return format!("CAST({column} AS text)");
        }
        let Some(column) = self.column(&[Ty::Text]) else {
            return format!("CASE WHEN {} THEN 'x' ELSE 'y' END", self.truth(0));
        };
        if depth == 0 {
            return column;
        }
        if !self.exact && self.rng.chance(20) {
            return self.sample(Kind::Text, depth - 1);
        }
        if !self.exact && self.rng.chance(4) {
            return "(SELECT mode() WITHIN GROUP (ORDER BY plan) FROM riders)".into();
        }
        match self.rng.below(5) {
            4 => format!("COALESCE({column}, {})", self.text(0)),
            0 => format!("COALESCE({column}, 'none')"),
            1 => format!("NULLIF({column}, 'Oslo')"),
            2 => format!("CASE WHEN {} THEN {column} ELSE 'it''s' END", self.truth(depth - 1)),
            _ => format!("CAST({column} AS varchar)"),
        }
    }

    pub(super) fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.chance(15) {
            return match self.rng.below(10) {
                0 if self.exact => self.one(&["1", "0", "-1", "2.5", "1000000", "0.001", "-7"]),
                0 => self.constant(),
                1 if !self.exact => self.bounded(),
                2 if !self.exact && self.rng.chance(25) => self.given(),
                _ => self.column(&[Ty::Number, Ty::Float]).unwrap_or_else(|| "3".into()),
            };
        }
        let d = depth - 1;
        if !self.exact {
            match self.rng.below(10) {
                0..=2 => return self.sample(Kind::Number, d),
                3 | 4 => return self.aimed(),
                _ => {}
            }
        }
        match self.rng.below(18) {
            0 | 1 => format!("({} + {})", self.number(d), self.number(d)),
            2 => format!("({} - {})", self.number(d), self.number(d)),
            3 => format!("({} * {})", self.number(d), self.number(d)),
            4 => format!("({} / {})", self.number(d), self.number(d)),
            5 => format!("({} % {})", self.number(d), self.number(d)),
            6 => format!("(- {})", self.number(d)),
            7 => format!("abs({})", self.number(d)),
            8 => format!("CASE WHEN {} THEN {} ELSE {} END", self.truth(d), self.number(d), self.number(d)),
            9 => format!("CASE WHEN {} THEN {} END", self.truth(d), self.number(d)),
            10 => format!("COALESCE({}, {})", self.number(d), self.number(d)),
            11 => format!("NULLIF({}, {})", self.number(d), self.number(d)),
            12 => {
                let wild = self.column(&[Ty::Unbounded]).unwrap_or_else(|| "4".into());
                format!("LEAST(GREATEST({wild}, {}), 100)", self.one(&["0", "-50", "1.5"]))
            }
            13 => format!("GREATEST({}, {})", self.number(d), self.number(d)),
            // PostgreSQL computes these of integers, and what follows, in double precision.
            14 if !self.exact => {
                let how = self.one(&["round", "floor", "ceil", "trunc"]);
                format!("{how}({})", self.number(d))
            }
            15 => format!(
                "{}({}, {})",
                self.one(&["round", "trunc"]),
                self.number(d),
                self.one(&["1", "-1", "2"])
            ),
            16 => {
                let to = self.one(&[
                    "int",
                    "smallint",
                    "bigint",
                    "numeric",
                    "numeric(5,2)",
                    "real",
                    "double precision",
                ]);
                let to = if self.exact && to.contains('e') && to != "smallint" && !to.starts_with("num") {
                    "int".into()
                } else {
                    to
                };
                format!("CAST({} AS {to})", self.number(d))
            }
            _ => {
                let field = self.one(&["year", "month", "hour", "dow", "second", "epoch", "doy", "century"]);
                format!("EXTRACT({field} FROM {})", self.moment())
            }
        }
    }

    pub(super) fn comparable(&mut self, depth: usize) -> String {
        if self.rng.chance(40)
            && let Some(c) = self.column(&[Ty::Unbounded, Ty::RawFloat, Ty::Float])
        {
            return c;
        }
        self.number(depth)
    }

    pub(super) fn truth(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        if !self.exact && self.rng.chance(20) {
            return self.sample(Kind::Truth, d);
        }
        let op = self.one(&["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
        match self.rng.below(if depth == 0 { 9 } else { 14 }) {
            0 | 1 => format!("({} {op} {})", self.comparable(d), self.comparable(d)),
            2 => format!("({} {op} {})", self.number(d), self.one(&["0", "1", "30", "2.5", "-1"])),
            3 if self.rng.chance(25) && self.columns.iter().any(|(_, t)| *t == Ty::Enum) => {
                let column = self.column(&[Ty::Enum]).unwrap_or_default();
                let to = self.one(&[
                    "= 'low'",
                    "< 'high'",
                    "<> 'mid'",
                    "IN ('low', 'high')",
                    "IS DISTINCT FROM NULL",
                ]);
                format!("({column} {to})")
            }
            3 => {
                let list = self.one(&["'Alpha', 'Echo'", "'it''s'", "'Oslo', NULL", "'day', 'late', 'zzz'"]);
                let not = self.one(&["", "NOT "]);
                format!("({} {not}IN ({list}))", self.text(0))
            }
            4 if self.rng.chance(20) && self.columns.iter().any(|(_, t)| *t == Ty::Loose) => {
                let column = self.column(&[Ty::Loose]).unwrap_or_default();
                let list = self.one(&["'a'", "'alpha', 'b'", "'ALPHA', 'a '"]);
                format!("({column} {}IN ({list}))", self.one(&["", "NOT "]))
            }
            4 => {
                let like = self.one(&["LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE"]);
                let mut pattern = self.one(&[
                    "'%a%'",
                    "'L_te%'",
                    "'a\\_b'",
                    "'%x%%' ESCAPE 'x'",
                    "''",
                    "'\\\\%'",
                    "'%\\' ESCAPE ''",
                ]);
                if !self.exact && self.rng.chance(50) {
                    pattern = self.hole("p", 0);
                }
                format!("({} {like} {pattern})", self.text(0))
            }
            5 => {
                if self.rng.chance(30) {
                    return format!("({} {op} {})", self.text(d), self.text(0));
                }
                let of = self.anything(0);
                format!("({of} IS {}NULL)", self.one(&["", "NOT "]))
            }
            6 if self.rng.chance(20) && self.columns.iter().any(|(_, t)| *t == Ty::Span) => {
                let (span, other) = (self.column(&[Ty::Span]), self.column(&[Ty::Span]));
                let than = self.one(&["INTERVAL '24 hours'", "INTERVAL '1 day'", "INTERVAL '1 mon'"]);
                let than = other.filter(|_| self.rng.chance(20)).unwrap_or(than);
                format!("({} {op} {than})", span.unwrap_or_default())
            }
            6 => {
                let at = self.one(&[
                    "'2024-06-01'",
                    "TIMESTAMP '2024-03-31 02:30'",
                    "DATE '2023-01-01'",
                    "'infinity'",
                ]);
                format!("({} {op} {at})", self.time())
            }
            7 => self.column(&[Ty::Bool]).unwrap_or_else(|| "true".into()),
            8 => format!(
                "({} IN ({}))",
                self.comparable(0),
                self.one(&["0, 1, 2", "7, 30", "2.5, NULL", "-1"])
            ),
            9 => format!("({} AND {})", self.truth(d), self.truth(d)),
            10 => format!("({} OR {})", self.truth(d), self.truth(d)),
            11 => format!("(NOT {})", self.truth(d)),
            12 => {
                let what = self.one(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"]);
                format!("({} IS {what})", self.truth(d))
            }
            _ => {
                let not = self.one(&["", "NOT "]);
                format!("({} {not}BETWEEN {} AND {})", self.comparable(d), self.comparable(0), self.number(0))
            }
        }
    }
}
