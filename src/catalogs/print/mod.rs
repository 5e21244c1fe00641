//! A client's statement over the catalogs, printed anew.
//!
//! `query` and `from` print the grammar, `expr` expressions, `call` functions, `named` what is shown by name, `output`
//! derives the names of columns. Each of them takes the kinds of nodes that it knows apart field by field, and refuses
//! the others.

mod call;
mod expr;
mod from;
mod named;
mod output;
mod query;

use super::Catalogs;
use super::asker::Asker;
use super::base::of_session;
use super::scope::Scope;
use super::text::{filled, ident, string, table, texts};
use answer::{ClientError, SqlState};
use sql::ast::Own;
use sql::parse::Lines;
use sql::place::Place;
use sqlparser::ast::{self, Query, SetExpr};
use std::cell::Cell;

/// A value that is known when the statement runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Written in the statement; None is NULL.
    Text(Option<String>),
    /// `$n`.
    Parameter(usize),
}

/// `set_config(name, value, local)` in the select list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetConfig {
    /// The setting.
    pub name: Given,
    /// Value of the setting.
    pub value: Given,
    /// Until the end of the transaction.
    pub local: bool,
}

/// A statement over the catalogs.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// Text that the finish login runs.
    pub sql: String,
    /// Settings that the session sets.
    pub set: Vec<SetConfig>,
    /// The relations of `noisegate.*` that it names.
    pub own: Vec<Own>,
}

impl Rewritten {
    /// Bytes that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.sql.len() + self.set.len() * size_of::<SetConfig>()
    }

    /// The text, with the rows of [`Self::own`], each as a query.
    pub fn with_rows(&self, rows: impl Iterator<Item = String>) -> String {
        let relation = |(own, rows): (&Own, String)| {
            let columns: Vec<String> = own.columns().iter().map(|(name, _)| ident(name)).collect();
            format!("{} ({}) AS ({rows})", ident(&own_name(*own)), columns.join(", "))
        };
        let relations: Vec<String> = self.own.iter().zip(rows).map(relation).collect();
        if relations.is_empty() {
            return self.sql.clone();
        }
        let relations = relations.join(", ");
        // A query has one WITH.
        match (self.sql.strip_prefix("WITH RECURSIVE "), self.sql.strip_prefix("WITH ")) {
            (Some(rest), _) => format!("WITH RECURSIVE {relations}, {rest}"),
            (None, Some(rest)) => format!("WITH {relations}, {rest}"),
            (None, None) => format!("WITH {relations} {}", self.sql),
        }
    }
}

/// How a text calls a relation of `noisegate.*`, whose rows are not the database's: nothing else is called so.
fn own_name(own: Own) -> String {
    format!("{}.{}", Own::SCHEMA, own.name())
}

/// Prints a statement, or refuses it.
pub fn rewrite(query: &Query, lines: &Lines, catalogs: &Catalogs, asker: &Asker) -> Result<Rewritten> {
    let mut printer = Printer {
        catalogs,
        asker,
        lines: Some(lines),
        ctes: 0,
        set: Vec::new(),
        own: Vec::new(),
        top: true,
        put_in: Cell::new(0),
    };
    let (sql, _) = printer.query(query, &Scope::default(), true)?;
    Ok(Rewritten { sql, set: printer.set, own: printer.own })
}

/// A printer of statements over catalogs.
pub(super) struct Printer<'a> {
    catalogs: &'a Catalogs,
    asker: &'a Asker,
    /// None within a view of ours.
    lines: Option<&'a Lines>,
    /// How many common table expressions were printed.
    ctes: usize,
    set: Vec<SetConfig>,
    own: Vec<Own>,
    /// The select list that is printed is the statement's own.
    top: bool,
    /// Bytes of the texts that stand for catalogs and functions.
    put_in: Cell<usize>,
}

/// The most of them: each name of a few bytes stands for what may be a list of all that is shown.
const MOST_PUT_IN: usize = 8 << 20;

type Result<T> = std::result::Result<T, ClientError>;

impl Printer<'_> {
    /// 0A000 for what is on no list.
    fn refused(&self, what: impl std::fmt::Display, node: &impl Place) -> ClientError {
        ClientError::unsupported(format!("{what} is not supported over system catalogs"))
            .hint("Ask the catalogs in the ways that psql's \\d and drivers do; noisegate.columns has the policy's own view.")
            .at(self.position(node))
    }

    fn error(&self, code: &[u8; 5], message: String, node: &impl Place) -> ClientError {
        ClientError::new(SqlState(*code), message).at(self.position(node))
    }

    fn position(&self, node: &impl Place) -> Option<usize> {
        self.lines.and_then(|lines| lines.start(node))
    }

    /// The text of a relation of `pg_catalog`, in brackets.
    fn base(&self, name: &str) -> Result<String> {
        let base = self.catalogs.base(name).ok_or_else(|| unknown_relation(name))?;
        self.put_in(format!("({})", of_session(base, self.asker)))
    }

    /// A text that stands for a name, if there is room for one more.
    fn put_in(&self, text: String) -> Result<String> {
        self.put_in.set(self.put_in.get().saturating_add(text.len()));
        if self.put_in.get() <= MOST_PUT_IN {
            return Ok(text);
        }
        let m = "the catalogs that this statement names, and what its functions look up, are too much for one statement";
        Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m).hint("Name each catalog once, in a WITH."))
    }

    /// A template with its arguments.
    fn filled(&self, template: &str, args: &[String]) -> Result<String> {
        let c = self.catalogs;
        let mut missing = None;
        let text = filled(template, |name| {
            Some(match name {
                "relations" => c.relations.clone(),
                "indexes" => c.indexes.clone(),
                "constraints" => c.constraints.clone(),
                "types" => c.types.clone(),
                "in_path" => self.in_path(),
                "columns" => self.shown_columns(),
                "schemas" => {
                    let own = ["pg_catalog", "information_schema", "public"];
                    texts(own.into_iter().chain(c.schemas.iter().map(String::as_str)))
                }
                "path" => texts(self.asker.path.iter().map(String::as_str)),
                "schema" => self.asker.path.first().map_or_else(|| "NULL".into(), |s| string(s)),
                "user" => string(&self.asker.user),
                "database" => string(&self.asker.database),
                "pid" => self.asker.pid.to_string(),
                "pg_description" | "pg_settings" => match self.base(name) {
                    Ok(text) => text,
                    Err(e) => {
                        missing = Some(e);
                        return None;
                    }
                },
                "$*" => args.join(", "),
                name => {
                    let number = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok())?;
                    number.checked_sub(1).and_then(|n| args.get(n))?.clone()
                }
            })
        });
        match missing {
            Some(e) => Err(e),
            None => self.put_in(text),
        }
    }

    /// Relations that are found without their schema's name.
    fn in_path(&self) -> String {
        let first = |n: &&super::facts::Named| {
            let place = |schema: &str| self.asker.path.iter().position(|s| s == schema);
            let own = place(&n.schema);
            let earlier = |o: &super::facts::Named| {
                o.name == n.name && place(&o.schema) < own && place(&o.schema).is_some()
            };
            own.is_some() && !self.catalogs.names.iter().any(earlier)
        };
        super::text::numbers(self.catalogs.names.iter().filter(first).map(|n| n.oid), "oid")
    }

    fn shown_columns(&self) -> String {
        let columns = &self.catalogs.columns;
        table(&[
            super::text::numbers(columns.iter().map(|c| c.0), "oid"),
            super::text::numbers(columns.iter().map(|c| c.1), "int2"),
            texts(columns.iter().map(|c| c.2.as_str())),
        ])
    }

    /// A name for a common table expression that no relation has.
    fn cte_name(&mut self) -> String {
        self.ctes += 1;
        ident(&format!("noisegate with {}", self.ctes))
    }
}

/// 42P01.
fn unknown_relation(name: &str) -> ClientError {
    ClientError::new(SqlState(*b"42P01"), format!("relation \"{name}\" does not exist"))
}

/// The select of a set expression's first branch.
fn first_select(body: &SetExpr) -> Option<&ast::Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}
