//! The options of COPY, judged as PostgreSQL judges them (its `ProcessCopyOptions`).

use answer::{ClientError, Copy, ForceQuote, SqlState};

/// Value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing.
    None,
    /// A word, a number, or a string.
    Text(String),
    /// `*`
    Star,
    /// Names.
    List(Vec<String>),
}

/// Options in the order in which they stand.
pub(super) type Given = Vec<(String, Value)>;

type Result<T> = std::result::Result<T, ClientError>;

fn invalid(message: impl Into<String>) -> ClientError {
    ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn syntax(message: impl Into<String>) -> ClientError {
    ClientError::new(SqlState::SYNTAX_ERROR, message)
}

/// The format that they ask for, or the first thing that is wrong.
pub(super) fn judge(given: Given) -> Result<Copy> {
    const KNOWN: [&str; 11] = [
        "format",
        "freeze",
        "delimiter",
        "null",
        "header",
        "quote",
        "escape",
        "force_quote",
        "force_not_null",
        "force_null",
        "encoding",
    ];
    for (i, (name, _)) in given.iter().enumerate() {
        if !KNOWN.contains(&name.as_str()) {
            return Err(syntax(format!("option \"{name}\" not recognized")));
        }
        if given.iter().skip(i + 1).any(|(other, _)| other == name) {
            return Err(syntax("conflicting or redundant options"));
        }
    }
    let find = |wanted: &str| given.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let text = |wanted: &str| match find(wanted) {
        None => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(syntax(format!("{wanted} requires a parameter"))),
    };
    let format = match text("format")?.map(str::to_lowercase).as_deref() {
        None | Some("text") => "text",
        Some("csv") => "csv",
        Some("binary") => "binary",
        Some(other) => return Err(invalid(format!("COPY format \"{other}\" not recognized"))),
    };
    let (csv, binary) = (format == "csv", format == "binary");
    boolean("freeze", find("freeze"))?;
    let header = header(find("header"))?;
    encoding(text("encoding")?)?;
    for (option, is_given) in [("DELIMITER", text("delimiter")?.is_some()), ("NULL", text("null")?.is_some())]
    {
        if binary && is_given {
            return Err(syntax(format!("cannot specify {option} in BINARY mode")));
        }
    }
    let null = text("null")?.unwrap_or(if csv { "" } else { "\\N" });
    let delimiter = one_byte("delimiter", text("delimiter")?.unwrap_or(if csv { "," } else { "\t" }))?;
    if matches!(delimiter, b'\n' | b'\r') {
        return Err(invalid("COPY delimiter cannot be newline or carriage return"));
    }
    if null.contains(['\n', '\r']) {
        return Err(invalid("COPY null representation cannot use newline or carriage return"));
    }
    if !csv
        && (matches!(delimiter, b'\\' | b'.') || delimiter.is_ascii_lowercase() || delimiter.is_ascii_digit())
    {
        return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
    }
    if binary && header {
        return Err(ClientError::unsupported("cannot specify HEADER in BINARY mode"));
    }
    let only_csv = |option: &str, is_given: bool| match is_given && !csv {
        true => Err(ClientError::unsupported(format!("COPY {option} available only in CSV mode"))),
        false => Ok(()),
    };
    only_csv("quote", find("quote").is_some())?;
    let quote = one_byte("quote", text("quote")?.unwrap_or("\""))?;
    if csv && delimiter == quote {
        return Err(invalid("COPY delimiter and quote must be different"));
    }
    only_csv("escape", find("escape").is_some())?;
    let escape = match text("escape")? {
        Some(escape) => one_byte("escape", escape)?,
        None => quote,
    };
    only_csv("force quote", find("force_quote").is_some())?;
    for (option, words) in [("force_not_null", "force not null"), ("force_null", "force null")] {
        only_csv(words, find(option).is_some())?;
        if find(option).is_some() {
            return Err(ClientError::unsupported(format!("COPY {words} only available using COPY FROM")));
        }
    }
    let force_quote = match find("force_quote") {
        None => ForceQuote::Columns(Vec::new()),
        Some(Value::Star) => ForceQuote::All,
        Some(Value::List(names)) => ForceQuote::Columns(names.clone()),
        Some(_) => return Err(invalid("argument to option \"force_quote\" must be a list of column names")),
    };
    if !binary && null.bytes().any(|b| b == delimiter) {
        return Err(invalid("COPY delimiter must not appear in the NULL specification"));
    }
    if csv && null.bytes().any(|b| b == quote) {
        return Err(invalid("CSV quote character must not appear in the NULL specification"));
    }
    let null = null.to_owned();
    Ok(match format {
        "text" => Copy::Text { delimiter, null, header },
        "csv" => Copy::Csv { delimiter, null, header, quote, escape, force_quote },
        _ => Copy::Binary,
    })
}

fn one_byte(option: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(ClientError::unsupported(format!("COPY {option} must be a single one-byte character"))),
    }
}

/// PostgreSQL's words for a Boolean option.
fn truth(value: Option<&Value>) -> Option<bool> {
    match value {
        None => Some(false),
        Some(Value::None) => Some(true),
        Some(Value::Text(text)) => match text.to_lowercase().as_str() {
            "true" | "on" | "1" => Some(true),
            "false" | "off" | "0" => Some(false),
            _ => None,
        },
        Some(_) => None,
    }
}

fn boolean(option: &str, value: Option<&Value>) -> Result<bool> {
    truth(value).ok_or_else(|| syntax(format!("{option} requires a Boolean value")))
}

fn header(value: Option<&Value>) -> Result<bool> {
    if matches!(value, Some(Value::Text(t)) if t.eq_ignore_ascii_case("match")) {
        return Err(syntax("cannot use \"match\" with HEADER in COPY TO"));
    }
    truth(value).ok_or_else(|| syntax("header requires a Boolean value or \"match\""))
}

fn encoding(name: Option<&str>) -> Result<()> {
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    match name.map(plain).as_deref() {
        None | Some("utf8" | "unicode") => Ok(()),
        Some(_) => Err(ClientError::unsupported("COPY writes UTF8 only").hint("Leave ENCODING out.")),
    }
}
