//! Monitoring beside the listener: what it reads of the gateways in force.

use crate::gateway::ActiveGateway;
use frontend::{InForce, Sessions, Tls};
use metrics::{Answer, Database, Ledger, Monitor, Pool, Reading, Source, Trouble};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a ledger may take to say what is spent.
const PATIENCE: Duration = Duration::from_secs(3);

/// Sources of metrics.
pub struct Watched {
    /// Databases, by their names.
    pub databases: Vec<(String, Arc<ActiveGateway>)>,
    /// Sessions of clients.
    pub sessions: Sessions,
    /// The listener's certificate.
    pub settings: InForce,
    /// The proxy was asked to end.
    pub ending: Arc<AtomicBool>,
}

/// Monitoring that is served.
pub struct Monitored {
    /// Address of the metrics.
    pub metrics: SocketAddr,
    /// Address of the probes, when it is another.
    pub health: Option<SocketAddr>,
    /// Serves until it is aborted.
    pub task: JoinHandle<()>,
}

/// Binds and serves it, if the policy in force wants it.
pub async fn start(listen: Option<&policy::Metrics>, watched: Watched) -> io::Result<Option<Monitored>> {
    let Some(listen) = listen else { return Ok(None) };
    let monitor = Monitor::bind(listen.listen, listen.health_listen).await?;
    let (metrics, health) = (monitor.address()?, monitor.health_address()?);
    let source = Arc::new(Running { watched, since: seconds() });
    Ok(Some(Monitored { metrics, health, task: tokio::spawn(monitor.serve(source)) }))
}

struct Running {
    watched: Watched,
    /// Seconds since 1970.
    since: f64,
}

impl Source for Running {
    fn reading(&self) -> Answer<'_, Reading> {
        Box::pin(async {
            let mut databases = Vec::with_capacity(self.watched.databases.len());
            for (name, active) in &self.watched.databases {
                databases.push(database(name, active).await);
            }
            Reading {
                version: env!("CARGO_PKG_VERSION"),
                since: self.since,
                sessions: self.watched.sessions.count(),
                incidents: answer::error::incidents(),
                databases,
            }
        })
    }

    fn troubles(&self) -> Answer<'_, Vec<Trouble>> {
        Box::pin(async {
            let mut troubles = Vec::new();
            for (name, active) in &self.watched.databases {
                let trouble = |what| Trouble { database: name.clone(), what };
                if self.watched.ending.load(Ordering::Relaxed) {
                    troubles.push(trouble("the proxy is shutting down"));
                } else {
                    troubles.extend(active.current().troubles().await.into_iter().map(trouble));
                }
            }
            troubles
        })
    }

    fn tls(&self) -> Option<Tls> {
        self.watched.settings.tls()
    }
}

async fn database(name: &str, active: &ActiveGateway) -> Database {
    let gateway = active.current();
    let ledger = gateway.ledger();
    let spent = timeout(PATIENCE, ledger.spent()).await;
    let answers = matches!(spent, Ok(Ok(_)));
    let pulse = ledger.pulse();
    let tip = pulse.tip() as f64 / 1e6;
    let pool = |(name, used): (&'static str, backend::PoolUse)| Pool {
        name,
        most: used.most,
        busy: used.busy,
        waiting: used.waiting,
    };
    Database {
        name: name.to_owned(),
        record: active.record().clone(),
        pools: ["fetch", "finish", "aside"].into_iter().zip(gateway.backend().pools()).map(pool).collect(),
        known: gateway.messages_known(),
        spent: spent.ok().and_then(Result::ok).unwrap_or_default(),
        ledger: Ledger {
            commits: pulse.commits().clone(),
            failures: pulse.failures(),
            tip_age: (seconds() - tip).max(0.0),
            answers,
        },
    }
}

fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
