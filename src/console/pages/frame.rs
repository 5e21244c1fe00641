//! The frame around all pages.

use crate::words;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style sheet, which every page names by this path.
pub const STYLE: &str = include_str!("../console.css");

/// Contents of the frame.
pub struct Frame<'a> {
    /// Name of the data: the database's, or the policy's.
    pub about: &'a str,
    /// The visitor, the visitor's role, and the token of the logout form.
    pub visitor: Option<(&'a str, &'a str, String)>,
    /// The page's path.
    pub path: &'a str,
    /// The query of its address, or nothing.
    pub query: &'a str,
    /// Whether it is loaded again by itself.
    pub refresh: bool,
    /// Whether there is a survey.
    pub survey: bool,
    /// The script that it runs: none but the survey's.
    pub script: Option<&'a str>,
    /// When the books were read, in microseconds since 1970.
    pub at: i64,
}

/// Pages, by path.
pub const PAGES: [(&str, &str); 8] = [
    ("/", "Budgets"),
    ("/statements", "Statements"),
    ("/policy", "Policy"),
    ("/streams", "Streams"),
    ("/kept", "Kept answers"),
    ("/connections", "Connections"),
    ("/incidents", "Incidents"),
    ("/ledger", "Ledger"),
];

/// A page that the demo has, too.
pub const SURVEY: (&str, &str) = ("/survey", "Survey");

/// Path of all pages as one file.
pub const REPORT: &str = "/report.html";

/// Seconds until a page is loaded again, where the reader wants that.
const REFRESH: u32 = 30;

/// A page of a visitor.
pub fn page(title: &str, frame: &Frame<'_>, content: &Markup) -> Markup {
    let again = |parts: [&str; 2]| {
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { frame.path.to_owned() } else { format!("{}?{}", frame.path, parts.join("&")) }
    };
    html! {
        (head(title, frame.refresh, frame.script))
        body {
            a class="skip" href="#content" { "Skip to the content" }
            header {
                p class="name" { strong { "noisegate" } " " span { (frame.about) } }
                nav aria-label="Pages" {
                    ul {
                        @for (path, name) in PAGES {
                            li { a href=(path) aria-current=[(path == frame.path).then_some("page")] { (name) } }
                        }
                        @if frame.survey {
                            @let (path, name) = SURVEY;
                            li { a href=(path) aria-current=[(path == frame.path).then_some("page")] { (name) } }
                        }
                    }
                }
            }
            main id="content" tabindex="-1" { (content) }
            footer {
                p {
                    "As of " time { (words::moment(frame.at)) } ". "
                    @if frame.refresh {
                        a href=(again([frame.query, ""])) { "Stop refreshing" }
                    } @else {
                        a href=(again([frame.query, "refresh=on"])) { "Refresh every " (REFRESH) " seconds" }
                    }
                    ". " a href=(REPORT) { "Save a report of all pages" }
                }
                @if let Some((name, role, form)) = &frame.visitor {
                    form method="post" action="/logout" {
                        input type="hidden" name="form" value=(form);
                        p { "Logged in as " strong { (name) } " (" (role) "). "
                            @if frame.script.is_none() { "Nothing can be changed here. " }
                            button { "Log out" } }
                    }
                }
            }
        }
        (PreEscaped("</html>"))
    }
}

/// A page of nobody.
pub fn bare(title: &str, content: Markup) -> Markup {
    html! {
        (head(title, false, None))
        body class="bare" { main id="content" { (content) } }
        (PreEscaped("</html>"))
    }
}

/// Head of every page, and of the report.
pub fn meta() -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
    }
}

fn head(title: &str, refresh: bool, script: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">"))
        head {
            (meta())
            @if refresh { meta http-equiv="refresh" content=(REFRESH); }
            title { (title) " · noisegate" }
            link rel="stylesheet" href="/console.css";
            link rel="icon" href="data:,";
            @if let Some(script) = script { script src=(script) defer {} }
        }
    }
}

/// A table, which scrolls by itself where the page is too narrow for it; by keyboard, too.
pub fn table(caption: &str, parts: Markup) -> Markup {
    html! {
        div class="wide" tabindex="0" role="group" aria-label=(caption) {
            table { caption { (caption) } (parts) }
        }
    }
}
