//! Declarations about values: a range, or a list.

use super::error::{At, Findings, Span};
use super::reader::{Section, decimal, shorten, text};
use bigdecimal::BigDecimal;
use toml::Spanned;
use toml::de::DeValue;
use toml::value::Datetime;

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    Number(BigDecimal),
    Time(Datetime),
}

/// A listed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Integer(BigDecimal),
    Boolean(bool),
}

pub(super) fn range(section: &Section<'_, '_>, f: &mut Findings) -> Option<At<(Bound, Bound)>> {
    let example = "range = [0, 60], or range = [2023-01-01, 2025-12-31]";
    let list = section.list("range", example, f)?;
    let [low, high] = list.value.as_slice() else {
        let what = format!("range must have two ends, this has {}", list.value.len());
        f.error(&list.span, what, format!("write for example: {example}"));
        return None;
    };
    let mut end = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Datetime(t) => Some(Bound::Time(*t)),
        DeValue::String(_) => {
            f.error(
                &value.span(),
                "an end of a range is a number or a date, this is a string",
                "leave out the quotes",
            );
            None
        }
        _ => decimal("an end of a range", value, f).map(Bound::Number),
    };
    let (low, high) = (end(low), end(high));
    Some(At { value: (low?, high?), span: list.span })
}

pub(super) fn values(section: &Section<'_, '_>, f: &mut Findings) -> Option<At<Vec<At<Literal>>>> {
    let example = "values = [\"day\", \"month\"]";
    let list = section.list("values", example, f)?;
    if list.value.is_empty() {
        let hint = format!("write for example: {example}; without the key, the column's values are private");
        f.error(&list.span, "values is empty", hint);
        return None;
    }
    let (count, mut values) = (list.value.len(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    for value in list.value {
        let span: Span = value.span();
        let literal = match value.get_ref() {
            DeValue::Integer(_) => decimal("a value", value, f).map(Literal::Integer),
            DeValue::Boolean(b) => Some(Literal::Boolean(*b)),
            DeValue::String(_) => text("a value", value, example, f).map(|s| Literal::Text(s.value)),
            other => {
                let what =
                    format!("a value must be a string or a whole number, this is a {}", other.type_str());
                f.error(&span, what, format!("write for example: {example}"));
                None
            }
        };
        let Some(literal) = literal else { continue };
        if !seen.insert(format!("{literal:?}")) {
            f.error(&span, format!("{} stands twice in values", literal.shown()), "remove one");
        }
        values.push(At { value: literal, span });
    }
    // With one value unread, what is left is not the domain.
    (values.len() == count).then_some(At { value: values, span: list.span })
}

impl Literal {
    /// As text that casts to the column's type.
    pub fn text(&self) -> String {
        match self {
            Self::Text(s) => s.clone(),
            Self::Integer(n) => n.to_plain_string(),
            Self::Boolean(b) => b.to_string(),
        }
    }

    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(s) => format!("{:?}", shorten(s)),
            other => other.text(),
        }
    }
}

/// Warns of a range that holds one value.
pub(super) fn one_value(whose: &str, span: &Span, f: &mut Findings) {
    let hint = "write the least and the greatest value that everybody may expect, or leave range out";
    f.warn(
        span,
        format!("the range {whose} holds one value: every other counts as it, and its sums only count rows"),
        hint,
    );
}

/// Warns of public values that only case or blanks tell apart, or that begin or end with a blank: rows mostly have one
/// of them, and the group of the other stays empty.
pub(super) fn alike(list: &[At<Literal>], f: &mut Findings) {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let mut seen: std::collections::HashMap<String, &str> = std::collections::HashMap::new();
    for v in list {
        let Literal::Text(text) = &v.value else { continue };
        let hint = "write it as rows have it: a value that differs in one character is another one, whose group stays empty";
        match seen.get(&plain(text)) {
            Some(other) if *other != text => {
                let other = Literal::Text((*other).to_owned()).shown();
                let what = format!("{} and {other} differ by case or blanks alone", v.value.shown());
                f.warn(&v.span, what, hint);
            }
            Some(_) => {}
            None if text.trim() != text => {
                f.warn(&v.span, format!("{} begins or ends with a blank", v.value.shown()), hint);
            }
            None => {}
        }
        seen.entry(plain(text)).or_insert(text);
    }
}
