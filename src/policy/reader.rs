//! Typed access to a TOML table: every key is known, every value has its type, numbers stay exact.

use super::error::{At, Findings, Span};
use super::keys::Keys;
use super::suggest::suggest;
use bigdecimal::BigDecimal;
use num_bigint::BigInt;
use num_traits::Zero;
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML table, its name for messages, and its place.
#[derive(Clone)]
pub(super) struct Section<'a, 'i> {
    pub name: String,
    pub span: Span,
    table: &'a DeTable<'i>,
}

/// What a key's value should look like, for messages.
fn wrong_type(f: &mut Findings, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str, example: &str) {
    f.error(
        &value.span(),
        format!(
            "{key} must be {wanted}, this is {} {}",
            article(value.get_ref()),
            value.get_ref().type_str()
        ),
        format!("write for example: {example}"),
    );
}

fn article(value: &DeValue<'_>) -> &'static str {
    if matches!(value, DeValue::Integer(_) | DeValue::Array(_)) { "an" } else { "a" }
}

impl<'a, 'i> Section<'a, 'i> {
    /// The whole document.
    pub fn root(document: &'a Spanned<DeTable<'i>>) -> Self {
        Self { name: "the policy".into(), span: 0..0, table: document.get_ref() }
    }

    /// A value that must be a table; `name` is how messages call it.
    pub fn of(name: String, value: &'a Spanned<DeValue<'i>>, f: &mut Findings) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(table) => Some(Self { name, span: value.span(), table }),
            _ => {
                wrong_type(f, &name, value, "a table", "[table.trips], or { range = [0, 60] }");
                None
            }
        }
    }

    /// The table under a key, if it is there.
    pub fn section(&self, key: &str, f: &mut Findings) -> Option<Self> {
        Self::of(format!("[{key}]"), self.table.get(key)?, f)
    }

    /// The tables of `[[key]]`.
    pub fn sections(&self, key: &str, f: &mut Findings) -> Vec<Self> {
        let Some(value) = self.table.get(key) else { return Vec::new() };
        match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().filter_map(|v| Self::of(format!("[[{key}]]"), v, f)).collect()
            }
            _ => {
                let wanted = "a list of tables";
                wrong_type(f, key, value, wanted, &format!("[[{key}]] with two pairs of brackets"));
                Vec::new()
            }
        }
    }

    /// Keys and values in the order of the file.
    pub fn entries(&self) -> Vec<(At<String>, &'a Spanned<DeValue<'i>>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(k, v)| (At { value: k.get_ref().to_string(), span: k.span() }, v))
            .collect();
        entries.sort_by_key(|(k, _)| k.span.start);
        entries
    }

    /// Refuses keys that are not declared; those for later are part of the design and refused by name.
    pub fn keys(&self, declared: &Keys, f: &mut Findings) {
        let later = declared.later;
        for (key, _) in self.entries() {
            if later.contains(&key.value.as_str()) {
                not_yet(f, &key.span, &format!("{} in {}", key.value, self.name));
            } else if !declared.names().any(|known| known == key.value) {
                let names = declared.names().chain(later.iter().copied());
                f.error(
                    &key.span,
                    format!("unknown key {:?} in {}", shorten(&key.value), self.name),
                    suggest(&key.value, names),
                );
            }
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.table.get(key)
    }

    /// Notes that a key is missing.
    pub fn missing(&self, key: &str, example: &str, f: &mut Findings) {
        f.error(&self.span, format!("{} needs {key}", self.name), format!("write for example: {example}"));
    }

    /// A string without NUL (PostgreSQL has none).
    pub fn string(&self, key: &str, example: &str, f: &mut Findings) -> Option<At<String>> {
        text(key, self.get(key)?, example, f)
    }

    /// A string that is not empty and must be there.
    pub fn required_string(&self, key: &str, example: &str, f: &mut Findings) -> Option<At<String>> {
        if self.get(key).is_none() {
            self.missing(key, example, f);
        }
        let s = self.string(key, example, f)?;
        if s.value.is_empty() {
            f.error(&s.span, format!("{key} is empty"), format!("write for example: {example}"));
            return None;
        }
        Some(s)
    }

    /// A boolean.
    pub fn boolean(&self, key: &str, f: &mut Findings) -> Option<At<bool>> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::Boolean(b) => Some(At { value: *b, span: value.span() }),
            _ => {
                wrong_type(f, key, value, "true or false", &format!("{key} = true"));
                None
            }
        }
    }

    /// A whole number from 1 to `max`.
    pub fn count(&self, key: &str, max: u64, f: &mut Findings) -> Option<u64> {
        let value = self.get(key)?;
        let n = match value.get_ref() {
            DeValue::Integer(_) => decimal(key, value, f)?,
            _ => {
                wrong_type(f, key, value, "a whole number", &format!("{key} = 8"));
                return None;
            }
        };
        match n.to_plain_string().parse::<u64>() {
            Ok(n) if (1..=max).contains(&n) => Some(n),
            _ => {
                f.error(&value.span(), format!("{key} must be from 1 to {max}"), "");
                None
            }
        }
    }

    /// A number, exactly as written.
    pub fn number(&self, key: &str, f: &mut Findings) -> Option<At<BigDecimal>> {
        let value = self.get(key)?;
        Some(At { value: decimal(key, value, f)?, span: value.span() })
    }

    /// A time span such as "500ms", "30s", "5min", "2h", "1d"; never zero.
    pub fn duration(&self, key: &str, f: &mut Findings) -> Option<Duration> {
        let example = format!("{key} = \"30s\" (units: ms, s, min, h, d)");
        let s = self.string(key, &example, f)?;
        let duration = parse_duration(&s.value);
        if duration.is_none() {
            f.error(
                &s.span,
                format!("{key} = {:?} is not a time span from 1ms to 365d", shorten(&s.value)),
                format!("write for example: {example}"),
            );
        }
        duration
    }

    /// A list.
    pub fn list(
        &self,
        key: &str,
        example: &str,
        f: &mut Findings,
    ) -> Option<At<Vec<&'a Spanned<DeValue<'i>>>>> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::Array(items) => Some(At { value: items.iter().collect(), span: value.span() }),
            _ => {
                wrong_type(f, key, value, "a list", example);
                None
            }
        }
    }
}

/// A string without NUL.
pub(super) fn text(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    example: &str,
    f: &mut Findings,
) -> Option<At<String>> {
    match value.get_ref() {
        DeValue::String(s) if s.contains('\0') => {
            f.error(&value.span(), format!("{key} holds a NUL character"), "PostgreSQL has no text with NUL");
            None
        }
        DeValue::String(s) => Some(At { value: s.to_string(), span: value.span() }),
        _ => {
            wrong_type(f, key, value, "a string", example);
            None
        }
    }
}

/// A number exactly as it is written; `inf`, `nan` and absurd lengths are mistakes.
pub(super) fn decimal(key: &str, value: &Spanned<DeValue<'_>>, f: &mut Findings) -> Option<BigDecimal> {
    let (digits, radix) = match value.get_ref() {
        DeValue::Integer(n) => (n.as_str().to_owned(), n.radix()),
        DeValue::Float(x) => (x.as_str().to_owned(), 10),
        DeValue::String(s) if decimal_text(s, 10).is_some() => {
            f.error(
                &value.span(),
                format!("{key} must be a number, this is a string"),
                format!("leave out the quotes: {s}"),
            );
            return None;
        }
        _ => {
            wrong_type(f, key, value, "a number", &format!("{key} = 1.5"));
            return None;
        }
    };
    if digits.ends_with("inf") || digits.ends_with("nan") {
        let what = if digits.ends_with("inf") { "infinite" } else { "not a number" };
        f.error(&value.span(), format!("{key} is {what}"), "write a finite number");
        return None;
    }
    let number = decimal_text(&digits, radix);
    if number.is_none() {
        let hint = "at most 60 digits and an exponent from -400 to 400 are read";
        f.error(&value.span(), format!("{key} is too long or too large a number"), hint);
    }
    number
}

/// Exact decimal from text. Lengths are bounded first: `1e999999999` must not become a gigabyte of zeros.
pub fn decimal_text(text: &str, radix: u32) -> Option<BigDecimal> {
    let text = text.replace('_', "");
    let text = text.strip_prefix('+').unwrap_or(&text);
    if text.len() > 66 || !text.is_ascii() {
        return None;
    }
    if radix != 10 {
        return BigInt::parse_bytes(text.as_bytes(), radix).map(BigDecimal::from);
    }
    let exponent = text.split_once(['e', 'E']).map_or("0", |(_, e)| e);
    if !exponent.parse::<i32>().is_ok_and(|e| (-400..=400).contains(&e)) {
        return None;
    }
    let n = BigDecimal::from_str(text).ok()?;
    Some(if n.is_zero() { BigDecimal::zero() } else { n.normalized() })
}

fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(unit_at);
    let factor = match unit.trim() {
        "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let millis = digits.parse::<u64>().ok()?.checked_mul(factor)?;
    (1..=365 * 86_400_000).contains(&millis).then(|| Duration::from_millis(millis))
}

/// Refuses by name what the design has and this version has not.
pub(super) fn not_yet(f: &mut Findings, span: &Span, what: &str) {
    f.error(
        span,
        format!("{what}: not implemented yet"),
        "remove it: this version does not have it, and ignores nothing",
    );
}

/// Names in messages stay short.
pub(super) fn shorten(name: &str) -> String {
    if name.chars().count() <= 60 {
        name.into()
    } else {
        name.chars().take(57).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn decimals_are_exact_and_bounded() {
        for (text, plain) in
            [("1e-9", "0.000000001"), ("+1_000.50", "1000.5"), ("-0.0", "0"), ("1E3", "1000")]
        {
            assert_eq!(decimal_text(text, 10).unwrap().to_plain_string(), plain);
        }
        assert_eq!(decimal_text("ff", 16).unwrap(), BigDecimal::from(255));
        for text in ["1e999999999", "1e-999999999999999999999", &"9".repeat(100), "", "e", "1e", "½"] {
            assert!(decimal_text(text, 10).is_none(), "{text}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_duration("5 min"), Some(Duration::from_secs(300)));
        assert_eq!(parse_duration("1d"), Some(Duration::from_secs(86_400)));
        for text in ["0s", "5", "-1s", "1.5s", "s", "", "366d", "99999999999999999999s", "1 fortnight"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
