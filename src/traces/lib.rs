//! Statements as OpenTelemetry traces: one span for each statement, and one below it for each part of its way.
//!
//! They are sent to a collector as OTLP in JSON over HTTP (`otlp`), in the form that OpenTelemetry Protocol 1.0 fixes. The
//! collector is expected beside the proxy or in its network: this speaks plain HTTP, in the few lines that a POST takes, and leaves
//! TLS, retries and credentials to the collector. A collector that is away costs traces and nothing else: what waits is bounded, and
//! what finds no room is counted and left out. No value is in a trace, and no user; a text only where the policy wants it.

mod otlp;

use record::{Traced, Tracer};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Statements that wait to be sent.
const WAITING: usize = 4_096;
/// Statements in one message.
const BATCH: usize = 256;
/// How long the first of a message waits for more.
const LINGER: Duration = Duration::from_millis(500);
/// Time for a message, connecting included.
const PATIENCE: Duration = Duration::from_secs(5);
/// Troubles are told once in so long.
const QUIET: Duration = Duration::from_secs(60);
/// Bytes of an answer that are read.
const ANSWER: u64 = 4_096;

/// A collector.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Host and port.
    pub address: String,
    /// The path that it takes traces at.
    pub path: String,
    /// Texts of statements are sent, where they are kept.
    pub text: bool,
}

/// An exporter of traces to a collector.
pub struct Exporter {
    tracer: Tracer,
    ending: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Begins to send.
    pub fn start(collector: Collector) -> Self {
        let (send, receive) = mpsc::channel(WAITING);
        let (tracer, ending) = (Tracer::new(send), Arc::new(Notify::new()));
        let sender = Sender { collector, tracer: tracer.clone(), told: None };
        let task = tokio::spawn(sender.run(receive, ending.clone()));
        Self { tracer, ending, task }
    }

    /// The queue for statements that have ended.
    pub fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// Sends what waits, and ends.
    pub async fn finish(self) {
        self.ending.notify_one();
        // Whoever ends the program has waited for its statements, and need not wait for a collector that is away.
        let _ = timeout(2 * PATIENCE, self.task).await;
    }
}

struct Sender {
    collector: Collector,
    tracer: Tracer,
    /// When trouble was told last.
    told: Option<Instant>,
}

impl Sender {
    async fn run(mut self, mut waiting: mpsc::Receiver<Traced>, ending: Arc<Notify>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut ends = false;
        while !ends {
            tokio::select! {
                got = waiting.recv_many(&mut batch, BATCH) => ends = got == 0,
                () = ending.notified() => ends = true,
            }
            if !ends && batch.len() < BATCH {
                tokio::select! {
                    () = sleep(LINGER) => {}
                    () = ending.notified() => ends = true,
                }
            }
            while ends || batch.len() < BATCH {
                let Ok(more) = waiting.try_recv() else { break };
                batch.push(more);
            }
            self.send(&mut batch).await;
        }
    }

    async fn send(&mut self, batch: &mut Vec<Traced>) {
        if batch.is_empty() {
            return;
        }
        let message = otlp::message(batch, self.collector.text);
        let sent = match message {
            Ok(message) => timeout(PATIENCE, self.post(&message)).await.unwrap_or_else(|e| Err(e.into())),
            Err(e) => Err(io::Error::other(e)),
        };
        let lost = self.tracer.lost() + if sent.is_err() { batch.len() as u64 } else { 0 };
        batch.clear();
        let quiet = self.told.is_some_and(|told| told.elapsed() < QUIET);
        if let (true, false) = (lost > 0, quiet) {
            self.told = Some(Instant::now());
            let error =
                sent.err().map_or_else(|| "too many statements at once".to_owned(), |e| e.to_string());
            tracing::warn!(collector = %self.collector.address, lost, %error, "traces of statements were lost");
        }
    }

    async fn post(&self, message: &str) -> io::Result<()> {
        let Collector { address, path, .. } = &self.collector;
        let mut socket = TcpStream::connect(address).await?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            message.len()
        );
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(message.as_bytes()).await?;
        let mut answer = Vec::new();
        socket.take(ANSWER).read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.strip_prefix("HTTP/1.").and_then(|a| a.split(' ').nth(1)).unwrap_or_default();
        match status.starts_with('2') {
            true => Ok(()),
            false => {
                Err(io::Error::other(format!("it answers {:?}", answer.lines().next().unwrap_or_default())))
            }
        }
    }
}
