//! Resolution of a SELECT: its list, GROUP BY, and the clauses around them.

use super::scope::{Scope, columns_of};
use super::{Resolver, Result};
use crate::ast::*;
use crate::names::{fold, parts};
use crate::output::output_name;
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

impl Resolver<'_> {
    pub(super) fn select(
        &mut self,
        s: &sp::Select,
        order_by: &[sp::OrderByExpr],
    ) -> Result<(Select, Vec<OrderItem>)> {
        let pos = self.lines.start(s);
        self.plain_select(s, pos)?;
        let mut from = Vec::with_capacity(s.from.len());
        let mut scope = Scope::default();
        for table in &s.from {
            let (item, names) = self.table_with_joins(table, &scope)?;
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
        let filter = s.selection.as_ref().map(|e| self.condition(e)).transpose()?;
        let mut items = Vec::new();
        for item in &s.projection {
            self.item(item, &mut items)?;
        }
        let names: Vec<String> = items.iter().map(|i| i.name.clone()).collect();
        let (group_by, grouping_sets) = self.group_by(&s.group_by, (&items, &names), pos)?;
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
        let id = self.select_id();
        let mut select = Select { id, distinct, items, from, filter, group_by, grouping_sets, having, pos };
        self.weigh(&mut select, &mut order)?;
        Ok((select, order))
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
                let name = match (e, &expr.kind) {
                    // Merged by a FULL JOIN, it has its own name.
                    (sp::Expr::Identifier(ident), ExprKind::Call { name: "coalesce", .. }) => fold(ident),
                    _ => output_name(&expr, &self.bindings),
                };
                out.push(Item { expr, name });
            }
            sp::SelectItem::ExprWithAlias { expr, alias } => {
                out.push(Item { expr: self.expr(expr)?, name: fold(alias) });
            }
            sp::SelectItem::Wildcard(options) => {
                let pos = self.lines.position(options.wildcard_token.0.span.start);
                let columns = self.scopes.last().map(|s| s.star(&self.bindings, pos)).unwrap_or_default();
                if self.scopes.last().is_none_or(|s| s.bindings.is_empty()) {
                    let m = "SELECT * with no tables specified is not valid";
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
                }
                self.star(columns, pos, out)?;
            }
            sp::SelectItem::QualifiedWildcard(sp::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let pos = self.lines.start(name);
                let mut names = parts(name);
                if let [database, _, _] = names.as_slice() {
                    self.is_here(database, &names, pos)?;
                }
                let Some(wanted) = names.pop() else {
                    return Err(self.unsupported("this form of *", pos));
                };
                let Some(b) = self.scopes.last().and_then(|s| s.binding(&self.bindings, &wanted)) else {
                    let m = format!("missing FROM-clause entry for table \"{wanted}\"");
                    return Err(ClientError::new(SqlState::UNDEFINED_TABLE, m).at(pos));
                };
                let column = |(column, name)| (ExprKind::Column { binding: b, column }, name);
                self.star(columns_of(&self.bindings, b).map(column).collect(), pos, out)?;
            }
            _ => return Err(self.unsupported("this form of a select item", None)),
        }
        Ok(())
    }

    pub(super) fn star(
        &mut self,
        columns: Vec<(ExprKind, String)>,
        pos: Pos,
        out: &mut Vec<Item>,
    ) -> Result<()> {
        for (kind, name) in columns {
            self.count_node()?;
            out.push(Item { expr: Expr::new(kind, pos), name });
        }
        Ok(())
    }
}
