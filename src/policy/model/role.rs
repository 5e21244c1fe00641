//! Roles, by the answers that their users get: `[[role]]`.

/// `[[role]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Name of the role, as users have it.
    pub name: String,
    /// Mode of its users.
    pub mode: Mode,
    /// Whether its sessions begin with `noisegate.notices = on`.
    pub notices: bool,
    /// Whether they begin with `noisegate.intervals = on`.
    pub intervals: bool,
    /// Whether they begin with `noisegate.unsure = null`, where it says so.
    pub null_unsure: Option<bool>,
}

/// Treatment of a statement over private tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The statement is charged for, and answered with noise.
    #[default]
    Private,
    /// The statement is planned as ever, and answered from rows that are made up from the policy.
    Synthetic,
    /// The database answers it as it stands: no privacy, for owners.
    Passthrough,
}

impl Mode {
    /// All, as policies list them.
    pub const ALL: [Self; 3] = [Self::Private, Self::Synthetic, Self::Passthrough];

    /// The word that policies use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Synthetic => "synthetic",
            Self::Passthrough => "passthrough",
        }
    }
}
