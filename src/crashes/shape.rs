//! Shapes of statements: a hash of a text without constants, comments and the case of letters,
//! computed before anything has parsed it. A statement with other constants is the same, and the
//! hash tells nothing of them.

use sha2::{Digest, Sha256};
use std::fmt;

/// A hash of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(pub(super) [u8; Shape::BYTES]);

impl Shape {
    pub(super) const BYTES: usize = 16;

    /// Of a text.
    pub fn of(text: &str) -> Self {
        let sum = Sha256::digest(without_constants(text.as_bytes()));
        let mut shape = [0; Self::BYTES];
        shape.iter_mut().zip(sum).for_each(|(to, from)| *to = from);
        Self(shape)
    }

    /// As [`fmt::Display`] writes it.
    pub(super) fn parse(hex: &str) -> Option<Self> {
        let mut shape = [0; Self::BYTES];
        if hex.len() != 2 * Self::BYTES || !hex.is_ascii() {
            return None;
        }
        for (place, to) in shape.iter_mut().enumerate() {
            *to = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some(Self(shape))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Bytes of the longest tag of a dollar-quoted constant, and its dollar.
const LONGEST_TAG: usize = 64;

/// A lexer that need not be right, only the same each time, whatever it is given; a loop, as long as the text.
fn without_constants(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let before = out.last().copied().unwrap_or(b' ');
        let in_a_word = before.is_ascii_alphanumeric() || before == b'_' || before == b'"' || before > 127;
        let space = |out: &mut Vec<u8>| {
            if before != b' ' {
                out.push(b' ');
            }
        };
        rest = match first {
            b'-' if after.first() == Some(&b'-') => {
                space(&mut out);
                beyond(after, b"\n")
            }
            b'/' if after.first() == Some(&b'*') => {
                space(&mut out);
                beyond(after, b"*/")
            }
            b'\'' => {
                out.push(b'\'');
                beyond(after, b"'")
            }
            b'$' if !in_a_word => match dollar_quoted(after) {
                Some(after) => {
                    out.push(b'\'');
                    after
                }
                None => {
                    out.push(b'$');
                    after
                }
            },
            b'"' => {
                let end = after.iter().position(|b| *b == b'"').map_or(after.len(), |at| at + 1);
                let (name, after) = after.split_at_checked(end).unwrap_or((after, &[]));
                out.push(b'"');
                out.extend_from_slice(name);
                after
            }
            b'0'..=b'9' if !in_a_word => {
                out.push(b'0');
                let number = |b: &u8| b.is_ascii_alphanumeric() || *b == b'.' || *b == b'_';
                let end = after.iter().position(|b| !number(b)).unwrap_or(after.len());
                after.get(end..).unwrap_or_default()
            }
            b if b.is_ascii_whitespace() => {
                space(&mut out);
                after
            }
            b => {
                out.push(b.to_ascii_lowercase());
                after
            }
        };
    }
    let end = out.iter().rposition(|b| !matches!(b, b' ' | b';')).map_or(0, |at| at + 1);
    out.truncate(end);
    out
}

/// What comes after a constant whose first dollar was before this, if it is one.
fn dollar_quoted(text: &[u8]) -> Option<&[u8]> {
    let tag = text.iter().take(LONGEST_TAG).position(|b| *b == b'$')?;
    let (tag, body) = text.split_at_checked(tag + 1)?;
    let name = |(place, b): (usize, &u8)| {
        b.is_ascii_alphabetic() || *b == b'_' || *b > 127 || place > 0 && b.is_ascii_digit()
    };
    let named = tag.iter().take(tag.len() - 1).enumerate().all(name);
    named.then(|| beyond(body, &[b"$", tag].concat()))
}

/// What comes after the first of these bytes, or nothing.
fn beyond<'t>(text: &'t [u8], end: &[u8]) -> &'t [u8] {
    let at = text.windows(end.len().max(1)).position(|bytes| bytes == end);
    at.and_then(|at| text.get(at + end.len()..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_comments_and_case_are_no_part_of_a_shape() {
        let text = |text: &str| String::from_utf8_lossy(&without_constants(text.as_bytes())).into_owned();
        for (one, shape) in [
            ("SELECT  x1, 12.5e3 FROM \"T\" -- a\n WHERE a='it''s' ;", "select x1, 0 from \"T\" where a=''"),
            ("select/* b */1+1, $1, $x$ secret $x$, $$ s $$", "select 0+0, $0, ', '"),
            ("'never ended", "'"),
            ("$never ended", "$never ended"),
            ("$1, $$ never ended", "$0, '"),
            ("/* never ended", ""),
            ("é = 1", "é = 0"),
        ] {
            assert_eq!(text(one), shape, "{one}");
        }
        assert_ne!(Shape::of("select 1+1"), Shape::of("select 1+1+1"));
        let shape = Shape::of("select 1");
        assert_eq!(Shape::parse(&shape.to_string()), Some(shape));
        assert_eq!(Shape::parse("é"), None);
    }
}
