//! `noisegate serve`: opens the gateway over a policy and serves until it is asked to end.

pub mod control;
pub mod log;
mod manager;
mod reloading;
mod request;

use crate::adapter::Adapter;
use crate::gateway::{ActiveGateway, Checked, Gateway};
use control::Control;
use frontend::{Address, Listener, Server, Settings, Shutdown};
use manager::Manager;
use policy::{self, LedgerLocation};
use reloading::Reloader;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `noisegate serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

/// Serves until SIGINT or SIGTERM; SIGHUP reloads.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let raw = policy::load(&args.policy)?;
    let log = log::start(raw.log());
    let manager = Manager::from_env();
    let checked = Checked::new(&raw).await?;
    for warning in &checked.warnings {
        tracing::warn!("{}", reloading::one_line(warning));
    }
    let server = checked.policy.server.clone();
    // Who reloads must find this process: at the ledger that is its own, else at the policy.
    let ledger = match checked.policy.ledger.clone() {
        LedgerLocation::Sqlite(file) => file,
        LedgerLocation::Postgres(_) => args.policy.clone(),
    };
    let settings = Settings::of(&checked.policy)?;
    let active = ActiveGateway::new(Gateway::open(checked, None)?);
    let server = Server::over(Listener::bind(&server)?, Arc::new(Adapter::over(active.clone())), settings)?;
    let addresses = server.addresses()?;
    let listening: Vec<String> = addresses.iter().map(Address::to_string).collect();
    let reloader = Arc::new(Reloader {
        // Not the file that a link leads to: paths are relative to the folder that was named at the start.
        file: std::path::absolute(&args.policy)?,
        active: active.clone(),
        settings: server.settings(),
        log,
        manager: manager.clone(),
        turn: Default::default(),
        status: format!("listening on {}", listening.join(", ")),
    });
    // Before the first client: a signal must not end the program once it serves.
    reload_by_signal(reloader.clone())?;
    let ledger = ledger.canonicalize().unwrap_or(ledger);
    let control = match Control::bind(&ledger) {
        Ok(control) => Some(tokio::spawn(control.serve(reloader.clone()))),
        Err(error) => {
            let path = control::path(&ledger);
            tracing::warn!(path = %path.display(), %error, "`noisegate reload` cannot be served; SIGHUP reloads");
            None
        }
    };
    let shutdown = server.shutdown_handle();
    end_by_signal(shutdown, move || {
        let limit = active.current().policy().server.shutdown_timeout;
        reloader.manager.stopping(limit);
        limit
    })?;
    announce(&addresses)?;
    manager.ready(&format!("listening on {}", listening.join(", ")));
    manager.keep_watchdog_quiet();
    server.run().await;
    if let Some(control) = control {
        control.abort();
        // Its socket goes with it.
        let _ = control.await;
    }
    tracing::info!("ended");
    Ok(())
}

/// Serves a gateway on a bound listener, until SIGINT or SIGTERM.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let settings = Settings { limits: gateway.policy().limits.clone(), ..Settings::default() };
    let limit = gateway.policy().server.shutdown_timeout;
    let server = Server::over(vec![listener.into()], Arc::new(Adapter::new(gateway)), settings)?;
    end_by_signal(server.shutdown_handle(), move || limit)?;
    announce(&server.addresses()?)?;
    server.run().await;
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

fn reload_by_signal(reloader: Arc<Reloader>) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            reloader.reload().await;
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
