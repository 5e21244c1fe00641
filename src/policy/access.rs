//! `[[access]]`: who may connect from where. The first rule that matches decides; where there are rules and none
//! matches, nobody gets in.

use super::error::{At, Findings};
use super::keys::{Key, Keys, REQUIRED};
use super::model::{AccessRule, Network, User};
use super::reader::{Section, shorten, text};
use std::net::IpAddr;

/// Keys of `[[access]]`.
pub(super) const ACCESS: Keys = Keys {
    section: "[[access]]",
    list: &[
        Key::of("from", "list of networks", "everywhere", "[\"10.0.0.0/8\", \"::1\", \"local\"]")
            .says("Networks and addresses; `local` means Unix sockets."),
        Key::of("users", "list of strings", "everybody", "[\"ada\"]").says("Login names."),
        Key::of("roles", "list of strings", "any, or none", "[\"research\"]").says("Roles of users."),
        Key::of("tls", "boolean", "both", "true").says("Connections with TLS, or those without."),
        Key::of("action", "`allow` or `deny`", REQUIRED, "\"allow\"")
            .says("What happens to a connection that matches all of the above."),
    ],
    later: &[],
};

/// The rules in the order of the file. `users` are those that the policy names.
pub(super) fn access(root: &Section<'_, '_>, users: &[User], f: &mut Findings) -> Vec<AccessRule> {
    // Users that are kept elsewhere cannot be held against the names here.
    let places = [Some(root.clone()), root.section("server", f)];
    let elsewhere = places.iter().flatten().any(|s| s.get("users_file").or(s.get("auth_query")).is_some());
    let tls = places.iter().flatten().any(|s| s.get("tls").is_some());
    let mut rules = Vec::new();
    for section in root.sections("access", f) {
        let rule = rule(&section, users, elsewhere, f);
        if rule.tls == Some(true) && !tls {
            f.warn(&section.span, "a rule for connections with TLS, which server.tls does not offer", "");
        }
        rules.push(rule);
    }
    if let (true, Some(value)) = (rules.is_empty(), root.get("access")) {
        let hint = "remove it, and everybody who can log in may connect; or write [[access]] rules";
        f.error(&value.span(), "access has no rule", hint);
    }
    rules
}

fn rule(section: &Section<'_, '_>, users: &[User], elsewhere: bool, f: &mut Findings) -> AccessRule {
    section.keys(&ACCESS, f);
    let example = "from = [\"10.0.0.0/8\", \"::1\", \"local\"]";
    let networks = names(section, "from", example, f).into_iter().filter_map(|n| network(&n, f)).collect();
    let for_users = names(section, "users", "users = [\"ada\"]", f);
    let for_roles = names(section, "roles", "roles = [\"research\"]", f);
    if !elsewhere {
        for name in &for_users {
            if users.iter().all(|u| u.name != name.value) {
                f.warn(&name.span, format!("no [[user]] is called {:?}", shorten(&name.value)), "");
            }
        }
        for role in &for_roles {
            if users.iter().all(|u| u.role.as_ref() != Some(&role.value)) {
                f.warn(&role.span, format!("no [[user]] has the role {:?}", shorten(&role.value)), "");
            }
        }
    }
    let action = section.required_string("action", "action = \"allow\"", f);
    let allow = match action.as_ref().map(|a| a.value.as_str()) {
        Some("allow") => true,
        Some("deny") | None => false,
        Some(other) => {
            let span = action.as_ref().map_or(0..0, |a| a.span.clone());
            let what = format!("action = {:?} is neither allow nor deny", shorten(other));
            f.error(&span, what, "write action = \"allow\" or action = \"deny\"");
            false
        }
    };
    let values = |list: Vec<At<String>>| list.into_iter().map(|n| n.value).collect();
    AccessRule {
        from: networks,
        users: values(for_users),
        roles: values(for_roles),
        tls: section.boolean("tls", f).map(|b| b.value),
        allow,
    }
}

/// The strings of a list. An empty list would match nobody, and is a mistake.
fn names(section: &Section<'_, '_>, key: &str, example: &str, f: &mut Findings) -> Vec<At<String>> {
    let Some(list) = section.list(key, example, f) else { return Vec::new() };
    if list.value.is_empty() {
        let hint = format!("leave it out to match all, or write for example: {example}");
        f.error(&list.span, format!("{key} is empty"), hint);
    }
    list.value.into_iter().filter_map(|v| text(key, v, example, f)).collect()
}

fn network(text: &At<String>, f: &mut Findings) -> Option<Network> {
    if text.value == "local" {
        return Some(Network::Local);
    }
    let (address, length) = match text.value.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text.value.as_str(), None),
    };
    let parsed = || {
        let address = address.parse::<IpAddr>().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            Some(text) => text.parse::<u8>().ok().filter(|l| *l <= bits)?,
            None => bits,
        };
        Some((address, length))
    };
    let Some((address, length)) = parsed() else {
        f.error(
            &text.span,
            format!("{:?} is not a network", shorten(&text.value)),
            "write for example: \"10.0.0.0/8\", \"192.0.2.7\", \"2001:db8::/32\", or \"local\" for Unix sockets",
        );
        return None;
    };
    let network = Network::inet(address, length);
    if let Network::Inet { first, length } = network
        && masked(first, length) != first
    {
        let (first, hint) = (masked(first, length), "or leave out the length to mean one address");
        let what = format!("{} has bits beyond its length", shorten(&text.value));
        f.error(&text.span, what, format!("write \"{first}/{length}\", {hint}"));
        return None;
    }
    Some(network)
}

impl Network {
    /// The addresses that share the first `length` bits. IPv4 addresses in IPv6 form (`::ffff:10.0.0.0/104`) are
    /// the IPv4 addresses that they mean, because that is how clients are compared.
    pub fn inet(first: IpAddr, length: u8) -> Self {
        match (first, first.to_canonical()) {
            (IpAddr::V6(_), IpAddr::V4(v4)) if length >= 96 => {
                Self::Inet { first: IpAddr::V4(v4), length: length - 96 }
            }
            _ => Self::Inet { first, length },
        }
    }

    /// Whether a client at `address` (None: at a Unix socket) belongs to it.
    pub fn contains(&self, address: Option<IpAddr>) -> bool {
        match (self, address.map(|a| a.to_canonical())) {
            (Self::Local, None) => true,
            (Self::Inet { first, length }, Some(address)) => {
                first.is_ipv4() == address.is_ipv4() && masked(address, *length) == *first
            }
            _ => false,
        }
    }
}

/// The address with all bits behind the first `length` cleared.
fn masked(address: IpAddr, length: u8) -> IpAddr {
    let length = u32::from(length);
    match address {
        IpAddr::V4(a) => {
            let mask = u32::MAX.checked_shl(32u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::V4((a.to_bits() & mask).into())
        }
        IpAddr::V6(a) => {
            let mask = u128::MAX.checked_shl(128u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::V6((a.to_bits() & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn read(text: &str) -> Result<Network, String> {
        let mut findings = Findings::new("p.toml", text);
        let network = network(&At { value: text.to_owned(), span: 0..0 }, &mut findings);
        network.ok_or_else(|| findings.errors().unwrap().to_string())
    }

    #[test]
    fn networks_hold_what_their_length_says() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:11.1.2.3"),
            ("::ffff:10.0.0.0/104", "10.1.2.3", "11.1.2.3"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "::ffff:192.0.2.7", "2001:db8::1"),
            ("::/0", "2001:db8::1", "192.0.2.7"),
            ("::/0", "::1", "::ffff:192.0.2.7"),
            ("::1", "::1", "127.0.0.1"),
            ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
            ("10.0.0.128/25", "10.0.0.128", "10.0.0.127"),
        ] {
            let parsed = read(network).unwrap();
            assert!(parsed.contains(Some(inside.parse().unwrap())), "{inside} is in {network}");
            assert!(!parsed.contains(Some(outside.parse().unwrap())), "{outside} is not in {network}");
            assert!(!parsed.contains(None), "{network}");
        }
        let local = read("local").unwrap();
        assert!(local.contains(None) && !local.contains(Some("127.0.0.1".parse().unwrap())));
    }

    #[test]
    fn networks_that_cannot_be_meant_are_mistakes() {
        for text in ["10.0.0.0/33", "::/129", "10.0.0/8", "ten", "", "10.0.0.0/", "/8", "10.0.0.0/-1", "all"]
        {
            assert!(read(text).unwrap_err().contains("is not a network"), "{text}");
        }
        let error = read("10.0.0.1/8").unwrap_err();
        assert!(error.contains("write \"10.0.0.0/8\""), "{error}");
        assert!(read("::1/64").unwrap_err().contains("write \"::/64\""));
    }
}
