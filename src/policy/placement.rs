//! Placement of tables on the servers of Citus: where each unit's rows are on one of them.
//!
//! Servers of Citus have snapshots of their own. What single units weigh is computed where their rows are: in one statement of
//! one server, that is in one snapshot *of each unit*, if all private tables are spread by the hash of their unit, in one
//! co-location group, and public ones are whole on each server. `backend::citus` proves of each fetch that it reads so.

use super::error::Findings;
use super::model::Backend;
use super::raw::RawPolicy;
use super::raw_table::RawTable;
use schema::{Engine, Placement, Relation, RelationKind, Schema};

/// Compares the engine that the policy names with the one that answered, and the tables' placement with what it needs.
pub(super) fn check(raw: &RawPolicy, relations: &[Option<&Relation>], schema: &Schema, f: &mut Findings) {
    let named = raw.backend().map_or(Engine::Postgresql, |b: &Backend| b.engine);
    match (named, schema.engine) {
        (Engine::Postgresql, Engine::Postgresql) => return,
        (Engine::Citus, Engine::Citus) => {}
        (Engine::Postgresql, Engine::Citus) => {
            return f.error_in_file(
                "[backend] the database has the extension Citus",
                "write engine = \"citus\" into [backend]: how tables are spread is then checked, too",
            );
        }
        (Engine::Citus, Engine::Postgresql) => {
            return f.error_in_file(
                "[backend] engine = \"citus\", and the database does not have that extension",
                "remove engine, or name the coordinator's database, in which CREATE EXTENSION citus was run",
            );
        }
    }
    let mut group = None;
    for (t, r) in raw.tables.iter().zip(relations) {
        let Some(r) = r else { continue };
        match t.public {
            true => public(t, r, f),
            false => private(t, r, &mut group, f),
        }
    }
}

fn public(t: &RawTable, r: &Relation, f: &mut Findings) {
    // A view is read through: its tables are judged by Citus when it plans.
    let stored = !matches!(r.kind, RelationKind::View);
    if stored && r.placement != Some(Placement::Reference) {
        let name = &t.name.value;
        f.error(
            &t.name.span,
            format!("{name:?} is public, and not on each server of Citus"),
            format!("SELECT create_reference_table('{}.{}')", r.schema, r.name),
        );
    }
}

fn private(t: &RawTable, r: &Relation, group: &mut Option<(String, i64)>, f: &mut Findings) {
    let name = &t.name.value;
    let Some(unit) = &t.unit_column else {
        if t.unit_path.is_some() {
            f.error(
                &t.name.span,
                format!("{name:?} has no column of its own for the unit, by which Citus could spread it"),
                "add the unit's column to the table, distribute it by that, and write unit_column in the place of unit_path",
            );
        }
        return;
    };
    let (column, own) = match &r.placement {
        Some(Placement::Hash { column, group }) => (column, *group),
        _ => {
            return f.error(
                &t.name.span,
                format!("{name:?} is private, and Citus does not spread it by the hash of a column"),
                format!("SELECT create_distributed_table('{}.{}', '{}')", r.schema, r.name, unit.value),
            );
        }
    };
    if *column != unit.value {
        f.error(
            &unit.span,
            format!("Citus spreads {name:?} by {column:?}: rows of one unit are on several servers"),
            format!(
                "SELECT alter_distributed_table('{}.{}', distribution_column => '{}')",
                r.schema, r.name, unit.value
            ),
        );
    }
    match group {
        None => *group = Some((format!("{}.{}", r.schema, r.name), own)),
        Some((_, first)) if *first == own => {}
        Some((first, _)) => f.error(
            &t.name.span,
            format!("rows of one unit in {name:?} and in {first:?} may be on different servers of Citus"),
            format!("SELECT alter_distributed_table('{}.{}', colocate_with => '{first}')", r.schema, r.name),
        ),
    }
}
