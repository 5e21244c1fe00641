//! The way of a request: whether we live, whether we can serve, and what is measured.

use crate::exposition::exposition;
use crate::reading::{Reading, Trouble};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use frontend::Tls;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use web::{Cipher, Site};

/// A judgement of whether we can serve is given again for so long: asking costs the database a question, and the ledger a write.
const FRESH: Duration = Duration::from_secs(3);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A future of a [`Source`].
pub type Answer<'s, T> = Pin<Box<dyn Future<Output = T> + Send + 's>>;

/// Source of metrics.
pub trait Source: Send + Sync + 'static {
    /// At this moment.
    fn reading(&self) -> Answer<'_, Reading>;
    /// Why statements cannot be served at this moment; nothing where they can.
    fn troubles(&self) -> Answer<'_, Vec<Trouble>>;
    /// The certificate in force, if there is one.
    fn tls(&self) -> Option<Tls>;
}

/// Bound listeners for monitoring.
pub struct Monitor {
    metrics: Site,
    /// Where probes arrive, if they have a door of their own.
    health: Option<Site>,
}

impl Monitor {
    /// Binds them. Errors name the address.
    pub async fn bind(listen: SocketAddr, health: Option<SocketAddr>) -> io::Result<Self> {
        let metrics = Site::bind(listen, "monitoring", "metrics.listen").await?;
        let health = match health {
            Some(listen) => Some(Site::bind(listen, "monitoring", "metrics.health_listen").await?),
            None => None,
        };
        Ok(Self { metrics, health })
    }

    /// Address of the metrics: port 0 has become a real port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.metrics.address()
    }

    /// Address of the probes, when it is another.
    pub fn health_address(&self) -> io::Result<Option<SocketAddr>> {
        self.health.as_ref().map(Site::address).transpose()
    }

    /// Serves until it is dropped.
    pub async fn serve(self, source: Arc<dyn Source>) {
        let watch = Arc::new(Watch { source: source.clone(), judged: Mutex::default() });
        let cipher = move |at: IpAddr| match source.tls().filter(|_| !at.to_canonical().is_loopback()) {
            Some(tls) => Cipher::Tls(tls),
            None => Cipher::Plain,
        };
        let metrics = Router::new().route("/metrics", get(metrics));
        match self.health {
            None => {
                self.metrics.serve(metrics.merge(probes()).with_state(watch), cipher).await;
            }
            Some(health) => {
                let metrics = self.metrics.serve(metrics.with_state(watch.clone()), cipher);
                let health = health.serve(probes().with_state(watch), |_| Cipher::Plain);
                tokio::join!(metrics, health);
            }
        }
    }
}

struct Watch {
    source: Arc<dyn Source>,
    judged: Mutex<Option<(Instant, Vec<Trouble>)>>,
}

fn probes() -> Router<Arc<Watch>> {
    Router::new().route("/live", get(|| async { "live\n" })).route("/ready", get(ready))
}

async fn metrics(State(watch): State<Arc<Watch>>) -> Response {
    match exposition(watch.source.reading().await) {
        Ok(text) => ([(header::CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS))], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn judge(watch: Arc<Watch>) -> Vec<Trouble> {
    // Whoever comes while it is judged waits for the judgement.
    let mut judged = watch.judged.lock().await;
    match &*judged {
        Some((at, troubles)) if at.elapsed() < FRESH => troubles.clone(),
        _ => {
            let troubles = watch.source.troubles().await;
            *judged = Some((Instant::now(), troubles.clone()));
            troubles
        }
    }
}

async fn ready(State(watch): State<Arc<Watch>>) -> Response {
    // Who asks may go before it is judged: the judgement is for whoever comes next, and is not begun anew for each.
    let Ok(troubles) = tokio::spawn(judge(watch)).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if troubles.is_empty() {
        return "ready\n".into_response();
    }
    let lines: String = troubles.iter().map(|t| format!("{}: {}\n", t.database, t.what)).collect();
    (StatusCode::SERVICE_UNAVAILABLE, lines).into_response()
}
