//! The pages. Each is a function from what was read to markup; none asks anything of anybody.

mod books;
mod budgets;
mod burn_down;
mod collected;
mod connections;
mod frame;
mod incidents;
mod kept;
mod promise;
mod report;
mod rules;
mod statements;
mod streams;
mod survey;

pub use books::books;
pub use budgets::budgets;
pub use connections::connections;
pub use frame::{Frame, PAGES, REPORT, STYLE, SURVEY, meta, page, table};
pub use incidents::incidents;
pub use kept::kept;
pub use report::report;
pub use rules::rules;
pub use statements::{Asked, View, statements};
pub use streams::streams;
pub use survey::survey;

use maud::{Markup, html};

/// The form by which people come in. `form` is what it brings back; `wrong` says what was wrong before.
pub fn login(form: &str, next: &str, wrong: Option<&str>) -> Markup {
    frame::bare(
        "Log in",
        html! {
            h1 { "noisegate" }
            p { "What has been promised about the people in this data, to whom, and what is left of it." }
            @if let Some(wrong) = wrong { p class="wrong" role="alert" { (wrong) } }
            form method="post" action="/login" class="login" {
                input type="hidden" name="form" value=(form);
                input type="hidden" name="next" value=(next);
                label for="name" { "Name" }
                input id="name" name="name" autocomplete="username" required maxlength="128" autofocus[wrong.is_none()];
                label for="password" { "Password" }
                input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024";
                button { "Log in" }
            }
        },
    )
}

/// An error in place of a page.
pub fn trouble(title: &str, why: &str) -> Markup {
    frame::bare(title, html! { h1 { (title) } p { (why) } p { a href="/" { "Back to the budgets" } } })
}
