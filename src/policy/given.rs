//! Values that a policy gives by a string that may hold variables: the value, which is used, and
//! its text, which is shown.

use super::server_url::ServerUrl;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A value, and how it stands in the policy. Where a variable is in it, nothing of the value is
/// ever printed: Display and Debug show `${NAME}` in its place. Code that reveals it must not print
/// it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Given<T> {
    value: T,
    /// None where no variable is in it.
    written: Option<String>,
}

impl<T> Given<T> {
    /// A value for a text of the policy.
    pub(super) fn new(value: T, written: Option<String>) -> Self {
        Self { value, written }
    }

    /// The value, to be used.
    pub fn reveal(&self) -> &T {
        &self.value
    }

    /// A value made of this one, with the same text.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Given<U> {
        Given { value: of(self.value), written: self.written }
    }

    /// Whether the environment has a part in it.
    pub fn is_secret(&self) -> bool {
        self.written.is_some()
    }
}

impl<T> From<T> for Given<T> {
    /// A value in which no variable stands.
    fn from(value: T) -> Self {
        Self { value, written: None }
    }
}

impl From<&str> for Given<String> {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

impl fmt::Display for Given<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.written.as_ref().unwrap_or(&self.value))
    }
}

impl fmt::Display for Given<PathBuf> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(written) => f.write_str(written),
            None => self.value.display().fmt(f),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(written) => written.fmt(f),
            None => self.value.fmt(f),
        }
    }
}

/// A file of the operator's: opened by what it is, named as the policy names it.
pub type GivenFile = Given<PathBuf>;

impl AsRef<Path> for Given<PathBuf> {
    fn as_ref(&self) -> &Path {
        &self.value
    }
}

impl Given<PathBuf> {
    /// A file whose name has this behind it.
    pub fn and(&self, suffix: &str) -> Self {
        let mut value = self.value.clone();
        value.as_mut_os_string().push(suffix);
        Self { value, written: self.written.as_ref().map(|written| format!("{written}{suffix}")) }
    }

    /// Relative paths begin in this folder.
    pub(super) fn within(self, base: &Path) -> Self {
        self.map(|path| base.join(path))
    }
}

/// The parts of a connection URL that messages name.
pub struct Shown {
    /// The login.
    pub user: String,
    /// Name or folder of the first server.
    pub host: String,
    /// Port.
    pub port: String,
    /// The database.
    pub database: String,
}

/// In place of what cannot even be read from the text.
const HIDDEN: &str = "(what the environment says)";

impl Given<String> {
    /// The server and database of a URL, as messages name them: as the policy does.
    pub fn shown(&self) -> Shown {
        let read = ServerUrl::from_str(self.written.as_ref().unwrap_or(&self.value));
        let Ok(ServerUrl { config, .. }) = read else {
            let [user, host, port, database] = [HIDDEN; 4].map(str::to_owned);
            return Shown { user, host, port, database };
        };
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => "localhost".into(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
        let user = config.get_user().unwrap_or_default().to_owned();
        let database = config.get_dbname().unwrap_or_default().to_owned();
        Shown { user, host, port, database }
    }

    /// Whether each variable of a connection URL stays in the part of it where it stands: one whose value ends that part (a
    /// password with an `@`) makes another URL of it, and what was secret a name to be looked up.
    pub(super) fn keeps_its_parts(&self, read: &Config) -> bool {
        let Some(written) = &self.written else { return true };
        let odd = |name: &str| name.contains(['@', '/', '?', '#', ' ', '=']);
        let hosts = |c: &Config| -> Vec<Option<String>> {
            let name = |h: &Host| if let Host::Tcp(name) = h { Some(name.clone()) } else { None };
            c.get_hosts().iter().map(name).collect()
        };
        let names = hosts(read);
        if names.iter().flatten().any(|name| odd(name)) || read.get_dbname().is_some_and(odd) {
            return false;
        }
        // One whose port or whole text is a variable says nothing of its parts.
        let Ok(ServerUrl { config: text, .. }) = ServerUrl::from_str(written) else { return true };
        let same = |text: Option<&str>, read: Option<&str>| match text {
            Some(text) if text.contains("${") => true,
            text => text == read,
        };
        let texts = hosts(&text);
        texts.len() == names.len()
            && texts.iter().zip(&names).all(|(t, r)| same(t.as_deref(), r.as_deref()))
            && text.get_ports() == read.get_ports()
            && same(text.get_user(), read.get_user())
            && same(text.get_dbname(), read.get_dbname())
            && text.get_password().is_some() == read.get_password().is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn url(written: &str, value: &str) -> Given<String> {
        Given::new(written.replace("${X}", value), Some(written.to_owned()))
    }

    fn keeps(written: &str, value: &str) -> bool {
        let given = url(written, value);
        given.keeps_its_parts(&given.reveal().parse::<ServerUrl>().unwrap().config)
    }

    #[test]
    fn what_came_from_the_environment_is_shown_by_its_name() {
        let given = url("postgres://${X}:${X}@${X}/${X}", "secret");
        let shown = given.shown();
        assert_eq!([&shown.user, &shown.host, &shown.database], ["${X}"; 3]);
        assert_eq!(url("${X}", "postgres://u:p@h/d").shown().host, HIDDEN);
        for text in [given.to_string(), format!("{given:?}"), format!("{:?}", Some(&given))] {
            assert!(text.contains("${X}") && !text.contains("secret"), "{text}");
        }
        let file = Given::new(PathBuf::from("/secret"), Some("/${X}".into())).within(Path::new("/etc"));
        assert_eq!((file.to_string(), file.reveal().as_path()), ("/${X}".to_owned(), Path::new("/secret")));
        assert_eq!(Given::<String>::from("plain").to_string(), "plain");
    }

    #[test]
    fn a_value_that_leaves_its_part_of_a_url_is_noticed() {
        let password = "postgres://u:${X}@h:1/d";
        for value in ["p", "p%40q", "p:q", "p&q=r", "p?q", "p/q"] {
            assert!(keeps(password, value), "{value}");
        }
        for value in ["p@q", "p@q/r", "p@q:7/r", "p@h:1/x"] {
            assert!(!keeps(password, value), "{value}");
        }
        for (written, value, kept) in [
            ("postgres://u:p@${X}/d", "host", true),
            ("postgres://u:p@${X}/d", "evil@host", false),
            ("postgres://u:${X}@${X}/d", "p@q", false),
            ("${X}", "postgres://u:p@h/d", true),
            ("${X}", "postgres://u:p@q@h/d", false),
            ("${X}", "postgres://u:p@q/r@h/d", false),
            ("host=h user=u password=${X}", "p", true),
            ("host=h user=u password=${X}", "p host=q", false),
            ("host=h user=u password=${X}", "p dbname=q", false),
        ] {
            assert_eq!(keeps(written, value), kept, "{written} {value}");
        }
    }
}
