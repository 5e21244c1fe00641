//! EXPLAIN, which wraps the way of its query; with ANALYZE the query is asked as well.

use super::written::Written;
use crate::gateway::Session;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::{Columns, Planned, Typed};
use crate::gateway::tell::explanation::Explained;
use ::catalogs::Rewritten;
use answer::{ClientError, Notice, Outcome, Values};
use futures::TryStreamExt;
use policy::Mode;
use sql::Explain;
use std::sync::Arc;

impl Ask<'_> {
    /// The explanation of a query that is planned.
    pub async fn explain_planned(
        &self,
        planned: Planned,
        asked: &Written<'_>,
        (text, explain): (&Arc<str>, Explain),
        (types, values): (&[u32], &Values),
        notices: &mut Vec<Notice>,
    ) -> Result<Explained, ClientError> {
        let private = planned.plan.charge.is_some();
        let explained = self.explained(planned, explain).await?;
        if !explain.analyze {
            return Ok(explained);
        }
        let resolved = self.resolve(asked.query, asked.lines)?;
        let planned = self.plan(resolved.clone(), self.constants(), types, values).await?;
        let statement = planned.columns(&resolved);
        let typed = self.type_check(&statement, private, types, &planned.constants).await?;
        let (columns, text) = (Columns::text(typed.fields), text.clone());
        let charged = planned.plan.charge.is_some() && self.mode() == Mode::Private;
        let answered = self.answer(Typed { planned, columns, text }, notices).await?;
        Ok(explained.and_asked(rows_of(answered).await?, charged))
    }
}

impl Session {
    /// The explanation of a statement over the catalogs.
    pub(in crate::gateway) async fn explain_catalogs(
        &mut self,
        rewritten: Rewritten,
        explain: Explain,
        types: &[u32],
        values: &Values,
        notices: &mut Vec<Notice>,
    ) -> Result<Explained, ClientError> {
        let explained = Explained::of_catalogs(explain);
        if !explain.analyze {
            return Ok(explained);
        }
        let answered = self.run_catalogs(rewritten, types, values, None, notices).await?;
        Ok(explained.and_asked(rows_of(answered).await?, false))
    }
}

/// Number of rows of an outcome.
async fn rows_of(answered: Outcome) -> Result<u64, ClientError> {
    match answered {
        Outcome::Rows { rows, .. } => rows.try_fold(0u64, |n, _| async move { Ok(n + 1) }).await,
        Outcome::Complete(_) | Outcome::Empty => Ok(0),
    }
}
