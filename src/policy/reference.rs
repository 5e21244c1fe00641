//! Every section of a policy, for the document.

use super::keys::Keys;
use super::{
    access, answers, backend, budget, cache, collect, console, envelope, json_path, ledger, limits, listen,
    log, metrics, raw, role, stream, tables, traces, users, view,
};

/// Every section, in the order of the document.
pub fn reference() -> Vec<&'static Keys> {
    vec![
        &raw::ROOT,
        &listen::SERVER,
        &listen::TLS,
        &users::AUTH_QUERY,
        &access::ACCESS,
        &log::LOG,
        &console::CONSOLE,
        &console::CONSOLE_USER,
        &metrics::METRICS,
        &traces::TRACES,
        &backend::BACKEND,
        &ledger::LEDGER,
        &raw::PRIVACY,
        &budget::STATEMENT,
        &budget::BUDGET,
        &envelope::MECHANISM,
        &stream::STREAM,
        &view::VIEW,
        &collect::COLLECT,
        &collect::COLUMN,
        &users::USER,
        &role::ROLE,
        &cache::CACHE,
        &answers::ANSWERS,
        &tables::TABLE,
        &tables::COLUMN,
        &json_path::PATH,
        &limits::LIMITS,
    ]
}
