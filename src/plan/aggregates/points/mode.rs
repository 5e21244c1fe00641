//! `mode() WITHIN GROUP (ORDER BY x)`: the most frequent of public values.
//!
//! In public groups a cell is a group and a value, and all cells are joined from the values' domain. Of private groups nobody
//! knows what to join: the key itself is the place of a value among those that the text lists, or a step of a grid of whole
//! values, and NULL for what is not among them.

use super::chosen::Points;
use super::grid::{MOST_PRIVATE_POINTS, pick};
use crate::aggregates::builder::{Builder, Call, Result};
use crate::aggregates::entry::{Entry, Form};
use crate::aggregates::estimator::Output;
use crate::aggregates::part::Axis;
use crate::expr::domain::Domain;
use crate::expr::{Scalar, filtered};
use crate::groups;
use crate::groups::key::Key;
use crate::refusals::Refusal;
use crate::refusals::aggregate::Aggregation;
use bigdecimal::BigDecimal;
use dp::Pick;
use num_bigint::BigInt;
use schema::SqlType;
use sql::ast::*;

/// Distance between days on a grid.
const SECONDS_OF_A_DAY: u32 = 86_400;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "mode",
    hint: "mode",
    within_group: true,
    forms: &[Form {
        written: "mode() WITHIN GROUP (ORDER BY x)",
        from: "a choice among public values, by how many rows have each",
        and: "one of the values; there is always an answer",
    }],
    ask: |b, call| b.mode(call),
}];

impl Builder<'_, '_> {
    fn mode(&mut self, call: &Call<'_>) -> Result<Option<Output>> {
        call.not_distinct()?;
        let (x, when, pos) = (&call.ordered(0)?.expr, call.when.as_ref(), call.pos);
        let (key, written) = self.key(x)?;
        let mut keys = [key];
        let given = (self.policy, self.settings, self.facts);
        let found = groups::decide(&self.relation.scans, &self.source, given, &mut keys, &[written], &[])?;
        let [mut key] = keys;
        // NULL is no value.
        let Some((domain, _)) = key.domain.take().filter(|_| found.public) else {
            return Err(Aggregation::ModePrivate { why: found.why }.at(pos).into());
        };
        let ty = key.scalar.ty().clone();
        let (key, axis) = if self.public {
            if let Some(when) = when {
                key.scalar = filtered(when.clone(), key.scalar);
            }
            (Key { domain: Some((domain, false)), ..key }, Axis::Values)
        } else {
            self.place(x, key, domain, when, pos)?
        };
        self.request(key, axis, pos, |all| {
            let parts = vec![pick(all, Pick::Mode)];
            (call.aggregate.clone(), Points { parts, array: false, ty }.into())
        });
        Ok(None)
    }

    /// The key that says which of these values x is, where groups are private.
    fn place(
        &mut self,
        x: &Expr,
        key: Key,
        domain: Domain,
        when: Option<&Scalar>,
        pos: Pos,
    ) -> Result<(Key, Axis)> {
        let (ty, label) = (key.scalar.ty().clone(), &key.label);
        let values = match domain {
            Domain::Bool => ["false", "true"].map(str::to_owned).to_vec(),
            Domain::Values(values) if fits(&values) => values,
            Domain::Series { .. } | Domain::Days { .. } if ty.is_number() || ty == SqlType::Date => {
                let apart = match domain {
                    Domain::Series { step, .. } => step,
                    _ => BigDecimal::from(SECONDS_OF_A_DAY),
                };
                let (key, axis) = self.grid_key("mode", x, &key.scalar, when)?;
                let each = matches!(&axis, Axis::Grid { step, .. } if *step == apart);
                return if each { Ok((key, axis)) } else { Err(unlisted(label, pos).into()) };
            }
            _ => return Err(unlisted(label, pos).into()),
        };
        let at = |kind| Expr::new(kind, x.pos);
        let number = |n: usize| at(ExprKind::Literal(Literal::Number(n.to_string())));
        let cast =
            |e, ty| at(ExprKind::Cast { expr: Box::new(e), ty: CastType { ty, modifier: String::new() } });
        let is = |value: &String| {
            let value = cast(at(ExprKind::Literal(Literal::String(value.clone()))), ty.clone());
            at(ExprKind::Binary { op: BinaryOp::Eq, left: Box::new(x.clone()), right: Box::new(value) })
        };
        let branches = values.iter().enumerate().map(|(n, value)| (is(value), number(n))).collect();
        let expr = cast(at(ExprKind::Case { branches, otherwise: None }), SqlType::Int8);
        let mut scalar = self.lower(&expr)?;
        if let Some(when) = when {
            scalar = filtered(when.clone(), scalar);
        }
        let last = BigDecimal::from(BigInt::from(values.len().saturating_sub(1)));
        let domain = Domain::Series { lo: BigDecimal::from(0), hi: last, step: BigDecimal::from(1) };
        let label = format!("values of {label}");
        Ok((Key { expr, scalar, domain: Some((domain, false)), label }, Axis::Listed(values)))
    }
}

/// Whether there are no more values than points.
fn fits(values: &[String]) -> bool {
    u32::try_from(values.len()).is_ok_and(|n| n <= MOST_PRIVATE_POINTS)
}

/// Refuses values that a fetch over private groups cannot tell by its own text.
fn unlisted(label: &str, pos: Pos) -> Refusal {
    Aggregation::ModeUnlisted { of: label.to_owned(), most: MOST_PRIVATE_POINTS }.at(pos)
}
