//! Finish: PostgreSQL computes the rest of the statement over released columns, which are parameters.

use super::columns::{element, params};
use super::straight;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::Columns;
use crate::gateway::way::private::Released;
use answer::{ClientError, Field, Outcome, SqlState};
use backend::{Param, RelayError, Rows};
use emit::print::{self, ArrayParam, Printed};
use futures::StreamExt;
use plan::Plan;

impl Ask<'_> {
    /// Checks that the finish gives the types that the statement was promised: nobody pays for one
    /// with others.
    pub(in crate::gateway) async fn prove_finish(
        &self,
        plan: &Plan,
        (text, arrays): (Printed, Vec<ArrayParam>),
        fields: &[Field],
    ) -> Result<(), ClientError> {
        let gateway = self.gateway;
        let settings = self.settings.backend();
        if let Some(given) = gateway.known.finishes.get(&settings, &text.sql) {
            return same_types(fields, &given);
        }
        let types: Vec<u32> = arrays.iter().map(|a| element(a).array_oid()).collect();
        let (backend, policy) = (&gateway.backend, &gateway.policy);
        let described = backend.describe(&settings, &text.sql, &types).await;
        let given = described.map_err(RelayError::into_finish_error)?.fields;
        // The statement was typed over the tables as they are, and planned as they were when the policy was checked.
        if !have_same_types(fields, &given)
            && let Some(change) = gateway.fingerprints.change(backend, policy, &plan.tables).await
        {
            return Err(change);
        }
        gateway.known.finishes.keep(&settings, &text.sql, &given);
        same_types(fields, &given)
    }

    /// The rows of the analyst's statement over released relations.
    pub(in crate::gateway) async fn finish(&self, released: Released) -> Result<Outcome, ClientError> {
        let Released { plan, mut constants, columns, noisy, .. } = released;
        let policy = &self.gateway.policy;
        if !columns.twice
            && let Some(straight) = print::straight(&plan, policy, &constants)
            && let finishing = record::step(record::Stage::Finish)
            && let Some(rows) = straight::rows(&plan, &noisy, &straight, &columns.fields)?
        {
            drop(finishing);
            let rows = futures::stream::iter(rows.into_iter().map(Ok)).boxed();
            return Ok(Outcome::Rows { fields: columns.fields, rows, verb: "SELECT", count: true });
        }
        constants.own = self.own_rows(&plan.statement).await?;
        let (text, arrays) = print::finish(&plan, policy, &constants, &columns.types());
        let params = params(&plan, &noisy, &arrays)?;
        let (fields, rows) = self.rows(&text.sql, &params, columns, false).await?;
        same_types(&fields, &rows.fields)?;
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    /// The rows of a text over public tables, which may have been altered since it was described.
    pub(in crate::gateway) async fn public_rows(
        &self,
        sql: &str,
        params: &[Param],
        columns: Columns,
    ) -> Result<Outcome, ClientError> {
        let (fields, rows) = self.rows(sql, params, columns, true).await?;
        if !have_same_types(&fields, &rows.fields) {
            return Err(ClientError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            )
            .hint("A table was altered since the statement was described: prepare it again."));
        }
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    /// Rows of a text of the finish login, and the columns that were promised.
    async fn rows(
        &self,
        sql: &str,
        params: &[Param],
        Columns { fields, twice }: Columns,
        public: bool,
    ) -> Result<(Vec<Field>, Rows), ClientError> {
        let gateway = self.gateway;
        let _finishing = record::step(record::Stage::Finish);
        let doubled = twice.then(|| format!("SELECT q.*, q.* FROM ({sql}) AS q"));
        let formats: Vec<i16> = fields.iter().map(|f| f.format).collect();
        let sql = doubled.as_deref().unwrap_or(sql);
        let (asker, settings) = (self.behalf(public), self.settings.backend());
        let rows = gateway.backend.serve(asker, &settings, sql, params, &formats).await;
        Ok((fields, rows.map_err(RelayError::into_finish_error)?))
    }
}

fn have_same_types(promised: &[Field], given: &[Field]) -> bool {
    promised.len() == given.len() && promised.iter().zip(given).all(|(a, b)| a.type_oid == b.type_oid)
}

/// The finish must give the types that the statement was promised.
pub fn same_types(promised: &[Field], given: &[Field]) -> Result<(), ClientError> {
    if have_same_types(promised, given) {
        return Ok(());
    }
    let list = |f: &[Field]| f.iter().map(|f| f.type_oid.to_string()).collect::<Vec<_>>().join(",");
    let cause = format!("promised types {} and got {}", list(promised), list(given));
    Err(ClientError::incident(SqlState::INTERNAL, "the answer has other types than the statement", &cause))
}
