//! The demo's survey: a page whose script changes answers at random, and the reports that it sends.

use crate::door::App;
use crate::response::{elsewhere, guard, respond};
use crate::sessions::same;
use crate::source::Survey;
use crate::{pages, source::Known};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::Markup;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use web::Arrival;

/// The page.
pub(crate) const PATH: &str = pages::SURVEY.0;
/// Path of the script.
pub(crate) const SCRIPT_PATH: &str = "/survey.js";
const SCRIPT: &str = include_str!("survey.js");
/// What browsers are told to refuse of this page: as of all, but for its own script, and what that sends here.
const SECURITY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; \
                        form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const JSON: &str = "application/json";
/// Reports that one request brings.
const MOST: usize = 10_000;

/// Message of a browser: no answers, but what became of them.
#[derive(Deserialize)]
pub(crate) struct Sent {
    form: String,
    /// A digit for each.
    reports: String,
}

#[derive(Serialize)]
struct Told {
    reports: u64,
    estimates: Vec<Estimate>,
}

#[derive(Serialize)]
struct Estimate {
    count: f64,
    low: f64,
    high: f64,
}

impl From<Known> for Told {
    fn from(known: Known) -> Self {
        let estimate = |[count, low, high]: [f64; 3]| Estimate { count, low, high };
        Self { reports: known.reports, estimates: known.estimates.into_iter().map(estimate).collect() }
    }
}

/// The page, and the script that it runs.
pub(crate) fn page(survey: &dyn Survey, form: &str) -> Markup {
    pages::survey(&survey.question(), form)
}

/// Lets a page run its script.
pub(crate) fn with_script(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SECURITY));
    response
}

pub(crate) async fn script() -> Response {
    let mut response = SCRIPT.into_response();
    let headers = response.headers_mut();
    guard(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"));
    response
}

/// POST: stores reports, and tells what is known then.
pub(crate) async fn take(
    State(app): State<Arc<App>>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some((visitor, _)) = app.visitor(&headers, arrival) else { return elsewhere(PATH) };
    let Some(survey) = app.source.survey() else {
        return respond(
            StatusCode::NOT_FOUND,
            pages::trouble("There is no survey", "Only the demo has one."),
        );
    };
    let refused = |status: StatusCode, why: &str| {
        let mut response = (status, why.to_owned()).into_response();
        guard(response.headers_mut());
        response
    };
    if headers.get(header::CONTENT_TYPE).is_none_or(|kind| kind != JSON) {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Reports come as JSON.");
    }
    let Ok(sent) = serde_json::from_slice::<Sent>(&body) else {
        return refused(StatusCode::BAD_REQUEST, "These are no reports. Load the page again.");
    };
    if !same(&visitor.form(), &sent.form) {
        return refused(StatusCode::FORBIDDEN, "The page is not one of this session. Load it again.");
    }
    let answers = survey.question().answers.len() as u32;
    let reports: Option<Vec<u32>> =
        sent.reports.chars().map(|c| c.to_digit(10).filter(|d| *d < answers)).collect();
    let Some(reports) = reports.filter(|all| all.len() <= MOST) else {
        return refused(StatusCode::BAD_REQUEST, "These are no reports. Load the page again.");
    };
    match survey.take(reports).await {
        Ok(known) => match serde_json::to_vec(&Told::from(known)) {
            Ok(told) => {
                let mut response = told.into_response();
                let headers = response.headers_mut();
                guard(headers);
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
                response
            }
            Err(e) => refused(StatusCode::INTERNAL_SERVER_ERROR, &e.to_string()),
        },
        Err(why) => refused(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}
