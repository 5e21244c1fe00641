//! Groups and windows of one unit's rows.

use super::*;

impl Generator<'_> {
    /// Groups and windows of one unit's rows, and some that are not of one unit: these are refused.
    pub(super) fn per_unit(&mut self) -> Source {
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
}
