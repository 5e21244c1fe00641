//! Words about a payment: for the client, in the log, and in the books.

use answer::{ClientError, Notice, SqlState};
use backend::FetchText;
use dp::Charge;
use ledger::words::binding;
use ledger::{BudgetState, Receipt};
use plan::Reached;
use record::{Price, Share};

/// `noisegate.bounds = auto` where the policy does not allow it.
pub fn no_bounds() -> ClientError {
    let message = "the policy does not allow noisegate.bounds = auto";
    ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        .detail("It names no number of rows up to which bounds may be chosen.")
        .hint("SET noisegate.bounds = policy; or ask the owner of the data to set statement.auto_max_rows.")
}

pub fn no_entropy(e: &dyn std::fmt::Display) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "no randomness is available", e)
}

/// Text of a statement for the books, when the policy wants it.
pub fn statement_text(fetches: &[FetchText]) -> String {
    fetches.iter().map(|f| f.certified.text()).collect::<Vec<_>>().join(";\n")
}

/// The price and the entry of the books, for the event that the frontend writes and for the record.
pub fn log_price(receipt: &Receipt) {
    let epsilon = plan::words::decimal(&receipt.charge().epsilon);
    tracing::Span::current().record("epsilon", epsilon.as_str()).record("entry", receipt.entry());
    let share = |state: &BudgetState| {
        let price = state.counter.price(receipt.charge()).ok()?;
        Some(Share { budget: state.budget.name.clone(), part: state.counter.share(&state.spent, &price) })
    };
    let shares = receipt.budgets().iter().filter_map(share).collect();
    record::paid(Price { epsilon, entry: receipt.entry(), shares });
}

/// The notice of a payment: the part of the budget that ends first, and how much of that is left;
/// and the accuracy that was bought, when one was asked for.
pub fn price_notice(
    charge: &Charge,
    usual: Option<&Charge>,
    budgets: &[BudgetState],
    bought: Option<&Reached>,
) -> Notice {
    let told = binding(budgets, charge).and_then(|b| b.told(charge, usual, true).ok());
    let spent = told.map_or_else(|| "spent".into(), |(share, left)| format!("spent {share}; {left}"));
    let bought = bought.map(|reached| format!("; each number is {}", reached.told()));
    Notice::new(format!("{spent}{}", bought.unwrap_or_default()))
}

/// The notice that nothing was spent. `wider`: the factor by which noise of kept answers is wider
/// than fresh noise.
pub fn free_notice(wider: Option<f64>) -> Notice {
    let message = "answered from an earlier release; nothing was spent";
    match wider {
        None => Notice::new(message),
        Some(ratio) => Notice::new(format!("{message}; {}", wider_text(ratio)))
            .hint("SET noisegate.cache = best pays for a fresh answer where it has less noise."),
    }
}

pub fn wider_text(ratio: f64) -> String {
    format!("its noise is {} times as wide as that of a fresh answer", plan::words::short(ratio))
}
