//! The operator's log: `[log]`.

/// `[log]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Form of events.
    pub format: LogFormat,
    /// Level of events that are written.
    pub level: LogLevel,
}

/// `log.format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// JSON, an object per line.
    Json,
}

/// `log.level`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Failures that need somebody.
    Error,
    /// And what may need somebody.
    Warn,
    /// And connections and statements.
    #[default]
    Info,
    /// And what helps to find a defect.
    Debug,
    /// And everything else.
    Trace,
}
