//! `noisegate demo`: prepares the demo, hands it to the gateway, and removes it at the end.

mod survey;

use super::budgets::every;
use super::profile;
use super::serve::console;
use crate::gateway::measuring::{Measuring, Wanted, columns, key, measurable};
use crate::gateway::{ActiveGateway, Checked, Gateway};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bigdecimal::BigDecimal;
use demo::{Binaries, DEMO_USER, Demo, DemoOptions, banner, listen, listen_console};
use frontend::password::verifier;
use ledger::{Ledger, Terms};
use policy::{Policy, Scope};
use std::error::Error;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use survey::Helmets;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Arguments of `noisegate demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate demo
  noisegate demo --scale 0.1 --listen 127.0.0.1:6433")]
pub struct Args {
    /// Where to listen [default: 127.0.0.1:6432, or the next free port]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// A server to make the demo's database in, as a user who may create databases and roles [default: a private
    /// server]
    #[arg(long, value_name = "URL")]
    backend: Option<String>,
    /// Multiplies the 50,000 riders and 500,000 trips
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    scale: f64,
}

/// Prepares the demo and serves it. Ends with the gateway, or by SIGINT, SIGTERM or SIGHUP; in each case the database is removed.
///
/// # Errors
///
/// Why the demo cannot be prepared, served or removed.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    // The port first: a wrong address should not cost the wait for the data.
    let listener = TcpListener::from_std(listen(args.listen)?)?;
    // Before signals are held off: Ctrl-C ends a download.
    let binaries = match &args.backend {
        None => Some(tokio::task::spawn_blocking(Binaries::find).await??),
        Some(_) => None,
    };
    let options = DemoOptions {
        noisegate: std::env::current_exe()?,
        backend: args.backend.clone(),
        binaries,
        scale: args.scale,
        listen: listener.local_addr()?,
    };
    let (mut interrupt, mut terminate, mut hangup) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    let asked_to_end = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    };
    let demo = Demo::start(&options).await?;
    let served = tokio::select! {
        served = async {
            demo.fill().await?;
            serve(&demo, listener, args.scale).await
        } => served,
        () = asked_to_end => Ok(()),
    };
    let closed = demo.close().await;
    served?;
    Ok(closed?)
}

/// Makes the books, prints the banner, and serves until it is dropped.
async fn serve(demo: &Demo, listener: TcpListener, scale: f64) -> Result<(), Box<dyn Error>> {
    let raw = policy::load(&demo.policy_file)?;
    let checked = Checked::new(&raw).await?;
    Ledger::create(&checked.policy.ledger, &Terms::of(&checked.policy))?;
    let address = listener.local_addr()?;
    measure(checked, scale).await?;
    let gateway = Gateway::open(Checked::new(&raw).await?, Some(DEMO_USER.to_owned()))?;
    let password = throwaway()?;
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    let scram = verifier(&password, &salt, 4096);
    let pages = TcpListener::from_std(listen_console()?)?;
    let active = ActiveGateway::new(gateway.clone());
    let survey = Arc::new(Helmets::open(&gateway, address, throwaway()?).await?);
    let (at, pages) = console::of_demo("demo".into(), active.clone(), pages, scram, survey)?;
    let told = format!(
        "{}\n\nWhat is left of it, as its owner sees it: http://{at}/ (name {}, password {password})\n\
         A question whose answers nobody stores: http://{at}/survey",
        budget_text(gateway.policy()).trim_end(),
        console::DEMO_OWNER
    );
    print!("{}", banner(address, &demo.psql, &told));
    let served = super::serve::serve(active, listener).await;
    pages.abort();
    served
}

/// The most of a budget that a table's items take.
const DEMO_SHARE: f64 = 0.1;

/// Measures how much units weigh, as an owner does once with `noisegate profile`.
async fn measure(checked: Checked, scale: f64) -> Result<(), Box<dyn Error>> {
    let gateway = Gateway::open(checked, None)?;
    // How many riders there are is no secret of the demo's. The cast cuts.
    let riders = (f64::from(demo::data::RIDERS) * scale) as i64;
    // Twice the least, which is little of what there is.
    let epsilon = BigDecimal::from_str(&profile::text::epsilon(2.0 * profile::wanted(riders)))?;
    let measuring = Measuring::new(&gateway, &epsilon);
    'tables: for (table, _) in measurable(gateway.policy()).into_iter().filter(|(_, can)| can.is_ok()) {
        let columns: Vec<String> = columns(table).into_iter().map(|c| c.name.clone()).collect();
        // Stations are what a tour of it goes by.
        let keys: Vec<_> = key(table, "station").ok().into_iter().collect();
        // A demo of few riders has less to measure with.
        for wanted in [Wanted { columns: columns.clone(), keys }, Wanted { columns, keys: Vec::new() }] {
            let price = measuring.price_of_items(&table.name, &wanted).await?;
            if price.iter().all(|share| share.part <= DEMO_SHARE) {
                measuring.items(&table.name, &wanted, "noisegate demo", "the demo begins").await?;
                continue 'tables;
            }
        }
        measuring.items(&table.name, &Wanted::default(), "noisegate demo", "the demo begins").await?;
    }
    Ok(())
}

/// A password that nobody else has, for as long as the demo runs.
fn throwaway() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 9];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// What the budgets are, in a few lines.
fn budget_text(policy: &Policy) -> String {
    let mut out = String::from(
        "Each question over private rows takes a part of these budgets. Public tables, and the same question again, cost \
         nothing.\n",
    );
    let count = ledger::usual_of(policy);
    for b in &policy.budgets {
        let who = match b.scope {
            Scope::Dataset => "everybody together",
            Scope::User => "each user",
            Scope::Role => "each role",
        };
        let window = b.window.map(|w| format!(", anew every {}", every(&w))).unwrap_or_default();
        let holds = count.as_ref().and_then(|c| ledger::worth(b, c).ok()?.answers.ok());
        let holds =
            holds.map(|n| format!(": about {n} counts like SELECT count(*) FROM riders")).unwrap_or_default();
        out.push_str(&format!("Budget \"{}\" ({who}{window}){holds}.\n", b.name));
    }
    out
}
