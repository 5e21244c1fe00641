//! The ε of a randomiser.

use crate::{DpError, Ratio};

/// ε in lowest terms, where it is above zero and its terms are below 2^96.
pub(super) fn usable(epsilon: &Ratio) -> Result<Ratio, DpError> {
    if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
        return Err(DpError::Epsilon);
    }
    let epsilon = epsilon.reduced();
    if *epsilon.numer() >= 1 << 96 || *epsilon.denom() >= 1 << 96 {
        return Err(DpError::OutOfRange("an epsilon of more than 96 bits"));
    }
    Ok(epsilon)
}

/// ε as a float.
pub(super) fn float(epsilon: &Ratio) -> f64 {
    *epsilon.numer() as f64 / *epsilon.denom() as f64
}
