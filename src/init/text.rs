//! Names in TOML and in comments.

use schema::Relation;

/// A basic string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A key: bare where it can be.
pub(super) fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quote(name) }
}

/// Text within one line of a comment.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Every line of `text` as a comment.
pub(super) fn commented(text: &str) -> String {
    text.lines().map(|l| format!("{}\n", format!("# {l}").trim_end())).collect()
}

/// A paragraph as a comment, in lines of up to 116 characters.
pub(super) fn paragraph(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 114 {
            out.push_str(&format!("# {line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.is_empty() { out } else { out + &format!("# {line}\n") }
}

/// `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// `[table.name]` and, where it is not the default, its schema.
pub(super) fn header(r: &Relation) -> String {
    let schema =
        if r.schema == "public" { String::new() } else { format!("schema = {}\n", quote(&r.schema)) };
    format!("[table.{}]\n{schema}", key(&r.name))
}
