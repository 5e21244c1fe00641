//! Sets of values: written as PostgreSQL's text[], asked as such, and estimated.

use super::World;
use crate::city::{rows, sqlstate};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};

/// One value at most, at an ε by which it is told as it is: estimates are exact.
const TRUTHFUL: &str = "\
[collect.survey]
users = [\"form\"]
columns.pets = { kind = \"set\", values = [\"cat\", \"dog\", \"other\"], other = \"other\", max_values = 1, epsilon = 100, randomiser = \"response\" }
columns.towns = { kind = \"set\", values = [\"City 0\", \"City 1\"], max_values = 1, epsilon = 100, randomiser = \"response\" }
columns.smokes = { kind = \"boolean\", epsilon = 100 }
";

async fn truthful() -> World {
    World::new(TRUTHFUL, "pets int4 NOT NULL, towns int4 NOT NULL, smokes int4 NOT NULL").await
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_are_asked_as_postgresql_asks_arrays() {
    let world = truthful().await;
    let form = world.client("form").await;
    // Every way of writing one.
    form.batch_execute(
        "INSERT INTO survey VALUES ('{cat}', '{}', true), ('{\"cat\"}'::text[], ARRAY['City 0'], false), (ARRAY['dog'], '{City 1}', true),
           (ARRAY['cat', 'cat'], '{City 0}', true), ('{}', ARRAY[]::text[], false), ('{snake, spider}', '{\"City 1\"}', false)",
    )
    .await
    .unwrap();
    let prepared =
        form.prepare("INSERT INTO survey (smokes, pets, towns) VALUES ($1, $2, ARRAY[$3])").await.unwrap();
    assert_eq!(prepared.params().iter().map(|t| t.oid()).collect::<Vec<_>>(), [16, 1009, 25]);
    for i in 0..60usize {
        let pets: &[&str] = [&["cat"][..], &["dog"], &[], &["axolotl"], &["dog"]][i % 5];
        form.execute(&prepared, &[&(i % 3 == 0), &pets, &["City 0", "City 1"][i % 2]]).await.unwrap();
    }
    let copied =
        world.psql("form", "COPY survey FROM STDIN;\n{dog}\t{}\tt\n{\"a, b\"}\t{\"City 0\"}\tf\n\\.\n").await;
    assert!(copied.stdout.contains("COPY 2"), "{copied:?}");
    let copied =
        world.psql("form", "COPY survey FROM STDIN (FORMAT csv);\n\"{\"\"cat\"\"}\",{City 1},t\n\\.\n").await;
    assert!(copied.stdout.contains("COPY 1"), "{copied:?}");
    // The same rows as they are.
    let admin = world.db.superuser().await;
    admin
        .batch_execute(
            "CREATE TABLE survey (pets text[], towns text[], smokes bool);
             INSERT INTO survey VALUES ('{cat}', '{}', true), ('{cat}', '{City 0}', false), ('{dog}', '{City 1}', true),
               ('{cat}', '{City 0}', true), ('{}', '{}', false), ('{other}', '{City 1}', false),
               ('{dog}', '{}', true), ('{other}', '{City 0}', false), ('{cat}', '{City 1}', true);
             INSERT INTO survey SELECT (ARRAY['{cat}', '{dog}', '{}', '{other}', '{dog}'])[1 + i % 5]::text[],
               ARRAY['City ' || i % 2], i % 3 = 0 FROM generate_series(0, 59) i",
        )
        .await
        .unwrap();
    let ada = world.client("ada").await;
    for sql in [
        "SELECT count(*), count(*) FILTER (WHERE 'cat' = ANY (pets)) AS cats, count(*) FILTER (WHERE 'dog' = ANY (pets)) AS dogs FROM survey",
        "SELECT count(*) FROM survey WHERE 'cat' = ANY (pets)",
        "SELECT count(*) FROM survey WHERE pets @> ARRAY['cat'] AND smokes",
        "SELECT count(*) FROM survey WHERE pets @> '{cat}'",
        "SELECT count(*) FROM survey WHERE ARRAY['cat']::text[] <@ pets OR smokes",
        "SELECT count(*) FROM survey WHERE pets && '{dog}'::text[]",
        "SELECT count(*) FROM survey WHERE 'zebra' = ANY (pets)",
        "SELECT count(*) FROM survey WHERE NOT 'zebra' = ANY (pets)",
        "SELECT count(*) FROM survey WHERE 'dog' <> ALL (pets)",
        "SELECT smokes, count(*) FILTER (WHERE NOT 'cat' = ANY (s.pets)) FROM survey s GROUP BY smokes ORDER BY 1",
        "SELECT 'cat' = ANY (pets) AS cat, count(*) FROM survey GROUP BY 1 ORDER BY 1",
        "SELECT CASE WHEN 'cat' = ANY (pets) THEN 'yes' ELSE 'no' END AS cat, smokes, count(*) FROM survey GROUP BY 1, 2 HAVING count(*) > 3 ORDER BY 1, 2",
        "SELECT count(*) FILTER (WHERE 'cat' = ANY (pets) AND 'City 0' = ANY (towns)) FROM survey",
        "SELECT pet, count(*) FROM survey, unnest(pets) AS pet GROUP BY pet ORDER BY 1",
        "SELECT p.x, count(*) FROM survey s CROSS JOIN LATERAL unnest(s.pets) AS p(x) WHERE s.smokes GROUP BY 1 ORDER BY 2 DESC, 1",
        "SELECT count(*) FROM survey s JOIN unnest(s.pets) AS p(x) ON p.x <> 'cat'",
        "SELECT count(*) FROM survey, unnest(pets) AS pet",
        "SELECT unnest(pets) AS pet, count(*) FROM survey GROUP BY pet ORDER BY pet",
        "SELECT unnest(pets), smokes, count(*) FROM survey GROUP BY unnest(pets), smokes ORDER BY 1, 2",
        "SELECT c.capacity, count(*) FROM survey v, unnest(v.towns) AS t JOIN stations c ON c.city = t WHERE 'cat' = ANY (v.pets) GROUP BY 1 ORDER BY 1",
        "SELECT pet, town, count(*) FROM survey, unnest(pets) AS pet, unnest(towns) AS town GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT sum(n), max(n) FROM (SELECT pet, count(*) AS n FROM survey, unnest(pets) AS pet GROUP BY 1) t",
    ] {
        let told = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert_eq!(told, rows(&admin, sql).await.unwrap(), "{sql}");
    }
    // A parameter is looked up in the domain when its value is there.
    let held = ada
        .prepare("SELECT count(*) FILTER (WHERE $1 = ANY (pets)), count(*) FROM survey WHERE smokes")
        .await
        .unwrap();
    for (pet, truth) in [(Some("cat"), 7i64), (Some("dog"), 10), (Some("zebra"), 0), (None, 0)] {
        let row = ada.query_one(&held, &[&pet]).await.unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (truth, 25), "{pet:?}");
    }
    // Each value once: the counts of one question of each set are parts of the whole.
    let consistent = "SET noisegate.consistent = on; SELECT smokes, count(*) FILTER (WHERE 'cat' = ANY (pets)) FROM survey GROUP BY 1 ORDER BY 1";
    let plain = "SELECT smokes, count(*) FILTER (WHERE 'cat' = ANY (pets)) FROM survey GROUP BY 1 ORDER BY 1";
    assert_eq!(rows(&ada, consistent).await.unwrap(), rows(&admin, plain).await.unwrap());
    assert_eq!(
        sqlstate(&ada, "SELECT pet, count(*) FROM survey, unnest(pets) AS pet GROUP BY 1").await,
        "0A000"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_report_of_a_set_tells_is_refused() {
    let world = truthful().await;
    let ada = world.client("ada").await;
    for sql in [
        "SELECT count(*) FROM survey WHERE 'cat' = ANY (pets) AND 'dog' = ANY (pets)",
        "SELECT count(*) FILTER (WHERE 'cat' = ANY (pets)) FROM survey WHERE 'dog' = ANY (pets)",
        "SELECT 'cat' = ANY (pets), count(*) FILTER (WHERE 'dog' = ANY (pets)) FROM survey GROUP BY 1",
        "SELECT 'cat' = ANY (pets), 'dog' = ANY (pets), count(*) FROM survey GROUP BY 1, 2",
        "SELECT sum(CASE WHEN 'cat' = ANY (pets) THEN 1 WHEN 'dog' = ANY (pets) THEN 2 END) FROM survey",
        "SELECT pet, count(*) FROM survey, unnest(pets) AS pet WHERE 'dog' = ANY (pets) GROUP BY 1",
        "SELECT a, b, count(*) FROM survey, unnest(pets) AS a, unnest(pets) AS b GROUP BY 1, 2",
        "SELECT unnest(pets), a, count(*) FROM survey, unnest(pets) AS a GROUP BY 1, 2",
        "SELECT count(*) FROM survey WHERE pets @> ARRAY['cat', 'dog']",
        "SELECT count(*) FROM survey WHERE pets @> '{}'",
        "SELECT count(*) FROM survey WHERE pets = '{cat}'",
        "SELECT count(*) FROM survey WHERE pets IS NULL",
        "SELECT pets, count(*) FROM survey GROUP BY pets",
        "SELECT count(pets) FROM survey",
        "SELECT sum(cardinality(pets)) FROM survey",
        "SELECT count(*) FROM survey WHERE 'cat' < ANY (pets)",
        "SELECT count(*) FROM survey s JOIN stations c ON c.city = ANY (s.towns)",
        "SELECT count(*) FROM survey s LEFT JOIN unnest(s.pets) AS p ON true",
        "SELECT count(*) FROM survey, unnest(pets) AS pet LEFT JOIN stations c ON c.city = pet",
        "SELECT count(*) FROM survey, unnest(pets) AS pet WHERE EXISTS (SELECT FROM stations c WHERE c.city = pet)",
        "SELECT count(*) FROM survey WHERE unnest(pets) = 'cat'",
        "SELECT count(unnest(pets)) FROM survey",
        "SELECT count(*) FROM survey WHERE EXISTS (SELECT FROM stations c WHERE c.city = ANY (towns))",
        "SELECT count(*) FROM survey s, LATERAL (SELECT count(*) AS n FROM unnest(s.pets) AS p) x",
        "SELECT unnest(pets) FROM survey",
    ] {
        let code = sqlstate(&ada, sql).await;
        assert!(["0A000", "42803", "42P01"].contains(&code.as_str()), "{sql}: {code}");
    }
    let out = world
        .psql("ada", "SELECT count(*) FROM survey WHERE 'cat' = ANY (pets) AND 'dog' = ANY (pets);")
        .await;
    assert!(
        out.stderr.contains("together have no estimate") && out.stderr.contains("FILTER (WHERE 'a' = ANY"),
        "{out:?}"
    );
    let form = world.client("form").await;
    for (cell, code) in [
        ("'{cat,dog}'", "23514"),
        ("'cat'", "22P02"),
        ("'{{cat}}'", "22P02"),
        ("'{NULL}'", "23514"),
        ("NULL", "23502"),
        ("ARRAY[lower('CAT')]", "0A000"),
        ("ARRAY[ARRAY['cat']]", "0A000"),
    ] {
        let sql = format!("INSERT INTO survey VALUES ({cell}, '{{}}', true)");
        assert_eq!(sqlstate(&form, &sql).await, code, "{sql}");
    }
    assert_eq!(sqlstate(&form, "INSERT INTO survey VALUES ('{}', '{City 7}', true)").await, "23514");
    assert_eq!(world.stored().await, 0, "what fails stores nothing");
}

/// Of each randomiser: 4,000 people with up to three of five values, estimates within what is said of them, and that is what theory says.
#[tokio::test(flavor = "multi_thread")]
async fn estimates_of_sets_are_as_near_as_they_say() {
    let column = |name: &str, randomiser: &str| {
        format!(
            "columns.{name} = {{ kind = \"set\", values = [\"a\", \"b\", \"c\", \"d\", \"e\"], max_values = 3, epsilon = 3, randomiser = \"{randomiser}\" }}\n"
        )
    };
    let collect = format!(
        "[collect.survey]\nusers = [\"form\"]\ncolumns.s = {{ kind = \"boolean\", epsilon = 3 }}\n{}{}{}",
        column("r", "response"),
        column("u", "unary"),
        column("h", "hadamard")
    );
    let world =
        World::new(&collect, "s int4 NOT NULL, r int4 NOT NULL, u bytea NOT NULL, h int4 NOT NULL").await;
    let n = 4_000;
    // a: 2,000, of whom none smokes; b: 1,000; c: 400; d: nobody; e: everybody.
    let line = |i: i32| {
        let held = [("a", i % 2 == 0), ("b", i % 4 == 1), ("c", i % 10 == 0), ("e", true)];
        let set: Vec<&str> = held.iter().filter(|(_, there)| *there).map(|(v, _)| *v).collect();
        format!(
            "{}\t{}\n",
            i % 2 == 1,
            ["{", &set.join(","), "}"].concat().split('\t').cycle().take(3).collect::<Vec<_>>().join("\t")
        )
    };
    let lines: String = (0..n).map(line).collect();
    let out = world.psql("form", &format!("COPY survey FROM STDIN;\n{lines}\\.\n")).await;
    assert!(out.stdout.contains("COPY 4000"), "{out:?}");
    let ada = world.client("ada").await;
    let each = async |sql: &str| -> Vec<f64> {
        let cells = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        cells[0].iter().map(|c| c.as_ref().unwrap().parse().unwrap()).collect()
    };
    for set in ["r", "u", "h"] {
        for (filter, truth) in [
            (format!("'a' = ANY ({set})"), 2000.0),
            (format!("'b' = ANY ({set})"), 1000.0),
            (format!("'d' = ANY ({set})"), 0.0),
            (format!("'e' = ANY ({set})"), 4000.0),
            (format!("'a' <> ALL ({set})"), 2000.0),
            (format!("s AND 'a' = ANY ({set})"), 0.0),
            (format!("s AND {set} @> '{{b}}'"), 1000.0),
        ] {
            let told =
                each(&format!("SELECT count(*), noisegate.stddev(count(*)) FROM survey WHERE {filter}"))
                    .await;
            assert!((told[0] - truth).abs() <= 5.5 * told[1] + 0.5, "{filter}: {told:?}, not {truth}");
            assert!(told[1] > 10.0 && told[1] < 700.0, "{filter}: {told:?}");
        }
        let sql = format!(
            "SELECT v, count(*), noisegate.stddev(count(*)) FROM survey, unnest({set}) AS v GROUP BY v ORDER BY v"
        );
        for (row, truth) in rows(&ada, &sql).await.unwrap().iter().zip([2000.0, 1000.0, 400.0, 0.0, 4000.0]) {
            let number = |at: usize| row[at].as_ref().unwrap().parse::<f64>().unwrap();
            assert!((number(1) - truth).abs() <= 5.5 * number(2) + 0.5, "{set}: {row:?}, not {truth}");
        }
        // How many values were given in all.
        let told =
            each(&format!("SELECT count(*), noisegate.stddev(count(*)) FROM survey, unnest({set}) AS v"))
                .await;
        assert!((told[0] - 7400.0).abs() <= 5.5 * told[1] + 0.5, "{set}: {told:?}");
        let kind = noisegate::dp::randomised::OracleKind::ALL
            .into_iter()
            .find(|k| k.word().starts_with(set))
            .unwrap();
        let oracle =
            noisegate::dp::randomised::Oracle::new(kind, 6, &noisegate::dp::Ratio::from_integer(3)).unwrap();
        let expected = noisegate::dp::randomised::Sets::new(oracle, 3).unwrap().deviation(4_000, 1_000);
        let sql = format!("SELECT noisegate.stddev(count(*) FILTER (WHERE 'b' = ANY ({set}))) FROM survey");
        let told = each(&sql).await[0];
        assert!((told / expected - 1.0).abs() < 0.1, "{set}: {told}, by theory {expected}");
    }
}

/// A set of the same values is randomised in the same way each time, in whatever order it is said; another set has coins of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_is_said_again_is_reported_the_same() {
    let collect = "[collect.survey]\nusers = [\"form\"]\nperson = \"device\"\nperson_key_file = \"person.key\"\npermanent = true\ninstant_epsilon = 100\n\
        columns.pets = { kind = \"set\", values = [\"cat\", \"dog\", \"fish\", \"bird\"], max_values = 3, epsilon = 0.5 }\n";
    let world = World::new(collect, "pets int4 NOT NULL").await;
    let form = world.client("form").await;
    for set in ["{cat,dog}", "{dog,cat}", "{dog,dog,cat}"] {
        for device in 0..40 {
            form.batch_execute(&format!("INSERT INTO survey VALUES ('{set}', 'd{device}')")).await.unwrap();
        }
    }
    let admin = world.db.superuser().await;
    let odd =
        "SELECT count(*) FROM (SELECT pets FROM survey_reports GROUP BY pets HAVING count(*) % 3 <> 0) t";
    let of = async |sql: &str| admin.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);
    assert_eq!(of(odd).await, 0, "each person's three reports are the same");
    assert!(of("SELECT count(DISTINCT pets) FROM survey_reports").await > 3);
    for device in 0..40 {
        form.batch_execute(&format!("INSERT INTO survey VALUES ('{{fish}}', 'd{device}')")).await.unwrap();
    }
    assert!(of(odd).await > 0, "another set, another report");
}

/// What PostgreSQL writes in binary format, of every kind of column, is taken as it is written in text; what is not whole stores nothing.
#[tokio::test(flavor = "multi_thread")]
async fn copies_in_binary_format_are_taken() {
    let collect = "[collect.survey]\nusers = [\"form\"]\n\
        columns.answer = { kind = \"categorical\", values = [\"yes\", \"nö\"], epsilon = 100, missing = true, randomiser = \"response\" }\n\
        columns.smokes = { kind = \"boolean\", epsilon = 100, randomiser = \"response\" }\n\
        columns.visits = { kind = \"count\", range = [-2, 9], epsilon = 100, randomiser = \"response\" }\n\
        columns.fee = { kind = \"number\", range = [-1.5, 12.25], grid = 0.25, epsilon = 100, randomiser = \"rounding\" }\n\
        columns.pets = { kind = \"set\", values = [\"cat\", \"dog\"], max_values = 1, epsilon = 100, randomiser = \"response\" }\n";
    let columns = "answer int4 NOT NULL, smokes int4 NOT NULL, visits int4 NOT NULL, fee int4 NOT NULL, pets int4 NOT NULL";
    let world = World::new(collect, columns).await;
    let admin = world.db.superuser().await;
    admin
        .batch_execute(
            "CREATE TABLE survey AS SELECT (ARRAY['yes', 'nö', NULL])[1 + i % 3] AS answer, i % 2 = 0 AS smokes, i % 12 - 2 AS visits,
               CASE WHEN i % 4 = 0 THEN -1.5 ELSE 12.250 END AS fee, (ARRAY['{cat}', '{}', '{dog}'])[1 + i % 3]::text[] AS pets
             FROM generate_series(1, 500) i",
        )
        .await
        .unwrap();
    let written = admin.copy_out("COPY survey TO STDOUT (FORMAT binary)").await.unwrap();
    let written: Vec<u8> = written.map(|piece| piece.unwrap().to_vec()).collect::<Vec<_>>().await.concat();
    let form = world.client("form").await;
    let copy = async |bytes: &[u8], pieces: usize| {
        let sink = form.copy_in("COPY survey FROM STDIN (FORMAT binary)").await.unwrap();
        let mut sink = std::pin::pin!(sink);
        for piece in bytes.chunks(pieces) {
            sink.send(Bytes::copy_from_slice(piece)).await?;
        }
        sink.as_mut().finish().await
    };
    assert_eq!(copy(&written, 777).await.unwrap(), 500);
    for broken in [&written[..written.len() - 2], &written[..written.len() / 2], b"yes\tt\t1\t1\t{}\n"] {
        let error = copy(broken, 4096).await.unwrap_err();
        assert_eq!(error.code().map(|c| c.code()), Some("22P04"), "{error:?}");
    }
    assert_eq!(world.stored().await, 500);
    let ada = world.client("ada").await;
    for sql in [
        "SELECT answer, smokes, count(*) FROM survey GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT visits, count(*) FROM survey GROUP BY 1 ORDER BY 1",
        "SELECT round(sum(fee)), count(*) FILTER (WHERE 'cat' = ANY (pets)) FROM survey WHERE smokes",
    ] {
        assert_eq!(rows(&ada, sql).await.unwrap(), rows(&admin, sql).await.unwrap(), "{sql}");
    }
}
