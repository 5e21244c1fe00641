//! Policies against the schema snapshot in tests/policy: one policy per mistake, with every message it gets, and
//! the annotated ones in config/, which must be right.

use crate::policies;
use bigdecimal::BigDecimal;
use noisegate::policy::{self, Accounting, Domain, LedgerLocation, Policy, Privacy, Range, Scope};
use noisegate::schema::{Schema, Snapshot, SqlType};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn schema() -> Schema {
    serde_json::from_str(&std::fs::read_to_string(path("tests/policy/schema.json")).unwrap()).unwrap()
}

/// `UPDATE=1 cargo test --test golden policy::each` writes what is expected; read the difference before committing it.
#[test]
fn each_mistake_is_reported_with_its_line() {
    let schema = schema();
    let mut wrong = Vec::new();
    let policies = policies::wrong();
    for (file, text) in &policies {
        let name = file.file_name().unwrap().to_str().unwrap();
        let errors = policy::parse(text, name, Path::new("")).and_then(|raw| raw.check(&schema));
        let errors = errors.map(|_| "no error").unwrap_err().to_string() + "\n";
        let golden = file.with_extension("err");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &errors).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if errors != expected {
            wrong.push(format!("{name}\n{text}--- expected\n{expected}--- got\n{errors}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(policies.len() > 40, "{}", policies.len());
}

fn config(name: &str) -> Policy {
    let raw = policy::load(&path("config").join(name)).unwrap_or_else(|e| panic!("{e}"));
    // The snapshot that is committed beside it.
    let snapshot = path("config").join(name).with_extension("schema.json");
    let snapshot = Snapshot::from_json(&std::fs::read_to_string(snapshot).unwrap()).unwrap();
    let (policy, warnings) = raw.check_with_warnings(&snapshot.schema).unwrap_or_else(|e| panic!("{e}"));
    // Who may log in is nobody's but an owner's to say.
    let said: Vec<&str> = warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(said, ["nobody may log in: the policy names no user"]);
    policy
}

#[test]
fn annotated_policies_are_right() {
    for (file, private, public) in [("bikes.toml", 3, 1), ("minimal.toml", 1, 0), ("tpch.toml", 3, 5)] {
        let policy = config(file);
        let is_public = |t: &&policy::Table| t.privacy == Privacy::Public;
        assert_eq!(policy.tables.iter().filter(is_public).count(), public, "{file}");
        assert_eq!(policy.tables.len(), private + public, "{file}");
    }
}

/// The verifier of the documentation's example.
const SCRAM: &str = "SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A policy over schema.json, in which the caller writes the tables.
fn with_tables(unit: &str, tables: &str) -> Result<(Policy, Vec<String>), String> {
    let text = format!(
        "[backend]\nurl = \"postgres://a@h/d\"\nfinish_url = \"postgres://b@h/d\"\n\
         [ledger]\nurl = \"sqlite:l.db\"\n[privacy]\nunit = {unit:?}\n\
         [[budget]]\nname = \"everyone\"\nepsilon = 8.0\ndelta = 1e-6\n\
         [[user]]\nname = \"ada\"\nscram = \"{SCRAM}\"\n{tables}"
    );
    let raw = policy::parse(&text, "p.toml", Path::new("/etc/noisegate")).map_err(|e| e.to_string())?;
    let (policy, warnings) = raw.check_with_warnings(&schema()).map_err(|e| e.to_string())?;
    Ok((policy, warnings.iter().map(ToString::to_string).collect()))
}

fn decimal(text: &str) -> BigDecimal {
    text.parse().unwrap()
}

fn number(low: &str, high: &str) -> Option<Range> {
    Some(Range::Number { low: decimal(low), high: decimal(high) })
}

#[test]
fn the_demo_policy_says_what_its_text_says() {
    let policy = config("bikes.toml");
    assert_eq!(policy.unit, Some(policy::Unit { table: 0, column: "rider_id".to_owned() }));
    let names: Vec<&str> = policy.tables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["riders", "trips", "payments", "stations"]);
    let columns = |t: usize| policy.tables[t].columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>();
    // The database's order; email is hidden, trip_id not named.
    assert_eq!(columns(0), ["rider_id", "birth_year", "plan", "city"]);
    assert_eq!(columns(1), ["rider_id", "started_at", "station", "minutes", "fare"]);
    assert_eq!(columns(3), ["station", "city", "capacity"]);
    let trips = &policy.tables[1];
    assert_eq!(
        trips.privacy,
        Privacy::Private { unit: "rider_id".into(), nullable: false, ty: SqlType::Int4 }
    );
    assert_eq!((trips.max_rows, trips.proven_rows, policy.tables[0].proven_rows), (Some(60), None, Some(1)));
    assert_eq!(trips.keys, [["trip_id"]], "keys may name invisible columns");
    let fare = trips.column("fare").unwrap();
    assert_eq!((&fare.range, fare.grid.clone()), (&number("0", "60"), Some(decimal("0.01"))));
    let references = Domain::References { table: 3, column: "station".into() };
    assert_eq!(trips.column("station").unwrap().domain, Some(references));
    // 2023-01-01 00:00 to 2025-12-31 23:59:59.999999: the last day belongs to the range.
    let time = Range::Time { low: 725_846_400_000_000, high: 820_540_799_999_999 };
    assert_eq!(trips.column("started_at").unwrap().range, Some(time));
    let everyone = &policy.budgets[0];
    assert_eq!(
        (everyone.scope, everyone.accounting),
        (Scope::Dataset, Accounting::Notion(noisegate::dp::Notion::Zcdp))
    );
    assert_eq!((&everyone.delta, &everyone.selection_delta), (&decimal("0.000001"), &decimal("0.0000005")));
    assert!(
        matches!(&policy.ledger, LedgerLocation::Sqlite(p) if p.reveal().ends_with("config/noisegate.db"))
    );
    assert_eq!(config("minimal.toml").budgets[0].delta, decimal("0"));
}

#[test]
fn numbers_are_exactly_as_written() {
    let (policy, _) = with_tables(
        "riders.rider_id",
        "[statement]\nepsilon = 0.1_000_000_000_000_000_000_000_1\ndelta = 1E-12\n\
         [table.riders]\nunit_column = \"rider_id\"\ncolumns.birth_year = { range = [0x10, 1_000] }\n",
    )
    .unwrap();
    assert_eq!(policy.statement.epsilon, decimal("0.10000000000000000000001"));
    assert_eq!(policy.statement.delta, decimal("0.000000000001"));
    assert_eq!(policy.tables[0].column("birth_year").unwrap().range, number("16", "1000"));
}

#[test]
fn the_schema_bounds_columns_and_rows() {
    let (policy, warnings) = with_tables(
        "types.id",
        "[table.types]\nschema = \"odd\"\nunit_column = \"id\"\ncolumns = { b = {}, m = {}, price = {}, n = {} }\n\
         [table.checks]\nschema = \"odd\"\nunit_column = \"unit\"\n\
         columns.day = { range = [0, 5] }\ncolumns.kind = {}\ncolumns.level = {}\ncolumns.score = {}\n\
         columns.hours = { grid = 0.25 }\ncolumns.born = {}\ncolumns.half = {}\ncolumns.seen = {}\n\
         columns.mood = {}\n",
    )
    .unwrap();
    let values = |list: &[&str]| Some(Domain::Values(list.iter().map(|v| (*v).to_owned()).collect()));
    let types = &policy.tables[0];
    assert_eq!(types.column("b").unwrap().domain, values(&["false", "true"]));
    assert_eq!(types.column("m").unwrap().domain, values(&["sad", "ok", "fine", "happy"]));
    assert_eq!(types.column("price").unwrap().grid, Some(decimal("0.001")));
    assert_eq!((&types.column("n").unwrap().grid, &types.column("n").unwrap().range), (&None, &None));
    let checks = &policy.tables[1];
    let column = |name: &str| checks.column(name).unwrap();
    // The CHECK says 1 to 7: the intersection.
    assert_eq!(column("day").range, number("1", "5"));
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("a sum or an average of n, price in \"types\""), "{warnings:?}");
    assert!(warnings[1].contains("a sum or an average of half in \"checks\""), "{warnings:?}");
    assert!(warnings[2].contains("its low end, 1, is used"), "{warnings:?}");
    assert_eq!(column("kind").domain, values(&["a", "b", "c"]));
    assert_eq!(
        (column("level").domain.clone(), column("level").range.clone()),
        (values(&["5", "1", "3"]), number("1", "5"))
    );
    assert_eq!(column("score").range, number("0", "99.5"));
    assert_eq!(column("hours").range, number("-1.5", "24"));
    assert_eq!(column("mood").domain, values(&["sad", "ok"]));
    // 1900-01-01 and 2030-01-01; the upper end is strict there, the closed interval holds it.
    let born = Range::Time { low: -3_155_673_600_000_000, high: 946_771_200_000_000 };
    assert_eq!(column("born").range, Some(born));
    // One end is no range.
    assert_eq!((&column("half").range, &column("seen").range), (&None, &None));
    // PRIMARY KEY (unit, day, kind): seven days, three kinds.
    assert_eq!(checks.proven_rows, Some(21));
}

#[test]
fn rule_07_inheritance_is_read_with_only_and_proves_no_key() {
    let unit = "[table.types]\nschema = \"odd\"\nunit_column = \"id\"\n";
    let (policy, _) =
        with_tables("types.id", &format!("{unit}[table.parent]\nschema = \"odd\"\nunit_column = \"id\"\n"))
            .unwrap();
    assert!(policy.tables[1].only);
    assert_eq!((policy.tables[1].keys.len(), policy.tables[1].proven_rows), (0, None));
    assert!(!policy.tables[0].only);
}

#[test]
fn rule_07_a_unit_path_follows_usable_keys() {
    let tables = "[table.riders]\nunit_column = \"rider_id\"\n[table.trips]\nunit_column = \"rider_id\"\n\
        [table.step]\nschema = \"odd\"\nunit_path = \"trip -> trips.trip_id\"\n\
        [table.keys]\nschema = \"odd\"\nunit_column = \"unit\"\n\
        [table.checks]\nschema = \"odd\"\nunit_path = \"( unit,day ) -> keys.(unit, slot)\"\ncolumns.mood = {}\n\
        [table.payments]\nunit_path = \"payment_id -> step.trip\"\n";
    let (policy, warnings) = with_tables("riders.rider_id", tables).unwrap();
    let table = |name: &str| policy.tables.iter().find(|t| t.name == name).unwrap();
    let path = |name: &str| match &table(name).privacy {
        Privacy::Path(path) => path.clone(),
        other => panic!("{other:?}"),
    };
    let step = path("step");
    assert_eq!((step.columns, step.table, step.key), (vec!["trip".into()], 1, vec!["trip_id".into()]));
    assert_eq!((step.types, step.nullable), (vec![SqlType::Int8], false));
    assert_eq!(path("checks").text(&policy), "(unit, day) -> keys.(unit, slot)");
    assert!(!path("payments").nullable && path("payments").table == 2, "a path of its own");
    // The columns that lead to the unit are shown, as unit columns are.
    let columns = |name: &str| table(name).columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>();
    assert_eq!(columns("step"), ["trip"]);
    assert_eq!(columns("checks"), ["unit", "day", "mood"]);
    // One step for each trip, but any number of trips. Three kinds for each (unit, day), but any number of slots.
    assert_eq!((table("step").proven_rows, table("checks").proven_rows), (None, None));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("second way to a unit, by sender"), "{warnings:?}");

    // Rows of a unit multiply along the path: seven days of three kinds for each of its rows in checks.
    let tables = "[table.checks]\nschema = \"odd\"\nunit_column = \"unit\"\n\
        [table.riders]\nunit_column = \"rider_id\"\n\
        [table.step]\nschema = \"odd\"\nunit_path = \"trip -> trips.trip_id\"\n[table.trips]\nunit_path = \"trip_id -> step.trip\"\n";
    let error = with_tables("riders.rider_id", tables).unwrap_err();
    assert!(error.contains("comes back to where it was"), "{error}");
    let own = |path: &str| {
        with_tables(
            "riders.rider_id",
            &format!("[table.riders]\nunit_column = \"rider_id\"\n[table.step]\nschema = \"odd\"\nunit_path = \"{path}\"\n"),
        )
        .map(|(policy, _)| policy.tables[1].proven_rows)
    };
    assert_eq!(own("id -> riders.rider_id"), Ok(Some(1)));
    assert_eq!(own("slot -> riders.rider_id"), Ok(None));
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let riders = "[table.riders]\nunit_column = \"rider_id\"\n";
    let two = "[table.two_ways]\nschema = \"odd\"\nunit_column = \"sender\"\n";
    let (_, warnings) = with_tables("riders.rider_id", &format!("{riders}{two}")).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("second way to a unit, by receiver"), "{warnings:?}");
    let (_, warnings) =
        with_tables("riders.rider_id", &format!("{riders}[table.trips]\npublic = true\n")).unwrap();
    assert!(warnings[0].contains("public and refers to units by rider_id"), "{warnings:?}");
    let far = "[table.far]\nschema = \"odd\"\npublic = true\n";
    let (_, warnings) = with_tables("riders.rider_id", &format!("{riders}{far}")).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("\"far\" is a foreign table"), "{warnings:?}");
    let (_, warnings) =
        with_tables("riders.rider_id", &format!("{riders}[server]\nlisten = [\"0.0.0.0:1\"]")).unwrap();
    assert!(warnings[0].contains("without TLS"), "{warnings:?}");
    let rule = "[[access]]\nusers = [\"adda\"]\nroles = [\"reserch\"]\ntls = true\naction = \"allow\"\n";
    let (policy, warnings) = with_tables("riders.rider_id", &format!("{riders}{rule}")).unwrap();
    assert_eq!((policy.access.len(), warnings.len()), (1, 3), "{warnings:?}");
    for (warning, part) in warnings.iter().zip([
        "p.toml:17:1: a rule for connections with TLS",
        "p.toml:18:10: no [[user]] is called \"adda\"",
        "p.toml:19:10: no [[user]] has the role \"reserch\"",
    ]) {
        assert!(warning.contains(part), "{warning}");
    }
}

#[test]
fn a_unit_column_comes_from_the_unit_or_is_named_as_it() {
    let riders = "[table.riders]\nunit_column = \"rider_id\"\n";
    // A key that may number rows, and the words that say that it numbers units.
    let own = |whose: &str| {
        with_tables("riders.rider_id", &format!("{riders}[table.parent]\nschema = \"odd\"\n{whose}\n"))
    };
    let (_, warnings) = own("unit_column = \"id\"").unwrap();
    // It has children by inheritance, whose rows nobody reads.
    let unread = "\"parent\" has children by inheritance, as hypertables of TimescaleDB have, and their rows are not read";
    let [children, said] = &*warnings else { panic!("{warnings:?}") };
    assert!(children.contains(unread), "{children}");
    assert!(said.contains("no foreign key says that it is riders.rider_id"), "{said}");
    assert!(said.contains("unit_path = \"id -> riders.rider_id\" says so"), "{said}");
    let (policy, warnings) = own("unit_path = \"id -> riders.rider_id\"").unwrap();
    assert!(warnings.len() == 1 && matches!(policy.tables[1].privacy, Privacy::Path(_)), "{warnings:?}");

    // Both of a pair come from one table, which the policy need not name.
    let mut schema = schema();
    let mut column = |table: &str, column: &str, to: (&str, &str)| {
        let relation = schema.relations.iter_mut().find(|r| r.name == table).unwrap();
        relation.foreign_keys.push(noisegate::schema::ForeignKey {
            columns: vec![column.into()],
            references: ("public".into(), to.0.into()),
            referenced_columns: vec![to.1.into()],
            valid: true,
        });
    };
    column("riders", "rider_id", ("supplier", "s_suppkey"));
    column("parent", "id", ("supplier", "s_suppkey"));
    let text = std::fs::read_to_string(path("config/minimal.toml")).unwrap();
    let text = format!("{text}\n[table.parent]\nschema = \"odd\"\nunit_column = \"id\"\n");
    policy::parse(&text, "p", Path::new("")).unwrap().check(&schema).unwrap();

    // A column named after the unit is likelier to say whose a row is than the table's own key, and needs no foreign key.
    let mut schema = self::schema();
    schema.relations.iter_mut().for_each(|r| r.foreign_keys.clear());
    let ty = schema.relation("public", "riders").and_then(|r| r.column("rider_id")).unwrap().ty.clone();
    let trips = schema.relations.iter_mut().find(|r| r.name == "trips").unwrap();
    trips.columns.iter_mut().find(|c| c.name == "trip_id").unwrap().ty = ty;
    let of = |trips: &str| {
        let text = std::fs::read_to_string(path("config/minimal.toml")).unwrap();
        let text = format!("{text}\n[table.trips]\nunit_column = {trips:?}\n");
        policy::parse(&text, "p", Path::new("")).unwrap().check(&schema)
    };
    let error = of("trip_id").unwrap_err().to_string();
    assert!(error.contains("each row would be a unit of its own"), "{error}");
    assert!(error.contains("write unit_column = \"rider_id\", which is named after the unit"), "{error}");
    of("rider_id").unwrap();

    // No foreign key says anything, but a name does.
    let payments = "[table.payments]\nunit_column = \"payment_id\"\n";
    let trips = "[table.trips]\nunit_column = \"trip_id\"\n";
    let by = |column: &str| {
        with_tables("trips.trip_id", &format!("{trips}{}", payments.replace("payment_id", column)))
    };
    assert!(by("trip_id").unwrap().1.is_empty());
    let (_, minutes) =
        with_tables("riders.rider_id", &format!("{riders}[table.trips]\nunit_column = \"minutes\"\n"))
            .unwrap();
    assert_eq!(minutes.len(), 1, "{minutes:?}");
    assert!(minutes[0].contains("write unit_column = \"rider_id\", which refers to the unit"), "{minutes:?}");
    assert!(by("payment_id").unwrap_err().contains("is the primary key of \"payments\""));
}

#[test]
fn what_protects_or_tells_little_is_a_warning() {
    let riders = "[table.riders]\nunit_column = \"rider_id\"\n";
    let warnings = |more: &str| with_tables("riders.rider_id", &format!("{riders}{more}")).unwrap().1;
    for (more, said) in [
        (
            "[[budget]]\nname = \"lavish\"\nper = \"user\"\nwindow = \"month\"\naccounting = \"pure\"\nepsilon = 80\n",
            "epsilon = 80 promises next to nothing: who suspects with 10 % that somebody is in the data may end between",
        ),
        (
            "[table.trips]\nunit_column = \"rider_id\"\nmax_rows = 1\n",
            "max_rows = 1 for \"trips\", where no key proves",
        ),
        (
            "[table.trips]\nunit_column = \"rider_id\"\nmax_rows = 9\nmax_total_rows = 1\n",
            "max_total_rows = 1 for \"trips\", where no key proves",
        ),
        (
            "[table.trips]\nunit_column = \"rider_id\"\ncolumns.minutes = { range = [7, 7] }\n",
            "the range of \"minutes\" holds one value",
        ),
        (
            "[table.trips]\nunit_column = \"rider_id\"\ncolumns.fare = { range = [0.995, 1.001], grid = 0.001 }\n",
            "the range of \"fare\" holds one value",
        ),
        (
            "[table.trips]\nunit_column = \"rider_id\"\ncolumns.station = { values = [\"Old Town\", \"old  town\"] }\n",
            "\"old  town\" and \"Old Town\" differ by case or blanks alone",
        ),
        (
            "[table.trips]\nunit_column = \"rider_id\"\ncolumns.station = { values = [\"Old Town\", \"Port \"] }\n",
            "\"Port \" begins or ends with a blank",
        ),
    ] {
        let found = warnings(more);
        assert!(found.len() == 1 && found[0].contains(said), "{said}: {found:?}");
    }
    // Meant, by what else is written; a day is no single value of a timestamp.
    for fine in [
        "max_rows = 1\nmax_total_rows = 5",
        "max_total_rows = 1\ncut_rows = 0.3",
        "columns.started_at = { range = [2024-02-29, 2024-02-29] }",
        "columns.station = { values = [\"Old Town\", \"Oldtown\"] }",
    ] {
        let found = warnings(&format!("[table.trips]\nunit_column = \"rider_id\"\n{fine}\n"));
        assert!(found.is_empty(), "{fine}: {found:?}");
    }
    let one = with_tables("riders.rider_id", "[table.riders]\nunit_column = \"rider_id\"\nmax_rows = 1\n")
        .unwrap()
        .1;
    assert!(one.is_empty(), "a key proves it: {one:?}");
}

#[test]
fn a_comment_about_marks_is_no_mark() {
    let with = |comment: &str| {
        let tables = format!("[table.riders]\nunit_column = \"rider_id\"  {comment}\n");
        with_tables("riders.rider_id", &tables).unwrap().1
    };
    assert!(with("# Lines marked TODO need a decision").is_empty());
    for mark in ["# TODO a range", "#TODO", "# later, TODO: a range"] {
        let found = with(mark);
        assert!(found.len() == 1 && found[0].contains("a line is marked TODO"), "{mark}: {found:?}");
    }
}

#[test]
fn rule_24_without_a_total_only_by_name() {
    let text = "[backend]\nurl = \"postgres://a@h/d\"\nfinish_url = \"postgres://b@h/d\"\n\
        [ledger]\nurl = \"sqlite:l.db\"\n[privacy]\nunit = \"riders.rider_id\"\nallow_no_total = true\n\
        [[budget]]\nname = \"each\"\nper = \"user\"\nepsilon = 1\ndelta = 1e-6\n\
        [table.riders]\nunit_column = \"rider_id\"\n";
    let check = |text: &str| policy::parse(text, "p", Path::new("")).unwrap().check(&schema());
    assert!(check(text).is_ok());
    let error = check(&text.replace("= true", "= false")).unwrap_err().to_string();
    assert!(error.contains("no budget over the whole dataset"), "{error}");
}

#[test]
fn version_follows_meaning_not_addresses() {
    let text = std::fs::read_to_string(path("config/bikes.toml")).unwrap();
    let version =
        |text: &str| policy::parse(text, "p", Path::new("")).unwrap().check(&schema()).unwrap().version;
    let base = version(&text);
    for (from, to) in [
        ("6432", "7432"),
        ("sqlite:noisegate.db", "sqlite:other.db"),
        ("[limits]", "[limits]\nmax_depth = 7"),
        ("epsilon = 8.0", "epsilon = 8"),
        ("max_groups = 4 ", "max_groups = 0x4 "),
    ] {
        assert!(text.contains(from));
        assert_eq!(version(&text.replace(from, to)), base, "{from} -> {to}");
    }
    let mut seen = vec![base];
    for (from, to) in [
        ("epsilon = 8.0", "epsilon = 8.1"),
        ("max_groups = 4", "max_groups = 5"),
        ("max_rows = 60", "max_rows = 13"),
        ("[1920, 2010]", "[1921, 2010]"),
        ("\"wallet\", \"cash\"", "\"cash\", \"wallet\""),
        ("\"wallet\", \"cash\"", "\"wallet\", \"coins\""),
        ("2025-12-31", "2025-12-30"),
        ("columns.city = {}", ""),
        ("grid = 0.01", "grid = 0.05"),
        ("hidden = true", "hidden = false"),
        ("references = \"stations.station\"", ""),
    ] {
        assert!(text.contains(from), "{from}");
        let other = version(&text.replacen(from, to, 1));
        assert!(!seen.contains(&other), "{from} -> {to}");
        seen.push(other);
    }
}

#[test]
fn files_that_cannot_be_read() {
    let message = |p: &Path| policy::load(p).map(|_| ()).unwrap_err().to_string();
    assert!(message(Path::new("/nowhere/p.toml")).starts_with("/nowhere/p.toml: cannot be read: "));
    assert!(message(Path::new("/")).contains("not a file"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    std::fs::write(&file, [0xff, 0xfe, b'a']).unwrap();
    assert!(message(&file).contains("not UTF-8"));
}

/// Everything that a mutation below may put into a policy.
const PIECES: &[&str] = &[
    "",
    "=",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\n",
    ".",
    ",",
    "#",
    "-",
    "0",
    "1e999999999",
    "-1",
    "inf",
    "nan",
    "0x7f",
    "9999-12-31",
    "0001-01-01T00:00:00+23:59",
    "23:59:60",
    "true",
    "[[budget]]",
    "[table]",
    "table = 1",
    "\\u0000",
    "é",
    "[[table.trips]]",
    "columns = 1",
    "99999999999999999999999999999999999999999999999999999999999999999999",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        let _ = policy::parse(&text, "p", Path::new("")).map(|raw| raw.check(&Schema::default()));
    }

    /// Right policies with pieces cut out and others put in: most stay TOML and reach the schema.
    #[test]
    fn mutated_policies_never_panic(
        which in 0..3usize,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, 0..PIECES.len()), 1..6),
    ) {
        let (texts, schema) = &*MUTATED;
        let mut text: Vec<char> = texts[which].chars().collect();
        for (at, length, piece) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, PIECES[piece].chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(errors) = policy::parse(&text, "p", Path::new("")).and_then(|raw| raw.check(schema)) {
            prop_assert!(!errors.0.is_empty());
            let lines = text.lines().count() + 1;
            prop_assert!(errors.0.iter().all(|e| e.position.is_none_or(|(line, _)| line <= lines)), "{}", errors);
        }
    }

    /// A value of another kind in the place of each value.
    #[test]
    fn replaced_values_never_panic(which in 0..3usize, line in any::<prop::sample::Index>(), piece in 0..PIECES.len()) {
        let (texts, schema) = &*MUTATED;
        let mut lines: Vec<String> = texts[which].lines().map(str::to_owned).collect();
        let at = line.index(lines.len());
        if let Some((key, _)) = lines[at].split_once('=') {
            lines[at] = format!("{key}= {}", PIECES[piece]);
        }
        let _ = policy::parse(&lines.join("\n"), "p", Path::new("")).map(|raw| raw.check(schema));
    }
}

/// The annotated policies without their comments, and the snapshot.
static MUTATED: std::sync::LazyLock<(Vec<String>, Schema)> = std::sync::LazyLock::new(|| {
    let text = |name| {
        let text = std::fs::read_to_string(path("config").join(name)).unwrap();
        text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect()
    };
    (["bikes.toml", "minimal.toml", "tpch.toml"].map(text).to_vec(), schema())
});

/// A profile, with `units` in the bin of one row.
fn measured(table: &str, id: u64, units: i64) -> policy::Measured {
    use noisegate::dp::{Distribution, Ratio, profile};
    let mut bins = vec![0; profile::BINS];
    bins[0] = units;
    let noise = Distribution::Gaussian { variance: Ratio::from_integer(100) };
    policy::Measured {
        schema: "public".into(),
        table: table.into(),
        owner: "rider_id".into(),
        id,
        measured: 0,
        valid_until: 1,
        items: vec![(
            policy::Measure::ROWS,
            profile::Histogram::new(bins, noise, Ratio::new(1, 10)).unwrap(),
        )],
    }
}

/// Plans, kept answers and entries of the ledger go by the version: rows of others, another bound, another meaning.
#[test]
fn a_profile_is_another_version_of_the_policy() {
    let bikes = config("bikes.toml");
    let with = |profiles: &[policy::Measured]| {
        let mut policy = bikes.clone();
        policy.with_profiles(profiles);
        policy
    };
    assert_eq!(with(&[]).version, bikes.version);
    let one = with(&[measured("trips", 7, 900)]);
    let trips = |p: &Policy| p.tables.iter().find(|t| t.name == "trips").unwrap().clone();
    let item = trips(&one).item_of_rows().unwrap().clone();
    assert_eq!((trips(&one).profile.unwrap().id, item.tail.h()), (7, 2));
    let versions = [
        bikes.version,
        one.version,
        with(&[measured("trips", 8, 900)]).version,
        with(&[measured("trips", 7, 901)]).version,
        with(&[measured("riders", 7, 900)]).version,
    ];
    for (i, version) in versions.iter().enumerate() {
        assert!(!versions[..i].contains(version), "{i}");
    }
    // The later one counts.
    assert_eq!(
        with(&[measured("trips", 7, 900), measured("trips", 8, 900)]).version,
        with(&[measured("trips", 8, 900)]).version
    );
    // What is of other units, or of no table here, is nobody's.
    let others = policy::Measured {
        owner: "(trip_id) = trips.(trip_id) -> rider_id".into(),
        ..measured("trips", 9, 1)
    };
    let public = policy::Measured { owner: "station".into(), ..measured("stations", 9, 1) };
    assert_eq!(with(&[others, public, measured("nothing", 9, 1)]).version, bikes.version);
    let said: Vec<_> = bikes.tables.iter().map(|t| bikes.owner(t)).collect();
    assert!(said.contains(&Some("rider_id".into())) && said.contains(&None), "{said:?}");
}
