//! `noisegate.*`: what a session may choose about its answers.

use super::SessionSettings;
use super::known::unknown;
pub use super::table::NoisegateSetting;
use super::table::{First, Read, Takes};
use crate::store::Accept;
use answer::{ClientError, SqlState};
use bigdecimal::{BigDecimal, ToPrimitive};
use plan::Accuracy;
use sql::functions::nearest_of;
use std::str::FromStr;

impl NoisegateSetting {
    /// The full name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The sentence that SHOW ALL has for it.
    pub fn description(self) -> &'static str {
        self.entry().description
    }

    /// The setting with this full name, if there is one.
    pub fn find(name: &str) -> Option<Self> {
        let known = name.starts_with("noisegate.");
        known.then(|| Self::ALL.iter().copied().find(|o| o.name() == name)).flatten()
    }

    /// The setting with this full name, or which was meant.
    pub fn named(name: &str) -> Result<Self, ClientError> {
        Self::find(name).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|own| own.name()).collect();
            let hint = match nearest_of(name, all.iter().copied()) {
                Some(near) => format!("Perhaps you meant {near}."),
                None => format!("The settings of noisegate are {}.", all.join(", ")),
            };
            unknown(name).hint(hint)
        })
    }

    /// The value as it is kept, or what is wrong with it.
    pub fn judge(self, text: &str) -> Result<String, ClientError> {
        let text = text.trim();
        let takes = &self.entry().takes;
        takes.judge(text).map_err(|wanted| self.wrong(text, &wanted))
    }

    fn wrong(self, text: &str, wanted: &str) -> ClientError {
        let shown: String = text.chars().take(60).collect();
        ClientError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{}\": \"{shown}\"", self.name()),
        )
        .hint(format!("It takes {wanted}."))
    }

    /// Refuses an ε below the policy's least (soundness rule 35: prices have a floor).
    pub fn at_least(self, kept: &str, least: &BigDecimal) -> Result<(), ClientError> {
        if self != Self::Epsilon || BigDecimal::from_str(kept).is_ok_and(|e| e >= *least) {
            return Ok(());
        }
        let least = least.normalized().to_plain_string();
        Err(self.wrong(kept, &format!("a number from {least}, the policy's statement.min_epsilon, to 1000")))
    }

    /// The value when nobody has set it.
    pub fn default(self, policy: &plan::Settings) -> String {
        match self.entry().first {
            First::Always(value) => value.to_owned(),
            First::Policy(_, value) => value(policy),
        }
    }
}

impl Takes {
    /// The value as it is kept, or what would be one.
    fn judge(&self, text: &str) -> Result<String, String> {
        let wanted = || self.words();
        match self {
            Self::Number { low, high, below, .. } => decimal(text, *low, *high, *below).ok_or_else(wanted),
            Self::Accuracy if text.eq_ignore_ascii_case("off") => Ok("off".into()),
            Self::Accuracy => match text.strip_suffix('%') {
                Some(percent) => decimal(percent.trim_end(), (1, 3), (100, 0), false)
                    .map(|percent| format!("{percent} %"))
                    .ok_or_else(|| "0.001 % to 100 %".into()),
                None => decimal(text, (1, 15), (1, -30), false).ok_or_else(wanted),
            },
            Self::Whole(most) => match text.parse::<u64>() {
                Ok(n) if (1..=*most).contains(&n) => Ok(n.to_string()),
                _ => Err(wanted()),
            },
            Self::Word(words) => {
                let word = words.iter().find(|w| w.eq_ignore_ascii_case(text));
                word.map(|w| (*w).to_owned()).ok_or_else(wanted)
            }
            Self::SwitchOr(word) if text.eq_ignore_ascii_case(word) => Ok((*word).to_owned()),
            Self::Switch | Self::SwitchOr(_) => match text.to_lowercase().as_str() {
                "on" | "true" | "yes" | "1" | "t" | "y" => Ok("on".into()),
                "off" | "false" | "no" | "0" | "f" | "n" => Ok("off".into()),
                _ => Err(wanted()),
            },
            Self::Stream if text.len() <= 63 => Ok(text.to_owned()),
            Self::Stream => Err(wanted()),
        }
    }

    /// The values that it takes, in words that go on after "It takes".
    pub(super) fn words(&self) -> String {
        match self {
            Self::Number { words, .. } => (*words).into(),
            Self::Accuracy => {
                "a number above 0 in the unit of what is asked for, as 50; or a part of it, as '2 %'; or off"
                    .into()
            }
            Self::Whole(most) => format!("a whole number from 1 to {most}"),
            Self::Word(words) => either(words),
            Self::Switch => either(&["on", "off"]),
            Self::SwitchOr(word) => either(&["on", "off", word]),
            Self::Stream => "the name of a stream".into(),
        }
    }
}

/// `a, b or c`
fn either(words: &[&str]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        all => all.concat(),
    }
}

/// A number between these ends that prices can be computed from, as it is kept.
fn decimal(text: &str, low: (i64, i64), high: (i64, i64), below: bool) -> Option<String> {
    // `1e-999999999` must not become a gigabyte of zeros.
    let exponent = text.split_once(['e', 'E']).map_or("0", |(_, e)| e);
    let short = text.len() <= 40 && exponent.parse::<i32>().is_ok_and(|e| e.abs() <= 40);
    let value = short.then(|| BigDecimal::from_str(text).ok()).flatten()?;
    let [low, high] = [low, high].map(|(digits, scale)| BigDecimal::new(digits.into(), scale));
    let good = (&low..=&high).contains(&&value) && !(below && value == high) && dp::ratio(&value).is_some();
    good.then(|| value.normalized().to_plain_string())
}

impl SessionSettings {
    /// Settings of the planner: the policy's values, and over them the session's.
    pub fn plan(&self, policy: &plan::Settings) -> plan::Settings {
        let mut settings = policy.clone();
        for own in NoisegateSetting::ALL {
            match own.entry().read {
                Read::Plan(put) | Read::Text(Some(put)) => put(self, &mut settings),
                Read::Text(None) | Read::Answer => {}
            }
        }
        settings
    }

    /// Values of the settings by which names are resolved and columns are told.
    pub fn of_texts(&self) -> Vec<String> {
        let read = |own: &&NoisegateSetting| matches!(own.entry().read, Read::Text(_));
        NoisegateSetting::ALL.iter().filter(read).map(|own| self.value(*own).to_owned()).collect()
    }

    /// The value of a setting; where it is the policy's nothing.
    pub(super) fn value(&self, own: NoisegateSetting) -> &str {
        let first = match own.entry().first {
            First::Always(value) => value,
            First::Policy(..) => "",
        };
        self.get(own.name()).unwrap_or(first)
    }

    /// Whether a setting of on and off is on.
    pub fn is_on(&self, own: NoisegateSetting) -> bool {
        self.value(own) == "on"
    }

    /// The same, where the session has chosen.
    pub(super) fn switch(&self, own: NoisegateSetting) -> Option<bool> {
        self.get(own.name()).map(|value| value == "on")
    }

    /// The value as a number that prices are computed from, where the session has chosen one.
    pub(super) fn ratio(&self, own: NoisegateSetting) -> Option<dp::Ratio> {
        dp::ratio(&BigDecimal::from_str(self.value(own)).ok()?)
    }

    /// The value as a bound, where the session has chosen one.
    pub(super) fn count(&self, own: NoisegateSetting) -> Option<u32> {
        self.value(own).parse().ok()
    }

    /// Says which ends quantiles have.
    pub(super) fn put_ends(&self, plan: &mut plan::Settings) {
        plan.ends = plan::Ends::new(self.confidence(), self.intervals());
    }

    /// k and β that accuracy of streams is told for.
    pub fn stream_accuracy(&self) -> (u64, f64) {
        let questions = self.value(NoisegateSetting::StreamQuestions).parse();
        let beta = self.value(NoisegateSetting::StreamBeta).parse();
        (questions.unwrap_or(1), beta.unwrap_or(0.5))
    }

    /// Whether charges are told.
    pub fn notices(&self) -> bool {
        self.is_on(NoisegateSetting::Notices)
    }

    /// Whether bounds on rows are chosen.
    pub fn auto_bounds(&self) -> bool {
        self.value(NoisegateSetting::Bounds) == "auto"
    }

    /// Whether all public groups come back.
    pub fn empty_groups(&self) -> bool {
        self.is_on(NoisegateSetting::EmptyGroups)
    }

    /// Whether estimates over what was collected are made consistent.
    pub fn consistent(&self) -> bool {
        self.is_on(NoisegateSetting::Consistent)
    }

    /// Whether numbers have an interval beside them.
    pub fn intervals(&self) -> bool {
        self.is_on(NoisegateSetting::Intervals)
    }

    /// The accuracy that numbers are to reach, when the price is to follow from one.
    pub(super) fn accuracy(&self) -> Option<Accuracy> {
        let half_width = self.value(NoisegateSetting::Accuracy).parse().ok()?;
        Some(Accuracy { half_width, confidence: self.confidence() })
    }

    /// The same as a part of each number.
    pub fn relative_accuracy(&self) -> Option<f64> {
        let percent: f64 =
            self.value(NoisegateSetting::Accuracy).strip_suffix('%')?.trim_end().parse().ok()?;
        Some(percent / 100.0)
    }

    /// Confidence of intervals: how often one holds its number without noise, in millionths.
    pub fn confidence(&self) -> u32 {
        let chosen = BigDecimal::from_str(self.value(NoisegateSetting::Confidence)).ok();
        let millionths = chosen.and_then(|c| (c * BigDecimal::from(1_000_000)).to_u32());
        millionths.unwrap_or(sql::ast::Reach::USUAL)
    }

    /// Kept answers that are accepted: when less noise is asked for, or an accuracy, a fresh answer
    /// is paid for.
    pub fn accepted(&self) -> Accept {
        match self.value(NoisegateSetting::Cache) {
            _ if self.accuracy().is_some() || self.relative_accuracy().is_some() => {
                Accept::AsNarrowAtAnyPrice
            }
            "best" => Accept::AsNarrow,
            _ => Accept::Any,
        }
    }

    /// Whether stored answers are given, and new ones stored.
    pub fn cached(&self) -> bool {
        self.value(NoisegateSetting::Cache) != "off"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_judged() {
        for (own, good, kept) in [
            (NoisegateSetting::Epsilon, " 0.50 ", "0.5"),
            (NoisegateSetting::Epsilon, "1e-3", "0.001"),
            (NoisegateSetting::Delta, "1e-9", "0.000000001"),
            (NoisegateSetting::MaxGroups, "7", "7"),
            (NoisegateSetting::Notices, "FALSE", "off"),
            (NoisegateSetting::Mechanism, "Gaussian", "gaussian"),
            (NoisegateSetting::Intervals, "TRUE", "on"),
            (NoisegateSetting::Confidence, "0.990", "0.99"),
            (NoisegateSetting::Unsure, "NULL", "null"),
            (NoisegateSetting::Accuracy, "50.0", "50"),
            (NoisegateSetting::Accuracy, "OFF", "off"),
            (NoisegateSetting::Accuracy, "2.0%", "2 %"),
        ] {
            assert_eq!(own.judge(good).unwrap(), kept);
        }
        for (own, bad) in [
            (NoisegateSetting::Epsilon, "0"),
            (NoisegateSetting::Epsilon, "-1"),
            (NoisegateSetting::Epsilon, "1e9"),
            (NoisegateSetting::Epsilon, "1e-999999999"),
            (NoisegateSetting::Epsilon, "NaN"),
            (NoisegateSetting::Delta, "0.5"),
            (NoisegateSetting::MaxGroups, "0"),
            (NoisegateSetting::MaxRows, "1.5"),
            (NoisegateSetting::MaxRows, "1000001"),
            (NoisegateSetting::Mechanism, "none"),
            (NoisegateSetting::Notices, "maybe"),
            (NoisegateSetting::Intervals, "95"),
            (NoisegateSetting::Unsure, "on"),
            (NoisegateSetting::Confidence, "95"),
            (NoisegateSetting::Accuracy, "0"),
            (NoisegateSetting::Accuracy, "200 %"),
            (NoisegateSetting::Accuracy, "0 %"),
        ] {
            let refused = own.judge(bad).unwrap_err();
            assert_eq!(refused.code, SqlState::INVALID_PARAMETER_VALUE, "{bad}");
            assert!(refused.hint.is_some());
        }
    }

    /// Plans are kept under all that they are made of: a setting that changes the planner's, or
    /// names and columns, says so.
    #[test]
    fn what_is_remembered_is_kept_by_what_it_was_read_by() {
        let usual = plan::Settings::new(dp::Ratio::new(1, 10), dp::Ratio::new(1, 1_000_000_000), 4, 20);
        let none = SessionSettings::default();
        for own in NoisegateSetting::ALL.iter().copied() {
            let first = own.default(&usual);
            let other = |text: &&str| own.judge(text).is_ok_and(|kept| kept != first);
            let value =
                ["on", "off", "auto", "null", "laplace", "7", "0.75", "0.0001", "x"].into_iter().find(other);
            let value = own.judge(value.unwrap()).unwrap();
            let mut session = SessionSettings::default();
            session.set(own.name(), Some(value), false).unwrap();
            let (plan, text) = (session.plan(&usual) != usual, session.of_texts() != none.of_texts());
            let expected = match own.entry().read {
                Read::Text(put) => (put.is_some(), true),
                Read::Plan(_) => (true, false),
                Read::Answer => (false, false),
            };
            assert_eq!((plan, text), expected, "{}", own.name());
            session.set(own.name(), Some(own.judge(&first).unwrap()), false).unwrap();
            assert_eq!(session.of_texts(), none.of_texts(), "{}", own.name());
        }
        assert_eq!(none.plan(&usual), usual);
    }

    #[test]
    fn unknown_names_are_helped() {
        let e = NoisegateSetting::named("noisegate.epsilonn").unwrap_err();
        assert_eq!(
            (e.code.as_str(), e.hint.as_deref()),
            ("42704", Some("Perhaps you meant noisegate.epsilon."))
        );
    }
}
