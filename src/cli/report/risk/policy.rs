//! Protection of a table by a policy, and its gaps, in sentences.

use super::words::listed;
use ::policy::{Budget, Domain, Mode, Policy, Privacy, Scope, Table};
use ::risk::Asked;
use bigdecimal::ToPrimitive;
use console::meaning::Meaning;
use console::told;
use console::words::{at_most, one_in};
use serde_json::{Value, json};

/// How sure somebody is beforehand, in the sentence on what a budget means.
const BEFORE: f64 = 0.1;

/// Protection of a table by a policy.
pub(super) struct Protection {
    /// Sentences about what it would protect.
    pub protects: Vec<String>,
    /// Sentences about what it would not protect.
    pub leaves: Vec<String>,
    /// Words about what analysts get of each column that was looked at.
    pub columns: Vec<(String, String)>,
}

impl Protection {
    pub fn of(policy: &Policy, schema: &str, name: &str, asked: &Asked) -> Self {
        let Some(table) = policy.tables.iter().find(|t| t.schema == schema && t.name == name) else {
            return Self {
                protects: vec![
                    "Nobody can ask about this table through noisegate: the policy does not name it.".into(),
                ],
                leaves: vec![OTHER_WAYS.into()],
                columns: Vec::new(),
            };
        };
        let looked_at = asked.quasi.iter().chain(asked.sensitive.iter().map(|c| &c.name));
        let columns = looked_at.map(|name| (name.clone(), column(name, table, policy))).collect();
        let (protects, leaves) = match &table.privacy {
            Privacy::Public => (Vec::new(), vec![PUBLIC.into(), OTHER_WAYS.into()]),
            Privacy::Private { .. } | Privacy::Path(_) => {
                (protects(policy, table, asked), leaves(policy, table, asked))
            }
        };
        Self { protects, leaves, columns }
    }

    pub fn object(&self) -> Value {
        let columns = self.columns.iter().map(|(name, said)| json!({ "column": name, "analysts_get": said }));
        json!({ "protects": self.protects, "does_not_protect": self.leaves, "columns": columns.collect::<Vec<_>>() })
    }
}

const PUBLIC: &str = "The policy calls the table public: whoever may log in reads its rows as they are, with every risk above.";
const OTHER_WAYS: &str =
    "Whoever reads the database in another way than through noisegate: other logins, copies, exports.";

fn column(name: &str, table: &Table, policy: &Policy) -> String {
    match table.column(name) {
        Some(column) => told::column(column, table, policy),
        None => "Nothing: it does not exist for them.".into(),
    }
}

/// Budgets that everybody shares and that pay for questions about the table.
fn shared<'a>(policy: &'a Policy, table: &'a Table) -> impl Iterator<Item = &'a Budget> {
    let pays =
        |b: &&Budget| b.scope == Scope::Dataset && (b.tables.is_empty() || b.tables.contains(&table.name));
    policy.budgets.iter().filter(pays)
}

fn protects(policy: &Policy, table: &Table, asked: &Asked) -> Vec<String> {
    let mut said = vec![format!(
        "No row leaves, and nobody is looked up by {}, however few share them: answers are aggregates with noise, and are as safe for \
         who is unique as for everybody else.",
        listed(&asked.quasi)
    )];
    for budget in shared(policy, table) {
        let float = |d: &bigdecimal::BigDecimal| d.to_f64().unwrap_or(f64::INFINITY);
        let meaning = Meaning::of(float(&budget.epsilon), float(&budget.delta));
        let chance = meaning.chance();
        let but =
            if chance > 0.0 { format!(", but for a chance of {}", one_in(chance)) } else { String::new() };
        let period = if budget.window.is_some() { "in one period" } else { "ever" };
        said.push(format!(
            "Whoever was 10 % sure of something about one {}, such as {}, can become at most {} sure from all answers that the budget {:?} \
             can {period} pay for{but}.",
            policy.unit_name(),
            match asked.sensitive.first() {
                Some(column) => format!("their {}", column.name),
                None => "that they are in the table".into(),
            },
            at_most(meaning.suspicion(BEFORE).most),
            budget.name,
        ));
    }
    said
}

fn leaves(policy: &Policy, table: &Table, asked: &Asked) -> Vec<String> {
    let mut said = Vec::new();
    let exact = policy.roles.iter().filter(|r| r.mode == Mode::Passthrough).map(|r| r.name.clone());
    let exact: Vec<String> = exact.collect();
    if !exact.is_empty() {
        said.push(format!(
            "Users of the role {} are answered exactly, without any protection.",
            listed(&exact)
        ));
    }
    let mut any = false;
    for budget in shared(policy, table) {
        any = true;
        if budget.window.is_some() {
            said.push(format!(
                "The budget {:?} starts anew again and again: what is promised is promised for one period, and periods add up.",
                budget.name
            ));
        }
    }
    if !any {
        said.push(
            "No budget that pays for this table is shared by everybody: what all users learn together has no bound.".into(),
        );
    }
    let values: Vec<String> = asked
        .quasi
        .iter()
        .chain(asked.sensitive.iter().map(|c| &c.name))
        .filter(|name| {
            matches!(
                table.column(name).map(|c| &c.domain),
                Some(Some(Domain::Values(_) | Domain::References { .. }))
            )
        })
        .cloned()
        .collect();
    if !values.is_empty() {
        said.push(format!(
            "Which values {} can have is told to everybody: the policy calls them public.",
            listed(&values)
        ));
    }
    if let Some(by) = asked.unit.as_deref().filter(|by| table.unit_column().is_some_and(|u| u != *by)) {
        said.push(format!(
            "This report tells people apart by {by}; the policy protects whom {} names.",
            policy.unit_name()
        ));
    }
    said.push(format!(
        "What is true of many: if most people who share {} have the same {}, answers say so, and it may be guessed of each, whether \
         their row is there or not.",
        listed(&asked.quasi),
        asked.sensitive.first().map_or("value", |c| c.name.as_str()),
    ));
    said.push(format!(
        "More than one {}: of a family, or somebody with several of them, more can be learned together.",
        policy.unit_name()
    ));
    said.push(OTHER_WAYS.into());
    said
}
