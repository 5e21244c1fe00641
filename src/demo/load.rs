//! Fills a database with the generated data: COPY, then keys, indexes and statistics.

use super::Error;
use super::data::{Data, timestamp};
use bytes::{Bytes, BytesMut};
use futures::SinkExt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_postgres::{Client, Config, NoTls};

/// Bytes of COPY text sent at once.
const CHUNK: usize = 64 << 10;

const STATIONS: &str =
    "CREATE TABLE stations (station text NOT NULL, city text NOT NULL, capacity int NOT NULL)";
const RIDERS: &str = "CREATE TABLE riders \
    (rider_id int NOT NULL, birth_year int NOT NULL, plan text NOT NULL, city text, email text)";
const TRIPS: &str = "CREATE TABLE trips (trip_id bigint NOT NULL, rider_id int NOT NULL, \
    started_at timestamp NOT NULL, station text NOT NULL, minutes int NOT NULL, fare numeric(6,2) NOT NULL)";
const PAYMENTS: &str = "CREATE TABLE payments (payment_id bigint NOT NULL, trip_id bigint NOT NULL, \
    rider_id int NOT NULL, amount numeric(8,2) NOT NULL, method text NOT NULL, paid_at timestamp NOT NULL)";

const SMALL_KEYS: &str = "\
ALTER TABLE stations ADD PRIMARY KEY (station);
ALTER TABLE riders ADD PRIMARY KEY (rider_id), ADD CHECK (plan IN ('day', 'month', 'year'));";
const TRIP_KEYS: &str = "\
ALTER TABLE trips ADD PRIMARY KEY (trip_id);
CREATE INDEX ON trips (rider_id);";
const PAYMENT_KEYS: &str = "\
ALTER TABLE payments ADD PRIMARY KEY (payment_id);
CREATE INDEX ON payments (rider_id);
CREATE INDEX ON payments (trip_id);";
const TRIP_REFERENCES: &str = "\
ALTER TABLE trips ADD FOREIGN KEY (rider_id) REFERENCES riders, ADD FOREIGN KEY (station) REFERENCES stations;
ANALYZE stations, riders, trips;";
const PAYMENT_REFERENCES: &str = "\
ALTER TABLE payments ADD FOREIGN KEY (trip_id) REFERENCES trips, ADD FOREIGN KEY (rider_id) REFERENCES riders;
ANALYZE payments;";

/// Creates and fills the tables in the database that `config` names, which is empty and ours alone. Shows a
/// progress bar on a terminal.
pub(super) async fn load(config: &Config, scale: f64) -> Result<(), Error> {
    let data = tokio::task::spawn_blocking(move || Arc::new(Data::new(scale)))
        .await
        .map_err(|e| Error::io("cannot generate the data")(e.into()))?;
    let bar = progress(2 * data.trip_count() + data.riders.len());
    if bar.is_hidden() {
        eprintln!("loading {} riders and {} trips", data.riders.len(), data.trip_count());
    }
    let (mut one, mut two) = tokio::try_join!(connect(config), connect(config))?;
    // Two connections, because the server has a process for each.
    let trips = async {
        fill(&mut one, TRIPS, "trips", &data, &bar, write_trips).await?;
        run(&one, TRIP_KEYS).await
    };
    let others = async {
        fill(&mut two, STATIONS, "stations", &data, &bar, write_stations).await?;
        fill(&mut two, RIDERS, "riders", &data, &bar, write_riders).await?;
        fill(&mut two, PAYMENTS, "payments", &data, &bar, write_payments).await?;
        run(&two, SMALL_KEYS).await?;
        run(&two, PAYMENT_KEYS).await
    };
    tokio::try_join!(trips, others)?;
    bar.set_message("foreign keys");
    // One after the other, because both lock `riders` against each other.
    run(&one, TRIP_REFERENCES).await?;
    run(&two, PAYMENT_REFERENCES).await?;
    bar.finish_and_clear();
    Ok(())
}

/// A connection that is driven in the background.
pub(super) async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) =
        config.connect(NoTls).await.map_err(Error::database("cannot connect to PostgreSQL"))?;
    tokio::spawn(connection);
    Ok(client)
}

/// Runs statements without results.
pub(super) async fn run(client: &Client, sql: &str) -> Result<(), Error> {
    client
        .batch_execute(sql)
        .await
        .map_err(Error::database(format!("PostgreSQL refuses {:?}", first_words(sql))))
}

/// Enough to know a statement by, and no password.
fn first_words(sql: &str) -> String {
    sql.split_whitespace().take(5).collect::<Vec<_>>().join(" ")
}

fn progress(rows: usize) -> ProgressBar {
    // Draws nothing where standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(rows as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg:16} [{bar:40}] {pos}/{len} rows, {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message("loading");
    bar
}

/// Where a table's rows go, line by line.
struct Lines<'a> {
    buffer: BytesMut,
    full: mpsc::Sender<Bytes>,
    bar: &'a ProgressBar,
    rows: u64,
}

/// The receiver is gone: the load has failed, and its error is reported elsewhere.
struct Closed;

impl Lines<'_> {
    fn push(&mut self, line: std::fmt::Arguments<'_>) -> Result<(), Closed> {
        self.buffer.write_fmt(line).map_err(|_| Closed)?;
        self.rows += 1;
        if self.buffer.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Closed> {
        self.bar.inc(std::mem::take(&mut self.rows));
        self.full.blocking_send(self.buffer.split().freeze()).map_err(|_| Closed)
    }
}

type Writer = fn(&Data, &mut Lines<'_>) -> Result<(), Closed>;

/// Creates a table and copies its rows into it, generated by a thread of its own as they are sent.
async fn fill(
    client: &mut Client,
    create: &str,
    table: &str,
    data: &Arc<Data>,
    bar: &ProgressBar,
    write: Writer,
) -> Result<(), Error> {
    let failed = || Error::database(format!("cannot load {table}"));
    // FREEZE needs the table to be made in the same transaction, and spares every reader the first look at a row.
    let transaction = client.transaction().await.map_err(failed())?;
    transaction.batch_execute(create).await.map_err(failed())?;
    let copy = format!("COPY {table} FROM STDIN (FREEZE)");
    let sink = transaction.copy_in::<_, Bytes>(&copy).await.map_err(failed())?;
    let mut sink = std::pin::pin!(sink);
    let (full, mut chunks) = mpsc::channel(8);
    let (data, bar) = (Arc::clone(data), bar.clone());
    let generator = tokio::task::spawn_blocking(move || {
        let mut lines = Lines { buffer: BytesMut::with_capacity(2 * CHUNK), full, bar: &bar, rows: 0 };
        let _ = write(&data, &mut lines).and_then(|()| lines.flush());
    });
    while let Some(chunk) = chunks.recv().await {
        sink.feed(chunk).await.map_err(failed())?;
    }
    generator.await.map_err(|e| Error::io("cannot generate the data")(e.into()))?;
    sink.as_mut().finish().await.map_err(failed())?;
    transaction.commit().await.map_err(failed())
}

fn write_stations(data: &Data, out: &mut Lines<'_>) -> Result<(), Closed> {
    data.stations.iter().try_for_each(|s| out.push(format_args!("{}\t{}\t{}\n", s.name, s.city, s.capacity)))
}

fn write_riders(data: &Data, out: &mut Lines<'_>) -> Result<(), Closed> {
    data.riders.iter().try_for_each(|r| {
        let (id, city) = (r.id, r.city.unwrap_or("\\N"));
        out.push(format_args!("{id}\t{}\t{}\t{city}\trider{id}@example.org\n", r.birth_year, r.plan.name()))
    })
}

fn write_trips(data: &Data, out: &mut Lines<'_>) -> Result<(), Closed> {
    data.trips().try_for_each(|t| {
        let station = data.stations.get(t.station).map_or("\\N", |s| s.name.as_str());
        let (at, euros, cents) = (timestamp(t.started_at), t.fare / 100, t.fare % 100);
        out.push(format_args!("{}\t{}\t{at}\t{station}\t{}\t{euros}.{cents:02}\n", t.id, t.rider, t.minutes))
    })
}

fn write_payments(data: &Data, out: &mut Lines<'_>) -> Result<(), Closed> {
    data.payments().try_for_each(|p| {
        let (at, euros, cents) = (timestamp(p.paid_at), p.amount / 100, p.amount % 100);
        out.push(format_args!("{}\t{}\t{}\t{euros}.{cents:02}\t{}\t{at}\n", p.id, p.trip, p.rider, p.method))
    })
}
