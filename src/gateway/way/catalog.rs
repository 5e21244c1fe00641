//! Statements over the system catalogs: printed anew over what the policy shows, and answered by the database itself.
//!
//! They read no table's rows, so that nothing is charged, and nothing is planned. The finish login runs them.

use crate::gateway::private::finish::same_types;
use crate::gateway::private::parameters;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::known;
use crate::gateway::session::statement::Columns;
use crate::gateway::{Gateway, Session};
use ::catalogs::{About, Asker, Catalogs, Facts, Given, QUESTIONS, Questions, Rewritten, SetConfig};
use answer::{ClientError, Description, Notice, Outcome, SqlState, Values};
use backend::{Param, RelayError};
use emit::print::own_rows;
use policy::Policy;
use sql::Kind;
use sql::parse::Lines;
use sqlparser::ast::Query;

/// Types that only catalogs have: `"char"`, its arrays, and those of names.
const CATALOG_TYPES: [u32; 3] = [18, 1002, 1003];

/// Refusals of constants that may be of a kind for catalogs: any other, such as a limit, holds for
/// both ways.
const FOREIGN: [SqlState; 4] = [
    SqlState::FEATURE_NOT_SUPPORTED,
    SqlState::UNDEFINED_OBJECT,
    SqlState::UNDEFINED_COLUMN,
    SqlState(*b"42883"),
];

/// Errors that only this way knows, in statements that are not over catalogs: 42704, 42P01, 42501,
/// 42601, 42602 (of a regclass).
const TOLD: [SqlState; 5] = [
    SqlState::UNDEFINED_OBJECT,
    SqlState::UNDEFINED_TABLE,
    SqlState(*b"42501"),
    SqlState(*b"42601"),
    SqlState(*b"42602"),
];

/// Whether an error of this way is the one to tell, of constants that neither way takes.
fn is_told(error: &ClientError) -> bool {
    TOLD.contains(&error.code) || error.message.starts_with(sql::names::ELSEWHERE)
}

impl Gateway {
    /// The catalogs as the policy in force shows them, read when they are first asked for.
    async fn catalogs(&self) -> Result<&Catalogs, ClientError> {
        self.catalogs.get_or_try_init(|| self.read_catalogs()).await
    }

    async fn read_catalogs(&self) -> Result<Catalogs, ClientError> {
        let policy: &Policy = &self.policy;
        let mut answers: [Vec<Vec<Option<String>>>; QUESTIONS] = Default::default();
        for (answer, text) in answers.iter_mut().zip(Questions::of(policy).texts) {
            let settings = backend::Settings::default();
            let rows = self.backend.query(&settings, &text, &[], &[0]).await;
            let rows = rows.map_err(RelayError::into_finish_error)?;
            *answer = rows.into_texts().await.map_err(RelayError::into_finish_error)?;
        }
        Ok(Catalogs::new(policy, Facts::new(policy, self.backend.server_version(), answers)))
    }
}

impl Ask<'_> {
    /// The statement over catalogs that a query is, if it is one. Constants go this way only where the other way has none.
    pub async fn over_catalogs(
        &self,
        query: &Query,
        lines: &Lines,
    ) -> Result<Option<Rewritten>, ClientError> {
        let constants = match catalogs::about(query) {
            About::Catalogs => false,
            About::Constants => true,
            About::Tables => return Ok(None),
        };
        if !constants {
            self.reads_something()?;
        }
        if constants {
            match self.resolve(query, lines) {
                Err(e) if FOREIGN.contains(&e.code) => {}
                _ => return Ok(None),
            }
        }
        let rewritten = catalogs::rewrite(query, lines, self.gateway.catalogs().await?, &self.asker());
        match rewritten {
            Err(e) if constants && !is_told(&e) => Ok(None),
            rewritten => rewritten.map(Some),
        }
    }

    /// What `set_config` in a statement of a passthrough role sets: the database runs each statement in a transaction of its own,
    /// where it would end, so that the session keeps it. Where that cannot be read from the text it is refused.
    pub async fn set_by_owner(&self, kind: &Kind, text: &str) -> Result<Vec<SetConfig>, ClientError> {
        let Kind::Query(query, lines) = kind else { return Ok(Vec::new()) };
        if !sql::parse::calls(text, "set_config") {
            return Ok(Vec::new());
        }
        let rewritten = catalogs::rewrite(query, lines, self.gateway.catalogs().await?, &self.asker());
        rewritten.map(|r| r.set).map_err(|_| {
            let what = "set_config of anything but constants and parameters, or beside rows of tables, in a passthrough session";
            ClientError::unsupported(format!("{what} is not supported"))
                .hint("Write SELECT set_config('name', 'value', false) by itself, or SET.")
        })
    }

    fn asker(&self) -> Asker {
        let readable: Vec<String> = known::shown().map(str::to_owned).collect();
        let value = |name: &String| Some((name.to_lowercase(), self.known_value(&name.to_lowercase())?));
        Asker {
            user: self.identity.user.clone(),
            database: self.database.to_owned(),
            databases: self.databases.beside(self.database, &self.identity.user),
            path: self.search_path(),
            settings: readable.iter().filter_map(value).collect(),
            readable,
            pid: self.pid,
        }
    }

    /// The names in `search_path`.
    pub fn path_names(&self) -> Vec<String> {
        let path = self.known_value("search_path").unwrap_or_default();
        let names = path.split(',').map(|name| match name.trim().strip_prefix('"') {
            Some(quoted) => quoted.trim_end_matches('"').replace("\"\"", "\""),
            None => name.trim().to_lowercase(),
        });
        names.filter(|name| !name.is_empty()).collect()
    }

    /// `search_path` where nobody has set it: that of PostgreSQL, and behind it the policy's other schemas.
    pub fn default_path(&self) -> String {
        let gateway = self.gateway;
        let mut path = vec!["\"$user\"".to_owned(), "public".to_owned()];
        for table in &gateway.policy.tables {
            let schema = sql::catalog::written(&table.schema);
            if !path.contains(&schema) {
                path.push(schema);
            }
        }
        path.join(", ")
    }

    /// The schemas of `search_path` that there are for analysts.
    pub fn search_path(&self) -> Vec<String> {
        let gateway = self.gateway;
        let shown = |name: &String| {
            name == "public"
                || *name == sql::ast::Own::SCHEMA
                || gateway.policy.tables.iter().any(|t| t.schema == *name)
        };
        let user = |name: String| if name == "$user" { self.identity.user.clone() } else { name };
        let mut path: Vec<String> = Vec::new();
        for name in self.path_names().into_iter().map(user).filter(shown) {
            if !path.contains(&name) {
                path.push(name);
            }
        }
        path
    }

    /// The session's settings, with the search path for names that the server prints.
    fn catalog_settings(&self) -> backend::Settings {
        let path = self.search_path();
        self.settings.backend().with_search_path(std::iter::once("pg_catalog".to_owned()).chain(path))
    }

    /// Parse.
    pub async fn describe_catalogs(
        &self,
        rewritten: &Rewritten,
        types: &[u32],
    ) -> Result<Description, ClientError> {
        let gateway = self.gateway;
        self.allowed_here(types).await?;
        let settings = self.catalog_settings();
        let sql = rewritten.with_rows(rewritten.own.iter().map(|own| own_rows(*own, &[])));
        let described = gateway.backend.describe(&settings, &sql, types).await;
        let described = described.map_err(RelayError::into_finish_error)?;
        self.allowed_here(&described.parameters).await?;
        Ok(Description { parameters: described.parameters, fields: Some(described.fields) })
    }

    async fn allowed_here(&self, types: &[u32]) -> Result<(), ClientError> {
        // The others keep their places, so that an error names the right parameter.
        let types: Vec<u32> = types.iter().map(|t| if CATALOG_TYPES.contains(t) { 0 } else { *t }).collect();
        self.allowed(&types).await
    }
}

impl Session {
    /// The rows of a statement over the catalogs. `promised`: the columns that were told, if they were.
    pub(in crate::gateway) async fn run_catalogs(
        &mut self,
        rewritten: Rewritten,
        types: &[u32],
        values: &Values,
        promised: Option<Columns>,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let params: Vec<Param> = parameters::params(types, values);
        let formats: Vec<i16> = promised.iter().flat_map(|p| &p.fields).map(|f| f.format).collect();
        let twice = promised.as_ref().is_some_and(|p| p.twice);
        let mut own = Vec::new();
        for relation in &rewritten.own {
            own.push(own_rows(*relation, &self.ask().rows_of(*relation).await?));
        }
        let sql = rewritten.with_rows(own.into_iter());
        let sql = if twice { format!("SELECT q.*, q.* FROM ({sql}) AS q") } else { sql };
        for set in &rewritten.set {
            self.set_config(set, values, notices).await?;
        }
        let ask = self.ask();
        let settings = ask.catalog_settings();
        let rows = self.gateway.backend.serve(ask.behalf(true), &settings, &sql, &params, &formats).await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        if let Some(promised) = &promised {
            same_types(&promised.fields, &rows.fields)?;
        }
        let fields = rows.fields.clone();
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    pub(super) async fn set_config(
        &mut self,
        set: &SetConfig,
        values: &Values,
        notices: &mut Vec<Notice>,
    ) -> Result<(), ClientError> {
        let text = |given: &Given| match given {
            Given::Text(text) => Ok(text.clone()),
            Given::Parameter(n) => match n.checked_sub(1).and_then(|n| values.parameters.get(n)) {
                Some(Some(bytes)) => match std::str::from_utf8(bytes) {
                    Ok(text) => Ok(Some(text.to_owned())),
                    Err(_) => {
                        Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, "a setting is text in UTF8"))
                    }
                },
                Some(None) => Ok(None),
                None => Err(ClientError::new(
                    super::planned::UNDEFINED_PARAMETER,
                    format!("there is no parameter ${n}"),
                )),
            },
        };
        let Some(name) = text(&set.name)? else {
            return Err(ClientError::new(SqlState(*b"22004"), "SET requires parameter name"));
        };
        let statement = sql::SessionStatement::Set {
            name: name.to_lowercase(),
            value: text(&set.value)?,
            local: set.local,
        };
        self.execute_own(&statement, &Values::default(), notices).await.map(|_| ())
    }
}
