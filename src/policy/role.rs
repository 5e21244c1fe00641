//! `[[role]]`: what the users of a role are answered.

use super::error::Findings;
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Mode, Policy, Role};
use super::reader::{Section, shorten};

/// Keys of `[[role]]`.
pub(super) const ROLE: Keys = Keys {
    section: "[[role]]",
    list: &[
        Key {
            name: "name",
            ty: "string",
            default: REQUIRED,
            example: "\"builders\"",
            purpose: "The role, as `[[user]]`, `users_file` or `auth_query` give it.",
        },
        Key {
            name: "mode",
            ty: "`private` or `synthetic`",
            default: "\"private\"",
            example: "\"synthetic\"",
            purpose: "`private` pays for noisy answers; `synthetic` is answered from rows that are made up from this policy, for \
                      nothing.",
        },
        Key {
            name: "notices",
            ty: "boolean",
            default: "true",
            example: "false",
            purpose: "Whether its sessions begin with `noisegate.notices = on`.",
        },
    ],
    later: &[],
};

pub(super) fn roles(root: &Section<'_, '_>, f: &mut Findings) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    for section in root.sections("role", f) {
        section.keys(&ROLE, f);
        let name = section.required_string("name", "name = \"builders\"", f);
        let mode = section.string("mode", "mode = \"synthetic\"", f);
        let known = mode.as_ref().map(|m| Mode::ALL.into_iter().find(|mode| mode.word() == m.value));
        if let (Some(m), Some(None)) = (&mode, known) {
            let what = format!("mode = {:?} is none of the modes", shorten(&m.value));
            f.error(&m.span, what, "write \"private\", or \"synthetic\" for rows that are made up");
        }
        let notices = section.boolean("notices", f).is_none_or(|b| b.value);
        let Some(name) = name else { continue };
        if roles.iter().any(|r| r.name == name.value) {
            let what = format!("two roles are called {:?}", shorten(&name.value));
            f.error(&name.span, what, "names are unique");
        }
        roles.push(Role { name: name.value, mode: known.flatten().unwrap_or_default(), notices });
    }
    roles
}

impl Policy {
    /// The section of a role, if it has one.
    pub fn role(&self, name: Option<&str>) -> Option<&Role> {
        self.roles.iter().find(|r| Some(r.name.as_str()) == name)
    }

    /// What users of this role are answered.
    pub fn mode(&self, role: Option<&str>) -> Mode {
        self.role(role).map(|r| r.mode).unwrap_or_default()
    }

    /// Whether a session of this user begins with notices.
    pub fn notices(&self, user: &str, role: Option<&str>) -> bool {
        let own = self.users.iter().find(|u| u.name == user).and_then(|u| u.notices);
        own.or_else(|| self.role(role).map(|r| r.notices)).unwrap_or(true)
    }
}
