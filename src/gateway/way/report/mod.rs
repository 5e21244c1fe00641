//! Writing to what is collected: rows come as INSERT or COPY FROM, and become randomised reports before anything else.
//!
//! A value is looked up in its column's public domain and randomised at once (`encode`); from there on there are reports only.
//! Outside of a transaction block a statement's reports are stored, all or none, before it is acknowledged. Inside of one they
//! wait for COMMIT, and savepoints undo them. What is stored together is stored in a random order. No message, log or
//! record holds a value: errors name columns and rows.

mod analyser;
mod batch;
mod binary;
mod copy;
mod encode;
mod persons;
mod stored;
mod tuples;

pub use analyser::Analyser;
pub use persons::{ToldApart, secrets, signed};

use crate::gateway::Session;
use crate::gateway::session::ask::Ask;
use ::persons::Secret;
use answer::{ClientError, Copy, Description, Notice, Outcome, SqlState, Values};
use backend::{Backend, Cells, ConnectError, Reports, Target};
use batch::{Receiving, sealed_only};
use copy::Decoder;
use dp::SecureRng;
pub use encode::Encoder;
use encode::Row;
use policy::{Collect, Policy};
use sql::{Cell, Insert};
use std::sync::Arc;
use stored::{no_entropy, not_stored, put, target, too_many};

/// The login that writes, if the policy names one. What is in it can be seen in this file alone.
pub struct Collecting {
    reports: Option<Reports>,
    persons: persons::Files,
}

impl Collecting {
    /// Connects it.
    pub async fn connect(policy: &policy::Backend, backend: &Backend) -> Result<Self, ConnectError> {
        let reports = Reports::connect(policy, backend).await?;
        Ok(Self { reports, persons: persons::Files::default() })
    }

    /// Opens the files in which it is kept who has said how much; those that are open stay so.
    pub fn told_apart(&self, policy: &Policy, secrets: Vec<Secret>) -> Result<Vec<Arc<ToldApart>>, String> {
        self.persons.open(policy, secrets)
    }

    /// Checks that the login has just the rights that it needs.
    pub async fn prove(&self, policy: &Policy) -> Result<(), String> {
        let Some(reports) = &self.reports else { return Ok(()) };
        let targets: Vec<Target> = policy.collects.iter().map(target).collect();
        let problems = reports.problems(&targets).await?;
        if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
    }
}

/// Reports of one session that are not stored yet.
#[derive(Default)]
pub struct Writing {
    /// Of which relation, and its cells.
    waiting: Vec<(Arc<Encoder>, Row)>,
    /// Names of savepoints, and how many waited then.
    marks: Vec<(String, usize)>,
    /// In a transaction block.
    open: bool,
    /// A COPY that is under way.
    copying: Option<Copying>,
    /// Encoders of relations, made of the policy's domains.
    pub encoders: Vec<Arc<Encoder>>,
}

enum Copying {
    /// Rows as they are.
    Rows(Box<Rows>),
    /// A batch of a shuffler.
    Batch(Receiving),
}

struct Rows {
    encoder: Arc<Encoder>,
    /// The column of each cell.
    places: Vec<usize>,
    decoder: Decoder,
    reports: Vec<Row>,
    rng: SecureRng,
}

impl Writing {
    /// The virtual transaction took a step.
    pub fn transaction(&mut self, step: &sql::Control) {
        use sql::Control as C;
        match step {
            C::Begin(_) | C::Start(_) => self.open = true,
            C::Commit { chain } | C::Rollback { chain } => {
                self.open = *chain;
                self.waiting = Vec::new();
                self.marks = Vec::new();
            }
            C::Savepoint(name) => self.marks.push((name.clone(), self.waiting.len())),
            C::Release(name) => {
                if let Some(at) = self.marks.iter().rposition(|(n, _)| n == name) {
                    self.marks.truncate(at);
                }
            }
            C::RollbackTo(name) => {
                if let Some(at) = self.marks.iter().rposition(|(n, _)| n == name) {
                    self.marks.truncate(at + 1);
                    self.waiting.truncate(self.marks.last().map_or(0, |(_, n)| *n));
                }
            }
            _ => {}
        }
    }
}

impl<'s> Ask<'s> {
    /// Whether this login writes to what is collected, and reads nothing.
    pub fn writes(&self) -> bool {
        let gateway = self.gateway;
        let (user, role) = (&self.identity.user, self.identity.role.as_deref());
        gateway.policy.collects.iter().any(|c| c.admits(user, role))
    }

    /// Refuses a statement that reads a relation to those who write.
    pub fn reads_something(&self) -> Result<(), ClientError> {
        if !self.writes() {
            return Ok(());
        }
        let message = "permission denied: a login that writes to what is collected reads nothing";
        Err(ClientError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
            .hint("Ask as another user; the policy's [collect] names those who write."))
    }

    /// The relation that a statement writes to, if this login may.
    fn written(&self, insert: &Insert) -> Result<&'s Collect, ClientError> {
        let policy = &self.gateway.policy;
        let in_public = insert.schema.as_deref().is_none_or(|s| s == policy::View::SCHEMA);
        let collect = policy.collects.iter().find(|c| in_public && c.name == insert.relation);
        let Some(collect) = collect.filter(|c| c.admits(&self.identity.user, self.identity.role.as_deref()))
        else {
            if !self.writes() {
                return Err(insert.read_only());
            }
            let message = "permission denied: this login does not write to that relation";
            return Err(ClientError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .hint("The policy's [collect] says who writes where.")
                .at(insert.at));
        };
        Ok(collect)
    }

    /// The encoder of a statement's rows: one that the session has, or a new one.
    fn encoder(&self, insert: &Insert) -> Result<Arc<Encoder>, ClientError> {
        let collect = self.written(insert)?;
        if collect.shuffled().is_some() {
            return Err(sealed_only(collect).at(insert.at));
        }
        let known = self.encoders.iter().find(|e| e.collect == *collect).cloned();
        Ok(known.unwrap_or_else(|| Arc::new(Encoder::new(collect, self.secret(collect)))))
    }

    /// The types of an INSERT's parameters: they have the types of their columns, where the client says nothing.
    pub fn describe_report(&self, insert: &Insert, types: &[u32]) -> Result<Description, ClientError> {
        if insert.is_copy() {
            self.written(insert)?;
            return Ok(Description { parameters: Vec::new(), fields: None });
        }
        let encoder = self.encoder(insert)?;
        let rows = insert.rows.as_ref().map_err(Clone::clone)?;
        let places = encoder.places(insert.columns.as_deref(), insert.at)?;
        let mut parameters = vec![0; insert.parameters().max(types.len())];
        for row in rows {
            for (cell, place) in row.iter().zip(&places) {
                // What stands in a set is a text.
                let wanted = if matches!(cell, Cell::List(_)) { 25 } else { encoder.type_of(*place) };
                for n in cell.parameters() {
                    if let Some(ty) = n.checked_sub(1).and_then(|n| parameters.get_mut(n)) {
                        *ty = wanted;
                    }
                }
            }
        }
        for (i, given) in types.iter().enumerate().filter(|(_, t)| **t != 0 && **t != 705) {
            if let Some(ty) = parameters.get_mut(i) {
                *ty = *given;
            }
        }
        if let Some(open) = parameters.iter().position(|t| *t == 0) {
            let message = format!("could not determine data type of parameter ${}", open + 1);
            return Err(ClientError::new(SqlState(*b"42P18"), message));
        }
        Ok(Description { parameters, fields: None })
    }

    /// The login that writes.
    fn login(&self) -> Result<&'s Reports, ClientError> {
        self.gateway.collecting.reports.as_ref().ok_or_else(|| {
            let message = "the login that writes reports is not connected";
            ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("backend.collect_url was added by a reload; it needs a restart.")
        })
    }
}

impl Session {
    /// The number of rows that may still wait, and of all that may.
    fn room(&self) -> (usize, usize) {
        let most = self.gateway.policy.limits.max_waiting_rows;
        (most.saturating_sub(self.writing.waiting.len()), most)
    }

    /// The encoder of a statement's rows, kept for those that come after it.
    fn encoder(&mut self, insert: &Insert) -> Result<Arc<Encoder>, ClientError> {
        let encoder = self.ask().encoder(insert)?;
        self.writing.encoders.retain(|e| e.collect.name != encoder.collect.name);
        self.writing.encoders.push(encoder.clone());
        Ok(encoder)
    }

    /// INSERT: all of its rows, or none.
    pub(in crate::gateway) async fn insert(
        &mut self,
        insert: &Insert,
        types: &[u32],
        values: &Values,
    ) -> Result<Outcome, ClientError> {
        let encoder = self.encoder(insert)?;
        let rows = insert.rows.as_ref().map_err(Clone::clone)?;
        let places = encoder.places(insert.columns.as_deref(), insert.at)?;
        let mut rng = SecureRng::new().map_err(no_entropy)?;
        let mut reports = Vec::with_capacity(rows.len());
        for (n, row) in rows.iter().enumerate() {
            let texts: Vec<Option<String>> =
                row.iter().map(|cell| encode::text(cell, types, values)).collect::<Result<_, _>>()?;
            let cells: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
            reports.push(encoder.report(&places, &cells, n + 1, &mut rng)?);
        }
        let count = reports.len();
        self.take(encoder, reports).await?;
        Ok(Outcome::Complete(format!("INSERT 0 {count}")))
    }

    /// COPY FROM STDIN begins; how many columns its rows have.
    pub fn copy_begin(&mut self, portal: &crate::gateway::Portal, copy: Copy) -> Result<usize, ClientError> {
        self.follow()?;
        let sql::Kind::Insert(insert) = &*portal.kind else {
            return Err(crate::gateway::session::statement::control_here());
        };
        let collect = self.ask().written(insert)?;
        if collect.shuffled().is_some() {
            self.writing.copying = Some(Copying::Batch(self.receive(collect, insert, &copy)?));
            return Ok(1);
        }
        let encoder = self.encoder(insert)?;
        let places = encoder.places(insert.columns.as_deref(), None)?;
        let decoder = Decoder::new(copy, places.iter().map(|place| encoder.type_of(*place)).collect());
        let rng = SecureRng::new().map_err(no_entropy)?;
        let columns = places.len();
        let rows = Rows { encoder, places, decoder, reports: Vec::new(), rng };
        self.writing.copying = Some(Copying::Rows(Box::new(rows)));
        Ok(columns)
    }

    /// More of a COPY. After an error nothing of it is left.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<(), ClientError> {
        let room = self.room();
        let mut copying =
            self.writing.copying.take().ok_or_else(crate::gateway::session::statement::control_here)?;
        match &mut copying {
            Copying::Rows(rows) => {
                rows.decoder.push(data);
                rows.take(room)?;
            }
            Copying::Batch(batch) => batch.push(data)?,
        }
        self.writing.copying = Some(copying);
        Ok(())
    }

    /// All of a COPY has come: how many rows.
    pub async fn copy_end(&mut self, notices: &mut Vec<Notice>) -> Result<u64, ClientError> {
        let room = self.room();
        let mut rows =
            match self.writing.copying.take().ok_or_else(crate::gateway::session::statement::control_here)? {
                Copying::Rows(rows) => rows,
                Copying::Batch(batch) => return self.store_batch(batch, notices).await,
            };
        rows.decoder.end();
        rows.take(room)?;
        let Rows { encoder, reports, .. } = *rows;
        let count = reports.len() as u64;
        self.take(encoder, reports).await?;
        Ok(count)
    }

    /// Nothing of a COPY is left.
    pub fn copy_abandon(&mut self) {
        self.writing.copying = None;
    }

    /// Keeps reports for COMMIT, or stores them.
    async fn take(&mut self, encoder: Arc<Encoder>, reports: Vec<Row>) -> Result<(), ClientError> {
        let most = self.gateway.policy.limits.max_waiting_rows;
        if self.writing.waiting.len() + reports.len() > most {
            return Err(too_many(most));
        }
        let reports = reports.into_iter().map(|r| (encoder.clone(), r));
        if self.writing.open {
            self.writing.waiting.extend(reports);
            return Ok(());
        }
        let reports = reports.collect();
        self.store(reports).await
    }

    /// Stores what waits, before a COMMIT.
    pub async fn commit(&mut self) -> Result<(), ClientError> {
        let waiting = std::mem::take(&mut self.writing.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        self.store(waiting).await
    }

    async fn store(&mut self, mut reports: Vec<(Arc<Encoder>, Row)>) -> Result<(), ClientError> {
        self.follow()?;
        // Under a policy that collects otherwise, these are no reports.
        let stands = |e: &Encoder| self.gateway.policy.collects.contains(&e.collect);
        if !reports.iter().all(|(e, _)| stands(e)) {
            let message = "what is collected has changed since the transaction began; nothing was stored";
            return Err(
                ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint("Write it again.")
            );
        }
        let mut encoders: Vec<Arc<Encoder>> = reports.iter().map(|(e, _)| e.clone()).collect();
        encoders.dedup_by(|a, b| Arc::ptr_eq(a, b));
        for (i, encoder) in encoders.iter().enumerate() {
            // All rows of a relation at once, though others stand between them.
            if encoders.iter().take(i).any(|e| Arc::ptr_eq(e, encoder)) {
                continue;
            }
            let own = reports.iter().filter(|(e, _)| Arc::ptr_eq(e, encoder));
            let persons = own.filter_map(|(_, row)| row.person).collect();
            self.ask().charge(&encoder.collect, persons).await?;
        }
        let login = self.ask().login()?;
        let mut rng = SecureRng::new().map_err(no_entropy)?;
        dp::shuffle::permute(&mut reports, &mut rng).map_err(no_entropy)?;
        let mut tables: Vec<(Arc<Encoder>, Vec<Cells>)> = Vec::new();
        for (encoder, Row { report, .. }) in reports {
            let place = tables.iter().position(|(e, _)| Arc::ptr_eq(e, &encoder)).unwrap_or_else(|| {
                tables.push((encoder.clone(), encode::columns(&encoder.collect)));
                tables.len() - 1
            });
            if let Some((_, columns)) = tables.get_mut(place) {
                columns.iter_mut().zip(report).for_each(|(column, cell)| put(column, cell));
            }
        }
        let tables: Vec<_> = tables.into_iter().map(|(e, columns)| (target(&e.collect), columns)).collect();
        login.store(&tables).await.map_err(not_stored)
    }
}

impl Rows {
    /// Makes reports of the rows that are whole.
    fn take(&mut self, (room, most): (usize, usize)) -> Result<(), ClientError> {
        while let Some(row) = self.decoder.row()? {
            if self.reports.len() >= room {
                return Err(too_many(most));
            }
            let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
            let n = self.reports.len() + 1;
            self.reports.push(self.encoder.report(&self.places, &cells, n, &mut self.rng)?);
        }
        Ok(())
    }
}
