//! Remedies for private groups, in words: what makes them public. The examples are run by
//! `tests/answers/hints.rs`.

use crate::expr::{Node, Scalar};
use schema::SqlType;

/// For a key whose values do not follow.
pub(super) fn of(key: &Scalar) -> String {
    let Node::Column { name, .. } = key.node() else {
        return "keys that are computed from listed values and ranges alone are public: give the columns in them ranges by \
                WHERE (x BETWEEN 0 AND 99), list the values of the key (key IN ('a', 'b')), or ask the owner to declare them."
            .into();
    };
    match key.ty() {
        t if t.is_integer() => format!(
            "WHERE {name} BETWEEN 0 AND 99 makes each of these numbers a public group; or ask the owner to declare \
             columns.{name} = {{ range = [low, high] }}."
        ),
        t if t.is_number() => format!(
            "Bins of a range are public groups: GROUP BY floor(LEAST(GREATEST({name}, 0), 100) / 10) * 10."
        ),
        t if t.is_datetime() => format!(
            "Units of a range are public groups: GROUP BY date_trunc('month', {name}) with WHERE {name} BETWEEN \
             '2024-01-01' AND '2024-12-31'."
        ),
        SqlType::Uuid => format!(
            "WHERE {name} IN ('00000000-0000-0000-0000-000000000001') makes a group of this value public; or ask the owner \
             to declare columns.{name} = {{ references = \"table.column\" }}."
        ),
        _ => format!(
            "WHERE {name} IN ('a', 'b') makes groups of these values public; or ask the owner to declare columns.{name} = \
             {{ values = [...] }} or references."
        ),
    }
}

/// For keys that have more values than may come back.
pub(super) fn of_too_many(limit: usize) -> String {
    format!(
        "Up to {limit} groups are public: narrow the ranges of the keys by WHERE, or group more coarsely."
    )
}
