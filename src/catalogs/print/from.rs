//! FROM: relations, subqueries, functions, joins.

use super::{Printer, Result};
use crate::about::SCHEMAS;
use crate::functions::COLUMNS;
use crate::scope::{Column, Relation, Scope};
use crate::text::ident;
use sql::ast::Own;
use sql::names::{fold, last, parts};
use sqlparser::ast::{
    FunctionArg, FunctionArgExpr, Join, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor,
    TableWithJoins,
};

/// A relation that a name stands for.
struct Found {
    text: String,
    columns: Vec<Column>,
    /// What it is called where it has no alias.
    own: String,
    table: Option<&'static str>,
}

/// How a function stands in FROM.
struct Item<'a> {
    alias: Option<&'a TableAlias>,
    ordinality: bool,
    lateral: bool,
    factor: &'a TableFactor,
}

impl Printer<'_> {
    /// The items of FROM; the scope gets what they bring.
    pub(super) fn from(&mut self, items: &[TableWithJoins], scope: &mut Scope<'_>) -> Result<String> {
        let mut out = Vec::new();
        for item in items {
            out.push(self.joins(item, scope)?);
        }
        Ok(out.join(", "))
    }

    fn joins(&mut self, item: &TableWithJoins, scope: &mut Scope<'_>) -> Result<String> {
        let mut text = self.factor(&item.relation, scope)?;
        for Join { relation, global, join_operator } in &item.joins {
            use JoinOperator as J;
            let (word, constraint) = match join_operator {
                J::Join(c) | J::Inner(c) => ("JOIN", c),
                J::Left(c) | J::LeftOuter(c) => ("LEFT JOIN", c),
                J::Right(c) | J::RightOuter(c) => ("RIGHT JOIN", c),
                J::FullOuter(c) => ("FULL JOIN", c),
                J::CrossJoin(c) => ("CROSS JOIN", c),
                _ => return Err(self.refused("this join", relation)),
            };
            if *global {
                return Err(self.refused("this join", relation));
            }
            let right = self.factor(relation, scope)?;
            let constraint = match constraint {
                JoinConstraint::On(on) => format!(" ON {}", self.expr(on, scope)?),
                JoinConstraint::Using(columns) => {
                    let columns: Vec<String> = columns.iter().map(|c| ident(&last(c))).collect();
                    format!(" USING ({})", columns.join(", "))
                }
                JoinConstraint::Natural => return Err(self.refused("NATURAL JOIN", relation)),
                JoinConstraint::None => String::new(),
            };
            text = format!("{text} {word} {right}{constraint}");
        }
        Ok(text)
    }

    fn factor(&mut self, factor: &TableFactor, scope: &mut Scope<'_>) -> Result<String> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                let Found { text, columns, own, table } = self.relation(name, scope)?;
                let text = self.bring(text, columns, alias.as_ref(), &own, scope, factor)?;
                if let Some(relation) = scope.relations.last_mut() {
                    relation.table = table;
                }
                Ok(text)
            }
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. }
                if args.settings.is_none() =>
            {
                let item =
                    Item { alias: alias.as_ref(), ordinality: *with_ordinality, lateral: false, factor };
                self.function_in_from(name, &args.args, &item, scope)
            }
            TableFactor::Function { lateral, name, args, with_ordinality, alias } => {
                let item =
                    Item { alias: alias.as_ref(), ordinality: *with_ordinality, lateral: *lateral, factor };
                self.function_in_from(name, args, &item, scope)
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality,
            } => {
                let arrays: Vec<String> =
                    array_exprs.iter().map(|e| self.expr(e, scope)).collect::<Result<_>>()?;
                let columns = array_exprs.iter().map(|_| Column::plain("unnest")).collect();
                let text = crate::text::table(&arrays);
                let item =
                    Item { alias: alias.as_ref(), ordinality: *with_ordinality, lateral: false, factor };
                self.bring_function(text, columns, "unnest", &item, scope)
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let outer = if *lateral { scope.clone() } else { scope.outer.cloned().unwrap_or_default() };
                let (text, columns) = self.query(subquery, &outer, true)?;
                let lateral = if *lateral { "LATERAL " } else { "" };
                let text = format!("{lateral}({text})");
                self.bring(text, columns, alias.as_ref(), "", scope, factor)
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                Ok(format!("({})", self.joins(table_with_joins, scope)?))
            }
            factor => Err(self.refused("this item of FROM", factor)),
        }
    }

    /// A relation by its name.
    fn relation(&mut self, name: &ObjectName, scope: &Scope<'_>) -> Result<Found> {
        let mut names = parts(name);
        if names.is_empty() {
            return Err(self.refused("this name", name));
        }
        if names.len() == 3 && names.first() == Some(&self.asker.database) {
            names.remove(0);
        }
        let (schema, own) = match names.as_slice() {
            [own] => {
                if let Some(cte) = scope.cte(own) {
                    let (text, columns) = (cte.printed.clone(), cte.columns.clone());
                    return Ok(Found { text, columns, own: own.clone(), table: None });
                }
                ("pg_catalog", own.clone())
            }
            [schema, own] if SCHEMAS.contains(&schema.as_str()) => (schema.as_str(), own.clone()),
            [schema, ours] if schema == Own::SCHEMA => {
                match Own::ALL.into_iter().find(|o| o.name() == ours) {
                    Some(own) => return Ok(self.own(own)),
                    None => return Err(self.foreign(&names, name)),
                }
            }
            _ => return Err(self.foreign(&names, name)),
        };
        if let Some(base) = self.catalogs.base(&own).filter(|_| schema == "pg_catalog") {
            let (text, columns) = (self.base(&own)?, base.columns.clone());
            return Ok(Found { text, columns, own, table: base.table });
        }
        if let Some(view) = self.catalogs.views.get(&(schema.to_owned(), own.clone())) {
            let (lines, top) = (self.lines.take(), std::mem::replace(&mut self.top, false));
            let printed = self.query(view, &Scope::default(), true);
            (self.lines, self.top) = (lines, top);
            let (text, columns) = printed?;
            return Ok(Found { text: format!("({text})"), columns, own, table: None });
        }
        Err(self.foreign(&names, name))
    }

    /// A relation of ours, by the name that its rows come under.
    fn own(&mut self, own: Own) -> Found {
        if !self.own.contains(&own) {
            self.own.push(own);
        }
        let columns = own.columns().iter().map(|(name, _)| Column::plain(*name)).collect();
        Found { text: ident(&super::own_name(own)), columns, own: own.name().to_owned(), table: None }
    }

    /// Names that are no catalog's: a table of the policy, or nothing.
    fn foreign(&self, names: &[String], node: &ObjectName) -> answer::ClientError {
        let is = |t: &crate::facts::Named| match names {
            [name] => t.name == *name,
            [schema, name] => t.schema == *schema && t.name == *name,
            _ => false,
        };
        if self.catalogs.tables.iter().any(is) {
            return self
                .refused(format!("the relation {} beside system catalogs", names.join(".")), node)
                .hint("Ask the catalogs and the tables in statements of their own.");
        }
        self.error(b"42P01", format!("relation \"{}\" does not exist", names.join(".")), node)
    }

    fn function_in_from(
        &mut self,
        name: &ObjectName,
        args: &[FunctionArg],
        item: &Item<'_>,
        scope: &mut Scope<'_>,
    ) -> Result<String> {
        let mut plain = Vec::new();
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => plain.push(e),
                _ => return Err(self.refused("this argument", item.factor)),
            }
        }
        let own = last(name);
        let text = if own == "unnest" {
            crate::text::table(&plain.iter().map(|e| self.expr(e, scope)).collect::<Result<Vec<_>>>()?)
        } else {
            self.called(name, &plain, scope, name)?
        };
        let text = if item.lateral { format!("LATERAL {text}") } else { text };
        let columns = match COLUMNS.iter().find(|(n, _)| *n == own) {
            Some((_, columns)) => columns.iter().map(|c| Column::plain(*c)).collect(),
            None if own == "unnest" => plain.iter().map(|_| Column::plain("unnest")).collect(),
            None => vec![Column::plain(own.clone())],
        };
        // What is no call any more stands in a query of its own.
        let call = text.trim_start_matches("LATERAL ");
        let text =
            if call.starts_with("pg_catalog.") || call.starts_with("ROWS FROM") || own == "_pg_expandarray" {
                text
            } else {
                format!("LATERAL (SELECT {})", text.trim_start_matches("LATERAL "))
            };
        self.bring_function(text, columns, &own, item, scope)
    }

    fn bring_function(
        &mut self,
        text: String,
        mut columns: Vec<Column>,
        own: &str,
        item: &Item<'_>,
        scope: &mut Scope<'_>,
    ) -> Result<String> {
        // The one column of a function takes the function's alias.
        if let ([column], Some(alias)) = (columns.as_mut_slice(), item.alias) {
            column.name = fold(&alias.name);
        }
        let ordinality = if item.ordinality { " WITH ORDINALITY" } else { "" };
        if item.ordinality {
            columns.push(Column::plain("ordinality"));
        }
        self.bring(format!("{text}{ordinality}"), columns, item.alias, own, scope, item.factor)
    }

    /// Adds a relation to the scope, under its alias.
    fn bring(
        &mut self,
        text: String,
        mut columns: Vec<Column>,
        alias: Option<&TableAlias>,
        own: &str,
        scope: &mut Scope<'_>,
        factor: &TableFactor,
    ) -> Result<String> {
        let Some(alias) = alias else {
            let named = if own.is_empty() { text } else { format!("{text} AS {}", ident(own)) };
            scope.relations.push(Relation { alias: own.to_owned(), columns, table: None });
            return Ok(named);
        };
        if alias.at.is_some() || alias.columns.iter().any(|c| c.data_type.is_some()) {
            return Err(self.refused("this alias", factor));
        }
        if alias.columns.len() > columns.len() {
            let message = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                fold(&alias.name),
                columns.len(),
                alias.columns.len()
            );
            return Err(self.error(b"42P10", message, factor));
        }
        let name = fold(&alias.name);
        let renamed: Vec<String> = alias.columns.iter().map(|c| fold(&c.name)).collect();
        for (column, new) in columns.iter_mut().zip(&renamed) {
            column.name.clone_from(new);
        }
        let list: Vec<String> = renamed.iter().map(|c| ident(c)).collect();
        let list = if list.is_empty() { String::new() } else { format!("({})", list.join(", ")) };
        scope.relations.push(Relation { alias: name.clone(), columns, table: None });
        Ok(format!("{text} AS {}{list}", ident(&name)))
    }
}
