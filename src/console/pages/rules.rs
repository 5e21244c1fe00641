//! The policy as people read it: what there is to ask about, whose rows they are, what each column lets out, who may ask, what is
//! probably not meant, and what was otherwise before.

use super::collected::collected;
use super::frame::table;
use crate::source::InForce;
use crate::told::{self, Change};
use crate::words::{moment, number};
use ledger::worth;
use maud::{Markup, html};
use policy::{Policy, Privacy, Scope, Table};

/// The page.
pub fn rules(in_force: &InForce) -> Markup {
    let policy = &in_force.policy;
    let (public, private): (Vec<&Table>, Vec<&Table>) =
        policy.tables.iter().filter(|t| !t.collected).partition(|t| t.privacy == Privacy::Public);
    html! {
        h1 { "Policy" }
        p class="lead" {
            "What can be asked about, by whom, and what is kept from everybody. A table or a column that is not on this page does not exist for those who ask."
        }
        @if let Some(since) = in_force.since { p { "In force since " (moment(since)) "." } }
        (warnings(&in_force.warnings))
        (protected(policy))
        @if !private.is_empty() {
            h2 { "Tables about people" }
            p { "Only counts, sums, averages and the like come out of these, each with some noise. A single row is never shown." }
            @for subject in private { (of(subject, policy)) }
        }
        (collected(policy))
        @if !public.is_empty() {
            h2 { "Public tables" }
            @for subject in public { (of(subject, policy)) }
        }
        @if !policy.views.is_empty() {
            h2 { "Ready-made queries" }
            p { "These look like tables; what they show is held to the same rules." }
            ul { @for view in &policy.views { li { details { summary { (view.name) } pre { (view.sql) } } } } }
        }
        (people(policy))
        (price(policy))
        (difference(in_force))
        dl { dt { "Fingerprint of this policy, which entries of the ledger name" } dd { code { (version(policy)) } } }
    }
}

fn version(policy: &Policy) -> String {
    policy.version.iter().map(|b| format!("{b:02x}")).collect()
}

fn warnings(warnings: &[String]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            section class="wrong" aria-labelledby="warnings" {
                h2 id="warnings" { "Allowed, but probably not meant" }
                ul { @for warning in warnings {
                    @let (what, hint) = warning.split_once('\n').unwrap_or((warning, ""));
                    li { (what) @if !hint.is_empty() { br; span class="soft" { (hint.trim()) } } }
                } }
            }
        }
    }
}

/// Who is protected.
fn protected(policy: &Policy) -> Markup {
    html! {
        h2 { "Who is protected" }
        @if policy.unit.is_none() {
            p { "No table holds rows about people: what is asked is public, or was made private before it was stored." }
        } @else {
        p {
            "Each one whom " code { (policy.unit_name()) } " names, with all of their rows in all tables about people together. Whether somebody is in "
            "the data or not makes almost no difference to any answer; how little, is what the budgets say."
        }
        }
    }
}

fn of(subject: &Table, policy: &Policy) -> Markup {
    let name = &subject.name;
    html! {
        section aria-label=(name) {
            h3 { (name) }
            p { (told::table(subject, policy).join(" ")) }
            @if subject.privacy == Privacy::Public {
                p { "Columns: " (subject.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ")) "." }
            } @else {
                (table(&format!("Columns of {name}"), html! {
                    thead { tr { th scope="col" { "Column" } th scope="col" { "Holds" } th scope="col" { "What it lets out" } } }
                    tbody {
                        @for column in &subject.columns {
                            tr {
                                th scope="row" { (column.name) }
                                td { (told::kind(&column.ty)) }
                                td { (told::column(column, subject, policy)) }
                            }
                        }
                    }
                }))
            }
        }
    }
}

fn people(policy: &Policy) -> Markup {
    html! {
        h2 { "Who may ask" }
        @if policy.users.is_empty() { p { "No user is listed." } } @else {
            (table("Users", html! {
                thead { tr { th scope="col" { "User" } th scope="col" { "Role" } th scope="col" { "Is answered" } } }
                tbody {
                    @for user in &policy.users {
                        tr { th scope="row" { (user.name) } td { (user.role.as_deref().unwrap_or("–")) } td { (told::user(user, policy)) } }
                    }
                }
            }))
        }
        @if policy.server.auth_query.is_some() { p { "Further users are looked up in a database." } }
        @if policy.access.is_empty() { p { "They may connect from anywhere that reaches the proxy." } }
    }
}

/// What questions take of budgets.
fn price(policy: &Policy) -> Markup {
    let usual = ledger::usual_of(policy);
    html! {
        h2 { "What questions take" }
        (table("Budgets, and how many simple questions each holds", html! {
            thead { tr { th scope="col" { "Budget" } th scope="col" { "Whose" } th scope="col" { "For questions about" } th scope="col" class="n" { "Simple questions, about" } } }
            tbody {
                @for budget in &policy.budgets {
                    @let holds = usual.as_ref().and_then(|u| worth(budget, u).ok()?.answers.ok());
                    tr {
                        th scope="row" { (budget.name) }
                        td { (match budget.scope { Scope::Dataset => "everybody's together", Scope::User => "each user's", Scope::Role => "each role's" }) }
                        td { @if budget.tables.is_empty() { "any table about people" } @else { (budget.tables.join(", ")) } }
                        td class="n" { (holds.map_or_else(|| "–".into(), number)) }
                    }
                }
            }
        }))
        p { "A simple question is one count at the usual price. Whoever wants a more exact answer pays more, and whoever is content with a rougher one pays less." }
        p { (told::kept(&policy.cache)) }
    }
}

/// What was otherwise before.
fn difference(in_force: &InForce) -> Markup {
    let Some(before) = &in_force.before else {
        return html! {
            h2 { "What has changed" }
            p { "Nothing, since the proxy was started. A policy that is read again while it runs is compared here with the one before." }
        };
    };
    let (changes, besides) = told::changes(before, &in_force.policy);
    html! {
        h2 { "What has changed" }
        p { "Against the policy before this one, whose fingerprint is " code { (version(before)) } "." }
        @if !changes.is_empty() {
            (table("What was said before, and what is said now", html! {
                thead { tr { th scope="col" { "Of" } th scope="col" { "Before" } th scope="col" { "Now" } } }
                tbody { @for change in &changes { (changed(change)) } }
            }))
        }
        @if !besides.is_empty() {
            p { @if changes.is_empty() { "Changed: " } @else { "Changed besides: " } (besides.join(", ")) "." }
        }
    }
}

fn changed(change: &Change) -> Markup {
    let said = |text: &Option<String>| match text {
        Some(text) => html! { (text) },
        None => html! { em { "nothing" } },
    };
    html! { tr { th scope="row" { (change.subject) } td { (said(&change.before)) } td { (said(&change.now)) } } }
}
