//! Outcomes of statements, in a word.

/// Outcome of a statement: how it was answered, or why not. The words are labels of metrics, and
/// stand in the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Over private rows, and paid for.
    Fresh,
    /// Over private rows, from answers that were paid for before.
    Repeated,
    /// The statement names private tables, and is answered from text and policy alone, or by a
    /// stream that was paid for.
    Free,
    /// Over public tables, catalogs, or none.
    Public,
    /// Made up for a role that sees no real data.
    Synthetic,
    /// For a role that the database answers by itself.
    Passthrough,
    /// EXPLAIN.
    Explained,
    /// SET, SHOW, and the session's own.
    Session,
    /// Not answered, because of its text, its values, the policy or a budget.
    Refused,
    /// Not answered, because database, ledger or proxy could not.
    Failed,
    /// The client went away, cancelled, saw enough, or time was over.
    Cancelled,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Fresh,
        Self::Repeated,
        Self::Free,
        Self::Public,
        Self::Synthetic,
        Self::Passthrough,
        Self::Explained,
        Self::Session,
        Self::Refused,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Word for the outcome.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Repeated => "repeated",
            Self::Free => "free",
            Self::Public => "public",
            Self::Synthetic => "synthetic",
            Self::Passthrough => "passthrough",
            Self::Explained => "explained",
            Self::Session => "session",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Outcome of a statement of a kind when nobody says otherwise.
    pub(crate) fn of_class(class: &str) -> Self {
        match class {
            "explain" => Self::Explained,
            "session" | "control" => Self::Session,
            _ => Self::Public,
        }
    }

    /// Outcome of an error with this SQLSTATE. A budget that is spent (53400) and a user's share of
    /// connections (53300) are refusals; all else that the server lacks is a failure.
    pub(crate) fn of_error(code: &str) -> Self {
        match code {
            "57014" => Self::Cancelled,
            "53400" | "53300" | "53200" => Self::Refused,
            _ if ["08", "53", "55", "57", "58", "XX"].iter().any(|class| code.starts_with(class)) => {
                Self::Failed
            }
            _ => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_the_askers_or_the_servers() {
        for (code, outcome) in [
            ("0A000", Outcome::Refused),
            ("42P01", Outcome::Refused),
            ("22012", Outcome::Refused),
            ("53400", Outcome::Refused),
            ("53100", Outcome::Failed),
            ("55000", Outcome::Failed),
            ("XX000", Outcome::Failed),
            ("08006", Outcome::Failed),
            ("57P01", Outcome::Failed),
            ("57014", Outcome::Cancelled),
        ] {
            assert_eq!(Outcome::of_error(code), outcome, "{code}");
        }
    }
}
