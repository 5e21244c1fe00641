//! What the gateway adds to a fresh statement over the same fetch sent straight to PostgreSQL.
//!
//! Prints medians of: a direct fetch, the statement through the gateway (every one charged), this disk's fdatasync,
//! and what is left after both are subtracted. Aim: under 1 ms. `cargo bench --bench latency`.

mod proxy;

use noisegate::demo::Demo;
use noisegate::dp;
use noisegate::emit::fetch;
use noisegate::plan::{self, Settings};
use noisegate::policy::Policy;
use noisegate::sql::{Kind, classify, parse, resolve};
use proxy::{Error, Proxy};
use std::io::Write;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

const ROUNDS: usize = 200;
const STATEMENTS: [&str; 3] = [
    "SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY plan",
    "SELECT count(*) FROM riders WHERE birth_year > 1980",
    "SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5",
];

fn main() -> Result<(), Error> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Result<(), Error> {
    let demo = proxy::demo(0.02).await?;
    let measured = measure(&demo).await;
    demo.close().await?;
    measured
}

async fn measure(demo: &Demo) -> Result<(), Error> {
    let budget = "[[budget]]\nname = \"bench\"\naccounting = \"approx\"\nepsilon = 1000\ndelta = 1e-3\n";
    let (proxy, policy) = Proxy::start(demo, budget, "0.01").await?;
    let sync = fdatasync(demo.ledger_file.parent().ok_or("no folder")?)?;
    println!("fdatasync on the ledger's disk: median {}", ms(sync));
    for sql in STATEMENTS {
        let text = fetch_text(sql, &policy)?;
        let straight = time(&proxy.direct, &text).await?;
        let gated = time(&proxy.through, sql).await?;
        println!(
            "{sql}\n  direct fetch {}, through the gateway {}, added beyond one fdatasync {}",
            ms(straight),
            ms(gated),
            ms(gated.saturating_sub(straight).saturating_sub(sync))
        );
    }
    proxy.end().await
}

/// The fetch that the gateway would send, its seed written into the text.
fn fetch_text(sql: &str, policy: &Policy) -> Result<String, Error> {
    let parsed = parse::parse(sql, &policy.limits)?.pop().ok_or("no statement")?;
    let Kind::Query(query, lines) = classify(parsed)?.kind else { return Err("not a query".into()) };
    let mut statement = resolve::resolve(&query, &lines, policy, &policy.limits)?;
    let (epsilon, delta) = (dp::Ratio::new(1, 100), dp::Ratio::new(1, 1_000_000_000));
    let (max_groups, max_rows) = (policy.statement.max_groups, policy.statement.max_rows);
    let settings = Settings {
        budgets: vec![("bench".into(), dp::Notion::Approx)],
        ..Settings::new(epsilon, delta, max_groups, max_rows)
    };
    let sizes: plan::Sizes = policy
        .tables
        .iter()
        .enumerate()
        .flat_map(|(i, t)| t.columns.iter().map(move |c| (plan::Size::Distinct(i, c.name.clone()), 60)))
        .collect();
    let plan = plan::plan(&mut statement, policy, &settings, &sizes).map_err(|e| format!("{e:?}"))?;
    let release = plan.releases.first().ok_or("no release")?;
    Ok(fetch::fetch(release, policy).sql.replace("$1", "42"))
}

async fn time(client: &Client, sql: &str) -> Result<Duration, Error> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        client.simple_query(sql).await?;
        times.push(start.elapsed());
    }
    Ok(median(times))
}

fn fdatasync(folder: &std::path::Path) -> Result<Duration, Error> {
    let path = folder.join("fdatasync");
    let mut file = std::fs::File::create(&path)?;
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    std::fs::remove_file(path)?;
    Ok(median(times))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ms(d: Duration) -> String {
    format!("{:.2} ms", d.as_secs_f64() * 1e3)
}
