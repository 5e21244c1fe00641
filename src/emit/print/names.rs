//! PostgreSQL's words about a text, in the analyst's names.

use sql::ast::{BindingId, Bindings, Source};

/// PostgreSQL's words about a typed text, with `b0.c1` in them turned back into the analyst's names.
pub fn analysts_names(message: &str, bindings: &Bindings) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(word) {
        let (before, from) = rest.split_at(start);
        let (token, after) = from.split_at(from.find(|c| !word(c)).unwrap_or(from.len()));
        out.push_str(before);
        out.push_str(&own_name(token, bindings).unwrap_or_else(|| token.to_owned()));
        rest = after;
    }
    out + rest
}

fn own_name(token: &str, bindings: &Bindings) -> Option<String> {
    let (binding, column) = token.split_once('.')?;
    let binding = bindings.get(BindingId::new(binding.strip_prefix('b')?.parse().ok()?))?;
    // Columns of tables keep their names in the text; those of other relations are numbered.
    let own = match &binding.source {
        Source::Table(_) => None,
        _ => column.strip_prefix('c').and_then(|n| binding.columns.get(n.parse::<usize>().ok()?)),
    };
    Some(format!("{}.{}", binding.name, own.map_or(column, String::as_str)))
}
