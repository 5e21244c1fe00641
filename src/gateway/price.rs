//! What is said of a payment: to the client, in the log, and in the books.

use answer::{ClientError, Notice, SqlState};
use backend::FetchText;
use dp::Charge;
use ledger::{BudgetState, Receipt};

pub(super) fn no_entropy(e: &dyn std::fmt::Display) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "no randomness is available", e)
}

/// What the books say of a statement where the policy wants its text.
pub(super) fn statement_text(fetches: &[FetchText]) -> String {
    fetches.iter().map(|f| f.certified.text()).collect::<Vec<_>>().join(";\n")
}

/// The price and the entry of the books, for the event that the frontend writes.
pub(super) fn log_price(receipt: &Receipt) {
    let epsilon = plan::explain::decimal(&receipt.charge().epsilon);
    tracing::Span::current().record("epsilon", epsilon.as_str()).record("entry", receipt.entry());
}

/// What the statement cost and what is left, in one line.
pub(super) fn price_notice(charge: &Charge, budgets: &[BudgetState]) -> Notice {
    let left: Vec<String> = budgets
        .iter()
        .map(|b| {
            let more = match b.fits(charge) {
                // A price that a budget hardly notices: how often it fits tells nobody anything.
                Ok(n) if n < 1_000_000_000 => format!(", {n} more like this"),
                _ => String::new(),
            };
            format!("{} {:.1} % left{more}", b.budget.name, b.fraction_left() * 100.0)
        })
        .collect();
    let epsilon = plan::explain::decimal(&charge.epsilon);
    Notice { message: format!("charged epsilon {epsilon}; {}", left.join("; ")), code: "00000", hint: None }
}

/// That nothing was spent; `wider`: how many times as wide as fresh noise that of what was kept is.
pub(super) fn free_notice(wider: Option<f64>) -> Notice {
    let mut message = "noisegate: answered from an earlier release, nothing was spent".to_owned();
    if let Some(ratio) = wider {
        message.push_str(&format!("; {}", wider_text(ratio)));
    }
    let hint =
        wider.map(|_| "SET noisegate.cache = best pays for a fresh answer where it has less noise.".into());
    Notice { message, code: "00000", hint }
}

pub(super) fn wider_text(ratio: f64) -> String {
    format!("its noise is {} times as wide as that of a fresh answer", plan::explain::short(ratio))
}
