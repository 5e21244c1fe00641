//! `char(n)`: beside private rows its value is its text without the blanks at the end, in keys, joins, constants and functions.

use crate::city::{PASSWORD, rows};
use crate::support::{Workdir, connect, database};

const DATA: &str = "
    CREATE TABLE countries (code char(3) PRIMARY KEY, region char(10) NOT NULL);
    INSERT INTO countries VALUES ('de', 'north'), ('fra', 'south'), ('it', 'south'), ('no', 'north');
    CREATE TABLE people (person_id int PRIMARY KEY, country char(3) NOT NULL REFERENCES countries, kind char(4), free character);
    INSERT INTO people SELECT i, (ARRAY['de', 'fra', 'it', 'no'])[1 + i % 4], (ARRAY['a', 'bb', 'a b', NULL])[1 + i % 7 % 4], 'x'
        FROM generate_series(1, 2000) i;";

const POLICY: &str = "[privacy]\nunit = \"people.person_id\"\n[statement]\nepsilon = 10\ndelta = 1e-6\n
    [[budget]]\nname = \"everyone\"\naccounting = \"approx\"\nepsilon = 1000\ndelta = 0.01\n
    [table.people]\nunit_column = \"person_id\"\ncolumns.country = { references = \"countries.code\" }
    columns.kind = { values = [\"a\", \"bb\", \"a b\"] }\ncolumns.free = {}\n[table.countries]\npublic = true\n";

/// Each is asked of the proxy and of PostgreSQL, word for word.
const ASKED: &[&str] = &[
    "SELECT country, count(*) FROM people GROUP BY country",
    "SELECT c.region, count(*) FROM people p JOIN countries c ON c.code = p.country GROUP BY c.region",
    "SELECT c.code, c.region, count(*) FROM people p JOIN countries c ON p.country = c.code GROUP BY 1, 2",
    "SELECT region, count(*) FROM people, countries WHERE code = country AND region = 'south     ' GROUP BY region",
    "SELECT kind, count(*) FROM people GROUP BY kind",
    "SELECT 'of', count(*) FROM people WHERE kind = 'a'",
    "SELECT 'of', count(*) FROM people WHERE kind = 'a   ' OR kind IN ('bb ', 'c')",
    "SELECT 'of', count(*) FROM people WHERE kind LIKE 'a%' AND kind < 'b'",
    "SELECT length(kind), count(*) FROM people GROUP BY 1",
    "SELECT kind, count(*) FROM people WHERE kind IS NOT NULL GROUP BY kind",
    "SELECT upper(kind) || '!', count(*) FROM people GROUP BY 1",
    "SELECT free, count(*) FROM people GROUP BY free",
    "SELECT k, count(*) FROM (SELECT person_id, max(kind) AS k FROM people GROUP BY person_id) t GROUP BY k",
    "SELECT 'of', count(*) FROM people WHERE country IN (SELECT code FROM countries WHERE region = 'north')",
];

#[tokio::test(flavor = "multi_thread")]
async fn padded_texts_have_postgresqls_groups_and_nearly_its_numbers() {
    let db = database(DATA).await;
    db.publish(&["countries"]).await;
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    let user = format!("[[user]]\nname = \"ada\"\nscram = \"{verifier}\"\n");
    let server = "[server]\nlisten = [\"127.0.0.1:0\"]\n";
    let dir = Workdir::new(&format!(
        "{server}{}[ledger]\nurl = \"sqlite:noisegate.db\"\n{user}{POLICY}",
        db.backend_toml()
    ));
    let gate = dir.serve().await;
    let (ada, exact) = (connect(&gate.url("ada", PASSWORD, "bikes")).await, db.superuser().await);
    for sql in ASKED {
        let ours = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let mut ours: Vec<Vec<Option<String>>> = ours;
        let mut theirs = rows(&exact, sql).await.unwrap();
        // What is shown is the value.
        for cell in theirs.iter_mut().flatten().flatten() {
            cell.truncate(cell.trim_end_matches(' ').len());
        }
        ours.sort();
        theirs.sort();
        let keys = |rows: &[Vec<Option<String>>]| -> Vec<Vec<Option<String>>> {
            rows.iter().map(|row| row[..row.len() - 1].to_vec()).collect()
        };
        assert_eq!(keys(&ours), keys(&theirs), "{sql}: {ours:?} {theirs:?}");
        for (a, b) in ours.iter().zip(&theirs) {
            let number =
                |row: &[Option<String>]| -> f64 { row.last().unwrap().as_deref().unwrap().parse().unwrap() };
            assert!((number(a) - number(b)).abs() <= 30.0, "{sql}: {ours:?} {theirs:?}");
        }
    }
    // Public rows alone are PostgreSQL's, blanks and all.
    let public = "SELECT code, region FROM countries ORDER BY code";
    assert_eq!(rows(&ada, public).await.unwrap(), rows(&exact, public).await.unwrap());
}
