//! Statements drawn from everything that may stand over private rows.

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
    Generator { rng, samples, columns: columns.to_vec(), exact: false }.fill(sample, depth)
}

/// An expression that is aimed at the ends of spans.
pub fn aimed(rng: &mut Rng, samples: &Samples, columns: &[(String, Ty)]) -> String {
    Generator { rng, samples, columns: columns.to_vec(), exact: false }.aimed()
}

/// A zone that jumps by six days, which no named one does: a week of it can be a day long.
pub const JUMPS: &str = "AAA97BBB-47,J57/2,J300/0";

/// Draws statements. `exact`: only such whose answer PostgreSQL computes as noisegate does, to the grid.
pub struct Generator<'a> {
    rng: &'a mut Rng,
    samples: &'a Samples,
    columns: Vec<(String, Ty)>,
    exact: bool,
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
];

const TRIPS: &[(&str, Ty)] = &[
    ("started_at", Ty::Time),
    ("raw_at", Ty::Time),
    ("zoned", Ty::Time),
    ("zoned", Ty::Time),
    ("station", Ty::Text),
    ("note", Ty::Text),
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
    let mut one = || Generator { rng, samples, columns: Vec::new(), exact }.statement();
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
        4 => Query::fixed("SELECT plan, count(*) FROM riders GROUP BY plan UNION ALL SELECT station, sum(minutes) FROM trips GROUP BY 1".into()),
        _ => Query::of(one(), "", ""),
    }
}

/// Groups of times around the days in which a zone jumps ([`JUMPS`]), and nothing else: its offsets are larger than a
/// gateway lets sessions have, so that fields of its times lie where no span says.
pub fn jumping(rng: &mut Rng, samples: &Samples) -> Query {
    let mut g = Generator { rng, samples, columns: of("t", &TRIPS[6..]), exact: false };
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

    fn source(&mut self) -> Source {
        let unit = |a: &str| Some(format!("{a}.rider_id"));
        let plain = |from: &str, columns: Vec<(String, Ty)>, u| Source {
            with: String::new(),
            from: from.into(),
            filter: None,
            columns,
            unit: u,
        };
        let joined =
            |from: &str, public: Vec<(String, Ty)>| plain(from, [of("t", TRIPS), public].concat(), unit("t"));
        let rides = |from: &str, public: Vec<(String, Ty)>| {
            plain(from, [of("r", RIDERS), public].concat(), unit("r"))
        };
        let (s, c) = (|| of("s", STATIONS), || of("c", CODES));
        let shape = self.rng.below(54);
        if shape >= 48 && !self.exact {
            return self.per_unit();
        }
        if shape >= 24 {
            return self.joined();
        }
        match shape {
            0..=2 => rides("riders r", Vec::new()),
            3..=6 => joined("trips t", Vec::new()),
            7 => joined("trips t JOIN stations s ON s.station = t.station", s()),
            8 => joined("trips t LEFT JOIN stations s ON t.station = s.station AND s.capacity > 5", s()),
            9 => joined("stations AS s JOIN trips t USING (station)", of("s", &STATIONS[..2])),
            10 => {
                let mut source = joined("trips t, stations s", s());
                source.filter = Some("s.station = t.station".into());
                source
            }
            11 => joined("trips t CROSS JOIN codes c", c()),
            12 => joined("trips t LEFT JOIN stations s ON s.capacity = t.minutes / NULLIF(t.zero, 0)", s()),
            13 => joined(
                "trips t JOIN (stations s JOIN codes c ON c.id = s.capacity) ON s.station = t.station",
                [s(), c()].concat(),
            ),
            14 => rides("riders r JOIN codes c ON c.id = r.ref", c()),
            15 => rides("riders r LEFT JOIN codes c ON c.id = r.birth_year - 1950", c()),
            16 => {
                rides("riders r LEFT JOIN moments m ON m.at = CAST(r.born AS timestamptz)", of("m", MOMENTS))
            }
            17 => plain("slots x", of("x", SLOTS), unit("x")),
            18 => plain("slots x JOIN codes c ON c.id = x.n", [of("x", SLOTS), c()].concat(), unit("x")),
            19 => plain(
                "slots x LEFT JOIN codes c ON c.label = 'code ' AND c.id > x.v",
                [of("x", SLOTS), c()].concat(),
                unit("x"),
            ),
            20 => joined(
                "trips t LEFT JOIN stations s ON s.station = t.station LEFT JOIN codes c ON c.id = s.capacity",
                [s(), c()].concat(),
            ),
            21 => rides("codes c JOIN riders r ON r.level = c.id", c()),
            n => self.nested(n == 22),
        }
    }

    /// Private tables joined with each other, or reached by a path.
    fn joined(&mut self) -> Source {
        let (r, t, x) = (|| of("r", RIDERS), || of("t", TRIPS), || of("x", SLOTS));
        let (l, p, m) = (|| of("l", LEGS), || of("p", PARTS), || of("m", MARKS));
        let (s, y) = (|| of("s", STATIONS), || of("y", SLOTS));
        let extra =
            self.one(&["", " AND t.minutes > 5", " AND t.zero = 1", " AND t.fare < 30 AND t.note <> 'late'"]);
        let outer = self.one(&["LEFT", "RIGHT", "FULL", "INNER", "LEFT"]);
        let plain = |from: String, filter: &str, columns: Vec<Vec<(String, Ty)>>, unit: &str| Source {
            with: String::new(),
            from,
            filter: (!filter.is_empty()).then(|| filter.to_owned()),
            columns: columns.concat(),
            unit: (!unit.is_empty()).then(|| unit.to_owned()),
        };
        let full = outer == "FULL";
        let kept = |left: &str, right: &str| match outer.as_str() {
            "RIGHT" => format!("{right}.rider_id"),
            "FULL" => format!("coalesce({left}.rider_id, {right}.rider_id)"),
            _ => format!("{left}.rider_id"),
        };
        let side = if outer == "RIGHT" || full { String::new() } else { extra.clone() };
        match self.rng.below(if self.exact { 31 } else { 40 }) {
            0 => plain(format!("riders r JOIN trips t ON t.rider_id = r.rider_id{extra}"), "", vec![r(), t()], "t.rider_id"),
            1 => plain("riders r, trips t".into(), &format!("r.rider_id = t.rider_id{extra}"), vec![r(), t()], "r.rider_id"),
            2 => plain(format!("riders r {outer} JOIN trips t ON t.rider_id = r.rider_id{side}"), "", vec![r(), t()], &kept("r", "t")),
            3 => plain(format!("slots x {outer} JOIN trips t ON t.rider_id = x.rider_id AND x.n = t.zero"), "", vec![x(), t()], &kept("x", "t")),
            4 => plain(format!("trips t {outer} JOIN slots x ON x.rider_id = t.rider_id AND x.n * 2 = t.zero"), "", vec![x(), t()], &kept("t", "x")),
            5 => plain("slots x JOIN slots y USING (rider_id)".into(), "", vec![x(), y()], "y.rider_id"),
            6 => plain(format!("slots x {outer} JOIN slots y ON x.rider_id = y.rider_id AND x.n = y.n + 1"), "", vec![x(), y()], &kept("x", "y")),
            7 => plain("riders r JOIN slots x USING (rider_id) JOIN slots y USING (rider_id)".into(), "x.n < y.n", vec![r(), x(), y()], "r.rider_id"),
            8 => plain(
                "trips t, riders r LEFT JOIN slots x ON x.rider_id = r.rider_id AND x.n = 3, stations s".into(),
                "t.rider_id = r.rider_id AND s.station = t.station",
                vec![r(), t(), x(), s()],
                "r.rider_id",
            ),
            9 => plain("legs l".into(), "", vec![l()], ""),
            10 => plain("parts p".into(), "", vec![p()], ""),
            11 => plain("marks m".into(), "", vec![m()], ""),
            12 => plain("legs l JOIN trips t ON l.trip_id = t.trip_id".into(), "", vec![l(), t()], "t.rider_id"),
            13 => plain("parts p, legs l, trips t".into(), "p.leg_id = l.leg_id AND t.trip_id = l.trip_id", vec![l(), t(), p()], "t.rider_id"),
            14 => plain("parts p JOIN legs l USING (leg_id) LEFT JOIN stations s ON s.station = l.surface".into(), "", vec![l(), p(), s()], ""),
            15 => plain(format!("trips t {outer} JOIN legs l ON t.trip_id = l.trip_id"), "", vec![t(), l()], ""),
            16 => plain("trips t LEFT JOIN (legs l JOIN parts p ON p.leg_id = l.leg_id) ON l.trip_id = t.trip_id".into(), "", vec![t(), l(), p()], "t.rider_id"),
            17 => plain("slots x JOIN marks m ON m.rider = x.rider_id AND m.slot = x.n".into(), "", vec![x(), m()], "x.rider_id"),
            18 => plain("riders r LEFT JOIN (slots x JOIN marks m ON (m.rider = x.rider_id AND m.slot = x.n)) ON x.rider_id = r.rider_id AND m.k = 1".into(), "", vec![r(), x(), m()], "r.rider_id"),
            19 => plain("legs a JOIN legs l ON a.trip_id = l.trip_id JOIN riders r ON true JOIN trips t ON t.rider_id = r.rider_id AND t.trip_id = l.trip_id".into(), "", vec![l(), r(), t()], "r.rider_id"),
            20 => plain(format!("riders r LEFT JOIN (SELECT t.minutes, t.fare, t.note, t.rider_id AS u FROM trips t WHERE t.zero < 2{extra}) AS q ON q.u = r.rider_id"), "", vec![r(), vec![("q.minutes".into(), Ty::Number), ("q.fare".into(), Ty::Number), ("q.note".into(), Ty::Text)]], "r.rider_id"),
            21 => self.under("riders r", RIDERS, "r", &[
                "EXISTS (SELECT 1 FROM trips u WHERE u.rider_id = r.rider_id AND u.minutes > 100)",
                "NOT EXISTS (SELECT 1 FROM slots x WHERE r.rider_id = x.rider_id AND x.v > r.level)",
                "r.rider_id IN (SELECT rider_id FROM trips WHERE fare > 10)",
                "r.rider_id NOT IN (SELECT x.rider_id FROM slots x WHERE x.n = 4)",
                "(r.level IN (SELECT x.n FROM slots x WHERE x.rider_id = r.rider_id) OR r.active)",
                "EXISTS (SELECT 1 FROM legs l, trips u WHERE u.trip_id = l.trip_id AND u.rider_id = r.rider_id AND l.km > 3)",
            ]),
            22 => self.under("trips t", TRIPS, "t", &[
                "t.zero NOT IN (SELECT x.v FROM slots x WHERE x.rider_id = t.rider_id)",
                "t.trip_id IN (SELECT l.trip_id FROM legs l WHERE l.km > 5)",
                "EXISTS (SELECT 1 FROM legs l WHERE l.trip_id = t.trip_id AND l.surface IS NULL)",
                "t.station IN (SELECT s.station FROM stations s WHERE s.capacity > t.zero)",
                "t.zero IN (SELECT n FROM generate_series(1, 3) n)",
                "NOT EXISTS (SELECT 1 FROM trips u JOIN riders r ON r.rider_id = u.rider_id WHERE u.rider_id = t.rider_id AND u.trip_id < t.trip_id AND r.level > 1)",
            ]),
            23 => plain(
                format!("(SELECT rider_id AS u, minutes AS n, note AS k FROM trips t WHERE t.zero > -5{extra} UNION ALL SELECT rider_id, v, 'slot' FROM slots) q"),
                "",
                vec![vec![("q.n".into(), Ty::Number), ("q.k".into(), Ty::Text)]],
                "q.u",
            ),
            24 => {
                let op = self.one(&["UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"]);
                plain(
                    format!("(SELECT zero AS n, rider_id AS u FROM trips {op} SELECT n, rider_id FROM slots) q JOIN riders r ON r.rider_id = q.u"),
                    "",
                    vec![vec![("q.n".into(), Ty::Number)], r()],
                    "q.u",
                )
            }
            25 => plain(
                "riders r LEFT JOIN (SELECT rider_id AS u, n FROM slots UNION SELECT t.rider_id, t.zero FROM legs l JOIN trips t USING (trip_id)) q ON q.u = r.rider_id AND q.n > 0".into(),
                "",
                vec![r(), vec![("q.n".into(), Ty::Number)]],
                "r.rider_id",
            ),
            26 => plain("(slots x FULL JOIN trips t ON t.rider_id = x.rider_id AND t.zero = x.n) LEFT JOIN riders r ON r.rider_id = t.rider_id AND r.level = x.n".into(), "", vec![x(), t(), r()], "coalesce(t.rider_id, x.rider_id)"),
            27 => Source {
                with: "WITH q AS (SELECT rider_id AS u, minutes AS n, fare FROM trips WHERE zero < 2) ".into(),
                ..plain("q JOIN riders r ON r.rider_id = q.u LEFT JOIN q z ON z.u = r.rider_id AND z.n < q.n".into(), "", vec![r(), vec![("q.n".into(), Ty::Number), ("z.fare".into(), Ty::Number)]], "q.u")
            },
            28 => Source {
                with: "WITH q AS (SELECT * FROM slots WHERE n <> 3) ".into(),
                ..plain("q x".into(), "EXISTS (SELECT 1 FROM q y WHERE y.rider_id = x.rider_id AND y.n = x.v)", vec![x()], "x.rider_id")
            },
            29 => Source {
                with: "WITH q AS (SELECT rider_id, n FROM slots UNION SELECT rider_id, zero FROM trips) ".into(),
                ..plain("q JOIN q z ON z.rider_id = q.rider_id".into(), "q.n < z.n", vec![vec![("q.n".into(), Ty::Number), ("z.n".into(), Ty::Number)]], "z.rider_id")
            },
            // A unit may have one row more than either side.
            31 => plain("riders r FULL JOIN riders y ON r.rider_id = y.rider_id AND r.level = y.level + 1".into(), "", vec![r(), of("y", &RIDERS[..8])], "coalesce(r.rider_id, y.rider_id)"),
            32 => plain("(SELECT rider_id AS u, level AS n FROM riders UNION ALL SELECT rider_id, n FROM slots) q".into(), "", vec![vec![("q.n".into(), Ty::Number)]], "q.u"),
            // Refused, while units must be known to be equal.
            33 => {
                let from = self.one(&[
                    "riders r JOIN trips t ON t.zero = r.level", "riders r, trips t", "riders r LEFT JOIN trips t ON t.trip_id = 1",
                ]);
                plain(from, "t.trip_id = 1", vec![r(), t()], "r.rider_id")
            }
            34 => self.under("riders r", RIDERS, "r", &[
                "EXISTS (SELECT 1 FROM trips u WHERE u.trip_id = 1)",
                "NOT EXISTS (SELECT 1 FROM trips u WHERE u.trip_id = 1)",
                "r.level NOT IN (SELECT u.zero FROM trips u WHERE u.trip_id = 1)",
            ]),
            35 => plain("riders r LEFT JOIN codes c ON c.id = r.ref".into(), "", vec![r(), of("c", CODES)], "r.rider_id"),
            // Public rows that are computed.
            37 => plain("trips t LEFT JOIN (SELECT station, max(capacity) AS n FROM stations GROUP BY station ORDER BY 2 LIMIT 2) q ON q.station = t.station".into(), "t.zero < (SELECT avg(c.id) FROM codes c)", vec![t(), vec![("q.n".into(), Ty::Number)]], "t.rider_id"),
            38 => plain("generate_series(-1, 4) AS q(n) JOIN slots x ON x.n = q.n".into(), "x.v IN (SELECT max(c.id) FROM codes c GROUP BY c.label)", vec![x(), vec![("q.n".into(), Ty::Number)]], "x.rider_id"),
            39 => plain("trips t CROSS JOIN LATERAL (SELECT s.capacity + t.zero AS n FROM stations s WHERE s.station = t.station) q".into(), "", vec![t(), vec![("q.n".into(), Ty::Number)]], "t.rider_id"),
            36 => plain("marks m JOIN slots x ON m.slot = x.n AND m.rider = x.rider_id".into(), "", vec![m(), x()], "x.rider_id"),
            _ => plain("codes c JOIN (riders r LEFT JOIN trips t ON r.rider_id = t.rider_id LEFT JOIN stations s USING (station)) ON c.id = r.level, slots x".into(), "x.rider_id = r.rider_id AND x.n = c.id", vec![of("c", CODES), r(), t(), s(), x()], "x.rider_id"),
        }
    }

    /// Groups and windows of one unit's rows, and some that are not of one unit: these are refused.
    fn per_unit(&mut self) -> Source {
        let having = self.one(&[
            "",
            "",
            " HAVING count(*) > 1",
            " HAVING max(zero) < 3 OR count(*) FILTER (WHERE minutes > 60) > 0",
        ]);
        let by = self.one(&["rider_id", "rider_id, zero", "zero, rider_id"]);
        let window = self.one(&[
            "PARTITION BY rider_id ORDER BY started_at",
            "PARTITION BY zero, rider_id ORDER BY fare DESC NULLS LAST, minutes",
            "PARTITION BY rider_id",
        ]);
        let frame =
            self.one(&["", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " GROUPS UNBOUNDED PRECEDING"]);
        let frame = if window.contains("ORDER") { frame } else { String::new() };
        let several = self.one(&["zero", "station, zero", "minutes"]);
        let spread = self.one(&["sum", "avg", "stddev", "var_pop"]);
        let row = self.one(&["rn = 1", "rn <= 2", "minutes > 5"]);
        let of_q = |columns: &[(&str, Ty)]| of("q", columns);
        let plain = |from: String, columns: Vec<(String, Ty)>, unit: &str| Source {
            with: String::new(),
            from,
            filter: None,
            columns,
            unit: Some(unit.to_owned()),
        };
        let (n, m, k) = (("n", Ty::Number), ("m", Ty::Number), ("k", Ty::Text));
        let grouped = format!(
            "(SELECT rider_id AS u, count(*) AS n, max(minutes) - min(zero) AS m, min(note) AS k FROM trips GROUP BY {by}{having}) q"
        );
        match self.rng.below(17) {
            12 => self.under("riders r", RIDERS, "r", &[
                "r.level < (SELECT count(*) FROM trips u WHERE u.rider_id = r.rider_id AND u.minutes > 5)",
                "r.birth_year > 10 * (SELECT sum(u.minutes) FROM trips u WHERE u.rider_id = r.rider_id AND u.zero = r.level)",
                "(SELECT max(x.n) FROM slots x WHERE r.rider_id = x.rider_id) IS NULL",
            ]),
            13 => plain(
                "(SELECT t.*, EXISTS (SELECT 1 FROM slots x WHERE x.rider_id = t.rider_id AND x.n > t.zero) AS b, (SELECT s.capacity FROM stations s WHERE s.station = t.station) AS c FROM trips t) t".into(),
                [of("t", TRIPS), vec![("t.b".into(), Ty::Bool), ("t.c".into(), Ty::Number)]].concat(),
                "t.rider_id",
            ),
            15 => plain(
                "trips t JOIN (VALUES ('Central', 1), ('north', 2), (NULL, 3)) AS v(k, n) ON v.k = t.station OR v.n = t.zero".into(),
                [of("t", TRIPS), vec![("v.k".into(), Ty::Text), ("v.n".into(), Ty::Number)]].concat(),
                "t.rider_id",
            ),
            16 => plain(
                "riders r LEFT JOIN (SELECT capacity AS n FROM stations UNION ALL SELECT 7) v ON v.n = r.level".into(),
                [of("r", RIDERS), vec![("v.n".into(), Ty::Number)]].concat(),
                "r.rider_id",
            ),
            // Refused: rows of others.
            14 => self.under("riders r", RIDERS, "r", &[
                "r.level < (SELECT count(*) FROM trips u WHERE u.zero = r.level)",
                "r.level < (SELECT count(*) FROM trips u WHERE u.zero = r.level AND u.rider_id > r.rider_id)",
                "r.birth_year > (SELECT max(u.minutes) FROM trips u WHERE u.trip_id = 1 AND u.rider_id + 0 = r.rider_id)",
            ]),
            0 => plain(grouped, of_q(&[n, m, k]), "q.u"),
            1 => plain(
                format!("riders r LEFT JOIN {grouped} ON q.u = r.rider_id"),
                [of("r", RIDERS), of_q(&[n, m, k])].concat(),
                "r.rider_id",
            ),
            2 => plain(
                format!("trips t JOIN {grouped} ON t.rider_id = q.u AND q.m >= t.minutes"),
                [of("t", TRIPS), of_q(&[n, k])].concat(),
                "q.u",
            ),
            3 => plain(
                format!("(SELECT rider_id AS u, sum(minutes) AS n, avg(fare) AS m, max(station) AS k, bool_or(zero = 1) AS b, {spread}(dist) AS f FROM trips GROUP BY {by}{having}) q"),
                of_q(&[n, m, k, ("b", Ty::Bool), ("f", Ty::Float)]),
                "q.u",
            ),
            4 => plain(
                "(SELECT DISTINCT rider_id AS u, station AS k, zero AS n FROM trips WHERE zero > -3) q".into(),
                of_q(&[k, ("n", Ty::Unbounded)]),
                "q.u",
            ),
            5 => plain(
                "(SELECT t.rider_id AS u, sum(l.km) AS n, count(DISTINCT l.surface) AS m, max(l.surface) AS k FROM legs l JOIN trips t USING (trip_id) GROUP BY t.rider_id) q".into(),
                of_q(&[n, m, k]),
                "q.u",
            ),
            6 => plain(
                format!("(SELECT rider_id AS u, minutes AS m, note AS k, row_number() OVER ({window}) AS n, lag(minutes) OVER ({window}) AS before, sum(fare) OVER ({window}{frame}) AS f FROM trips) q"),
                of_q(&[n, m, k, ("before", Ty::Number), ("f", Ty::Number)]),
                "q.u",
            ),
            7 => {
                let from = "(SELECT *, row_number() OVER (PARTITION BY rider_id ORDER BY started_at DESC) AS rn FROM trips) t";
                Source { filter: Some(row), ..plain(from.into(), of("t", TRIPS), "t.rider_id") }
            }
            8 => plain(
                "(SELECT DISTINCT ON (rider_id) rider_id AS u, minutes AS n, note AS k, first_value(zero) OVER (PARTITION BY rider_id ORDER BY fare) AS z FROM trips ORDER BY rider_id, fare DESC) q".into(),
                of_q(&[n, k, ("z", Ty::Unbounded)]),
                "q.u",
            ),
            9 => self.under("riders r", RIDERS, "r", &[
                "r.rider_id IN (SELECT rider_id FROM trips GROUP BY rider_id HAVING count(*) > 2)",
                "EXISTS (SELECT 1 FROM (SELECT rider_id, max(n) AS n FROM slots GROUP BY 1) x WHERE x.rider_id = r.rider_id AND x.n > r.level)",
                "r.rider_id IN (SELECT rider_id FROM slots GROUP BY n, rider_id)",
            ]),
            10 => plain(
                format!("(SELECT rider_id AS u, minutes AS n, row_number() OVER (PARTITION BY {several} ORDER BY started_at) AS m, note AS k FROM trips) q"),
                of_q(&[n, m, k]),
                "q.u",
            ),
            _ => plain(
                format!("(SELECT max(rider_id) AS u, count(*) AS n, max(minutes) AS m, max(note) AS k FROM trips GROUP BY {several}) q"),
                of_q(&[n, m, k]),
                "q.u",
            ),
        }
    }

    /// A table under one of these conditions.
    fn under(&mut self, from: &str, columns: &[(&str, Ty)], alias: &str, conditions: &[&str]) -> Source {
        Source {
            with: String::new(),
            from: from.into(),
            filter: Some(self.one(conditions)),
            columns: of(alias, columns),
            unit: Some(format!("{alias}.rider_id")),
        }
    }

    /// A projection-only subquery, or a CTE.
    fn nested(&mut self, cte: bool) -> Source {
        self.columns = of("t", TRIPS);
        let (a, b, k) = (self.number(2), self.number(1), self.text(1));
        let flag = self.truth(1);
        let filter = if self.rng.chance(60) { format!(" WHERE {}", self.truth(1)) } else { String::new() };
        let body = format!(
            "SELECT {a} AS a, {b} AS b, {k} AS k, {flag} AS f, t.started_at AS at, t.rider_id FROM trips AS t{filter}"
        );
        let columns = vec![
            ("q.a".to_owned(), Ty::Number),
            ("q.b".to_owned(), Ty::Number),
            ("q.k".to_owned(), Ty::Text),
            ("q.f".to_owned(), Ty::Bool),
            ("q.at".to_owned(), Ty::Time),
        ];
        let (with, from) = if cte {
            (format!("WITH q AS ({body}) "), "q".into())
        } else {
            (String::new(), format!("({body}) AS q"))
        };
        Source { with, from, filter: None, columns, unit: Some("q.rider_id".into()) }
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
        match self.rng.below(8) {
            5 => format!("count(DISTINCT {})", self.anything(1)),
            6 => format!("count(DISTINCT {})", self.text(0)),
            7 => format!("count(DISTINCT {})", self.number(1)),
            0 => format!("mode() WITHIN GROUP (ORDER BY {})", self.text(0)),
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

    fn moment(&mut self) -> String {
        self.column(&[Ty::Time]).unwrap_or_else(|| "TIMESTAMP '2024-05-05 10:00'".into())
    }

    fn time(&mut self) -> String {
        let column =
            self.column(&[Ty::Time, Ty::Date]).unwrap_or_else(|| "TIMESTAMP '2024-05-05 10:00'".into());
        match self.rng.below(8) {
            0 if self.columns.iter().any(|(c, _)| *c == column && c.ends_with("started_at")) => {
                format!("CAST({column} AS date)")
            }
            1 => format!("COALESCE({column}, '2024-02-29')"),
            7 if !self.exact && self.rng.chance(25) => "(SELECT max(started_at) FROM trips)".into(),
            2 => format!("NULLIF({column}, '2024-01-01')"),
            3 if column.ends_with("at") || column.ends_with("joined") => {
                format!("CAST({column} AS timestamptz)")
            }
            _ => column,
        }
    }

    fn text(&mut self, depth: usize) -> String {
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

    fn number(&mut self, depth: usize) -> String {
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

    /// A sample of the allow-list, its holes filled.
    fn sample(&mut self, kind: Kind, depth: usize) -> String {
        let sample = *self.rng.pick(self.samples.of(kind));
        self.fill(sample, depth)
    }

    fn fill(&mut self, sample: &str, depth: usize) -> String {
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

    fn hole(&mut self, hole: &str, depth: usize) -> String {
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
    fn constant(&mut self) -> String {
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
    fn tie(&mut self) -> String {
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
    fn bounded(&mut self) -> String {
        match self.column(&[Ty::Unbounded, Ty::RawFloat]) {
            Some(c) => self.within(&c),
            None => self.constant(),
        }
    }

    fn within(&mut self, x: &str) -> String {
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
    fn aimed(&mut self) -> String {
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

    fn comparable(&mut self, depth: usize) -> String {
        if self.rng.chance(40)
            && let Some(c) = self.column(&[Ty::Unbounded, Ty::RawFloat, Ty::Float])
        {
            return c;
        }
        self.number(depth)
    }

    fn truth(&mut self, depth: usize) -> String {
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
