//! `${NAME}` in addresses and paths: the environment's value, which no message of a policy ever shows.

use super::error::{At, Findings};
use super::given::Given;
use super::reader::shorten;

/// The string with every `${NAME}` replaced; `$${` stands for a plain `${`. None after a mistake, which was noted.
///
/// Away from the place where the proxy runs (`explain`, `check --offline`) a variable that is not set is no mistake:
/// what it would lead to is not visited there, and a 0 stands in for it.
pub(super) fn expand(key: &str, s: At<String>, f: &mut Findings) -> Option<At<Given<String>>> {
    let (mut out, mut rest, mut ok) = (String::new(), s.value.as_str(), true);
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            let hint = "write ${NAME}, or $${ for a plain ${";
            f.error(&s.span, format!("{key}: a ${{ has no closing brace"), hint);
            return None;
        };
        rest = after;
        match value(name) {
            Some(Ok(value)) => out.push_str(&value),
            Some(Err(())) if f.elsewhere() => out.push('0'),
            Some(Err(())) => {
                let what = format!("{key}: the environment has no variable {}", shorten(name));
                f.error(&s.span, what, "set it where noisegate is started, or write $${ for a plain ${");
                ok = false;
            }
            None => {
                let what = format!("{key}: {:?} is not the name of a variable", shorten(name));
                f.error(&s.span, what, "names are letters, digits and _: ${NOISEGATE_PASSWORD}");
                ok = false;
            }
        }
    }
    out.push_str(rest);
    if out.contains('\0') {
        // A variable cannot hold one; the text was checked when it was read.
        ok = false;
    }
    // `$${` alone is no variable, but shown as it stands all the same.
    let written = s.value.contains("${").then_some(s.value);
    ok.then_some(At { value: Given::new(out, written), span: s.span })
}

/// The variable's value; Err where it is not set (or is no text), None where this is no name.
fn value(name: &str) -> Option<Result<String, ()>> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let named = first && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    named.then(|| std::env::var(name).map_err(|_| ()))
}

/// A string as it may be shown: as it stands in the file, unless a variable is in it.
pub(super) fn shown(written: &str) -> String {
    if written.contains("${") { "what stands here".to_owned() } else { format!("{:?}", shorten(written)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let mut f = Findings::new("p", text);
        let at = At { value: text.to_owned(), span: 0..text.len() };
        match expand("url", at, &mut f) {
            Some(s) => Ok(s.value.reveal().clone()),
            None => Err(f.errors().unwrap().to_string()),
        }
    }

    #[test]
    fn variables_are_replaced_and_escapes_are_not() {
        // Cargo sets these for every test.
        let package = std::env::var("CARGO_PKG_NAME").unwrap();
        assert_eq!(expanded("a${CARGO_PKG_NAME}b${CARGO_PKG_NAME}"), Ok(format!("a{package}b{package}")));
        assert_eq!(expanded("$${CARGO_PKG_NAME} $5 $$ {x}"), Ok("${CARGO_PKG_NAME} $5 $$ {x}".into()));
        assert_eq!(expanded("$$${CARGO_PKG_NAME}"), Ok("$${CARGO_PKG_NAME}".into()));
        for (text, said) in [
            (
                "${NOISEGATE_TEST_IS_NOT_SET}",
                "p:1:1: url: the environment has no variable NOISEGATE_TEST_IS_NOT_SET",
            ),
            ("x${CARGO_PKG_NAME", "has no closing brace"),
            ("${}", "\"\" is not the name of a variable"),
            ("${A-B}", "\"A-B\" is not the name of a variable"),
        ] {
            let error = expanded(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn elsewhere_nothing_is_missing() {
        let mut f = Findings::new("p", "").read_elsewhere();
        let at = At { value: "a${NOISEGATE_TEST_IS_NOT_SET}b".to_owned(), span: 0..0 };
        assert_eq!(expand("url", at, &mut f).unwrap().value.reveal(), "a0b");
        assert_eq!(f.errors(), None);
    }
}
