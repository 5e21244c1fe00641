//! The policy in sentences: whose rows a table holds, what a column lets out, what users and streams get. Pages show them, and
//! two policies are compared by them.

use crate::words::{count, number};
use policy::{AccessRule, Cache, Column, Domain, Mode, Network, Policy, Privacy, Range, Stream, Table, User};
use schema::{SqlType, time};

/// Values of a list that are shown.
const SHOWN: usize = 12;

/// A type as people call it.
pub fn kind(ty: &SqlType) -> String {
    match ty {
        SqlType::Bool => "yes or no",
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => "whole number",
        SqlType::Numeric { .. } | SqlType::Float4 | SqlType::Float8 => "number",
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar => "text",
        SqlType::Date => "date",
        SqlType::Timestamp | SqlType::Timestamptz => "date and time",
        SqlType::Time => "time of day",
        SqlType::Interval => "length of time",
        SqlType::Uuid => "identifier",
        SqlType::Inet | SqlType::Cidr => "network address",
        SqlType::Enum { .. } => "one of a list",
        SqlType::Other { name, .. } => name,
    }
    .to_owned()
}

/// Whose rows a table holds, and how many of one person count.
pub fn table(table: &Table, policy: &Policy) -> Vec<String> {
    let mut said = Vec::new();
    match &table.privacy {
        Privacy::Public if table.published => {
            said.push(
                "A view whose rows its owner has published: anybody who may log in reads them as they are."
                    .into(),
            );
        }
        Privacy::Public => {
            said.push("Anybody who may log in reads it as it is, and it costs nothing.".into())
        }
        Privacy::Private { unit, nullable, .. } => {
            said.push(format!("Each row belongs to whom its {unit} names."));
            if *nullable {
                said.push("Rows that name nobody are left out.".into());
            }
        }
        Privacy::Path(path) => {
            let parent = policy.tables.get(path.table).map_or("", |t| t.name.as_str());
            let by = path.columns.join(" and ");
            said.push(format!("Each row belongs to whom its row of {parent} belongs to, found by {by}."));
            said.push("Rows that lead to nobody are left out.".into());
        }
    }
    if table.privacy != Privacy::Public {
        said.push(rows(table, policy));
    }
    if !table.hidden.is_empty() {
        said.push(format!("Hidden from everybody: {}.", table.hidden.join(", ")));
    }
    said
}

/// How many rows of one person count.
fn rows(table: &Table, policy: &Policy) -> String {
    if let Some(n) = table.proven_rows {
        let rows = count(n.into(), "row", "rows");
        return format!("The database sees to it that nobody has more than {rows}.");
    }
    let rows = |n: u64| count(n.into(), "row", "rows");
    if let Some((profile, item)) = table.profile.as_ref().zip(table.item_of_rows()) {
        let day = time::date(profile.measured.saturating_sub(time::EPOCH));
        let (most, beyond) = (rows(item.tail.h()), item.tail.kappa().ceil());
        return format!(
            "How many rows people have was measured on {day}: each answer says how many of them count, up to {most} of a \
             person. At most {beyond} people have more, and what these have beyond is counted nowhere."
        );
    }
    let each = table.max_rows.unwrap_or(policy.statement.max_rows);
    let all = table.max_total_rows.unwrap_or(each.saturating_mul(policy.statement.max_groups));
    format!(
        "Of each person, at most {} count in an answer; whoever has more counts less for each. Nobody has measured how \
         much that leaves out: noisegate profile does.",
        rows(all.into())
    )
}

/// Words about what a column lets out.
pub fn column(column: &Column, table: &Table, policy: &Policy) -> String {
    if table.privacy == Privacy::Public {
        return "Everything.".into();
    }
    if table.unit_column() == Some(column.name.as_str()) {
        return "Only how many different people there are. It says whose a row is, and is never shown."
            .into();
    }
    let mut said = Vec::new();
    match &column.range {
        Some(Range::Number { low, high }) => {
            let (low, high) = (low.normalized().to_plain_string(), high.normalized().to_plain_string());
            said.push(format!(
                "Sums, averages and the like; what lies outside {low} to {high} counts as the nearest end."
            ));
        }
        Some(Range::Time { low, high }) => {
            let (low, high) = (moment(*low, false, &column.ty), moment(*high, true, &column.ty));
            said.push(format!("Times from {low} to {high}; what lies outside counts as the nearest end."));
        }
        None => {}
    }
    match &column.domain {
        Some(Domain::Values(values)) => {
            let mut shown = values.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
            if values.len() > SHOWN {
                shown.push_str(&format!(" and {} more", number((values.len() - SHOWN) as u128)));
            }
            said.push(format!("Groups by these values, which are no secret: {shown}."));
        }
        Some(Domain::References { table, column }) => {
            let name = policy.tables.get(*table).map_or("", |t| t.name.as_str());
            said.push(format!("Groups by the values of the public {name}.{column}."));
        }
        None => {}
    }
    if !column.paths.is_empty() {
        let members: Vec<String> = column.paths.iter().map(|p| p.written(&column.name)).collect();
        said.push(format!("Of its members only {}.", members.join(", ")));
    }
    if said.is_empty() {
        said.push(
            "Counts and filters; its values are shown as groups only where enough people share them.".into(),
        );
    }
    said.join(" ")
}

/// An end of a range of times: a day where it is the day's own end.
fn moment(at: i64, upper: bool, ty: &SqlType) -> String {
    let text = time::timestamp(at);
    let end = if upper && *ty != SqlType::Date { " 23:59:59.999999" } else { " 00:00:00" };
    text.strip_suffix(end).map_or(text.clone(), str::to_owned)
}

/// Words about the answers of a user.
pub fn user(user: &User, policy: &Policy) -> &'static str {
    let role = user.role.as_ref().and_then(|name| policy.roles.iter().find(|r| r.name == *name));
    answered(role.map_or(Mode::Private, |r| r.mode))
}

/// Words about the answers of a role's users.
pub fn answered(mode: Mode) -> &'static str {
    match mode {
        Mode::Private => "With noise, paid from the budgets.",
        Mode::Synthetic => "With made-up rows, for nothing.",
        Mode::Passthrough => "Exactly, as the database has it: without any protection.",
    }
}

/// Words about a stream.
pub fn stream(stream: &Stream) -> String {
    let numbers = if stream.variant.tells_numbers() {
        "yes comes with a rough number"
    } else {
        "yes comes without a number"
    };
    let yes = count(stream.positives.into(), "question", "questions");
    format!(
        "Tells of any number of questions whether a figure exceeds a limit, until {yes} got a yes; {numbers}."
    )
}

/// Words about who may open a stream.
pub fn admitted(stream: &Stream) -> String {
    let roles = stream.roles.iter().map(|r| format!("everybody of the role {r}"));
    let who: Vec<String> = stream.users.iter().cloned().chain(roles).collect();
    if who.is_empty() { "Everybody.".into() } else { format!("{}.", who.join(", ")) }
}

/// Words about how long answers are kept.
pub fn kept(cache: &Cache) -> String {
    if !cache.enabled {
        return "Answers are not kept: whoever asks again pays again, and gets other numbers.".into();
    }
    let mut said = match cache.refresh {
        Some(time) => format!("Answers are kept for {}", span(time.as_secs())),
        None => "Answers are kept until their owner says that the data is new".into(),
    };
    if let Some(channel) = &cache.notify {
        said.push_str(&format!(", or until the database says so on its channel {channel}"));
    }
    said.push_str(if cache.key.is_some() {
        ". They lie encrypted in the ledger."
    } else {
        ". They lie in the ledger as they were given."
    });
    said
}

/// A length of time, in its largest unit that is whole.
fn span(seconds: u64) -> String {
    let units = [(86_400, "day", "days"), (3_600, "hour", "hours"), (60, "minute", "minutes")];
    let whole = units.into_iter().find(|(n, ..)| seconds.is_multiple_of(*n) && seconds >= *n);
    let (n, one, many) = whole.unwrap_or((1, "second", "seconds"));
    count((seconds / n).into(), one, many)
}

/// A rule of who may connect.
fn access(rule: &AccessRule) -> String {
    let from = |n: &Network| match n {
        Network::Local => "this machine's sockets".to_owned(),
        Network::Inet { first, length } => format!("{first}/{length}"),
    };
    let listed = |all: Vec<String>, none: &str| if all.is_empty() { none.to_owned() } else { all.join(", ") };
    let who = rule.users.iter().cloned().chain(rule.roles.iter().map(|r| format!("the role {r}")));
    let way = match rule.tls {
        None => "",
        Some(true) => ", with TLS",
        Some(false) => ", without TLS",
    };
    format!(
        "{} from {}{way}: {}.",
        listed(who.collect(), "anybody"),
        listed(rule.from.iter().map(from).collect(), "anywhere"),
        if rule.allow { "let in" } else { "refused" }
    )
}

/// Something that a policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The key of the policy that it comes from.
    pub key: &'static str,
    /// Of what.
    pub subject: String,
    /// The fact.
    pub says: String,
}

/// All that takes effect without a restart, as sentences.
pub fn facts(policy: &Policy) -> Vec<Fact> {
    let mut all = Vec::new();
    let mut say = |key, subject: String, says: String| all.push(Fact { key, subject, says });
    for t in &policy.tables {
        say("[table]", format!("table {}", t.name), table(t, policy).join(" "));
        for c in &t.columns {
            say("[table]", format!("column {}.{}", t.name, c.name), column(c, t, policy));
        }
    }
    for v in &policy.views {
        say("[[view]]", format!("ready-made query {}", v.name), v.sql.clone());
    }
    for u in &policy.users {
        let role = u.role.as_ref().map_or(String::new(), |r| format!(" Role {r}."));
        say("[[user]]", format!("user {}", u.name), format!("{}{role}", user(u, policy)));
    }
    for r in &policy.roles {
        say("[[role]]", format!("role {}", r.name), answered(r.mode).into());
    }
    for s in &policy.streams {
        say("[[stream]]", format!("stream {}", s.name), format!("{} Open to: {}", stream(s), admitted(s)));
    }
    for (i, rule) in policy.access.iter().enumerate() {
        say("[[access]]", format!("rule {} of who may connect", i + 1), access(rule));
    }
    for u in policy.console.iter().flat_map(|c| &c.users) {
        say("[console]", format!("visitor {} of these pages", u.name), format!("As {}.", u.role.word()));
    }
    say("[cache]", "kept answers".into(), kept(&policy.cache));
    let s = &policy.statement;
    let plain = |d: &bigdecimal::BigDecimal| d.normalized().to_plain_string();
    let price = format!(
        "epsilon {}, delta {:e}, {} groups, {} rows.",
        plain(&s.epsilon),
        bigdecimal::ToPrimitive::to_f64(&s.delta).unwrap_or(f64::NAN),
        s.max_groups,
        s.max_rows
    );
    say("[statement]", "what a question costs and touches, where it does not say".into(), price);
    all
}

/// A difference between two policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Of what.
    pub subject: String,
    /// The sentence before; None when there was none.
    pub before: Option<String>,
    /// The sentence now; None when there is none any more.
    pub now: Option<String>,
}

/// Differences between a policy and the one before: in sentences, and the keys of those without
/// one.
pub fn changes(before: &Policy, now: &Policy) -> (Vec<Change>, Vec<&'static str>) {
    let (old, new) = (facts(before), facts(now));
    let says =
        |facts: &[Fact], subject: &str| facts.iter().find(|f| f.subject == subject).map(|f| f.says.clone());
    let gone = old.iter().filter(|f| says(&new, &f.subject).is_none());
    let mut told = Vec::new();
    let mut changed = Vec::new();
    for fact in new.iter().chain(gone) {
        let (before, now) = (says(&old, &fact.subject), says(&new, &fact.subject));
        if before != now {
            told.push(fact.key);
            changed.push(Change { subject: fact.subject.clone(), before, now });
        }
    }
    let besides = now.changes(before).into_iter().filter(|key| !told.contains(key)).collect();
    (changed, besides)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use std::path::Path;

    const TEXT: &str = include_str!("../../config/bikes.toml");

    fn read(text: &str) -> Policy {
        let schema = serde_json::from_str(include_str!("../../tests/policy/schema.json")).unwrap();
        policy::parse(text, "bikes.toml", Path::new(""))
            .unwrap_or_else(|e| panic!("{e}"))
            .check(&schema)
            .unwrap()
    }

    fn says(policy: &Policy, subject: &str) -> String {
        facts(policy).into_iter().find(|f| f.subject == subject).unwrap_or_else(|| panic!("{subject}")).says
    }

    #[test]
    fn a_policy_is_said_without_letters() {
        let policy = read(TEXT);
        for (subject, sentence) in [
            (
                "table riders",
                "Each row belongs to whom its rider_id names. The database sees to it that nobody has more than 1 row. Hidden from everybody: email.",
            ),
            (
                "column trips.minutes",
                "Sums, averages and the like; what lies outside 0 to 240 counts as the nearest end.",
            ),
            (
                "column trips.started_at",
                "Times from 2023-01-01 to 2025-12-31; what lies outside counts as the nearest end.",
            ),
            ("column trips.station", "Groups by the values of the public stations.station."),
            ("column riders.plan", "Groups by these values, which are no secret: day, month, year."),
            (
                "column riders.city",
                "Counts and filters; its values are shown as groups only where enough people share them.",
            ),
            ("column stations.station", "Everything."),
            ("kept answers", "Answers are kept for 1 day. They lie in the ledger as they were given."),
        ] {
            assert_eq!(says(&policy, subject), sentence, "{subject}");
        }
        let trips = says(&policy, "table trips");
        assert!(trips.contains("Of each person, at most 60 rows count in an answer;"), "{trips}");
        assert!(trips.contains("Nobody has measured how much that leaves out"), "{trips}");
        let few = read(&TEXT.replacen("max_total_rows = 60", "max_total_rows = 30", 1));
        assert!(says(&few, "table trips").contains("at most 30 rows count in an answer;"));
    }

    #[test]
    fn two_policies_differ_by_what_they_say() {
        let old = read(TEXT);
        assert_eq!(changes(&old, &read(TEXT)), (vec![], vec![]));
        let text = TEXT
            .replace("range = [0, 240]", "range = [0, 120]")
            .replace("columns.city = {}\n", "")
            .replace("# max_depth = 100", "max_depth = 99");
        let (told, besides) = changes(&old, &read(&text));
        let subjects: Vec<&str> = told.iter().map(|c| c.subject.as_str()).collect();
        assert_eq!(subjects, ["table riders", "column trips.minutes", "column riders.city"]);
        let gone = told.last().unwrap();
        assert!(gone.before.is_some() && gone.now.is_none());
        assert_eq!(besides, ["[limits]"]);
    }
}
