//! SET, SHOW, RESET and their like: statements of the session's own.

use crate::gateway::Session;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::custom::NoisegateSetting;
use crate::gateway::session::settings::known;
use crate::gateway::session::statement::Columns;
use answer::{ClientError, Field, Notice, Outcome, SqlState, Values, text_cells};
use futures::StreamExt;
use sql::SessionStatement;

impl Ask<'_> {
    /// Refuses to call the transaction something else once a query was asked in it, as PostgreSQL does.
    fn before_any_query(&self, name: &str, value: Option<&str>) -> Result<(), ClientError> {
        let other = || self.known_value(name).as_deref() != value;
        let message = match (name, value) {
            ("transaction_isolation", Some(_)) => {
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            }
            ("transaction_read_only", Some("off")) => {
                "transaction read-write mode must be set before any query"
            }
            _ => return Ok(()),
        };
        if self.queried && self.transaction_start.is_some() && other() {
            return Err(ClientError::new(SqlState(*b"25001"), message));
        }
        Ok(())
    }

    /// All settings with what they are for.
    fn show_all(&self) -> Vec<bytes::Bytes> {
        let own = NoisegateSetting::ALL.iter().map(|o| (o.name(), o.description()));
        let others = known::REPORTED.iter().map(|n| (*n, ""));
        let more = [
            "extra_float_digits",
            "bytea_output",
            "statement_timeout",
            "transaction_isolation",
            "transaction_read_only",
        ];
        let all = own.chain(others).chain(more.into_iter().map(|n| (n, "")));
        all.filter_map(|(name, description)| {
            let value = self.known_value(&name.to_lowercase())?;
            Some(text_cells(&[Some(name), Some(&value), Some(description)]))
        })
        .collect()
    }
}

impl Session {
    /// The outcome of a statement of the session's own.
    pub(in crate::gateway) async fn execute_own(
        &mut self,
        statement: &SessionStatement,
        values: &Values,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let done = |tag: &str| Ok(Outcome::Complete(tag.to_owned()));
        // Text looks the same in both formats.
        let fields = Columns::bound(fields(statement), values).fields;
        match statement {
            SessionStatement::Nothing(tag) => done(tag),
            SessionStatement::Set { name, value, local } => {
                if *local && self.transaction_start.is_none() {
                    notices.push(outside("SET LOCAL"));
                    return done("SET");
                }
                let value = self.ask().judge(name, value.as_deref()).await?;
                self.ask().before_any_query(name, value.as_deref())?;
                self.settings.set(name, value, *local)?;
                self.ask().stream_was_set(name, notices).await?;
                done("SET")
            }
            SessionStatement::Modes { session: false, .. } if self.transaction_start.is_none() => {
                notices.push(outside("SET TRANSACTION"));
                done("SET")
            }
            SessionStatement::Modes { modes, session } => {
                for (name, value) in modes.settings() {
                    let value = self.ask().judge(name, Some(&value)).await?;
                    match session {
                        true => self.settings.set(&format!("default_{name}"), value, false)?,
                        false => {
                            self.ask().before_any_query(name, value.as_deref())?;
                            self.settings.set(name, value, true)?;
                        }
                    }
                }
                done("SET")
            }
            SessionStatement::Reset(name) => {
                self.ask().judge(name, None).await?;
                self.settings.set(name, None, false)?;
                done("RESET")
            }
            SessionStatement::ResetAll => {
                self.settings.reset_all();
                done("RESET")
            }
            SessionStatement::Show(name) => {
                let ask = self.ask();
                let value = match ask.owner()? {
                    // As current_setting has it there.
                    Some(owner) if !name.starts_with("noisegate.") => owner.setting(name).await?,
                    _ => ask.show(name).await?,
                };
                Ok(rows(fields, vec![text_cells(&[Some(&value)])]))
            }
            SessionStatement::ShowAll => Ok(rows(fields, self.ask().show_all())),
        }
    }
}

/// A warning that nothing came of it, as PostgreSQL gives it.
fn outside(what: &str) -> Notice {
    Notice { message: format!("{what} can only be used in transaction blocks"), code: "25P01", hint: None }
}

/// The columns of SHOW; others have none.
pub fn fields(statement: &SessionStatement) -> Vec<Field> {
    let field = |name: &str| Field {
        name: name.to_owned(),
        type_oid: 25,
        type_size: -1,
        type_modifier: -1,
        format: 0,
    };
    match statement {
        SessionStatement::Show(name) => vec![field(known::canonical(name))],
        SessionStatement::ShowAll => ["name", "setting", "description"].map(field).to_vec(),
        _ => Vec::new(),
    }
}

fn rows(fields: Vec<Field>, rows: Vec<bytes::Bytes>) -> Outcome {
    let rows = futures::stream::iter(rows.into_iter().map(Ok)).boxed();
    Outcome::Rows { fields, rows, verb: "SHOW", count: false }
}
