//! Ways of statements: who answers one. [`Ask::route`] decides that, and each way has a file: its
//! columns (`describe`), what is made of it with the values of its parameters (`bind`), and its
//! rows (`execute`).
//!
//! | way | statements |
//! |---|---|
//! | `session` | SET, SHOW and their like |
//! | `report` | INSERT into what is collected |
//! | `owner` | all of a passthrough role: the database answers them as they stand |
//! | `catalog` | those over the system catalogs |
//! | `public`, `private` | queries that have a plan (`planned`): over public tables and collected relations, or over private rows |
//!
//! Whether a plan is public or private is known when it is made, so that [`Way::Planned`] is one
//! way until then. EXPLAIN wraps the way of its query (`explain`).

pub mod catalog;
pub mod explain;
pub mod owner;
pub mod planned;
pub mod private;
pub mod public;
pub mod report;
pub mod session;
mod written;

use crate::gateway::Session;
use crate::gateway::known::remembered::{Key, PublicText};
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::{Columns, Planned, Portal, Statement, Typed, control_here};
use crate::gateway::tell::{budget_split, explanation};
use ::catalogs::Rewritten;
use answer::{ClientError, Description, Field, Notice, Outcome, Values};
use owner::Owner;
use planned::Resolved;
use policy::Mode;
use sql::{Insert, Kind, SessionStatement};
use std::sync::Arc;
use written::Written;

/// The way of a statement.
pub(super) enum Way<'s> {
    /// The session's own.
    Session(&'s SessionStatement),
    /// Rows for what is collected.
    Report(&'s Insert),
    /// The database's, as it stands.
    Owner(Owner<'s>),
    /// The catalogs'.
    Catalog(Rewritten),
    /// A plan's.
    Planned(Resolved),
    /// The frontend's: transactions, cursors, prepared statements.
    Control,
}

/// A statement whose parameters have values, ready to run.
pub(super) enum Bound {
    /// The statement needs nothing more: the session's own, or rows for a collected relation.
    Itself,
    /// The database answers it as it stands.
    Owner,
    /// Over the catalogs.
    Catalog(Box<Rewritten>),
    /// A text over public tables that ran before, and what it was remembered by.
    Remembered(Key, Arc<PublicText>),
    /// A plan.
    Planned(Box<Planned>),
    /// A plan that the session keeps, under its number.
    Kept(u64),
}

impl<'s> Ask<'s> {
    /// The way of a statement. `lengths`: those of its parameters' values, where they are known.
    pub async fn route<'w>(
        &'w self,
        kind: &'w Kind,
        lengths: Option<&[usize]>,
    ) -> Result<Way<'w>, ClientError> {
        let asked = match (kind, Written::of(kind)) {
            (Kind::Session(s), _) => return Ok(Way::Session(s)),
            (Kind::Insert(insert), _) => return Ok(Way::Report(insert)),
            (_, Some(asked)) => asked,
            _ => return Ok(Way::Control),
        };
        let limits = &self.gateway.policy.limits;
        if let Some(owner) = self.owner()? {
            sql::text_size::pulled_up(asked.query, asked.lines, limits)?;
            return Ok(Way::Owner(owner));
        }
        sql::text_size::check(asked.query, asked.lines, lengths, limits)?;
        if !asked.arguments
            && let Some(rewritten) = self.over_catalogs(asked.query, asked.lines).await?
        {
            return Ok(Way::Catalog(rewritten));
        }
        Ok(Way::Planned(self.resolved(&asked)?))
    }

    /// Types of parameters and columns.
    pub async fn describe(&self, statement: &Statement, types: &[u32]) -> Result<Description, ClientError> {
        let explain = match &*statement.kind {
            Kind::Explain(_, _, explain) if explain.budget.is_some() => {
                return Err(budget_split::simple_only());
            }
            Kind::Explain(_, _, explain) => Some(*explain),
            _ => None,
        };
        match self.route(&statement.kind, None).await? {
            Way::Session(s) => Ok(Description::of(session::fields(s))),
            Way::Owner(owner) => owner.describe(&statement.kind, &statement.text, types).await,
            Way::Catalog(rewritten) => {
                let mut described = self.describe_catalogs(&rewritten, types).await?;
                if let Some(explain) = explain {
                    described.fields = Some(explanation::fields(explain.json));
                }
                Ok(described)
            }
            Way::Planned(resolved) => self.describe_planned(resolved, types).await,
            Way::Report(insert) => self.describe_report(insert, types),
            Way::Control => Ok(Description { parameters: Vec::new(), fields: None }),
        }
    }

    /// A statement with the values of its parameters.
    pub async fn bind(
        &self,
        statement: &Statement,
        key: Option<Key>,
        description: &Description,
        values: &Values,
    ) -> Result<Bound, ClientError> {
        if let Some((bound, _)) = self.known(key.as_ref()) {
            if let Bound::Planned(planned) = &bound {
                planned.described(description.fields.as_deref())?;
            }
            return Ok(bound);
        }
        let lengths: Vec<usize> =
            values.parameters.iter().map(|v| v.as_ref().map_or(0, bytes::Bytes::len)).collect();
        Ok(match self.route(&statement.kind, Some(&lengths)).await? {
            Way::Session(_) | Way::Report(_) | Way::Control => Bound::Itself,
            Way::Owner(_) => Bound::Owner,
            Way::Catalog(rewritten) => Bound::Catalog(Box::new(rewritten)),
            Way::Planned(resolved) => {
                let (fields, bytes) = (description.fields.as_deref(), statement.plan_bytes());
                let types = &description.parameters;
                let planned = self.bind_planned(resolved, key, (types, values), fields, bytes).await?;
                Bound::Planned(Box::new(planned))
            }
        })
    }

    /// A statement of the simple protocol, its columns where they are known, and whether these are of another time.
    pub async fn prepare(
        &self,
        statement: &Statement,
        key: Option<Key>,
        fresh: bool,
    ) -> Result<(Bound, Option<Vec<Field>>, bool), ClientError> {
        Ok(match self.route(&statement.kind, None).await? {
            Way::Session(_) | Way::Report(_) | Way::Control => (Bound::Itself, None, false),
            Way::Owner(_) => (Bound::Owner, None, false),
            Way::Catalog(rewritten) => {
                let explain = matches!(&*statement.kind, Kind::Explain(..));
                if explain {
                    self.describe_catalogs(&rewritten, &[]).await?;
                }
                (Bound::Catalog(Box::new(rewritten)), None, false)
            }
            Way::Planned(resolved) => {
                let prepared = self.prepare_planned(resolved, key, statement.plan_bytes(), fresh).await?;
                (Bound::Planned(Box::new(prepared.planned)), Some(prepared.fields), prepared.doubtful)
            }
        })
    }

    /// A statement that was remembered under a key, ready to run, and its columns then.
    pub fn known(&self, key: Option<&Key>) -> Option<(Bound, Vec<Field>)> {
        let key = key.filter(|_| self.mode() != Mode::Passthrough)?;
        if let Some(public) = self.gateway.known.public.get(key) {
            let fields = public.fields.clone();
            return Some((Bound::Remembered(key.clone(), public), fields));
        }
        let (planned, fields) = self.planned_before(key)?;
        Some((Bound::Planned(Box::new(planned)), fields))
    }
}

impl Session {
    /// A portal of the gateway in force.
    pub(super) fn portal(
        &self,
        statement: &Statement,
        description: Description,
        values: Values,
        bound: Bound,
    ) -> Portal {
        let Statement { kind, text, tokens, watched, .. } = statement.clone();
        let gateway = self.gateway.clone();
        Portal { gateway, kind, text, tokens, description, values, bound, watched }
    }

    /// The outcome of a portal; None where it rests on columns that may be others now: it is to be bound anew.
    pub(super) async fn outcome(
        &mut self,
        portal: Portal,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Outcome>, ClientError> {
        let promised = portal.promised();
        let Portal { kind, text, description, values, bound, .. } = portal;
        let types = &description.parameters;
        let planned = match bound {
            Bound::Remembered(key, public) => {
                let columns = promised.unwrap_or_else(|| Columns::text(public.fields.clone()));
                return self.ask().answer_remembered(&key, &public, columns).await;
            }
            Bound::Owner => {
                for set in self.ask().set_by_owner(&kind, &text).await? {
                    self.set_config(&set, &values, notices).await?;
                }
                let owner = self.ask().owner()?.ok_or_else(control_here)?;
                let answered = owner.execute((&kind, &text), types, &values, promised, notices);
                return answered.await.map(Some);
            }
            Bound::Catalog(rewritten) => {
                let Kind::Explain(_, _, explain) = &*kind else {
                    return self.run_catalogs(*rewritten, types, &values, promised, notices).await.map(Some);
                };
                let fields = promised.map_or_else(|| explanation::fields(explain.json), |p| p.fields);
                let explained = self.explain_catalogs(*rewritten, *explain, types, &values, notices).await?;
                return Ok(Some(explained.rows(fields)));
            }
            Bound::Itself => {
                return match &*kind {
                    Kind::Session(s) => self.execute_own(s, &values, notices).await.map(Some),
                    Kind::Insert(insert) => self.insert(insert, types, &values).await.map(Some),
                    _ => Err(control_here()),
                };
            }
            Bound::Kept(_) => return Ok(None),
            Bound::Planned(planned) => *planned,
        };
        let asked = Written::of(&kind).ok_or_else(control_here)?;
        if let Some(explain) = asked.explain {
            // In the simple protocol the columns of its query were typed.
            let fields = explanation::fields(explain.json);
            let fields = Columns::bound(fields, &values).fields;
            let (of, with) = ((&text, explain), (types.as_slice(), &values));
            let explained = self.ask().explain_planned(planned, &asked, of, with, notices).await?;
            return Ok(Some(explained.rows(fields)));
        }
        let columns = promised.unwrap_or_else(|| Columns::text(Vec::new()));
        self.ask().answer(Typed { planned, columns, text }, notices).await.map(Some)
    }
}
