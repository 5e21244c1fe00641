//! The console beside the listener: what it shows is the gateway in force.

use crate::gateway::ActiveGateway;
use console::{Console, Source};
use frontend::{InForce, Tls};
use policy::{ConsoleRole, ConsoleUser, Policy};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A gateway in force, for pages.
struct InService {
    name: String,
    active: Arc<ActiveGateway>,
    settings: Option<InForce>,
    /// Who may log in, where the policy does not say.
    own: Option<policy::Console>,
}

impl Source for InService {
    fn about(&self) -> String {
        self.name.clone()
    }

    fn policy(&self) -> Policy {
        self.active.current().policy().clone()
    }

    fn settings(&self) -> Option<policy::Console> {
        self.own.clone().or_else(|| self.active.current().policy().console.clone())
    }

    fn tls(&self) -> Option<Tls> {
        self.settings.as_ref()?.tls()
    }
}

/// Binds and serves the console of a policy, if it has one.
pub async fn start(
    name: String,
    active: Arc<ActiveGateway>,
    settings: InForce,
) -> io::Result<Option<(SocketAddr, JoinHandle<()>)>> {
    let Some(listen) = active.current().policy().console.as_ref().map(|c| c.listen) else { return Ok(None) };
    let console = Console::bind(listen).await?;
    let address = console.address()?;
    let source = InService { name, active, settings: Some(settings), own: None };
    Ok(Some((address, tokio::spawn(console.serve(Arc::new(source))))))
}

/// The name of the demo's visitor of the console.
pub const DEMO_OWNER: &str = "owner";

/// Serves the demo's console on this machine, with a password that nobody else has.
pub fn of_demo(
    name: String,
    active: Arc<ActiveGateway>,
    listener: TcpListener,
    scram: String,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let console = Console::over(listener);
    let address = console.address()?;
    let owner = ConsoleUser { name: DEMO_OWNER.into(), role: ConsoleRole::Owner, scram };
    let session = Duration::from_secs(24 * 3600);
    let own = Some(policy::Console { listen: address, session, users: vec![owner] });
    let source = InService { name, active, settings: None, own };
    Ok((address, tokio::spawn(console.serve(Arc::new(source)))))
}
