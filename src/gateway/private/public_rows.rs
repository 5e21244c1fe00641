//! Public rows that a plan needs: asked for by the login that reads public tables only, and put into the statement as
//! typed constants.

use super::constant_folding::round_trip;
use super::parameters;
use crate::gateway::session::ask::Ask;
use crate::gateway::typing_error;
use answer::{ClientError, SqlState};
use backend::RelayError;
use emit::print::{self, Constants};
use plan::PublicRows;
use policy::Policy;
use sql::ast::{Expr, Statement};

impl Ask<'_> {
    /// Reads them.
    pub(in crate::gateway) async fn read_public(
        &self,
        statement: &mut Statement,
        wanted: &PublicRows,
        policy: &Policy,
        constants: &Constants,
    ) -> Result<(), ClientError> {
        let text = print::public_rows(statement, wanted, policy, constants);
        let settings = round_trip(&self.settings.backend());
        let failed = |e: RelayError| typing_error(e, &text, &statement.bindings);
        let rows = self
            .gateway
            .backend
            .serve(self.behalf(true), &settings, &text.sql, &[], &[0])
            .await
            .map_err(failed)?;
        let rows = rows.into_texts().await.map_err(failed)?;
        put(statement, wanted, policy, &rows)
    }
}

/// Puts rows into a statement, as [`print::public_rows`] reads them.
pub fn put(
    statement: &mut Statement,
    wanted: &PublicRows,
    policy: &Policy,
    rows: &[Vec<Option<String>>],
) -> Result<(), ClientError> {
    let (mut values, mut types) = (Vec::new(), Vec::new());
    for row in rows {
        let Some((present, cells)) = row.split_first() else { return Err(defect()) };
        types = typed(cells, policy, true)?;
        if present.is_some() {
            values.push(typed(cells, policy, false)?);
        }
    }
    wanted.put(statement, values, types, policy.limits.max_in_list)
}

/// Constants from texts and OIDs of types; or NULLs of these types.
fn typed(cells: &[Option<String>], policy: &Policy, null: bool) -> Result<Vec<Expr>, ClientError> {
    let each = cells.chunks_exact(2).map(|cell| {
        let [text, oid] = cell else { return Err(defect()) };
        let oid: u32 = oid.as_ref().and_then(|o| o.parse().ok()).ok_or_else(defect)?;
        // `unknown`: a string that nothing gave a type.
        let ty = parameters::scalar(if oid == 705 { 25 } else { oid }, policy).ok_or_else(|| {
            ClientError::unsupported(format!(
                "a column of this type (OID {oid}) in public rows that are computed beside private ones is not supported"
            ))
            .hint("Leave it out, or cast it to text or to a number.")
        })?;
        Ok(parameters::constant(text.as_deref().filter(|_| !null), &ty, None))
    });
    each.collect()
}

fn defect() -> ClientError {
    ClientError::incident(
        SqlState::INTERNAL,
        "public rows could not be read",
        &"the answer has another shape",
    )
}
