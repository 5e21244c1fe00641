//! `[server]`: where clients arrive, and how they are sent away.

use super::environment::{expand, shown};
use super::error::{At, Findings, Span};
use super::given::Given;
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Listen, Server, Tls};
use super::reader::{Section, text};
use super::users;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::DeValue;

/// Keys of `[server]`.
pub(super) const SERVER: Keys = Keys {
    section: "[server]",
    list: &[
        Key::of("listen", "list of addresses", "[\"127.0.0.1:6432\"]", "[\"0.0.0.0:6432\", \"[::1]:6432\", \"unix:/run/noisegate\"]")
            .says("Where clients arrive: IP addresses with ports; `unix:` and a folder for a Unix socket."),
        Key::of("database", "string", "any name; in a folder of policies, the file's without `.toml`", "\"bikes\"")
            .says("The name that clients ask for."),
        Key::of("unix_socket_permissions", "octal mode", "\"0777\"", "\"0770\"")
            .says("Permissions of the Unix sockets."),
        Key::of("shutdown_timeout", "time span", "\"30s\"", "\"5min\"")
            .says("What running statements get to finish at a shutdown."),
        Key::of("users_file", "path", "none", "\"users.txt\"")
            .says("A file of users beside `[[user]]`, in the format of PgBouncer's: `\"name\" \"SCRAM-SHA-256$…\" \"role\"`."),
        Key::of("auth_query", "table", "none", "{ url = \"postgres://noisegate_auth@127.0.0.1/bikes\", query = \"SELECT public.noisegate_verifier($1)\" }")
            .says("Looks up users in a database who are in no list; see below."),
        Key::of("tls", "table", "no TLS", "{ cert = \"server.crt\", key = \"server.key\" }")
            .says("Encryption for clients; see below."),
    ],
    later: &[],
};

/// Keys of `[server] tls`.
pub(super) const TLS: Keys = Keys {
    section: "[server] tls",
    list: &[
        Key::of("cert", "path", REQUIRED, "\"server.crt\"")
            .says("PEM file of the certificate chain."),
        Key::of("key", "path", REQUIRED, "\"server.key\"")
            .says("PEM file of its private key."),
        Key::of("required", "boolean", "true", "false")
            .says("Refuse clients that do not use TLS."),
        Key::of("client_ca", "path", "no certificates of clients", "\"clients.crt\"")
            .says("PEM file of the authorities that vouch for clients' certificates: clients are asked for one, for users with `certificate`."),
    ],
    later: &[],
};

/// What the kernel takes as the path of a socket (`sun_path`), with its end.
const LONGEST_PATH: usize = 108;
/// Name of a socket in PostgreSQL's form, without its port.
const PREFIX: &str = ".s.PGSQL.";

pub(super) fn server(root: &Section<'_, '_>, base: &Path, f: &mut Findings) -> Server {
    let mut server = Server::default();
    let Some(section) = root.section("server", f) else { return server };
    section.keys(&SERVER, f);
    server.tls = tls(&section, base, f);
    server.auth_query = users::auth_query(&section, f);
    server.database = section.string("database", "database = \"bikes\"", f).map(|name| {
        if name.value.is_empty() || name.value.len() > 63 || name.value.contains('\0') {
            f.error(&name.span, "database is no name that PostgreSQL has room for", "it has 1 to 63 bytes");
        }
        name.value
    });
    if let Some(limit) = section.duration("shutdown_timeout", f) {
        server.shutdown_timeout = limit;
    }
    if let Some(mode) = permissions(&section, f) {
        server.unix_socket_permissions = mode;
    }
    let example = "listen = [\"127.0.0.1:6432\", \"unix:/run/noisegate\"]";
    let Some(list) = section.list("listen", example, f) else { return server };
    if list.value.is_empty() {
        f.error(&list.span, "listen is empty", format!("write for example: {example}"));
    }
    server.listen.clear();
    for item in list.value {
        let Some(address) = text("listen", item, example, f) else { continue };
        let written = shown(&address.value);
        let Some(address) = expand("listen", address, f) else { continue };
        let Some(listen) = listen(&address, &written, base, f) else { continue };
        if server.listen.contains(&listen) {
            f.error(&address.span, format!("{written} stands twice in listen"), "remove one");
            continue;
        }
        if let Listen::Tcp(a) = &listen
            && !a.ip().is_loopback()
            && section.get("tls").is_none()
        {
            let hint = "set tls = { cert = \"server.crt\", key = \"server.key\" }";
            f.warn(&address.span, format!("{written} is reachable from other machines without TLS"), hint);
        }
        server.listen.push(listen);
    }
    server
}

/// `written` is how messages show the address.
fn listen(address: &At<Given<String>>, written: &str, base: &Path, f: &mut Findings) -> Option<Listen> {
    let Some(path) = address.value.reveal().strip_prefix("unix:") else {
        let parsed = address.value.reveal().parse::<SocketAddr>().ok();
        if parsed.is_none() {
            f.error(
                &address.span,
                format!("{written} is not an IP address and port"),
                "write for example: \"127.0.0.1:6432\", \"[::1]:6432\", or \"unix:/run/noisegate\"",
            );
        }
        return parsed.map(Listen::Tcp);
    };
    if path.is_empty() || path.starts_with('@') {
        f.error(
            &address.span,
            "a unix: address needs a folder",
            "write for example: \"unix:/run/noisegate\"; the socket is .s.PGSQL.6432 in it",
        );
        return None;
    }
    let path = base.join(path);
    let (folder, port) = match socket_name(&path) {
        Some((folder, port)) => (folder, Some(port)),
        None => (path, None),
    };
    let listen = Listen::Unix { folder, port };
    // The longest port, where it is not known yet.
    let longest = listen.socket(u16::MAX).as_os_str().len();
    if longest >= LONGEST_PATH {
        f.error(
            &address.span,
            format!("the path of the socket has {longest} bytes; at most {} are possible", LONGEST_PATH - 1),
            "choose a shorter folder",
        );
        return None;
    }
    Some(listen)
}

/// Folder and port of a path that ends in `.s.PGSQL.<port>`.
fn socket_name(path: &Path) -> Option<(PathBuf, u16)> {
    let port = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse().ok().filter(|p| *p > 0)?;
    Some((path.parent()?.to_owned(), port))
}

/// `0o770`, or PostgreSQL's `"0770"`.
fn permissions(section: &Section<'_, '_>, f: &mut Findings) -> Option<u32> {
    let key = "unix_socket_permissions";
    let value = section.get(key)?;
    let mode = match value.get_ref() {
        DeValue::String(s) => u32::from_str_radix(s, 8).ok(),
        // Without the o it would be decimal, and mean something else than it says.
        DeValue::Integer(n) if n.radix() == 8 => u32::from_str_radix(n.as_str(), 8).ok(),
        _ => None,
    };
    let mode = mode.filter(|m| *m <= 0o777);
    if mode.is_none() {
        let hint = format!("write for example: {key} = \"0770\", or {key} = 0o770");
        f.error(&value.span(), format!("{key} must be an octal mode up to 0777"), hint);
    }
    mode
}

fn tls(server: &Section<'_, '_>, base: &Path, f: &mut Findings) -> Option<Tls> {
    let section = server.section("tls", f)?;
    section.keys(&TLS, f);
    let required = section.boolean("required", f).is_none_or(|b| b.value);
    let mut file = |key: &str| {
        let path = section.required_string(key, &format!("{key} = \"server.pem\""), f)?;
        expand(key, path, f).map(|path| path.value.map(PathBuf::from).within(base))
    };
    let (cert, key) = (file("cert"), file("key"));
    let client_ca = section.get("client_ca").and_then(|_| file("client_ca"));
    Some(Tls { cert: cert?, key: key?, required, client_ca })
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: vec![Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 6432)))],
            unix_socket_permissions: 0o777,
            tls: None,
            shutdown_timeout: Duration::from_secs(30),
            auth_query: None,
            database: None,
        }
    }
}

impl Listen {
    /// The path of a Unix socket. `port` names it, unless the policy does.
    pub fn socket(&self, port: u16) -> PathBuf {
        match self {
            Self::Tcp(_) => PathBuf::new(),
            Self::Unix { folder, port: own } => folder.join(format!("{PREFIX}{}", own.unwrap_or(port))),
        }
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix { folder, port: None } => write!(f, "unix:{}", folder.display()),
            Self::Unix { port: Some(_), .. } => write!(f, "unix:{}", self.socket(0).display()),
        }
    }
}
/// Words on how an address that others reach is made safe.
pub(super) const WITH_TLS: &str =
    "set tls = { cert = \"server.crt\", key = \"server.key\" } in [server], or listen on 127.0.0.1";

/// Address of a server of pages, and where the section says it; else this port on loopback.
pub(super) fn of_pages(section: &Section<'_, '_>, port: u16, f: &mut Findings) -> (SocketAddr, Option<Span>) {
    let otherwise = SocketAddr::from(([127, 0, 0, 1], port));
    match address(section, "listen", &format!("listen = \"{otherwise}\""), f) {
        Some(At { value, span }) => (value, Some(span)),
        None => (otherwise, None),
    }
}

/// The IP address and port under a key, if there is one.
pub(super) fn address(
    section: &Section<'_, '_>,
    key: &str,
    example: &str,
    f: &mut Findings,
) -> Option<At<SocketAddr>> {
    let written = section.string(key, example, f)?;
    let shown = shown(&written.value);
    let address = expand(key, written, f)?;
    let parsed = address.value.reveal().parse().ok();
    if parsed.is_none() {
        let what = format!("{key} = {shown} is not an IP address and port");
        f.error(&address.span, what, format!("write for example: {example}"));
    }
    parsed.map(|value| At { value, span: address.span })
}
