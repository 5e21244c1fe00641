//! What a statement reads: tables, joins, set operations, subqueries.

use super::*;

impl Generator<'_> {
    pub(super) fn source(&mut self) -> Source {
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
    pub(super) fn joined(&mut self) -> Source {
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
        match self.rng.below(if self.exact { 31 } else { 47 }) {
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
                "t.zero < (SELECT count(*) FROM legs l WHERE l.trip_id = t.trip_id)",
                "t.fare > (SELECT avg(l.km) FROM legs l WHERE t.trip_id = l.trip_id AND l.surface IS NOT NULL)",
                "t.minutes > (SELECT avg(u.minutes) FROM trips u WHERE u.station = t.station AND u.zero < 2)",
                "(t.zero < (SELECT count(*) FROM trips u WHERE t.zero = LEAST(GREATEST(u.zero, 0), 3)) OR t.fare > 9)",
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
            // What follows from a unit's only row, and what does not.
            40 => plain("trips t JOIN riders r ON t.rider_id = r.rider_id JOIN codes c ON c.id = r.level".into(), "", vec![r(), of("c", CODES), t()], "r.rider_id"),
            41 => plain("trips t JOIN (riders r LEFT JOIN codes c ON c.id = r.level) ON t.rider_id = r.rider_id JOIN stations s ON s.station = t.station".into(), "", vec![r(), of("c", CODES), s()], "t.rider_id"),
            42 => plain("trips t LEFT JOIN riders r ON t.rider_id = r.rider_id AND t.zero = r.level LEFT JOIN codes c ON c.id = r.level".into(), "", vec![r(), of("c", CODES)], "t.rider_id"),
            // Private rows and others: a public row may bear the number of a unit.
            43 => {
                self.apart = true;
                plain(
                    format!("(SELECT rider_id AS u, minutes AS n, note AS k FROM trips t WHERE t.zero > -5{extra} UNION ALL SELECT capacity, capacity, city FROM stations) q"),
                    "",
                    vec![vec![("q.n".into(), Ty::Number), ("q.k".into(), Ty::Text)]],
                    "",
                )
            }
            44 => {
                self.apart = true;
                let filter = self.one(&["", "q.u < 9", "q.n IN (SELECT y.n FROM slots y WHERE y.rider_id = q.u)"]);
                plain(
                    "(SELECT rider_id AS u, zero AS n, station AS k FROM trips UNION ALL SELECT c.id::int, c.id::int, c.label FROM codes c UNION ALL SELECT rider_id, n, 'slot' FROM slots) q".into(),
                    &filter,
                    vec![vec![("q.n".into(), Ty::Number), ("q.k".into(), Ty::Text)]],
                    "",
                )
            }
            45 => {
                self.apart = true;
                Source {
                    with: "WITH q AS (SELECT rider_id AS u, zero AS n, station AS k FROM trips UNION ALL SELECT capacity, capacity, station FROM stations) ".into(),
                    ..plain("q JOIN stations s ON s.station = q.k LEFT JOIN codes c ON c.id = q.n".into(), "", vec![vec![("q.n".into(), Ty::Number), ("q.k".into(), Ty::Text)], s(), of("c", CODES)], "")
                }
            }
            46 => {
                self.apart = true;
                plain(
                    "(SELECT y.n + 1 AS n, y.k FROM (SELECT capacity AS u, capacity AS n, city AS k FROM stations UNION ALL SELECT rider_id, level, plan FROM riders) y WHERE y.u > 2) q".into(),
                    "",
                    vec![vec![("q.n".into(), Ty::Number), ("q.k".into(), Ty::Text)]],
                    "",
                )
            }
            36 => plain("marks m JOIN slots x ON m.slot = x.n AND m.rider = x.rider_id".into(), "", vec![m(), x()], "x.rider_id"),
            _ => plain("codes c JOIN (riders r LEFT JOIN trips t ON r.rider_id = t.rider_id LEFT JOIN stations s USING (station)) ON c.id = r.level, slots x".into(), "x.rider_id = r.rider_id AND x.n = c.id", vec![of("c", CODES), r(), t(), s(), x()], "x.rider_id"),
        }
    }

    /// A table under one of these conditions.
    pub(super) fn under(
        &mut self,
        from: &str,
        columns: &[(&str, Ty)],
        alias: &str,
        conditions: &[&str],
    ) -> Source {
        Source {
            with: String::new(),
            from: from.into(),
            filter: Some(self.one(conditions)),
            columns: of(alias, columns),
            unit: Some(format!("{alias}.rider_id")),
        }
    }

    /// A projection-only subquery, or a CTE.
    pub(super) fn nested(&mut self, cte: bool) -> Source {
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
}
