//! The door: a form, a password against its verifier, a cookie.
//!
//! Names that do not exist take as long as those that do. Forms bring back what only the page that they stand in knows: the
//! login's is a cookie of its own, the logout's belongs to the session. Cookies are not sent by other sites (SameSite=Strict),
//! and no script can read them.

use crate::door::{App, Cookie};
use crate::pages;
use crate::response::{elsewhere, redirect, respond};
use crate::sessions::{same, token};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use axum::{Extension, Form};
use record::{STRANGERS, said};
use serde::Deserialize;
use std::sync::Arc;
use web::Arrival;

/// Longer than any password.
const LONGEST: usize = 1024;

/// Fields of the login form.
#[derive(Deserialize)]
pub struct Entering {
    name: String,
    password: String,
    form: String,
    next: String,
}

/// Fields of the logout form.
#[derive(Deserialize)]
pub struct Leaving {
    form: String,
}

/// One of our pages, whatever is asked for: a link must not lead somewhere else by way of the login.
fn known(next: &str) -> &'static str {
    pages::PAGES.iter().chain([&pages::SURVEY]).find(|(path, _)| *path == next).map_or("/", |(path, _)| path)
}

/// GET /login.
pub async fn form(Extension(arrival): Extension<Arrival>, uri: Uri) -> Response {
    let next = uri.query().and_then(|q| q.strip_prefix("next=")).unwrap_or("/");
    ask(arrival, known(next), StatusCode::OK, None)
}

/// The form, with a new secret.
fn ask(arrival: Arrival, next: &str, status: StatusCode, wrong: Option<&str>) -> Response {
    let Ok(form) = token() else {
        return respond(
            StatusCode::SERVICE_UNAVAILABLE,
            pages::trouble("Nobody can log in", "No randomness is available on this machine."),
        );
    };
    let mut response = respond(status, pages::login(&form, next, wrong));
    if let Some(cookie) = Cookie::Form.set(&form, 3600, arrival) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// POST /login.
pub async fn enter(
    State(app): State<Arc<App>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    Form(entering): Form<Entering>,
) -> Response {
    let next = known(&entering.next);
    let Some(form) = Cookie::Form.of(&headers, arrival).filter(|form| same(form, &entering.form)) else {
        let wrong = "This form was open for too long, or cookies are switched off. Please try again.";
        return ask(arrival, next, StatusCode::FORBIDDEN, Some(wrong));
    };
    drop(form);
    if !app.door.throttle.admit(arrival.from) {
        tracing::warn!(target: STRANGERS, address = %arrival.from, "refused to judge a login to the console: too many were wrong");
        let wrong = "Too many wrong logins. Please wait a minute.";
        return ask(arrival, next, StatusCode::TOO_MANY_REQUESTS, Some(wrong));
    }
    let Some(settings) = app.source.settings() else {
        return ask(arrival, next, StatusCode::FORBIDDEN, Some("The policy lets nobody in any more."));
    };
    let user = settings.users.iter().find(|u| u.name == entering.name);
    // A name that does not exist takes as long as one that does: the first user's password is judged, for nothing.
    let Some(verifier) = user.or(settings.users.first()).map(|u| u.scram.clone()) else {
        return ask(arrival, next, StatusCode::FORBIDDEN, Some("The policy lets nobody in any more."));
    };
    let password = entering.password;
    let judged = async {
        let _turn = app.door.compared.acquire().await.ok()?;
        if password.len() > LONGEST {
            return None;
        }
        tokio::task::spawn_blocking(move || frontend::password::proves(&verifier, &password)).await.ok()
    };
    let proven = judged.await.unwrap_or(false);
    let Some(user) = user.filter(|_| proven) else {
        tracing::warn!(
            target: STRANGERS, user = &*said(&entering.name), address = %arrival.from, "a login to the console failed"
        );
        let wrong = "This name and password do not fit.";
        return ask(arrival, next, StatusCode::FORBIDDEN, Some(wrong));
    };
    app.door.throttle.forgive(arrival.from);
    let Ok(session) = app.door.sessions.begin(user) else {
        return ask(arrival, next, StatusCode::SERVICE_UNAVAILABLE, Some("No randomness is available."));
    };
    tracing::info!(user = user.name, role = user.role.word(), address = %arrival.from, "logged in to the console");
    let seconds = settings.session.as_secs().max(1);
    redirect(next, [Cookie::Session.set(&session, seconds, arrival), Cookie::Form.set("", 0, arrival)])
}

/// POST /logout.
pub async fn leave(
    State(app): State<Arc<App>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    Form(leaving): Form<Leaving>,
) -> Response {
    let Some((visitor, token)) = app.visitor(&headers, arrival) else { return elsewhere("/") };
    if !same(&visitor.form(), &leaving.form) {
        let why = "The form is not one of this session. Nothing was done.";
        return respond(StatusCode::FORBIDDEN, pages::trouble("Not logged out", why));
    }
    app.door.sessions.end(&token);
    redirect("/login", [Cookie::Session.set("", 0, arrival)])
}
