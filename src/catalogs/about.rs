//! Subjects of statements: catalogs, tables, or constants.

use sql::names::{fold, parts};
use sqlparser::ast::{ObjectName, ObjectNamePart, Query, SetExpr, TableFactor, TableWithJoins};

/// The schemas of catalogs.
pub const SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// Functions of SQL's that are called without brackets, in FROM, too.
const OF_SESSION: [&str; 6] =
    ["current_catalog", "current_role", "current_schema", "current_user", "session_user", "user"];

/// Whether a name is such a word, and not a relation's in quotes.
pub fn is_of_session(name: &ObjectName) -> bool {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => {
            ident.quote_style.is_none() && OF_SESSION.contains(&fold(ident).as_str())
        }
        _ => false,
    }
}

/// Subject of a statement, by the names in its FROM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A relation of the catalogs, and so nothing else.
    Catalogs,
    /// No relation.
    Constants,
    /// Tables.
    Tables,
}

/// Subject of a query, from FROM at any depth of it.
pub fn about(query: &Query) -> About {
    let mut ctes = Vec::new();
    let mut found = About::Constants;
    look(query, &mut ctes, &mut found);
    found
}

fn look(query: &Query, ctes: &mut Vec<String>, found: &mut About) {
    let outer = ctes.len();
    for cte in query.with.iter().flat_map(|w| &w.cte_tables) {
        ctes.push(fold(&cte.alias.name));
        look(&cte.query, ctes, found);
    }
    look_body(&query.body, ctes, found);
    ctes.truncate(outer);
}

fn look_body(body: &SetExpr, ctes: &mut Vec<String>, found: &mut About) {
    match body {
        SetExpr::Select(select) => select.from.iter().for_each(|item| look_joins(item, ctes, found)),
        SetExpr::Query(query) => look(query, ctes, found),
        SetExpr::SetOperation { left, right, .. } => {
            look_body(left, ctes, found);
            look_body(right, ctes, found);
        }
        _ => {}
    }
}

fn look_joins(item: &TableWithJoins, ctes: &mut Vec<String>, found: &mut About) {
    for factor in std::iter::once(&item.relation).chain(item.joins.iter().map(|j| &j.relation)) {
        match factor {
            TableFactor::Table { name, args: None, .. } => {
                let parts = parts(name);
                let catalog = match parts.as_slice() {
                    [name] if ctes.contains(name) => continue,
                    [own] => own.starts_with("pg_") || is_of_session(name),
                    [.., schema, _] => SCHEMAS.contains(&schema.as_str()),
                    [] => false,
                };
                match (catalog, *found) {
                    (true, _) => *found = About::Catalogs,
                    (false, About::Constants) => *found = About::Tables,
                    (false, _) => {}
                }
            }
            TableFactor::Derived { subquery, .. } => look(subquery, ctes, found),
            TableFactor::NestedJoin { table_with_joins, .. } => look_joins(table_with_joins, ctes, found),
            _ => {}
        }
    }
}
