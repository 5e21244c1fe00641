//! Judgement of settings: the values that they may have, by PostgreSQL's word, and the values that
//! they have.

use super::settings::custom::NoisegateSetting;
use super::settings::known;
use super::settings::known::Rule;
use super::settings::{table, time_zone};
use crate::gateway::Session;
use crate::gateway::session::ask::Ask;
use answer::{ClientError, SqlState};
use backend::{Param, RelayError};
use std::collections::BTreeMap;

/// 55P02: a setting that nobody can change.
const CANT_CHANGE_RUNTIME_PARAM: SqlState = SqlState(*b"55P02");
/// Parameters of the start-up packet that are no settings.
const NO_SETTINGS: [&str; 4] = ["user", "database", "options", "replication"];

type Result<T> = std::result::Result<T, ClientError>;

impl Ask<'_> {
    /// The value that SET keeps; None goes back to the default.
    pub(in crate::gateway) async fn judge(&self, name: &str, value: Option<&str>) -> Result<Option<String>> {
        match (known::rule(name), value) {
            (Rule::Noisegate, value) => {
                let own = NoisegateSetting::named(name)?;
                let value = value.map(|v| own.judge(v)).transpose()?;
                if let Some(value) = &value {
                    own.at_least(value, &self.gateway.policy.statement.min_epsilon)?;
                }
                if own == NoisegateSetting::Bounds
                    && value.as_deref() == Some("auto")
                    && self.gateway.policy.statement.auto_max_rows.is_none()
                {
                    return Err(crate::gateway::tell::price::no_bounds());
                }
                if let (NoisegateSetting::Stream | NoisegateSetting::StreamReopen, Some(name)) =
                    (own, value.as_deref().filter(|v| !v.is_empty()))
                {
                    self.stream_named(name)?;
                }
                Ok(value)
            }
            (Rule::Fixed { values, why }, Some(value)) => {
                Rule::fixed(values, why, name, value).map(|v| Some(v.to_owned()))
            }
            (Rule::Told, Some(value)) => known::boolean(name, value).map(|v| Some(v.to_owned())),
            (Rule::Forbidden, _) => Err(ClientError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to set parameter \"{name}\""),
            )
            .hint("Connect as that user: budgets and rights belong to the login.")),
            (Rule::ReadOnly, _) => Err(ClientError::new(
                CANT_CHANGE_RUNTIME_PARAM,
                format!("parameter \"{}\" cannot be changed", known::canonical(name)),
            )),
            // Within a transaction that has begun PostgreSQL would refuse these.
            (Rule::Kept, Some(value)) if name == "transaction_isolation" => {
                let levels = ["serializable", "repeatable read", "read committed", "read uncommitted"];
                match levels.iter().find(|l| l.eq_ignore_ascii_case(value.trim())) {
                    Some(level) => Ok(Some((*level).to_owned())),
                    None => Err(ClientError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid value for parameter \"{name}\""),
                    )
                    .hint(format!("Available values: {}.", levels.join(", ")))),
                }
            }
            (Rule::Kept, Some(value)) => {
                let sql = "SELECT pg_catalog.set_config($1, $2, true)";
                let kept = self.ask(sql, &[name, value]).await?;
                if name == "timezone" && !time_zone::is_plain_offset(&kept) {
                    self.named_zone(&kept).await?;
                }
                Ok(Some(kept))
            }
            (Rule::Kept, None) if known::default(name).is_none() && self.settings.get(name).is_none() => {
                // PostgreSQL knows whether there is such a setting; its value is nobody's business.
                self.ask("SELECT pg_catalog.current_setting($1)", &[name]).await.map(|_| None)
            }
            (_, None) => Ok(None),
        }
    }

    /// Refuses a time zone that PostgreSQL knows by no name (soundness rule 37).
    async fn named_zone(&self, zone: &str) -> Result<()> {
        let names = self.gateway.time_zones.get_or_try_init(|| self.ask(time_zone::NAMES, &[])).await?;
        match time_zone::is_among(zone, names) {
            true => Ok(()),
            false => Err(time_zone::refused(zone)),
        }
    }

    /// A single text from the finish login.
    async fn ask(&self, sql: &str, arguments: &[&str]) -> Result<String> {
        if arguments.iter().any(|a| a.contains('\0')) {
            return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, "a setting cannot contain NUL"));
        }
        let params: Vec<Param> = arguments.iter().map(|a| Param::text(*a)).collect();
        let settings = self.settings.backend();
        let gateway = &self.gateway;
        let rows = gateway
            .backend
            .query(&settings, sql, &params, &[0])
            .await
            .map_err(RelayError::into_finish_error)?;
        let rows = rows.into_texts().await.map_err(RelayError::into_finish_error)?;
        Ok(rows.into_iter().flatten().flatten().next().unwrap_or_default())
    }

    /// The value that SHOW tells.
    pub(in crate::gateway) async fn show(&self, name: &str) -> Result<String> {
        if name == table::STREAM_ACCURACY {
            return self.stream_accuracy().await;
        }
        if let Some(value) = self.known_value(name) {
            return Ok(value);
        }
        if known::READABLE.contains(&name) {
            return self.ask("SELECT pg_catalog.current_setting($1)", &[name]).await;
        }
        if name.starts_with("noisegate.") {
            NoisegateSetting::named(name)?;
        }
        Err(known::unknown(name).hint("SHOW ALL lists what noisegate shows."))
    }

    /// The value of a setting that can be told without asking PostgreSQL.
    pub(in crate::gateway) fn known_value(&self, name: &str) -> Option<String> {
        let gateway = self.gateway;
        if let Some(value) = self.settings.get(name) {
            return Some(value.to_owned());
        }
        if let Some(own) = NoisegateSetting::find(name) {
            return Some(own.default(&gateway.settings));
        }
        match name {
            table::MIN_EPSILON => Some(gateway.policy.statement.min_epsilon.normalized().to_plain_string()),
            "session_authorization" => Some(self.identity.user.clone()),
            "search_path" => Some(self.default_path()),
            "transaction_isolation" => self.known_value("default_transaction_isolation"),
            "transaction_read_only" => self.known_value("default_transaction_read_only"),
            name => known::default(name).map(str::to_owned).or_else(|| {
                let reported = gateway.backend.parameters();
                reported.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.clone())
            }),
        }
    }
}

impl Session {
    /// Takes over what the start-up packet asked for. Names that nobody knows are ignored, as poolers and drivers
    /// expect; wrong values are refused.
    pub async fn start_with(&mut self, startup: &BTreeMap<String, String>) -> Result<()> {
        let options = startup.get("options").map(|o| options(o)).unwrap_or_default();
        let plain =
            startup.iter().filter(|(n, _)| !NO_SETTINGS.contains(&n.as_str()) && !n.starts_with("_pq_."));
        for (name, value) in plain.map(|(n, v)| (n.clone(), v.clone())).chain(options) {
            let name = name.to_lowercase();
            match self.ask().judge(&name, Some(&value)).await {
                Ok(Some(value)) => self.settings.start_with(&name, value),
                Ok(None) => {}
                Err(e) if known::default(&name).is_none() && !name.starts_with("noisegate.") => {
                    tracing::debug!(code = e.code.as_str(), "a start-up parameter was ignored");
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reportable settings that changed since the last call.
    pub fn changed_parameters(&mut self) -> Vec<(String, String)> {
        let mut changed = Vec::new();
        if self.reported_at == Some(self.settings.revision()) {
            return changed;
        }
        self.reported_at = Some(self.settings.revision());
        let gateway = self.gateway.clone();
        for name in known::REPORTED {
            // `search_path` is reported since PostgreSQL 18.
            if *name == "search_path" && !gateway.backend.parameters().contains_key(*name) {
                continue;
            }
            let Some(value) = self.ask().known_value(&name.to_lowercase()) else { continue };
            let known = self.reported.get(*name).or_else(|| gateway.backend.parameters().get(*name));
            if known != Some(&value) {
                self.reported.insert((*name).to_owned(), value.clone());
                changed.push(((*name).to_owned(), value));
            }
        }
        changed
    }
}

/// `-c name=value --name=value`, words parted by blanks, backslashes escaping.
fn options(text: &str) -> Vec<(String, String)> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut chars) = (None::<String>, text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let mut found = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let setting = match word.as_str() {
            "-c" => words.next(),
            w => w.strip_prefix("--").or_else(|| w.strip_prefix("-c")).map(str::to_owned),
        };
        if let Some((name, value)) = setting.as_deref().and_then(|s| s.split_once('=')) {
            found.push((name.replace('-', "_"), value.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_start_up_packet() {
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        assert_eq!(
            options(
                "-c timezone=UTC -cjit=off --extra-float-digits=2 -c noisegate.epsilon=0.5 -c a=b\\ c\\\\d"
            ),
            [
                pair("timezone", "UTC"),
                pair("jit", "off"),
                pair("extra_float_digits", "2"),
                pair("noisegate.epsilon", "0.5"),
                pair("a", "b c\\d"),
            ]
        );
        assert!(options("-c -x nonsense").is_empty());
    }
}
