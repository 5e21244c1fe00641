//! Sparse vector streams: which a session asks, and the way of a question to it; `instances` has those that are open.
//!
//! An instance belongs to a user and a stream of the policy; the user's sessions share it, and their questions wait for
//! each other. Its noisy threshold exists here only: when the process ends it is gone, which the ledger's entry of the
//! opening tells the next process.

mod instances;
mod reopen;
mod shown;

pub use instances::StreamStanding;
pub use instances::{Reopening, Streams};

use super::pay::fetches;
use super::reads;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::custom::NoisegateSetting;
use crate::gateway::session::statement::Columns;
use crate::gateway::tell::price::statement_text;
use crate::gateway::way::private::Released;
use answer::{ClientError, Notice, Outcome, SqlState};
use emit::print::Constants;
use instances::{Opening, State, ended};
use ledger::Opened;
use plan::{self, Plan, PlanError, Question};
use policy::Stream;
use release::Exact;
use release::stream::Told;
use sql::ast::Statement;
use sql::functions::nearest_of;

type Result<T> = std::result::Result<T, ClientError>;

impl<'s> Ask<'s> {
    /// The stream that the session asks, if any.
    pub fn selected(&self) -> Option<Result<&'s Stream>> {
        let name = self.settings.get(NoisegateSetting::Stream.name()).filter(|n| !n.is_empty())?;
        Some(self.stream_named(name))
    }

    /// A stream that the user may open.
    pub fn stream_named(&self, name: &str) -> Result<&'s Stream> {
        let gateway = self.gateway;
        let streams = &gateway.policy.streams;
        let Some(stream) = streams.iter().find(|s| s.name == name) else {
            let mine = streams.iter().filter(|s| self.may_open(s)).map(|s| s.name.as_str());
            let hint = match nearest_of(name, mine.clone()) {
                Some(near) => format!("Perhaps you meant '{near}'."),
                None => match mine.collect::<Vec<_>>().as_slice() {
                    [] => "The policy has no stream that you may open.".to_owned(),
                    mine => format!("You may open: {}.", mine.join(", ")),
                },
            };
            let shown: String = name.chars().take(63).collect();
            let message = format!("stream \"{shown}\" does not exist");
            return Err(ClientError::new(SqlState::UNDEFINED_OBJECT, message).hint(hint));
        };
        if self.may_open(stream) {
            return Ok(stream);
        }
        let message = format!("permission denied for stream \"{name}\"");
        Err(ClientError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
            .hint("noisegate.streams lists those that you may open; the owner of the data decides who may."))
    }

    fn may_open(&self, stream: &Stream) -> bool {
        stream.admits(&self.identity.user, self.identity.role.as_deref())
    }

    /// Plans a statement, as a question where a stream is selected.
    pub fn planned(
        &self,
        statement: &mut Statement,
        settings: &plan::Settings,
        sizes: &plan::Sizes,
    ) -> std::result::Result<Plan, PlanError> {
        let gateway = self.gateway;
        match self.selected() {
            None => plan::plan(statement, &gateway.policy, settings, sizes),
            Some(Ok(stream)) => {
                let (questions, beta) = self.settings.stream_accuracy();
                let terms = plan::stream::Terms { stream, questions, beta };
                plan::stream::plan(statement, &gateway.policy, settings, sizes, terms)
            }
            // A stream that was taken away concerns nobody who reads no private rows.
            Some(Err(e)) => {
                let plan = plan::plan(statement, &gateway.policy, settings, sizes)?;
                if plan.charge.is_some() { Err(e.into()) } else { Ok(plan) }
            }
        }
    }

    /// The way of a question: its instance, the opening of it if it has to be paid for, the fetch, the decision, the finish.
    pub async fn ask_stream(
        &self,
        plan: Plan,
        question: &Question,
        constants: Constants,
        columns: Columns,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome> {
        let gateway = self.gateway;
        record::answered(record::Outcome::Free);
        gateway.check_failures(&self.identity.user)?;
        let stream = self.stream_named(&question.stream.name)?;
        let releases: Vec<_> = plan.releases.iter().enumerate().collect();
        let statements = fetches(gateway, &releases, false, &[], &[])?;
        let certified = statements.first().map(|f| f.certified.clone());
        let text = gateway.policy.ledger_text.then(|| statement_text(&statements));
        let fingerprint = gateway.fingerprints.of(&gateway.backend, &gateway.policy, &plan.tables).await?;
        let user_stream = gateway.streams.user_stream(&self.identity.user, stream, &gateway.ledger).await?;
        let reading = gateway.turn_to_read(&self.identity.user).await?;
        let mut turn = user_stream.turn.clone().lock_owned().await;
        if matches!(user_stream.status().state, State::Closed) {
            // About to pay: had anybody else done so meanwhile, it would be a second time.
            user_stream.look(&self.identity.user, stream, &gateway.ledger).await?;
        }
        let (open, before) = match &user_stream.status().state {
            State::Ended { why, entry } if !self.may_reopen(stream, *entry) => {
                return Err(ended(stream, why));
            }
            State::Ended { entry, .. } => (None, Some(*entry)),
            State::Open { entry, .. } => (Some(*entry), None),
            State::Closed => (None, None),
        };
        // Its questions are read without a debit each: the place comes first, and with it the books' word that what was
        // paid for the stream still pays for it.
        let user = &self.identity.user;
        let terms = gateway.read_terms();
        let mut place = loop {
            let opened = open.map(|entry| Opened { user, stream: &stream.name, entry });
            match gateway.ledger.reserve(user, opened, terms).await {
                Ok(Some(place)) => break place,
                Ok(None) => reading.wait().await?,
                Err(refusal) => return Err(user_stream.over(stream, &refusal)),
            }
        };
        super::pay::reads_only(&statements, &plan.tables)?;
        let opened = reads::opened(gateway, &plan.tables, statements, fingerprint).await?;
        if open.is_none() {
            let booking = record::step(record::Stage::Ledger);
            let opening = Opening {
                ledger: gateway.ledger.clone(),
                who: self.identity.clone(),
                stream: stream.clone(),
                after: before,
                text,
            };
            let (taken, notice) = user_stream.clone().open(turn, opening).await?;
            drop(booking);
            turn = taken;
            if self.settings.notices() {
                notices.push(notice);
            }
        }
        let fetching = record::step(record::Stage::Fetch);
        let answers = reads::counted(gateway, &plan.tables, opened, Vec::new(), &mut place).await?;
        drop(fetching);
        let defect = || {
            ClientError::incident(
                SqlState::INTERNAL,
                "the question could not be asked",
                &"its fetch is missing",
            )
        };
        let (release, rows) = plan.releases.first().zip(answers.first()).ok_or_else(defect)?;
        let certified = certified.ok_or_else(defect)?;
        let exact = Exact::decode(rows, &certified, &release.spec, false).map_err(|e| e.client())?;
        drop(answers);
        place.ended_well();
        let (noisy, told, left) = user_stream.ask(exact, question, stream)?;
        if self.settings.notices() {
            notices.push(outcome_notice(stream, told, left));
        }
        drop(turn);
        self.finish(Released::of_stream(plan, constants, columns, noisy)).await
    }
}

/// The notice of a question's outcome, and of how many are left.
fn outcome_notice(stream: &Stream, told: Told, left: u32) -> Notice {
    let name = &stream.name;
    let mut message = match told {
        Told { above: 0, below: 1, unasked: 0 } => format!("stream \"{name}\": below; no row"),
        Told { above: 1, below: 0, unasked: 0 } => format!("stream \"{name}\": above"),
        Told { above, below, .. } => {
            format!("stream \"{name}\": {above} above of {} asked", above + below)
        }
    };
    if told.unasked > 0 {
        message.push_str(&format!(", {} after the last positive and not asked", told.unasked));
    }
    message.push_str("; nothing was spent; ");
    message.push_str(&match left {
        0 => "the stream is used up".to_owned(),
        n => format!("{n} of {} positives left", stream.positives),
    });
    Notice::new(message)
}
