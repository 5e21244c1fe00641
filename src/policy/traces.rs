//! `[traces]`: where statements are sent as traces.

use super::error::Findings;
use super::keys::{Key, Keys, REQUIRED};
use super::model::Traces;
use super::reader::{Section, shorten};
use std::net::IpAddr;

/// Keys of `[traces]`.
pub(super) const TRACES: Keys = Keys {
    section: "[traces]",
    list: &[
        Key::of("endpoint", "URL", REQUIRED, "\"http://127.0.0.1:4318\"")
            .says("The collector, by OTLP over HTTP in JSON. Without a path it is `/v1/traces`. TLS is the collector's: run one beside the proxy."),
        Key::of("text", "boolean", "false", "true")
            .says("Sends texts of statements, too; only where `[ledger] text` keeps them."),
    ],
    later: &[],
};

/// Where a collector takes traces, unless its URL says otherwise.
const PATH: &str = "/v1/traces";

const EXAMPLE: &str = "endpoint = \"http://127.0.0.1:4318\"";

/// The section, if the policy has one.
pub(super) fn traces(root: &Section<'_, '_>, keeps_text: bool, f: &mut Findings) -> Option<Traces> {
    let section = root.section("traces", f)?;
    section.keys(&TRACES, f);
    let text = section.boolean("text", f);
    if let Some(text) = text.as_ref().filter(|text| text.value && !keeps_text) {
        f.warn(
            &text.span,
            "text = true: no text is kept that could be sent",
            "set text = true in [ledger], too",
        );
    }
    let endpoint = section.required_string("endpoint", EXAMPLE, f)?;
    let Some((address, path, host)) = parts(&endpoint.value) else {
        let what =
            format!("endpoint = {:?} is not the http:// URL of a host with a port", shorten(&endpoint.value));
        f.error(&endpoint.span, what, format!("write for example: {EXAMPLE}"));
        return None;
    };
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if !here {
        let what = "traces go to another machine without TLS: how long reads of private rows take is in them";
        f.warn(&endpoint.span, what, "run a collector beside the proxy, which sends them on with TLS");
    }
    Some(Traces { address, path, text: text.is_some_and(|text| text.value) })
}

/// Host and port, path, and host.
fn parts(url: &str) -> Option<(String, String, String)> {
    let rest = url.strip_prefix("http://")?;
    let (address, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '#' | '[' | ']');
    let valid = !host.is_empty()
        && rest.chars().all(|c| plain(c) || matches!(c, '[' | ']'))
        && host.chars().all(plain);
    let path = if path.trim_matches('/').is_empty() { PATH } else { path };
    port.parse::<u16>().ok().filter(|port| valid && *port > 0)?;
    Some((address.to_owned(), path.to_owned(), host.to_owned()))
}
