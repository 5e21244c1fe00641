//! Why a statement was refused, without a word that only its author knows.
//!
//! Messages to clients repeat what they wrote: a name, a literal. A record that everybody may keep has neither: of a message
//! the words stay that are ours or PostgreSQL's own, and of the statement's words those that anybody could have said.

/// Bytes of a reason.
const LONGEST: usize = 240;
/// What stands for what was left out.
const LEFT_OUT: &str = "…";

/// A message as a reason. Of its words those are left out that have a digit, stand in double quotes, or stand in the statement's
/// own text; unless `known`: the policy's names, key words.
///
/// Literals that PostgreSQL repeats after it has read them (`E'\x41'`) are in no statement as they stand, and are in quotes.
pub fn reason(message: &str, statement: &str, known: impl Fn(&str) -> bool) -> String {
    let own: std::collections::HashSet<String> = words(statement).map(str::to_lowercase).collect();
    let keeps = |word: &str, quoted: bool| {
        let strange = quoted
            || word.chars().any(|c| c.is_numeric())
            || !word.is_ascii()
            || own.contains(&word.to_lowercase());
        !strange || known(word)
    };
    let (mut out, mut quoted) = (String::new(), false);
    let mut rest = message;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if end == 0 {
            quoted ^= c == '"';
            // Quotes within a quoted name are doubled; whatever is written between two is left out.
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        } else {
            let (word, next) = rest.split_at(end);
            match keeps(word, quoted) {
                true => out.push_str(word),
                false if out.ends_with(LEFT_OUT) => {}
                false => out.push_str(LEFT_OUT),
            }
            rest = next;
        }
        if out.len() > LONGEST {
            out.push_str(LEFT_OUT);
            break;
        }
    }
    shortened(&out)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|w| !w.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What is left out in a row is left out once: how long a literal was tells something of it.
fn shortened(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pending = String::new();
    let mut dropped = false;
    for c in text.chars() {
        if c == '…' {
            if !dropped {
                out.push_str(&pending);
                out.push('…');
            }
            pending.clear();
            dropped = true;
        } else if dropped && !c.is_alphanumeric() && c != '"' && pending.chars().count() < 3 {
            pending.push(c);
        } else {
            out.push_str(&pending);
            pending.clear();
            out.push(c);
            dropped = false;
        }
    }
    out + &pending
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str, statement: &str) -> String {
        reason(message, statement, |word| ["fare", "trips", "sum", "median", "integer"].contains(&word))
    }

    #[test]
    fn ours_stays_and_theirs_goes() {
        for (message, statement, expected) in [
            (
                "column \"john_smith\" does not exist",
                "SELECT john_smith FROM trips",
                "column \"…\" does not exist",
            ),
            ("column \"fare\" has no range", "SELECT sum(fare) FROM trips", "column \"fare\" has no range"),
            (
                "function median(fare) is not supported",
                "SELECT median(fare)",
                "function median(fare) is not supported",
            ),
            (
                "invalid input syntax for type integer: \"Jane O'Hara\"",
                "SELECT 1 WHERE 'Jane O''Hara' = 5",
                "invalid input syntax for type integer: \"…\"",
            ),
            (
                "budget \"total\" has 0.25 left, 1 would be needed",
                "SELECT 1",
                "budget \"…\" has … left, … would be needed",
            ),
            ("jane at or near hara", "SELECT jane FROM hara", "… at or near …"),
        ] {
            assert_eq!(told(message, statement), expected);
        }
    }

    #[test]
    fn a_literal_leaves_nothing_behind_not_even_its_length() {
        let literal = "Maria de los Santos 1974-02-03 née Γάμμα";
        let statement = format!("SELECT '{literal}'::int4");
        let said = told(&format!("it says {literal}, which is no number"), &statement);
        assert_eq!(said, "it says …, which is no number");
        // Read by PostgreSQL from an escape: it stands in quotes.
        assert_eq!(
            told("for type integer: \"secret\"", "SELECT E'\\x73ecret'::int4"),
            "for type integer: \"…\""
        );
        assert!(told(&"word ".repeat(500), "").len() < 260);
    }
}
