//! Names to numbers: queries, FROM, GROUP BY and ORDER BY. Expressions are in `expr`, casts in `types`.
//!
//! Nothing of the statement's text survives but constants and output names.

mod expr;
mod scope;
mod types;

use super::ast::*;
use super::catalog::Catalog;
use super::functions::nearest_of;
use super::names::{output_name, truncate};
use super::parse::Lines;
use super::statement::{fold, no_writes};
use answer::{ClientError, SqlState};
use policy::Limits;
use scope::{Merged, Scope};
use sqlparser::ast::{self as sp, Spanned};

type Result<T> = std::result::Result<T, ClientError>;

struct Resolver<'a> {
    catalog: &'a dyn Catalog,
    limits: &'a Limits,
    lines: &'a Lines,
    bindings: Vec<Binding>,
    /// CTEs in scope: name, id, columns.
    ctes: Vec<(String, usize, Vec<String>)>,
    next_cte: usize,
    /// FROM scopes, outermost first.
    scopes: Vec<Scope>,
    /// WINDOW definitions in scope.
    windows: Vec<(String, sp::WindowSpec)>,
    nodes: usize,
    next_select: usize,
}

/// Resolves a query against a catalog.
pub fn resolve(
    query: &sp::Query,
    lines: &Lines,
    catalog: &dyn Catalog,
    limits: &Limits,
) -> Result<Statement> {
    let mut resolver = Resolver {
        catalog,
        limits,
        lines,
        bindings: Vec::new(),
        ctes: Vec::new(),
        next_cte: 0,
        scopes: Vec::new(),
        windows: Vec::new(),
        nodes: 0,
        next_select: 0,
    };
    let query = resolver.query(query)?;
    Ok(Statement { query, bindings: resolver.bindings })
}

impl Resolver<'_> {
    /// Counts a node of the tree against `limits.max_expressions`.
    fn count_node(&mut self) -> Result<()> {
        self.nodes += 1;
        if self.nodes > self.limits.max_expressions {
            return Err(super::parse::too_large(
                "the statement",
                "max_expressions",
                self.limits.max_expressions,
            ));
        }
        Ok(())
    }

    fn query(&mut self, q: &sp::Query) -> Result<Query> {
        self.count_node()?;
        let pos = self.lines.start(q);
        if !q.locks.is_empty() {
            return Err(ClientError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                "cannot lock rows: noisegate is read-only",
            )
            .hint("Leave out FOR UPDATE or FOR SHARE.")
            .at(pos));
        }
        if q.for_clause.is_some()
            || q.settings.is_some()
            || q.format_clause.is_some()
            || !q.pipe_operators.is_empty()
        {
            return Err(self.unsupported("this clause", pos));
        }
        let visible = self.ctes.len();
        let mut with = Vec::new();
        if let Some(w) = &q.with {
            if w.recursive {
                return Err(self
                    .unsupported("WITH RECURSIVE", pos)
                    .hint("A plain WITH is supported, where a CTE does not refer to itself."));
            }
            for cte in &w.cte_tables {
                with.push(self.cte(cte)?);
            }
        }
        let (body, order_by) = self.body(&q.body, q.order_by.as_ref())?;
        let (limit, offset) = self.limits_of(q, pos)?;
        self.ctes.truncate(visible);
        Ok(Query { with, body, order_by, limit, offset })
    }

    fn cte(&mut self, cte: &sp::Cte) -> Result<Cte> {
        let name = fold(&cte.alias.name);
        let pos = self.lines.position(cte.alias.name.span.start);
        if cte.from.is_some() {
            return Err(self.unsupported("this form of WITH", pos));
        }
        let query = self.isolated(|r| r.query(&cte.query))?;
        let columns = self.alias_columns(&cte.alias, query.body.names(), pos)?;
        let id = self.next_cte;
        self.next_cte += 1;
        self.ctes.push((name, id, columns));
        Ok(Cte { id, query })
    }

    /// Runs `f` without the names of enclosing FROMs: derived tables and CTEs do not see them.
    fn isolated<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scopes = std::mem::take(&mut self.scopes);
        let windows = std::mem::take(&mut self.windows);
        let out = f(self);
        self.scopes = scopes;
        self.windows = windows;
        out
    }

    fn limits_of(&mut self, q: &sp::Query, pos: Pos) -> Result<(Option<Expr>, Option<Expr>)> {
        let (mut limit, mut offset) = (None, None);
        match &q.limit_clause {
            None => {}
            Some(sp::LimitClause::LimitOffset { limit: l, offset: o, limit_by }) if limit_by.is_empty() => {
                limit = l.as_ref().map(|e| self.count(e)).transpose()?;
                offset = o.as_ref().map(|o| self.count(&o.value)).transpose()?;
            }
            Some(_) => {
                return Err(self.unsupported("this form of LIMIT", pos).hint("Write LIMIT n OFFSET m."));
            }
        }
        if let Some(f) = &q.fetch {
            if f.with_ties || f.percent || limit.is_some() {
                return Err(self.unsupported("this form of FETCH", pos).hint("Write LIMIT n."));
            }
            let one = || Expr::new(ExprKind::Literal(Literal::Number("1".into())), pos);
            limit = Some(f.quantity.as_ref().map(|e| self.count(e)).transpose()?.unwrap_or_else(one));
        }
        Ok((limit, offset))
    }

    /// LIMIT and OFFSET take constants only: what they cut must not depend on rows.
    fn count(&mut self, e: &sp::Expr) -> Result<Expr> {
        let pos = self.lines.start(e);
        let expr = self.isolated(|r| r.expr(e))?;
        let constant = !expr.any(&mut |e| {
            !matches!(
                e.kind,
                ExprKind::Literal(_)
                    | ExprKind::Param(_)
                    | ExprKind::Negate(_)
                    | ExprKind::Binary { .. }
                    | ExprKind::Cast { .. }
            )
        });
        if constant {
            Ok(expr)
        } else {
            Err(self.unsupported("a LIMIT or OFFSET that is not a constant", pos).hint("Write a number."))
        }
    }

    fn body(&mut self, body: &sp::SetExpr, order_by: Option<&sp::OrderBy>) -> Result<(Body, Vec<OrderItem>)> {
        self.count_node()?;
        no_writes(body, self.lines)?;
        let order_by: &[sp::OrderByExpr] = match order_by.map(|o| (&o.kind, &o.interpolate)) {
            None => &[],
            Some((sp::OrderByKind::Expressions(items), None)) => items,
            Some(_) => return Err(self.unsupported("this form of ORDER BY", None)),
        };
        match body {
            sp::SetExpr::Select(s) => {
                let (select, order) = self.select(s, order_by)?;
                Ok((Body::Select(Box::new(select)), order))
            }
            other => {
                let body = self.set_body(other)?;
                let names = body.names();
                let order = order_by.iter().map(|o| self.output_order(o, &names)).collect::<Result<_>>()?;
                Ok((body, order))
            }
        }
    }

    fn set_body(&mut self, body: &sp::SetExpr) -> Result<Body> {
        self.count_node()?;
        no_writes(body, self.lines)?;
        Ok(match body {
            sp::SetExpr::Select(s) => Body::Select(Box::new(self.select(s, &[])?.0)),
            sp::SetExpr::Query(q) => Body::Query(Box::new(self.query(q)?)),
            sp::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let pos = self.lines.start(body);
                let op = match op {
                    sp::SetOperator::Union => SetOp::Union,
                    sp::SetOperator::Intersect => SetOp::Intersect,
                    sp::SetOperator::Except | sp::SetOperator::Minus => SetOp::Except,
                };
                let all = match set_quantifier {
                    sp::SetQuantifier::All => true,
                    sp::SetQuantifier::None | sp::SetQuantifier::Distinct => false,
                    _ => return Err(self.unsupported("this set operation", pos)),
                };
                let (left, right) = (self.set_body(left)?, self.set_body(right)?);
                if left.names().len() != right.names().len() {
                    let m = "each set operation branch must have the same number of columns";
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
                }
                Body::SetOp { op, all, left: Box::new(left), right: Box::new(right) }
            }
            sp::SetExpr::Values(v) => {
                Body::Values(v.rows.iter().map(|r| self.exprs(&r.content)).collect::<Result<_>>()?)
            }
            other => return Err(self.unsupported("this form of query", self.lines.start(other))),
        })
    }

    /// ORDER BY over a set operation: output names and ordinals only, as in PostgreSQL.
    fn output_order(&mut self, o: &sp::OrderByExpr, names: &[String]) -> Result<OrderItem> {
        let pos = self.lines.start(&o.expr);
        match self.output(&o.expr, names, pos)? {
            Some(i) => self.order_item(o, Expr::new(ExprKind::Output(i), pos)),
            None => Err(self
                .unsupported("ORDER BY an expression over a set operation", pos)
                .hint("Order by an output column's name or number, or wrap the query: SELECT … FROM (…) q ORDER BY …")),
        }
    }

    /// The output column that an ordinal or an output name stands for.
    fn output(&self, e: &sp::Expr, names: &[String], pos: Pos) -> Result<Option<usize>> {
        match e {
            sp::Expr::Nested(inner) => self.output(inner, names, pos),
            sp::Expr::Value(v) => match &v.value {
                sp::Value::Number(n, _) => {
                    match n.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < names.len())
                    {
                        Some(i) => Ok(Some(i)),
                        None => Err(ClientError::new(
                            SqlState::INVALID_COLUMN_REFERENCE,
                            format!("position {n} is not in select list"),
                        )
                        .at(pos)),
                    }
                }
                _ => Ok(None),
            },
            sp::Expr::Identifier(ident) => {
                let name = fold(ident);
                let mut found = names.iter().enumerate().filter(|(_, n)| **n == name).map(|(i, _)| i);
                Ok(found.next())
            }
            _ => Ok(None),
        }
    }

    fn select(&mut self, s: &sp::Select, order_by: &[sp::OrderByExpr]) -> Result<(Select, Vec<OrderItem>)> {
        let pos = self.lines.start(s);
        self.plain_select(s, pos)?;
        let mut from = Vec::with_capacity(s.from.len());
        let mut scope = Scope::default();
        for table in &s.from {
            let (item, names) = self.table_with_joins(table)?;
            scope.join(names, &self.bindings, pos)?;
            from.push(item);
        }
        let windows = self.windows.len();
        for sp::NamedWindowDefinition(name, spec) in &s.named_window {
            match spec {
                sp::NamedWindowExpr::WindowSpec(spec) => self.windows.push((fold(name), spec.clone())),
                sp::NamedWindowExpr::NamedWindow(_) => {
                    return Err(self.unsupported("this form of WINDOW", pos));
                }
            }
        }
        self.scopes.push(scope);
        let out = self.select_in_scope(s, order_by, from, pos);
        self.scopes.pop();
        self.windows.truncate(windows);
        out
    }

    fn select_in_scope(
        &mut self,
        s: &sp::Select,
        order_by: &[sp::OrderByExpr],
        from: Vec<From>,
        pos: Pos,
    ) -> Result<(Select, Vec<OrderItem>)> {
        let filter = s.selection.as_ref().map(|e| self.expr(e)).transpose()?;
        let mut items = Vec::new();
        for item in &s.projection {
            self.item(item, &mut items)?;
        }
        let names: Vec<String> = items.iter().map(|i| i.name.clone()).collect();
        let group_by = match &s.group_by {
            sp::GroupByExpr::Expressions(list, modifiers) if modifiers.is_empty() => {
                let mut keys: Vec<Expr> = Vec::with_capacity(list.len());
                for e in list {
                    let key = self.group_key(e, &items, &names)?;
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                }
                keys
            }
            sp::GroupByExpr::Expressions(..) => {
                return Err(self.unsupported("ROLLUP, CUBE and TOTALS", pos));
            }
            sp::GroupByExpr::All(_) => return Err(self.unsupported("GROUP BY ALL", pos)),
        };
        let having = s.having.as_ref().map(|e| self.expr(e)).transpose()?;
        let distinct = match &s.distinct {
            None | Some(sp::Distinct::All) => Distinct::No,
            Some(sp::Distinct::Distinct) => Distinct::All,
            Some(sp::Distinct::On(on)) => Distinct::On(self.exprs(on)?),
        };
        let mut order = Vec::with_capacity(order_by.len());
        for o in order_by {
            let at = self.lines.start(&o.expr);
            // An output name wins over a column here; a name inside an expression is always a column.
            let expr = match self.output(&o.expr, &names, at)? {
                Some(i) => Expr::new(ExprKind::Output(i), at),
                None => self.expr(&o.expr)?,
            };
            order.push(self.order_item(o, expr)?);
        }
        let id = self.next_select;
        self.next_select += 1;
        let select = Select { id, distinct, items, from, filter, group_by, having, pos };
        Ok((select, order))
    }

    /// GROUP BY: an ordinal, else a column, else an output name.
    fn group_key(&mut self, e: &sp::Expr, items: &[Item], names: &[String]) -> Result<Expr> {
        let pos = self.lines.start(e);
        let inner = unnest(e);
        let output = match inner {
            sp::Expr::Value(_) => self.output(inner, names, pos)?,
            sp::Expr::Identifier(ident) => {
                let column = match self.scopes.last() {
                    Some(scope) => scope.column(&self.bindings, &fold(ident), pos)?,
                    None => None,
                };
                if column.is_some() { None } else { self.output(inner, names, pos)? }
            }
            _ => None,
        };
        match output.and_then(|i| items.get(i)) {
            Some(item) if item.expr.any(&mut |e| matches!(e.kind, ExprKind::Aggregate(_))) => {
                let m = "aggregate functions are not allowed in GROUP BY";
                Err(ClientError::new(SqlState::GROUPING_ERROR, m).at(pos))
            }
            Some(item) => Ok(item.expr.clone()),
            None => self.expr(inner),
        }
    }

    fn plain_select(&self, s: &sp::Select, pos: Pos) -> Result<()> {
        if s.into.is_some() {
            return Err(ClientError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                "cannot execute SELECT INTO: noisegate is read-only",
            )
            .hint("Leave out INTO.")
            .at(pos));
        }
        let odd = s.top.is_some()
            || s.exclude.is_some()
            || s.select_modifiers.is_some()
            || !s.lateral_views.is_empty()
            || s.prewhere.is_some()
            || !s.connect_by.is_empty()
            || !s.cluster_by.is_empty()
            || !s.distribute_by.is_empty()
            || !s.sort_by.is_empty()
            || s.qualify.is_some()
            || s.value_table_mode.is_some()
            || !matches!(s.flavor, sp::SelectFlavor::Standard);
        if odd {
            return Err(self.unsupported("a clause that PostgreSQL does not have", pos));
        }
        Ok(())
    }

    fn item(&mut self, item: &sp::SelectItem, out: &mut Vec<Item>) -> Result<()> {
        match item {
            sp::SelectItem::UnnamedExpr(e) => {
                let expr = self.expr(e)?;
                let name = output_name(&expr, &self.bindings);
                out.push(Item { expr, name });
            }
            sp::SelectItem::ExprWithAlias { expr, alias } => {
                out.push(Item { expr: self.expr(expr)?, name: fold(alias) });
            }
            sp::SelectItem::Wildcard(options) => {
                let pos = self.lines.position(options.wildcard_token.0.span.start);
                let columns = self.scopes.last().map(|s| s.star(&self.bindings)).unwrap_or_default();
                if self.scopes.last().is_none_or(|s| s.bindings.is_empty()) {
                    let m = "SELECT * with no tables specified is not valid";
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
                }
                self.star(columns, pos, out)?;
            }
            sp::SelectItem::QualifiedWildcard(sp::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let pos = self.lines.position(name.span().start);
                let wanted = match name.0.last() {
                    Some(sp::ObjectNamePart::Identifier(i)) => fold(i),
                    _ => return Err(self.unsupported("this form of *", pos)),
                };
                let Some(b) = self.scopes.last().and_then(|s| s.binding(&self.bindings, &wanted)) else {
                    let m = format!("missing FROM-clause entry for table \"{wanted}\"");
                    return Err(ClientError::new(SqlState::UNDEFINED_TABLE, m).at(pos));
                };
                let n = self.bindings.get(b).map_or(0, |b| b.columns.len());
                self.star((0..n).map(|i| (b, i)).collect(), pos, out)?;
            }
            _ => return Err(self.unsupported("this form of a select item", None)),
        }
        Ok(())
    }

    fn star(&mut self, columns: Vec<(usize, usize)>, pos: Pos, out: &mut Vec<Item>) -> Result<()> {
        for (binding, column) in columns {
            self.count_node()?;
            let expr = Expr::new(ExprKind::Column { binding, column }, pos);
            let name = output_name(&expr, &self.bindings);
            out.push(Item { expr, name });
        }
        Ok(())
    }

    fn table_with_joins(&mut self, t: &sp::TableWithJoins) -> Result<(From, Scope)> {
        let (mut from, mut scope) = self.factor(&t.relation)?;
        for join in &t.joins {
            self.count_node()?;
            let pos = self.lines.start(join);
            let (right, right_scope) = self.factor(&join.relation)?;
            let (kind, constraint) = self.join_kind(&join.join_operator, pos)?;
            let on = self.constraint(kind, constraint, &mut scope, right_scope, pos)?;
            from = From::Join { left: Box::new(from), right: Box::new(right), kind, on, pos };
        }
        Ok((from, scope))
    }

    fn join_kind<'j>(
        &self,
        op: &'j sp::JoinOperator,
        pos: Pos,
    ) -> Result<(JoinKind, &'j sp::JoinConstraint)> {
        use sp::JoinOperator as J;
        match op {
            J::Join(c) | J::Inner(c) | J::CrossJoin(c) => Ok((JoinKind::Inner, c)),
            J::Left(c) | J::LeftOuter(c) => Ok((JoinKind::Left, c)),
            J::Right(c) | J::RightOuter(c) => Ok((JoinKind::Right, c)),
            J::FullOuter(c) => Ok((JoinKind::Full, c)),
            _ => Err(self.unsupported("this kind of join", pos)),
        }
    }

    /// The ON of a join; `left` becomes the scope of the whole join.
    fn constraint(
        &mut self,
        kind: JoinKind,
        c: &sp::JoinConstraint,
        left: &mut Scope,
        right: Scope,
        pos: Pos,
    ) -> Result<Option<Expr>> {
        let shared: Vec<String> = match c {
            sp::JoinConstraint::On(_) | sp::JoinConstraint::None => Vec::new(),
            sp::JoinConstraint::Using(names) => names
                .iter()
                .map(|n| match n.0.as_slice() {
                    [sp::ObjectNamePart::Identifier(i)] => Ok(fold(i)),
                    _ => Err(self.unsupported("a qualified name in USING", pos)),
                })
                .collect::<Result<_>>()?,
            sp::JoinConstraint::Natural => {
                let names = |s: &Scope| -> Vec<String> {
                    s.star(&self.bindings)
                        .iter()
                        .filter_map(|(b, c)| self.bindings.get(*b)?.columns.get(*c).cloned())
                        .collect()
                };
                let theirs = names(&right);
                names(left).into_iter().filter(|n| theirs.contains(n)).collect()
            }
        };
        let mut equal = Vec::new();
        for name in shared {
            let (Some(l), Some(r)) =
                (left.column(&self.bindings, &name, pos)?, right.column(&self.bindings, &name, pos)?)
            else {
                let m = format!("column \"{name}\" specified in USING clause does not exist on both sides");
                return Err(ClientError::new(SqlState::UNDEFINED_COLUMN, m).at(pos));
            };
            if kind == JoinKind::Full {
                return Err(self
                    .unsupported("USING and NATURAL in a FULL JOIN", pos)
                    .hint("Write ON a.x = b.x."));
            }
            equal.push((name, l, r));
        }
        left.join(right, &self.bindings, pos)?;
        let mut on: Option<Expr> = None;
        for (name, l, r) in equal {
            if let (
                ExprKind::Column { binding: lb, column: lc },
                ExprKind::Column { binding: rb, column: rc },
            ) = (&l, &r)
            {
                let (l, r) = ((*lb, *lc), (*rb, *rc));
                let (shown, hidden) = if kind == JoinKind::Right { (r, l) } else { (l, r) };
                let mut all_hidden = vec![hidden];
                left.merged.retain(|m| {
                    if m.name == name {
                        all_hidden.extend(m.hidden.iter().copied());
                    }
                    m.name != name
                });
                left.merged.push(Merged { name, shown, hidden: all_hidden });
            }
            let (left, right) = (Box::new(Expr::new(l, pos)), Box::new(Expr::new(r, pos)));
            let equal = Expr::new(ExprKind::Binary { op: BinaryOp::Eq, left, right }, pos);
            on = Some(match on {
                None => equal,
                Some(on) => and(on, equal),
            });
        }
        if let sp::JoinConstraint::On(e) = c {
            self.scopes.push(left.clone());
            let on = self.expr(e);
            self.scopes.pop();
            return Ok(Some(on?));
        }
        Ok(on)
    }

    fn factor(&mut self, t: &sp::TableFactor) -> Result<(From, Scope)> {
        self.count_node()?;
        let pos = self.lines.start(t);
        match t {
            sp::TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                if sample.is_some() {
                    return Err(self.unsupported("TABLESAMPLE", pos));
                }
                self.relation(name, alias.as_ref(), pos)
            }
            sp::TableFactor::Table { args: Some(_), .. } | sp::TableFactor::Function { .. } => {
                Err(self.unsupported("a function in FROM", pos))
            }
            sp::TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                if *lateral {
                    return Err(self.unsupported("LATERAL", pos));
                }
                let query = self.isolated(|r| r.query(subquery))?;
                let Some(alias) = alias else {
                    let m = "subquery in FROM must have an alias";
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m)
                        .hint("Write (SELECT …) AS q.")
                        .at(pos));
                };
                let columns = self.alias_columns(alias, query.body.names(), pos)?;
                Ok(self.bind(fold(&alias.name), Source::Derived, columns, Some(query), pos))
            }
            sp::TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.table_with_joins(table_with_joins)
            }
            _ => Err(self.unsupported("this form of FROM", pos)),
        }
    }

    fn relation(
        &mut self,
        name: &sp::ObjectName,
        alias: Option<&sp::TableAlias>,
        pos: Pos,
    ) -> Result<(From, Scope)> {
        let parts: Vec<String> = name
            .0
            .iter()
            .filter_map(|p| match p {
                sp::ObjectNamePart::Identifier(i) => Some(fold(i)),
                sp::ObjectNamePart::Function(_) => None,
            })
            .collect();
        let (schema, table) = match parts.as_slice() {
            [table] => (None, table.clone()),
            [schema, table] => (Some(schema.as_str()), table.clone()),
            _ => return Err(self.unsupported("a name of more than two parts", pos)),
        };
        let cte =
            schema.is_none().then(|| self.ctes.iter().rev().find(|(n, ..)| *n == table).cloned()).flatten();
        let (source, columns) = match cte {
            Some((_, id, columns)) => (Source::Cte(id), columns),
            None => match self.catalog.relation(schema, &table) {
                Some(r) => (r.source, r.columns),
                None => return Err(self.no_relation(schema, &table, pos)),
            },
        };
        let (bound, columns) = match alias {
            None => (table, columns),
            Some(a) => (fold(&a.name), self.alias_columns(a, columns, pos)?),
        };
        Ok(self.bind(bound, source, columns, None, pos))
    }

    fn no_relation(&self, schema: Option<&str>, table: &str, pos: Pos) -> ClientError {
        let full = schema.map_or_else(|| table.to_owned(), |s| format!("{s}.{table}"));
        if matches!(schema, Some("pg_catalog" | "information_schema")) || table.starts_with("pg_") {
            return ClientError::unsupported(format!("the system catalog {full} is not available"))
                .hint("noisegate shows the tables of its policy only; its answers to catalog queries are not built yet.")
                .at(pos);
        }
        let names = self.catalog.names();
        if schema == Some(Own::SCHEMA) {
            let own = Own::ALL.map(|o| format!("noisegate.{}", o.name())).join(", ");
            return ClientError::new(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{full}\" does not exist"),
            )
            .hint(format!("The relations of noisegate are {own}."))
            .at(pos);
        }
        let near = functions_near(table, &names);
        let e = ClientError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"))
            .at(pos);
        match near {
            Some(n) => e.hint(format!("Perhaps you meant \"{n}\".")),
            None => e.hint(format!("The policy names these tables: {}.", names.join(", "))),
        }
    }

    fn bind(
        &mut self,
        name: String,
        source: Source,
        columns: Vec<String>,
        query: Option<Query>,
        pos: Pos,
    ) -> (From, Scope) {
        let binding = self.bindings.len();
        self.bindings.push(Binding { name, source, columns });
        let scope = Scope { bindings: vec![binding], merged: Vec::new() };
        (From::Relation { binding, query: query.map(Box::new), pos }, scope)
    }

    /// Column names after an alias with a column list, which may be shorter than the columns.
    fn alias_columns(
        &self,
        alias: &sp::TableAlias,
        mut columns: Vec<String>,
        pos: Pos,
    ) -> Result<Vec<String>> {
        if alias.columns.len() > columns.len() {
            let m = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                fold(&alias.name),
                columns.len(),
                alias.columns.len()
            );
            return Err(ClientError::new(SqlState::INVALID_COLUMN_REFERENCE, m).at(pos));
        }
        for (have, want) in columns.iter_mut().zip(&alias.columns) {
            *have = truncate(fold(&want.name));
        }
        Ok(columns)
    }
}

fn functions_near(name: &str, names: &[String]) -> Option<String> {
    nearest_of(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// `a AND b`
pub fn and(a: Expr, b: Expr) -> Expr {
    let pos = a.pos;
    Expr::new(ExprKind::Binary { op: BinaryOp::And, left: Box::new(a), right: Box::new(b) }, pos)
}

fn unnest(e: &sp::Expr) -> &sp::Expr {
    match e {
        sp::Expr::Nested(inner) => unnest(inner),
        e => e,
    }
}
