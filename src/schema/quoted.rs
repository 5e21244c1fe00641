//! Names and texts as SQL writes them.

/// An identifier.
pub fn ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string constant. Backslashes are doubled in an E'' string, so that no setting changes its
/// meaning; NUL, which is in no value of PostgreSQL's, is left out.
pub fn string(text: &str) -> String {
    let text = text.replace('\0', "").replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", text.replace('\\', "\\\\")) } else { format!("'{text}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_in_their_quotes() {
        assert_eq!(string("it's"), "'it''s'");
        assert_eq!(string(r"\'; SELECT 1"), r"E'\\''; SELECT 1'");
        assert_eq!(string("a\0b"), "'ab'");
        assert_eq!(ident("a\"b"), "\"a\"\"b\"");
    }
}
