//! FROM: tables, derived tables and joins, and the names that they bring into scope.

use super::scope::{Merged, Scope};
use super::{Resolver, Result, and};
use crate::ast::*;
use crate::functions::nearest_of;
use crate::names::{ELSEWHERE, fold, parts, truncate};
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

impl Resolver<'_> {
    /// An entry of FROM; `before`: the names of those to its left, which LATERAL sees.
    pub(super) fn table_with_joins(
        &mut self,
        t: &sp::TableWithJoins,
        before: &Scope,
    ) -> Result<(From, Scope)> {
        let (mut from, mut scope) = self.factor(&t.relation, before)?;
        for join in &t.joins {
            self.count_node()?;
            let pos = self.lines.start(join);
            let (right, right_scope) = self.factor(&join.relation, &before.and(&scope))?;
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
                .map(|n| match parts(n).as_slice() {
                    [name] => Ok(name.clone()),
                    _ => Err(self.unsupported("a qualified name in USING", pos)),
                })
                .collect::<Result<_>>()?,
            sp::JoinConstraint::Natural => {
                let names = |s: &Scope| -> Vec<String> {
                    s.star(&self.bindings, pos).into_iter().map(|(_, name)| name).collect()
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
            equal.push((name, l, r));
        }
        left.join(right, &self.bindings, pos)?;
        let mut on: Option<Expr> = None;
        for (name, l, r) in equal {
            let columns = |e: &ExprKind| match e {
                ExprKind::Column { binding, column } => vec![(*binding, *column)],
                // Merged by a FULL JOIN before.
                ExprKind::Call { args, .. } => args.iter().filter_map(Expr::column).collect(),
                _ => Vec::new(),
            };
            let (shown, mut hidden) = match kind {
                JoinKind::Full => ([columns(&l), columns(&r)].concat(), Vec::new()),
                JoinKind::Right => (columns(&r), columns(&l)),
                _ => (columns(&l), columns(&r)),
            };
            left.merged.retain(|m| {
                if m.name == name {
                    hidden.extend(m.hidden.iter().copied());
                }
                m.name != name
            });
            left.merged.push(Merged { name, shown, hidden });
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

    fn factor(&mut self, t: &sp::TableFactor, before: &Scope) -> Result<(From, Scope)> {
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
                    let hint = "Leave it out: noise is the same over a part of the rows, and larger beside what they add up to. \
                                What is asked for costs the same.";
                    return Err(self.unsupported("TABLESAMPLE", pos).hint(hint));
                }
                self.relation(name, alias.as_ref(), pos)
            }
            sp::TableFactor::Table {
                name,
                args: Some(sp::TableFunctionArgs { args, settings: None }),
                alias,
                ..
            } => self.called_in_from(name, args, alias.as_ref(), before, pos),
            sp::TableFactor::Function { name, args, alias, .. } => {
                self.called_in_from(name, args, alias.as_ref(), before, pos)
            }
            sp::TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_ordinality: false,
                ..
            } => {
                if let Some(values) = self.unnested(array_exprs, alias.as_ref(), before, pos)? {
                    return Ok(values);
                }
                let args = self.isolated(|r| r.exprs(array_exprs))?;
                self.table_function("unnest", args, alias.as_ref(), pos)
            }
            sp::TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let query = if *lateral {
                    self.scopes.push(before.clone());
                    let query = self.query(subquery);
                    self.scopes.pop();
                    query?
                } else {
                    self.isolated(|r| r.query(subquery))?
                };
                let Some(alias) = alias else {
                    let m = "subquery in FROM must have an alias";
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m)
                        .hint("Write (SELECT …) AS q.")
                        .at(pos));
                };
                let columns = self.alias_columns(alias, query.body.names(), pos)?;
                let (mut from, scope) =
                    self.bind(fold(&alias.name), Source::Derived, columns, Some(query), pos);
                if let From::Relation { lateral: sees, .. } = &mut from {
                    *sees = *lateral;
                }
                Ok((from, scope))
            }
            sp::TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.table_with_joins(table_with_joins, before)
            }
            // The same as a subquery of all its columns.
            sp::TableFactor::NestedJoin { table_with_joins, alias: Some(alias) } => {
                let (from, scope) = self.table_with_joins(table_with_joins, before)?;
                let mut items = Vec::new();
                self.star(scope.star(&self.bindings, pos), pos, &mut items)?;
                let names = items.iter().map(|i| i.name.clone()).collect();
                let columns = self.alias_columns(alias, names, pos)?;
                let select = Select { id: self.select_id(), from: vec![from], ..Select::of(items, pos) };
                let query = Query::of(Body::Select(Box::new(select)));
                Ok(self.bind(fold(&alias.name), Source::Derived, columns, Some(query), pos))
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
        let parts = parts(name);
        let (schema, table) = match parts.as_slice() {
            [table] => (None, table.clone()),
            [schema, table] => (Some(schema.as_str()), table.clone()),
            [database, schema, table] => {
                self.is_here(database, &parts, pos)?;
                (Some(schema.as_str()), table.clone())
            }
            _ => {
                let m = format!("improper relation name (too many dotted names): {}", parts.join("."));
                return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
            }
        };
        let cte =
            schema.is_none().then(|| self.ctes.iter().rev().find(|(n, ..)| *n == table).cloned()).flatten();
        let view = if cte.is_none() { self.catalog.view(schema, &table).map(str::to_owned) } else { None };
        if let Some(text) = view {
            let query = self.view(&table, &text, pos)?;
            let columns = query.body.names();
            let (bound, columns) = match alias {
                None => (table, columns),
                Some(a) => (fold(&a.name), self.alias_columns(a, columns, pos)?),
            };
            return Ok(self.bind(bound, Source::Derived, columns, Some(query), pos));
        }
        let collect = if cte.is_none() { self.catalog.collect(schema, &table) } else { None };
        if let Some(index) = collect {
            let columns = self.catalog.collects().get(index).map(|c| &c.columns);
            let columns = columns.into_iter().flatten().map(|c| c.name.clone()).collect();
            let (bound, columns) = match alias {
                None => (table, columns),
                Some(a) => (fold(&a.name), self.alias_columns(a, columns, pos)?),
            };
            return Ok(self.collected(bound, columns, index, pos));
        }
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

    /// Whether the first part of a name is the database that the session is connected to.
    pub(super) fn is_here(&self, database: &str, parts: &[String], pos: Pos) -> Result<()> {
        if self.catalog.database() == Some(database) {
            return Ok(());
        }
        Err(ClientError::unsupported(format!("{ELSEWHERE}: \"{}\"", parts.join("."))).at(pos))
    }

    fn no_relation(&self, schema: Option<&str>, table: &str, pos: Pos) -> ClientError {
        let full = schema.map_or_else(|| table.to_owned(), |s| format!("{s}.{table}"));
        if matches!(schema, Some("pg_catalog" | "information_schema")) || table.starts_with("pg_") {
            return ClientError::unsupported(format!("the system catalog {full} is not available"))
                .hint("Catalogs show what the policy shows, in statements of their own: name no other tables beside them.")
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
        if let Some(whole) = self.catalog.elsewhere(table).first().filter(|_| schema.is_none()) {
            let message = format!("relation \"{full}\" does not exist");
            return ClientError::new(SqlState::UNDEFINED_TABLE, message)
                .hint(format!("Write {whole}, or have its schema in search_path."))
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

    pub(super) fn bind(
        &mut self,
        name: String,
        source: Source,
        columns: Vec<String>,
        query: Option<Query>,
        pos: Pos,
    ) -> (From, Scope) {
        let binding = self.bindings.push(Binding { name, source, columns, origin: Origin::Written });
        let scope = Scope { bindings: vec![binding], merged: Vec::new() };
        (From::Relation { binding, query: query.map(Box::new), lateral: false, pos }, scope)
    }

    /// Column names after an alias with a column list, which may be shorter than the columns.
    pub(super) fn alias_columns(
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
