//! Queries: WITH, SELECT, set operations, VALUES, ORDER BY, LIMIT.

use super::{Printer, Result, output};
use crate::scope::{Column, Cte, Relation, Scope};
use crate::text::ident;
use sql::names::{fold, last};
use sqlparser::ast::{
    CteAsMaterialized, Distinct, Expr, Fetch, GroupByExpr, LimitClause, OrderBy, OrderByExpr, OrderByKind,
    OrderBySort, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator,
    SetQuantifier, Value, WildcardAdditionalOptions, With,
};

/// A body: its text, its columns, and what ORDER BY beside it may name.
type Body = (String, Vec<Column>, Option<Vec<Relation>>);

impl Printer<'_> {
    /// A query, and its columns. `shown`: its columns may have types that are shown by name, since nothing that was
    /// written stands beside them.
    pub(super) fn query(
        &mut self,
        query: &Query,
        outer: &Scope<'_>,
        shown: bool,
    ) -> Result<(String, Vec<Column>)> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        if !locks.is_empty() {
            return Err(self.refused("locking rows", query));
        }
        if for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty()
        {
            return Err(self.refused("this clause", query));
        }
        let mut scope = outer.inner();
        let mut text = String::new();
        if let Some(with) = with {
            text.push_str(&self.with(with, &mut scope)?);
        }
        let (body, columns, inside) = self.body(body, &scope, shown)?;
        text.push_str(&body);
        if let Some(order_by) = order_by {
            let inside = inside.map(|relations| Scope { outer: Some(&scope), relations, ctes: Vec::new() });
            let OrderBy { kind, interpolate: None } = order_by else {
                return Err(self.refused("this ORDER BY", query));
            };
            let OrderByKind::Expressions(items) = kind else {
                return Err(self.refused("this ORDER BY", query));
            };
            let scope = inside.as_ref().unwrap_or(&scope);
            text.push_str(&format!(" ORDER BY {}", self.order(items, scope)?));
        }
        match limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                if let Some(limit) = limit {
                    text.push_str(&format!(" LIMIT {}", self.expr(limit, &scope)?));
                }
                if let Some(offset) = offset {
                    text.push_str(&format!(" OFFSET {}", self.expr(&offset.value, &scope)?));
                }
            }
            Some(_) => return Err(self.refused("this LIMIT", query)),
        }
        match fetch {
            None => {}
            Some(Fetch { with_ties: false, percent: false, quantity }) => {
                let quantity = quantity.as_ref().map(|q| self.expr(q, &scope)).transpose()?;
                text.push_str(&format!(" LIMIT {}", quantity.as_deref().unwrap_or("1")));
            }
            Some(_) => return Err(self.refused("this FETCH", query)),
        }
        Ok((text, columns))
    }

    fn with(&mut self, with: &With, scope: &mut Scope<'_>) -> Result<String> {
        let mut parts = Vec::new();
        for cte in &with.cte_tables {
            if cte.from.is_some() || cte.alias.at.is_some() {
                return Err(self.refused("this WITH", &*cte.query));
            }
            let name = fold(&cte.alias.name);
            let printed = self.cte_name();
            let renamed: Vec<String> = cte.alias.columns.iter().map(|c| fold(&c.name)).collect();
            let columns = |mut columns: Vec<Column>| {
                for (column, name) in columns.iter_mut().zip(&renamed) {
                    column.name.clone_from(name);
                }
                columns
            };
            let recursive = match (&*cte.query.body, with.recursive) {
                (SetExpr::SetOperation { left, .. }, true) => Some(left),
                _ => None,
            };
            let (text, found) = match recursive {
                // The first branch has the columns that the second sees.
                Some(left) => {
                    let ctes = self.ctes;
                    let (_, seen, _) = self.body(left, scope, false)?;
                    self.ctes = ctes;
                    let mut inner = scope.inner();
                    let seen = columns(seen);
                    inner.ctes.push(Cte { name: name.clone(), printed: printed.clone(), columns: seen });
                    self.query(&cte.query, &inner, false)?
                }
                None => self.query(&cte.query, scope, true)?,
            };
            let found = columns(found);
            let names: Vec<String> = found.iter().map(|c| ident(&c.name)).collect();
            let materialized = match cte.materialized {
                None => "",
                Some(CteAsMaterialized::Materialized) => "MATERIALIZED ",
                Some(CteAsMaterialized::NotMaterialized) => "NOT MATERIALIZED ",
            };
            let list = if renamed.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
            parts.push(format!("{printed}{list} AS {materialized}({text})"));
            scope.ctes.push(Cte { name, printed, columns: found });
        }
        let recursive = if with.recursive { "RECURSIVE " } else { "" };
        Ok(format!("WITH {recursive}{} ", parts.join(", ")))
    }

    fn body(&mut self, body: &SetExpr, scope: &Scope<'_>, shown: bool) -> Result<Body> {
        match body {
            SetExpr::Select(select) => {
                let (text, columns, relations) = self.select(select, scope, shown)?;
                Ok((text, columns, Some(relations)))
            }
            SetExpr::Query(query) => {
                let (text, columns) = self.query(query, scope, shown)?;
                Ok((format!("({text})"), columns, None))
            }
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let top = std::mem::replace(&mut self.top, false);
                let branch = |text: String, of: &SetExpr| match of {
                    SetExpr::SetOperation { .. } => format!("({text})"),
                    _ => text,
                };
                let (text, columns, _) = self.body(left, scope, false)?;
                let left = branch(text, left);
                let (text, _, _) = self.body(right, scope, false)?;
                let right = branch(text, right);
                self.top = top;
                let op = match op {
                    SetOperator::Union => "UNION",
                    SetOperator::Except | SetOperator::Minus => "EXCEPT",
                    SetOperator::Intersect => "INTERSECT",
                };
                let all = match set_quantifier {
                    SetQuantifier::All => " ALL",
                    SetQuantifier::Distinct | SetQuantifier::None => "",
                    _ => return Err(self.refused("this set operation", body)),
                };
                Ok((format!("{left} {op}{all} {right}"), columns, None))
            }
            SetExpr::Values(values) => {
                let mut rows = Vec::new();
                let mut width = 0;
                for row in &values.rows {
                    width = row.content.len();
                    rows.push(format!("({})", self.list(&row.content, scope)?));
                }
                let columns = (1..=width).map(|n| Column::plain(format!("column{n}"))).collect();
                Ok((format!("VALUES {}", rows.join(", ")), columns, None))
            }
            _ => Err(self.refused("this statement", body)),
        }
    }

    fn select(
        &mut self,
        select: &Select,
        outer: &Scope<'_>,
        shown: bool,
    ) -> Result<(String, Vec<Column>, Vec<Relation>)> {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = select;
        let odd = !optimizer_hints.is_empty()
            || select_modifiers.is_some()
            || top.is_some()
            || exclude.is_some()
            || into.is_some()
            || !lateral_views.is_empty()
            || prewhere.is_some()
            || !connect_by.is_empty()
            || !cluster_by.is_empty()
            || !distribute_by.is_empty()
            || !sort_by.is_empty()
            || !named_window.is_empty()
            || qualify.is_some()
            || value_table_mode.is_some();
        if odd {
            return Err(self.refused("a clause of this SELECT", select));
        }
        // What stands in FROM is printed first, since the select list names it.
        let here = std::mem::replace(&mut self.top, false);
        let mut scope = outer.inner();
        let from = self.from(from, &mut scope)?;
        let mut text = String::from("SELECT ");
        match distinct {
            None | Some(Distinct::All) => {}
            Some(Distinct::Distinct) => text.push_str("DISTINCT "),
            Some(Distinct::On(keys)) => {
                text.push_str(&format!("DISTINCT ON ({}) ", self.keys(keys, &scope)?));
            }
        }
        self.top = here;
        let (items, columns) = self.projection(projection, &scope, shown)?;
        self.top = false;
        text.push_str(&items);
        if !from.is_empty() {
            text.push_str(&format!(" FROM {from}"));
        }
        if let Some(selection) = selection {
            text.push_str(&format!(" WHERE {}", self.expr(selection, &scope)?));
        }
        match group_by {
            GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => {
                if !keys.is_empty() {
                    text.push_str(&format!(" GROUP BY {}", self.keys(keys, &scope)?));
                }
            }
            _ => return Err(self.refused("this GROUP BY", select)),
        }
        if let Some(having) = having {
            text.push_str(&format!(" HAVING {}", self.expr(having, &scope)?));
        }
        self.top = here;
        Ok((text, columns, scope.relations))
    }

    fn projection(
        &mut self,
        items: &[SelectItem],
        scope: &Scope<'_>,
        shown: bool,
    ) -> Result<(String, Vec<Column>)> {
        let (mut texts, mut columns) = (Vec::new(), Vec::new());
        for item in items {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, output::name(expr)),
                SelectItem::ExprWithAlias { expr, alias } => (expr, fold(alias)),
                SelectItem::Wildcard(options) if plain_star(options) && shown => {
                    texts.push("*".to_owned());
                    columns.extend(scope.relations.iter().flat_map(|r| r.columns.clone()));
                    continue;
                }
                SelectItem::Wildcard(options) if plain_star(options) => {
                    let all: Vec<_> = scope.relations.iter().collect();
                    self.spelt_out(&all, &mut texts, &mut columns);
                    continue;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if plain_star(options) =>
                {
                    let alias = last(name);
                    let relation = scope.relations.iter().find(|r| r.alias == alias).ok_or_else(|| {
                        self.error(b"42P01", format!("missing FROM-clause entry for table \"{alias}\""), item)
                    })?;
                    if shown {
                        texts.push(format!("{}.*", ident(&alias)));
                        columns.extend(relation.columns.clone());
                    } else {
                        self.spelt_out(&[relation], &mut texts, &mut columns);
                    }
                    continue;
                }
                item => return Err(self.refused("this item of the select list", item)),
            };
            let named = shown && self.is_named(expr, scope);
            let text = if named { self.shown(expr, scope)? } else { self.expr(expr, scope)? };
            texts.push(format!("{text} AS {}", ident(&name)));
            columns.push(Column { name, named });
        }
        Ok((texts.join(", "), columns))
    }

    /// All columns one by one, those that are shown by name as their OIDs.
    fn spelt_out(&self, relations: &[&Relation], texts: &mut Vec<String>, columns: &mut Vec<Column>) {
        for relation in relations {
            for column in &relation.columns {
                let cast = if column.named { "::pg_catalog.oid" } else { "" };
                let (alias, name) = (ident(&relation.alias), ident(&column.name));
                texts.push(format!("{alias}.{name}{cast} AS {name}"));
                columns.push(Column::plain(column.name.clone()));
            }
        }
    }

    /// Items of ORDER BY.
    pub(super) fn order(&mut self, items: &[OrderByExpr], scope: &Scope<'_>) -> Result<String> {
        let mut out = Vec::new();
        for item in items {
            if item.with_fill.is_some() {
                return Err(self.refused("this ORDER BY", &item.expr));
            }
            let direction = match item.options.sort {
                None => "",
                Some(OrderBySort::Asc) => " ASC",
                Some(OrderBySort::Desc) => " DESC",
                Some(_) => return Err(self.refused("ORDER BY USING", &item.expr)),
            };
            let nulls = match item.options.nulls_first {
                None => "",
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
            };
            out.push(format!("{}{direction}{nulls}", self.key(&item.expr, scope)?));
        }
        Ok(out.join(", "))
    }

    fn keys(&mut self, keys: &[Expr], scope: &Scope<'_>) -> Result<String> {
        let keys: Vec<String> = keys.iter().map(|k| self.key(k, scope)).collect::<Result<_>>()?;
        Ok(keys.join(", "))
    }

    /// What rows are sorted or grouped by: the number of a column, its name, or an expression. Nothing is compared with
    /// what was written, so that a column is left as it is.
    fn key(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String> {
        match expr {
            Expr::Value(v) => match &v.value {
                Value::Number(digits, false) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                    Ok(digits.clone())
                }
                _ => self.expr(expr, scope),
            },
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                self.column(expr, scope).map(|(text, _)| text)
            }
            expr => self.expr(expr, scope),
        }
    }
}

fn plain_star(options: &WildcardAdditionalOptions) -> bool {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike: None,
        opt_exclude: None,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
    } = options
    else {
        return false;
    };
    true
}
