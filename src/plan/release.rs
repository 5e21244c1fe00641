//! Building a release: an aggregate over a private relation, with its groups, bounds and noise.

use super::domain::Domain;
use super::equivalence_classes::Col;
use super::flatten::{Flattener, unsupported};
use super::source::PrivateSource;
use super::work::{self, Work};
use super::{Bounding, PlanError, Settings, Sizes, bounding, groups};
use crate::expr::{Choice, GridValue, Node, Scalar, filtered, lower, unbounded};
use answer::{ClientError, SqlState};
use bigdecimal::{BigDecimal, Signed, Zero};
use policy::Policy;
use schema::SqlType;
use sql::ast::*;

type Result<T> = std::result::Result<T, PlanError>;

/// Sums keep at least this many steps between 0 and their bound where no grid is declared.
const DEFAULT_STEPS: u32 = 9;

/// A group key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The analyst's expression, to be found again above the aggregates.
    pub expr: Expr,
    /// What it computes.
    pub scalar: Scalar,
    /// Its public domain and whether NULL belongs to it, where groups are public.
    pub domain: Option<(Domain, bool)>,
    /// Its name in messages.
    pub label: String,
}

/// A released integer per group.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What is counted or summed.
    pub kind: PartKind,
    /// How much one unit can change it in one group, in grid units.
    pub linf: u128,
    /// Its name in messages.
    pub label: String,
}

/// What a part counts or sums.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKind {
    /// Rows where the argument is not NULL (all rows without one).
    Count(Option<Scalar>),
    /// Distinct units.
    Units,
    /// A sum of values on a grid.
    Sum(GridValue),
}

/// How one of the analyst's aggregates is computed from parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A count, as int8.
    Count(usize),
    /// A sum: the part times its grid, as this type.
    Sum(usize, SqlType),
    /// An average: centre + sum / count within [low, high]; NULL where the noisy count is below 1.
    Avg {
        /// The sum.
        sum: usize,
        /// The count of the same rows.
        count: usize,
        /// Result type.
        ty: SqlType,
        /// Where the values lie.
        low: BigDecimal,
        /// Where the values lie.
        high: BigDecimal,
    },
    /// A sum or a count that no row can move from 0: it is known without the database (soundness rule 35).
    Zero(SqlType),
    /// An average that no row can move from this value; NULL where the noisy count is below 1.
    Constant {
        /// The count of the rows.
        count: usize,
        /// Result type.
        ty: SqlType,
        /// The value.
        value: BigDecimal,
    },
}

/// One maximal private aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The SELECT it stands for.
    pub select: usize,
    /// The private relation.
    pub source: PrivateSource,
    /// Group keys.
    pub keys: Vec<Key>,
    /// All groups come back; else they are selected by a threshold.
    pub public_groups: bool,
    /// Why groups are public or private, for EXPLAIN.
    pub groups_why: String,
    /// Released integers.
    pub parts: Vec<Part>,
    /// The analyst's aggregates, and how each is computed.
    pub outputs: Vec<(Aggregate, Output)>,
    /// Contribution bounding.
    pub bounding: Bounding,
    /// What one row can make PostgreSQL do.
    pub work: Work,
    /// The noise; set once the statement's price is split.
    pub spec: dp::Spec,
}

/// Builds the release of one SELECT.
pub struct Builder<'a, 'b> {
    flattener: &'b mut Flattener<'a>,
    policy: &'a Policy,
    settings: &'b Settings,
    sizes: &'b Sizes,
    source: PrivateSource,
    parts: Vec<Part>,
    outputs: Vec<(Aggregate, Output)>,
}

impl<'a, 'b> Builder<'a, 'b> {
    /// Starts from a SELECT over private rows.
    pub fn new(
        flattener: &'b mut Flattener<'a>,
        policy: &'a Policy,
        settings: &'b Settings,
        sizes: &'b Sizes,
        select: &Select,
    ) -> Result<Self> {
        let source = flattener.flatten(select)?;
        Ok(Self { flattener, policy, settings, sizes, source, parts: Vec::new(), outputs: Vec::new() })
    }

    /// The release: `keys` are the group keys, `above` every expression over the aggregates.
    pub fn build(mut self, select: &Select, keys: &[Expr], above: &[&Expr]) -> Result<Release> {
        let mut built = Vec::with_capacity(keys.len());
        for k in keys {
            built.push(self.key(k)?);
        }
        self.flattener.optional_side(&self.source.optional, above, keys)?;
        for e in above {
            self.above(e, keys)?;
        }
        let (public_groups, groups_why) = groups::decide(&self.source, self.policy, self.sizes, &mut built)?;
        if !public_groups && !self.source.optional.is_empty() {
            return Err(unsupported("public LEFT JOIN private with private groups", select.pos)
                .detail(groups_why)
                .hint("Group by keys whose values are public, or write an inner JOIN.")
                .into());
        }
        let units = self.parts.iter().any(|p| p.kind == PartKind::Units) || !public_groups;
        let bounding =
            bounding::bound(&self.source, self.policy, self.settings, &built, public_groups, units);
        for p in &mut self.parts {
            let rows = u128::from(bounding.rows());
            p.linf = match &p.kind {
                PartKind::Count(_) => rows,
                PartKind::Units => 1,
                PartKind::Sum(s) => rows.checked_mul(s.bound()).ok_or_else(too_wide)?,
            };
        }
        if self.parts.is_empty() && built.is_empty() {
            return Err(nothing_depends(select.pos).into());
        }
        let mut expressions: Vec<&Scalar> = built.iter().map(|k| &k.scalar).collect();
        expressions.extend(self.parts.iter().filter_map(|p| match &p.kind {
            PartKind::Count(arg) => arg.as_ref(),
            PartKind::Units => None,
            PartKind::Sum(s) => Some(s.arg()),
        }));
        let work = work::bound(&self.source, &expressions, self.policy, self.sizes, select.pos)?;
        Ok(Release {
            select: select.id,
            source: self.source,
            keys: built,
            public_groups,
            groups_why,
            parts: self.parts,
            outputs: self.outputs,
            bounding,
            work,
            spec: dp::Spec { l0: 1, aggregates: Vec::new(), selection: None },
        })
    }

    fn lower(&mut self, e: &Expr) -> Result<Scalar> {
        let e = self.flattener.expand(e)?;
        Ok(lower(&e, self.flattener)?)
    }

    /// Whether a value is the unit, in every row (`exact`) or wherever it is not NULL.
    fn is_unit(&self, s: &Scalar, exact: bool) -> bool {
        let is = |s: &Scalar, of: &[Col]| match s.node() {
            Node::Column { binding, name } => of.iter().any(|c| c.0 == *binding && c.1 == *name),
            _ => false,
        };
        match s.node() {
            Node::Cast(inner) if inner.ty() == s.ty() => self.is_unit(inner, exact),
            // FULL JOIN: COALESCE over both sides.
            Node::Choice(Choice::Coalesce, list) if list.iter().all(|x| is(x, &self.source.aliases)) => {
                let one = |c: &Col| list.iter().any(|x| is(x, std::slice::from_ref(c)));
                !exact || self.source.exact.iter().any(one) || self.source.unit.columns.iter().all(one)
            }
            _ if exact => is(s, &self.source.exact),
            _ => is(s, &self.source.aliases) || is(s, &self.source.exact),
        }
    }

    fn key(&mut self, e: &Expr) -> Result<Key> {
        let scalar = self.lower(e)?;
        let label = self.label(e);
        if self.is_unit(&scalar, false) {
            return Err(ClientError::unsupported(format!(
                "GROUP BY {label}, the privacy unit, is not supported"
            ))
            .detail("Each group would hold one unit: the result would still be private.")
            .hint("Group by something that many units share.")
            .at(e.pos)
            .into());
        }
        if !has_canonical_form(&scalar) {
            let ty = scalar.ty().sql_name().replace("pg_catalog.", "");
            return Err(ClientError::unsupported(format!("GROUP BY a value of type {ty} is not supported"))
                .detail("Values of this type have several forms that compare equal; which one is shown would depend on single rows.")
                .hint("Group by text, a number, a date, a timestamp, a boolean, an enum or a uuid.")
                .at(e.pos)
                .into());
        }
        Ok(Key { expr: e.clone(), scalar, domain: None, label })
    }

    /// A short name for messages: the column's or the function's.
    fn label(&self, e: &Expr) -> String {
        sql::names::output_name(e, self.flattener.bindings)
    }

    /// Walks an expression above the aggregates: keys and aggregates are its leaves, plain columns an error.
    fn above(&mut self, e: &Expr, keys: &[Expr]) -> Result<()> {
        if keys.contains(e) {
            return Ok(());
        }
        match &e.kind {
            ExprKind::Aggregate(a) => self.aggregate(a, e.pos),
            ExprKind::Column { binding, column } => {
                let b = self.flattener.bindings.get(*binding);
                let name = b.and_then(|b| b.columns.get(*column)).cloned().unwrap_or_default();
                let table = b.map(|b| b.name.clone()).unwrap_or_default();
                Err(ClientError::new(
                    SqlState::GROUPING_ERROR,
                    format!("column \"{table}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function"),
                )
                .at(e.pos)
                .into())
            }
            ExprKind::Window { function, partition_by, order_by, .. } => {
                // The windowed function stands over results; its arguments are walked, not itself.
                for c in function.children() {
                    self.above(c, keys)?;
                }
                partition_by
                    .iter()
                    .chain(order_by.iter().map(|o| &o.expr))
                    .try_for_each(|c| self.above(c, keys))
            }
            _ => e.children().into_iter().try_for_each(|c| self.above(c, keys)),
        }
    }

    fn part(&mut self, kind: PartKind, label: String) -> usize {
        match self.parts.iter().position(|p| p.kind == kind) {
            Some(i) => i,
            None => {
                self.parts.push(Part { kind, linf: 0, label });
                self.parts.len() - 1
            }
        }
    }

    fn count_part(&mut self, arg: Option<&Scalar>) -> usize {
        let kind = PartKind::Count(arg.filter(|a| a.nullable()).cloned());
        let label = if arg.is_some_and(|a| a.nullable()) { "count of non-NULL rows" } else { "count(*)" };
        self.part(kind, label.into())
    }

    /// A count of the rows where the argument is not NULL.
    fn count_output(&mut self, arg: &Scalar) -> Output {
        match arg.node() {
            Node::Null => Output::Zero(SqlType::Int8),
            _ => Output::Count(self.count_part(Some(arg))),
        }
    }

    fn aggregate(&mut self, a: &Aggregate, pos: Pos) -> Result<()> {
        if self.outputs.iter().any(|(have, _)| have == a) {
            return Ok(());
        }
        if !a.order_by.is_empty() || !a.within_group.is_empty() {
            return Err(refuse("ORDER BY in an aggregate over private rows", pos));
        }
        let when = a.filter.as_ref().map(|f| self.lower(f)).transpose()?;
        if when.as_ref().is_some_and(|w| *w.ty() != SqlType::Bool) {
            let m = "argument of FILTER must be type boolean";
            return Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos).into());
        }
        let only = |s: Scalar| match &when {
            None => s,
            // FILTER (WHERE w): CASE WHEN w THEN x END.
            Some(w) => filtered(w.clone(), s),
        };
        let output = match (a.name, a.args.as_slice(), a.distinct) {
            ("count", [], false) => {
                let arg = when.is_some().then(|| only(Scalar::constant_truth(true)));
                Output::Count(self.count_part(arg.as_ref()))
            }
            ("count", [x], false) => {
                let x = only(self.lower(x)?);
                self.count_output(&x)
            }
            ("count", [x], true) => {
                let s = self.lower(x)?;
                if !self.is_unit(&s, true) {
                    return Err(ClientError::unsupported(
                        "count(DISTINCT …) of anything but the privacy unit is not supported yet",
                    )
                    .hint(self.unit_hint())
                    .at(x.pos)
                    .into());
                }
                if when.is_some() {
                    return Err(refuse("FILTER with count(DISTINCT unit)", pos));
                }
                Output::Count(self.part(PartKind::Units, "count of units".into()))
            }
            ("sum" | "avg", [x], false) => {
                let value = only(self.lower(x)?);
                self.sum_or_avg(a.name == "avg", &value, x)?
            }
            ("sum" | "avg", [_], true) => {
                return Err(refuse("DISTINCT in sum and avg over private rows", pos));
            }
            ("count" | "sum" | "avg", _, _) => {
                let m = format!("{} takes one argument", a.name);
                return Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos).into());
            }
            (name, _, _) => {
                return Err(ClientError::unsupported(format!(
                    "{name} over private rows is not supported yet"
                ))
                .hint("count, count(DISTINCT unit), sum and avg are.")
                .at(pos)
                .into());
            }
        };
        self.outputs.push((a.clone(), output));
        Ok(())
    }

    /// How to count units.
    fn unit_hint(&self) -> String {
        let named = self.source.exact.iter().chain(&self.source.aliases);
        match named.into_iter().find(|c| self.flattener.binding(c.0).is_some()) {
            Some(c) if self.source.named().count() > 1 => {
                format!("count(DISTINCT {}) counts units.", self.flattener.shown(c))
            }
            Some((_, name)) => format!("count(DISTINCT {name}) counts units."),
            None => "Join the table that holds the unit, and count its unit column.".into(),
        }
    }

    fn sum_or_avg(&mut self, average: bool, value: &Scalar, x: &Expr) -> Result<Output> {
        if !value.ty().is_number() && !matches!(value.node(), Node::Null) {
            let m = format!(
                "sum and avg of type {} are not supported",
                value.ty().sql_name().replace("pg_catalog.", "")
            );
            return Err(ClientError::unsupported(m).at(x.pos).into());
        }
        let null = Scalar::null(SqlType::Int4);
        let value = if value.ty().is_number() { value } else { &null };
        let Some((low, high)) = value.bound().finite() else {
            return Err(unbounded(value, x.pos).into());
        };
        let (low, high) = (low.clone(), high.clone());
        let ty = result_type(average, value.ty());
        let grid = grid(value, &low, &high);
        let on_grid =
            |centred| GridValue::new(value.clone(), &low, &high, &grid, centred).map_err(|_| too_wide());
        let label = if average { "sum for avg" } else { "sum" };
        let plain = on_grid(false)?;
        if !average {
            // What cannot move from 0 is no question to anybody.
            if plain.bound() == 0 {
                return Ok(Output::Zero(ty));
            }
            return Ok(Output::Sum(self.part(PartKind::Sum(plain), label.into()), ty));
        }
        let centred = on_grid(true)?;
        let count = self.count_part(Some(plain.arg()));
        if centred.bound() == 0 {
            let value = BigDecimal::from(centred.centre()) * &grid;
            return Ok(Output::Constant { count, ty, value });
        }
        // A sum that is released anyway serves the average too; else the sum is centred, which halves its bound.
        let have = self.parts.iter().position(|p| p.kind == PartKind::Sum(plain.clone()));
        let sum = have.unwrap_or_else(|| self.part(PartKind::Sum(centred), label.into()));
        Ok(Output::Avg { sum, count, ty, low, high })
    }
}

fn refuse(what: &str, pos: Pos) -> PlanError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos).into()
}

fn too_wide() -> PlanError {
    ClientError::unsupported("the range of this sum is too wide for its grid")
        .hint("Clamp it to a narrower range, or round it to fewer digits.")
        .into()
}

/// A statement whose aggregates no row can change.
fn nothing_depends(pos: Pos) -> ClientError {
    ClientError::unsupported(
        "a statement whose aggregates are the same whatever the rows hold is not supported",
    )
    .detail("It would read private rows for nothing: a sum of zeros is 0, and no noise would be drawn.")
    .hint("Sum a value that rows can change, or write the number.")
    .at(pos)
}

/// Whether equal values of this key always print the same, or are made to (soundness rule 4).
fn has_canonical_form(s: &Scalar) -> bool {
    s.canonical()
        && !matches!(s.ty(), SqlType::Bpchar | SqlType::Other { .. } | SqlType::Time | SqlType::Interval)
}

fn result_type(average: bool, ty: &SqlType) -> SqlType {
    match (average, ty) {
        (_, SqlType::Float8) | (true, SqlType::Float4) => SqlType::Float8,
        (false, SqlType::Float4) => SqlType::Float4,
        (false, SqlType::Int2 | SqlType::Int4) => SqlType::Int8,
        _ => SqlType::Numeric { scale: None },
    }
}

/// The grid of a sum: the lattice of its values, else nine digits of its bound.
fn grid(value: &Scalar, low: &BigDecimal, high: &BigDecimal) -> BigDecimal {
    let magnitude = low.abs().max(high.abs());
    let limit = BigDecimal::from(1i64 << 62);
    match value.lattice() {
        Some(l) if l.is_positive() && &magnitude / l <= limit => l.clone(),
        _ => {
            // The power of ten that leaves nine digits to the magnitude.
            let mut exponent = 0i64;
            let (one, ten) = (BigDecimal::from(1), BigDecimal::from(10));
            let mut m = magnitude;
            if m.is_zero() {
                return BigDecimal::from(1);
            }
            while m >= ten {
                m = (&m / &ten).normalized();
                exponent += 1;
            }
            while m < one {
                m = (&m * &ten).normalized();
                exponent -= 1;
            }
            BigDecimal::new(1.into(), i64::from(DEFAULT_STEPS) - exponent).normalized()
        }
    }
}

impl Release {
    /// What it needs noise for, where each selection gets this share of δ.
    pub fn outline(&self, delta: &dp::Ratio) -> dp::Outline {
        dp::Outline {
            l0: self.bounding.l0(),
            linf: self.parts.iter().map(|p| p.linf).collect(),
            selection_delta: (!self.public_groups).then_some(*delta),
        }
    }

    /// Nothing private is read: public groups without aggregates.
    pub fn is_domain_only(&self) -> bool {
        self.public_groups && self.parts.is_empty()
    }
}
