//! The session settings that change what a value looks like, kept by the proxy and applied per transaction.

use schema::quoted::{ident, string};

/// A setting that the proxy carries from a client's session into every backend transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Zone in which timestamptz becomes text, and days begin.
    TimeZone,
    /// Style of dates as text.
    DateStyle,
    /// Style of intervals as text.
    IntervalStyle,
    /// Digits of floats in text.
    ExtraFloatDigits,
    /// Form of bytea as text.
    ByteaOutput,
}

impl Setting {
    /// All of them, in the order in which they are applied.
    pub const ALL: [Setting; 5] =
        [Self::TimeZone, Self::DateStyle, Self::IntervalStyle, Self::ExtraFloatDigits, Self::ByteaOutput];

    /// The name, as PostgreSQL writes it (and as ParameterStatus reports it).
    pub fn name(self) -> &'static str {
        match self {
            Self::TimeZone => "TimeZone",
            Self::DateStyle => "DateStyle",
            Self::IntervalStyle => "IntervalStyle",
            Self::ExtraFloatDigits => "extra_float_digits",
            Self::ByteaOutput => "bytea_output",
        }
    }

    /// The setting with this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name().eq_ignore_ascii_case(name))
    }
}

/// The values of all [`Setting`]s of one client session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    values: [String; 5],
    /// Schemas that the server leaves out where it prints names; None is `pg_catalog` alone.
    search_path: Option<String>,
}

impl Default for Settings {
    /// PostgreSQL's own defaults, in UTC.
    fn default() -> Self {
        let values = ["UTC", "ISO, MDY", "postgres", "1", "hex"].map(str::to_owned);
        Self { values, search_path: None }
    }
}

impl Settings {
    /// The value of a setting.
    pub fn get(&self, setting: Setting) -> &str {
        let [time_zone, date_style, interval_style, float_digits, bytea] = &self.values;
        match setting {
            Setting::TimeZone => time_zone,
            Setting::DateStyle => date_style,
            Setting::IntervalStyle => interval_style,
            Setting::ExtraFloatDigits => float_digits,
            Setting::ByteaOutput => bytea,
        }
    }

    /// Keeps a value. PostgreSQL judges it when it is applied; to be told beforehand, ask it with
    /// `set_config(name, value, true)`.
    pub fn set(&mut self, setting: Setting, value: impl Into<String>) {
        let [time_zone, date_style, interval_style, float_digits, bytea] = &mut self.values;
        let slot = match setting {
            Setting::TimeZone => time_zone,
            Setting::DateStyle => date_style,
            Setting::IntervalStyle => interval_style,
            Setting::ExtraFloatDigits => float_digits,
            Setting::ByteaOutput => bytea,
        };
        *slot = value.into();
    }

    /// Settings and values, in the order in which they are applied.
    pub fn iter(&self) -> impl Iterator<Item = (Setting, &str)> {
        Setting::ALL.into_iter().map(|s| (s, self.get(s)))
    }

    /// The same, with a search path of these names: for texts that qualify every name themselves.
    pub fn with_search_path(mut self, names: impl Iterator<Item = String>) -> Self {
        self.search_path = Some(names.map(|name| ident(&name)).collect::<Vec<_>>().join(", "));
        self
    }

    /// Gives a session these settings, until others are set.
    pub(super) fn session(&self) -> String {
        let each =
            self.iter().map(|(setting, value)| format!("SET {} = {}; ", setting.name(), string(value)));
        let path = self.search_path.as_deref().unwrap_or("pg_catalog");
        each.collect::<String>() + "SET search_path = " + path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_leave_their_quotes() {
        assert_eq!(string("Europe/Berlin"), "'Europe/Berlin'");
        assert_eq!(string("x'; DROP TABLE t; --"), "'x''; DROP TABLE t; --'");
        assert_eq!(string(r"\'; SELECT 1"), r"E'\\''; SELECT 1'");
        assert_eq!(string("a\0b"), "'ab'");
    }

    #[test]
    fn every_setting_is_found_by_its_name_and_keeps_its_value() {
        let mut settings = Settings::default();
        for (n, setting) in Setting::ALL.into_iter().enumerate() {
            assert_eq!(Setting::named(&setting.name().to_uppercase()), Some(setting));
            settings.set(setting, format!("v{n}"));
        }
        let got: Vec<&str> = settings.iter().map(|(_, v)| v).collect();
        assert_eq!(got, ["v0", "v1", "v2", "v3", "v4"]);
        assert_eq!(Setting::named("work_mem"), None);
        assert!(settings.session().ends_with("; SET bytea_output = 'v4'; SET search_path = pg_catalog"));
    }
}
