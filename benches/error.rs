//! How far answers are off, through the whole way of a query: mean absolute errors of 140 answers each, at ε = 1, over 20,000
//! units with one row each.
//!
//! Errors are printed as multiples of what one row can change (COUNT: 1; SUM: the largest value, over its centre where nothing
//! else is released; AVG, VAR: as shares of the range and its square), beside the least that a peer was recorded with on the
//! same shape of data: 20,000 rows of one unit each, values in [0, 100], ε = 1. `cargo bench --bench error`.

mod proxy;

use noisegate::demo::Demo;
use proxy::{Error, Proxy};
use tokio_postgres::{Client, SimpleQueryMessage};

const ROUNDS: usize = 140;

/// A statement over riders, whose birth years lie in [1920, 2010].
struct Line {
    name: &'static str,
    sql: &'static str,
    /// What an error of 1 is, in the unit that is printed.
    unit: f64,
    /// What it is a multiple of.
    of: &'static str,
    /// The least error of a peer in that unit, and whose: Qrlew 0.9 or SmartNoise SQL 1.0.
    peer: Option<(f64, &'static str)>,
}

const LINES: [Line; 7] = [
    Line {
        name: "COUNT(*)",
        sql: "SELECT count(*) FROM riders",
        unit: 1.0,
        of: "rows",
        peer: Some((2.0, "SmartNoise")),
    },
    Line {
        name: "SUM",
        sql: "SELECT sum(birth_year) FROM riders",
        unit: 2010.0,
        of: "of the bound",
        peer: Some((2.18, "SmartNoise")),
    },
    Line {
        name: "AVG",
        sql: "SELECT avg(birth_year) FROM riders",
        unit: 90.0,
        of: "of the range",
        peer: Some((1.46e-4, "SmartNoise")),
    },
    Line {
        name: "VAR",
        sql: "SELECT variance(birth_year) FROM riders",
        unit: 8100.0,
        of: "of the range squared",
        peer: Some((4.46e-4, "SmartNoise")),
    },
    Line {
        name: "MEDIAN",
        sql: "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY birth_year) FROM riders",
        unit: 90.0,
        of: "of the range",
        peer: None,
    },
    Line {
        name: "COUNT by plan",
        sql: "SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY plan",
        unit: 1.0,
        of: "rows",
        peer: Some((1.85, "SmartNoise")),
    },
    Line {
        name: "AVG by plan",
        sql: "SELECT plan, avg(birth_year) FROM riders GROUP BY plan ORDER BY plan",
        unit: 90.0,
        of: "of the range",
        peer: Some((8.9e-4, "SmartNoise, 5 groups")),
    },
];

fn main() -> Result<(), Error> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Result<(), Error> {
    let demo = proxy::demo(0.4).await?;
    let measured = measure(&demo).await;
    demo.close().await?;
    measured
}

async fn measure(demo: &Demo) -> Result<(), Error> {
    let budget = "[[budget]]\nname = \"bench\"\naccounting = \"pure\"\nepsilon = 1000\n";
    let (proxy, _) = Proxy::start(demo, budget, "1").await?;
    println!("mean absolute error of {ROUNDS} answers, epsilon 1, 20,000 units with one row each");
    for line in &LINES {
        let exact = numbers(&proxy.direct, line.sql).await?;
        let mut error = 0.0;
        for _ in 0..ROUNDS {
            let noisy = numbers(&proxy.through, line.sql).await?;
            if noisy.len() != exact.len() {
                return Err(format!("{}: other rows than PostgreSQL gives", line.sql).into());
            }
            let off: f64 = exact.iter().zip(&noisy).map(|(a, b)| (a - b).abs()).sum();
            error += off / exact.len() as f64 / ROUNDS as f64;
        }
        let ours = error / line.unit;
        let peer = line.peer.map_or(String::new(), |(theirs, whose)| {
            format!("; {whose} {theirs:.3e}, {:.1} times as much", theirs / ours)
        });
        println!("{:<14} {error:>10.4} = {ours:.3e} {}{peer}", line.name, line.of);
    }
    proxy.end().await
}

/// The last column.
async fn numbers(client: &Client, sql: &str) -> Result<Vec<f64>, Error> {
    let messages = client.simple_query(sql).await?;
    let rows = messages.iter().filter_map(|m| match m {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let last = |row: &tokio_postgres::SimpleQueryRow| -> Result<f64, Error> {
        Ok(row.get(row.len().saturating_sub(1)).ok_or("no number")?.parse()?)
    };
    rows.map(last).collect()
}
