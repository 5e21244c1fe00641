//! `[[stream]]`: sparse vector streams that analysts may open.

use super::budget;
use super::error::{At, Findings};
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Budget, Stream, Variant};
use super::reader::{Section, shorten, text};
use super::suggest::suggest;
use bigdecimal::BigDecimal;
use dp::{Cost, Filter, ratio};
use num_traits::Zero;

/// Keys of `[[stream]]`.
pub(super) const STREAM: Keys = Keys {
    section: "[[stream]]",
    list: &[
        Key::of("name", "string", REQUIRED, "\"alerts\"")
            .says("Unique; `SET noisegate.stream = 'alerts'` selects it."),
        Key::of("variant", "`above_threshold`, `sparse`, `numeric_sparse`, `improved`, `gap`, `monotone` or `monotone_gap`", REQUIRED, "\"numeric_sparse\"")
            .says("The algorithm: what is asked, what is answered, and how much noise that takes."),
        Key::of("epsilon", "number, 1e-9 to 1000", REQUIRED, "0.5")
            .says("ε of all questions together, charged when the stream is opened."),
        Key::of("delta", "number below 1", "0", "1e-9")
            .says("Above 0 for `sparse` and `numeric_sparse` only, and with an ε below 1: less noise where c is large."),
        Key::of("positives", "whole number, up to 10000", "1", "5")
            .says("c: so many questions can be answered with yes; `above_threshold` has one."),
        Key::of("max_rows", "whole number", "the table's, or `statement.max_rows`", "20")
            .says("Rows that a unit may bring to a question, unless the session chooses."),
        Key::of("users", "list of strings", "everybody, without `roles`", "[\"ada\"]")
            .says("Login names of those who may open it."),
        Key::of("roles", "list of strings", "everybody, without `users`", "[\"research\"]")
            .says("Roles whose users may open it, beside `users`."),
    ],
    later: &[],
};

/// `least` is the least ε that a stream may have.
pub(super) fn streams(
    root: &Section<'_, '_>,
    budgets: &[Budget],
    least: &BigDecimal,
    f: &mut Findings,
) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    for section in root.sections("stream", f) {
        let Some(stream) = stream(&section, &streams, least, f) else { continue };
        affordable(&section, &stream, budgets, f);
        streams.push(stream);
    }
    streams
}

fn stream(
    section: &Section<'_, '_>,
    before: &[Stream],
    least: &BigDecimal,
    f: &mut Findings,
) -> Option<Stream> {
    section.keys(&STREAM, f);
    let name = section.required_string("name", "name = \"alerts\"", f);
    if let Some(n) = &name {
        if before.iter().any(|s| s.name == n.value) {
            let what = format!("two streams are called {:?}", shorten(&n.value));
            f.error(&n.span, what, "names are unique: a session selects a stream by its name");
        }
        if n.value.trim() != n.value || n.value.chars().any(char::is_control) || n.value.len() > 63 {
            let hint = "at most 63 bytes, without blanks around it: it is the value of a setting";
            f.error(&n.span, format!("{:?} cannot be a stream's name", shorten(&n.value)), hint);
        }
    }
    let variant = variant(section, f);
    if section.get("epsilon").is_none() {
        section.missing("epsilon", "epsilon = 0.5", f);
    }
    let epsilon = budget::epsilon(section, f);
    if let Some(e) = epsilon.as_ref().filter(|e| e.value < *least) {
        budget::under_the_least(&e.span, &e.value, least, f);
    }
    let delta = budget::delta(section, "delta", true, f);
    let positives = section.count("positives", 10_000, f).and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
    let max_rows = budget::bound(section, "max_rows", f);
    let users = names(section, "users", "users = [\"ada\"]", f);
    let roles = names(section, "roles", "roles = [\"research\"]", f);
    let (name, variant, epsilon) = (name?, variant?, epsilon?);
    if variant == Variant::AboveThreshold && positives != 1 {
        let hint = "leave positives out, or write variant = \"sparse\"";
        f.error(&name.span, "above_threshold has one positive", hint);
        return None;
    }
    if let Some(d) = delta.as_ref().filter(|d| !d.value.is_zero()) {
        if !variant.takes_delta() {
            let what = format!("variant = {:?} has no delta", variant.word());
            f.error(&d.span, what, "remove delta, or write variant = \"sparse\" or \"numeric_sparse\"");
            return None;
        }
        if epsilon.value >= 1 {
            let hint = "lower epsilon below 1, or remove delta: the composition inside holds below 1 only";
            f.error(&epsilon.span, "a stream with a delta needs an epsilon below 1", hint);
            return None;
        }
    }
    let stream = Stream {
        name: name.value,
        variant,
        epsilon: epsilon.value,
        delta: delta.map_or_else(BigDecimal::zero, |d| d.value),
        positives,
        max_rows,
        users,
        roles,
    };
    if let Err(e) = stream.plan() {
        let hint = "write a larger epsilon, fewer positives, or fewer digits";
        f.error(&epsilon.span, format!("the noise of this stream cannot be drawn: {e}"), hint);
        return None;
    }
    Some(stream)
}

fn variant(section: &Section<'_, '_>, f: &mut Findings) -> Option<Variant> {
    let v = section.required_string("variant", "variant = \"numeric_sparse\"", f)?;
    let found = Variant::ALL.into_iter().find(|known| known.word() == v.value);
    if found.is_none() {
        let what = format!("unknown variant {:?}", shorten(&v.value));
        f.error(&v.span, what, suggest(&v.value, Variant::ALL.map(Variant::word)));
    }
    found
}

/// The strings of a list. An empty list would admit nobody or everybody, and is a mistake.
fn names(section: &Section<'_, '_>, key: &str, example: &str, f: &mut Findings) -> Vec<String> {
    let Some(list) = section.list(key, example, f) else { return Vec::new() };
    if list.value.is_empty() {
        let hint = format!("leave it out, or write for example: {example}");
        f.error(&list.span, format!("{key} is empty"), hint);
    }
    let strings = list.value.into_iter().filter_map(|v| text(key, v, example, f));
    strings.map(|At { value, .. }| value).collect()
}

/// Warns of budgets that can never pay for it.
fn affordable(section: &Section<'_, '_>, stream: &Stream, budgets: &[Budget], f: &mut Findings) {
    let Ok(charge) = stream.charge() else { return };
    for b in budgets {
        let (Some(e), Some(d), Some(s)) = (ratio(&b.epsilon), ratio(&b.delta), ratio(&b.selection_delta))
        else {
            continue;
        };
        let why = match b.accounting.notion() {
            None => "an envelope pays for declared noise alone".to_owned(),
            Some(notion) => {
                let Ok(filter) = Filter::new(notion, &e, &d, &s) else { continue };
                match notion.price(&charge).map(|price| filter.admit(Cost::default(), price)) {
                    Ok(Ok(_)) => continue,
                    Ok(Err(short)) if short.of_delta => {
                        "its delta is above the budget's selection_delta".to_owned()
                    }
                    Ok(Err(_)) => "it costs more than the whole budget".to_owned(),
                    Err(reason) => reason.to_string(),
                }
            }
        };
        let what = format!("stream {:?} cannot be paid from budget {:?}: {why}", stream.name, b.name);
        f.warn(&section.span, what, "whoever draws on this budget cannot open the stream");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use dp::Ratio;
    use dp::sparse::SENSITIVITY;

    fn stream(variant: Variant, epsilon: &str, delta: &str, positives: u32) -> Stream {
        Stream {
            name: "s".into(),
            variant,
            epsilon: epsilon.parse().unwrap(),
            delta: delta.parse().unwrap(),
            positives,
            max_rows: None,
            users: Vec::new(),
            roles: Vec::new(),
        }
    }

    /// δ > 0 comes from advanced composition, which needs ε < 1; and what a stream costs is its ε and δ.
    #[test]
    fn rule_28_a_stream_costs_its_epsilon_and_delta_and_no_less() {
        for variant in Variant::ALL {
            let s = stream(variant, "0.5", "0", if variant == Variant::AboveThreshold { 1 } else { 5 });
            let charge = s.charge().unwrap();
            assert_eq!(charge.epsilon, Ratio::new(1, 2), "{variant:?}");
            assert_eq!(s.plan().unwrap().sensitivity(), SENSITIVITY);
            let pure = dp::Notion::Pure.price(&charge).unwrap();
            assert_eq!(pure, dp::Cost::of_loss(dp::UNITS_PER_ONE / 2));
        }
        let s = stream(Variant::NumericSparse, "0.5", "1e-9", 5);
        let price = dp::Notion::Approx.price(&s.charge().unwrap()).unwrap();
        assert_eq!(price.delta, dp::UNITS_PER_ONE / 1_000_000_000);
        assert!(dp::Notion::Pure.price(&s.charge().unwrap()).is_err());
        assert!(stream(Variant::Sparse, "1", "1e-9", 5).plan().is_err());
    }

    /// Less noise is a smaller α.
    #[test]
    fn alphas_are_ordered_as_noise_is() {
        let alpha = |v| stream(v, "0.5", "0", 5).alpha(1000, 0.05);
        assert!(alpha(Variant::Monotone) < alpha(Variant::Improved));
        assert!(alpha(Variant::Improved) < alpha(Variant::Sparse));
        assert!(alpha(Variant::Sparse) < alpha(Variant::NumericSparse));
        assert!(alpha(Variant::Gap) > 0.0 && alpha(Variant::Gap) <= alpha(Variant::Improved));
        // Theorem 3.28 by hand: 9·5·(ln 1000 + ln 400)/0.5.
        let by_hand = 90.0 * (1000f64.ln() + 400f64.ln());
        assert!((alpha(Variant::NumericSparse) - by_hand).abs() < 1e-6);
    }

    #[test]
    fn users_and_roles_open_it() {
        let mut s = stream(Variant::Sparse, "1", "0", 1);
        assert!(s.admits("eve", None));
        s.users = vec!["ada".into()];
        s.roles = vec!["research".into()];
        assert!(s.admits("ada", None) && s.admits("bob", Some("research")));
        assert!(!s.admits("eve", None) && !s.admits("eve", Some("sales")));
    }
}
