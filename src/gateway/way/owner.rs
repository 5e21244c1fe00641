//! Owners, who are users of a passthrough role: the database answers their statements as they
//! stand, by a login of its own, in read-only transactions. No privacy, no price, nothing kept;
//! each statement is in the audit, and a notice says so.
//!
//! [`Ask::owner`] alone reaches that connection, and gives it to sessions of such a role only.

use crate::gateway::private::parameters;
use crate::gateway::serve::audit;
use crate::gateway::serve::audit::Event;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::known;
use crate::gateway::session::statement::{Columns, control_here};
use answer::{ClientError, Description, Notice, Outcome, SqlState, Values};
use backend::{Backend, ConnectError, Direct, Param, RelayError};
use policy::Mode;
use sql::Kind;

/// The login of passthrough roles, if the policy names one. What is in it can be seen in this file alone.
pub struct Passthrough(Option<Direct>);

impl Passthrough {
    /// Connects it.
    pub async fn connect(policy: &policy::Backend, backend: &Backend) -> Result<Self, ConnectError> {
        Direct::connect(policy, backend).await.map(Self)
    }
}

/// A session whose role has no privacy, with the way to the database that such a session has.
pub struct Owner<'s> {
    ask: Ask<'s>,
    direct: &'s Direct,
    settings: backend::Settings,
}

impl<'s> Ask<'s> {
    /// The owner's way to the database; None for all other roles.
    pub fn owner(&self) -> Result<Option<Owner<'s>>, ClientError> {
        let gateway = self.gateway;
        if self.mode() != Mode::Passthrough {
            return Ok(None);
        }
        let Some(direct) = &gateway.passthrough.0 else {
            let message = "the login of passthrough roles is not connected";
            return Err(ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("backend.passthrough_url was added by a reload; it needs a restart."));
        };
        let path = self.path_names().into_iter();
        Ok(Some(Owner { ask: *self, direct, settings: self.settings.backend().with_search_path(path) }))
    }

    /// Says at login what the session is; one that cannot be said to begin does not.
    pub fn announce(&self) -> Result<(), ClientError> {
        match self.mode() {
            Mode::Passthrough => self.audit(&Event::Begins),
            Mode::Private | Mode::Synthetic => Ok(()),
        }
    }

    fn audit(&self, event: &Event<'_>) -> Result<(), ClientError> {
        audit::write(self.gateway.policy.log.format, self.identity, self.database, event)
    }
}

/// The statement that the database gets: as it was written, or, where it stood within another (DECLARE, COPY, PREPARE), as it
/// was read.
fn text_of(kind: &Kind, text: &str) -> Option<String> {
    let verbs = ["SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN"];
    let begins = |verb: &&str| text.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
    match kind {
        Kind::Query(query, _) | Kind::Arguments(query, _) => Some(match verbs.iter().any(begins) {
            true => text.to_owned(),
            false => query.to_string(),
        }),
        Kind::Explain(..) => Some(text.to_owned()),
        Kind::Control | Kind::Session(_) | Kind::Insert(_) => None,
    }
}

impl Owner<'_> {
    /// The columns, as the database says.
    pub async fn describe(&self, kind: &Kind, text: &str, types: &[u32]) -> Result<Description, ClientError> {
        let sql = text_of(kind, text).ok_or_else(control_here)?;
        let described = self.direct.describe(&self.settings, &sql, types).await;
        let described = described.map_err(RelayError::into_finish_error)?;
        Ok(Description { parameters: described.parameters, fields: Some(described.fields) })
    }

    /// The value of a setting, as `current_setting` has it in the session's statements.
    pub async fn setting(&self, name: &str) -> Result<String, ClientError> {
        let name = schema::quoted::string(known::canonical(name));
        let sql = format!("SELECT pg_catalog.current_setting({name})");
        let rows = self.direct.query(&self.settings, &sql, &[], &[0]).await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        let texts = rows.into_texts().await.map_err(RelayError::into_finish_error)?;
        Ok(texts.into_iter().flatten().flatten().next().unwrap_or_default())
    }

    /// The rows, after the audit has the statement.
    pub async fn execute(
        &self,
        (kind, text): (&Kind, &str),
        types: &[u32],
        values: &Values,
        promised: Option<Columns>,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        record::answered(record::Outcome::Passthrough);
        let mut sql = text_of(kind, text).ok_or_else(control_here)?;
        let params: Vec<Param> = parameters::params(types, values);
        // Before it is read: for the operator, whole, and for the analyst.
        self.ask.audit(&Event::Asks { statement: &sql, parameters: &params })?;
        notices.push(Notice::new("passthrough: exact rows, without privacy; the statement is in the log"));
        let formats: Vec<i16> = promised.iter().flat_map(|p| &p.fields).map(|f| f.format).collect();
        if promised.is_some_and(|p| p.twice) {
            sql = format!("SELECT q.*, q.* FROM ({sql}\n) AS q");
        }
        let rows = self.direct.query(&self.settings, &sql, &params, &formats).await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        let (verb, count) =
            if matches!(kind, Kind::Explain(..)) { ("EXPLAIN", false) } else { ("SELECT", true) };
        let fields = rows.fields.clone();
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb, count })
    }
}
