//! The way of a request: a connection, encrypted where the policy says so, who asks, and the page.

use crate::login::{self, Door};
use crate::pages::{self, Frame, STYLE};
use crate::reading::Readings;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use frontend::Tls;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use maud::Markup;
use policy::Policy;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at once; further ones wait to be accepted.
const CONNECTIONS: usize = 128;
/// Time for a handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for all requests of a connection: browsers make another one.
const CONNECTION: Duration = Duration::from_secs(120);
/// Bytes of a form.
const FORM: usize = 16 << 10;

/// Nothing is loaded from elsewhere, run, or framed, whatever a page says.
const SECURITY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; \
                        frame-ancestors 'none'";

/// What the console is asked to show: what is in force at the moment of a request.
pub trait Source: Send + Sync + 'static {
    /// What data this is about, in a word or two.
    fn about(&self) -> String;
    /// The policy in force.
    fn policy(&self) -> Policy;
    /// Who may log in, and for how long; None where the policy in force has no console any more: then nobody may.
    fn settings(&self) -> Option<policy::Console>;
    /// The certificate in force, if there is one.
    fn tls(&self) -> Option<Tls>;
}

/// A bound console.
pub struct Console(TcpListener);

/// What all requests share.
pub(crate) struct App {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) door: Door,
    readings: Readings,
}

/// How a request arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// From where.
    pub(crate) from: IpAddr,
    /// Encrypted.
    pub(crate) secure: bool,
    /// At which port: cookies do not tell ports apart.
    pub(crate) port: u16,
}

impl Console {
    /// Binds it. Errors name the address.
    pub async fn bind(listen: SocketAddr) -> io::Result<Self> {
        let bound = TcpListener::bind(listen).await;
        bound.map(Self).map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("the console cannot listen on {listen}: {e}; change console.listen"),
            )
        })
    }

    /// Over a listener.
    pub fn over(listener: TcpListener) -> Self {
        Self(listener)
    }

    /// Where it listens: port 0 has become a real port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Serves until it is dropped.
    pub async fn serve(self, source: Arc<dyn Source>) {
        let app =
            Arc::new(App { source: source.clone(), door: Door::default(), readings: Readings::default() });
        let router = router(app);
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else { return };
            match self.0.accept().await {
                Ok((socket, from)) => {
                    let (router, source) = (router.clone(), source.clone());
                    tokio::spawn(async move {
                        let served = timeout(CONNECTION, attend(socket, from, router, source)).await;
                        if let Ok(Err(error)) = served {
                            tracing::debug!(address = %from.ip(), %error, "a connection to the console ended");
                        }
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "the console cannot accept connections for a moment");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn attend(
    socket: TcpStream,
    from: SocketAddr,
    router: Router,
    source: Arc<dyn Source>,
) -> io::Result<()> {
    let at = socket.local_addr()?;
    let arrival = Arrival { from: from.ip(), secure: true, port: at.port() };
    match source.tls() {
        Some(tls) => {
            let socket = timeout(PATIENCE, tls.http().accept(socket)).await??;
            http(socket, router, arrival).await
        }
        None if at.ip().to_canonical().is_loopback() => {
            http(socket, router, Arrival { secure: false, ..arrival }).await
        }
        // The certificate went with a reload: passwords do not travel without it.
        None => Err(io::Error::other("the policy has no certificate any more")),
    }
}

async fn http<S>(socket: S, router: Router, arrival: Arrival) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router.layer(Extension(arrival)));
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    server.serve_connection(TokioIo::new(socket), service).await.map_err(io::Error::other)
}

fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(shown))
        .route("/statements", get(shown))
        .route("/ledger", get(shown))
        .route("/login", get(login::form).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/console.css", get(style))
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(FORM))
        .with_state(app)
}

async fn style() -> Response {
    let mut response = STYLE.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    guard(headers);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    response
}

async fn nothing() -> Response {
    respond(
        StatusCode::NOT_FOUND,
        pages::trouble("There is no such page", "The address is none of this console's."),
    )
}

/// One of the pages, for who is logged in.
async fn shown(
    State(app): State<Arc<App>>,
    Extension(arrival): Extension<Arrival>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let Some((visitor, _)) = app.visitor(&headers, arrival) else { return login::elsewhere(uri.path()) };
    let policy = app.source.policy();
    let reading = match app.readings.latest(&policy.ledger).await {
        Ok(reading) => reading,
        Err(why) => {
            let page = pages::trouble("The ledger cannot be read", &why);
            return respond(StatusCode::SERVICE_UNAVAILABLE, page);
        }
    };
    let (title, content) = match uri.path() {
        "/statements" => ("Statements", pages::statements(&reading, &policy, visitor.role)),
        "/ledger" => ("Ledger", pages::books(&reading, &policy)),
        _ => ("Budgets", pages::budgets(&reading, &policy)),
    };
    let about = app.source.about();
    let frame = Frame {
        about: &about,
        visitor: Some((&visitor.name, visitor.role.word(), visitor.form())),
        path: uri.path(),
        refresh: uri.query() == Some("refresh=on"),
        at: reading.at,
    };
    respond(StatusCode::OK, pages::page(title, &frame, &content))
}

/// A page, with what browsers are told to refuse.
pub(crate) fn respond(status: StatusCode, page: Markup) -> Response {
    let mut response = (status, page.into_string()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    guard(headers);
    response
}

/// What every response carries.
pub(crate) fn guard(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, SECURITY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
