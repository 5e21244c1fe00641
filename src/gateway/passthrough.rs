//! Users of a passthrough role: owners, whose statements the database answers as they stand, by a login of their own, in
//! read-only transactions. No privacy, no price, nothing kept; each statement is in the audit and says so to whoever asked.
//!
//! The connection is reached by [`Session::owner`] and in no other way, and that gives it to sessions of such a role alone.

use super::audit::{self, Event};
use super::statement::Columns;
use super::{Gateway, Session, parameters};
use answer::{ClientError, Description, Notice, Outcome, SqlState, Values};
use backend::{Backend, ConnectError, Direct, Param, RelayError};
use policy::Mode;
use sql::Kind;

/// The login of passthrough roles, if the policy names one. What is in it can be seen in this file alone.
pub(super) struct Passthrough(Option<Direct>);

impl Passthrough {
    /// Connects it.
    pub(super) async fn connect(policy: &policy::Backend, backend: &Backend) -> Result<Self, ConnectError> {
        Direct::connect(policy, backend).await.map(Self)
    }
}

/// A session whose role has no privacy, with the way to the database that such a session has.
pub(super) struct Owner<'s> {
    session: &'s Session,
    direct: &'s Direct,
    settings: backend::Settings,
}

impl Session {
    /// None for everybody whose role is another.
    pub(super) fn owner<'s>(&'s self, gateway: &'s Gateway) -> Result<Option<Owner<'s>>, ClientError> {
        if self.mode(gateway) != Mode::Passthrough {
            return Ok(None);
        }
        let Some(direct) = &gateway.passthrough.0 else {
            let message = "the login of passthrough roles is not connected";
            return Err(ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("backend.passthrough_url was added by a reload; it needs a restart."));
        };
        record::answered(record::Outcome::Passthrough);
        let path = self.path_names(gateway).into_iter();
        Ok(Some(Owner { session: self, direct, settings: self.settings.backend().with_search_path(path) }))
    }

    /// Says at login what the session is; one that cannot be said to begin does not.
    pub(super) fn announce(&self) -> Result<(), ClientError> {
        match self.mode(&self.gateway) {
            Mode::Passthrough => self.audit(&Event::Begins),
            Mode::Private | Mode::Synthetic => Ok(()),
        }
    }

    fn audit(&self, event: &Event<'_>) -> Result<(), ClientError> {
        audit::write(self.gateway.policy.log.format, &self.identity, &self.database, event)
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
    /// Parse; None for what is not the database's to answer.
    pub(super) async fn describe(
        &self,
        kind: &Kind,
        text: &str,
        types: &[u32],
    ) -> Result<Option<Description>, ClientError> {
        let Some(sql) = text_of(kind, text) else { return Ok(None) };
        let described = self.direct.describe(&self.settings, &sql, types).await;
        let described = described.map_err(RelayError::into_finish_error)?;
        Ok(Some(Description { parameters: described.parameters, fields: Some(described.fields) }))
    }

    /// Execute, or a statement of the simple protocol (without a description); None for what is not the database's to answer.
    pub(super) async fn run(
        &self,
        kind: &Kind,
        text: &str,
        description: Option<&Description>,
        values: &Values,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Outcome>, ClientError> {
        let Some(mut sql) = text_of(kind, text) else { return Ok(None) };
        let params: Vec<Param> = parameters::params(description.map_or(&[], |d| &d.parameters), values);
        // Before it is read: for the operator, whole, and for whoever asks.
        self.session.audit(&Event::Asks { statement: &sql, parameters: &params })?;
        notices.push(Notice::new("passthrough: exact rows, without privacy; the statement is in the log"));
        let promised = description.and_then(|d| d.fields.clone()).map(|f| Columns::bound(f, values));
        let formats: Vec<i16> = promised.iter().flat_map(|p| &p.fields).map(|f| f.format).collect();
        if promised.is_some_and(|p| p.twice) {
            sql = format!("SELECT q.*, q.* FROM ({sql}\n) AS q");
        }
        let rows = self.direct.query(&self.settings, &sql, &params, &formats).await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        let (verb, count) =
            if matches!(kind, Kind::Explain(..)) { ("EXPLAIN", false) } else { ("SELECT", true) };
        let fields = rows.fields.clone();
        Ok(Some(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb, count }))
    }
}
