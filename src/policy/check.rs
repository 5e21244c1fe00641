//! The policy against the schema: tables, units, keys.

use super::advice;
use super::bounds;
use super::collect;
use super::error::{At, Findings, PolicyError, PolicyErrors};
use super::model::{Column, Domain, PROFILE_VALID, Policy, Privacy, Table, Unit};
use super::path::{self, KEY_HINT};
use super::placement;
use super::raw::RawPolicy;
use super::raw_table::{RawPath, RawTable};
use super::reader::shorten;
use super::suggest::suggest;
use super::type_name::type_name;
use super::version;
use super::whose;
use num_traits::Signed;
use schema::{Relation, RelationKind, Schema, SqlType};

impl RawPolicy {
    /// The policy, if it and the schema fit; otherwise all mistakes, those of the text included.
    pub fn check(&self, schema: &Schema) -> Result<Policy, PolicyErrors> {
        self.check_with_warnings(schema).map(|(policy, _)| policy)
    }

    /// As [`Self::check`], and what is allowed but probably not meant.
    pub fn check_with_warnings(&self, schema: &Schema) -> Result<(Policy, Vec<PolicyError>), PolicyErrors> {
        let mut findings = self.findings.clone();
        let f = &mut findings;
        let relations: Vec<Option<&Relation>> = self.tables.iter().map(|t| relation(t, schema, f)).collect();
        let mut tables: Vec<Option<Table>> =
            (0..self.tables.len()).map(|i| table(i, &self.tables, &relations, f)).collect();
        self.references(&mut tables, &relations, f);
        let unit = self.unit(&relations, f);
        let judged =
            unit.as_ref().map(|unit| whose::check(self, unit, &relations, schema, f)).unwrap_or_default();
        self.other_ways_to_the_unit(&relations, &judged, f);
        placement::check(self, &relations, schema, f);
        collect::check(&self.collects, self.backend.as_ref(), schema, f);
        // With no error noted, everything below is there; `finish` comes first, so that nothing else is reported.
        advice::advise(self, &tables, f);
        let warnings = findings.finish()?;
        let missing = || PolicyErrors(vec![internal()]);
        let mut policy = Policy {
            version: [0; 32],
            server: self.server.clone(),
            access: self.access.clone(),
            log: self.log,
            console: self.console.clone(),
            metrics: self.metrics.clone(),
            traces: self.traces.clone(),
            backend: self.backend.clone().ok_or_else(missing)?,
            ledger: self.ledger.clone().ok_or_else(missing)?,
            ledger_text: self.ledger_text,
            unit: match self.unit {
                Some(_) => Some(unit.ok_or_else(missing)?),
                None => None,
            },
            statement: self.statement.clone(),
            budgets: self.budgets.clone(),
            streams: self.streams.clone(),
            views: self.views.clone(),
            collects: self.collects.iter().map(|c| c.collect.clone()).collect(),
            users: self.users.clone(),
            roles: self.roles.clone(),
            tables: tables.into_iter().collect::<Option<_>>().ok_or_else(missing)?,
            limits: self.limits.clone(),
            cache: self.cache.clone(),
            answers: self.answers,
        };
        path::multiply_proven_rows(&mut policy.tables);
        collect::add_reports(&mut policy, schema);
        policy.version = version::of(&policy);
        Ok((policy, warnings))
    }

    /// `columns.x.references`: a column of a public table of this policy, of the same type.
    fn references(&self, tables: &mut [Option<Table>], relations: &[Option<&Relation>], f: &mut Findings) {
        let wanted = self.tables.iter().enumerate().flat_map(|(i, t)| {
            t.columns.iter().filter_map(move |c| Some((i, &c.name.value, c.references.as_ref()?)))
        });
        for (index, name, target) in wanted {
            let Some(there) = self.referenced(target, relations, f) else { continue };
            let column = tables.get_mut(index).and_then(Option::as_mut);
            let Some(column) = column.and_then(|t| t.columns.iter_mut().find(|c| c.name == *name)) else {
                continue;
            };
            let (to, to_column) = there;
            let referenced = relations.get(to).copied().flatten().and_then(|r| r.column(&to_column));
            let Some(referenced) = referenced else { continue };
            if referenced.ty.oid() != column.ty.oid() {
                f.error(
                    &target.span,
                    format!(
                        "{name:?} is {}, {} is {}",
                        type_name(&column.ty),
                        shorten(&target.value),
                        type_name(&referenced.ty)
                    ),
                    "reference a column of the same type",
                );
            } else if !(referenced.deterministic_collation && column.deterministic) {
                let hint =
                    "remove references: keys that are equal to the database may be printed differently";
                f.error(&target.span, "references needs deterministic collations on both sides", hint);
            } else {
                column.domain = Some(Domain::References { table: to, column: to_column });
            }
        }
    }

    /// Table and column that a `references` names.
    fn referenced(
        &self,
        target: &At<String>,
        relations: &[Option<&Relation>],
        f: &mut Findings,
    ) -> Option<(usize, String)> {
        let Some((table, column)) = target.value.rsplit_once('.') else {
            let what = format!("references = {:?} is not a table and a column", shorten(&target.value));
            f.error(&target.span, what, "write for example: references = \"stations.station\"");
            return None;
        };
        let Some(to) = self.tables.iter().position(|t| t.name.value == table) else {
            let what = format!("references names {:?}, which the policy does not", shorten(table));
            let public = self.tables.iter().filter(|t| t.public).map(|t| t.name.value.as_str());
            f.error(&target.span, what, format!("a public table of this policy: {}", suggest(table, public)));
            return None;
        };
        let raw = self.tables.get(to)?;
        if !raw.public {
            let hint = "only the values of a public table are a public domain";
            f.error(&target.span, format!("{table:?} is not public"), hint);
            return None;
        }
        let relation = relations.get(to).copied().flatten()?;
        let hidden = |name: &str| raw.columns.iter().any(|c| c.hidden && c.name.value == name);
        if relation.column(column).is_none() || hidden(column) {
            let visible = relation.columns.iter().map(|c| c.name.as_str()).filter(|n| !hidden(n));
            let what = format!("{table:?} has no visible column {:?}", shorten(column));
            f.error(&target.span, what, suggest(column, visible));
            return None;
        }
        Some((to, column.to_owned()))
    }

    /// `privacy.unit`: a key (soundness rule 7) of a private table, and of one type with all unit columns.
    fn unit(&self, relations: &[Option<&Relation>], f: &mut Findings) -> Option<Unit> {
        let unit = self.unit.as_ref()?;
        let Some((table, column)) = unit.value.rsplit_once('.') else {
            let what = format!("unit = {:?} is not a table and a column", shorten(&unit.value));
            f.error(&unit.span, what, "write for example: unit = \"riders.rider_id\"");
            return None;
        };
        let Some(index) = self.tables.iter().position(|t| t.name.value == table) else {
            let what = format!("unit names the table {:?}, which the policy does not", shorten(table));
            f.error(&unit.span, what, suggest(table, self.tables.iter().map(|t| t.name.value.as_str())));
            return None;
        };
        let raw = self.tables.get(index)?;
        if raw.public {
            let hint = "the unit's table is private: give it unit_column instead of public";
            f.error(&unit.span, format!("unit names {table:?}, which is public"), hint);
            return None;
        }
        if let Some(path) = &raw.unit_path {
            let what = format!("unit names {table:?}, which has a unit_path");
            f.error(&path.span, what, "the unit's own table has unit_column, or neither");
            return None;
        }
        if let Some(c) = raw.unit_column.as_ref().filter(|c| c.value != column) {
            let what = format!("[table.{table}] has unit_column {:?}, privacy.unit says {column:?}", c.value);
            f.error(&c.span, what, "the two name one column");
            return None;
        }
        let relation = relations.get(index).copied().flatten()?;
        let Some(c) = relation.column(column) else {
            let what = format!("unit: {table:?} has no column {:?}", shorten(column));
            f.error(&unit.span, what, suggest(column, relation.columns.iter().map(|c| c.name.as_str())));
            return None;
        };
        if !relation.usable_keys().iter().any(|k| k.as_slice() == [column]) {
            f.error(
                &unit.span,
                format!("{} is not a key of {table:?}: a unit may have many rows there", unit.value),
                KEY_HINT,
            );
        }
        for (t, r) in self.tables.iter().zip(relations) {
            let (Some(name), Some(r), false) = (&t.unit_column, r, t.public) else { continue };
            let Some(other) = r.column(&name.value) else { continue };
            if other.ty.oid() != c.ty.oid() {
                f.error(
                    &name.span,
                    format!(
                        "{:?} is {}, the unit {} is {}",
                        name.value,
                        type_name(&other.ty),
                        shorten(&unit.value),
                        type_name(&c.ty)
                    ),
                    "all unit columns have one type",
                );
            }
        }
        Some(Unit { table: index, column: column.to_owned() })
    }

    /// Sender and receiver: the declared column's unit is protected, the other's is not. And a public table with
    /// a key into a private one is worth a second look. Of the tables that were judged there is nothing left to say.
    fn other_ways_to_the_unit(&self, relations: &[Option<&Relation>], judged: &[usize], f: &mut Findings) {
        for (i, (t, r)) in self.tables.iter().zip(relations).enumerate() {
            let Some(r) = r.filter(|_| !judged.contains(&i)) else { continue };
            for key in &r.foreign_keys {
                let leads_elsewhere = |path: &At<RawPath>| {
                    let to = self.tables.iter().zip(relations).find(|(_, o)| {
                        o.is_some_and(|o| (&o.schema, &o.name) == (&key.references.0, &key.references.1))
                    });
                    key.columns != path.value.columns && to.is_some_and(|(to, _)| !to.public)
                };
                if let Some(path) = t.unit_path.as_ref().filter(|p| leads_elsewhere(p)) {
                    f.note(
                        &path.span,
                        format!("{:?} has a second way to a unit, by {}", t.name.value, key.columns.join(", ")),
                        "only the unit that unit_path leads to is protected: rows are not private towards the other",
                    );
                }
                let private = self.tables.iter().zip(relations).any(|(other, o)| {
                    other.unit_column.as_ref().is_some_and(|u| key.referenced_columns == [u.value.as_str()])
                        && o.is_some_and(|o| (&o.schema, &o.name) == (&key.references.0, &key.references.1))
                });
                if !private {
                    continue;
                }
                let columns = key.columns.join(", ");
                match &t.unit_column {
                    Some(unit) if key.columns != [unit.value.as_str()] => f.note(
                        &unit.span,
                        format!("{:?} has a second way to a unit, by {columns}", t.name.value),
                        "only the unit in unit_column is protected: rows are not private towards the other",
                    ),
                    None if t.public => f.warn(
                        &t.name.span,
                        format!("{:?} is public and refers to units by {columns}", t.name.value),
                        "if its rows say something about a unit, make it private with unit_column",
                    ),
                    _ => {}
                }
            }
        }
    }
}

/// A defect of ours, not the owner's: no error was noted, and yet a part is missing.
fn internal() -> PolicyError {
    PolicyError {
        file: "policy".into(),
        position: None,
        message: "the policy could not be checked, for a reason that was not reported".into(),
        hint: Some("this is a defect of noisegate; please report it".into()),
        note: false,
    }
}

fn relation<'s>(t: &RawTable, schema: &'s Schema, f: &mut Findings) -> Option<&'s Relation> {
    let found = schema.relation(&t.schema.value, &t.name.value);
    if found.is_none() {
        let (schema_name, name) = (shorten(&t.schema.value), shorten(&t.name.value));
        let elsewhere = schema.relations.iter().find(|r| r.name == t.name.value);
        let hint = match elsewhere {
            Some(r) => {
                format!("there is one in another schema: write schema = {:?} in [table.{name}]", r.schema)
            }
            None => {
                let names = schema.relations.iter().filter(|r| r.schema == t.schema.value);
                suggest(&t.name.value, names.map(|r| r.name.as_str()))
            }
        };
        f.error(&t.name.span, format!("the database has no table {name:?} in schema {schema_name:?}"), hint);
    }
    found
}

fn table(
    index: usize,
    raws: &[RawTable],
    relations: &[Option<&Relation>],
    f: &mut Findings,
) -> Option<Table> {
    let (t, r) = (raws.get(index)?, relations.get(index).copied().flatten()?);
    let name = &t.name.value;
    if !t.public && t.unit_column.is_none() && t.unit_path.is_none() {
        if !t.says_whose {
            f.error(
                &t.name.span,
                format!("[table.{name}] does not say whose rows it holds"),
                "add unit_column = \"…\" (each row belongs to that unit), unit_path = \"… -> t.x\" (to the unit of a row of t), or public = true (anybody may read it)",
            );
        }
        return None;
    }
    let kind = match r.kind {
        RelationKind::View => Some("view"),
        RelationKind::MaterializedView => Some("materialised view"),
        RelationKind::Foreign => Some("foreign table"),
        RelationKind::Table | RelationKind::InheritanceParent | RelationKind::Partitioned => None,
    };
    if let (Some(kind), false) = (kind, t.public) {
        f.error(
            &t.name.span,
            format!("{name:?} is a {kind}; private tables must be tables"),
            "its rows may depend on many units, and its expressions may fail on chosen rows: name the tables below",
        );
    }
    if r.kind == RelationKind::Foreign && t.public {
        f.note(
            &t.name.span,
            format!("{name:?} is a foreign table"),
            "its rows live elsewhere: they can change while a statement runs, and who keeps them sees when they are read; \
             its answers and its pace must not depend on private rows. A copy in a table or a materialised view has \
             neither",
        );
    }
    if r.kind == RelationKind::InheritanceParent {
        f.warn(
            &t.name.span,
            format!("{name:?} has children by inheritance, as hypertables of TimescaleDB have, and their rows are not read"),
            "answers are of its own rows alone: name a partitioned table, or one that has the rows itself",
        );
    }
    if let Some(part) = &r.foreign_part {
        let what = format!("{part}, a part of {name:?}, is a foreign table");
        match t.public {
            true => f.note(&t.name.span, what, "its rows live elsewhere, and can change while a statement runs"),
            false => f.error(
                &t.name.span,
                what,
                "nobody enforces its constraints, its rows are in no snapshot of this server's, and one unit's rows may be \
                 on several: every part of a private table must be an ordinary table",
            ),
        }
    }
    if let Some(span) = &t.public_view {
        match r.kind {
            RelationKind::View | RelationKind::MaterializedView => f.warn(
                span,
                format!("{name:?} may read private tables, and its rows are answered exactly"),
                "no budget bounds what they tell of anybody: publish what was published elsewhere, and nothing else",
            ),
            _ => f.warn(span, format!("{name:?} is no view"), "remove public_view"),
        }
    }
    if r.row_security {
        f.error(
            &t.name.span,
            format!("{name:?} has row-level security"),
            "which rows are read would depend on the login and on expressions that may fail: disable it there",
        );
    }
    let bounds = [
        ("max_rows", t.max_rows.is_some()),
        ("max_total_rows", t.max_total_rows.is_some()),
        ("most_rows", t.most_rows.is_some()),
        ("profile_valid", t.profile_valid.is_some()),
        ("bounds", t.unmeasured.is_some()),
    ];
    for (key, is_there) in bounds {
        if t.public && is_there {
            f.error(&t.name.span, format!("[table.{name}] is public and has {key}"), format!("remove {key}"));
        }
    }
    if let Some(share) = &t.cut_rows {
        if share.value.is_negative() || share.value >= 1 {
            f.error(
                &share.span,
                format!("cut_rows = {} is no share", share.value),
                "write the share of rows that max_total_rows cuts, as 0.02; or remove it: noisegate profile measures it",
            );
        } else if t.max_total_rows.is_none() {
            f.error(
                &share.span,
                "cut_rows without max_total_rows",
                "write both, or remove it: noisegate profile measures what bounds cut",
            );
        }
    }
    for c in &t.columns {
        let visible = r.columns.iter().map(|c| c.name.as_str());
        if r.column(&c.name.value).is_none() {
            let what = format!("{name:?} has no column {:?}", shorten(&c.name.value));
            f.error(&c.name.span, what, suggest(&c.name.value, visible));
        }
    }
    let privacy = match &t.unit_column {
        _ if t.public => Privacy::Public,
        Some(unit) => private(unit, name, r, f)?,
        None => path::check(index, raws, relations, f)?,
    };
    let unit = t.unit_column.as_ref().map(|u| u.value.as_str());
    let columns = columns(t, r, unit, f);
    let keys = r.usable_keys();
    let owner: Vec<&str> = match &privacy {
        Privacy::Public => Vec::new(),
        Privacy::Private { unit, .. } => vec![unit],
        Privacy::Path(path) => path.columns.iter().map(String::as_str).collect(),
    };
    let proven_rows = proven_rows(r, &keys, &owner);
    let seen = |name: &str| columns.iter().any(|c: &Column| c.name == name);
    let hidden = r.columns.iter().filter(|c| !seen(&c.name)).map(|c| c.name.clone()).collect();
    Some(Table {
        oid: r.oid,
        schema: r.schema.clone(),
        name: r.name.clone(),
        privacy,
        max_rows: t.max_rows,
        max_total_rows: t.max_total_rows,
        cut_rows: t.cut_rows.as_ref().map(|share| share.value.clone()),
        most_rows: t.most_rows,
        profile_valid: t.profile_valid.unwrap_or(PROFILE_VALID),
        profile: None,
        columns,
        hidden,
        keys,
        foreign_keys: r.foreign_keys.clone(),
        proven_rows,
        published: t.public_view.is_some(),
        collected: false,
        only: r.kind == RelationKind::InheritanceParent,
    })
}

/// The unit column exists, and equal units are the same units.
fn private(unit: &At<String>, table: &str, r: &Relation, f: &mut Findings) -> Option<Privacy> {
    let Some(c) = r.column(&unit.value) else {
        let what = format!("unit_column: {table:?} has no column {:?}", shorten(&unit.value));
        f.error(&unit.span, what, suggest(&unit.value, r.columns.iter().map(|c| c.name.as_str())));
        return None;
    };
    let canonical = match &c.ty {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Text | SqlType::Varchar | SqlType::Uuid => {
            true
        }
        SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz | SqlType::Enum { .. } => true,
        SqlType::Numeric { scale } => scale.is_some(),
        _ => false,
    };
    if !canonical {
        f.error(
            &unit.span,
            format!("{:?} is {}, which cannot name a unit", c.name, type_name(&c.ty)),
            "equal values must look equal: integers, text, varchar, uuid, dates, enums, numeric with a scale",
        );
    }
    if !c.deterministic_collation {
        f.error(
            &unit.span,
            format!("{:?} has a nondeterministic collation", c.name),
            "different spellings would be one unit here and two there: use a deterministic collation",
        );
    }
    if c.virtual_expression {
        let hint = "its expression may fail on chosen rows: use a stored column";
        f.error(&unit.span, format!("{:?} is computed when it is read", c.name), hint);
    }
    Some(Privacy::Private { unit: c.name.clone(), nullable: !c.not_null, ty: c.ty.clone() })
}

/// The visible columns in the database's order: of a public table all, of a private one those that the policy
/// names and those that lead to the unit; hidden ones never.
fn columns(t: &RawTable, r: &Relation, unit: Option<&str>, f: &mut Findings) -> Vec<Column> {
    let mut visible = Vec::new();
    for c in &r.columns {
        let raw = t.columns.iter().find(|raw| raw.name.value == c.name);
        let is_unit = unit == Some(c.name.as_str());
        let leads = t.unit_path.as_ref().is_some_and(|p| p.value.columns.contains(&c.name));
        if !(t.public || raw.is_some() || is_unit || leads) {
            continue;
        }
        if let Some(raw) = raw.filter(|raw| c.virtual_expression && !t.public && !raw.hidden) {
            let hint = "its expression may fail on chosen rows: remove it, or use a stored column";
            f.error(&raw.name.span, format!("{:?} is computed when it is read", c.name), hint);
        }
        // Hidden columns are checked all the same: a mistake in them is one.
        let column = bounds::column(raw, r, c, is_unit, f);
        if !raw.is_some_and(|raw| raw.hidden) {
            visible.push(column);
        }
    }
    visible
}

/// Rows of one owner (a unit, or the row that a unit_path leads to), as far as a key of the owner and columns with few
/// possible values bounds them.
fn proven_rows(r: &Relation, keys: &[Vec<String>], owner: &[&str]) -> Option<u32> {
    let bound = |key: &Vec<String>| {
        if owner.is_empty() || !owner.iter().all(|o| key.iter().any(|c| c == o)) {
            return None;
        }
        let others = key.iter().filter(|c| !owner.contains(&c.as_str()));
        let count = others
            .map(|c| bounds::proven_count(r, r.column(c)?))
            .try_fold(1u64, |product, n| product.checked_mul(n?))?;
        u32::try_from(count).ok()
    };
    keys.iter().filter_map(bound).min()
}
