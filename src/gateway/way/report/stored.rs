//! Storage of reports, and the errors of it.

use answer::{ClientError, SqlState};
use backend::{Cells, StoreError, Target};
use dp::randomised::Report;
use policy::Collect;

/// The table of a collected relation.
pub fn target(c: &Collect) -> Target {
    let columns = c.columns.iter().map(|c| c.name.clone()).collect();
    Target { schema: c.schema.clone(), table: c.table.clone(), columns, batches: c.batches() }
}

/// The error where no randomness is to be had.
pub fn no_entropy(e: impl std::fmt::Display) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "there is no randomness; nothing was stored", &e)
}

/// The error of reports that the database did not take.
pub fn not_stored(e: StoreError) -> ClientError {
    match e {
        StoreError::Nothing(why) => {
            ClientError::incident(SqlState::CANNOT_CONNECT_NOW, "the reports could not be stored", &why)
        }
        StoreError::Unknown(why) => ClientError::incident(
            SqlState(*b"08007"),
            "the connection was lost while reports were stored: all of them are, or none",
            &why,
        ),
    }
}

/// The error of a transaction with more rows than may wait.
pub fn too_many(most: usize) -> ClientError {
    let message = format!("the rows of one transaction exceed limits.max_waiting_rows = {most}");
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).hint("Commit in smaller parts.")
}

/// Puts a report into its column, which is of its kind.
pub fn put(column: &mut Cells, report: Report) {
    match (column, report) {
        (Cells::Symbols(column), Report::Symbol(symbol)) => column.push(symbol.cast_signed()),
        (Cells::Bits(column), Report::Bits(bits)) => column.push(bits),
        _ => {}
    }
}
