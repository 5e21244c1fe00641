//! Randomisers of columns.

use dp::randomised::{Mean, Oracle, Report, Sets};

/// A randomiser of a column.
#[derive(Clone, Debug)]
pub enum Randomiser {
    /// A value of a domain.
    Oracle(Oracle),
    /// A number.
    Mean(Mean),
    /// Several values of a domain.
    Sets(Sets),
}

impl Randomiser {
    /// Word for it in a description.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Oracle(oracle) => oracle.kind().word(),
            Self::Mean(mean) => mean.kind().word(),
            Self::Sets(sets) => sets.oracle().kind().word(),
        }
    }

    /// Bytes of a report of bits; None where it is a symbol.
    pub(crate) fn bytes(&self) -> Option<usize> {
        let oracle = match self {
            Self::Oracle(oracle) => oracle,
            Self::Sets(sets) => sets.oracle(),
            Self::Mean(_) => return None,
        };
        match oracle.symbols() {
            Some(_) => None,
            None => usize::try_from(oracle.values().div_ceil(8)).ok(),
        }
    }

    pub(crate) fn accepts(&self, report: &Report) -> bool {
        match (self, report) {
            (Self::Oracle(oracle), report) => oracle.accepts(report),
            (Self::Sets(sets), report) => sets.oracle().accepts(report),
            (Self::Mean(mean), Report::Symbol(symbol)) => mean.accepts(*symbol),
            (Self::Mean(_), Report::Bits(_)) => false,
        }
    }
}
