//! A starter policy from a schema: `noisegate init`.
//!
//! Definitions in, TOML with comments out. [`starter`] is a function of what the catalogs say and does no I/O; only
//! [`catalog`] asks the database, and it reads no row of any table. What a human must decide is marked `TODO`, and the
//! file is a valid policy without it: nothing is public that was not named so, and no range is guessed.

mod budgets;
pub mod catalog;
mod column;
mod grants;
mod identify;
mod scope;
mod table;
mod text;
mod way;

pub use budgets::BEFORE;
pub use catalog::Catalog;
pub use scope::{InitError, Options};

use budgets::Budgets;
use scope::Scope;
use text::comment;
pub(crate) use text::quote;
use way::{Placed, Why};

/// A starter, and how much is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The policy.
    pub policy: String,
    /// Private tables.
    pub private: usize,
    /// Public tables.
    pub public: usize,
    /// Tables that are commented out.
    pub left_out: usize,
}

/// Writes a policy for a schema.
///
/// # Errors
/// The unit is no key of a table, or a name is not there: each with what to write instead.
pub fn starter(catalog: &Catalog, options: &Options) -> Result<Starter, InitError> {
    let scope = Scope::new(catalog, options)?;
    let budgets = Budgets::keeping(options.at_most).ok_or_else(|| {
        let why = format!(
            "--at-most {}: no answer keeps such a promise; write a number above {BEFORE}",
            options.at_most
        );
        InitError(why)
    })?;
    let placed = way::place(&scope);
    let mut out = head(&scope, options, &budgets);
    let (mut private, mut public, mut left_out) = (0, 0, 0);
    for i in order(&scope, &placed) {
        let Some(relation) = scope.relations.get(i) else { continue };
        out.push('\n');
        match placed.get(i) {
            Some(Placed::Private { .. }) => private += 1,
            Some(Placed::Public) => public += 1,
            _ => left_out += 1,
        }
        out.push_str(&table::section(relation, i, &scope, &placed));
    }
    out.push_str(&grants::comments(&scope, &placed));
    Ok(Starter { policy: out, private, public, left_out })
}

/// The unit's table, then private ones by distance, public ones, and those that are left out.
fn order(scope: &Scope<'_>, placed: &[Placed]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scope.relations.len())
        .filter(|i| !matches!(placed.get(*i), Some(Placed::Not(Why::Partition))))
        .collect();
    order.sort_by_key(|i| match placed.get(*i) {
        _ if *i == scope.unit.0 => (0, 0, *i),
        Some(Placed::Private { ways }) => (1, ways.first().map_or(0, |w| w.length), *i),
        Some(Placed::Public) => (2, 0, *i),
        _ => (3, 0, *i),
    });
    order
}

/// Everything before the tables.
fn head(scope: &Scope<'_>, options: &Options, budgets: &Budgets) -> String {
    let (table, column) = (scope.unit_table().map_or("", |r| r.name.as_str()), scope.unit.1.as_str());
    let (database, address) = (url_part(&scope.catalog.database), &options.address);
    format!(
        r#"# Policy of the database {shown}, written by `noisegate init` from its catalogs; no row was read.
# Lines marked TODO need a decision of somebody who knows the data. Decide from what everybody may know, never from
# the rows: a range read off the rows tells something about the richest customer. Every key is explained in
# docs/policy.md; docs/guarantees.md says what is protected, and from whom.
#
#   noisegate check --policy FILE --write-schema    proves it against the database
#   noisegate budget create --policy FILE           makes the ledger, once
#   noisegate serve --policy FILE                   serves it

[server]
listen = ["127.0.0.1:6432"]
# TODO for clients on other machines: another address, and
# tls = {{ cert = "server.crt", key = "server.key" }}

[backend]
# Two logins, made by the statements at the end of this file. The first reads the tables below, the second can read
# public tables only. Their passwords stand in password_file (host:port:database:user:password, mode 0600), in the file
# that PGPASSFILE names, or in the URLs as ${{VARIABLE}} of the environment.
url = "postgres://noisegate@{address}/{database}"
finish_url = "postgres://noisegate_finish@{address}/{database}"
# password_file = "noisegate.pgpass"

[ledger]
# Where it is kept what was spent. Back it up, and never restore an old copy: that would forget spending.
url = "sqlite:noisegate.db"

[privacy]
# Who is protected: all rows of one value of this column, in all tables together.
unit = {unit}

[statement]
# What one statement costs and may touch, unless a session says otherwise.
epsilon = 0.1      # the price. Noise has the scale (what one unit can change) / epsilon: half the price, twice the noise
delta = 1e-9       # spent when groups are private: the chance that a group of one unit alone is shown
max_groups = 4     # private groups that one unit may touch; its others are dropped at random
max_rows = 8       # rows of a unit in a private group; times max_groups in all groups; a unit with more is scaled down

[answers]
round = true       # averages and ratios are shown to the digit that their 95 % interval supports

# The guarantee: all answers together, to everybody, cost at most this. Whoever suspects with {BEFORE} % that somebody is in
# the data becomes at most {at_most} % sure of it, but for a chance of one in 10,000: `noisegate init --at-most` proposes the
# total for another promise. It pays for {all} plain counts at [statement] epsilon, or {halves} at half of it.
[[budget]]
name = "everyone"
accounting = {notion:<9} # how prices add up, so that most fit; "pure" knows epsilon alone, and allows no private groups
epsilon = {epsilon:<12.1} # TODO the total, by the promise that you make
delta = 1e-6           # TODO the chance that this fails: well below one over the number of units

# A quota: how much of it each user may spend in a calendar month, {each} plain counts. What the months tell adds up;
# "everyone" bounds it.
[[budget]]
name = "analyst"
per = "user"
window = "month"
accounting = {notion}
epsilon = {quota}
delta = 1e-6

# TODO who may log in. `noisegate passwd ada --role research` asks for a password and prints such an entry.
# [[user]]
# name = "ada"
# role = "research"
# scram = "SCRAM-SHA-256$…"

# The tables that exist for analysts, and of private tables the columns. What is not named here does not exist for them.
#   range = [low, high]   what a sum or an average of the column needs; values outside count as the nearest end
#   grid = step           the step that sums are counted in
#   values = […]          the public values: all of them come back as groups, and cost no delta
#   references = "t.c"    the public values are those of a column of a public table
#   {{}}                    usable; as a group key its values are private: shown where enough units are in a group
"#,
        shown = comment(&scope.catalog.database),
        unit = quote(&format!("{table}.{column}")),
        at_most = options.at_most,
        all = budgets.questions(budgets.all, 10),
        halves = budgets.questions(budgets.all, 20),
        each = budgets.questions(budgets.each, 10),
        notion = quote(budgets.notion.word()),
        epsilon = f64::from(budgets.all) / 10.0,
        quota = f64::from(budgets.each) / 10.0,
    )
}

/// A part of a URL: bytes that could mean something else there are escaped.
fn url_part(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests;
