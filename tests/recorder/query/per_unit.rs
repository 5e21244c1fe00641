//! Groups and windows of one unit's rows.

use super::*;

/// Columns of trips that a window's SELECT hands on.
const ALL: &str = "rider_id, started_at, raw_at, zoned, station, note, minutes, fare, big, amount, zero, dist, short, temp, wide, huge, lasts";

fn handed_on() -> Vec<(String, Ty)> {
    let named = |c: &&(&str, Ty)| ALL.split(", ").any(|name| name == c.0);
    of("t", &TRIPS.iter().filter(named).copied().collect::<Vec<_>>())
}

impl Generator<'_> {
    /// Groups and windows of one unit's rows, and some that are not of one unit: these are refused.
    pub(super) fn per_unit(&mut self) -> Source {
        let having = self.one(&[
            "",
            "",
            " HAVING count(*) > 1",
            " HAVING max(zero) < 3 OR count(*) FILTER (WHERE minutes > 60) > 0",
        ]);
        // Of the last two PostgreSQL has no values that may be handed on; they order rows.
        let (twin, also) = (*self.rng.pick(&TWINS[..6]), *self.rng.pick(&TWINS));
        let (tw, ty) = twin;
        let by = self.one(&["rider_id", "rider_id, zero", "zero, rider_id"]);
        let window = match self.rng.below(5) {
            0 => "PARTITION BY rider_id ORDER BY started_at".to_owned(),
            1 => "PARTITION BY zero, rider_id ORDER BY fare DESC NULLS LAST, minutes".to_owned(),
            2 => "PARTITION BY rider_id".to_owned(),
            3 => format!("PARTITION BY rider_id ORDER BY zero, {}", also.0),
            _ => {
                format!("PARTITION BY rider_id{} ORDER BY {tw} DESC", self.one(&["", ", zero", ", station"]))
            }
        };
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
        match self.rng.below(22) {
            // What is equal and looks different, merged, ordered by and looked at.
            17 => plain(
                format!("(SELECT rider_id AS u, {tw} AS tw, minutes AS m, note AS k, row_number() OVER ({window}) AS n, first_value({tw}) OVER ({window}) AS f FROM trips) q"),
                of_q(&[("tw", ty), m, k, n, ("f", ty)]),
                "q.u",
            ),
            18 | 19 => {
                let last = self.one(&["max", "min", "count", "sum"]);
                let merged = match self.rng.below(5) {
                    0 => format!("SELECT rider_id, {tw} AS tw, wide AS g, minutes AS m FROM trips GROUP BY 1, 2, 3, 4"),
                    1 => format!("SELECT rider_id, {last}({tw}) AS tw, wide AS g, minutes AS m FROM trips GROUP BY 1, 3, 4"),
                    2 => format!("SELECT DISTINCT rider_id, {tw} AS tw, wide AS g, minutes AS m FROM trips"),
                    3 => format!("SELECT rider_id, {tw} AS tw, wide AS g, minutes AS m FROM trips WHERE zero > -2 {} SELECT rider_id, {tw}, wide, minutes FROM trips", self.one(&["UNION", "INTERSECT", "EXCEPT"])),
                    _ => format!("SELECT DISTINCT ON (rider_id, wide) rider_id, {tw} AS tw, wide AS g, minutes AS m FROM trips ORDER BY rider_id, wide, {}", also.0),
                };
                let row = self.one(&["q.n = 1", "q.n <= 3", "q.g > 3"]);
                Source {
                    filter: Some(row),
                    ..plain(
                        format!("(SELECT rider_id AS u, tw, g, m, row_number() OVER (PARTITION BY rider_id ORDER BY {}) AS n FROM ({merged}) p) q", self.one(&["tw", "m", "m, tw", "tw DESC"])),
                        of_q(&[("tw", ty), ("g", Ty::Unbounded), m, n]),
                        "q.u",
                    )
                }
            }
            20 => plain(
                format!("(SELECT rider_id AS u, station AS k, sum({tw}) AS n, avg({tw}) AS m, stddev({}) AS s FROM trips GROUP BY 1, 2) q", also.0),
                of_q(&[k, ("n", Ty::Unbounded), ("m", Ty::Unbounded), ("s", Ty::Unbounded)]),
                "q.u",
            ),
            21 => {
                let from = format!("(SELECT {ALL}, row_number() OVER ({window}) AS rn FROM trips) t");
                Source { filter: Some(row), ..plain(from, handed_on(), "t.rider_id") }
            }
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
                let from = format!("(SELECT {ALL}, row_number() OVER (PARTITION BY rider_id ORDER BY started_at DESC) AS rn FROM trips) t");
                Source { filter: Some(row), ..plain(from, handed_on(), "t.rider_id") }
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
