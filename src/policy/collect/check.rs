//! Collected relations, held against the schema: the table of the reports holds them, and nothing
//! else.

use super::raw::RawCollect;
use crate::error::Findings;
use crate::given::Given;
use crate::model::{Backend, Collect, Column, PROFILE_VALID, Policy, Privacy, Table};
use crate::reader::shorten;
use crate::type_name::type_name;
use schema::{Relation, RelationKind, Schema};

/// Every table of reports is there, has the columns of its policy, and none beside them.
pub(crate) fn check(collects: &[RawCollect], backend: Option<&Backend>, schema: &Schema, f: &mut Findings) {
    let user = |url: Option<&Given<String>>, default: &str| {
        url.map(|u| u.shown().user).filter(|user| !user.is_empty()).unwrap_or_else(|| default.to_owned())
    };
    let writer = user(backend.and_then(|b| b.collect_url.as_ref()), "noisegate_collect");
    let fetch = user(backend.map(|b| &b.url), "noisegate");
    let finish = user(backend.map(|b| &b.finish_url), "noisegate_finish");
    for (i, one) in collects.iter().enumerate() {
        let c = &one.collect;
        let shared =
            collects.iter().take(i).any(|o| (&o.collect.schema, &o.collect.table) == (&c.schema, &c.table));
        if shared {
            let what = format!("two collected relations have their reports in {:?}", shorten(&c.table));
            f.error(&one.span, what, "give each a table of its own");
        }
        let Some(relation) = schema.relation(&c.schema, &c.table) else {
            let what =
                format!("the database has no table {:?} for the reports of {:?}", shorten(&c.table), c.name);
            f.error(
                &one.span,
                what,
                format!("make it:\n      {}", c.ddl(&writer, [&fetch, &finish]).join("\n      ")),
            );
            continue;
        };
        if !matches!(relation.kind, RelationKind::Table | RelationKind::Partitioned) || relation.row_security
        {
            let what = format!(
                "{:?} cannot hold reports: it is no plain table, or has row-level security",
                shorten(&c.table)
            );
            f.error(&one.span, what, "make a plain table for them");
        }
        for (column, span) in c.columns.iter().zip(&one.columns) {
            let (stored, name) = (column.randomiser.stored_word(), shorten(&column.name));
            match relation.column(&column.name) {
                None => {
                    let what = format!("{:?} has no column {name:?} for the reports", shorten(&c.table));
                    f.error(
                        span,
                        what,
                        format!("add it: ALTER TABLE … ADD COLUMN \"{}\" {stored} NOT NULL", column.name),
                    );
                }
                Some(there)
                    if there.ty.oid() != column.randomiser.stored().oid() || there.virtual_expression =>
                {
                    let what = format!(
                        "{name:?} of {:?} is {}, and its reports are {stored}",
                        shorten(&c.table),
                        type_name(&there.ty)
                    );
                    f.error(
                        span,
                        what,
                        "make the column anew: what a column of another type holds is no report",
                    );
                }
                Some(_) => {}
            }
        }
        if let Some(batches) = c.batches() {
            of_batches(one, &batches, schema, &c.ddl(&writer, [&fetch, &finish]), f);
        }
        for there in &relation.columns {
            if !c.columns.iter().any(|column| column.name == there.name) {
                let what = format!(
                    "{:?} stores {:?} as it is, beside randomised reports",
                    shorten(&c.table),
                    shorten(&there.name)
                );
                let hint = "remove the column: what stands raw beside a report tells whose it is, or when, or what it was";
                f.error(&one.span, what, hint);
            }
        }
    }
}

/// The table of batches that were stored: its key is what stores each once.
fn of_batches(one: &RawCollect, name: &str, schema: &Schema, ddl: &[String], f: &mut Findings) {
    let (c, shown) = (&one.collect, shorten(name));
    let make = format!("make it:\n      {}", ddl.get(3..).unwrap_or_default().join("\n      "));
    let Some(relation) = schema.relation(&c.schema, name) else {
        let what = format!("the database has no table {shown:?} for the batches of {:?}", c.name);
        return f.error(&one.span, what, make);
    };
    let right = |(column, oid, _): &(&str, u32, &str)| {
        relation.column(column).is_some_and(|there| there.ty.oid() == *oid && there.not_null)
    };
    let key = relation.keys.iter().any(|k| k.columns == ["batch"] && k.valid && k.immediate && !k.partial);
    let kind = matches!(relation.kind, RelationKind::Table | RelationKind::Partitioned);
    let same = relation.columns.len() == Collect::BATCHES.len() && Collect::BATCHES.iter().all(right);
    if !(kind && same && key) || relation.row_security {
        f.error(&one.span, format!("{shown:?} is no table of batches as `noisegate check` prints it"), make);
    }
}

/// The tables of the reports: public, and hidden from analysts.
pub(crate) fn add_reports(policy: &mut Policy, schema: &Schema) {
    let mut collects = std::mem::take(&mut policy.collects);
    for collect in &mut collects {
        if let Some(relation) = schema.relation(&collect.schema, &collect.table) {
            collect.reports = policy.tables.len();
            policy.tables.push(reports(collect, relation));
        }
    }
    policy.collects = collects;
}

fn reports(collect: &Collect, relation: &Relation) -> Table {
    let columns = collect.columns.iter().filter_map(|c| relation.column(&c.name));
    let columns = columns.map(|c| Column {
        name: c.name.clone(),
        ty: c.ty.clone(),
        not_null: c.not_null,
        deterministic: c.deterministic_collation,
        range: None,
        grid: None,
        domain: None,
        nan: false,
        paths: Vec::new(),
    });
    Table {
        oid: relation.oid,
        schema: relation.schema.clone(),
        name: relation.name.clone(),
        privacy: Privacy::Public,
        max_rows: None,
        max_total_rows: None,
        cut_rows: None,
        most_rows: None,
        profile_valid: PROFILE_VALID,
        profile: None,
        columns: columns.collect(),
        hidden: Vec::new(),
        keys: Vec::new(),
        foreign_keys: Vec::new(),
        proven_rows: None,
        published: false,
        collected: true,
        only: false,
    }
}
