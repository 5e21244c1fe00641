//! What BI tools send, in their own words over the bike-share tables: each is answered, or refused with what to do instead.

use crate::city::{World, rows};
use crate::usual::rules;
use tokio_postgres::Client;

const RULES: &str = rules!([epsilon = 1, delta = 1e-6, max_groups = 12, max_rows = 4] ["approx", epsilon = 1000, delta = 0.1]);

/// Superset, Metabase, Tableau, Power BI, Grafana, Looker, dbplyr, Looker Studio.
const ANSWERED: &[&str] = &[
    // Superset: a time filter, a virtual dataset, grains below an hour, a row count, filter values.
    r#"SELECT DATE_TRUNC('week', "started_at") AS __timestamp, count(station) AS "COUNT(station)" FROM public."trips" WHERE "started_at" >= TO_TIMESTAMP('2024-03-01 00:00:00.000000','YYYY-MM-DD HH24:MI:SS.US') AND "started_at" < TO_TIMESTAMP('2024-05-01 00:00:00.000000','YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('week', "started_at") ORDER BY "COUNT(station)" DESC"#,
    "SELECT date_trunc('day', CAST(s AS TIMESTAMP)) AS s, COUNT(*) AS count FROM (SELECT started_at AS s FROM trips) AS virtual_table GROUP BY date_trunc('day', CAST(s AS TIMESTAMP)) ORDER BY count DESC LIMIT 1000",
    "SELECT DATE_TRUNC('hour', started_at) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM started_at) / 5) AS __timestamp, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-03' GROUP BY DATE_TRUNC('hour', started_at) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM started_at) / 5)",
    "SELECT COUNT(*) AS rowcount FROM (SELECT station, count(*) FROM trips GROUP BY station) AS rowcount_qry",
    "SELECT DISTINCT station AS column_values FROM trips LIMIT 100",
    r#"SELECT COUNT(DISTINCT "rider_id"), SUM(CASE WHEN minutes > 60 THEN 1 ELSE 0 END) FROM trips WHERE "note" IN ('1','2') AND station LIKE '%1%'"#,
    // Superset: the series of a chart are those of the largest.
    "SELECT DATE_TRUNC('year', started_at) AS __timestamp, station AS station, COUNT(*) AS count FROM public.trips JOIN (SELECT station AS station__, COUNT(*) AS mme_inner__ FROM public.trips GROUP BY station ORDER BY mme_inner__ DESC LIMIT 5) AS series_limit ON station = station__ GROUP BY DATE_TRUNC('year', started_at), station ORDER BY count DESC LIMIT 10000",
    // Metabase: groups by an alias, a nested source, bins, weeks of the year, the period before, field values.
    r#"SELECT DATE_TRUNC('month', "public"."trips"."started_at") AS "x", COUNT(*) AS "count" FROM "public"."trips" GROUP BY "x" ORDER BY "x" ASC"#,
    r#"SELECT "__mb_source"."station" AS "station", COUNT(*) AS "count" FROM (SELECT "public"."trips"."station" AS "station", "public"."trips"."fare" AS "fare" FROM "public"."trips" WHERE "public"."trips"."fare" > 5) AS "__mb_source" GROUP BY "__mb_source"."station" ORDER BY "__mb_source"."station" ASC LIMIT 1048575"#,
    r#"SELECT ((FLOOR((("t"."fare" - 0.75) / 0.75)) * 0.75) + 0.75) AS "total", COUNT(*) FROM trips t GROUP BY ((FLOOR((("t"."fare" - 0.75) / 0.75)) * 0.75) + 0.75) ORDER BY 1"#,
    "SELECT ceil((CAST(extract(doy from CAST(date_trunc('week', started_at) AS timestamp)) AS integer) / 7.0)) AS week, count(*) FROM trips GROUP BY 1 ORDER BY 1",
    r#"SELECT "source"."m" AS m, COUNT(*), LAG(COUNT(*), 1) OVER (ORDER BY "source"."m" ASC) AS before FROM (SELECT DATE_TRUNC('month', started_at) AS "m" FROM trips) AS "source" GROUP BY "source"."m" ORDER BY "source"."m" ASC"#,
    r#"SELECT "public"."trips"."station" FROM "public"."trips" GROUP BY "public"."trips"."station" ORDER BY "public"."trips"."station" ASC LIMIT 1000"#,
    // Tableau: casts, SUM(1), HAVING, probes of a range, weeks that begin on Sunday, quarters, the clock, schema probes.
    r#"SELECT CAST("v"."station" AS TEXT) AS "station", SUM("v"."fare") AS "sum:fare:ok" FROM "public"."trips" "v" WHERE (("v"."started_at" >= (DATE '2024-01-01')) AND ("v"."started_at" < (DATE '2024-07-01'))) GROUP BY 1"#,
    r#"SELECT COUNT(DISTINCT "trips"."note") AS "sum:count:ok", SUM(1) AS "count:ok" FROM "public"."trips" "trips" HAVING (COUNT(1) > 0)"#,
    "SELECT station, SUM(fare) FROM trips GROUP BY 1 HAVING ((SUM(fare) >= 9.99999998999) AND (SUM(fare) <= 2000000.00000002))",
    r#"SELECT MIN("t"."started_at") AS "tmn:timestamp:min", MAX("t"."started_at") AS "tmn:timestamp:max" FROM trips "t""#,
    r#"SELECT CAST((DATE_TRUNC('day', CAST("s"."started_at" AS DATE)) + (-EXTRACT(DOW FROM "s"."started_at") * INTERVAL '1 DAY')) AS DATE) AS w, COUNT(*) FROM trips "s" WHERE started_at >= '2024-03-01' AND started_at < '2024-04-01' GROUP BY 1"#,
    "SELECT CAST(TRUNC(EXTRACT(QUARTER FROM started_at)) AS INTEGER) AS q, count(*) FROM trips GROUP BY 1",
    r#"SELECT CAST(CURRENT_TIMESTAMP AS TIMESTAMP) AS "COL""#,
    // Tableau: the five largest.
    r#"SELECT CAST("v"."station" AS TEXT) AS "station", SUM("v"."fare") AS "sum:fare:ok" FROM "public"."trips" "v" INNER JOIN (SELECT CAST("v"."station" AS TEXT) AS "station", SUM("v"."fare") AS "$__alias__0" FROM "public"."trips" "v" GROUP BY 1 ORDER BY 2 DESC, 1 ASC LIMIT 5) "t0" ON (CAST("v"."station" AS TEXT) = "t0"."station") GROUP BY 1"#,
    // Power BI: nested selects, distinct counts with a flag for NULL, slicers, filters of what is not empty.
    "select \"_\".\"p\",\r\n\"_\".\"a0\" from (select \"rows\".\"station\" as \"p\", sum(\"rows\".\"fare\") as \"a0\" from (select \"station\", \"fare\" from \"public\".\"trips\" \"$Table\") \"rows\" group by \"station\") \"_\" where not \"_\".\"a0\" is null limit 1000001",
    r#"select count(distinct("rows"."note")) + max(case when "rows"."note" is null then 1 else 0 end) as "a0" from (select note from "public"."trips" "$Table") "rows""#,
    r#"select "_"."g" from (select "rows"."g" as "g" from (select station as "g" from "public"."trips" "$Table") "rows" group by "g") "_" order by "_"."g" limit 1001"#,
    r#"select "_"."g", "_"."n" from (select "rows"."plan" as "g", count(*) as n from (select "plan" from "public"."riders" "$Table") "rows" group by "plan") "_" where (not "_"."g" is null and not "_"."g" = '' or not (not "_"."g" is null))"#,
    // Grafana: buckets of five minutes, a filter of the panel's range.
    r#"SELECT floor(extract(epoch from started_at)/21600)*21600 AS "time", count(*) FROM trips WHERE started_at BETWEEN '2024-03-01T00:00:00Z' AND '2024-03-08T00:00:00Z' GROUP BY 1 ORDER BY 1"#,
    "SELECT floor((minutes)/30)*30 AS bin, count(*) FROM trips WHERE minutes >= 1 AND minutes <= 200 GROUP BY 1 ORDER BY 1 -- dashboard='rides'",
    // Looker, dbplyr, Looker Studio.
    "-- Looker Query Context '{\"user_id\": 1}'\nSELECT station, count(*) FROM trips GROUP BY 1 ORDER BY 2 DESC FETCH NEXT 5 ROWS ONLY",
    r#"SELECT "station", COUNT(*) AS "n" FROM (SELECT "trips".* FROM "trips" WHERE ("fare" > 1.0)) AS "q01" GROUP BY "station" ORDER BY "n" DESC LIMIT 5"#,
    r#"SELECT CAST(DATE_TRUNC('MONTH', DATE_TRUNC('SECOND', "started_at")) AS DATE) AS "qt_x", COUNT(1) AS "__record_count" FROM trips GROUP BY "qt_x""#,
    "SELECT CAST(TO_CHAR(started_at, 'MMDD') AS BIGINT) AS d, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-08' GROUP BY 1",
];

/// Rows of single units, and a word of the hint.
const REFUSED: &[(&str, &str)] = &[
    ("SELECT * FROM public.trips LIMIT 100", "Aggregate"),
    (
        r#"SELECT "source"."s1" FROM (SELECT SUBSTRING("public"."riders"."city" FROM 1 FOR 1234) AS "s1" FROM riders) AS "source" LIMIT 10000"#,
        "Aggregate",
    ),
    (r#"select "rows"."note" from (select * from "public"."trips" "$Table") "rows" limit 1000"#, "Aggregate"),
];

/// What a tool says beside its questions, in order: sessions, cursors, resets.
const SESSIONS: &[(&str, &[&str])] = &[
    (
        "Metabase",
        &[
            "SET extra_float_digits = 2",
            "SET application_name = 'Metabase v0.55.1'",
            "SHOW TRANSACTION ISOLATION LEVEL",
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            "show timezone",
            "SET SESSION TIMEZONE TO 'UTC'",
            "BEGIN READ ONLY",
            "-- Metabase:: userID: 1 queryType: MBQL queryHash: ab\nSELECT COUNT(*) AS count FROM public.trips",
            "ROLLBACK",
        ],
    ),
    (
        "DBeaver",
        &[
            "SET extra_float_digits = 3",
            "SET application_name = 'DBeaver 25.1.5 - Main <bikes>'",
            "SHOW search_path",
            "SELECT version()",
            "SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'",
            "SELECT pg_catalog.pg_total_relation_size(16384::oid)",
        ],
    ),
    (
        "Tableau, Excel (psqlODBC)",
        &[
            "SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation",
            "select oid, typbasetype from pg_type where typname = 'lo'",
            "SET client_min_messages TO 'error'",
            "BEGIN;declare \"SQL_CUR0x1\" cursor with hold for SELECT station, count(*) FROM trips GROUP BY 1;fetch 2048 in \"SQL_CUR0x1\"",
            "fetch 2048 in \"SQL_CUR0x1\"",
            "close \"SQL_CUR0x1\"",
            "COMMIT",
            "SELECT * FROM \"public\".\"trips\" WHERE 1 = 0",
        ],
    ),
    (
        "Npgsql (Power BI)",
        &[
            "SELECT version()",
            "SHOW default_transaction_read_only",
            "SELECT pg_is_in_recovery()",
            "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SELECT COUNT(*) FROM trips",
            "COMMIT",
            "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP",
            "DISCARD ALL",
        ],
    ),
    ("Grafana", &["SELECT 1", "SHOW server_version", "SHOW server_version_num", "-- ping"]),
    (
        "Looker",
        &[
            "SELECT 1 AS test",
            "SET SESSION statement_timeout = 60000",
            "SHOW server_version",
            "SELECT 1 WHERE 1=0",
        ],
    ),
];

/// What a tool tries, and can do without: it is told which, and what else there is.
const PROBES: &[(&str, &str)] = &[
    // DBeaver draws plans from XML.
    ("EXPLAIN (FORMAT XML) SELECT 1", "0A000"),
    // Tableau asks whether it may make temporary tables, and works without.
    (
        "CREATE LOCAL TEMPORARY TABLE \"#Tableau_1_Connect\" (\"COL\" INTEGER) ON COMMIT PRESERVE ROWS",
        "42501",
    ),
    // Looker's derived tables, Metabase's models that persist.
    ("CREATE TABLE looker_scratch.lr_1 AS SELECT station FROM public.trips GROUP BY 1", "42501"),
    ("CREATE SCHEMA IF NOT EXISTS \"metabase_cache_1\"", "42501"),
];

async fn wrong(client: &Client) -> Vec<String> {
    let mut wrong = Vec::new();
    for sql in ANSWERED {
        match rows(client, sql).await {
            Ok(answer) if answer.is_empty() => wrong.push(format!("{sql}\n  no rows")),
            Ok(_) => {}
            Err(e) => {
                let told = e.as_db_error().map(|d| format!("{} {:?}", d.message(), d.hint()));
                wrong.push(format!("{sql}\n  {}", told.unwrap_or_else(|| e.to_string())));
            }
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bi_tools_send_is_answered() {
    let world = World::new(&["ada"], RULES).await;
    let client = world.client("ada").await;
    let wrong = wrong(&client).await;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ANSWERED.len(), wrong.join("\n\n"));
    for (sql, hint) in REFUSED {
        let refused = rows(&client, sql).await.expect_err(sql);
        let refused = refused.as_db_error().expect(sql);
        assert_eq!(refused.code().code(), "0A000", "{sql}");
        assert!(refused.hint().is_some_and(|h| h.contains(hint)), "{sql}: {:?}", refused.hint());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bi_tools_say_beside_is_understood() {
    let world = World::new(&["ada"], RULES).await;
    let mut wrong = Vec::new();
    for (tool, statements) in SESSIONS {
        let client = world.client("ada").await;
        for sql in *statements {
            if let Err(e) = rows(&client, sql).await {
                wrong.push(format!("{tool}: {sql}\n  {e:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let client = world.client("ada").await;
    for (sql, code) in PROBES {
        let refused = rows(&client, sql).await.expect_err(sql);
        assert_eq!(refused.code().map(|c| c.code()), Some(*code), "{sql}: {refused:?}");
    }
}
