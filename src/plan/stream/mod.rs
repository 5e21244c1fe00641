//! Questions to a sparse vector stream: `SELECT … HAVING count(*) > 100`, one question for each public group.
//!
//! The statement is planned as any other, and then read as a question: one release, whose groups are public, with one
//! count or sum that is compared with a constant. The comparison leaves the statement, because it is decided over exact
//! integers where those may be reached; what is above it stays, and finishes over the rows that passed.

use crate::aggregates::{Count, Sum};
use crate::refusals::Refusal;
use crate::refusals::price::Price;
use crate::refusals::stream as refused;
use crate::release::Release;
use crate::syntax::grouping::has_aggregate;
use crate::{Plan, PlanError, Question, Settings};
use bigdecimal::{BigDecimal, Zero};
use dp::sparse::{self, Test};
use dp::{Distribution, Noise, Sensitivity, Spec};
use num_bigint::BigInt;
use policy::{Policy, Stream};
use sql::ast::*;

/// Digits of a threshold, before or after the point.
const DIGITS: i64 = 60;

/// A stream, and what its accuracy is told for.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The stream.
    pub stream: &'a Stream,
    /// k.
    pub questions: u64,
    /// β.
    pub beta: f64,
}

type Result<T> = std::result::Result<T, PlanError>;

/// Plans a statement while a stream is selected: what reads no private rows is planned as always, everything else has
/// to be a question.
pub fn plan(
    statement: &mut Statement,
    policy: &Policy,
    settings: &Settings,
    sizes: &crate::Sizes,
    terms: Terms<'_>,
) -> Result<Plan> {
    let mut settings = settings.clone();
    settings.chosen_rows = settings.chosen_rows.or(terms.stream.max_rows);
    // Neither its noise nor its groups' number has to do with what it costs.
    settings.mechanism = dp::Preference::Laplace;
    // A unit may touch every group: each is a question of its own.
    settings.question = true;
    let first = crate::plan(statement, policy, &settings, sizes)?;
    if first.charge.is_none() {
        return Ok(first);
    }
    let [release] = first.releases.as_slice() else { return Err(one_release(terms.stream).into()) };
    let id = release.select;
    let mut asked = statement.clone();
    let Some(found) = find(&mut asked.query, id) else { return Err(one_release(terms.stream).into()) };
    let comparison = comparison(found.select, terms.stream)?;
    tells_no_more(&found, &comparison.tested, terms.stream)?;
    found.select.having = Some(comparison.having());
    let mut plan = crate::plan(&mut asked, policy, &settings, sizes)?;
    let [release] = plan.releases.as_mut_slice() else { return Err(one_release(terms.stream).into()) };
    let question = question(release, comparison, terms)?;
    plan.charge = Some(terms.stream.charge().map_err(|e| undrawn(terms.stream, e))?);
    plan.noise = format!("that of stream \"{}\"", terms.stream.name);
    plan.question = Some(question);
    if let Some(found) = find(&mut plan.statement.query, id) {
        // Only rows that passed come back.
        found.select.having = None;
    }
    Ok(plan)
}

/// A SELECT, and the ORDER BY of its query.
struct Found<'q> {
    select: &'q mut Select,
    order_by: &'q [OrderItem],
}

/// The SELECT of this number, among those that stand for relations.
fn find(q: &mut Query, id: Option<SelectId>) -> Option<Found<'_>> {
    let is = |body: &Body| matches!(body, Body::Select(s) if s.id == id);
    let mut found = None;
    PartMut::Query(q).each(&mut |part| {
        let (body, order_by) = match part {
            PartMut::Query(q) if is(&q.body) => (&mut q.body, q.order_by.as_slice()),
            PartMut::Body(body) if is(body) => (body, [].as_slice()),
            PartMut::Expr(_) => return None,
            part => return Some(part),
        };
        if let Body::Select(select) = body {
            found.get_or_insert(Found { select, order_by });
        }
        None
    });
    found
}

/// HAVING, read.
struct Comparison {
    /// The aggregate, as it is tested.
    tested: Expr,
    /// Against what: the threshold, but for averages 0.
    against: BigDecimal,
    test: Test,
    threshold: BigDecimal,
    average: bool,
}

impl Comparison {
    /// The condition as it is planned.
    fn having(&self) -> Expr {
        let zero = Expr::new(ExprKind::Literal(Literal::Number("0".into())), None);
        let left = Box::new(self.tested.clone());
        Expr::new(ExprKind::Binary { op: BinaryOp::Gt, left, right: Box::new(zero) }, self.tested.pos)
    }
}

fn comparison(select: &Select, stream: &Stream) -> Result<Comparison> {
    let Some(having) = &select.having else {
        return Err(refused::Question::NoHaving { stream: stream.name.clone() }.at(select.pos).into());
    };
    let ExprKind::Binary { op, left, right } = &having.kind else {
        return Err(no_comparison(stream, having).into());
    };
    let test = match op {
        BinaryOp::Gt => Test::Above,
        BinaryOp::Ge => Test::AtLeast,
        BinaryOp::Lt => Test::Below,
        BinaryOp::Le => Test::AtMost,
        _ => return Err(no_comparison(stream, having).into()),
    };
    let (tested, constant, test) = match (&left.kind, &right.kind) {
        (ExprKind::Aggregate(_), _) => (left, right, test),
        (_, ExprKind::Aggregate(_)) => (right, left, test.mirrored()),
        _ => return Err(no_comparison(stream, having).into()),
    };
    let Some(threshold) = number(constant) else {
        return Err(refused::Question::Threshold.at(constant.pos.or(having.pos)).into());
    };
    let ExprKind::Aggregate(a) = &tested.kind else { return Err(no_comparison(stream, having).into()) };
    let (tested, against, average) = match a.name {
        "avg" => (less(a, &threshold, tested), BigDecimal::zero(), true),
        _ => ((**tested).clone(), threshold.clone(), false),
    };
    Ok(Comparison { tested, against, test, threshold, average })
}

/// `sum(x - T)` of `avg(x)`.
fn less(a: &Aggregate, threshold: &BigDecimal, avg: &Expr) -> Expr {
    let shifted = a.args.iter().map(|x| {
        let digits = threshold.normalized().to_plain_string();
        let t = Expr::new(ExprKind::Literal(Literal::Number(digits)), None);
        let (left, right) = (Box::new(x.clone()), Box::new(t));
        Expr::new(ExprKind::Binary { op: BinaryOp::Sub, left, right }, x.pos)
    });
    let sum = Aggregate { name: "sum", args: shifted.collect(), ..a.clone() };
    Expr::new(ExprKind::Aggregate(Box::new(sum)), avg.pos)
}

/// A constant number, exactly.
fn number(e: &Expr) -> Option<BigDecimal> {
    let n = match &e.kind {
        ExprKind::Literal(Literal::Number(n)) => decimal(n)?,
        ExprKind::Negate(x) => -number(x)?,
        ExprKind::Cast { expr, ty } if ty.modifier.is_empty() && ty.ty.is_number() => {
            let n = match &expr.kind {
                ExprKind::Literal(Literal::String(s)) => decimal(s)?,
                _ => number(expr)?,
            };
            // A cast that rounds is another number.
            if ty.ty.is_integer() && !n.is_integer() {
                return None;
            }
            n
        }
        ExprKind::Binary { op, left, right } => {
            let (l, r) = (number(left)?, number(right)?);
            match op {
                BinaryOp::Add => l + r,
                BinaryOp::Sub => l - r,
                BinaryOp::Mul => l * r,
                _ => return None,
            }
        }
        _ => return None,
    };
    fits(&n).then_some(n)
}

/// What is written in digits; `1e999999999` must not become a gigabyte of zeros.
fn decimal(text: &str) -> Option<BigDecimal> {
    let text = text.trim();
    let exponent = text.split_once(['e', 'E']).map_or("0", |(_, e)| e);
    let short = text.len() <= 200 && exponent.parse::<i64>().is_ok_and(|e| e.abs() <= DIGITS);
    short.then(|| text.parse().ok())?.filter(fits)
}

fn fits(n: &BigDecimal) -> bool {
    let (digits, scale) = n.normalized().into_bigint_and_exponent();
    let length = i64::try_from(digits.bits()).unwrap_or(i64::MAX);
    scale.abs() <= 2 * DIGITS && length <= 7 * DIGITS
}

/// Only public keys and the tested aggregate may be selected, and that only where the stream tells numbers
/// (soundness rule 28).
fn tells_no_more(found: &Found<'_>, tested: &Expr, stream: &Stream) -> Result<()> {
    let shown = found.select.items.iter().map(|i| &i.expr).chain(found.order_by.iter().map(|o| &o.expr));
    for e in shown.filter(|e| has_aggregate(e)) {
        if !stream.variant.tells_numbers() {
            let (stream, variant) = (stream.name.clone(), stream.variant.word());
            return Err(refused::Question::Number { stream, variant }.at(e.pos).into());
        }
        if let Some(other) = e.aggregates().into_iter().find(|a| *a != tested) {
            let average = matches!(&other.kind, ExprKind::Aggregate(a) if a.name == "avg");
            return Err(refused::Question::Other { average }.at(other.pos).into());
        }
    }
    Ok(())
}

/// The question that a release asks; the release is left as it will be fetched.
fn question(release: &mut Release, comparison: Comparison, terms: Terms<'_>) -> Result<Question> {
    let stream = terms.stream;
    let pos = comparison.tested.pos;
    if !release.public_groups {
        return Err(refused::Question::PrivateGroups { why: release.groups_why.clone() }.at(pos).into());
    }
    let [part] = release.parts.as_slice() else { return Err(one_release(stream).into()) };
    let [(_, output)] = release.outputs.as_slice() else { return Err(one_release(stream).into()) };
    let (least, grid) = match part.kind.on_grid() {
        None if part.kind.counts() && output.of::<Count>().is_some() => {
            (BigDecimal::zero(), BigDecimal::from(1))
        }
        Some(s) if part.kind.adds_rows() && s.centre() == 0 && output.of::<Sum>().is_some() => {
            (s.range().0, s.grid().clone())
        }
        _ => return Err(one_release(stream).into()),
    };
    if stream.variant.is_monotone() {
        let (stream, variant) = (stream.name.clone(), stream.variant.word());
        match comparison.test {
            Test::Above if least >= BigDecimal::zero() => {}
            Test::Above => return Err(refused::Question::Falling { stream, variant }.at(pos).into()),
            _ => return Err(refused::Question::NotAbove { stream, variant }.at(pos).into()),
        }
    }
    let (n, d) = fraction(&comparison.against);
    let (gn, gd) = fraction(&grid);
    // threshold / grid, as one fraction; grids are above zero.
    let denominator = (d * gn).to_biguint();
    let asked = denominator
        .and_then(|d| sparse::Question::new(part.linf, n * gd, d, comparison.test))
        .ok_or_else(|| one_release(stream))?;
    let noise = Noise::new(Sensitivity::of_one(part.linf), Distribution::None);
    release.spec = Spec { l0: 1, aggregates: vec![noise], ..Spec::default() };
    Ok(Question {
        stream: stream.clone(),
        comparison: asked,
        threshold: comparison.threshold,
        average: comparison.average,
        questions: terms.questions,
        beta: terms.beta,
    })
}

/// Numerator and denominator of a decimal.
fn fraction(x: &BigDecimal) -> (BigInt, BigInt) {
    let (digits, scale) = x.normalized().into_bigint_and_exponent();
    let power = BigInt::from(10).pow(u32::try_from(scale.unsigned_abs()).unwrap_or(u32::MAX));
    if scale >= 0 { (digits, power) } else { (digits * power, BigInt::from(1)) }
}

fn no_comparison(stream: &Stream, having: &Expr) -> Refusal {
    refused::Question::NoComparison { stream: stream.name.clone() }.at(having.pos)
}

fn one_release(stream: &Stream) -> Refusal {
    refused::Question::NoAggregate { stream: stream.name.clone() }.at(None)
}

fn undrawn(stream: &Stream, why: dp::DpError) -> Refusal {
    Price::StreamUndrawn { stream: stream.name.clone(), why }.at(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn literal(n: &str) -> Expr {
        Expr::new(ExprKind::Literal(Literal::Number(n.into())), None)
    }

    #[test]
    fn thresholds_are_exact_numbers() {
        let binary = |op, l: &str, r: &str| {
            let (left, right) = (Box::new(literal(l)), Box::new(literal(r)));
            Expr::new(ExprKind::Binary { op, left, right }, None)
        };
        assert_eq!(number(&literal("1e2")).unwrap(), BigDecimal::from(100));
        assert_eq!(number(&binary(BinaryOp::Mul, "2.5", "4")).unwrap(), BigDecimal::from(10));
        assert_eq!(
            number(&Expr::new(ExprKind::Negate(Box::new(literal("7"))), None)).unwrap(),
            BigDecimal::from(-7)
        );
        for e in [literal("1e999999999"), literal("NaN"), literal("1e61"), binary(BinaryOp::Div, "1", "3")] {
            assert_eq!(number(&e), None, "{e:?}");
        }
        // Products stay short, however many factors there are.
        let mut e = literal("1e50");
        for _ in 0..20 {
            let (left, right) = (Box::new(e), Box::new(literal("1e50")));
            e = Expr::new(ExprKind::Binary { op: BinaryOp::Mul, left, right }, None);
        }
        assert_eq!(number(&e), None);
    }

    #[test]
    fn fractions_are_those_of_the_decimal() {
        let f = |x: &str| fraction(&x.parse().unwrap());
        assert_eq!(f("2.50"), (25.into(), 10.into()));
        assert_eq!(f("-1e3"), ((-1000).into(), 1.into()));
        assert_eq!(f("0"), (0.into(), 1.into()));
    }
}
