//! `noisegate collect shuffle`: takes sealed reports over HTTP, and puts out batches that say nothing of who wrote them and when.
//!
//! It runs as a user of its own (packaging/noisegate-shuffle.service), with a key that opens the outer layer alone.

mod config;
mod deliver;
mod running;

use crate::cli::memory;
use crate::cli::print::hex;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use config::Config;
use dp::SecureRng;
use encode::Message;
use running::Running;
use sha2::{Digest, Sha256};
use shuffler::{Spool, SpoolError, Writers};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use subtle::ConstantTimeEq;
use tokio::signal::unix::{SignalKind, signal};
use web::{Arrival, Cipher, Site};

/// Arguments of `noisegate collect shuffle`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate collect shuffle --config shuffle.toml")]
pub struct Args {
    /// The shuffler's configuration: docs/encoding.md has its keys
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Bytes of one request.
const LONGEST: usize = 4 << 20;
/// Between two looks at what may go out.
const TICK: Duration = Duration::from_secs(1);

/// What a panic left is whole: transactions were rolled back.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Serves until SIGINT or SIGTERM.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    memory::keep_or_say();
    let config = config::read(&args.config)?;
    let spool = Spool::open(&config.spool, config.max_reports)?;
    std::fs::create_dir_all(&config.batches).map_err(|e| format!("{}: {e}", config.batches.display()))?;
    let site = Site::bind(config.listen, "the shuffler", "listen").await?;
    let address = site.address()?;
    let said = promise(&config);
    let writers = Mutex::new(Writers::new(config.reports_per_minute));
    let running = Arc::new(Running { config, spool: Mutex::new(spool), writers });
    let router = Router::new()
        .route("/reports", post(take))
        .route("/collections", get(collections))
        .route("/live", get(|| async { "live\n" }))
        .layer(DefaultBodyLimit::max(LONGEST))
        .with_state(running.clone());
    let (mut end, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    println!("{said}\nlistening on {address}");
    std::io::stdout().flush()?;
    let forwarding = forward(running);
    tokio::select! {
        () = site.serve(router, |_| Cipher::Plain) => {}
        () = forwarding => {}
        _ = end.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// What the rules of each collection promise, in words.
fn promise(config: &Config) -> String {
    let writer = match (config.writers.is_empty(), config.forwarded_for) {
        (false, _) => "token",
        (true, true) => "address in X-Forwarded-For",
        (true, false) => "address",
    };
    let collections = config.shuffler.collections().iter().zip(&config.rules);
    let lines = collections.map(|(collection, (_, rules))| {
        let batches = format!(
            "a batch has {} reports or more, or is marked as small after {} s",
            rules.min_batch(),
            rules.max_delay()
        );
        let name = collection.name();
        match rules.promise() {
            None => format!("{name}: groups are not held back; {batches}"),
            Some(p) => format!(
                "{name}: which groups go out, and when, is ({}, {:.1e})-differentially private for one report; of one {writer} {} \
                 of a group count, so that it goes out when reports of it have come from about {}; {batches}",
                p.epsilon,
                p.delta,
                rules.counted_per_writer(),
                rules.writers_of_a_group()
            ),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Forms batches and delivers them, until there is an end. What cannot go out is tried again, and said once.
async fn forward(running: Arc<Running>) {
    let mut said = String::new();
    loop {
        tokio::time::sleep(TICK).await;
        let now = match forward_once(&running).await {
            Ok(()) => String::new(),
            Err(error) => error,
        };
        if now != said && !now.is_empty() {
            eprintln!("noisegate: batches cannot go out, and are tried again: {now}");
        }
        said = now;
    }
}

/// Works on the spool, which may wait for a disk.
async fn with_spool<T: Send + 'static>(
    running: &Arc<Running>,
    work: impl FnOnce(&mut Spool, &Config) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let running = running.clone();
    let done = tokio::task::spawn_blocking(move || work(&mut lock(&running.spool), &running.config)).await;
    done.map_err(|e| e.to_string())?
}

async fn forward_once(running: &Arc<Running>) -> Result<(), String> {
    let form = |spool: &mut Spool, config: &Config| {
        let mut rng = SecureRng::new().map_err(|e| e.to_string())?;
        spool.form(&config.rules, now(), &mut rng).map_err(|e| e.to_string())
    };
    if with_spool(running, form).await? == 0 {
        return Ok(());
    }
    // Nobody connects where nothing is to be delivered.
    let to = match &running.config.analyser {
        Some(login) => Some(deliver::Analyser::connect(login).await?),
        None => None,
    };
    let (mut last, mut failed) = (None, Ok(()));
    loop {
        let next = with_spool(running, move |spool, _| spool.after(last).map_err(|e| e.to_string())).await?;
        let Some(batch) = next else { return failed };
        last = Some(batch.id);
        match deliver::deliver(running.clone(), to.as_ref(), batch.clone()).await {
            Ok(()) => {
                with_spool(running, move |spool, _| spool.delivered(&batch).map_err(|e| e.to_string()))
                    .await?;
            }
            // Others may be of a collection that is well.
            Err(error) => failed = Err(error),
        }
    }
}

/// The descriptions, one a line: public.
async fn collections(State(running): State<Arc<Running>>) -> String {
    running.config.shuffler.collections().iter().map(|c| format!("{}\n", c.json())).collect()
}

/// Takes reports, one a line: all of them are on disk when this answers with 200, or none was taken.
async fn take(
    State(running): State<Arc<Running>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(writer) = writer(&running.config, &arrival, &headers) else {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], "send a writer's token\n")
            .into_response();
    };
    let taken = tokio::task::spawn_blocking(move || keep(&running, &writer, &body)).await;
    taken.unwrap_or_else(|_| {
        (StatusCode::INTERNAL_SERVER_ERROR, "nothing was taken; send it again\n").into_response()
    })
}

/// Who writes: of the one whose token it is the name, or else an address.
fn writer(config: &Config, arrival: &Arrival, headers: &HeaderMap) -> Option<String> {
    if config.writers.is_empty() {
        let forwarded = headers.get("x-forwarded-for").and_then(|value| value.to_str().ok());
        let last = forwarded.and_then(|list| list.rsplit(',').next()).map(str::trim);
        return Some(match last {
            Some(address) if config.forwarded_for => format!("address {address}"),
            _ => format!("address {}", arrival.from),
        });
    }
    let token = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    let digest = hex(&Sha256::digest(token));
    // All are compared, whichever it is.
    let found = config.writers.iter().fold(None, |found, writer| {
        let same = writer.token_sha256.to_ascii_lowercase().as_bytes().ct_eq(digest.as_bytes());
        if same.into() { Some(&writer.name) } else { found }
    });
    found.map(|name| format!("writer {name}"))
}

fn keep(running: &Running, writer: &str, body: &[u8]) -> Response {
    let shuffler = &running.config.shuffler;
    let Ok(text) = std::str::from_utf8(body) else {
        return (StatusCode::BAD_REQUEST, "send lines of noisegate collect encode\n").into_response();
    };
    let messages: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let writer = shuffler.writer(writer);
    if !lock(&running.writers).admit(writer, messages.len() as u64, now()) {
        let text = "these are more reports than one writer may send in a minute; nothing was taken\n";
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "60")], text).into_response();
    }
    let mut opened = Vec::with_capacity(messages.len());
    for (place, line) in messages.iter().enumerate() {
        match Message::parse(line).and_then(|message| shuffler.open(&message)) {
            Ok(one) => opened.push(one),
            Err(error) => {
                let text = format!("line {}: {error}; nothing was taken\n", place + 1);
                return (StatusCode::BAD_REQUEST, text).into_response();
            }
        }
    }
    let kept = lock(&running.spool).accept(&opened, writer, now());
    match kept {
        // How many of them are new is nobody's business.
        Ok(_) => format!("{} kept\n", opened.len()).into_response(),
        Err(SpoolError::Full(full)) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "60")], format!("{full}\n"))
                .into_response()
        }
        Err(error) => {
            eprintln!("noisegate: reports cannot be kept: {error}");
            let text = "reports cannot be kept now; nothing was taken; send them again later\n";
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "60")], text).into_response()
        }
    }
}
