//! docs/policy.md has every key of a policy, as the program declares it; and the program accepts what the document says.
//!
//! `UPDATE=1 cargo test --test golden policy_reference` writes the tables anew; the prose around them stays.

use noisegate::policy::{self, Key, Keys, Policy, is_value, reference};
use noisegate::schema::Schema;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_document_is_printed_from_the_declarations() {
    let file = path("docs/policy.md");
    let mut text = std::fs::read_to_string(&file).unwrap();
    for keys in reference() {
        let (start, end) = (format!("<!-- keys of {} -->\n", keys.section), "<!-- end of keys -->\n");
        assert_eq!(text.matches(&start).count(), 1, "{start} in docs/policy.md");
        let from = text.find(&start).unwrap() + start.len();
        let to = from + text[from..].find(end).unwrap();
        let table = format!("\n{}\n", keys.table());
        if std::env::var_os("UPDATE").is_some() {
            text.replace_range(from..to, &table);
        }
        let to = from + text[from..].find(end).unwrap();
        assert_eq!(&text[from..to], table, "run with UPDATE=1");
    }
    assert_eq!(text.matches("<!-- keys of ").count(), reference().len(), "a table of no section");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
}

/// docs/sql.md has every entry of the tables of expressions, of aggregates and of settings, as the program has them; and docs/guarantees.md what each notion charges.
#[test]
fn the_references_of_sql_are_printed_from_the_tables() {
    let sql = [
        ("expressions", noisegate::plan::expr::reference()),
        ("aggregates", noisegate::plan::aggregates::reference()),
        ("settings", noisegate::gateway::settings::table::reference()),
    ];
    printed("docs/sql.md", &sql);
    let notions = [("mechanisms", noisegate::dp::mechanisms()), ("notions", noisegate::dp::sums())];
    printed("docs/guarantees.md", &notions);
}

/// The document has these tables, each between two comments with its name.
fn printed(document: &str, tables: &[(&str, String)]) {
    let file = path(document);
    let mut text = std::fs::read_to_string(&file).unwrap();
    for (of, table) in tables {
        let (start, end) = (format!("<!-- {of} -->\n"), format!("<!-- end of {of} -->\n"));
        assert_eq!((text.matches(&start).count(), text.matches(&end).count()), (1, 1));
        let from = text.find(&start).unwrap() + start.len();
        let table = format!("\n{table}\n");
        if std::env::var_os("UPDATE").is_some() {
            let to = from + text[from..].find(&end).unwrap();
            text.replace_range(from..to, &table);
        }
        let to = from + text[from..].find(&end).unwrap();
        assert_eq!(text[from..to], table, "run with UPDATE=1");
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
}

/// Texts that nothing was proven of are for tests: no package but as a dev-dependency takes the feature that makes them
/// (soundness rule 46).
#[test]
fn rule_46_the_program_runs_certified_texts_only() {
    let mut manifests = vec![path("Cargo.toml")];
    for entry in std::fs::read_dir(path("src")).unwrap() {
        let file = entry.unwrap().path().join("Cargo.toml");
        manifests.extend(file.exists().then_some(file));
    }
    assert!(manifests.len() > 10);
    for file in manifests {
        let manifest: Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
        // A text that is not proven, and a charge that follows from no proof (rule 47).
        for package in ["kernel", "price"] {
            for section in ["dependencies", "build-dependencies"] {
                let package = manifest.get(section).and_then(|d| d.get(package));
                let featured = package.is_some_and(|k| k.get("features").is_some());
                assert!(!featured, "{}", file.display());
            }
            let of_workspace = manifest.get("workspace").and_then(|w| w.get("dependencies")?.get(package));
            assert!(of_workspace.is_none_or(|k| k.get("features").is_none()), "{}", file.display());
        }
        let default = manifest.get("features").and_then(|f| f.get("default"));
        assert!(default.is_none(), "{}", file.display());
    }
}

/// A section that refuses unknown keys by a declaration that the document does not have would pass unseen.
#[test]
fn every_declaration_is_in_the_document() {
    let (mut declared, mut folders) = (0, vec![path("src/policy")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            if file.is_dir() {
                folders.push(file);
                continue;
            }
            let text = std::fs::read_to_string(file).unwrap();
            declared += text.matches(": Keys = Keys {").count();
        }
    }
    assert_eq!(declared, reference().len());
}

/// Keys that are planned and refused: the document names each.
#[test]
fn what_is_not_built_yet_is_said() {
    let text = std::fs::read_to_string(path("docs/policy.md")).unwrap();
    let (_, later) = text.split_once("## Not yet").unwrap();
    for key in reference().iter().flat_map(|k| k.later) {
        assert!(later.contains(key), "{key} in \"Not yet\" of docs/policy.md");
    }
}

fn schema() -> Schema {
    serde_json::from_str(&std::fs::read_to_string(path("tests/policy/schema.json")).unwrap()).unwrap()
}

/// The table of a section in a policy, made where it is not there.
fn table<'a>(policy: &'a mut Table, keys: &Keys, key: &str) -> &'a mut Table {
    let inner = |policy: &'a mut Table, name: &str| -> &'a mut Table {
        policy.entry(name).or_insert(Value::Table(Table::new())).as_table_mut().unwrap()
    };
    // The last: a quota may be per user, the total may not.
    let last = |policy: &'a mut Table, name: &str| -> &'a mut Table {
        let list = policy.entry(name).or_insert(Value::Array(vec![Value::Table(Table::new())]));
        list.as_array_mut().unwrap().last_mut().unwrap().as_table_mut().unwrap()
    };
    match keys.section {
        "policy" => policy,
        "[[user]]" if key == "certificate" => {
            let tls = "tls = { cert = \"a\", key = \"b\", client_ca = \"c\" }";
            let server = policy.entry("server").or_insert(Value::Table(Table::new()));
            server.as_table_mut().unwrap().extend(tls.parse::<Table>().unwrap());
            last(policy, "user")
        }
        "[[console.user]]" => last(inner(policy, "console"), "user"),
        "[[budget]]" if key == "mechanisms" => {
            let budget = last(policy, "budget");
            budget.insert("accounting".into(), "envelope".into());
            budget
        }
        "[[budget]] mechanisms" => {
            let budget = last(policy, "budget");
            budget.insert("accounting".into(), "envelope".into());
            let one = if key == "variance" { "noise = \"gaussian\"" } else { "scale = 40" };
            budget.insert("mechanisms".into(), Value::Array(vec![Value::Table(one.parse().unwrap())]));
            budget["mechanisms"].as_array_mut().unwrap()[0].as_table_mut().unwrap()
        }
        "[table.NAME]" => {
            let name = match key {
                "public" | "public_view" => "stations",
                "unit_path" => "payments",
                _ => "trips",
            };
            let table = inner(inner(policy, "table"), name);
            if key == "unit_path" {
                table.remove("unit_column");
            }
            table
        }
        "[collect.NAME]" => {
            let survey = collected(policy);
            let of_all = ["table", "schema", "users", "roles", "columns", "encoder", "shuffler"];
            if !of_all.contains(&key) {
                // A shuffler's keys need one.
                let client =
                    "encoder = 'client'\nshuffler = 'process'\nshuffler_key = 'noisegate-shuffler-public-x'
                    analyser_key_file = 'analyser.key'";
                let person = ["person", "person_key_file", "epsilon", "window", "persons"];
                let permanent = ["permanent", "instant_epsilon", "rows_per_person"];
                let told = "person = 'device'\nperson_key_file = 'person.key'\nepsilon = 2.0\nwindow = '1d'";
                let same = "person = 'device'\nperson_key_file = 'person.key'\npermanent = true\ninstant_epsilon = 2.0";
                let more = match key {
                    key if person.contains(&key) => told,
                    key if permanent.contains(&key) => same,
                    _ => client,
                };
                survey.extend(more.parse::<Table>().unwrap());
            }
            survey
        }
        "[collect.NAME] columns.NAME" => {
            let columns = inner(collected(policy), "columns");
            let column = inner(columns, "answer");
            let rest = match key {
                "values" | "missing" | "epsilon" | "randomiser" => {
                    "kind = 'categorical'\nvalues = ['a', 'b']"
                }
                "other" => "kind = 'categorical'\nvalues = ['a', 'other']",
                "range" => "kind = 'count'",
                "max_values" => "kind = 'set'\nvalues = ['a', 'b']",
                "grid" => "kind = 'number'\nrange = [0, 100]",
                _ => "kind = 'boolean'",
            };
            // As it stands in `collected`, until it was made to fit the key.
            if column["kind"].as_str() == Some("boolean") {
                *column = rest.parse().unwrap();
                column.insert("epsilon".into(), Value::Float(1.0));
            }
            column
        }
        "[table.NAME] columns.NAME.paths.\"PATH\"" => {
            let column = jsonb_column(policy);
            let paths = column.entry("paths").or_insert(Value::Table(Table::new()));
            paths.as_table_mut().unwrap().insert("device".into(), Value::Table(Table::new()));
            paths["device"].as_table_mut().unwrap()
        }
        "[table.NAME] columns.NAME" if key == "paths" => jsonb_column(policy),
        "[table.NAME] columns.NAME" if key == "nan" => {
            let types = "schema = 'odd'\nunit_column = 'id'\ncolumns.f8 = { range = [0, 1], grid = 1 }";
            let tables = policy["table"].as_table_mut().unwrap();
            tables.insert("types".into(), Value::Table(types.parse().unwrap()));
            tables["types"]["columns"]["f8"].as_table_mut().unwrap()
        }
        "[table.NAME] columns.NAME" => {
            let (table, column) = match key {
                "values" => ("riders", "plan"),
                "references" => ("trips", "station"),
                _ => ("trips", "fare"),
            };
            let all = inner(inner(inner(policy, "table"), table), "columns");
            all.insert(column.into(), Value::Table(Table::new()));
            inner(all, column)
        }
        section => match (section.strip_prefix("[["), section.split_once("] ")) {
            (Some(name), _) => last(policy, name.trim_end_matches("]]")),
            (None, Some((outer, name))) => inner(inner(policy, outer.trim_start_matches('[')), name),
            (None, None) => inner(policy, section.trim_matches(['[', ']'])),
        },
    }
}

/// The one collected relation of the schema, with a login that writes.
fn collected(policy: &mut Table) -> &mut Table {
    let url = Value::String("postgres://noisegate_collect@127.0.0.1/bikes".into());
    policy["backend"].as_table_mut().unwrap().insert("collect_url".into(), url);
    let survey = "users = ['form']\ncolumns.answer = { kind = 'boolean', epsilon = 1.0 }".parse().unwrap();
    let all = policy.entry("collect").or_insert(Value::Table(Table::new())).as_table_mut().unwrap();
    all.entry("survey").or_insert(Value::Table(survey)).as_table_mut().unwrap()
}

/// The one jsonb column of the schema, in a table of its own.
fn jsonb_column(policy: &mut Table) -> &mut Table {
    let step: Table = "schema = 'odd'\nunit_column = 'sender'\ncolumns.blob = {}".parse().unwrap();
    policy["table"].as_table_mut().unwrap().insert("step".into(), Value::Table(step));
    policy["table"]["step"]["columns"]["blob"].as_table_mut().unwrap()
}

fn value(key: &Key, text: &str) -> Value {
    let table: Table = format!("x = {text}").parse().unwrap_or_else(|e| panic!("{}: {text}: {e}", key.name));
    table["x"].clone()
}

fn check(policy: &Table, base: &Path) -> Policy {
    let text = policy.to_string();
    let raw = policy::parse(&text, "p", base).unwrap_or_else(|e| panic!("{e}\n{text}"));
    raw.check(&schema()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Each key alone, with the value that the document shows, beside those that its section needs.
#[test]
fn every_documented_key_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.txt"), "").unwrap();
    let base: Table = std::fs::read_to_string(path("config/bikes.toml")).unwrap().parse().unwrap();
    let mut tried = 0;
    for keys in reference().into_iter().filter(|k| k.section != "policy") {
        for key in keys.list {
            let mut policy = base.clone();
            let section = table(&mut policy, keys, key.name);
            for other in keys.list.iter().filter(|k| k.default == "required" || k.name == "scram") {
                section.entry(other.name).or_insert(value(other, other.example));
            }
            section.insert(key.name.into(), value(key, key.example));
            check(&policy, folder.path());
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

/// A default that is a value means what leaving the key out means.
#[test]
fn every_documented_default_is_the_default() {
    let base: Table = std::fs::read_to_string(path("config/bikes.toml")).unwrap().parse().unwrap();
    let mut tried = 0;
    for keys in reference().into_iter().filter(|k| k.section != "policy") {
        for key in keys.list.iter().filter(|k| is_value(k.default)) {
            let place = match key.name {
                // A table that is not public needs what says whose its rows are.
                "public" => "unit_column",
                // A person who is told apart, and whose responses are not permanent, needs a limit.
                "permanent" => "epsilon",
                name => name,
            };
            let mut policy = base.clone();
            let section = table(&mut policy, keys, place);
            for other in keys.list.iter().filter(|k| k.default == "required" || k.name == "scram") {
                section.entry(other.name).or_insert(value(other, other.example));
            }
            let mut shown = [None, Some(key.default)].into_iter().map(|text| {
                let section = table(&mut policy, keys, place);
                section.remove(key.name);
                if let Some(text) = text {
                    section.insert(key.name.into(), value(key, text));
                }
                format!("{:?}", check(&policy, Path::new("")))
            });
            assert_eq!(shown.next(), shown.next(), "{} {} = {}", keys.section, key.name, key.default);
            tried += 1;
        }
    }
    assert!(tried > 25, "{tried}");
}
