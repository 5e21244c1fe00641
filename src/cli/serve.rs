//! `noisegate serve`: opens the gateway over a policy and serves until it is asked to end.

use crate::frontend::{Adapter, Server, Tls};
use crate::gateway::{Checked, Gateway};
use crate::policy;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// What running statements get to finish when the proxy is asked to end.
const DRAIN: Duration = Duration::from_secs(30);

/// Arguments of `noisegate serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

/// Serves until SIGINT or SIGTERM.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let raw = policy::load(&args.policy)?;
    let checked = Checked::new(&raw).await?;
    for warning in &checked.warnings {
        eprintln!("warning: {warning}");
    }
    let server = checked.policy.server.clone();
    let limits = checked.policy.limits.clone();
    let tls = server.tls.as_ref().map(Tls::load).transpose()?;
    let gateway = Gateway::open(checked, None)?;
    let server = Server::bind(&server.listen, Arc::new(Adapter::new(gateway)), limits, tls)?;
    announce(&server.local_addrs()?)?;
    until_asked(server).await
}

/// Serves a gateway on a bound listener, until SIGINT or SIGTERM.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let limits = gateway.policy().limits.clone();
    let server = Server::over(vec![listener], Arc::new(Adapter::new(gateway)), limits, None)?;
    announce(&server.local_addrs()?)?;
    until_asked(server).await
}

/// One line per address, for people and for programs that wait for it.
fn announce(addresses: &[std::net::SocketAddr]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for a in addresses {
        writeln!(out, "listening on {a}")?;
    }
    out.flush()
}

async fn until_asked(server: Server<Adapter>) -> Result<(), Box<dyn Error>> {
    let shutdown = server.shutdown_handle();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        shutdown.shutdown(DRAIN);
    });
    server.run().await;
    Ok(())
}
