//! Notices and warnings.

/// A NOTICE for the client, sent before the first row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The text.
    pub message: String,
    /// SQLSTATE; `00000` for a plain notice, `01000` and its class for warnings, which go out as WARNING.
    pub code: &'static str,
    /// A hint, if any.
    pub hint: Option<String>,
}
