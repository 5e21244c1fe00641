//! `noisegate serve`: opens the gateway over a policy and serves until it is asked to end.

pub mod console;
pub mod control;
pub mod databases;
mod incidents;
pub mod log;
mod manager;
pub mod measuring;
pub mod metrics;
mod reloading;
mod request;
mod strangers;

use super::args::Policies;
use super::memory;
use crate::adapter::Adapter;
use crate::gateway::{ActiveGateway, Databases};
use control::Control;
use databases::Served;
use frontend::{Address, Listener, Server, Settings, Shutdown};
use manager::Manager;
use reloading::{Folder, Reloader};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `noisegate serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate serve --policy shop.toml

Each policy of a folder is a database of its own, behind one port.")]
pub struct Args {
    #[command(flatten)]
    policies: Policies,
}

/// Serves until SIGINT or SIGTERM; SIGHUP reloads.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let policies = databases::load(&args.policies.policy)?;
    let log = log::start(policies.list.first().map(|(_, raw)| raw.log()).unwrap_or_default());
    // Before there is a connection: what is collected may come by the first. A reload cannot add the login that writes.
    let collects = |raw: &policy::RawPolicy| raw.backend().is_some_and(|b| b.collect_url.is_some());
    if policies.list.iter().any(|(_, raw)| collects(raw))
        && let Err(why) = memory::keep()
    {
        tracing::warn!("{why}");
    }
    let manager = Manager::from_env();
    let (served, databases) = databases::open(policies).await?;
    // All have the same listener: see `databases::agree`.
    let first = served.first().ok_or("no policy is to be served")?.active.clone();
    let settings = Settings::of(first.current().policy())?;
    let listeners = Listener::bind(&first.current().policy().server)?;
    let server = Server::over(listeners, Arc::new(Adapter::over(databases)), settings)?;
    let addresses = server.addresses()?;
    let listening: Vec<String> = addresses.iter().map(Address::to_string).collect();
    let folder = Arc::new(Folder {
        first: first.clone(),
        all: served.iter().map(|s| (s.file.clone(), s.active.clone())).collect(),
        settings: server.settings(),
        log,
        manager: manager.clone(),
        turn: Default::default(),
        status: format!("listening on {}", listening.join(", ")),
    });
    let mut reloaders = Vec::new();
    let (mut consoles, mut watched) = (Vec::new(), Vec::new());
    for Served { file, active, beside } in served {
        let name = active.current().policy().database_name(&file);
        watched.push((name.clone(), active.clone()));
        consoles.extend(console::start(name, active.clone(), server.settings()).await?);
        reloaders.push((Arc::new(Reloader { file, active, folder: folder.clone() }), beside));
    }
    let ending = Arc::new(AtomicBool::new(false));
    let gateways: Vec<_> = watched.iter().map(|(_, active)| active.clone()).collect();
    let watched = metrics::Watched {
        databases: watched,
        sessions: server.sessions(),
        settings: server.settings(),
        ending: ending.clone(),
    };
    let exporter = first.current().policy().traces.as_ref().map(|t| {
        let (address, path) = (t.address.clone(), t.path.clone());
        traces::Exporter::start(traces::Collector { address, path, text: t.text })
    });
    if let Some(exporter) = &exporter {
        for (name, active) in &watched.databases {
            active.record().trace(name, exporter.tracer());
        }
    }
    let monitor = metrics::start(first.current().policy().metrics.as_ref(), watched).await?;
    // Before the first client: a signal must not end the program once it serves.
    reload_by_signal(reloaders.iter().map(|(reloader, _)| reloader.clone()).collect())?;
    let mut sockets: BTreeMap<PathBuf, Vec<Arc<Reloader>>> = BTreeMap::new();
    for (reloader, beside) in reloaders {
        sockets.entry(beside.canonicalize().unwrap_or(beside)).or_default().push(reloader);
    }
    let mut controls = Vec::new();
    for (beside, reloaders) in sockets {
        match Control::bind(&beside) {
            Ok(control) => controls.push(tokio::spawn(control.serve(reloaders.into()))),
            Err(error) => {
                let path = control::path(&beside);
                tracing::warn!(path = %path.display(), %error, "`noisegate ctl reload` cannot be served; SIGHUP reloads");
            }
        }
    }
    let shutdown = server.shutdown_handle();
    let stopping = manager.clone();
    end_by_signal(shutdown, move || {
        ending.store(true, Ordering::Relaxed);
        let limit = first.current().policy().server.shutdown_timeout;
        stopping.stopping(limit);
        limit
    })?;
    let scheme = if server.settings().tls().is_some() { "https" } else { "http" };
    for (address, _) in &consoles {
        // Before the line that programs wait for.
        writeln!(std::io::stdout(), "console at {scheme}://{address}/")?;
    }
    if let Some(metrics::Monitored { metrics: address, health, .. }) = &monitor {
        let plain = address.ip().to_canonical().is_loopback() || server.settings().tls().is_none();
        writeln!(
            std::io::stdout(),
            "metrics at {}://{address}/metrics",
            if plain { "http" } else { "https" }
        )?;
        if let Some(health) = health {
            writeln!(std::io::stdout(), "health at http://{health}/ready")?;
        }
    }
    announce(&addresses)?;
    manager.ready(&format!("listening on {}", listening.join(", ")));
    manager.keep_watchdog_quiet();
    server.run().await;
    gateways.iter().for_each(|active| active.current().ends_in_order());
    for task in consoles.into_iter().map(|(_, console)| console).chain(monitor.map(|m| m.task)) {
        task.abort();
    }
    if let Some(exporter) = exporter {
        exporter.finish().await;
    }
    for control in controls {
        control.abort();
        // Its socket goes with it.
        let _ = control.await;
    }
    tracing::info!("ended");
    Ok(())
}

/// Serves a gateway on a bound listener, until SIGINT or SIGTERM.
pub async fn serve(active: Arc<ActiveGateway>, listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let gateway = active.current();
    let settings = Settings { limits: gateway.policy().limits.clone(), ..Settings::default() };
    let limit = gateway.policy().server.shutdown_timeout;
    let databases = vec![("demo".to_owned(), active.clone())];
    let server =
        Server::over(vec![listener.into()], Arc::new(Adapter::over(Databases::one(active))), settings)?;
    let ending = Arc::new(AtomicBool::new(false));
    let (sessions, settings) = (server.sessions(), server.settings());
    let watched = metrics::Watched { databases, sessions, settings, ending: ending.clone() };
    // For whoever looks at the demo, on this machine.
    let here = policy::Metrics { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), health_listen: None };
    let monitor = metrics::start(Some(&here), watched).await?;
    end_by_signal(server.shutdown_handle(), move || {
        ending.store(true, Ordering::Relaxed);
        limit
    })?;
    if let Some(monitor) = &monitor {
        writeln!(std::io::stdout(), "metrics at http://{}/metrics", monitor.metrics)?;
    }
    announce(&server.addresses()?)?;
    server.run().await;
    if let Some(monitor) = monitor {
        monitor.task.abort();
    }
    Ok(())
}

/// One line per address, for people and for programs that wait for it.
fn announce(addresses: &[Address]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for a in addresses {
        writeln!(out, "listening on {a}")?;
    }
    out.flush()
}

/// One after the other: the first one's settings are those that the others are held against.
fn reload_by_signal(reloaders: Vec<Arc<Reloader>>) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            for reloader in &reloaders {
                reloader.reload().await;
            }
        }
    });
    Ok(())
}

/// The first SIGINT or SIGTERM lets running statements finish within `limit`, the second one does not.
fn end_by_signal(
    shutdown: Shutdown,
    limit: impl FnOnce() -> Duration + Send + 'static,
) -> std::io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        let mut asked = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        asked().await;
        let limit = limit();
        tracing::info!(seconds = limit.as_secs(), "shutting down; running statements may finish");
        shutdown.shutdown(limit);
        asked().await;
        tracing::info!("shutting down at once");
        shutdown.shutdown(Duration::ZERO);
    });
    Ok(())
}
