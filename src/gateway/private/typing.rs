//! Type: PostgreSQL's judgement of names and types, over the real tables and before anything is paid for.

use super::parameters;
use crate::gateway::session::ask::Ask;
use answer::ClientError;
use backend::Param;
use emit::print::{self, Constants, Printed};
use sql::ast::Bindings;

impl Ask<'_> {
    /// Refuses types of parameters that are not on the list.
    pub async fn allowed(&self, types: &[u32]) -> Result<(), ClientError> {
        let gateway = self.gateway;
        for (i, oid) in types.iter().enumerate().filter(|(_, t)| **t != 0) {
            if !parameters::allowed(*oid, &gateway.policy) && !self.holds_allowed(*oid).await? {
                return Err(parameters::refused(i + 1, *oid));
            }
        }
        Ok(())
    }

    /// Whether a type is an array of a type on the list: of an enum, whose array types nobody numbers.
    async fn holds_allowed(&self, oid: u32) -> Result<bool, ClientError> {
        let gateway = self.gateway;
        // True arrays only: they are subscripted by their elements, and have a length that varies.
        let sql = "SELECT t.typelem::pg_catalog.text FROM pg_catalog.pg_type AS t
            WHERE t.oid = $1::pg_catalog.int8::pg_catalog.oid AND t.typcategory = 'A' AND t.typlen = -1";
        let params = [Param::int8(i64::from(oid))];
        let settings = backend::Settings::default();
        let rows = gateway.backend.query(&settings, sql, &params, &[0]).await;
        let rows = rows.map_err(backend::RelayError::into_finish_error)?;
        let rows = rows.into_texts().await.map_err(backend::RelayError::into_finish_error)?;
        let element = rows.into_iter().flatten().flatten().next().and_then(|e| e.parse().ok());
        Ok(element.is_some_and(|e| parameters::scalar(e, &gateway.policy).is_some()))
    }

    /// Has the statement prepared over the real tables and never executed.
    pub async fn type_check(
        &self,
        statement: &sql::ast::Statement,
        private: bool,
        types: &[u32],
        constants: &Constants,
    ) -> Result<backend::Description, ClientError> {
        let gateway = self.gateway;
        let text = print::typed(statement, &gateway.policy, constants);
        let settings = self.settings.backend();
        // A statement that reads private rows is fetched under a fingerprint of its tables: had they changed since
        // it was typed, it would be refused there. Others are typed anew wherever their columns are described.
        if private && let Some(fields) = gateway.known.typed.get(&settings, &text.sql) {
            return Ok(backend::Description { parameters: Vec::new(), fields });
        }
        let described = gateway.backend.describe(&settings, &text.sql, types).await;
        let mut description = match described {
            Ok(description) => description,
            Err(e) => {
                let error = typing_error(e, &text, &statement.bindings);
                let tables: Vec<usize> = statement.bindings.iter().filter_map(|(_, b)| b.table()).collect();
                let policy = &gateway.policy;
                return Err(gateway.fingerprints.judged(&gateway.backend, policy, &tables, error).await);
            }
        };
        description.fields.iter_mut().for_each(|f| f.format = 0);
        if description.parameters.is_empty() {
            gateway.known.typed.keep(&settings, &text.sql, &description.fields);
        }
        Ok(description)
    }

    /// The columns of a statement without parameters when it was typed last, if it was.
    pub fn typed_before(
        &self,
        statement: &sql::ast::Statement,
        constants: &Constants,
    ) -> Option<Vec<answer::Field>> {
        let gateway = self.gateway;
        let text = print::typed(statement, &gateway.policy, constants);
        gateway.known.typed.get(&self.settings.backend(), &text.sql)
    }
}

/// PostgreSQL's judgement of a statement's names and types. Its text names only these and the statement's own
/// constants; positions are turned into the analyst's.
pub fn typing_error(error: backend::RelayError, text: &Printed, bindings: &Bindings) -> ClientError {
    match error {
        backend::RelayError::Db(db) if db.code == answer::SqlState::INSUFFICIENT_PRIVILEGE => {
            backend::lacking(&print::analysts_names(&db.message, bindings))
        }
        backend::RelayError::Db(db) => {
            let position = db.position.and_then(|p| text.position(usize::try_from(p).ok()?));
            let own = |text: &str| print::analysts_names(text, bindings);
            let mut e = ClientError::new(db.code, own(&db.message)).at(position);
            e.hint = db.hint.as_deref().map(own);
            e
        }
        other => other.into_finish_error(),
    }
}
