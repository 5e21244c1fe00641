//! Names to columns, innermost FROM first.

use super::{Resolver, Result};
use crate::ast::*;
use crate::functions;
use crate::names::fold;
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

impl Resolver<'_> {
    pub(super) fn identifier(&mut self, ident: &sp::Ident) -> Result<ExprKind> {
        let name = fold(ident);
        let pos = self.lines.position(ident.span.start);
        for scope in self.scopes.iter().rev() {
            if let Some(found) = scope.column(&self.bindings, &name, pos)? {
                return Ok(found);
            }
        }
        Err(self.no_column(&name, None, pos))
    }

    pub(super) fn qualified(&mut self, parts: &[sp::Ident], pos: Pos) -> Result<ExprKind> {
        let names: Vec<String> = parts.iter().map(fold).collect();
        let (table, column) = match names.as_slice() {
            [table, column] | [_, table, column] => (table, column),
            [database, _, table, column] => {
                self.is_here(database, &names, pos)?;
                (table, column)
            }
            _ => {
                let m = format!("improper qualified name (too many dotted names): {}", names.join("."));
                return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
            }
        };
        for scope in self.scopes.iter().rev() {
            if let Some(binding) = scope.binding(&self.bindings, table) {
                let columns = self.bindings.get(binding).map(|b| b.columns.as_slice()).unwrap_or_default();
                return match columns.iter().position(|c| c == column) {
                    Some(column) => Ok(ExprKind::Column { binding, column }),
                    None => Err(self.no_column(column, Some((table, binding)), pos)),
                };
            }
        }
        Err(ClientError::new(
            SqlState::UNDEFINED_TABLE,
            format!("missing FROM-clause entry for table \"{table}\""),
        )
        .at(pos))
    }

    fn no_column(&self, name: &str, of: Option<(&String, BindingId)>, pos: Pos) -> ClientError {
        let visible: Vec<&str> = match of {
            Some((_, b)) => {
                self.bindings.get(b).into_iter().flat_map(|b| &b.columns).map(String::as_str).collect()
            }
            None => self
                .scopes
                .iter()
                .flat_map(|s| &s.bindings)
                .filter_map(|b| self.bindings.get(*b))
                .flat_map(|b| &b.columns)
                .map(String::as_str)
                .collect(),
        };
        let what = of.map_or_else(|| format!("\"{name}\""), |(table, _)| format!("{table}.{name}"));
        let e = ClientError::new(SqlState::UNDEFINED_COLUMN, format!("column {what} does not exist")).at(pos);
        match functions::nearest_of(name, visible.iter().copied()) {
            Some(near) => e.hint(format!("Perhaps you meant \"{near}\".")),
            None if visible.is_empty() => e,
            None => e.hint(format!("The columns here are {}.", visible.join(", "))),
        }
    }
}
