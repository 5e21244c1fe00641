//! A file of users, in the format of PgBouncer's `auth_file`: `"name" "SCRAM-SHA-256$…" "role"`, one user a line.
//!
//! PgBouncer reads the first two fields and ignores what follows, so one file serves both. Quotes within a field are
//! doubled; lines that start with `;` are comments.

/// A line that names a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Login name.
    pub name: String,
    /// Second field: for us, a SCRAM verifier.
    pub secret: String,
    /// The third field, where there is one.
    pub role: Option<String>,
    /// The line, from 1.
    pub line: usize,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BadLine {
    /// The line, from 1.
    pub line: usize,
    /// The mistake. Never a part of the line.
    pub what: &'static str,
}

/// Reads a file's text. Every line that is wrong is reported.
pub fn parse(text: &str) -> (Vec<Entry>, Vec<BadLine>) {
    let (mut entries, mut wrong) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate() {
        match entry(line, i + 1) {
            Ok(entry) => entries.extend(entry),
            Err(what) => wrong.push(BadLine { line: i + 1, what }),
        }
    }
    (entries, wrong)
}

fn entry(line: &str, number: usize) -> Result<Option<Entry>, &'static str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(';') {
        return Ok(None);
    }
    let (name, rest) = field(line)?;
    let (secret, rest) = field(rest)?;
    let role = if rest.is_empty() { None } else { Some(field(rest)?.0).filter(|r| !r.is_empty()) };
    if name.is_empty() {
        return Err("the user's name is empty");
    }
    Ok(Some(Entry { name, secret, role, line: number }))
}

/// A field in quotes, and what follows it.
fn field(text: &str) -> Result<(String, &str), &'static str> {
    const FORM: &str = "write \"name\" \"SCRAM-SHA-256$…\", and after it the role in quotes if there is one";
    let mut rest = text.trim_start().strip_prefix('"').ok_or(FORM)?;
    let mut value = String::new();
    loop {
        let (piece, after) = rest.split_once('"').ok_or("a quote is not closed")?;
        value.push_str(piece);
        match after.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Ok((value, after.trim_start())),
        }
    }
}

/// The text with this user's line replaced, or added at the end. All else stays as it is; without a new role, the
/// user keeps the old one.
pub fn set(text: &str, name: &str, secret: &str, role: Option<&str>) -> String {
    let quoted = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
    let (entries, _) = parse(text);
    let old = entries.iter().find(|e| e.name == name);
    let role = role.map(str::to_owned).or_else(|| old.and_then(|e| e.role.clone()));
    let mut new = format!("{} {}", quoted(name), quoted(secret));
    if let Some(role) = role {
        new.push_str(&format!(" {}", quoted(&role)));
    }
    let mut out = String::new();
    for (i, line) in text.lines().enumerate() {
        let of_user = entries.iter().any(|e| e.line == i + 1 && e.name == name);
        match old {
            Some(first) if first.line == i + 1 => out.push_str(&format!("{new}\n")),
            // A second line of the same user would still let the old password in, had it come first.
            _ if of_user => {}
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    if old.is_none() {
        out.push_str(&format!("{new}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "; people\n\"ada\" \"S1\" \"research\"\n\n  \"b\"\"o\"   \"S2\"  \n\"cy\" \"\" \"\"\n";

    #[test]
    fn lines_are_read_as_pgbouncer_reads_them() {
        let (entries, wrong) = parse(FILE);
        let shown: Vec<_> =
            entries.iter().map(|e| (e.name.as_str(), e.secret.as_str(), e.role.as_deref(), e.line)).collect();
        assert_eq!(shown, [("ada", "S1", Some("research"), 2), ("b\"o", "S2", None, 4), ("cy", "", None, 5)]);
        assert_eq!(wrong, []);
        for line in ["ada \"S\"", "\"ada\"", "\"ada\" \"S", "\"\" \"S\"", "\"a\" \"S\" role"] {
            let (entries, wrong) = parse(line);
            assert_eq!((entries.len(), wrong.len()), (0, 1), "{line}");
        }
    }

    #[test]
    fn a_user_is_replaced_or_added_and_all_else_stays() {
        assert_eq!(set(FILE, "ada", "N", None), FILE.replace("S1", "N"));
        assert_eq!(
            set(FILE, "b\"o", "N", Some("r")),
            FILE.replace("  \"b\"\"o\"   \"S2\"  ", "\"b\"\"o\" \"N\" \"r\"")
        );
        assert_eq!(set("\"a\" \"S\"", "z", "N", None), "\"a\" \"S\"\n\"z\" \"N\"\n");
        assert_eq!(
            set("\"a\" \"1\"\n\"b\" \"2\"\n\"a\" \"3\"\n", "a", "N", None),
            "\"a\" \"N\"\n\"b\" \"2\"\n"
        );
        assert_eq!(set("", "a", "N", Some("r")), "\"a\" \"N\" \"r\"\n");
    }
}
