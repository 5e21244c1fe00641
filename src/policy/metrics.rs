//! `[metrics]`: what monitoring reads.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::listen;
use super::model::Metrics;
use super::reader::Section;

/// Keys of `[metrics]`.
pub(super) const METRICS: Keys = Keys {
    section: "[metrics]",
    list: &[
        Key::of("listen", "IP address and port", "\"127.0.0.1:9187\"", "\"[::1]:9187\"")
            .says("Where monitoring arrives, by HTTP: `/metrics` in OpenMetrics, `/live`, `/ready`. Nobody logs in there: whoever reaches the address sees \
                      counts and times of statements, by no user. At any address but a loopback one it speaks TLS where there is `server.tls`."),
        Key::of("health_listen", "IP address and port", "that of `listen`", "\"0.0.0.0:9188\"")
            .says("Where `/live` and `/ready` are asked for in place of `listen`: a door of their own for a container's probes and a balancer, without TLS. \
                      They tell nothing but whether statements can be answered, and of which database they cannot."),
    ],
    later: &[],
};

/// On loopback, where the policy says nothing.
const PORT: u16 = 9187;

/// The section, if the policy has one.
pub(super) fn metrics(root: &Section<'_, '_>, has_tls: bool, f: &mut Findings) -> Option<Metrics> {
    let section = root.section("metrics", f)?;
    section.keys(&METRICS, f);
    let (listen, span) = listen::of_pages(&section, PORT, f);
    let health_listen = listen::address(&section, "health_listen", "health_listen = \"0.0.0.0:9188\"", f);
    if let Some(span) = span.filter(|_| !listen.ip().is_loopback() && !has_tls) {
        let what = "metrics are reachable from other machines without TLS: how long reads of private rows take is in them";
        f.warn(&span, what, listen::WITH_TLS);
    }
    // Port 0 is any that is free: two of them are two.
    if let Some(own) = health_listen.as_ref().filter(|own| own.value == listen && listen.port() != 0) {
        let hint = "choose another port, or leave it out: then probes are answered at listen";
        f.error(&own.span, "health_listen is the address of listen", hint);
    }
    Some(Metrics { listen, health_listen: health_listen.map(|own| own.value) })
}
