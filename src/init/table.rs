//! The section of one table.

use super::column;
use super::scope::Scope;
use super::text::{comment, commented, header, list, paragraph, quote};
use super::way::{Placed, Way, Why};
use schema::{Relation, RelationKind};

/// What is not known of a table whose units may have several rows.
const UNMEASURED: &str = "bounds = \"unmeasured\"      # TODO noisegate profile measures how many rows units have: until then upper ends of intervals are unknown\n";

/// The section, or what stands in its place.
pub(super) fn section(r: &Relation, i: usize, scope: &Scope<'_>, placed: &[Placed]) -> String {
    match placed.get(i) {
        Some(Placed::Public) => public(r, scope, placed),
        Some(Placed::Private { ways }) => private(r, i, ways, scope, placed),
        Some(Placed::Not(why)) => left_out(r, why, scope),
        None => String::new(),
    }
}

fn public(r: &Relation, scope: &Scope<'_>, placed: &[Placed]) -> String {
    let mut out = String::new();
    let private = |k: &&schema::ForeignKey| {
        let to = position(scope, &k.references);
        to.is_some_and(|to| matches!(placed.get(to), Some(Placed::Private { .. })))
    };
    if let Some(k) = r.foreign_keys.iter().find(private) {
        out.push_str(&paragraph(&format!(
            "TODO It was named public, and {} refers to private rows. If its rows say something about a unit, make it \
             private.",
            comment(&k.columns.join(", "))
        )));
    }
    out + &header(r)
        + "public = true      # named so; answers over it are exact and free, all columns are visible\n"
}

fn position(scope: &Scope<'_>, (schema, name): &(String, String)) -> Option<usize> {
    scope.relations.iter().position(|r| r.schema == *schema && r.name == *name)
}

fn private(r: &Relation, i: usize, ways: &[Way], scope: &Scope<'_>, placed: &[Placed]) -> String {
    let mut out = String::new();
    let (chosen, others) = match ways {
        [chosen, others @ ..] => (Some(chosen), others),
        [] => (None, ways),
    };
    let shown = |w: &Way| {
        let to = scope.relations.get(w.to.0).map_or("", |r| r.name.as_str());
        comment(&path(w, to))
    };
    if let (Some(chosen), false) = (chosen, others.is_empty()) {
        let others: Vec<String> = others.iter().map(shown).collect();
        out.push_str(&paragraph(&format!(
            "TODO Several foreign keys lead to a unit; {} is the shortest way. Others: {}. If they may lead to \
             different units, only the unit of the way that is chosen is protected by this table's rows.",
            shown(chosen),
            list(&others)
        )));
    }
    let itself = r.foreign_keys.iter().filter(|k| k.references == (r.schema.clone(), r.name.clone()));
    let itself: Vec<String> = itself.map(|k| comment(&k.columns.join(", "))).collect();
    if !itself.is_empty() {
        let to = if i == scope.unit.0 { "another unit" } else { "another row of this table" };
        let refer = if itself.len() == 1 { "refers" } else { "refer" };
        out.push_str(&paragraph(&format!(
            "{} {refer} to {to}: a row is protected for the unit it belongs to, not for the one it refers to.",
            list(&itself)
        )));
    }
    if r.kind == RelationKind::InheritanceParent {
        out.push_str(&paragraph(
            "It has inheritance children. Only its own rows are read; its keys prove nothing about theirs.",
        ));
    }
    if let Some(w) = chosen.filter(|w| w.nullable) {
        out.push_str(&paragraph(&format!(
            "{} can be NULL: such rows belong to no unit, and are left out.",
            comment(&w.columns.join(", "))
        )));
    }
    out.push_str(&header(r));
    let unit = match chosen {
        None => {
            out.push_str(&format!("unit_column = {}      # one row for each unit\n", quote(&scope.unit.1)));
            Some(scope.unit.1.as_str())
        }
        Some(w) if w.direct => {
            let column = w.columns.first().map_or("", String::as_str);
            out.push_str(&format!("unit_column = {}\n", quote(column)));
            Some(column)
        }
        Some(w) => {
            let parent = scope.relations.get(w.to.0).map_or("", |r| r.name.as_str());
            out.push_str(&format!("unit_path = {}\n", quote(&path(w, parent))));
            None
        }
    };
    if chosen.is_some() {
        out.push_str(UNMEASURED);
    }
    for c in &r.columns {
        if Some(c.name.as_str()) != unit {
            out.push_str(&column::line(r, c, scope, placed));
        }
    }
    out
}

/// `a -> t.x`, or `(a, b) -> t.(x, y)`.
fn path(w: &Way, to: &str) -> String {
    match (w.columns.as_slice(), w.to.1.as_slice()) {
        ([column], [there]) => format!("{column} -> {to}.{there}"),
        (columns, there) => format!("({}) -> {to}.({})", columns.join(", "), there.join(", ")),
    }
}

fn left_out(r: &Relation, why: &Why, scope: &Scope<'_>) -> String {
    let (table, unit) = (scope.shown(scope.unit.0), comment(&scope.unit.1));
    let reason = match why {
        Why::NoWay => {
            let named = r.columns.iter().find(|c| c.name == scope.unit.1);
            let hint = named.map_or_else(String::new, |c| {
                format!(
                    " It has a column {unit} all the same: if that is the unit, write unit_column = {}.",
                    quote(&c.name)
                )
            });
            format!(
                "No foreign key leads from it to {table}.{unit}: whose rows these are is not known.{hint}"
            )
        }
        Why::Kind(kind) => format!(
            "It is {kind}: its rows may depend on many units. Only tables can be private; name the tables below it."
        ),
        Why::RowSecurity => {
            "It has row-level security: which rows are read would depend on the login. It cannot be used."
                .to_owned()
        }
        Why::SameName(schema) => {
            format!(
                "{}.{}: schema {} has a table of the same name, which is used above; a policy names a name once.",
                comment(&r.schema),
                comment(&r.name),
                comment(schema)
            )
        }
        Why::Partition => return String::new(),
    };
    let mut out = paragraph(&reason);
    if !matches!(why, Why::RowSecurity | Why::SameName(_)) {
        out.push_str(&paragraph(
            "TODO If anybody may read every row of it, take these lines in (or give init --public with its name):",
        ));
        out.push_str(&commented(&format!("{}public = true", header(r))));
    }
    out
}
