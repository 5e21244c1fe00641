//! The statements that make the two logins, as comments at the end of the file.

use super::scope::Scope;
use super::text::{comment, commented};
use super::way::Placed;
use demo::ROLES;
use emit::ident;
use schema::Relation;
use std::collections::BTreeSet;

/// Statements for the owner, as comments. The logins own nothing, and everything that PUBLIC would
/// give the second is taken from PUBLIC.
pub(super) fn comments(scope: &Scope<'_>, placed: &[Placed]) -> String {
    let of = |wanted: fn(&Placed) -> bool| -> Vec<&Relation> {
        let each = scope.relations.iter().zip(placed);
        each.filter(|(_, p)| wanted(p)).map(|(r, _)| *r).collect()
    };
    let used = of(|p| !matches!(p, Placed::Not(_)));
    let public = of(|p| *p == Placed::Public);
    let name = |r: &&Relation| format!("{}.{}", ident(&r.schema), ident(&r.name));
    let names = |of: &[&Relation]| of.iter().map(name).collect::<Vec<_>>().join(", ");
    let database = ident(&scope.catalog.database);
    let mut sql = ROLES.trim_end().to_owned();
    sql.push_str(&format!("\nREVOKE ALL ON DATABASE {database} FROM PUBLIC;"));
    sql.push_str(&format!("\nGRANT CONNECT ON DATABASE {database} TO noisegate, noisegate_finish;"));
    // The schema public is everybody's to look into, and before PostgreSQL 15 to create in.
    let schemas: BTreeSet<&str> = used.iter().map(|r| r.schema.as_str()).chain(["public"]).collect();
    for schema in schemas {
        sql.push_str(&format!("\nREVOKE ALL ON SCHEMA {} FROM PUBLIC;", ident(schema)));
        if used.iter().any(|r| r.schema == schema) {
            sql.push_str(&format!(
                "\nGRANT USAGE ON SCHEMA {} TO noisegate, noisegate_finish;",
                ident(schema)
            ));
        }
    }
    for r in &scope.catalog.schema.relations {
        let open = scope.catalog.open_relations.contains(&(r.schema.clone(), r.name.clone()));
        if open && !public.iter().any(|p| p.oid == r.oid) {
            sql.push_str(&format!("\nREVOKE ALL ON {} FROM PUBLIC;", name(&r)));
        }
    }
    for routine in &scope.catalog.open_routines {
        sql.push_str(&format!("\nREVOKE EXECUTE ON ROUTINE {routine} FROM PUBLIC;"));
    }
    sql.push_str(&format!("\nGRANT SELECT ON {} TO noisegate;", names(&used)));
    if !public.is_empty() {
        sql.push_str(&format!("\nGRANT SELECT ON {} TO noisegate_finish;", names(&public)));
    }
    format!(
        "\n# Run this once, as superuser, in the database {}, with passwords of your own. The REVOKEs take from every \
         login what\n# everybody has by default; a login that other applications use and that owns nothing needs grants \
         of its own then.\n# Run the GRANT SELECTs again when tables are added above.\n#\n{}",
        comment(&scope.catalog.database),
        commented(&sql)
    )
}
