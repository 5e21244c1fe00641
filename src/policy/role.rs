//! `[[role]]`: what the users of a role are answered.

use super::answers;
use super::error::Findings;
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Backend, Mode, Policy, Role, Server};
use super::reader::{Section, shorten};

/// Keys of `[[role]]`.
pub(super) const ROLE: Keys = Keys {
    section: "[[role]]",
    list: &[
        Key::of("name", "string", REQUIRED, "\"builders\"")
            .says("The role, as `[[user]]`, `users_file` or `auth_query` give it."),
        Key::of("mode", "`private`, `synthetic` or `passthrough`", "\"private\"", "\"synthetic\"")
            .says("`private` pays for noisy answers; `synthetic` is answered from rows that are made up from this policy, for \
                      nothing; `passthrough` has exact answers and no privacy, see below."),
        Key::of("notices", "boolean", "true", "false")
            .says("Whether its sessions begin with `noisegate.notices = on`."),
        Key::of("intervals", "boolean", "false", "true")
            .says("Whether its sessions begin with [`noisegate.intervals = on`](sql.md#how-far-to-trust-a-number): each number has \
                      two columns beside it, in every statement. For tools that draw error bars."),
        Key::of("unsure", "`keep` or `null`", "that of `[answers]`", "\"null\"")
            .says("What its sessions begin with as [`noisegate.unsure`](sql.md#values-that-say-nothing)."),
    ],
    later: &[],
};

/// `backend` has the login of passthrough roles; `server` must not make the mode a default.
pub(super) fn roles(
    root: &Section<'_, '_>,
    backend: Option<&Backend>,
    server: &Server,
    f: &mut Findings,
) -> Vec<Role> {
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
        if let (Some(m), Some(name), Some(Some(Mode::Passthrough))) = (&mode, &name, known) {
            let shown = shorten(&name.value);
            let what = format!(
                "users of the role {shown:?} read exact rows: passthrough has no privacy, and no budget"
            );
            f.warn(&m.span, what, "it is for those who may read the database anyway");
            if backend.is_some_and(|b| b.passthrough_url.is_none()) {
                let hint = "write in [backend] passthrough_url = \"postgres://owner@127.0.0.1/bikes\": a login of its own";
                f.error(&m.span, "mode = \"passthrough\" needs a login", hint);
            }
            if server.auth_query.as_ref().is_some_and(|q| q.role.as_ref() == Some(&name.value)) {
                let hint = "list its users in [[user]]: exact rows are nobody's default";
                f.error(&m.span, format!("auth_query gives everybody the role {shown:?}"), hint);
            }
        }
        let notices = section.boolean("notices", f).is_none_or(|b| b.value);
        let intervals = section.boolean("intervals", f).is_some_and(|b| b.value);
        let null_unsure = answers::null_unsure(&section, f);
        let Some(name) = name else { continue };
        if roles.iter().any(|r| r.name == name.value) {
            let what = format!("two roles are called {:?}", shorten(&name.value));
            f.error(&name.span, what, "names are unique");
        }
        let mode = known.flatten().unwrap_or_default();
        roles.push(Role { name: name.value, mode, notices, intervals, null_unsure });
    }
    roles
}

impl Policy {
    /// The section of a role, if it has one.
    pub fn role(&self, name: Option<&str>) -> Option<&Role> {
        self.roles.iter().find(|r| Some(r.name.as_str()) == name)
    }

    /// Mode of the users of this role.
    pub fn mode(&self, role: Option<&str>) -> Mode {
        self.role(role).map(|r| r.mode).unwrap_or_default()
    }

    /// Whether a session of this user begins with notices.
    pub fn notices(&self, user: &str, role: Option<&str>) -> bool {
        let own = self.users.iter().find(|u| u.name == user).and_then(|u| u.notices);
        own.or_else(|| self.role(role).map(|r| r.notices)).unwrap_or(true)
    }
}
