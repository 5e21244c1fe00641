//! Facts about streams that cost nothing: accuracy and price before they are opened, and how they
//! stand.

use super::Result;
use super::instances::{End, State, Status};
use crate::gateway::private::step::Asked;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::Planned;
use crate::gateway::tell::explanation::Explained;
use crate::gateway::tell::words;
use answer::{ClientError, SqlState};
use emit::print::OwnRow;
use ledger::{Amount, BudgetState, Counter};

use policy::{Policy, Stream};

impl Ask<'_> {
    /// The price of an opening, in words.
    pub(super) async fn opening_price(&self, stream: &Stream) -> Result<String> {
        let gateway = self.gateway;
        let charge = stream
            .charge()
            .map_err(|e| ClientError::incident(SqlState::INTERNAL, "the stream could not be priced", &e))?;
        // Its questions may read any table: every budget of the user pays.
        let states = gateway.ledger.remaining(self.identity).await.map_err(|r| r.client())?;
        Ok(match words::priced(&states, &charge, None) {
            Ok((share, left)) => format!("{share}; {left}"),
            Err(why) => format!("what is refused: {why}"),
        })
    }

    /// `SHOW noisegate.stream_accuracy`: α for the session's k and β, before anything is paid.
    pub async fn stream_accuracy(&self) -> Result<String> {
        let stream = self.selected().unwrap_or_else(|| {
            Err(ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "no stream is selected")
                .hint("SET noisegate.stream = 'name'; noisegate.streams lists those that you may open."))
        })?;
        let (questions, beta) = self.settings.stream_accuracy();
        Ok(format!(
            "alpha {} times what one unit can change, for {questions} question(s), but with probability {beta}, if at \
             most {} of them are near or beyond their thresholds ({}); opening it costs {}",
            plan::words::short(stream.alpha(questions, beta)),
            stream.positives,
            stream.theorem(),
            self.opening_price(stream).await?
        ))
    }

    /// EXPLAIN; of a question, with how its stream stands.
    pub async fn explained(&self, planned: Planned, explain: sql::Explain) -> Result<Explained> {
        let gateway = self.gateway;
        let policy: &Policy = &gateway.policy;
        let (mut bound, mut replanned) = (None, None);
        if let Some(charge) = planned.plan.charge.as_ref().filter(|_| planned.auto.is_some()) {
            let (settings, constants) = (&planned.settings, &planned.constants);
            let asked = Asked { charge, text: &"".into(), settings, constants };
            (replanned, bound) = self.explained_bound(&asked, &planned).await?;
        }
        let Planned { mut plan, mut settings, constants, .. } = planned;
        if let Some(replanned) = replanned {
            (plan, settings) = replanned;
        }
        let Some(question) = plan.question.clone() else {
            let mut kept = None;
            if let Some(charge) = &plan.charge.clone() {
                let asked = Asked { charge, text: &"".into(), settings: &settings, constants: &constants };
                kept = self.free_parts(&asked, &mut plan).await?;
            }
            let mut summary = vec![self.cost(&plan, kept.as_ref()).await?];
            summary.extend(bound);
            if plan.charge.is_some() {
                summary.extend(self.refinement(&plan)?);
            }
            summary.extend(plan::explain::summary::sentences(&plan, policy));
            let collected = plan::explain::collected::of(&plan, policy);
            summary.extend(plan::explain::collected::bias(&collected, self.settings.consistent()));
            let lines = plan::explain::lines(&plan, policy);
            return Ok(Explained::new(&plan, policy, &settings, summary, lines, explain));
        };
        // Whoever is answered with made-up rows has no part in streams, whose state is what real rows decided.
        if self.mode() == policy::Mode::Synthetic {
            return Err(crate::gateway::private::synthetic::no_stream());
        }
        let stream = &question.stream;
        let user_stream =
            gateway.streams.as_the_books_say(&self.identity.user, stream, &gateway.ledger).await?;
        let price = self.opening_price(stream).await?;
        let (status, cost) = match &user_stream.status().state {
            State::Open { instance, .. } => {
                let (left, all) = (instance.left(), instance.positives());
                let open = format!("nothing: the stream is open, {left} of {all} positives left");
                (open.clone(), format!("This costs {open}."))
            }
            State::Closed => (
                format!("{}, which opens the stream for all its questions", question.opening()),
                format!("This opens stream \"{}\", which pays for all its questions: {price}.", stream.name),
            ),
            State::Ended { why, entry } if self.may_reopen(stream, *entry) => (
                format!("{}, which opens the stream anew: {}", question.opening(), why.because()),
                format!("This opens stream \"{}\" anew, since {}: {price}.", stream.name, why.because()),
            ),
            State::Ended { why, .. } => {
                let refused = format!("it would be refused: {}", why.because());
                (refused.clone(), format!("This costs nothing: {refused}."))
            }
        };
        let lines = plan::explain::stream::lines(&plan, &question, &status, policy);
        let summary = [vec![cost], plan::explain::stream::sentences(&plan, &question, policy)].concat();
        Ok(Explained::new(&plan, policy, &settings, summary, lines, explain))
    }

    /// The rows of `noisegate.streams`.
    pub async fn stream_rows(&self) -> Result<Vec<OwnRow>> {
        let gateway = self.gateway;
        let mine = gateway.policy.streams.iter().filter(|s| self.may_open(s));
        let mut rows = Vec::new();
        let budgets = gateway.ledger.remaining(self.identity).await.map_err(|r| r.client())?;
        for stream in mine {
            let user_stream =
                gateway.streams.as_the_books_say(&self.identity.user, stream, &gateway.ledger).await?;
            rows.push(self.stream_row(stream, &user_stream.status(), &budgets));
        }
        Ok(rows)
    }

    fn stream_row(&self, stream: &Stream, user_stream: &Status, budgets: &[BudgetState]) -> OwnRow {
        let (questions, beta) = self.settings.stream_accuracy();
        let alpha = |k: u64| Some(format!("{:.3}", stream.alpha(k, beta)));
        let charge = stream.charge().ok();
        let fits = |c: &dp::Charge| budgets.iter().map(|b| b.fits(c).unwrap_or(0)).min().unwrap_or(0);
        let (state, left, asked) = match &user_stream.state {
            State::Closed => ("closed", stream.positives, Some(0)),
            State::Open { instance, .. } => ("open", instance.left(), Some(user_stream.asked)),
            // What an earlier process was asked is not known here.
            State::Ended { why: why @ End::Restart, .. } => (why.word(), 0, None),
            State::Ended { why, .. } => (why.word(), 0, Some(user_stream.asked)),
        };
        let text = |s: &str| Some(s.to_owned());
        vec![
            text(&stream.name),
            text(stream.variant.word()),
            text(if stream.variant.tells_numbers() { "true" } else { "false" }),
            text(state),
            Some(stream.positives.to_string()),
            Some(left.to_string()),
            asked.map(|n| n.to_string()),
            Some(stream.epsilon.normalized().to_plain_string()),
            Some(stream.delta.normalized().to_plain_string()),
            charge.as_ref().map(|c| prices(c, budgets)),
            charge.as_ref().map(|c| i64::try_from(fits(c)).unwrap_or(i64::MAX).to_string()),
            Some(questions.to_string()),
            Some(beta.to_string()),
            alpha(questions),
            alpha(100),
            alpha(10_000),
        ]
    }
}

/// Parts of whole budgets that an opening takes.
fn prices(charge: &dp::Charge, budgets: &[BudgetState]) -> String {
    let each = budgets.iter().map(|b| {
        let name = &b.budget.name;
        let price = match b.counter.price(charge) {
            Ok(price) => price,
            Err(why) => return format!("{name}: {why}"),
        };
        if b.counter.admit(&b.counter.nothing(), &price).is_err() {
            return format!("{name}: more than all of it");
        }
        let delta = match (&b.counter, &price) {
            (Counter::Filter(f), Amount::Cost(cost)) if cost.delta > 0 => {
                let part = 100.0 * cost.delta as f64 / f.limit.delta as f64;
                format!(" and {part:.3} % of its selection_delta")
            }
            _ => String::new(),
        };
        format!("{name}: {:.3} %{delta}", 100.0 * (1.0 - b.counter.fraction_left(&price)))
    });
    each.collect::<Vec<_>>().join("; ")
}
