//! A query for public rows that become constants of the statement.

use super::constants::Constants;
use super::printer::{Printed, Printer};
use plan::PublicRows;
use policy::Policy;
use sql::ast::Statement;

/// Text for public rows, one at least, and one more at most than there is place for: whether it is
/// one of the query's, and of each column the text and the type's OID.
pub fn public_rows(
    statement: &Statement,
    wanted: &PublicRows,
    policy: &Policy,
    constants: &Constants,
) -> Printed {
    let width = wanted.query.body.names().len();
    let mut p = Printer::new(statement, None, policy, constants);
    p.put("SELECT x.p::pg_catalog.text");
    for i in 0..width {
        p.put(&format!(
            ", x.c{i}::pg_catalog.text, pg_catalog.pg_typeof(x.c{i})::pg_catalog.oid::pg_catalog.text"
        ));
    }
    p.put(" FROM (SELECT 1) AS o LEFT JOIN (SELECT true AS p, q.* FROM (");
    p.query(&wanted.query);
    p.put(") AS q");
    p.columns(width);
    p.put(&format!(" LIMIT {}) AS x ON true", wanted.most(policy.limits.max_in_list) + 1));
    p.done()
}
