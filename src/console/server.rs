//! The way of a request: a connection, encrypted where the policy says so, who asks, and the page.

use crate::door::{App, Door};
use crate::login;
use crate::pages::{self, Asked, Frame, PAGES, REPORT, STYLE, SURVEY, View};
use crate::reading::Readings;
use crate::response::{elsewhere, guard, respond};
use crate::sessions::Visitor;
use crate::source::Source;
use crate::survey;
use crate::words;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Form, Router};
use maud::Markup;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use web::{Arrival, Cipher, Site};

/// Statements that are looked at of those that run, and of those that ran: all that the record keeps of these.
const LINES: usize = 2_000;
/// Bytes of a form.
const FORM: usize = 16 << 10;

/// A bound console.
pub struct Console(Site);

impl Console {
    /// Binds it. Errors name the address.
    pub async fn bind(listen: SocketAddr) -> io::Result<Self> {
        Site::bind(listen, "the console", "console.listen").await.map(Self)
    }

    /// Over a listener.
    pub fn over(listener: TcpListener) -> Self {
        Self(Site::over(listener))
    }

    /// Address that it listens at: port 0 has become a real port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.address()
    }

    /// Serves until it is dropped.
    pub async fn serve(self, source: Arc<dyn Source>) {
        let app =
            Arc::new(App { source: source.clone(), door: Door::default(), readings: Readings::default() });
        let cipher = move |at: IpAddr| match source.tls() {
            Some(tls) => Cipher::Tls(tls),
            None if at.to_canonical().is_loopback() => Cipher::Plain,
            // The certificate went with a reload: passwords do not travel without it.
            None => Cipher::Refused("the policy has no certificate any more"),
        };
        self.0.serve(router(app), cipher).await;
    }
}

fn router(app: Arc<App>) -> Router {
    let pages = PAGES.iter().fold(Router::new(), |all, (path, _)| all.route(path, get(shown)));
    pages
        .route("/login", get(login::form).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/console.css", get(style))
        .route(REPORT, get(report))
        .route(survey::PATH, get(shown).post(survey::take))
        .route(survey::SCRIPT_PATH, get(survey::script))
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

/// All pages that rest on policy and ledger as one file, to be taken along. It has no texts, whoever asks for it.
async fn report(
    State(app): State<Arc<App>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
) -> Response {
    if app.visitor(&headers, arrival).is_none() {
        return elsewhere("/");
    }
    let in_force = app.source.in_force();
    match app.readings.latest(&in_force.policy.ledger).await {
        Ok(reading) => {
            let page = pages::report(&app.source.about(), &reading, &in_force);
            let mut response = respond(StatusCode::OK, page);
            let saved = HeaderValue::from_static("attachment; filename=\"noisegate-report.html\"");
            response.headers_mut().insert(header::CONTENT_DISPOSITION, saved);
            response
        }
        Err(why) => {
            respond(StatusCode::SERVICE_UNAVAILABLE, pages::trouble("The ledger cannot be read", &why))
        }
    }
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
    asked: Result<Form<Asked>, FormRejection>,
) -> Response {
    let Some((visitor, _)) = app.visitor(&headers, arrival) else { return elsewhere(uri.path()) };
    let path = uri.path();
    let Some((asked, view)) = asked.ok().and_then(|Form(asked)| View::of(&asked).map(|view| (asked, view)))
    else {
        let why =
            "The address asks for a part of the page that there is not. Go to the page, and choose there.";
        return respond(StatusCode::BAD_REQUEST, pages::trouble("Not understood", why));
    };
    let asks = app.source.survey();
    let is_survey = path == survey::PATH;
    if is_survey && asks.is_none() {
        return nothing().await;
    }
    let (content, at) = match content(&app, path, &visitor, &view).await {
        Ok(content) => content,
        Err(why) => {
            let page = pages::trouble("The ledger cannot be read", &why);
            return respond(StatusCode::SERVICE_UNAVAILABLE, page);
        }
    };
    let title =
        PAGES.iter().chain([&SURVEY]).find(|(at, _)| *at == path).map_or("Budgets", |(_, title)| title);
    let about = app.source.about();
    let query = view.query();
    let frame = Frame {
        about: &about,
        visitor: Some((&visitor.name, visitor.role.word(), visitor.form())),
        path,
        query: &query,
        refresh: asked.refresh(),
        survey: asks.is_some(),
        script: is_survey.then_some(survey::SCRIPT_PATH),
        at,
    };
    let response = respond(StatusCode::OK, pages::page(title, &frame, &content));
    if is_survey { survey::with_script(response) } else { response }
}

/// What a page says, and as of when. What goes on now is seen whether or not the ledger can be read.
async fn content(app: &App, path: &str, visitor: &Visitor, view: &View) -> Result<(Markup, i64), String> {
    match path {
        survey::PATH => {
            let page = app.source.survey().map(|s| survey::page(s, &visitor.form())).unwrap_or_default();
            return Ok((page, words::now()));
        }
        "/connections" => return Ok((pages::connections(&app.source.live().await), words::now())),
        "/incidents" => return Ok((pages::incidents(&app.source.live().await), words::now())),
        _ => {}
    }
    let in_force = app.source.in_force();
    let policy = &in_force.policy;
    let reading = app.readings.latest(&policy.ledger).await?;
    let content = match path {
        "/statements" => {
            let shown = app.source.record().shown(LINES);
            pages::statements(&reading, Some(&shown), policy, visitor.role, view)
        }
        "/policy" => pages::rules(&in_force),
        "/streams" => pages::streams(&reading, policy, Some(&app.source.live().await)),
        "/kept" => pages::kept(&reading, policy, Some(&app.source.live().await)),
        "/ledger" => pages::books(&reading, policy),
        _ => pages::budgets(&reading, policy),
    };
    Ok((content, reading.at))
}
