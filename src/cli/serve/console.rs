//! The console beside the listener: what it shows is the gateway in force.

use super::incidents;
use crate::gateway::{ActiveGateway, Gateway};
use console::{Client, Console, InForce as Rules, Live, Pool, Source, Survey, UserStream};
use frontend::{InForce, Tls};
use policy::{ConsoleRole, ConsoleUser};
use record::Recorder;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
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
    /// What visitors are asked.
    survey: Option<Arc<dyn Survey>>,
}

impl Source for InService {
    fn about(&self) -> String {
        self.name.clone()
    }

    fn in_force(&self) -> Rules {
        let gateway = self.active.current();
        let history = gateway.history();
        Rules {
            policy: gateway.policy().clone(),
            since: Some(history.since),
            warnings: history.warnings.clone(),
            before: history.before.clone(),
        }
    }

    fn settings(&self) -> Option<policy::Console> {
        self.own.clone().or_else(|| self.active.current().policy().console.clone())
    }

    fn record(&self) -> Arc<Recorder> {
        self.active.record().clone()
    }

    fn live(&self) -> Pin<Box<dyn Future<Output = Live> + Send + '_>> {
        Box::pin(live(self.active.current(), &self.name))
    }

    fn tls(&self) -> Option<Tls> {
        self.settings.as_ref()?.tls()
    }

    fn survey(&self) -> Option<&dyn Survey> {
        self.survey.as_deref()
    }
}

/// What goes on in a gateway.
async fn live(gateway: Arc<Gateway>, database: &str) -> Live {
    let backend = gateway.backend();
    let purposes = [
        "reading people's rows (the fetch login)",
        "public tables, and what follows the noise (the finish login)",
        "checking statements (the finish login)",
    ];
    // Before the question, which takes a connection itself.
    let pools = purposes.into_iter().zip(backend.pools());
    let pools =
        pools.map(|(what, p)| Pool { what, most: p.most, busy: p.busy, waiting: p.waiting }).collect();
    let clients = gateway.present().all().into_iter().map(|c| Client {
        user: c.user,
        role: c.role,
        application: c.application,
        address: c.address,
        encrypted: c.encrypted,
        since: c.since,
    });
    let streams = gateway.stream_standings().into_iter().map(|s| UserStream {
        stream: s.stream,
        user: s.user,
        state: s.state,
        left: s.left,
        asked: s.asked,
    });
    Live {
        pools,
        clients: clients.collect(),
        streams: streams.collect(),
        at_hand: gateway.answers_at_hand(),
        incidents: incidents::latest(database),
        server_version: backend.server_version(),
        database: Some(backend.ping().await),
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
    let source = InService { name, active, settings: Some(settings), own: None, survey: None };
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
    survey: Arc<dyn Survey>,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let console = Console::over(listener);
    let address = console.address()?;
    let owner = ConsoleUser { name: DEMO_OWNER.into(), role: ConsoleRole::Owner, scram };
    let session = Duration::from_secs(24 * 3600);
    let own = Some(policy::Console { listen: address, session, users: vec![owner] });
    let source = InService { name, active, settings: None, own, survey: Some(survey) };
    Ok((address, tokio::spawn(console.serve(Arc::new(source)))))
}
