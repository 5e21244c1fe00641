//! Views over the catalogs, from `views.sql`.

use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeMap;

/// Schema and name to the query. A text that does not parse is left out; a test sees that there is none.
pub fn views() -> BTreeMap<(String, String), Box<Query>> {
    let mut out = BTreeMap::new();
    for part in include_str!("views.sql").split("\n--= ").skip(1) {
        let Some((name, text)) = part.split_once('\n') else { continue };
        let Some((schema, name)) = name.trim().split_once('.') else { continue };
        let Ok(statements) = Parser::parse_sql(&PostgreSqlDialect {}, text) else { continue };
        if let Some(Statement::Query(query)) = statements.into_iter().next() {
            out.insert((schema.to_owned(), name.to_owned()), query);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_parses() {
        assert_eq!(views().len(), include_str!("views.sql").matches("\n--= ").count());
    }
}
