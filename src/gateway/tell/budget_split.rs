//! `EXPLAIN (BUDGET 1.0) SELECT …; SELECT …`: how an ε is best divided among the statements of a message. Nothing is charged, and
//! what is proposed follows from texts, policy and settings, as prices do.

use super::explanation::{Explained, fields};
use super::words::priced;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::Statement;
use answer::{ClientError, Outcome, SqlState, Values};
use dp::{Charge, Ratio};
use plan::Plan;
use plan::explain::summary;
use plan::price::split;
use plan::words::decimal;
use serde_json::json;
use sql::Kind;

/// Statements that a budget may be divided among.
const MOST: usize = 100;

/// Letters of a statement that are shown.
const SHOWN: usize = 60;

/// The statements of a message, where one of them explains those that follow it together with its own.
pub fn gathered(mut statements: Vec<Statement>) -> Result<Vec<Statement>, ClientError> {
    let divides =
        |s: &Statement| matches!(&*s.kind, Kind::Explain(_, _, explain) if explain.budget.is_some());
    let Some(at) = statements.iter().position(divides) else { return Ok(statements) };
    let others = statements.split_off(at + 1);
    if others.iter().any(|s| s.control.is_some() || !matches!(&*s.kind, Kind::Query(..))) {
        let message = "EXPLAIN (BUDGET …) is followed by queries alone";
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, message).hint(
            "Write EXPLAIN (BUDGET 1.0) SELECT …; SELECT … in one message, and other statements in another.",
        ));
    }
    if others.len() >= MOST {
        let message = format!("a budget is divided among at most {MOST} statements");
        return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("Ask for fewer at a time, each with its part of the budget."));
    }
    if let Some(explain) = statements.last_mut() {
        explain.others = others.into();
    }
    Ok(statements)
}

/// The extended protocol has one statement in a message.
pub fn simple_only() -> ClientError {
    ClientError::unsupported("EXPLAIN (BUDGET …) as a prepared statement is not supported").hint(
        "Send it and the queries that it is for in one message of the simple protocol, as psql -c does.",
    )
}

impl Ask<'_> {
    /// The proposal, in lines or as an object. `budget`: in billionths.
    pub async fn split(
        &self,
        statement: &Statement,
        explain: sql::Explain,
        budget: u64,
    ) -> Result<Outcome, ClientError> {
        let gateway = self.gateway;
        let all: Vec<&Statement> = std::iter::once(statement).chain(statement.others.iter()).collect();
        let mut plans = Vec::with_capacity(all.len());
        for one in &all {
            plans.push(self.plan_without_terms(one).await?);
        }
        let budget = Ratio::new(u128::from(budget), 1_000_000_000);
        let least = dp::ratio(&gateway.policy.statement.min_epsilon).unwrap_or(budget);
        split::split(&mut plans, &self.terms(), &budget, &least)?;
        let mut lines = vec![whole(&plans, &budget, gateway.policy.unit_column())];
        let mut objects = Vec::with_capacity(plans.len());
        for (i, (plan, one)) in plans.iter().zip(&all).enumerate() {
            let text = shown(query_of(one));
            let epsilon = plan.charge.as_ref().map(|c| decimal(&c.epsilon));
            let (price, set) = match (&plan.charge, &epsilon) {
                (Some(charge), Some(epsilon)) => {
                    (self.share(plan, charge).await?, format!("SET noisegate.epsilon = {epsilon}; "))
                }
                _ => ("nothing".to_owned(), String::new()),
            };
            lines.push(format!("{}. {set}{text}", i + 1));
            lines.push(format!("   It costs {price}."));
            let sentences = summary::sentences(plan, &gateway.policy);
            lines.extend(sentences.iter().take(1).map(|s| format!("   {s}")));
            objects
                .push(json!({ "statement": text, "epsilon": epsilon, "costs": price, "summary": sentences }));
        }
        let object = explain.json.then(|| json!({ "budget": decimal(&budget), "statements": objects }));
        Ok(Explained::of_lines(lines, object).rows(fields(explain.json)))
    }

    /// The part of the budget that ends first that a charge takes.
    async fn share(&self, plan: &Plan, charge: &Charge) -> Result<String, ClientError> {
        let gateway = self.gateway;
        let states = gateway.ledger.paying(self.identity, &plan.tables).await.map_err(|r| r.client())?;
        Ok(match priced(&states, charge, None) {
            Ok((share, _)) => share,
            Err(why) => format!("more than there is: {why}"),
        })
    }

    /// The plan at the session's own price, which is not what it will have.
    async fn plan_without_terms(&self, one: &Statement) -> Result<Plan, ClientError> {
        let gateway = self.gateway;
        let (Kind::Query(query, lines) | Kind::Explain(query, lines, _)) = &*one.kind else {
            return Err(crate::gateway::control_here());
        };
        sql::text_size::check(query, lines, None, &gateway.policy.limits)?;
        let resolved = self.resolve(query, lines)?;
        let (highest, pos) = sql::constants::parameters(&mut resolved.clone());
        if highest > 0 {
            let message = format!("there is no parameter ${highest}");
            return Err(ClientError::new(crate::gateway::way::planned::UNDEFINED_PARAMETER, message)
                .hint("Write the value itself.")
                .at(pos));
        }
        let planned = self.plan(resolved.clone(), self.constants(), &[], &Values::default()).await?;
        if planned.plan.question.is_some() {
            return Err(ClientError::unsupported("a question to a stream has the price of its stream")
                .hint("RESET noisegate.stream, and ask again."));
        }
        if planned.plan.charge.is_some() {
            let asked = planned.columns(&resolved);
            self.type_check(&asked, true, &[], &planned.constants).await?;
        }
        Ok(planned.plan)
    }
}

/// The sentence about the whole division.
fn whole(plans: &[Plan], budget: &Ratio, unit: &str) -> String {
    let paying = plans.iter().filter(|p| p.charge.is_some()).count();
    let largest = plans.iter().map(split::error).fold(0.0, f64::max);
    match paying {
        0 => "No private rows are read: this costs nothing.".into(),
        n => format!(
            "Epsilon {} is divided among {n} statement{}, so that noise is most often within {} times what one {unit} can change, in \
             each of them. Nothing was charged.",
            decimal(budget),
            if n == 1 { "" } else { "s" },
            // Two standard deviations.
            plan::words::short(2.0 * largest)
        ),
    }
}

/// The text of what is asked: without EXPLAIN and its options.
fn query_of(statement: &Statement) -> &str {
    match &*statement.kind {
        Kind::Explain(..) => statement.text.split_once(')').map_or(&*statement.text, |(_, query)| query),
        _ => &statement.text,
    }
}

/// The beginning of a statement, in one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
