//! Samples with their holes filled, and constants that are aimed at the ends of spans.

use super::*;

impl Generator<'_> {
    /// A sample of the allow-list, its holes filled.
    pub(super) fn sample(&mut self, kind: Kind, depth: usize) -> String {
        let sample = *self.rng.pick(self.samples.of(kind));
        self.fill(sample, depth)
    }

    pub(super) fn fill(&mut self, sample: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = sample;
        while let Some((before, hole)) = rest.split_once('{') {
            let (hole, after) = hole.split_once('}').unwrap();
            out.push_str(before);
            out.push_str(&self.hole(hole, depth));
            rest = after;
        }
        out + rest
    }

    pub(super) fn hole(&mut self, hole: &str, depth: usize) -> String {
        match hole {
            "n" if self.rng.chance(8) => self.column(&[Ty::Unbounded]).unwrap_or_else(|| self.number(depth)),
            "n" => self.number(depth),
            "i" => {
                let whole = ["birth_year", "level", "minutes", "big", "zero", "n", "v", "cost", "z", "k"];
                let whole = whole.iter().chain(&["i2", "i4", "i8", "ri2", "ri4", "ri8", "ni4", "pi4"]);
                let whole: Vec<&str> = whole.copied().collect();
                let columns = self.columns.iter().map(|(c, _)| c);
                let fit: Vec<&String> =
                    columns.filter(|c| c.split_once('.').is_some_and(|(_, c)| whole.contains(&c))).collect();
                match fit.is_empty() || self.rng.chance(15) {
                    true => self.one(&["1", "0", "-1", "7", "2147483647", "-2147483648", "2"]),
                    false => (*self.rng.pick(&fit)).clone(),
                }
            }
            "f" => match self.rng.below(4) {
                0 => format!("CAST({} AS double precision)", self.number(depth)),
                1 => match self.column(&[Ty::RawFloat]) {
                    Some(c) => self.within(&c),
                    None => "CAST(2.5 AS double precision)".into(),
                },
                _ => self.column(&[Ty::Float]).unwrap_or_else(|| "CAST(1.5 AS real)".into()),
            },
            "t" => self.column(&[Ty::Time, Ty::Time, Ty::Date]).unwrap_or_else(|| self.moment()),
            "s" => self.text(depth.min(1)),
            "j" => self.column(&[Ty::Json]).unwrap_or_else(|| "payload".into()),
            "b" => self.truth(depth),
            "c" => self.constant(),
            "d" => self.rng.between(-4, 8).to_string(),
            "p" => {
                if self.rng.chance(20) {
                    // More levels than PostgreSQL's stack has, or as many looks at each character.
                    return match self.rng.chance(60) {
                        true => format!("'{}'", "%a".repeat(60_000)),
                        false => format!("'%{}b%'", "a".repeat(40_000)),
                    };
                }
                self.one(&["'%a%'", "'L_te%'", "'a\\_b'", "''", "'\\\\%'", "'%'", "'_%_'"])
            }
            "e" => self.one(&["'Oslo'", "'late'", "'it''s'", "''", "'Alpha'", "'day'"]),
            "m" => self.one(&[
                "TIMESTAMP '2024-03-31 02:30'",
                "DATE '2024-02-29'",
                "'2024-12-31 23:59:59.999999'",
                "'infinity'",
                "TIMESTAMP '2023-12-31 23:59:59.999999'",
                // Some days less than a hundred years before the ends of ranges: leap years decide.
                "DATE '1920-01-04'",
                "TIMESTAMP '1923-01-04 12:00'",
                "TIMESTAMP '1924-01-04 12:00'",
            ]),
            other => panic!("a hole that nobody fills: {other}"),
        }
    }

    /// A constant at a tie of some grid, at the end of a type, or next to one.
    pub(super) fn constant(&mut self) -> String {
        match self.rng.below(8) {
            0..=2 => self.one(&["1", "0", "-1", "2.5", "100", "0.001", "-7"]),
            3 => self.one(&[
                "0.5",
                "-0.5",
                "1.5",
                "-2.5",
                "0.005",
                "-0.015",
                "499.9999999",
                "1e-30",
                "0.0049999",
            ]),
            4 => self.one(&[
                "2147483647",
                "2147483648",
                "-2147483649",
                "2147483647.5",
                "-2147483648.5",
                "32767.5",
                "4294967296",
            ]),
            5 => self.one(&[
                "9007199254740993",
                "4611686018427387904",
                "4611686018427387903",
                "9223372036854775807",
                "999999999999999999.0",
                "1234567890499.9999999",
                "1e15",
                "999999999999999.5",
            ]),
            6 => self.one(&[
                "1.4999999999999999999",
                "2.4999999999999999999",
                "0.4999999999999999999",
                "-1.4999999999999999999",
            ]),
            _ => self.tie(),
        }
    }

    /// Half a step beyond nine digits after the first, which is the grid of sums without a lattice.
    pub(super) fn tie(&mut self) -> String {
        let digits = self.rng.between(1_000_000_000, 9_999_999_999);
        let text = match self.rng.below(6) {
            0 => format!("{digits}.5"),
            1 => format!("{}.{:02}5", digits / 100, digits % 100),
            2 => format!("{}.{:09}5", digits / 1_000_000_000, digits % 1_000_000_000),
            3 => format!("{digits}500"),
            4 => format!("{digits}499.9999999"),
            _ => format!("{digits}5"),
        };
        if self.rng.chance(25) { format!("-{text}") } else { text }
    }

    /// A column without a range, moved into one that may end at a tie.
    pub(super) fn bounded(&mut self) -> String {
        match self.column(&[Ty::Unbounded, Ty::RawFloat]) {
            Some(c) => self.within(&c),
            None => self.constant(),
        }
    }

    pub(super) fn within(&mut self, x: &str) -> String {
        let (low, high) = match self.rng.below(4) {
            0 => (self.one(&["0", "-5", "1"]), self.constant()),
            1 => {
                // A range that is a step wide.
                let n = self.rng.between(100_000_000, 999_999_999) * 2;
                (format!("{n}499.5"), format!("{n}500.5"))
            }
            2 => (self.constant(), self.constant()),
            _ => (self.one(&["0", "-1000", "1.5"]), self.tie()),
        };
        format!("LEAST(GREATEST({x}, {low}), {high})")
    }

    /// A divisor that is just beside 0 where the spans are right, and is 0 where one is too narrow; a cast that fits
    /// just so; and their like.
    pub(super) fn aimed(&mut self) -> String {
        let over = self.one(&["1", "7", "100"]);
        match self.rng.below(9) {
            0 | 1 => {
                let (field, edges): (&str, &[&str]) = *self.rng.pick(&[
                    ("year", &["2023", "2025"][..]),
                    ("year", &["2023", "2025"]),
                    ("isoyear", &["2023", "2025"]),
                    ("decade", &["201", "203"]),
                    ("month", &["0", "13"]),
                    ("doy", &["0", "367"]),
                    ("isodow", &["0", "8"]),
                    ("hour", &["-1", "24"]),
                ]);
                let time = self.column(&[Ty::Time]).unwrap_or_else(|| "TIMESTAMP '2024-05-05'".into());
                format!("({over} / (extract({field} FROM {time}) - {}))", self.rng.pick(edges))
            }
            2 => {
                let x =
                    self.column(&[Ty::RawFloat, Ty::Unbounded, Ty::Float]).unwrap_or_else(|| "1.5".into());
                let n = self.rng.between(0, 3);
                let half = self.one(&["5", "4999999999999999999", "5000000000000000001"]);
                let how = self.one(&[
                    "round(#)",
                    "CAST(# AS int)",
                    "CAST(CAST(# AS double precision) AS int)",
                    "CAST(CAST(# AS double precision) AS bigint)",
                    "round(CAST(# AS numeric), 0)",
                    "ceil(#)",
                ]);
                let rounded = how.replace('#', &format!("LEAST(GREATEST({x}, 0), {n}.{half})"));
                format!("({over} / ({rounded} - {}))", n + self.rng.between(1, 2))
            }
            3 | 4 => {
                // What a NULL leaves of GREATEST and LEAST.
                let a = self.column(&[Ty::Number, Ty::Float]).unwrap_or_else(|| "1".into());
                let (b, shift) = (self.number(0), self.one(&["+ 1", "+ 11", "", "+ 1001"]));
                let a =
                    if self.rng.chance(30) { format!("extract(month FROM {})", self.moment()) } else { a };
                let word = self.one(&["GREATEST", "GREATEST", "LEAST"]);
                format!("({over} / {word}(({a} {shift}), {b}))")
            }
            5 => format!(
                "({over} / (({} % {}) + {}))",
                self.hole("i", 0),
                self.one(&["2", "3", "7"]),
                self.one(&["1", "2", "6"])
            ),
            6 | 7 => {
                let to = self.one(&["int", "bigint", "smallint", "numeric(6,2)"]);
                let below = match self.rng.below(3) {
                    0 => self.column(&[Ty::Number]).unwrap_or_else(|| "7".into()),
                    _ => self.hole("f", 0),
                };
                format!("CAST(({over} / {below}) AS {to})")
            }
            _ => self.bounded(),
        }
    }
}
