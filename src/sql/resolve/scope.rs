//! Scopes: which names are visible where.

use crate::ast::{BindingId, Bindings, Expr, ExprKind, Pos};
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
    /// The column that the plain name stands for; of a FULL JOIN several, of which the first is shown that is not NULL.
    pub shown: Vec<(BindingId, usize)>,
    /// Columns that the plain name does not stand for.
    pub hidden: Vec<(BindingId, usize)>,
}

impl Merged {
    /// What the plain name stands for.
    pub fn value(&self, pos: Pos) -> ExprKind {
        let of =
            |(binding, column): &(BindingId, usize)| ExprKind::Column { binding: *binding, column: *column };
        match self.shown.as_slice() {
            [one] => of(one),
            several => {
                let args = several.iter().map(|c| Expr::new(of(c), pos)).collect();
                ExprKind::Call { name: "coalesce", args }
            }
        }
    }
}

impl Scope {
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
        let merged = self.merged.iter().rev().find(|m| m.name == name);
        let is_merged =
            |c: &(BindingId, usize)| merged.is_some_and(|m| m.shown.contains(c) || m.hidden.contains(c));
        let mut others = self.plain(all, name);
        others.retain(|c| !is_merged(c));
        match (merged, others.as_slice()) {
            (None, []) => Ok(None),
            (None, [(binding, column)]) => Ok(Some(ExprKind::Column { binding: *binding, column: *column })),
            (Some(merged), []) => Ok(Some(merged.value(pos))),
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

    /// Columns of `*`, and their names: merged columns once and first, then every other column.
    pub fn star(&self, all: &Bindings, pos: Pos) -> Vec<(ExprKind, String)> {
        let mut out: Vec<_> = self.merged.iter().map(|m| (m.value(pos), m.name.clone())).collect();
        let is_merged =
            |c: &(BindingId, usize)| self.merged.iter().any(|m| m.shown.contains(c) || m.hidden.contains(c));
        for b in &self.bindings {
            let own = columns_of(all, *b).filter(|(column, _)| !is_merged(&(*b, *column)));
            out.extend(own.map(|(column, name)| (ExprKind::Column { binding: *b, column }, name)));
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

/// The places and names of a relation's columns.
pub fn columns_of(all: &Bindings, binding: BindingId) -> impl Iterator<Item = (usize, String)> + use<> {
    let columns = all.get(binding).map(|b| b.columns.clone()).unwrap_or_default();
    columns.into_iter().enumerate()
}
