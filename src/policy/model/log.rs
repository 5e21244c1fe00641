//! What the operator hears: `[log]`.

/// `[log]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// How an event is written.
    pub format: LogFormat,
    /// Which events are written.
    pub level: LogLevel,
}

/// `log.format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
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
