//! What the users of a role are answered: `[[role]]`.

/// `[[role]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name, as users have it.
    pub name: String,
    /// What its users are answered.
    pub mode: Mode,
    /// Whether its sessions begin with `noisegate.notices = on`.
    pub notices: bool,
}

/// What becomes of a statement over private tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is charged for, and answered with noise.
    #[default]
    Private,
    /// It is planned as ever, and answered from rows that are made up from the policy.
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
