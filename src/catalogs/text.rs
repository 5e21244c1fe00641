//! Pieces of SQL text, quoted.

pub use schema::quoted::{ident, string};

/// An array of OIDs or numbers.
pub fn numbers<T: ToString>(items: impl IntoIterator<Item = T>, ty: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|i| i.to_string()).collect();
    format!("'{{{}}}'::pg_catalog.{ty}[]", items.join(","))
}

/// An array of texts.
pub fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(string).collect();
    format!("ARRAY[{}]::pg_catalog.text[]", items.join(","))
}

/// Arrays side by side, as an item of FROM. (`unnest` of several arrays is written without its schema, or like this.)
pub fn table(arrays: &[String]) -> String {
    let arrays: Vec<String> = arrays.iter().map(|a| format!("pg_catalog.unnest({a})")).collect();
    format!("ROWS FROM ({})", arrays.join(", "))
}

/// A template with its `{placeholders}`, `$1` and `$*` filled, in one pass: what fills one is never read again. Those that
/// nothing fills stay as they are.
pub fn filled(template: &str, mut with: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '$']) {
        let Some((before, marked)) = rest.split_at_checked(at) else { break };
        out.push_str(before);
        let (name, after) = match marked.strip_prefix('{') {
            Some(inner) => inner.split_once('}').unwrap_or(("", inner)),
            None => marked.split_at_checked(2).unwrap_or((marked, "")),
        };
        match with(name) {
            Some(text) => {
                out.push_str(&text);
                rest = after;
            }
            None => {
                let mut chars = marked.chars();
                out.extend(chars.next());
                rest = chars.as_str();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_placeholder_is_not_read_again() {
        let with = |name: &str| match name {
            "a" => Some(string("{b}")),
            "b" => Some("b".to_owned()),
            "$1" => Some("$2 {a}".to_owned()),
            _ => None,
        };
        assert_eq!(
            filled("{a}, {b}, '{}', '{1,2}', $1 ~ 'é$', $2, {c", with),
            "'{b}', b, '{}', '{1,2}', $2 {a} ~ 'é$', $2, {c"
        );
    }
}
