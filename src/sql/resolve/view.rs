//! Views of the policy: each stands for its query, which sees no name of the statement around it.

use super::resolver::{Resolver, Result, resolve};
use crate::ast::*;
use crate::catalog::Catalog;
use crate::lines::Lines;
use crate::parse::parse;
use crate::statement::{Classified, Kind, classify};
use answer::{ClientError, SqlState};
use policy::Limits;
use sqlparser::ast as sp;

/// All of a view, for a check of it.
pub fn view(name: &str, catalog: &dyn Catalog, limits: &Limits) -> Result<Statement> {
    let text = catalog.view(None, name).unwrap_or_default();
    resolve(&*query_of(text, limits)?, &Lines::elsewhere(), catalog, limits)
}

fn query_of(text: &str, limits: &Limits) -> Result<Box<sp::Query>> {
    let mut parsed = parse(text, limits)?;
    match (parsed.pop(), parsed.is_empty()) {
        (Some(only), true) => match classify(only)? {
            Classified { kind: Kind::Query(query, _), control: None } => Ok(query),
            _ => Err(no_query()),
        },
        _ => Err(no_query()),
    }
}

fn no_query() -> ClientError {
    ClientError::new(SqlState::SYNTAX_ERROR, "a view is one SELECT")
}

impl Resolver<'_> {
    /// The query of a view, with bindings of its own.
    pub(super) fn view(&mut self, name: &str, text: &str, pos: Pos) -> Result<Query> {
        let of_view = |mut e: ClientError| {
            e.position = pos;
            e.detail.get_or_insert_with(|| {
                format!("This is about the view \"{name}\", which the policy declares.")
            });
            e
        };
        if self.views.iter().any(|v| v == name) {
            let m = format!("the view \"{name}\" refers to itself");
            return Err(ClientError::new(SqlState(*b"42P17"), m).at(pos));
        }
        let query = query_of(text, self.limits).map_err(of_view)?;
        self.views.push(name.to_owned());
        let lines = std::mem::replace(&mut self.lines, self.elsewhere);
        let catalog = self.catalog;
        self.catalog = catalog.of_views().unwrap_or(catalog);
        let ctes = std::mem::take(&mut self.ctes);
        let resolved = self.isolated(|r| r.query(&query));
        (self.lines, self.ctes, self.catalog) = (lines, ctes, catalog);
        self.views.pop();
        resolved.map_err(of_view)
    }
}
