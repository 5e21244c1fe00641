//! Advice on averages that drown in their noise: a narrower value.

use crate::Output;
use crate::aggregates::{Average, Part};
use bigdecimal::BigDecimal;
use sql::ast::{Aggregate, Bindings, ExprKind};
use sql::catalog::written;
use sql::output::output_name;

/// Advice on an average whose error drowns it: a narrower value, whose noise is less. From the
/// declared range alone; noise of sums with a norm of their own has nothing to do with it.
pub fn narrower(
    aggregate: &Aggregate,
    output: &Output,
    parts: &[Part],
    bindings: &Bindings,
) -> Option<String> {
    let Average { low, high, ty, sum, .. } = output.of()?;
    parts.get(*sum).filter(|part| part.own.is_none())?;
    let argument = aggregate.args.first().filter(|_| ty.is_number())?;
    // Of a truth value or a share there is nothing to cut.
    if high - low < 8 {
        return None;
    }
    let x = match argument.kind {
        ExprKind::Column { .. } => written(&output_name(argument, bindings)),
        _ => "x".to_owned(),
    };
    let quarter = low + (high - low) / BigDecimal::from(4);
    let [low, high, quarter] = [low, high, &quarter.round(0)].map(|n| n.normalized().to_plain_string());
    Some(format!(
        "Average a narrower value, if most are small: noise is that of values from {low} to {high}, and \
         avg(least(greatest({x}, {low}), {quarter})) has about a quarter of it"
    ))
}
