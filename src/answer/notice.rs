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

impl Notice {
    /// Whether it goes out as WARNING.
    pub fn is_warning(&self) -> bool {
        !self.code.starts_with("00")
    }

    /// A plain notice. Its text begins small, ends without a full stop, says what there is to know in a line, and prices in
    /// shares of a budget.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: "00000", hint: None }
    }

    /// With what to do about it: a sentence.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
