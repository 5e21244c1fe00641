//! Functions in FROM: each is a derived table of one column.

use super::scope::Scope;
use super::{Resolver, Result};
use crate::ast::*;
use crate::names::{fold, truncate};
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

/// Rows of a series of whole numbers.
const MOST_ROWS: i128 = 1_000_000;

/// How many steps a series of whole numbers has.
fn steps(args: &[Expr]) -> Option<i128> {
    fn whole(e: &Expr) -> Option<i128> {
        match &e.kind {
            ExprKind::Literal(Literal::Number(n)) => n.parse().ok(),
            ExprKind::Negate(x) => whole(x).map(|n: i128| -n),
            _ => None,
        }
    }
    let each: Vec<i128> = args.iter().map(whole).collect::<Option<_>>()?;
    match each.as_slice() {
        [from, to] => to.checked_sub(*from),
        [from, to, step] => to.checked_sub(*from)?.checked_div(*step),
        _ => None,
    }
}

impl Resolver<'_> {
    /// A function in FROM, called by name.
    pub(super) fn called_in_from(
        &mut self,
        name: &sp::ObjectName,
        args: &[sp::FunctionArg],
        alias: Option<&sp::TableAlias>,
        before: &Scope,
        pos: Pos,
    ) -> Result<(From, Scope)> {
        let parts: Vec<String> =
            name.0.iter().filter_map(|p| p.as_ident().map(fold)).filter(|p| p != "pg_catalog").collect();
        let function = match parts.as_slice() {
            [function] => ROWS.iter().find(|f| **f == function.as_str()),
            _ => None,
        };
        let Some(function) = function else {
            return Err(self
                .unsupported("this function in FROM", pos)
                .hint(format!("Functions in FROM are {}, of constants.", ROWS.join(" and "))));
        };
        let plain: Option<Vec<sp::Expr>> = args
            .iter()
            .map(|a| match a {
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => Some(e.clone()),
                _ => None,
            })
            .collect();
        if let ("unnest", Some(plain)) = (*function, plain)
            && let Some(values) = self.unnested(&plain, alias, before, pos)?
        {
            return Ok(values);
        }
        let args = self.isolated(|r| {
            let each = args.iter().map(|a| match a {
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => r.expr(e),
                _ => Err(r.unsupported("an argument of this form", pos)),
            });
            each.collect::<Result<Vec<_>>>()
        })?;
        self.table_function(function, args, alias, pos)
    }

    /// The rows of a function: a derived table of one column, which is named as the function's alias is.
    pub(super) fn table_function(
        &mut self,
        function: &'static str,
        args: Vec<Expr>,
        alias: Option<&sp::TableAlias>,
        pos: Pos,
    ) -> Result<(From, Scope)> {
        if let ("generate_series", Some(n)) = (function, steps(&args))
            && n > MOST_ROWS
        {
            return Err(ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a series of more than {MOST_ROWS} rows is not supported"),
            )
            .hint("Take a wider step.")
            .at(pos));
        }
        let name = alias.map_or_else(|| function.to_owned(), |a| fold(&a.name));
        let mut columns = vec![truncate(name.clone())];
        if let Some(alias) = alias {
            columns = self.alias_columns(alias, columns, pos)?;
        }
        let body = Body::Rows { function, args };
        let query = Query::of(body);
        Ok(self.bind(name, Source::Derived, columns, Some(query), pos))
    }
}
