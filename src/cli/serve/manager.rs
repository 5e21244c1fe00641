//! Messages to systemd: ready, reloading, stopping, and that we are alive (sd_notify(3)).

#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// What the manager gets to take a message.
const PATIENCE: Duration = Duration::from_secs(2);

/// The service manager, if one started us.
#[derive(Clone, Default)]
pub struct Manager(Option<Arc<UnixDatagram>>);

impl Manager {
    /// The one that `NOTIFY_SOCKET` names, by a path or, with `@`, in the abstract namespace.
    pub fn from_env() -> Self {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return Self(None) };
        #[cfg(not(target_os = "linux"))]
        let address = SocketAddr::from_pathname(&name);
        #[cfg(target_os = "linux")]
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
            _ => SocketAddr::from_pathname(&name),
        };
        let connect = |address: &SocketAddr| {
            let socket = UnixDatagram::unbound()?;
            socket.connect_addr(address)?;
            // A manager that does not read must not stop us for long.
            socket.set_write_timeout(Some(PATIENCE))?;
            Ok(socket)
        };
        match address.as_ref().map_err(|e| e.kind().into()).and_then(connect) {
            Ok(socket) => Self(Some(Arc::new(socket))),
            Err(error) => {
                let error: std::io::Error = error;
                tracing::warn!(%error, "the service manager cannot be told anything");
                Self(None)
            }
        }
    }

    /// We serve; and what is worth knowing.
    pub fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", line(status)));
    }

    /// A reload begins; [`Self::ready`] ends it. With the clock that tells it from an earlier one.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\nSTATUS=reloading the policy"));
    }

    /// The end begins, which may take so long.
    pub fn stopping(&self, limit: Duration) {
        let micros = limit.saturating_add(Duration::from_secs(10)).as_micros();
        self.tell(&format!(
            "STOPPING=1\nEXTEND_TIMEOUT_USEC={micros}\nSTATUS=shutting down, waiting for running statements"
        ));
    }

    /// Says twice within each interval that it asks for (`WATCHDOG_USEC`) that the program's tasks run.
    pub fn keep_watchdog_quiet(&self) {
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let Some(micros) = number("WATCHDOG_USEC").filter(|n| ours && *n > 0) else { return };
        if self.0.is_none() {
            return;
        }
        let manager = self.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_micros((micros / 2).max(1)));
            loop {
                ticks.tick().await;
                manager.tell("WATCHDOG=1");
            }
        });
    }

    fn tell(&self, state: &str) {
        if let Some(socket) = &self.0
            && let Err(error) = socket.send(state.as_bytes())
        {
            tracing::warn!(%error, "the service manager could not be told");
        }
    }
}

/// A value of the protocol ends with its line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
