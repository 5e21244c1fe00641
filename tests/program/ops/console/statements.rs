//! The page of statements: fifty at a time, by user and by how they ended, with settings of sessions folded away.

use super::super::text;
use super::{Browser, console, keeps_to_itself};
use crate::city::{PASSWORD, bikes};
use crate::support::{Workdir, psql};

/// Rows of the list of what ran.
fn latest(body: &str) -> usize {
    let list = body.split_once("<h2 id=\"latest\">").unwrap().1.split_once("</section>").unwrap().0;
    list.matches("(session ").count()
}

#[tokio::test]
async fn statements_come_by_the_page_of_whom_and_as_they_ended() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada", "bo"], &console(&[("owner", "owner")])));
    let gate = dir.serve().await;
    let settings = "SET application_name = 'a';\n".repeat(120);
    for (user, sql) in [
        ("ada", "SELECT count(*) FROM riders"),
        ("ada", settings.as_str()),
        ("bo", "SELECT fare FROM trips"),
        ("bo", "SELECT count(*) FROM stations"),
    ] {
        psql(&gate.url(user, &PASSWORD.replace(' ', "%20"), "bikes"), sql).await;
    }
    let mut browser = Browser::at(&gate);
    browser.log_in("owner", PASSWORD).await;
    let page = browser.get("/statements").await;
    keeps_to_itself(&page);
    assert_eq!(latest(&page.body), 3, "{}", page.body);
    assert!(page.body.contains("Without 120 settings of sessions"), "{}", page.body);
    assert!(
        page.body.contains("<a href=\"/statements?ended=any#latest\">show these, too</a>"),
        "{}",
        page.body
    );

    // Everything is on one of three pages.
    let mut seen = Vec::new();
    let mut at = "/statements?ended=any".to_owned();
    loop {
        let page = browser.get(&at).await;
        keeps_to_itself(&page);
        seen.push(latest(&page.body));
        let older =
            page.body.split_once("\">Older</a>").map(|(before, _)| before.rsplit_once("href=\"").unwrap().1);
        let Some(older) = older else { break };
        at = older.split_once('#').unwrap().0.replace("&amp;", "&");
    }
    assert_eq!((seen, at.as_str()), (vec![50, 50, 23], "/statements?ended=any&latest=3"));
    assert!(browser.get("/statements?ended=any&latest=2").await.body.contains("51 to 100 of 123."));

    for (query, rows) in [
        ("user=bo", 2),
        ("user=bo&ended=refused", 1),
        ("user=ada&ended=fresh", 1),
        ("ended=session", 50),
        ("user=nobody", 0),
        // What a form sends of fields that nobody filled in.
        ("user=&ended=&latest=&answers=", 3),
    ] {
        let page = browser.get(&format!("/statements?{query}")).await;
        assert_eq!((page.status, latest(&page.body)), (200, rows), "{query}: {}", page.body);
    }
    // A refresh stays with what is looked at.
    let page = browser.get("/statements?user=bo&refresh=on").await;
    assert!(page.body.contains("http-equiv=\"refresh\""), "{}", page.body);
    assert!(page.body.contains("<a href=\"/statements?user=bo\">Stop refreshing</a>"), "{}", page.body);
    // Whatever is written there is no markup, and what is no part of the page is refused.
    let page = browser.get("/statements?user=%22%3E%3Cscript%3E").await;
    keeps_to_itself(&page);
    for wrong in ["ended=nonsense", "latest=0", "latest=-1", "latest=x", "user=a&user=b"] {
        let page = browser.get(&format!("/statements?{wrong}")).await;
        assert!(page.status == 400 && page.body.contains("Not understood"), "{wrong}: {}", page.body);
    }
}
