//! Passwords of the backend's logins, from a file in the format of libpq's: `host:port:database:user:password`.

use super::given::Given;
use super::private_file::private_file;
use super::server_url::ServerUrl;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// No such file is larger.
const MAX_BYTES: u64 = 1 << 20;

/// The connection URL with its password: its own, else that of the file, else that of the file which PGPASSFILE names.
/// A URL for which no file has a line stays as it is.
///
/// # Errors
/// The file cannot be read, or others than its owner can. Never a part of its text.
pub fn with_password(url: &Given<String>, file: Option<&Given<PathBuf>>) -> Result<Given<String>, String> {
    let Ok(ServerUrl { config, .. }) = ServerUrl::from_str(url.reveal()) else { return Ok(url.clone()) };
    if config.get_password().is_some() {
        return Ok(url.clone());
    }
    let named = file.cloned().or_else(|| {
        std::env::var_os("PGPASSFILE").filter(|f| !f.is_empty()).map(|f| PathBuf::from(f).into())
    });
    let Some(file) = named else { return Ok(url.clone()) };
    let text = read(&file)?;
    // Shown as it was, without the password.
    let with = |password: String| Given::new(add(url.reveal(), &password), Some(url.to_string()));
    Ok(find(&text, &config).map_or_else(|| url.clone(), with))
}

fn read(file: &Given<PathBuf>) -> Result<String, String> {
    let bytes = private_file(file, "the password file", MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|_| format!("the password file {file} is not UTF-8"))
}

/// The password of the first line that matches, as libpq finds it.
fn find(text: &str, config: &Config) -> Option<String> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        // libpq asks for the default folder as localhost.
        #[cfg(unix)]
        Some(Host::Unix(folder))
            if ["/tmp", "/var/run/postgresql"].iter().any(|d| folder == Path::new(d)) =>
        {
            "localhost".into()
        }
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => "localhost".into(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user()?;
    let wanted = [host.as_str(), &port, config.get_dbname().unwrap_or(user), user];
    text.lines().filter(|l| !l.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let (password, names) = fields.split_last()?;
        let matches = |(field, wanted): (&(String, bool), &&str)| {
            let (text, escaped) = field;
            (text == "*" && !escaped) || text == *wanted
        };
        (names.len() == wanted.len() && names.iter().zip(&wanted).all(matches)).then(|| password.0.clone())
    })
}

/// The five fields of a line, and whether something in each was escaped. `\:` and `\\` stand for themselves; in the
/// last field colons need no escape.
fn fields(line: &str) -> Vec<(String, bool)> {
    let mut fields = vec![(String::new(), false)];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let last = fields.len() == 5;
        let Some((text, escaped)) = fields.last_mut() else { break };
        match c {
            '\\' => {
                *escaped = true;
                text.extend(chars.next());
            }
            ':' if !last => fields.push((String::new(), false)),
            c => text.push(c),
        }
    }
    fields
}

/// The URL (or libpq's `key=value` form) with a password in it.
fn add(url: &str, password: &str) -> String {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        let escaped: String = password
            .bytes()
            .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
            .collect();
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}password={escaped}")
    } else {
        let escaped = password.replace('\\', "\\\\").replace('\'', "\\'");
        format!("{url} password='{escaped}'")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn config(url: &str) -> Config {
        url.parse().unwrap()
    }

    #[test]
    fn lines_match_as_in_libpq() {
        let file = "# comment\n127.0.0.1:5433:bikes:ada:one\n*:*:*:bo:t\\:w\\\\o:x\nh\\:1:*:\\*:cy:three\nshort:line\n";
        let found = |url: &str| find(file, &config(url));
        assert_eq!(found("postgres://ada@127.0.0.1:5433/bikes").as_deref(), Some("one"));
        assert_eq!(found("postgres://ada@127.0.0.1/bikes"), None, "another port");
        assert_eq!(found("postgres://bo@elsewhere/x").as_deref(), Some("t:w\\o:x"));
        assert_eq!(found("host=h:1 user=cy dbname=*").as_deref(), Some("three"));
        assert_eq!(found("host=h:1 user=cy dbname=other"), None, "an escaped star is a star");
        let local = "localhost:5432:ada:ada:four\n/srv/pg:5432:*:ada:five\n";
        assert_eq!(find(local, &config("host=/var/run/postgresql user=ada")).as_deref(), Some("four"));
        assert_eq!(find(local, &config("host=/srv/pg user=ada")).as_deref(), Some("five"));
    }

    #[test]
    fn any_password_survives_the_url() {
        for password in ["p", "p w'\\\"&=?%#é", ":@/"] {
            for url in ["postgres://a@h/d", "postgres://a@h/d?connect_timeout=5", "host=h user=a"] {
                let config = config(&add(url, password));
                assert_eq!(config.get_password(), Some(password.as_bytes()), "{url} {password}");
                assert_eq!(config.get_user(), Some("a"));
            }
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        std::fs::write(&file, "*:*:*:*:secret\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        let url: Given<String> = "postgres://a@h/d".into();
        let given = Given::from(file.clone());
        let error = with_password(&url, Some(&given)).unwrap_err();
        assert!(error.contains("chmod 600") && !error.contains("secret"), "{error}");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let with = with_password(&url, Some(&given)).unwrap();
        assert_eq!(with.reveal(), "postgres://a@h/d?password=secret");
        assert_eq!(with.to_string(), "postgres://a@h/d");
        let own: Given<String> = "postgres://a:own@h/d".into();
        assert_eq!(with_password(&own, Some(&given)).unwrap(), own, "the URL's own wins");
        assert!(
            with_password(&url, Some(&folder.path().join("none").into()))
                .unwrap_err()
                .contains("cannot be read")
        );
    }
}
