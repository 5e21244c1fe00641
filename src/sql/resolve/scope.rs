//! Scopes: which names are visible where.

use crate::ast::{BindingId, Bindings, ExprKind, Pos};
use answer::{ClientError, SqlState};

/// Names that one SELECT sees in its FROM.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Bindings, in order.
    pub bindings: Vec<BindingId>,
    /// Columns that USING or NATURAL merged: a plain name stands for the first, the second is hidden behind it.
    pub merged: Vec<Merged>,
}

/// A column merged by USING.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Name of the column.
    pub name: String,
    /// The column that the plain name stands for.
    pub shown: (BindingId, usize),
    /// Columns that the plain name does not stand for.
    pub hidden: Vec<(BindingId, usize)>,
}

impl Scope {
    /// Columns with this name, those hidden by USING left out.
    fn matches(&self, all: &Bindings, name: &str) -> Vec<(BindingId, usize)> {
        if let Some(m) = self.merged.iter().rev().find(|m| m.name == name) {
            let mut found = vec![m.shown];
            found
                .extend(self.plain(all, name).into_iter().filter(|c| *c != m.shown && !m.hidden.contains(c)));
            return found;
        }
        self.plain(all, name)
    }

    fn plain(&self, all: &Bindings, name: &str) -> Vec<(BindingId, usize)> {
        let mut found = Vec::new();
        for b in &self.bindings {
            let columns = all.get(*b).map(|b| b.columns.as_slice()).unwrap_or_default();
            found.extend(columns.iter().enumerate().filter(|(_, c)| *c == name).map(|(i, _)| (*b, i)));
        }
        found
    }

    /// The column that an unqualified name stands for.
    pub fn column(&self, all: &Bindings, name: &str, pos: Pos) -> Result<Option<ExprKind>, ClientError> {
        match self.matches(all, name).as_slice() {
            [] => Ok(None),
            [(binding, column)] => Ok(Some(ExprKind::Column { binding: *binding, column: *column })),
            _ => Err(ClientError::new(
                SqlState::AMBIGUOUS_COLUMN,
                format!("column reference \"{name}\" is ambiguous"),
            )
            .hint("Qualify it with its table's name or alias.")
            .at(pos)),
        }
    }

    /// The binding of this name.
    pub fn binding(&self, all: &Bindings, name: &str) -> Option<BindingId> {
        self.bindings.iter().copied().find(|b| all.get(*b).is_some_and(|b| b.name == name))
    }

    /// Columns of `*`: merged columns once and first, then every other column.
    pub fn star(&self, all: &Bindings) -> Vec<(BindingId, usize)> {
        let mut out: Vec<(BindingId, usize)> = self.merged.iter().map(|m| m.shown).collect();
        for b in &self.bindings {
            let n = all.get(*b).map_or(0, |b| b.columns.len());
            for i in 0..n {
                let column = (*b, i);
                if !out.contains(&column) && !self.merged.iter().any(|m| m.hidden.contains(&column)) {
                    out.push(column);
                }
            }
        }
        out
    }

    /// The names of both, for what stands behind them: that two are the same is found where they are joined.
    pub fn and(&self, other: &Scope) -> Scope {
        let bindings = self.bindings.iter().chain(&other.bindings).copied().collect();
        Scope { bindings, merged: self.merged.iter().chain(&other.merged).cloned().collect() }
    }

    /// Adds another scope's names; two relations of one name are an error.
    pub fn join(&mut self, other: Scope, all: &Bindings, pos: Pos) -> Result<(), ClientError> {
        for b in &other.bindings {
            let name = all.get(*b).map(|b| b.name.clone()).unwrap_or_default();
            if self.binding(all, &name).is_some() {
                return Err(ClientError::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{name}\" specified more than once"),
                )
                .hint("Give one of them an alias.")
                .at(pos));
            }
        }
        self.bindings.extend(other.bindings);
        self.merged.extend(other.merged);
        Ok(())
    }
}
