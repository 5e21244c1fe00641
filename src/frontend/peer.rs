//! Peers: who is at the other end of a connection, and whether the access rules let them in.

use answer::{ClientError, SqlState};
use policy::AccessRule;
use std::fmt;
use std::net::IpAddr;

/// Whom clients of an address are counted with: one machine can have all of an IPv6 network, and so can nobody else.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        v4 => v4,
    }
}

/// Place of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    /// At this address. IPv4 in IPv6 form has become IPv4: a dual-stack listener must not change who somebody is.
    Inet(IpAddr),
    /// On this machine, by a Unix socket.
    Local,
}

impl Peer {
    /// A client at this address.
    pub fn inet(address: IpAddr) -> Self {
        Self::Inet(address.to_canonical())
    }

    /// Whom clients are counted with.
    pub fn neighbourhood(self) -> Self {
        match self {
            Self::Inet(address) => Self::Inet(neighbourhood(address)),
            Self::Local => Self::Local,
        }
    }

    /// Whether they are on the loopback interface.
    pub fn is_loopback(self) -> bool {
        matches!(self, Self::Inet(address) if address.is_loopback())
    }

    /// Whether the access rules let anybody in from there, as any user and by any kind of
    /// connection.
    pub fn is_welcome(self, rules: &[AccessRule]) -> bool {
        let here = |rule: &&AccessRule| {
            rule.from.is_empty() || rule.from.iter().any(|network| network.contains(self.address()))
        };
        let decided = |rule: &&AccessRule| {
            rule.allow || (rule.users.is_empty() && rule.roles.is_empty() && rule.tls.is_none())
        };
        rules.is_empty() || rules.iter().filter(here).find(decided).is_some_and(|rule| rule.allow)
    }

    /// Whether they came by the network: TLS is for these, as in PostgreSQL.
    pub fn is_inet(self) -> bool {
        self.address().is_some()
    }

    fn address(self) -> Option<IpAddr> {
        match self {
            Self::Inet(address) => Some(address),
            Self::Local => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Local => f.write_str("[local]"),
        }
    }
}

/// Somebody who wants in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor<'a> {
    /// Place of the client.
    pub peer: Peer,
    /// Whether TLS protects the connection.
    pub encrypted: bool,
    /// The common name of the certificate that they have shown.
    pub certificate: Option<&'a str>,
    /// User that the client says it is.
    pub user: &'a str,
    /// Database that the client asks for.
    pub database: &'a str,
}

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Allowed,
    Denied,
    Unmatched,
}

impl Visitor<'_> {
    /// Before the password: refuses who will be refused whatever their role is. Roles are not looked up, so that
    /// nobody learns here which users there are.
    pub fn knock(&self, rules: &[AccessRule]) -> Result<(), ClientError> {
        let possible = self.possible(rules, None);
        match possible.as_slice() {
            [Decision::Denied] => Err(self.refusal(Decision::Denied)),
            all if all.iter().all(|d| *d != Decision::Allowed) => Err(self.refusal(Decision::Unmatched)),
            _ => Ok(()),
        }
    }

    /// After the password, when the role is known.
    pub fn enter(&self, rules: &[AccessRule], role: Option<&str>) -> Result<(), ClientError> {
        match self.possible(rules, Some(role)).as_slice() {
            [Decision::Allowed] => Ok(()),
            [other, ..] => Err(self.refusal(*other)),
            [] => Err(self.refusal(Decision::Unmatched)),
        }
    }

    /// What the first rule that matches says; with an unknown role (None), all that it may turn out to be.
    fn possible(&self, rules: &[AccessRule], role: Option<Option<&str>>) -> Vec<Decision> {
        if rules.is_empty() {
            return vec![Decision::Allowed];
        }
        let mut possible = Vec::new();
        for rule in rules {
            if !self.may_match(rule) {
                continue;
            }
            let decision = if rule.allow { Decision::Allowed } else { Decision::Denied };
            match role {
                _ if rule.roles.is_empty() => {}
                None => {
                    possible.push(decision);
                    continue;
                }
                Some(Some(role)) if rule.roles.iter().any(|r| r == role) => {}
                Some(_) => continue,
            }
            possible.push(decision);
            return possible;
        }
        possible.push(Decision::Unmatched);
        possible
    }

    /// Whether all but the role matches.
    fn may_match(&self, rule: &AccessRule) -> bool {
        let from = rule.from.is_empty() || rule.from.iter().any(|n| n.contains(self.peer.address()));
        let user = rule.users.is_empty() || rule.users.iter().any(|u| u == self.user);
        from && user && rule.tls.is_none_or(|tls| tls == self.encrypted)
    }

    /// In PostgreSQL's words about pg_hba.conf.
    fn refusal(&self, decision: Decision) -> ClientError {
        let who = format!(
            "host \"{}\", user \"{}\", database \"{}\", {}",
            self.peer,
            self.user,
            self.database,
            if self.encrypted { "SSL encryption" } else { "no encryption" }
        );
        let message = match decision {
            Decision::Denied => format!("access rules reject connection for {who}"),
            _ => format!("no access rule for {who}"),
        };
        ClientError::new(SqlState::INVALID_AUTHORIZATION, message).fatal()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use policy::Network;

    fn rule(from: &[&str], users: &[&str], roles: &[&str], tls: Option<bool>, allow: bool) -> AccessRule {
        let network = |n: &&str| match *n {
            "local" => Network::Local,
            n => {
                let (first, length) = n.split_once('/').unwrap();
                Network::inet(first.parse().unwrap(), length.parse().unwrap())
            }
        };
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        AccessRule {
            from: from.iter().map(network).collect(),
            users: owned(users),
            roles: owned(roles),
            tls,
            allow,
        }
    }

    fn at<'a>(address: &str, user: &'a str, encrypted: bool) -> Visitor<'a> {
        let peer = match address {
            "local" => Peer::Local,
            address => Peer::inet(address.parse().unwrap()),
        };
        Visitor { peer, encrypted, certificate: None, user, database: "bikes" }
    }

    fn message(refused: Result<(), ClientError>) -> String {
        let e = refused.unwrap_err();
        assert_eq!(e.code, SqlState::INVALID_AUTHORIZATION);
        e.message
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = [
            rule(&["10.1.0.0/16"], &[], &[], None, false),
            rule(&["10.0.0.0/8", "local"], &["ada"], &[], None, true),
            rule(&["::1/128"], &[], &[], Some(true), true),
        ];
        for (visitor, allowed) in [
            (at("10.2.0.1", "ada", false), true),
            (at("::ffff:10.2.0.1", "ada", false), true),
            (at("10.1.0.1", "ada", false), false),
            (at("10.2.0.1", "bo", false), false),
            (at("local", "ada", false), true),
            (at("local", "bo", false), false),
            (at("::1", "bo", true), true),
            (at("::1", "bo", false), false),
            (at("192.0.2.7", "ada", true), false),
        ] {
            assert_eq!(visitor.knock(&rules).is_ok(), allowed, "{visitor:?}");
            assert_eq!(visitor.enter(&rules, None).is_ok(), allowed, "{visitor:?}");
        }
        assert!(at("192.0.2.7", "ada", false).knock(&[]).is_ok(), "no rules, no refusals");
        assert_eq!(
            message(at("10.1.0.1", "ada", true).knock(&rules)),
            "access rules reject connection for host \"10.1.0.1\", user \"ada\", database \"bikes\", SSL encryption"
        );
        assert_eq!(
            message(at("local", "bo", false).knock(&rules)),
            "no access rule for host \"[local]\", user \"bo\", database \"bikes\", no encryption"
        );
    }

    #[test]
    fn roles_decide_after_the_password_only() {
        let rules = [
            rule(&[], &[], &["guest"], None, false),
            rule(&["10.0.0.0/8"], &[], &["research"], None, true),
            rule(&["local"], &[], &[], None, true),
        ];
        let inside = at("10.0.0.1", "ada", false);
        assert!(inside.knock(&rules).is_ok(), "whoever it is");
        assert!(inside.enter(&rules, Some("research")).is_ok());
        assert!(message(inside.enter(&rules, Some("guest"))).starts_with("access rules reject"));
        assert!(message(inside.enter(&rules, None)).starts_with("no access rule"));
        let local = at("local", "ada", false);
        assert!(local.knock(&rules).is_ok());
        assert!(local.enter(&rules, None).is_ok());
        assert!(local.enter(&rules, Some("guest")).is_err());
        // No role would help here.
        assert!(message(at("192.0.2.7", "ada", false).knock(&rules)).starts_with("no access rule"));
    }

    #[test]
    fn an_address_from_which_nobody_may_come_is_known_before_anything_is_said() {
        let rules = [
            rule(&["10.9.0.0/16"], &[], &[], None, false),
            rule(&["10.8.0.0/16"], &["bo"], &[], None, false),
            rule(&["10.0.0.0/8"], &[], &["research"], Some(true), true),
            rule(&["local"], &["ada"], &[], None, true),
        ];
        for (address, welcome) in [
            ("10.9.0.1", false),
            ("::ffff:10.9.0.1", false),
            ("10.8.0.1", true),
            ("10.0.0.1", true),
            ("local", true),
            ("192.0.2.7", false),
            ("::1", false),
        ] {
            let peer = at(address, "ada", false).peer;
            assert_eq!(peer.is_welcome(&rules), welcome, "{address}");
            assert!(peer.is_welcome(&[]), "{address}");
        }
    }
}
