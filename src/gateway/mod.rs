//! The way of a statement: parse, prepare, bind, execute.
//!
//! [`Session::parse`] makes statements of a message. What follows has three steps, which the extended protocol takes one by one:
//! [`Session::describe`], [`Session::bind`], [`Session::execute`]; the simple protocol, [`Session::run`], prepares, binds without
//! values, and executes in text. Each step asks `way` who answers the statement; in front of it stands what is remembered of
//! statements (`remembered`), under a key of all that they are read by.
//!
//! For private rows the order is the guarantee, and `way::private` and `pay` keep it by types: nothing is debited before the database
//! has typed the statement, nothing private is read before the debit is on disk, and nothing leaves but what was perturbed against
//! a receipt, now or when it was asked first. `planning` resolves and plans, with constants from `constant_folding` and
//! `public_rows`; `typing` has PostgreSQL type; `execution` looks for stored answers and has `pay` charge, fetch and release the
//! others; `finish` finishes; `advice` says of a refusal at what price it would not be one; `stream` asks a stream.
//!
//! A session holds state (`session`); what answers gets an `Ask` (`session::ask`), which nothing changes.

mod known;
mod private;
mod serve;
mod session;
mod tell;
mod way;

pub use private::measuring;
pub use private::stream::StreamStanding;
pub use private::synthetic::Texts;
pub use private::typing::typing_error;
pub use private::{columns, finish, private_groups, public_rows, rounds, stages, straight};
pub use serve::active::ActiveGateway;
pub use serve::audit;
pub use serve::databases::{Database, Databases};
pub use serve::history::{History, Reopened};
pub use serve::present::{Connected, Present};
pub use serve::reached::{Reached, same_books};
pub use serve::shared::Gateway;
pub use serve::startup::{Checked, OpenError};
pub use session::statement::{Portal, Statement, Watched};
pub use session::{Session, settings};
pub use tell::help;
pub use way::report::{Analyser, signed};

use crate::beside::off_sockets;
use answer::{ClientError, Description, Notice, Outcome, Values};
use known::remembered::may_be_outdated;
use policy::Mode;
use session::statement::control_here;
use sql::Kind;
use std::sync::Arc;
use way::Bound;

impl Session {
    /// Parses a message into its statements; what writes is refused here.
    pub fn parse(&mut self, sql: &str) -> Result<Vec<Statement>, ClientError> {
        self.follow()?;
        // What might be said is not remembered, and what others asked is not to be had by who reads nothing.
        let confides = self.confides(sql);
        if !confides && let Some(known) = self.gateway.known.parsed.get(sql) {
            return Ok(known);
        }
        let _under_way = self.under_way(self.shape(sql), false)?;
        let parsed = off_sockets(|| sql::parse::parse(sql, &self.gateway.policy.limits))?;
        let (collects, writes) = (!self.gateway.policy.collects.is_empty(), self.ask().writes());
        let statements = parsed.into_iter().map(|p| Statement::of(p, collects, writes));
        let mut statements = tell::budget_split::gathered(statements.collect::<Result<_, _>>()?)?;
        statements.iter_mut().for_each(|s| s.watched.shape = self.shape(&s.text));
        if !confides {
            self.gateway.known.parsed.keep(sql, &statements);
        }
        Ok(statements)
    }

    /// The simple protocol: prepare, bind without values, execute in text.
    pub async fn run(
        &mut self,
        statement: Statement,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        self.follow()?;
        self.queried |= statement.is_query();
        if let Kind::Explain(_, _, explain) = &*statement.kind
            && let Some(budget) = explain.budget.filter(|_| self.ask().mode() != Mode::Passthrough)
        {
            return self.ask().split(&statement, *explain, budget).await;
        }
        let key = self.key(&statement.kind, &statement.text, &[], &Values::default());
        if let Some((bound, fields)) = self.ask().known(key.as_ref()) {
            let portal = self.portal(&statement, Description::of(fields), Values::default(), bound);
            if let Some(outcome) = self.outcome(portal, notices).await? {
                return Ok(outcome);
            }
        }
        let told = notices.len();
        for fresh in [false, true] {
            let (bound, fields, doubtful) = self.ask().prepare(&statement, key.clone(), fresh).await?;
            let description = Description { parameters: Vec::new(), fields };
            let portal = self.portal(&statement, description, Values::default(), bound);
            match self.outcome(portal, notices).await {
                Err(e) if doubtful && may_be_outdated(&e) => notices.truncate(told),
                done => return done?.ok_or_else(control_here),
            }
        }
        Err(control_here())
    }

    /// Parse: types of parameters and columns. `types` are the client's; 0 leaves one open.
    pub async fn describe(
        &mut self,
        statement: &Statement,
        types: &[u32],
    ) -> Result<Description, ClientError> {
        self.follow()?;
        self.queried |= statement.is_query();
        self.ask().describe(statement, types).await
    }

    /// Bind: the statement with the values of its parameters.
    pub async fn bind(
        &mut self,
        statement: &Statement,
        description: &Description,
        values: Values,
    ) -> Result<Portal, ClientError> {
        self.follow()?;
        self.queried |= statement.is_query();
        let key = self.key(&statement.kind, &statement.text, &description.parameters, &values);
        let bound = self.ask().bind(statement, key, description, &values).await?;
        let bound = match bound {
            Bound::Planned(planned) => Bound::Kept(self.bound(*planned, statement.plan_bytes())),
            other => other,
        };
        Ok(self.portal(statement, description.clone(), values, bound))
    }

    /// Execute.
    pub async fn execute(
        &mut self,
        mut portal: Portal,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        self.follow()?;
        if let Bound::Kept(number) = portal.bound
            && let Some(planned) = self.plan_of(number)
        {
            portal.bound = Bound::Planned(Box::new(planned));
        }
        // Another policy came into force since Bind, or another portal was bound.
        if !Arc::ptr_eq(&portal.gateway, &self.gateway) || matches!(portal.bound, Bound::Kept(_)) {
            portal = self.bound_again(portal.unbound()).await?;
        }
        let again = matches!(portal.bound, Bound::Remembered(..)).then(|| portal.unbound());
        match (self.outcome(portal, notices).await?, again) {
            (Some(outcome), _) => Ok(outcome),
            (None, Some(again)) => {
                let portal = self.bound_again(again).await?;
                self.outcome(portal, notices).await?.ok_or_else(control_here)
            }
            (None, None) => Err(control_here()),
        }
    }

    /// A portal bound anew. However large its plan is, it is not kept: it runs now.
    async fn bound_again(
        &mut self,
        (statement, description, values): (Statement, Description, Values),
    ) -> Result<Portal, ClientError> {
        let key = self.key(&statement.kind, &statement.text, &description.parameters, &values);
        let bound = self.ask().bind(&statement, key, &description, &values).await?;
        Ok(self.portal(&statement, description, values, bound))
    }
}
