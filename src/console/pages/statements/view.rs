//! The part of the statements that a visitor looks at: whose, how they ended, and how far back.

use crate::words::number;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use record::Outcome;
use serde::Deserialize;

/// Rows of a list on one page.
const ROWS: usize = 50;
/// Characters of a user's name.
const LONGEST: usize = 128;

/// Fields of the page's address, as anybody may write them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    user: String,
    ended: String,
    latest: String,
    answers: String,
    refresh: String,
}

impl Asked {
    /// Whether the page is to be loaded again by itself.
    pub fn refresh(&self) -> bool {
        self.refresh == "on"
    }
}

/// The end that is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    /// Any but that of a setting.
    Usual,
    /// Any.
    Any,
    /// This one.
    As(Outcome),
}

/// A list of the page; each has pages of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum List {
    /// Statements that ran in this proxy.
    Latest,
    /// Answers by the ledger.
    Answers,
}

impl List {
    fn word(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::Answers => "answers",
        }
    }
}

/// The part that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    user: Option<String>,
    ended: Ended,
    /// Pages of both lists, the first of which is 0; None where everything stands on one.
    pages: Option<[usize; 2]>,
}

impl View {
    /// Everything on one page.
    pub const WHOLE: Self = Self { user: None, ended: Ended::Usual, pages: None };

    /// The view that an address asks for; None where it is none of this page's.
    pub fn of(asked: &Asked) -> Option<Self> {
        if asked.user.chars().count() > LONGEST {
            return None;
        }
        let ended = match &*asked.ended {
            "" => Ended::Usual,
            "any" => Ended::Any,
            word => Ended::As(Outcome::ALL.into_iter().find(|o| o.word() == word)?),
        };
        let page = |text: &str| match text {
            "" => Some(0),
            text => text.parse::<u16>().ok()?.checked_sub(1).map(usize::from),
        };
        let user = Some(asked.user.clone()).filter(|user| !user.is_empty());
        Some(Self { user, ended, pages: Some([page(&asked.latest)?, page(&asked.answers)?]) })
    }

    /// Whether nothing is left out by who asked or how it ended.
    pub fn is_usual(&self) -> bool {
        self.user.is_none() && self.ended == Ended::Usual
    }

    /// Whether a list is looked at from its beginning.
    pub fn is_first(&self, list: List) -> bool {
        self.page(list).is_none_or(|page| page == 0)
    }

    /// Whether a statement of a user that ended so is looked for.
    pub fn has(&self, user: &str, outcome: Option<Outcome>) -> bool {
        self.is_of(user)
            && match self.ended {
                Ended::Usual => outcome != Some(Outcome::Session),
                Ended::Any => true,
                Ended::As(wanted) => outcome == Some(wanted),
            }
    }

    /// Whether a user's statements are looked for.
    pub fn is_of(&self, user: &str) -> bool {
        self.user.as_deref().is_none_or(|wanted| wanted == user)
    }

    /// Whether settings are left out, and may be asked for.
    pub fn folds_settings(&self) -> bool {
        self.ended == Ended::Usual && self.pages.is_some()
    }

    fn page(&self, list: List) -> Option<usize> {
        self.pages.map(|[latest, answers]| match list {
            List::Latest => latest,
            List::Answers => answers,
        })
    }

    /// The rows of a list that stand on its page, and links to those before and after.
    pub fn cut<T>(&self, list: List, rows: Vec<T>) -> (Vec<T>, Markup) {
        let Some(page) = self.page(list) else { return (rows, Markup::default()) };
        let all = rows.len();
        // A page that lies behind the last one is the last one: rows may be fewer than they were.
        let page = page.min(all.saturating_sub(1) / ROWS);
        let rows: Vec<T> = rows.into_iter().skip(page * ROWS).take(ROWS).collect();
        let (first, last) = (page * ROWS + 1, page * ROWS + rows.len());
        let to = |page: usize| format!("{}#{}", self.address(list, page), list.word());
        let links = html! {
            @if all > ROWS {
                p class="pages" {
                    (number(first as u128)) " to " (number(last as u128)) " of " (number(all as u128)) "."
                    @if page > 0 { " " a href=(to(page - 1)) { "Newer" } }
                    @if last < all { " " a href=(to(page + 1)) { "Older" } }
                }
            }
        };
        (rows, links)
    }

    /// The query of the same view, without what is usual.
    pub fn query(&self) -> String {
        let [latest, answers] = self.pages.unwrap_or_default();
        let page = |n: usize| if n == 0 { String::new() } else { (n + 1).to_string() };
        let ended = match self.ended {
            Ended::Usual => "",
            Ended::Any => "any",
            Ended::As(outcome) => outcome.word(),
        };
        let user = self.user.as_deref().unwrap_or_default();
        let fields =
            [("user", user), ("ended", ended), ("latest", &page(latest)), ("answers", &page(answers))]
                .map(|(name, value)| (name, utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()));
        let written = fields.iter().filter(|(_, value)| !value.is_empty());
        written.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }

    /// The address of another page of a list.
    fn address(&self, list: List, page: usize) -> String {
        let mut there = self.clone();
        if let Some([latest, answers]) = &mut there.pages {
            *(if list == List::Latest { latest } else { answers }) = page;
        }
        there.link()
    }

    fn link(&self) -> String {
        match self.query() {
            query if query.is_empty() => "/statements".into(),
            query => format!("/statements?{query}"),
        }
    }

    /// The address of the same with settings.
    pub fn with_settings(&self) -> String {
        Self { ended: Ended::Any, ..self.clone() }.link()
    }

    /// The form by which a visitor chooses, among these users.
    pub fn form(&self, users: &[&str]) -> Markup {
        let option = |value: &str, text: &str, chosen: bool| {
            html! { option value=(value) selected[chosen] { (text) } }
        };
        html! {
            form class="choose" method="get" action="/statements" {
                label for="user" { "Of" }
                select id="user" name="user" {
                    (option("", "everybody", self.user.is_none()))
                    @for user in users { (option(user, user, self.user.as_deref() == Some(*user))) }
                    // One who asked nothing yet is told so.
                    @if let Some(user) = self.user.as_deref().filter(|user| !users.contains(user)) { (option(user, user, true)) }
                }
                label for="ended" { "that ended as" }
                select id="ended" name="ended" {
                    (option("", "anything but settings", self.ended == Ended::Usual))
                    (option("any", "anything", self.ended == Ended::Any))
                    @for outcome in Outcome::ALL { (option(outcome.word(), word(outcome), self.ended == Ended::As(outcome))) }
                }
                button { "Show" }
                @if !self.is_usual() { a href="/statements" { "Show all" } }
            }
        }
    }
}

/// An outcome, to somebody who reads it for the first time.
pub(super) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Fresh => "paid for",
        Outcome::Repeated => "given again, free",
        Outcome::Free => "free",
        Outcome::Public => "about public tables",
        Outcome::Synthetic => "made up",
        Outcome::Passthrough => "exact, without privacy",
        Outcome::Explained => "explained",
        Outcome::Session => "setting",
        Outcome::Refused => "refused",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn asked(user: &str, ended: &str, latest: &str) -> Asked {
        Asked { user: user.into(), ended: ended.into(), latest: latest.into(), ..Asked::default() }
    }

    #[test]
    fn an_address_is_a_view_or_is_refused() {
        let usual = View::of(&asked("", "", "")).unwrap();
        assert!(usual.is_usual() && usual.query().is_empty());
        assert!(usual.has("ada", Some(Outcome::Fresh)) && !usual.has("ada", Some(Outcome::Session)));
        let refused = View::of(&asked("ada & <b>", "refused", "3")).unwrap();
        assert!(
            refused.has("ada & <b>", Some(Outcome::Refused)) && !refused.has("bo", Some(Outcome::Refused))
        );
        assert_eq!(refused.query(), "user=ada%20%26%20%3Cb%3E&ended=refused&latest=3");
        assert!(View::of(&asked("", "any", "")).unwrap().has("bo", Some(Outcome::Session)));
        for (user, ended, page) in
            [("", "nonsense", ""), ("", "", "0"), ("", "", "-1"), ("", "", "x"), (&*"a".repeat(129), "", "")]
        {
            assert_eq!(View::of(&asked(user, ended, page)), None, "{ended} {page}");
        }
    }

    #[test]
    fn every_row_is_on_one_page_and_links_lead_to_both_sides() {
        let rows: Vec<usize> = (0..120).collect();
        let mut seen = Vec::new();
        for page in ["1", "2", "3"] {
            let (part, links) = View::of(&asked("bo", "", page)).unwrap().cut(List::Latest, rows.clone());
            let links = links.into_string();
            assert_eq!((links.contains("Newer"), links.contains("Older")), (page != "1", page != "3"));
            assert!(page != "2" || links.contains("51 to 100 of 120."), "{links}");
            assert!(page != "2" || links.contains("/statements?user=bo&amp;latest=3#latest"), "{links}");
            seen.extend(part);
        }
        assert_eq!(seen, rows);
        // Behind the last page there is the last one, and short lists have no links.
        assert_eq!(View::of(&asked("", "", "99")).unwrap().cut(List::Latest, rows.clone()).0.len(), 20);
        let (few, links) = View::of(&asked("", "", "")).unwrap().cut(List::Answers, vec![1, 2]);
        assert!(few.len() == 2 && links.into_string().is_empty());
        assert_eq!(View::WHOLE.cut(List::Latest, rows).0.len(), 120);
    }
}
