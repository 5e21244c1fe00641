//! Aggregates of rows of two kinds from what is computed of each kind: counts and sums add up, of least and greatest values the
//! least and greatest count, and an average is the sum over the count.

use crate::refusals::Refusal;
use crate::refusals::set_operation::SetOperation;
use schema::SqlType;
use sql::ast::*;

/// Columns that are computed of each kind of rows: keys, then partial results. Columns of both
/// kinds have the same places.
pub(crate) struct Partials {
    /// The relation that has both.
    binding: BindingId,
    private: Vec<Item>,
    others: Vec<Item>,
    pos: Pos,
}

impl Partials {
    pub(crate) fn new(binding: BindingId, keys: &[Expr], pos: Pos) -> Self {
        let item = |(i, e): (usize, &Expr)| Item { expr: e.clone(), name: format!("c{i}") };
        let keys: Vec<Item> = keys.iter().enumerate().map(item).collect();
        Self { binding, private: keys.clone(), others: keys, pos }
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.private.len()
    }

    /// The columns, of private rows and of others.
    pub(crate) fn items(&self) -> [Vec<Item>; 2] {
        [self.private.clone(), self.others.clone()]
    }

    /// An aggregate of all rows, whose type PostgreSQL says is `ty`, from partial results.
    pub(crate) fn value(&mut self, call: &Aggregate, ty: &SqlType) -> Result<Expr, Refusal> {
        let plain = !call.distinct && call.order_by.is_empty() && call.within_group.is_empty();
        match call.name {
            "count" | "sum" if plain => {
                let part = self.same(call);
                // Sums of sums are of wider types than sums.
                Ok(typed(self.sum(part, None), ty))
            }
            "min" | "max" | "bool_and" | "bool_or" | "every" if plain => {
                let part = self.same(call);
                Ok(self.call(call.name, part, None))
            }
            "avg" if plain => {
                let of = |name| Aggregate { name, ..call.clone() };
                let [avg, sum, count] = ["avg", "sum", "count"].map(|n| self.aggregate(of(n)));
                // A released average lies within the range of its values, and is NULL where nobody is left: so is its share.
                let total = self.binary(BinaryOp::Mul, avg, count.clone());
                let total = self.part(total, sum);
                let rows = self.part(count.clone(), count);
                let there = ExprKind::Is { expr: Box::new(total.clone()), what: Is::Null, negated: true };
                let rows = self.sum(rows, Some(Expr::new(there, self.pos)));
                let zero = Expr::new(ExprKind::Literal(Literal::Number("0".into())), self.pos);
                let rows = Expr::new(ExprKind::Call { name: "nullif", args: vec![rows, zero] }, self.pos);
                let sum = self.sum(total, None);
                Ok(typed(self.binary(BinaryOp::Div, sum, rows), ty))
            }
            name => Err(SetOperation::Apart { name, distinct: call.distinct }.at(self.pos)),
        }
    }

    /// One more column, the same of both kinds.
    fn same(&mut self, call: &Aggregate) -> Expr {
        let call = self.aggregate(call.clone());
        self.part(call.clone(), call)
    }

    /// One more column.
    fn part(&mut self, private: Expr, others: Expr) -> Expr {
        let column = self.private.len();
        let name = format!("c{column}");
        self.private.push(Item { expr: private, name: name.clone() });
        self.others.push(Item { expr: others, name });
        Expr::new(ExprKind::Column { binding: self.binding, column }, self.pos)
    }

    fn aggregate(&self, call: Aggregate) -> Expr {
        Expr::new(ExprKind::Aggregate(Box::new(call)), self.pos)
    }

    fn call(&self, name: &'static str, arg: Expr, filter: Option<Expr>) -> Expr {
        let (order_by, within_group) = (Vec::new(), Vec::new());
        let origin = Origin::AddedBy(Rule::MixedUnion);
        self.aggregate(Aggregate {
            name,
            args: vec![arg],
            distinct: false,
            order_by,
            filter,
            within_group,
            origin,
        })
    }

    fn sum(&self, part: Expr, filter: Option<Expr>) -> Expr {
        self.call("sum", part, filter)
    }

    fn binary(&self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, self.pos)
    }
}

/// A cast, to a type that has a name.
pub(crate) fn typed(e: Expr, ty: &SqlType) -> Expr {
    let ty = match ty {
        SqlType::Other { .. } => return e,
        SqlType::Numeric { .. } => SqlType::Numeric { scale: None },
        ty => ty.clone(),
    };
    let pos = e.pos;
    let ty = CastType { ty, modifier: String::new() };
    Expr::new(ExprKind::Cast { expr: Box::new(e), ty }, pos)
}

/// The aggregates of an expression, each once; those over windows are not among them, nor is GROUPING, which is of keys.
pub(crate) fn aggregates(e: &Expr, out: &mut Vec<Aggregate>) {
    match &e.kind {
        ExprKind::Aggregate(a) if a.name == "grouping" || out.contains(a) => {}
        ExprKind::Aggregate(a) => out.push((**a).clone()),
        _ => e.operands().into_iter().for_each(|e| aggregates(e, out)),
    }
}

/// An expression above aggregates, over the relation of partial results: keys are its first columns, and aggregates what they
/// are of these.
pub(crate) fn above(e: &Expr, binding: BindingId, keys: &[Expr], values: &[(Aggregate, Expr)]) -> Expr {
    let mut above = e.clone();
    put_above(&mut above, binding, keys, values);
    above
}

fn put_above(e: &mut Expr, binding: BindingId, keys: &[Expr], values: &[(Aggregate, Expr)]) {
    if let Some(column) = keys.iter().position(|k| k == e) {
        *e = Expr::new(ExprKind::Column { binding, column }, e.pos);
        return;
    }
    if let ExprKind::Aggregate(a) = &e.kind
        && let Some((_, value)) = values.iter().find(|(have, _)| *have == **a)
    {
        *e = value.clone();
        return;
    }
    let up = |e: &mut Expr| put_above(e, binding, keys, values);
    match &mut e.kind {
        // What is called over a window is no aggregate of rows.
        ExprKind::Window { function, partition_by, order_by, .. } => {
            function.children_mut().into_iter().chain(partition_by).for_each(up);
            order_by.iter_mut().map(|o| &mut o.expr).for_each(up);
        }
        _ => e.children_mut().into_iter().for_each(up),
    }
}
