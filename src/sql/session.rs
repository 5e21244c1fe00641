//! SET, SHOW, RESET and their kin: from the parser's many trees to one setting by its name.

use super::names::{fold, parts};
use answer::{ClientError, Modes};
use sqlparser::ast::{self, Set};

/// A statement about the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStatement {
    /// SET name TO value.
    Set {
        /// The setting, in lower case.
        name: String,
        /// The value; None is DEFAULT.
        value: Option<String>,
        /// SET LOCAL.
        local: bool,
    },
    /// SET TRANSACTION modes.
    Modes {
        /// The modes.
        modes: Modes,
        /// SET SESSION CHARACTERISTICS: of all transactions to come.
        session: bool,
    },
    /// RESET name.
    Reset(String),
    /// RESET ALL.
    ResetAll,
    /// SHOW name.
    Show(String),
    /// SHOW ALL.
    ShowAll,
    /// Nothing here to be done; the command tag.
    Nothing(&'static str),
}

use SessionStatement as S;

type Result<T> = std::result::Result<T, ClientError>;

/// Sorts a SET.
pub fn set(set: Set, at: Option<usize>) -> Result<SessionStatement> {
    let unsupported = |what: &str| Err(ClientError::unsupported(format!("{what} is not supported")).at(at));
    match set {
        Set::SingleAssignment { scope, hivevar: false, variable, values } => {
            let local = match scope {
                None | Some(ast::ContextModifier::Session) => false,
                Some(ast::ContextModifier::Local) => true,
                Some(ast::ContextModifier::Global) => return unsupported("SET GLOBAL"),
            };
            Ok(S::Set { name: object_name(&variable), value: list(&values, at)?, local })
        }
        Set::SetTimeZone { local, value } => {
            let value = match &value {
                ast::Expr::Identifier(i)
                    if i.quote_style.is_none() && i.value.eq_ignore_ascii_case("local") =>
                {
                    None
                }
                ast::Expr::Interval(interval) => Some(offset(interval, at)?),
                value => list(std::slice::from_ref(value), at)?,
            };
            Ok(S::Set { name: "timezone".into(), value, local })
        }
        Set::SetNames { charset_name, collation_name: None } => {
            Ok(S::Set { name: "client_encoding".into(), value: Some(charset_name.value), local: false })
        }
        Set::SetNamesDefault {} => Ok(S::Set { name: "client_encoding".into(), value: None, local: false }),
        Set::SetTransaction { modes: list, snapshot: None, session } => {
            Ok(S::Modes { modes: modes(&list), session })
        }
        Set::SetTransaction { .. } => unsupported("SET TRANSACTION SNAPSHOT"),
        Set::SetRole { role_name: None, .. } => Ok(S::Nothing("SET")),
        Set::SetSessionAuthorization(p)
            if matches!(p.kind, ast::SetSessionAuthorizationParamKind::Default) =>
        {
            Ok(S::Nothing("SET"))
        }
        Set::SetRole { .. } | Set::SetSessionAuthorization(_) => Err(ClientError::new(
            answer::SqlState::INSUFFICIENT_PRIVILEGE,
            "permission denied to become another user",
        )
        .hint("Connect as that user: budgets and rights belong to the login.")
        .at(at)),
        _ => unsupported("this form of SET"),
    }
}

/// The modes as written; of two that contradict each other the last.
pub(super) fn modes(list: &[ast::TransactionMode]) -> Modes {
    use ast::{TransactionAccessMode as Access, TransactionMode as Mode};
    let mut modes = Modes::default();
    for mode in list {
        match mode {
            Mode::AccessMode(access) => modes.read_only = Some(matches!(access, Access::ReadOnly)),
            Mode::IsolationLevel(level) => modes.isolation = Some(level.to_string().to_lowercase()),
        }
    }
    modes
}

/// Sorts a RESET.
pub fn reset(reset: &ast::Reset) -> SessionStatement {
    match reset {
        ast::Reset::ALL => S::ResetAll,
        ast::Reset::SessionAuthorization => S::Nothing("RESET"),
        ast::Reset::ConfigurationParameter(name) => match object_name(name).as_str() {
            "role" | "session_authorization" => S::Nothing("RESET"),
            name => S::Reset(name.to_owned()),
        },
    }
}

/// Sorts a SHOW.
pub fn show(words: &[ast::Ident]) -> SessionStatement {
    let words: Vec<String> = words.iter().map(|w| w.value.to_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["all"] => S::ShowAll,
        ["time", "zone"] => S::Show("timezone".into()),
        ["transaction", "isolation", "level"] => S::Show("transaction_isolation".into()),
        ["authorization"] | ["session", "authorization"] => S::Show("session_authorization".into()),
        words => S::Show(words.join(".")),
    }
}

/// `noisegate.epsilon`
fn object_name(name: &ast::ObjectName) -> String {
    parts(name).join(".").to_lowercase()
}

/// The values of a SET as one text, as PostgreSQL joins them; None is DEFAULT.
fn list(values: &[ast::Expr], at: Option<usize>) -> Result<Option<String>> {
    if let [ast::Expr::Identifier(i)] = values
        && i.quote_style.is_none()
        && i.value.eq_ignore_ascii_case("default")
    {
        return Ok(None);
    }
    let single = values.len() == 1;
    let texts = values.iter().map(|v| value(v, single, at)).collect::<Result<Vec<_>>>()?;
    Ok(Some(texts.join(", ")))
}

/// `INTERVAL '-08:00' HOUR TO MINUTE`, as PostgreSQL shows such an offset from then on: `<-08>+08`.
fn offset(interval: &ast::Interval, at: Option<usize>) -> Result<String> {
    use ast::{DateTimeField as Field, Expr, Value};
    let text = match &*interval.value {
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(s) => Some(s.as_str()),
            _ => None,
        },
        _ => None,
    };
    let fields = (&interval.leading_field, &interval.last_field);
    let unsupported = || {
        Err(ClientError::unsupported("this value in SET TIME ZONE is not supported")
            .hint("Write a name, a number of hours, or INTERVAL '-08:00' HOUR TO MINUTE.")
            .at(at))
    };
    let (Some(text), (Some(Field::Hour), Some(Field::Minute))) = (text, fields) else { return unsupported() };
    let (sign, other, digits) = match text.as_bytes().first() {
        Some(b'-') => ('-', '+', text.get(1..)),
        Some(b'+') => ('+', '-', text.get(1..)),
        _ => ('+', '-', Some(text)),
    };
    let two = |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    match digits.and_then(|d| d.split_once(':')) {
        Some((hours, minutes)) if two(hours) && two(minutes) => {
            let past =
                if minutes.bytes().all(|b| b == b'0') { String::new() } else { format!(":{minutes:0>2}") };
            Ok(format!("<{sign}{hours:0>2}{past}>{other}{hours:0>2}{past}"))
        }
        _ => unsupported(),
    }
}

fn value(e: &ast::Expr, single: bool, at: Option<usize>) -> Result<String> {
    use ast::{Expr, UnaryOperator, Value};
    // Several values become one text again: each must stay one.
    let quoted = |s: &str| {
        let plain = s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '$');
        if single || plain { s.to_owned() } else { schema::quoted::ident(s) }
    };
    let bad = || {
        Err(ClientError::unsupported("this value in SET is not supported")
            .hint("Write a word, a number or a string.")
            .at(at))
    };
    match e {
        Expr::Value(v) => match &v.value {
            Value::Number(n, _) => Ok(n.clone()),
            Value::SingleQuotedString(s) | Value::EscapedStringLiteral(s) => Ok(quoted(s)),
            Value::DollarQuotedString(s) => Ok(quoted(&s.value)),
            Value::Boolean(b) => Ok(b.to_string()),
            _ => bad(),
        },
        Expr::Identifier(i) => Ok(quoted(&fold(i))),
        Expr::UnaryOp { op: op @ (UnaryOperator::Minus | UnaryOperator::Plus), expr } => {
            let n = value(expr, single, at)?;
            let sign = if matches!(op, UnaryOperator::Minus) { "-" } else { "" };
            if n.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                Ok(format!("{sign}{n}"))
            } else {
                bad()
            }
        }
        _ => bad(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::{Kind, classify, parse};
    use policy::Limits;

    fn session(sql: &str) -> SessionStatement {
        match classify(parse::parse(sql, &Limits::default()).unwrap().remove(0)).unwrap().kind {
            Kind::Session(s) => s,
            _ => panic!("{sql}"),
        }
    }

    fn set(name: &str, value: Option<&str>, local: bool) -> SessionStatement {
        S::Set { name: name.into(), value: value.map(str::to_owned), local }
    }

    fn modes(isolation: Option<&str>, read_only: Option<bool>, session: bool) -> SessionStatement {
        S::Modes { modes: Modes { isolation: isolation.map(str::to_owned), read_only }, session }
    }

    #[test]
    fn every_spelling_is_one_setting() {
        for (sql, expected) in [
            ("SET timezone TO 'Europe/Berlin'", set("timezone", Some("Europe/Berlin"), false)),
            ("SET TIME ZONE 'UTC'", set("timezone", Some("UTC"), false)),
            ("SET TIME ZONE LOCAL", set("timezone", None, false)),
            ("SET TIME ZONE -5", set("timezone", Some("-5"), false)),
            ("SET TIME ZONE INTERVAL '-8:30' HOUR TO MINUTE", set("timezone", Some("<-08:30>+08:30"), false)),
            ("SET LOCAL DateStyle = ISO, DMY", set("datestyle", Some("iso, dmy"), true)),
            ("SET datestyle = 'ISO, MDY'", set("datestyle", Some("ISO, MDY"), false)),
            ("SET search_path TO \"$user\", public", set("search_path", Some("$user, public"), false)),
            ("SET NAMES 'UTF8'", set("client_encoding", Some("UTF8"), false)),
            ("SET noisegate.epsilon = 0.5", set("noisegate.epsilon", Some("0.5"), false)),
            ("SET NOISEGATE.Notices TO off", set("noisegate.notices", Some("off"), false)),
            ("SET noisegate.epsilon TO DEFAULT", set("noisegate.epsilon", None, false)),
            (
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
                modes(Some("read uncommitted"), None, true),
            ),
            (
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, NOT DEFERRABLE",
                modes(Some("repeatable read"), Some(true), false),
            ),
            ("SET TRANSACTION READ WRITE", modes(None, Some(false), false)),
            ("SET SESSION AUTHORIZATION DEFAULT", S::Nothing("SET")),
            ("SET ROLE NONE", S::Nothing("SET")),
            ("RESET ALL", S::ResetAll),
            ("RESET TimeZone", S::Reset("timezone".into())),
            ("RESET ROLE", S::Nothing("RESET")),
            ("SHOW ALL", S::ShowAll),
            ("SHOW TIME ZONE", S::Show("timezone".into())),
            ("SHOW TRANSACTION ISOLATION LEVEL", S::Show("transaction_isolation".into())),
            ("SHOW noisegate.epsilon", S::Show("noisegate.epsilon".into())),
            ("UNLISTEN *", S::Nothing("UNLISTEN")),
            ("DISCARD PLANS", S::Nothing("DISCARD PLANS")),
        ] {
            assert_eq!(session(sql), expected, "{sql}");
        }
    }

    #[test]
    fn other_users_are_refused() {
        for sql in ["SET ROLE admin", "SET SESSION AUTHORIZATION admin"] {
            let refused = classify(parse::parse(sql, &Limits::default()).unwrap().remove(0));
            assert_eq!(refused.err().map(|e| e.code.as_str().to_owned()).as_deref(), Some("42501"), "{sql}");
        }
    }
}
