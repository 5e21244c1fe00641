//! The demo's data behind a proxy in this process, with a budget that has room for every round and no kept answers.

use noisegate::adapter::Adapter;
use noisegate::demo::{Demo, DemoOptions};
use noisegate::frontend::{Server, Shutdown};
use noisegate::gateway::{Checked, Gateway};
use noisegate::ledger::{Ledger, Terms};
use noisegate::policy::{self, Policy};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

pub type Error = Box<dyn std::error::Error>;

/// The demo's database at this scale.
pub async fn demo(scale: f64) -> Result<Demo, Error> {
    let options = DemoOptions {
        noisegate: env!("CARGO_BIN_EXE_noisegate").into(),
        backend: None,
        binaries: None,
        scale,
        listen: "127.0.0.1:0".parse()?,
    };
    Ok(Demo::prepare(&options).await?)
}

/// A proxy that answers one client, beside a client of the database itself.
pub struct Proxy {
    pub through: Client,
    pub direct: Client,
    stop: Shutdown,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// With this `[[budget]]`, where a statement costs `epsilon`; and the policy that this makes.
    pub async fn start(demo: &Demo, budget: &str, epsilon: &str) -> Result<(Self, Policy), Error> {
        let (rules, _) = demo.policy.split_once("[[budget]]").ok_or("no budget in the demo's policy")?;
        let tables = demo.policy.find("[table.").and_then(|at| demo.policy.get(at..)).ok_or("no tables")?;
        let rules = rules.replace("epsilon = 0.5", &format!("epsilon = {epsilon}"));
        let tables = tables.replace("[cache]\n", "[cache]\nenabled = false\n");
        std::fs::write(&demo.policy_file, format!("{rules}\n{budget}\n{tables}"))?;
        let raw = policy::load(&demo.policy_file)?;
        let checked = Checked::new(&raw).await?;
        Ledger::create(&checked.policy.ledger, &Terms::of(&checked.policy))?;
        let policy = checked.policy.clone();
        let gateway = Gateway::open(checked, Some("demo".into()))?;
        let any: SocketAddr = "127.0.0.1:0".parse()?;
        let server = Server::bind(&[any], Arc::new(Adapter::new(gateway)), policy.limits.clone(), None)?;
        let port = server.local_addrs()?.first().ok_or("no address")?.port();
        let stop = server.shutdown_handle();
        let serving = tokio::spawn(server.run());
        let through = connect(&format!("postgres://demo@127.0.0.1:{port}/demo")).await?;
        let direct = connect(&demo.fetch_url).await?;
        Ok((Self { through, direct, stop, serving }, policy))
    }

    /// Ends it.
    pub async fn end(self) -> Result<(), Error> {
        drop((self.through, self.direct));
        self.stop.shutdown(Duration::from_secs(1));
        Ok(self.serving.await?)
    }
}

async fn connect(url: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
