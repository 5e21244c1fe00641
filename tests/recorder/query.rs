//! Statements drawn from everything that may stand over private rows.

mod expressions;
mod holes;
mod per_unit;
mod sources;

use crate::rng::Rng;
use crate::samples::{Kind, Samples};

/// What a column, or an expression, is good for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ty {
    /// A number with a range.
    Number,
    /// A float with a range.
    Float,
    /// A number without a range: comparisons and keys.
    Unbounded,
    /// A float without a range.
    RawFloat,
    /// Text.
    Text,
    /// An enum.
    Enum,
    /// A truth value.
    Bool,
    /// A timestamp.
    Time,
    /// A date.
    Date,
    /// A json value.
    Json,
    /// An interval.
    Span,
    /// A text of which equal ones may differ.
    Loose,
}

struct Source {
    with: String,
    from: String,
    filter: Option<String>,
    columns: Vec<(String, Ty)>,
    /// The private unit, where it can be counted.
    unit: Option<String>,
}

/// A SELECT in parts, so that what fails can be made smaller.
#[derive(Clone, Debug, Default)]
struct Statement {
    with: String,
    distinct: bool,
    keys: Vec<String>,
    aggregates: Vec<String>,
    from: String,
    conditions: Vec<String>,
    ordinals: bool,
    /// ROLLUP or CUBE of the keys.
    sets: &'static str,
    tail: &'static str,
}

impl Statement {
    fn sql(&self) -> String {
        let items: Vec<&str> = self.keys.iter().chain(&self.aggregates).map(String::as_str).collect();
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let mut sql = format!("{}SELECT {distinct}{} FROM {}", self.with, items.join(", "), self.from);
        if !self.conditions.is_empty() {
            sql += &format!(" WHERE {}", self.conditions.join(" AND "));
        }
        if !self.keys.is_empty() && !self.distinct {
            let ordinals = (1..=self.keys.len()).map(|i| i.to_string()).collect();
            let keys = if self.ordinals { ordinals } else { self.keys.clone() }.join(", ");
            sql += &match self.sets {
                "" => format!(" GROUP BY {keys}"),
                sets => format!(" GROUP BY {sets} ({keys})"),
            };
        }
        sql + self.tail
    }

    /// Each without one of its parts.
    fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for i in 0..self.keys.len() {
            let mut s = self.clone();
            s.keys.remove(i);
            all.push(s);
        }
        for i in 0..self.aggregates.len() {
            let mut s = self.clone();
            s.aggregates.remove(i);
            all.push(s);
        }
        for i in 0..self.conditions.len() {
            let mut s = self.clone();
            s.conditions.remove(i);
            all.push(s);
        }
        if !self.tail.is_empty() {
            all.push(Self { tail: "", ..self.clone() });
        }
        if !self.sets.is_empty() {
            all.push(Self { sets: "", ..self.clone() });
        }
        all.retain(|s| !s.keys.is_empty() || !s.aggregates.is_empty());
        all
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Query {
    /// The text.
    pub sql: String,
    /// Its parts, and what stands around them.
    parts: Option<(Statement, &'static str, &'static str)>,
}

impl Query {
    fn of(statement: Statement, before: &'static str, after: &'static str) -> Self {
        Self { sql: format!("{before}{}{after}", statement.sql()), parts: Some((statement, before, after)) }
    }

    fn fixed(sql: String) -> Self {
        Self { sql, parts: None }
    }

    /// Statements that are this one without a part of it.
    pub fn smaller(&self) -> Vec<Self> {
        let Some((statement, before, after)) = &self.parts else { return Vec::new() };
        let mut all: Vec<Self> =
            statement.smaller().into_iter().map(|s| Self::of(s, before, after)).collect();
        if !before.is_empty() {
            all.push(Self::of(statement.clone(), "", ""));
        }
        all
    }
}

/// A sample of the allow-list with its holes filled by columns, constants, and at some depth by other samples.
pub fn filled(
    rng: &mut Rng,
    samples: &Samples,
    columns: &[(String, Ty)],
    sample: &str,
    depth: usize,
) -> String {
    Generator { rng, samples, columns: columns.to_vec(), exact: false, apart: false }.fill(sample, depth)
}

/// An expression that is aimed at the ends of spans.
pub fn aimed(rng: &mut Rng, samples: &Samples, columns: &[(String, Ty)]) -> String {
    Generator { rng, samples, columns: columns.to_vec(), exact: false, apart: false }.aimed()
}

/// A zone that jumps by six days, which no named one does: a week of it can be a day long.
pub const JUMPS: &str = "AAA97BBB-47,J57/2,J300/0";

/// Draws statements. `exact`: only such whose answer PostgreSQL computes as noisegate does, to the grid.
pub struct Generator<'a> {
    rng: &'a mut Rng,
    samples: &'a Samples,
    columns: Vec<(String, Ty)>,
    exact: bool,
    /// It reads private rows and others, which are aggregated apart.
    apart: bool,
}

const RIDERS: &[(&str, Ty)] = &[
    ("birth_year", Ty::Number),
    ("plan", Ty::Text),
    ("city", Ty::Text),
    ("score", Ty::Float),
    ("ref", Ty::Float),
    ("active", Ty::Bool),
    ("level", Ty::Number),
    ("loose", Ty::Text),
    ("tier", Ty::Enum),
    ("joined", Ty::Date),
    ("born", Ty::Time),
    ("worth", Ty::Unbounded),
    ("mass", Ty::RawFloat),
    ("weight", Ty::Float),
    ("pad", Ty::Loose),
];

const TRIPS: &[(&str, Ty)] = &[
    ("started_at", Ty::Time),
    ("raw_at", Ty::Time),
    ("zoned", Ty::Time),
    ("zoned", Ty::Time),
    ("station", Ty::Text),
    ("note", Ty::Text),
    ("payload", Ty::Json),
    ("minutes", Ty::Number),
    ("fare", Ty::Number),
    ("big", Ty::Number),
    ("amount", Ty::Number),
    ("zero", Ty::Number),
    ("minutes", Ty::Number),
    ("fare", Ty::Number),
    ("dist", Ty::Float),
    ("short", Ty::Float),
    ("temp", Ty::RawFloat),
    ("wide", Ty::Unbounded),
    ("huge", Ty::Unbounded),
    ("lasts", Ty::Span),
    ("soft", Ty::Loose),
];

/// Columns of trips whose values may be equal and look different.
const TWINS: [(&str, Ty); 8] = [
    ("amount", Ty::Number),
    ("huge", Ty::Unbounded),
    ("dist", Ty::Float),
    ("temp", Ty::RawFloat),
    ("short", Ty::Float),
    ("lasts", Ty::Span),
    ("soft", Ty::Loose),
    ("payload", Ty::Json),
];

const SLOTS: &[(&str, Ty)] = &[("n", Ty::Number), ("v", Ty::Number), ("w", Ty::Number)];
const LEGS: &[(&str, Ty)] = &[("km", Ty::Number), ("surface", Ty::Text), ("leg_id", Ty::Unbounded)];
const PARTS: &[(&str, Ty)] = &[("cost", Ty::Number), ("kind", Ty::Text)];
const MARKS: &[(&str, Ty)] = &[("z", Ty::Number), ("k", Ty::Number)];
const STATIONS: &[(&str, Ty)] =
    &[("city", Ty::Text), ("capacity", Ty::Unbounded), ("station", Ty::Text), ("opened", Ty::Date)];
const CODES: &[(&str, Ty)] = &[("label", Ty::Text), ("id", Ty::Unbounded)];
const MOMENTS: &[(&str, Ty)] = &[("label", Ty::Text), ("at", Ty::Time)];

fn of(alias: &str, columns: &[(&str, Ty)]) -> Vec<(String, Ty)> {
    columns.iter().map(|(c, t)| (format!("{alias}.{c}"), *t)).collect()
}

/// Draws one statement.
pub fn query(rng: &mut Rng, samples: &Samples, exact: bool) -> Query {
    let shape = if exact { 0 } else { rng.below(40) };
    let mut one = || Generator { rng, samples, columns: Vec::new(), exact, apart: false }.statement();
    // Some hold a release in a larger statement, or several.
    match shape {
        1 => Query::of(one(), "WITH z AS (", ") SELECT count(*) FROM z"),
        2 => Query::of(one(), "SELECT * FROM (", ") AS z ORDER BY 1"),
        3 => Query::of(one(), "SELECT (SELECT count(*) FROM trips WHERE note <> 'late'), q.n FROM (SELECT count(*) AS n FROM (", ") y) AS q"),
        // Rows without partners add nothing, and all groups come back.
        5 => {
            let keys = ["s.station", "s.city", "s.capacity", "s.station, s.city"];
            let aggregates = ["count(t.trip_id), sum(t.minutes)", "count(DISTINCT t.rider_id), avg(t.fare)", "count(*) FILTER (WHERE t.zero > 0), sum(t.minutes * s.capacity)"];
            let side = ["trips t", "(SELECT * FROM trips WHERE zero < 2) t", "(trips t JOIN riders r USING (rider_id))"];
            let key = *rng.pick(&keys);
            Query::fixed(format!("SELECT {key}, {} FROM stations s LEFT JOIN {} ON t.station = s.station GROUP BY {key}", rng.pick(&aggregates).replace("s.capacity", "least(greatest(s.capacity, 0), 50)"), rng.pick(&side)))
        }
        // Chosen among groups, by numbers that rise with a unit's rows and by others.
        6 => Query::fixed((*rng.pick(crate::questions::FIRST)).to_owned()),
        4 => Query::fixed("SELECT plan, count(*) FROM riders GROUP BY plan UNION ALL SELECT station, sum(minutes) FROM trips GROUP BY 1".into()),
        _ => Query::of(one(), "", ""),
    }
}

/// Groups of times around the days in which a zone jumps ([`JUMPS`]), and nothing else: its offsets are larger than a
/// gateway lets sessions have, so that fields of its times lie where no span says.
pub fn jumping(rng: &mut Rng, samples: &Samples) -> Query {
    let mut g = Generator { rng, samples, columns: of("t", &TRIPS[6..]), exact: false, apart: false };
    let unit = g.one(&["week", "week", "month", "day", "quarter"]);
    let (low, high) = *g.rng.pick(&[
        ("2024-02-25", "2024-02-27"),
        ("2024-02-28", "2024-03-02 12:00"),
        ("2024-02-28", "2024-03-03"),
        ("2024-02-29", "2024-03-03"),
        ("2024-03-01", "2024-03-03"),
        ("2024-02-24", "2024-02-28"),
        ("2024-02-01", "2024-02-26"),
        ("2024-10-26", "2024-10-30"),
    ]);
    let column = g.one(&["t.zoned", "t.zoned", "CAST(t.started_at AS timestamptz)"]);
    let zone = if column == "t.zoned" { "+00" } else { "" };
    let at = |x: &str| if x.len() > 10 { format!("{x}{zone}") } else { format!("{x} 00:00{zone}") };
    let time = match zone {
        "" => format!("CAST(LEAST(GREATEST(t.started_at, '{}'), '{}') AS timestamptz)", at(low), at(high)),
        _ => format!("LEAST(GREATEST(t.zoned, '{}'), '{}')", at(low), at(high)),
    };
    let aggregate = g.one(&["count(*)", "sum(t.minutes)", "count(t.fare)", "sum(t.zero)"]);
    Query::of(
        Statement {
            keys: vec![format!("date_trunc('{unit}', {time})")],
            aggregates: vec![aggregate],
            from: "trips t".into(),
            ..Statement::default()
        },
        "",
        "",
    )
}

impl Generator<'_> {
    fn one(&mut self, of: &[&str]) -> String {
        (*self.rng.pick(of)).to_owned()
    }

    fn column(&mut self, wanted: &[Ty]) -> Option<String> {
        let fit: Vec<&String> =
            self.columns.iter().filter(|(_, t)| wanted.contains(t)).map(|(c, _)| c).collect();
        if fit.is_empty() { None } else { Some((*self.rng.pick(&fit)).clone()) }
    }

    fn statement(&mut self) -> Statement {
        let source = self.source();
        self.columns = source.columns.clone();
        if self.exact {
            // Sums of floats are compared apart; elsewhere PostgreSQL rounds them to even.
            self.columns.retain(|(_, t)| !matches!(t, Ty::Float | Ty::RawFloat));
        }
        let keys: Vec<String> =
            (0..*self.rng.pick(&[0, 0, 1, 1, 1, 1, 2, 2, 3])).map(|_| self.key()).collect();
        let mut conditions: Vec<String> = source.filter.iter().cloned().collect();
        for _ in 0..*self.rng.pick(&[0, 0, 1, 1, 2]) {
            conditions.push(self.truth(2));
        }
        // Over keys: what narrows their domain.
        if let Some(key) = keys.first().filter(|_| self.rng.chance(25)) {
            let last = keys.last().unwrap_or(key);
            conditions.push(match self.rng.below(5) {
                0 => format!("({key} IS NOT NULL)"),
                1 => format!("({key} = {key})"),
                2 => format!("({key} IS NOT DISTINCT FROM {key} AND {last} IS NOT NULL)"),
                3 => format!("({key} IS NULL OR {})", self.truth(0)),
                _ => format!("(NOT ({last} <> {last}) OR {key} IS NULL)"),
            });
        }
        let mut out =
            Statement { with: source.with, from: source.from, keys, conditions, ..Statement::default() };
        if !self.exact && self.rng.chance(6) {
            self.among_released(&mut out);
        }
        if !self.exact && self.rng.chance(6) {
            self.twice(&mut out);
        }
        if !self.exact && !out.keys.is_empty() && self.rng.chance(6) {
            return Statement { distinct: true, ..out };
        }
        for _ in 0..self.rng.between(1, 4) {
            let a = self.aggregate(source.unit.as_deref());
            if !out.keys.contains(&a) && !out.aggregates.contains(&a) {
                out.aggregates.push(a);
            }
        }
        out.ordinals = self.rng.chance(50);
        if !self.exact && self.rng.chance(8) {
            out.sets = *self.rng.pick(&["ROLLUP", "CUBE"]);
        }
        if !self.exact && self.rng.chance(10) {
            out.tail = " HAVING count(*) > 3";
        }
        if !self.exact && self.rng.chance(10) {
            out.tail = " ORDER BY 1 DESC LIMIT 5";
        }
        if !self.exact && !out.keys.is_empty() && self.rng.chance(4) {
            out.aggregates = vec!["count(*)".into()];
            (out.tail, out.sets) = (" ORDER BY count(*) DESC LIMIT 1", "");
        }
        out
    }

    /// Groups of a column that the statement says is one of some values, of which two are the same in other words.
    fn twice(&mut self, out: &mut Statement) {
        let lists: &[(Ty, &str)] = &[
            (Ty::Time, "'2024-12-31 23:59:59.999999', '2024-12-31 23:59:59.9999990', '2024-01-01'"),
            (Ty::Time, "'2024-01-01 00:00', '2024-01-01 00:00:00'"),
            (Ty::Date, "'2024-12-31', '2024-12-31 00:00', '2021-02-03', '2021-2-3'"),
            (Ty::Float, "1, 1.00000000000000000001, 0.25"),
            (Ty::RawFloat, "0.5, 0.50000000000000000001, 20.5"),
            (Ty::Unbounded, "7, 7.0, 2.5"),
        ];
        let (ty, list) = *self.rng.pick(lists);
        if let Some(column) = self.column(&[ty]) {
            out.conditions.push(format!("{column} IN ({list})"));
            out.keys.insert(0, column);
        }
    }

    fn aggregate(&mut self, unit: Option<&str>) -> String {
        let depth = self.rng.below(3);
        if self.apart && self.rng.chance(90) {
            let (word, x) = (self.one(&["count", "sum", "sum", "avg", "min", "max"]), self.bounded());
            let filter = if self.rng.chance(20) {
                format!(" FILTER (WHERE {})", self.truth(1))
            } else {
                String::new()
            };
            return format!("{word}({x}){filter}");
        }
        if !self.exact && self.rng.chance(25) {
            let (word, x) = (self.one(&["sum", "sum", "avg"]), self.bounded());
            return format!("{word}({x})");
        }
        if !self.exact && self.rng.chance(25) {
            return format!("sum({})", self.aimed());
        }
        if !self.exact && self.rng.chance(20) {
            let plain = if self.rng.chance(30) { self.point() } else { self.spread(depth) };
            let filtered = self.rng.chance(20);
            return if filtered { format!("{plain} FILTER (WHERE {})", self.truth(1)) } else { plain };
        }
        let plain = match self.rng.below(12) {
            0..=2 => "count(*)".into(),
            3 => match unit {
                Some(u) => return format!("count(DISTINCT {u})"),
                None => "count(*)".into(),
            },
            4 | 5 => format!("count({})", self.anything(depth)),
            6..=9 => format!("sum({})", self.number(depth)),
            _ => format!("avg({})", self.number(depth)),
        };
        if self.rng.chance(20) { format!("{plain} FILTER (WHERE {})", self.truth(1)) } else { plain }
    }

    /// What has a release of its own: points of a grid, distinct values.
    fn point(&mut self) -> String {
        match self.rng.below(10) {
            8 => format!("sum(DISTINCT {})", self.number(1)),
            9 => format!("{}(DISTINCT {})", self.one(&["sum", "avg"]), self.bounded()),
            5 => format!("count(DISTINCT {})", self.anything(1)),
            6 => format!("count(DISTINCT {})", self.text(0)),
            7 => format!("count(DISTINCT {})", self.number(1)),
            0 => {
                let x = match self.rng.below(3) {
                    0 => self.truth(0),
                    1 => self.number(0),
                    _ => self.text(0),
                };
                format!("mode() WITHIN GROUP (ORDER BY {x})")
            }
            1 => format!("{}({})", self.one(&["min", "max"]), self.time()),
            2 => format!("{}({})", self.one(&["min", "max", "median"]), self.bounded()),
            3 => format!("percentile_disc(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY {})", self.number(0)),
            _ => format!("percentile_cont(0.9) WITHIN GROUP (ORDER BY {} DESC)", self.number(1)),
        }
    }

    /// Variances, covariances, and what decides a condition: sums of squares and products in disguise.
    fn spread(&mut self, depth: usize) -> String {
        match self.rng.below(4) {
            0 => format!("{}({})", self.one(&["bool_and", "bool_or", "every"]), self.truth(depth)),
            1 => {
                let word =
                    self.one(&["corr", "covar_samp", "regr_slope", "regr_r2", "regr_sxy", "regr_avgx"]);
                format!("{word}({}, {})", self.number(depth), self.number(0))
            }
            2 => format!("{}({})", self.one(&["variance", "stddev_pop"]), self.bounded()),
            _ => format!("{}({})", self.one(&["variance", "var_pop", "stddev"]), self.number(depth)),
        }
    }

    fn anything(&mut self, depth: usize) -> String {
        match self.rng.below(5) {
            0 => self.truth(depth),
            1 => self.text(depth),
            2 if self.rng.chance(15) => {
                self.column(&[Ty::Span, Ty::Loose, Ty::Json]).unwrap_or_else(|| self.time())
            }
            2 => self.time(),
            3 => self.column(&[Ty::Unbounded, Ty::RawFloat, Ty::Float]).unwrap_or_else(|| "1".into()),
            _ => self.number(depth),
        }
    }

    fn key(&mut self) -> String {
        let depth = self.rng.below(3);
        if !self.exact && self.rng.chance(12) {
            return match self.rng.below(4) {
                0 => self.sample(Kind::Text, 0),
                1 => self.sample(Kind::Truth, 0),
                2 => format!("floor({})", self.sample(Kind::Number, 0)),
                _ => self.sample(Kind::Number, 0),
            };
        }
        match self.rng.below(28) {
            // What is computed of keys that have values.
            25 => {
                let unit = self.one(&["month", "year", "week"]);
                format!("CAST(date_trunc('{unit}', {}) AS date)", self.time())
            }
            26 => {
                let time = self.moment();
                format!("EXTRACT(year FROM {time}) * 100 + EXTRACT(month FROM {time})")
            }
            27 => format!("COALESCE(NULLIF({}, 'Oslo'), {})", self.text(0), self.text(1)),
            0..=3 => self.text(0),
            4 => self.column(&[Ty::Enum]).unwrap_or_else(|| self.text(1)),
            5 => self.text(depth),
            6 | 7 => self.column(&[Ty::Bool]).unwrap_or_else(|| "true".into()),
            8 => self.truth(1),
            9 => format!("CASE WHEN {} THEN 'a' WHEN {} THEN 'b' END", self.truth(1), self.truth(1)),
            10 => format!("CASE WHEN {} THEN 1 WHEN {} THEN 2.5 ELSE 1.0 END", self.truth(1), self.truth(0)),
            11 => format!("CASE WHEN {} THEN NULL END", self.truth(0)),
            12 => {
                let step = self.one(&["1", "7", "10", "100"]);
                format!("floor({} / {step})", self.number(0))
            }
            13 => format!("floor({} / 20) * 20", self.number(0)),
            14 => format!("round({}, {})", self.number(0), self.one(&["-1", "0", "1", "-2"])),
            15 => format!("{} % {}", self.number(0), self.one(&["3", "7", "2"])),
            16 | 17 => {
                let field = self.one(&[
                    "year", "month", "dow", "isodow", "hour", "quarter", "week", "day", "isoyear", "doy",
                ]);
                format!("EXTRACT({field} FROM {})", self.moment())
            }
            18 | 19 => {
                let unit = self.one(&["month", "year", "quarter", "week", "day", "decade", "hour"]);
                format!("date_trunc('{unit}', {})", self.time())
            }
            20 => {
                let number = self.number(0);
                let to = self.one(&["int", "smallint", "numeric(4,1)", "bigint"]);
                format!("CAST({number} AS {to})")
            }
            21 => {
                let number = self.number(0);
                let to = self.one(&["real", "double precision"]);
                format!("CAST({number} AS {to})")
            }
            22 => format!(
                "CAST(floor({}) AS {})",
                self.number(0),
                self.one(&["real", "double precision", "int"])
            ),
            // Of an integer's type, and beyond it for most rows.
            23 if !self.exact => {
                let (op, by) = (self.one(&["*", "*", "+"]), self.one(&["2147483647", "32767", "100000000"]));
                format!("{} {op} {by}", self.hole("i", 0))
            }
            _ => self
                .column(&[Ty::Unbounded, Ty::RawFloat, Ty::Float, Ty::Number])
                .unwrap_or_else(|| "1 + 1".into()),
        }
    }

    /// Rows compared with rows that are released first, or joined with them.
    fn among_released(&mut self, out: &mut Statement) {
        let of_text = "SELECT station, count(*) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 2";
        let of_numbers = "SELECT least(greatest(minutes / 40, 0), 3) AS b, avg(fare) AS m, sum(zero) AS z FROM trips GROUP BY 1 HAVING count(*) > 3";
        let not = self.one(&["", "NOT "]);
        let kind = self.one(&["JOIN", "LEFT JOIN"]);
        let text = self.column(&[Ty::Text]).unwrap_or_else(|| "'Alpha'".into());
        let number = self.column(&[Ty::Number, Ty::Unbounded]).unwrap_or_else(|| "1".into());
        match self.rng.below(8) {
            6 => out.conditions.push(format!(
                "{not}EXISTS (SELECT 1 FROM ({of_numbers}) AS e WHERE e.b <= {number} AND e.m > 4)"
            )),
            7 => out.conditions.push(format!(
                "({number} {} (SELECT count(*) FROM trips GROUP BY station))",
                self.one(&["> ANY", "< ANY", "<= ALL", "> ALL"])
            )),
            0 => out.conditions.push(format!(
                "({text} {not}IN (SELECT station FROM trips GROUP BY station ORDER BY count(*) DESC LIMIT 3))"
            )),
            1 => out.conditions.push(format!(
                "({number} {not}IN (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY minutes) FROM trips))"
            )),
            2 => out.from = format!("{} {kind} ({of_text}) AS rel(s, n) ON rel.s = {text}", out.from),
            3 => out.from = format!("{} {kind} ({of_numbers}) AS rel ON rel.b = {number}", out.from),
            // Rows that nothing tells apart: all of them meet each row.
            4 => {
                out.from = format!(
                    "{} CROSS JOIN (SELECT count(*) AS n FROM trips GROUP BY station ORDER BY 1 LIMIT 3) AS rel",
                    out.from
                )
            }
            _ => out.from = format!("{} CROSS JOIN (SELECT count(*) AS n FROM riders) AS rel", out.from),
        }
        let more = self.one(&[
            "count(rel.n)",
            "count(*) FILTER (WHERE rel.n > 3)",
            "sum(LEAST(GREATEST(rel.m, 0), 9))",
            "count(*) FILTER (WHERE rel.z IS NULL)",
        ]);
        if out.from.contains("AS rel") && more.contains("rel.n") != out.from.contains("rel ON rel.b") {
            out.aggregates.push(more);
        }
    }

    /// A number that is released first.
    fn given(&mut self) -> String {
        self.one(&[
            "(SELECT avg(minutes) FROM trips)",
            "(SELECT max(minutes) FROM trips)",
            "(SELECT avg(fare) FROM trips WHERE zero > 1)",
            "LEAST(GREATEST((SELECT count(*) FROM riders), -2), 50)",
            "LEAST(GREATEST((SELECT sum(minutes) / 7.0 FROM trips), 0.5), 3)",
            "LEAST(GREATEST((SELECT avg(fare)::float8 FROM trips), -1.5), 40)",
            "LEAST(GREATEST((SELECT count(*)::int4 FROM trips), -7), 1000)",
            "CASE WHEN (SELECT count(*) > 10 FROM trips) THEN 1 ELSE 2 END",
        ])
    }
}
