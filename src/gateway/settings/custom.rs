//! `noisegate.*`: what a session may choose about its answers.

use super::SessionSettings;
use super::known::unknown;
use crate::store::Accept;
use answer::{ClientError, SqlState};
use bigdecimal::{BigDecimal, ToPrimitive};
use plan::Accuracy;
use sql::functions::nearest_of;
use std::str::FromStr;

/// k and β where the session has not said.
const DEFAULT_QUESTIONS: u64 = 1000;
const DEFAULT_BETA: f64 = 0.05;

/// A setting of `noisegate.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoisegateSetting {
    /// ε of a statement.
    Epsilon,
    /// How near numbers are to come, in place of a price.
    Accuracy,
    /// δ of a statement.
    Delta,
    /// Groups one unit may touch.
    MaxGroups,
    /// Rows one unit may bring to one group.
    MaxRows,
    /// Whether bounds on rows are the policy's, or chosen.
    Bounds,
    /// Which noise.
    Mechanism,
    /// Whether each charge is told.
    Notices,
    /// Whether stored answers are given.
    Cache,
    /// Whether public groups that cannot be told from empty ones come back.
    EmptyGroups,
    /// Whether estimates over what was collected are made consistent.
    Consistent,
    /// Whether numbers have an interval beside them.
    Intervals,
    /// How often an interval holds its number without noise.
    Confidence,
    /// The stream that is asked.
    Stream,
    /// The ended stream that the next question may open anew.
    StreamReopen,
    /// k of accuracy.
    StreamQuestions,
    /// β of accuracy.
    StreamBeta,
}

impl NoisegateSetting {
    /// All of them.
    pub const ALL: [NoisegateSetting; 17] = [
        Self::Epsilon,
        Self::Accuracy,
        Self::Delta,
        Self::MaxGroups,
        Self::MaxRows,
        Self::Bounds,
        Self::Mechanism,
        Self::Notices,
        Self::Cache,
        Self::EmptyGroups,
        Self::Consistent,
        Self::Intervals,
        Self::Confidence,
        Self::Stream,
        Self::StreamReopen,
        Self::StreamQuestions,
        Self::StreamBeta,
    ];

    /// The full name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epsilon => "noisegate.epsilon",
            Self::Accuracy => "noisegate.accuracy",
            Self::Delta => "noisegate.delta",
            Self::MaxGroups => "noisegate.max_groups",
            Self::MaxRows => "noisegate.max_rows",
            Self::Bounds => "noisegate.bounds",
            Self::Mechanism => "noisegate.mechanism",
            Self::Notices => "noisegate.notices",
            Self::Cache => "noisegate.cache",
            Self::EmptyGroups => "noisegate.empty_groups",
            Self::Consistent => "noisegate.consistent",
            Self::Intervals => "noisegate.intervals",
            Self::Confidence => "noisegate.confidence",
            Self::Stream => "noisegate.stream",
            Self::StreamReopen => "noisegate.stream_reopen",
            Self::StreamQuestions => "noisegate.stream_questions",
            Self::StreamBeta => "noisegate.stream_beta",
        }
    }

    /// What it is for.
    pub fn description(self) -> &'static str {
        match self {
            Self::Epsilon => "What one statement costs: its epsilon. A larger one buys less noise.",
            Self::Accuracy => {
                "How near each number of a statement comes, in its own unit: the least price that reaches it is charged, up to \
                 noisegate.epsilon; off charges noisegate.epsilon."
            }
            Self::Delta => {
                "The delta of one statement, spent where the groups of its result do not follow from the policy or the statement."
            }
            Self::MaxGroups => {
                "Groups that one unit may touch; what it brings to others is dropped at random."
            }
            Self::MaxRows => {
                "Rows that one unit may bring to one group; the sums and counts of a unit with more are scaled down."
            }
            Self::Bounds => {
                "Where the bound on the rows of a unit comes from: policy; auto spends a share of each statement's price on choosing it \
                 from the rows."
            }
            Self::Mechanism => {
                "The noise: auto takes the one with the least expected error; laplace; gaussian."
            }
            Self::Notices => "Whether a NOTICE tells what each statement cost and what is left.",
            Self::Cache => {
                "Whether what was answered before is answered the same again, for nothing: on; off pays for new noise; \
                 best pays where a fresh answer has less."
            }
            Self::EmptyGroups => {
                "Whether all public groups come back: on; off leaves out those whose noisy count is within its own noise of 0."
            }
            Self::Consistent => {
                "Whether estimates over what was collected are cut to what can be: none below 0, and all parts together the whole."
            }
            Self::Intervals => {
                "Whether each number with noise has columns beside it, _low and _high, between which it lies without noise."
            }
            Self::Confidence => "How often it does, of 1: 0.95.",
            Self::Stream => {
                "The stream of the policy that statements over private rows are questions to; empty for none."
            }
            Self::StreamReopen => {
                "A stream that has ended: the session's next question to it opens it anew, at its whole price."
            }
            Self::StreamQuestions => "How many questions noisegate.stream_accuracy is for.",
            Self::StreamBeta => "How likely it is that noisegate.stream_accuracy is exceeded by one of them.",
        }
    }

    /// The setting with this full name, if there is one.
    pub fn find(name: &str) -> Option<Self> {
        let known = name.starts_with("noisegate.");
        known.then(|| Self::ALL.into_iter().find(|o| o.name() == name)).flatten()
    }

    /// The setting with this full name, or which was meant.
    pub fn named(name: &str) -> Result<Self, ClientError> {
        Self::find(name).ok_or_else(|| {
            let all = Self::ALL.map(Self::name);
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
        match self {
            Self::Epsilon => {
                let (low, high) = (BigDecimal::new(1.into(), 9), BigDecimal::from(1000));
                let good = |e: &BigDecimal| (&low..=&high).contains(&e);
                self.decimal(text, good, "a number from 1e-9 to 1000").map(|(_, text)| text)
            }
            Self::Accuracy if text.eq_ignore_ascii_case("off") => Ok("off".into()),
            Self::Accuracy if let Some(percent) = text.strip_suffix('%') => {
                let (low, high) = (BigDecimal::new(1.into(), 3), BigDecimal::from(100));
                let good = |a: &BigDecimal| (&low..=&high).contains(&a);
                let (_, percent) = self.decimal(percent.trim_end(), good, "0.001 % to 100 %")?;
                Ok(format!("{percent} %"))
            }
            Self::Accuracy => {
                let (low, high) = (BigDecimal::new(1.into(), 15), BigDecimal::new(1.into(), -30));
                let good = |a: &BigDecimal| (&low..=&high).contains(&a);
                self.decimal(text, good, "a number above 0 in the unit of what is asked for, as 50; or a part of it, as '2 %'; or off")
                    .map(|(_, text)| text)
            }
            Self::Delta => {
                let good =
                    |d: &BigDecimal| *d >= BigDecimal::new(1.into(), 28) && *d < BigDecimal::new(1.into(), 3);
                self.decimal(text, good, "a number from 1e-28 to below 0.001").map(|(_, text)| text)
            }
            Self::MaxGroups | Self::MaxRows => match text.parse::<u32>() {
                Ok(n) if (1..=1_000_000).contains(&n) => Ok(n.to_string()),
                _ => Err(self.wrong(text, "a whole number from 1 to 1000000")),
            },
            Self::Bounds => match text.to_lowercase().as_str() {
                known @ ("policy" | "auto") => Ok(known.to_owned()),
                _ => Err(self.wrong(text, "policy or auto")),
            },
            Self::Mechanism => match text.to_lowercase().as_str() {
                known @ ("auto" | "laplace" | "gaussian") => Ok(known.to_owned()),
                _ => Err(self.wrong(text, "auto, laplace or gaussian")),
            },
            Self::Cache if text.eq_ignore_ascii_case("best") => Ok("best".into()),
            Self::Notices | Self::Cache | Self::EmptyGroups | Self::Consistent | Self::Intervals => {
                match text.to_lowercase().as_str() {
                    "on" | "true" | "yes" | "1" | "t" | "y" => Ok("on".into()),
                    "off" | "false" | "no" | "0" | "f" | "n" => Ok("off".into()),
                    _ if self == Self::Cache => Err(self.wrong(text, "on, off or best")),
                    _ => Err(self.wrong(text, "on or off")),
                }
            }
            Self::Confidence => {
                let (low, high) = (BigDecimal::new(5.into(), 1), BigDecimal::new(9999.into(), 4));
                let good = |c: &BigDecimal| (&low..=&high).contains(&c);
                self.decimal(text, good, "a number from 0.5 to 0.9999").map(|(_, text)| text)
            }
            Self::Stream | Self::StreamReopen if text.len() <= 63 => Ok(text.to_owned()),
            Self::Stream | Self::StreamReopen => Err(self.wrong(text, "the name of a stream")),
            Self::StreamQuestions => match text.parse::<u64>() {
                Ok(n) if (1..=1_000_000_000_000).contains(&n) => Ok(n.to_string()),
                _ => Err(self.wrong(text, "a whole number from 1 to 1000000000000")),
            },
            Self::StreamBeta => {
                let (low, high) = (BigDecimal::new(1.into(), 12), BigDecimal::new(5.into(), 1));
                let good = |b: &BigDecimal| (&low..=&high).contains(&b);
                self.decimal(text, good, "a number from 1e-12 to 0.5").map(|(_, text)| text)
            }
        }
    }

    fn decimal(
        self,
        text: &str,
        good: impl Fn(&BigDecimal) -> bool,
        wanted: &str,
    ) -> Result<(dp::Ratio, String), ClientError> {
        // `1e-999999999` must not become a gigabyte of zeros.
        let exponent = text.split_once(['e', 'E']).map_or("0", |(_, e)| e);
        let short = text.len() <= 40 && exponent.parse::<i32>().is_ok_and(|e| e.abs() <= 40);
        let value = short.then(|| BigDecimal::from_str(text).ok()).flatten().filter(good);
        let kept = value.and_then(|v| Some((dp::ratio(&v)?, v.normalized().to_plain_string())));
        kept.ok_or_else(|| self.wrong(text, wanted))
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

    /// What it is where nobody has set it.
    pub fn default(self, policy: &plan::Settings) -> String {
        match self {
            Self::Epsilon => plan::words::decimal(&policy.epsilon),
            Self::Delta => plan::words::decimal(&policy.delta),
            Self::MaxGroups => policy.max_groups.to_string(),
            Self::MaxRows => policy.max_rows.to_string(),
            Self::Bounds => "policy".into(),
            Self::Mechanism => "auto".into(),
            Self::Notices | Self::Cache | Self::EmptyGroups => "on".into(),
            Self::Intervals | Self::Accuracy | Self::Consistent => "off".into(),
            Self::Confidence => "0.95".into(),
            Self::Stream | Self::StreamReopen => String::new(),
            Self::StreamQuestions => DEFAULT_QUESTIONS.to_string(),
            Self::StreamBeta => DEFAULT_BETA.to_string(),
        }
    }
}

impl SessionSettings {
    /// What the planner works with: the policy's values, and over them the session's.
    pub fn plan(&self, policy: &plan::Settings) -> plan::Settings {
        let mut settings = policy.clone();
        let ratio = |own: NoisegateSetting| {
            let value = BigDecimal::from_str(self.get(own.name())?).ok()?;
            dp::ratio(&value)
        };
        let count = |own: NoisegateSetting| self.get(own.name())?.parse::<u32>().ok();
        settings.epsilon = ratio(NoisegateSetting::Epsilon).unwrap_or(settings.epsilon);
        settings.accuracy = self.accuracy();
        settings.delta = ratio(NoisegateSetting::Delta).unwrap_or(settings.delta);
        settings.max_groups = count(NoisegateSetting::MaxGroups).unwrap_or(settings.max_groups);
        settings.chosen_rows = count(NoisegateSetting::MaxRows);
        settings.ends = plan::Ends::new(self.confidence(), self.intervals());
        settings.mechanism = match self.get(NoisegateSetting::Mechanism.name()) {
            Some("laplace") => dp::Preference::Laplace,
            Some("gaussian") => dp::Preference::Gaussian,
            _ => dp::Preference::Auto,
        };
        settings
    }

    /// k and β that accuracy of streams is told for.
    pub fn stream_accuracy(&self) -> (u64, f64) {
        let questions = self.get(NoisegateSetting::StreamQuestions.name()).and_then(|n| n.parse().ok());
        let beta = self.get(NoisegateSetting::StreamBeta.name()).and_then(|b| b.parse().ok());
        (questions.unwrap_or(DEFAULT_QUESTIONS), beta.unwrap_or(DEFAULT_BETA))
    }

    /// Whether charges are told.
    pub fn notices(&self) -> bool {
        self.get(NoisegateSetting::Notices.name()) != Some("off")
    }

    /// Whether bounds on rows are chosen.
    pub fn auto_bounds(&self) -> bool {
        self.get(NoisegateSetting::Bounds.name()) == Some("auto")
    }

    /// Whether all public groups come back.
    pub fn empty_groups(&self) -> bool {
        self.get(NoisegateSetting::EmptyGroups.name()) != Some("off")
    }

    /// Whether estimates over what was collected are made consistent.
    pub fn consistent(&self) -> bool {
        self.get(NoisegateSetting::Consistent.name()) == Some("on")
    }

    /// Whether numbers have an interval beside them.
    pub fn intervals(&self) -> bool {
        self.get(NoisegateSetting::Intervals.name()) == Some("on")
    }

    /// How near numbers are to come, where the price is to follow from that.
    fn accuracy(&self) -> Option<Accuracy> {
        let half_width = self.get(NoisegateSetting::Accuracy.name())?.parse().ok()?;
        Some(Accuracy { half_width, confidence: self.confidence() })
    }

    /// The same as a part of each number.
    pub fn relative_accuracy(&self) -> Option<f64> {
        let percent: f64 =
            self.get(NoisegateSetting::Accuracy.name())?.strip_suffix('%')?.trim_end().parse().ok()?;
        Some(percent / 100.0)
    }

    /// How often an interval holds its number without noise, in millionths.
    pub fn confidence(&self) -> u32 {
        let chosen = self.get(NoisegateSetting::Confidence.name()).and_then(|c| BigDecimal::from_str(c).ok());
        let millionths = chosen.and_then(|c| (c * BigDecimal::from(1_000_000)).to_u32());
        millionths.unwrap_or(sql::ast::Reach::USUAL)
    }

    /// Which stored answers are given: a fresh one is paid for where it has less noise, if that is asked for, or an accuracy.
    pub fn accepted(&self) -> Accept {
        match self.get(NoisegateSetting::Cache.name()) {
            _ if self.accuracy().is_some() || self.relative_accuracy().is_some() => {
                Accept::AsNarrowAtAnyPrice
            }
            Some("best") => Accept::AsNarrow,
            _ => Accept::Any,
        }
    }

    /// Whether stored answers are given, and new ones stored.
    pub fn cached(&self) -> bool {
        self.get(NoisegateSetting::Cache.name()) != Some("off")
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

    #[test]
    fn unknown_names_are_helped() {
        let e = NoisegateSetting::named("noisegate.epsilonn").unwrap_err();
        assert_eq!(
            (e.code.as_str(), e.hint.as_deref()),
            ("42704", Some("Perhaps you meant noisegate.epsilon."))
        );
    }
}
