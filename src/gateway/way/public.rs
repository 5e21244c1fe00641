//! Plans without a charge: over public tables, over what was collected, and statements over private tables that cost nothing.
//! PostgreSQL answers them as it finishes others, from the statement as it was resolved.

use crate::gateway::known::remembered::{Key, PublicText, may_be_outdated};
use crate::gateway::private::columns::params;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::{Columns, Typed};
use answer::{ClientError, Field, Notice, Outcome};
use emit::print;
use futures::StreamExt;
use plan::{Free, Plan};
use record::{Outcome as Answered, answered};

impl Ask<'_> {
    /// The answer of a plan without a charge.
    pub(super) async fn answer_public(
        &self,
        typed: Typed,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let Typed { planned, columns, .. } = typed;
        let (plan, mut constants) = (planned.plan, planned.constants);
        if let Some(free) = &plan.free {
            answered(Answered::Free);
            notices.extend(free.notice().filter(|_| self.settings.notices()).map(Notice::new));
        }
        self.tell_collected(&plan, notices);
        if plan.free == Some(Free::NoRows) {
            let rows = futures::stream::empty().boxed();
            return Ok(Outcome::Rows { fields: columns.fields, rows, verb: "SELECT", count: true });
        }
        constants.own = self.own_rows(&plan.statement).await?;
        let (text, arrays) = print::finish(&plan, &self.gateway.policy, &constants, &[]);
        let params = params(&plan, &[], &arrays)?;
        let once = columns.once().iter().map(|f| Field { format: 0, ..f.clone() }).collect();
        let answered = self.public_rows(&text.sql, &params, columns).await?;
        // Estimates say what they are each time.
        let collected = !plan::explain::collected::of(&plan, &self.gateway.policy).is_empty();
        let public = plan.releases.is_empty() && plan.free.is_none() && params.is_empty() && text.lasting;
        let key = planned.key.filter(|_| planned.snapped.is_none() && public && !collected);
        if let Some(key) = key {
            self.gateway.known.public.keep(key, PublicText { sql: text.sql, fields: once });
        }
        Ok(answered)
    }

    /// The answer of a text that was remembered; None where columns or names may be others now, and it is forgotten.
    pub async fn answer_remembered(
        &self,
        key: &Key,
        public: &PublicText,
        columns: Columns,
    ) -> Result<Option<Outcome>, ClientError> {
        match self.public_rows(&public.sql, &[], columns).await {
            Err(e) if may_be_outdated(&e) => {
                self.gateway.known.public.forget(key);
                Ok(None)
            }
            answered => answered.map(Some),
        }
    }

    /// Says what estimates over what was collected are.
    pub(super) fn tell_collected(&self, plan: &Plan, notices: &mut Vec<Notice>) {
        if self.settings.notices() {
            let collected = plan::explain::collected::of(plan, &self.gateway.policy);
            let notice = plan::explain::collected::notice(&collected, self.settings.consistent());
            notices.extend(notice.map(Notice::new));
        }
    }
}
