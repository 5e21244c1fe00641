//! Statements drawn from everything that may stand over private rows.

use crate::rng::Rng;

/// What a column, or an expression, is good for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ty {
    /// A number with a range.
    Number,
    /// A float with a range.
    Float,
    /// A number without a range: comparisons and keys.
    Unbounded,
    /// A float without a range.
    RawFloat,
    Text,
    Enum,
    Bool,
    Time,
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

/// A statement.
#[derive(Clone, Debug)]
pub struct Query {
    /// The text.
    pub sql: String,
}

/// Draws statements. `exact`: only such whose answer PostgreSQL computes as noisegate does, to the grid.
pub struct Generator<'a> {
    rng: &'a mut Rng,
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
];

const TRIPS: &[(&str, Ty)] = &[
    ("started_at", Ty::Time),
    ("raw_at", Ty::Time),
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
pub fn query(rng: &mut Rng, exact: bool) -> Query {
    let shape = if exact { 0 } else { rng.below(40) };
    let mut one = || Generator { rng, columns: Vec::new(), exact }.statement().sql;
    // Some hold a release in a larger statement, or several.
    let sql = match shape {
        1 => format!("WITH z AS ({}) SELECT count(*) FROM z", one()),
        2 => format!("SELECT * FROM ({}) AS z ORDER BY 1", one()),
        3 => format!("SELECT (SELECT count(*) FROM trips WHERE note <> 'late'), q.n FROM (SELECT count(*) AS n FROM ({}) y) AS q", one()),
        // Rows without partners add nothing, and all groups come back.
        5 => {
            let keys = ["s.station", "s.city", "s.capacity", "s.station, s.city"];
            let aggregates = ["count(t.trip_id), sum(t.minutes)", "count(DISTINCT t.rider_id), avg(t.fare)", "count(*) FILTER (WHERE t.zero > 0), sum(t.minutes * s.capacity)"];
            let side = ["trips t", "(SELECT * FROM trips WHERE zero < 2) t", "(trips t JOIN riders r USING (rider_id))"];
            let key = *rng.pick(&keys);
            format!("SELECT {key}, {} FROM stations s LEFT JOIN {} ON t.station = s.station GROUP BY {key}", rng.pick(&aggregates).replace("s.capacity", "least(greatest(s.capacity, 0), 50)"), rng.pick(&side))
        }
        4 => "SELECT plan, count(*) FROM riders GROUP BY plan UNION ALL SELECT station, sum(minutes) FROM trips GROUP BY 1".into(),
        _ => one(),
    };
    Query { sql }
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
        let shape = self.rng.below(48);
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
        match self.rng.below(31) {
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
            _ => plain("codes c JOIN (riders r LEFT JOIN trips t ON r.rider_id = t.rider_id LEFT JOIN stations s USING (station)) ON c.id = r.level, slots x".into(), "x.rider_id = r.rider_id AND x.n = c.id", vec![of("c", CODES), r(), t(), s(), x()], "x.rider_id"),
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

    fn statement(&mut self) -> Query {
        let source = self.source();
        self.columns = source.columns.clone();
        if self.exact {
            // Sums of floats are compared apart; elsewhere PostgreSQL rounds them to even.
            self.columns.retain(|(_, t)| !matches!(t, Ty::Float | Ty::RawFloat));
        }
        let keys: Vec<String> = (0..*self.rng.pick(&[0, 1, 1, 1, 1, 2, 2, 3])).map(|_| self.key()).collect();
        let mut conditions: Vec<String> = source.filter.iter().cloned().collect();
        for _ in 0..*self.rng.pick(&[0, 0, 1, 1, 2]) {
            conditions.push(self.truth(2));
        }
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        let tail = format!(" FROM {}{filter}", source.from);
        if !self.exact && !keys.is_empty() && self.rng.chance(6) {
            return Query { sql: format!("{}SELECT DISTINCT {}{tail}", source.with, keys.join(", ")) };
        }
        let mut items = keys.clone();
        for _ in 0..self.rng.between(1, 4) {
            let a = self.aggregate(source.unit.as_deref());
            if !items.contains(&a) {
                items.push(a);
            }
        }
        let mut sql = format!("{}SELECT {}{tail}", source.with, items.join(", "));
        if !keys.is_empty() {
            let ordinals: Vec<String> = (1..=keys.len()).map(|i| i.to_string()).collect();
            let by = if self.rng.chance(50) { ordinals } else { keys.clone() };
            sql.push_str(&format!(" GROUP BY {}", by.join(", ")));
        }
        if !self.exact && self.rng.chance(10) {
            sql.push_str(" HAVING count(*) > 3");
        }
        if !self.exact && self.rng.chance(15) {
            sql.push_str(" ORDER BY 1 DESC LIMIT 5");
        }
        Query { sql }
    }

    fn aggregate(&mut self, unit: Option<&str>) -> String {
        let depth = self.rng.below(3);
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
        match self.rng.below(24) {
            0..=3 => self.text(0),
            4 => self.column(&[Ty::Enum]).unwrap_or_else(|| self.text(1)),
            5 => self.text(depth),
            6 | 7 => self.column(&[Ty::Bool]).unwrap_or_else(|| "true".into()),
            8 => self.truth(1),
            9 => format!("CASE WHEN {} THEN 'a' WHEN {} THEN 'b' END", self.truth(1), self.truth(1)),
            10 => format!("CASE WHEN {} THEN 1 WHEN {} THEN 2.5 ELSE 1 END", self.truth(1), self.truth(0)),
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
        match self.rng.below(5) {
            4 => format!("COALESCE({column}, {})", self.text(0)),
            0 => format!("COALESCE({column}, 'none')"),
            1 => format!("NULLIF({column}, 'Oslo')"),
            2 => format!("CASE WHEN {} THEN {column} ELSE 'it''s' END", self.truth(depth - 1)),
            _ => format!("CAST({column} AS varchar)"),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.chance(15) {
            return match self.rng.below(10) {
                0 => self.one(&["1", "0", "-1", "2.5", "1000000", "0.001", "-7"]),
                _ => self.column(&[Ty::Number, Ty::Float]).unwrap_or_else(|| "3".into()),
            };
        }
        let d = depth - 1;
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
                let pattern = self.one(&[
                    "'%a%'",
                    "'L_te%'",
                    "'a\\_b'",
                    "'%x%%' ESCAPE 'x'",
                    "''",
                    "'\\\\%'",
                    "'%\\' ESCAPE ''",
                ]);
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
