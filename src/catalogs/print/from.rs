//! FROM: relations, subqueries, functions, joins.

use super::{Printer, Result};
use crate::about::{SCHEMAS, is_of_session};
use crate::facts::System;
use crate::functions::{BEHIND, COLUMNS, PLAIN};
use crate::scope::{Column, Relation, Scope};
use crate::text::ident;
use sql::ast::Own;
use sql::names::{ELSEWHERE, fold, last, parts};
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Join, JoinConstraint, JoinOperator, ObjectName, TableAlias,
    TableFactor, TableWithJoins,
};

/// A relation that a name stands for.
struct Found {
    text: String,
    columns: Vec<Column>,
    /// What it is called where it has no alias.
    own: String,
    table: Option<String>,
}

/// How a function stands in FROM.
struct Item<'a> {
    alias: Option<&'a TableAlias>,
    ordinality: bool,
    lateral: bool,
    factor: &'a TableFactor,
}

fn plain(columns: &[(String, String)]) -> Vec<Column> {
    columns.iter().map(Column::of).collect()
}

/// All columns of a relation, and no row.
fn nothing(relation: &str, system: &System) -> String {
    let column = |(name, ty): &(String, String)| match system.closed.contains(name) {
        true => format!("CAST(NULL AS {ty}) AS {}", ident(name)),
        false if ty == "oid[]" => format!("CAST(x.{} AS {ty}) AS {}", ident(name), ident(name)),
        false => format!("x.{}", ident(name)),
    };
    let columns: Vec<String> = system.columns.iter().map(column).collect();
    format!("(SELECT {} FROM {relation} AS x WHERE false)", columns.join(", "))
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
                let Found { text, columns, own, table } = self.relation(name, alias.as_ref(), scope)?;
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
    fn relation(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        scope: &Scope<'_>,
    ) -> Result<Found> {
        let mut names = parts(name);
        if names.is_empty() {
            return Err(self.refused("this name", name));
        }
        if names.len() == 3 {
            if names.first() != Some(&self.asker.database) {
                let message = format!("{ELSEWHERE}: \"{}\"", names.join("."));
                return Err(self.error(b"0A000", message, name));
            }
            names.remove(0);
        }
        let (schema, own) = match names.as_slice() {
            [own] => {
                if let Some(cte) = scope.cte(own) {
                    let (text, columns) = (cte.printed.clone(), cte.columns.clone());
                    return Ok(Found { text, columns, own: own.clone(), table: None });
                }
                if is_of_session(name) {
                    let column = alias.map_or_else(|| own.clone(), |alias| fold(&alias.name));
                    let value = self.template(own, &[], scope, name)?;
                    let text = format!("(SELECT {value} AS {})", ident(&column));
                    return Ok(Found {
                        text,
                        columns: vec![Column::plain(column)],
                        own: own.clone(),
                        table: None,
                    });
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
            return Ok(Found { text, columns, own, table: base.table.clone() });
        }
        if let Some(view) = self.catalogs.views.get(&(schema.to_owned(), own.clone())) {
            let (lines, top) = (self.lines.take(), std::mem::replace(&mut self.top, false));
            let printed = self.query(view, &Scope::default(), true);
            (self.lines, self.top) = (lines, top);
            let (text, columns) = printed?;
            let text = self.as_the_server_has(schema, &own, text, &columns)?;
            let columns = self.system(schema, &own).map_or(columns, |s| plain(&s.columns));
            return Ok(Found { text, columns, own, table: None });
        }
        if let Some(system) = self.system(schema, &own) {
            if !system.readable {
                let what = if system.view { "view" } else { "table" };
                return Err(self.error(b"42501", format!("permission denied for {what} {own}"), name));
            }
            let text = nothing(&format!("{}.{}", ident(schema), ident(&own)), system);
            let (columns, table) = (plain(&system.columns), (!system.view).then(|| own.clone()));
            return Ok(Found { text: self.put_in(text)?, columns, own, table });
        }
        Err(self.foreign(&names, name))
    }

    /// A relation of the server's own.
    fn system(&self, schema: &str, name: &str) -> Option<&System> {
        self.catalogs.system.get(&(schema.to_owned(), name.to_owned()))
    }

    /// A view of ours with the columns and types that the server's has: those that only the server has are NULL.
    fn as_the_server_has(
        &self,
        schema: &str,
        name: &str,
        text: String,
        columns: &[Column],
    ) -> Result<String> {
        let Some(system) = self.system(schema, name) else { return Ok(format!("({text})")) };
        let column = |(name, ty): &(String, String)| {
            let ours = columns.iter().any(|c| c.name == *name);
            let value = if ours { format!("v.{}", ident(name)) } else { "NULL".into() };
            format!("CAST({value} AS {ty}) AS {}", ident(name))
        };
        let columns: Vec<String> = system.columns.iter().map(column).collect();
        Ok(format!("(SELECT {} FROM ({text}) AS v)", self.put_in(columns.join(", "))?))
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
        if let Some((text, columns)) = self.system_rows(name, &plain, item.ordinality, scope)? {
            return self.bring(text, columns, item.alias, &own, scope, item.factor);
        }
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
                // Its one column is called as the function is, or by the alias.
                let name = item.alias.map_or_else(|| own.clone(), |alias| fold(&alias.name));
                format!("LATERAL (SELECT {} AS {})", text.trim_start_matches("LATERAL "), ident(&name))
            };
        self.bring_function(text, columns, &own, item, scope)
    }

    /// The rows of a function of the server's own that no list has: those of the relation that it stands behind, or none.
    fn system_rows(
        &mut self,
        name: &ObjectName,
        args: &[&Expr],
        ordinality: bool,
        scope: &Scope<'_>,
    ) -> Result<Option<(String, Vec<Column>)>> {
        let names = parts(name);
        let own = match names.as_slice() {
            [own] => own,
            [schema, own] if schema == "pg_catalog" => own,
            _ => return Ok(None),
        };
        if PLAIN.contains(&own.as_str()) {
            return Ok(None);
        }
        let mut columns = match self.catalogs.functions.get(own) {
            Some(Some(columns)) => columns.clone(),
            Some(None) => {
                return Err(self.error(b"42501", format!("permission denied for function {own}"), name));
            }
            None => return Ok(None),
        };
        if let (Some((_, relation)), [], false) = (BEHIND.iter().find(|(f, _)| f == own), args, ordinality) {
            return Ok(Some((self.base(relation)?, plain(&columns))));
        }
        if ordinality {
            columns.push(("ordinality".into(), "bigint".into()));
        }
        // Arguments are there for the types of parameters.
        let args: Vec<String> = args.iter().map(|a| self.expr(a, scope)).collect::<Result<_>>()?;
        let given = if args.is_empty() {
            String::new()
        } else {
            format!(" AND ({}) IS NULL", args.join(") IS NULL AND ("))
        };
        let nulls: Vec<String> =
            columns.iter().map(|(name, ty)| format!("CAST(NULL AS {ty}) AS {}", ident(name))).collect();
        let text = format!("LATERAL (SELECT {} WHERE false{given})", nulls.join(", "));
        Ok(Some((self.put_in(text)?, plain(&columns))))
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
