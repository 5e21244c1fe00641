//! Growth of a statement in PostgreSQL: how long its texts can become while one of its rows is
//! computed, and how large its tree is once subqueries are put into the queries around them. Nested
//! `replace`, `||` and their like turn a line into gigabytes, in the database and in all that
//! carries the answer; `SELECT x + x AS x FROM (…)`, nested, doubles with each level.
//!
//! A bound, in bytes and in expressions, for each expression, from the lengths of constants and
//! from what each function can do to them (`functions`); names are looked up as they are written,
//! and where that is not certain the longest candidate counts. Constructs that no resolver takes
//! need not be understood here. The contents of tables are their owner's affair: a cell counts
//! `CELL` bytes.

mod functions;
mod query;
mod relations;
mod values;

use crate::lines::Lines;
use crate::names::fold;
use answer::{ClientError, SqlState};
use policy::Limits;
use relations::Relation;
use sqlparser::ast::{AccessExpr, Expr, Ident, JsonPathElem, Query, Subscript, UnaryOperator, Value};
use values::{CELL, CHARACTER, DIGITS, VALUE, binary, cast, number, without_brackets};

/// The longest text that a cast may make of a shorter one, in characters.
pub const LONGEST_CHAR: u64 = 65_536;

/// Of `limits.max_expressions`, the part that PostgreSQL may get: what it makes of one takes about a thousand bytes.
const PULLED_UP: usize = 4;

/// Refuses a statement that grows in PostgreSQL to more than a part of `limits.max_expressions`.
pub fn pulled_up(query: &Query, lines: &Lines, limits: &Limits) -> Result<(), ClientError> {
    let mut sizes = Sizes::new(lines, None, limits);
    sizes.query(query);
    sizes.expressions(limits)
}

/// Refuses a statement whose texts may take more than `limits.max_text_bytes` for one row, all together, and one that
/// [`pulled_up`] refuses. `parameters` are the lengths of the values that Bind brings, where it has.
pub fn check(
    query: &Query,
    lines: &Lines,
    parameters: Option<&[usize]>,
    limits: &Limits,
) -> Result<(), ClientError> {
    let mut sizes = Sizes::new(lines, parameters, limits);
    sizes.query(query);
    sizes.expressions(limits)?;
    let message = match (sizes.over, sizes.endless) {
        (_, true) => "the texts of a recursive query grow with each step by more than what is added to them",
        (Some(_), _) => "the texts of this statement can grow too long",
        (None, _) => return Ok(()),
    };
    Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .detail(format!(
            "For one row, all together, they may take {} bytes (limits.max_text_bytes).",
            limits.max_text_bytes
        ))
        .hint(
            "Nest fewer of replace, translate, format, || and aggregates of texts, or give them shorter constants.",
        )
        .at(sizes.over.flatten()))
}

/// The sizes of one statement.
struct Sizes<'a> {
    lines: &'a Lines,
    parameters: Option<&'a [usize]>,
    limit: u64,
    /// Bytes of all texts that were seen.
    total: u64,
    /// There were too many; where that was found.
    over: Option<Option<usize>>,
    ctes: Vec<Relation>,
    /// What stands in FROM, of the queries around, the innermost last.
    scopes: Vec<Vec<Relation>>,
    /// A recursive query doubles what it finds.
    endless: bool,
    /// Expressions that were seen, those that a column stands for included.
    nodes: u64,
    /// Columns that subqueries and CTEs brought to where they are read.
    held: usize,
    /// The most of them.
    most: usize,
}

impl<'a> Sizes<'a> {
    fn new(lines: &'a Lines, parameters: Option<&'a [usize]>, limits: &Limits) -> Self {
        Self {
            lines,
            parameters,
            limit: limits.max_text_bytes,
            total: 0,
            over: None,
            ctes: Vec::new(),
            scopes: Vec::new(),
            endless: false,
            nodes: 0,
            held: 0,
            most: limits.max_expressions,
        }
    }
}

impl Sizes<'_> {
    /// 54000 where there are too many.
    fn expressions(&self, limits: &Limits) -> Result<(), ClientError> {
        if self.held <= self.most && self.nodes <= (self.most / PULLED_UP) as u64 {
            return Ok(());
        }
        let what = "the statement, with its subqueries put into the queries around them,";
        Err(crate::spend::too_large(what, "max_expressions", limits.max_expressions)
            .detail(format!("PostgreSQL may get {} expressions.", self.most / PULLED_UP)))
    }

    /// More expressions for PostgreSQL.
    fn spend(&mut self, more: u64) {
        self.nodes = self.nodes.saturating_add(more);
    }

    /// Whether so many columns more may be copied.
    fn hold(&mut self, more: usize) -> bool {
        self.held = self.held.saturating_add(more);
        self.held <= self.most
    }

    /// An expression of which PostgreSQL makes so many more.
    fn copied(&mut self, e: &Expr, more: u64) -> u64 {
        let before = self.nodes;
        let size = self.expr(e);
        self.spend(self.nodes.saturating_sub(before).saturating_mul(more));
        size
    }

    fn sum(&mut self, list: &[Expr]) -> u64 {
        list.iter().fold(0, |sum, e| sum.saturating_add(self.expr(e)))
    }

    /// Counts an expression that is no text: its parts are.
    fn plain<'e>(&mut self, parts: impl IntoIterator<Item = &'e Expr>) -> u64 {
        for e in parts {
            self.expr(e);
        }
        1
    }

    /// The bytes of an expression, at most.
    fn expr(&mut self, e: &Expr) -> u64 {
        self.spend(1);
        let size = match e {
            // Chains of these may be long: they take little of the stack.
            Expr::Nested(inner) => return self.expr(inner),
            Expr::BinaryOp { left, op, right } => {
                let (a, b) = (self.expr(left), self.expr(right));
                binary(op, a, b)
            }
            other => self.other(other),
        };
        self.total = self.total.saturating_add(size);
        if self.total > self.limit && self.over.is_none() {
            self.over = Some(self.lines.start(e));
        }
        size
    }

    #[inline(never)]
    fn other(&mut self, e: &Expr) -> u64 {
        match e {
            Expr::Identifier(name) => self.column(None, name),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [.., table, name] => self.column(Some(table), name),
                [name] => self.column(None, name),
                [] => 0,
            },
            Expr::CompoundFieldAccess { root, access_chain } => {
                for access in access_chain {
                    match access {
                        AccessExpr::Dot(e) | AccessExpr::Subscript(Subscript::Index { index: e }) => {
                            self.plain([e]);
                        }
                        AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                            self.plain(lower_bound.iter().chain(upper_bound).chain(stride));
                        }
                    }
                }
                self.expr(root)
            }
            Expr::JsonAccess { value, path } => {
                for part in &path.path {
                    if let JsonPathElem::Bracket { key } | JsonPathElem::ColonBracket { key } = part {
                        self.plain([key]);
                    }
                }
                self.expr(value)
            }
            Expr::Value(value) => self.value(&value.value),
            Expr::TypedString(typed) => {
                let size = self.value(&typed.value.value);
                cast(&typed.data_type, size)
            }
            Expr::Prefixed { value, .. } | Expr::Collate { expr: value, .. } => self.expr(value),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.plain([&**expr]),
            Expr::UnaryOp { expr, .. } => self.expr(expr).saturating_add(1),
            Expr::Case { operand, conditions, else_result, .. } => {
                // Each branch has its own.
                for operand in operand.iter() {
                    self.copied(operand, conditions.len() as u64);
                }
                let mut longest = 0;
                for branch in conditions {
                    self.expr(&branch.condition);
                    longest = self.expr(&branch.result).max(longest);
                }
                else_result.iter().fold(longest, |longest, e| self.expr(e).max(longest))
            }
            Expr::Cast { expr, data_type, .. } => {
                let size = self.expr(expr);
                // What stands in an array or a row is quoted, and its quotes are doubled.
                let quoted = !matches!(without_brackets(expr), Expr::Value(_) | Expr::TypedString(_));
                cast(data_type, if quoted { size.saturating_mul(2) } else { size })
            }
            Expr::Subquery(query) => self.query(query),
            Expr::Exists { subquery, .. } => {
                self.query(subquery);
                1
            }
            Expr::InSubquery { expr, subquery, .. } => {
                self.query(subquery);
                self.plain([&**expr])
            }
            Expr::Array(array) => self.sum(&array.elem).saturating_add(VALUE),
            Expr::Tuple(list) => self.sum(list).saturating_add(VALUE),
            Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
                self.plain(sets.iter().flatten())
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let size = self.expr(expr);
                self.plain(substring_from.as_deref().into_iter().chain(substring_for.as_deref()));
                let length = substring_for.as_deref().and_then(number);
                length.map_or(size, |n| n.saturating_mul(CHARACTER).min(size))
            }
            Expr::Trim { expr, trim_what, trim_characters, .. } => {
                self.plain(trim_what.as_deref().into_iter().chain(trim_characters.iter().flatten()));
                self.expr(expr)
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                self.plain([&**overlay_from].into_iter().chain(overlay_for.as_deref()));
                self.expr(expr).saturating_add(self.expr(overlay_what))
            }
            Expr::Function(function) => self.function(function),
            Expr::IsTrue(e)
            | Expr::IsNotTrue(e)
            | Expr::IsFalse(e)
            | Expr::IsNotFalse(e)
            | Expr::IsNull(e)
            | Expr::IsNotNull(e)
            | Expr::IsUnknown(e)
            | Expr::IsNotUnknown(e) => self.plain([&**e]),
            Expr::IsDistinctFrom(a, b) | Expr::IsNotDistinctFrom(a, b) => self.plain([&**a, &**b]),
            // Of what is compared with more than constants, each comparison has its own.
            Expr::InList { expr, list, .. } => {
                let constants = list.iter().all(|e| matches!(without_brackets(e), Expr::Value(_)));
                self.copied(expr, if constants { 0 } else { list.len() as u64 });
                self.plain(list)
            }
            Expr::Between { expr, low, high, .. } => {
                let symmetric = matches!(**low, Expr::UnaryOp { op: UnaryOperator::Not, .. });
                let (values, ends) = if symmetric { (3, 1) } else { (1, 0) };
                self.copied(expr, values);
                self.copied(low, ends);
                self.copied(high, ends);
                1
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
                let listed = match without_brackets(right) {
                    Expr::Array(array) => array.elem.len() as u64,
                    _ => 0,
                };
                self.copied(left, listed);
                self.plain([&**right])
            }
            Expr::Like { expr, pattern, escape_char, .. }
            | Expr::ILike { expr, pattern, escape_char, .. }
            | Expr::SimilarTo { expr, pattern, escape_char, .. } => {
                self.plain([&**expr, &**pattern].into_iter().chain(escape_char.as_deref()))
            }
            Expr::RLike { expr, pattern, .. } => self.plain([&**expr, &**pattern]),
            Expr::IsJson { expr, .. } | Expr::IsNormalized { expr, .. } => self.plain([&**expr]),
            Expr::InUnnest { expr, array_expr, .. } => self.plain([&**expr, &**array_expr]),
            Expr::MemberOf(member) => self.plain([&*member.value, &*member.array]),
            Expr::Convert { expr, styles, .. } => self.expr(expr).max(self.sum(styles)),
            Expr::Struct { values, .. } => self.sum(values).saturating_add(VALUE),
            Expr::Named { expr, .. } | Expr::OuterJoin(expr) | Expr::Prior(expr) => self.expr(expr),
            Expr::Dictionary(fields) => {
                fields.iter().fold(VALUE, |sum, f| sum.saturating_add(self.expr(&f.value)))
            }
            Expr::Map(map) => map.entries.iter().fold(VALUE, |sum, entry| {
                sum.saturating_add(self.expr(&entry.key)).saturating_add(self.expr(&entry.value))
            }),
            Expr::Interval(interval) => self.expr(&interval.value).saturating_add(VALUE),
            Expr::Lambda(lambda) => self.expr(&lambda.body),
            Expr::Position { expr, r#in } => self.plain([&**expr, &**r#in]),
            Expr::Extract { expr, .. } | Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => {
                self.plain([&**expr]).saturating_add(VALUE)
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                self.plain([&**timestamp, &**time_zone]).saturating_add(VALUE)
            }
            Expr::MatchAgainst { .. } | Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => VALUE,
            // They are seen in `expr`.
            Expr::Nested(_) | Expr::BinaryOp { .. } => VALUE,
        }
    }

    fn value(&self, value: &Value) -> u64 {
        let bytes = match value {
            Value::Number(digits, _) => {
                // `1e100000` is short, and long.
                let exponent = digits.rsplit_once(['e', 'E']).and_then(|(_, e)| e.parse::<i64>().ok());
                return (digits.len() as u64)
                    .saturating_add(exponent.unwrap_or(0).unsigned_abs())
                    .min(DIGITS.max(digits.len() as u64));
            }
            Value::SingleQuotedString(s)
            | Value::EscapedStringLiteral(s)
            | Value::UnicodeStringLiteral(s)
            | Value::NationalStringLiteral(s) => s.len(),
            Value::DollarQuotedString(s) => s.value.len(),
            Value::Placeholder(name) => {
                let number = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok());
                let given = number
                    .and_then(|n| n.checked_sub(1))
                    .and_then(|n| self.parameters.and_then(|p| p.get(n)));
                // Numbers are half as long in their binary form.
                return given.map_or(CELL, |n| (*n as u64).saturating_mul(2).saturating_add(VALUE));
            }
            _ => 1,
        };
        bytes as u64
    }

    /// A column, by its name in the queries around; a relation's name stands for its row.
    fn column(&mut self, table: Option<&Ident>, name: &Ident) -> u64 {
        let (table, name) = (table.map(fold), fold(name));
        let (mut longest, mut nodes) = (CELL, 0u64);
        for relation in self.scopes.iter().flatten() {
            if table.as_ref().is_none_or(|t| relation.is_called(t)) {
                let (bytes, stands_for) = relation.column(&name);
                longest = longest.max(bytes);
                // USING makes one of two.
                nodes = nodes.saturating_add(stands_for);
            }
            if table.is_none() && relation.is_called(&name) {
                longest = longest.max(relation.row());
                nodes = nodes.saturating_add(relation.nodes());
            }
        }
        self.spend(nodes);
        longest
    }
}

#[cfg(test)]
mod tests;
