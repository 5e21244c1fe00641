//! Settings of PostgreSQL, and their meaning behind the proxy.

use super::table::{MIN_EPSILON, NoisegateSetting, STREAM_ACCURACY};
use answer::{ClientError, SqlState};

/// The rule by which SET treats a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// PostgreSQL judges the value, the proxy keeps it.
    Kept,
    /// On or off, and nothing but SHOW and ParameterStatus depends on it.
    Told,
    /// A setting of `noisegate.*`: the proxy judges it.
    Noisegate,
    /// Only one value is possible here.
    Fixed {
        /// Spellings, in lower case; the first is what SHOW says.
        values: &'static [&'static str],
        /// Why.
        why: &'static str,
    },
    /// Rights of another user: never.
    Forbidden,
    /// PostgreSQL reports it, nobody sets it.
    ReadOnly,
}

const ON: &[&str] = &["on", "true", "yes", "1"];

/// The rule of a setting, by its name in lower case.
pub fn rule(name: &str) -> Rule {
    match name {
        "client_encoding" => Rule::Fixed {
            values: &["UTF8", "utf8", "utf-8", "unicode", "'utf8'"],
            why: "noisegate speaks UTF8 only",
        },
        "standard_conforming_strings" => {
            Rule::Fixed { values: ON, why: "backslashes in plain strings are never escapes here" }
        }
        "role" | "session_authorization" => Rule::Forbidden,
        "is_superuser" | "in_hot_standby" | "server_version" | "server_version_num" | "server_encoding"
        | "integer_datetimes" | STREAM_ACCURACY | MIN_EPSILON => Rule::ReadOnly,
        "transaction_read_only" | "default_transaction_read_only" => Rule::Told,
        n if n.starts_with("noisegate.") => Rule::Noisegate,
        _ => Rule::Kept,
    }
}

impl Rule {
    /// Refuses what a [`Rule::Fixed`] setting does not allow, and gives the one value that it has.
    pub fn fixed(
        values: &[&'static str],
        why: &str,
        name: &str,
        value: &str,
    ) -> Result<&'static str, ClientError> {
        let wanted = value.trim().trim_matches('\'').to_lowercase();
        match values.first() {
            Some(first) if values.iter().any(|v| v.eq_ignore_ascii_case(&wanted)) => Ok(first),
            _ => Err(ClientError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"{name}\": \"{value}\""),
            )
            .detail(format!("{}.", capital(why)))),
        }
    }
}

/// As PostgreSQL reads a Boolean: any beginning of a word that only one of the two has. None where it is neither.
pub fn truth(value: &str) -> Option<bool> {
    let word = value.trim().to_lowercase();
    let begins = |words: [&str; 3], short: &str| {
        word == short || words.iter().any(|w| !word.is_empty() && word != "o" && w.starts_with(&word))
    };
    match (begins(["on", "true", "yes"], "1"), begins(["off", "false", "no"], "0")) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// `on` or `off`.
pub fn boolean(name: &str, value: &str) -> Result<&'static str, ClientError> {
    match truth(value) {
        Some(true) => Ok("on"),
        Some(false) => Ok("off"),
        None => Err(ClientError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("parameter \"{name}\" requires a Boolean value"),
        )),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The value of a setting that nobody has set, for the proxy's clients; in its own backend sessions
/// it may be another.
pub fn default(name: &str) -> Option<&'static str> {
    Some(match name {
        "timezone" => "UTC",
        "datestyle" => "ISO, MDY",
        "intervalstyle" => "postgres",
        "extra_float_digits" => "1",
        "bytea_output" => "hex",
        "client_encoding" => "UTF8",
        "application_name" => "",
        "search_path" => "\"$user\", public",
        "client_min_messages" => "notice",
        "statement_timeout"
        | "lock_timeout"
        | "idle_in_transaction_session_timeout"
        | "idle_session_timeout" => "0",
        "default_transaction_isolation" => "read committed",
        "standard_conforming_strings" | "row_security" | "escape_string_warning" | "array_nulls" => "on",
        // As a primary's that has no write for anybody: clients that look for one connect, and every write is refused.
        "default_transaction_read_only"
        | "transaction_deferrable"
        | "default_transaction_deferrable"
        | "is_superuser"
        | "in_hot_standby"
        | "jit" => "off",
        "role" => "none",
        _ => return None,
    })
}

/// Settings of the server that any client may read.
pub const READABLE: &[&str] = &[
    "block_size",
    "default_text_search_config",
    "lc_collate",
    "lc_ctype",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "max_function_args",
    "max_identifier_length",
    "max_index_keys",
    "server_encoding",
    "server_version",
    "server_version_num",
    "integer_datetimes",
    "default_table_access_method",
    "default_tablespace",
];

/// All that `pg_settings` and `current_setting` show of the server's settings and of noisegate's, as they are written.
pub fn shown() -> impl Iterator<Item = &'static str> {
    let own = NoisegateSetting::ALL.iter().map(|own| own.name());
    REPORTED.iter().chain(KEPT).chain(READABLE).copied().chain(own).chain([MIN_EPSILON])
}

/// Settings with a value of their own here, beside those of [`REPORTED`]; see [`default`].
const KEPT: &[&str] = &[
    "array_nulls",
    "bytea_output",
    "client_min_messages",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "escape_string_warning",
    "extra_float_digits",
    "idle_in_transaction_session_timeout",
    "in_hot_standby",
    "is_superuser",
    "jit",
    "lock_timeout",
    "role",
    "row_security",
    "session_authorization",
    "statement_timeout",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
];

/// Settings that go to the client as ParameterStatus when they change, as PostgreSQL writes them.
pub const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "IntervalStyle",
    "search_path",
    "standard_conforming_strings",
    "TimeZone",
];

/// The name as PostgreSQL writes it.
pub fn canonical(name: &str) -> &str {
    REPORTED.iter().find(|r| r.eq_ignore_ascii_case(name)).copied().unwrap_or(name)
}

/// 42704.
pub fn unknown(name: &str) -> ClientError {
    ClientError::new(
        SqlState::UNDEFINED_OBJECT,
        format!("unrecognized configuration parameter \"{}\"", sql::names::truncate(name.to_owned())),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn fixed_settings_take_their_one_value_in_every_spelling() {
        let Rule::Fixed { values, why } = rule("client_encoding") else { panic!("not fixed") };
        for spelling in ["UTF8", "utf-8", "Unicode", "'UTF8'"] {
            assert_eq!(Rule::fixed(values, why, "client_encoding", spelling), Ok("UTF8"));
        }
        let refused = Rule::fixed(values, why, "client_encoding", "LATIN1");
        assert_eq!(refused.map_err(|e| e.code), Err(SqlState::INVALID_PARAMETER_VALUE));
    }

    #[test]
    fn booleans_are_read_as_postgresql_reads_them() {
        for (text, kept) in [
            ("On", "on"),
            ("t", "on"),
            ("YES", "on"),
            ("1", "on"),
            ("of", "off"),
            ("f", "off"),
            ("n", "off"),
            ("0", "off"),
        ] {
            assert_eq!(boolean("x", text), Ok(kept), "{text}");
        }
        for text in ["", "o", "2", "onn", "maybe"] {
            assert_eq!(
                boolean("x", text).map_err(|e| e.code),
                Err(SqlState::INVALID_PARAMETER_VALUE),
                "{text}"
            );
        }
    }

    #[test]
    fn nobody_becomes_another_user() {
        assert_eq!(rule("role"), Rule::Forbidden);
        assert_eq!(rule("session_authorization"), Rule::Forbidden);
        assert_eq!(rule("timezone"), Rule::Kept);
    }
}
