//! What of a statement is private, and what it costs: private relational algebra and releases.
//!
//! No I/O. A relation is public, private (each row belongs to exactly one unit) or released. Each maximal aggregate
//! over a private relation becomes a [`Release`]; everything above it is post-processing. What fits no rule is
//! refused here, before the backend hears of the statement.
//!
//! Folders stand in the order in which they use each other, and no import runs up, but between `expr` and `algebra` (`tests/layers`):
//!
//! | folder | what it does |
//! |---|---|
//! | `syntax` | questions about a statement as it is written |
//! | `facts` | what PostgreSQL is asked for before there can be a plan: types, rows, sizes |
//! | `normalise` | rules that write it in another way, which means the same |
//! | `expr`, `algebra` | expressions over one row, and relations whose rows belong to units |
//! | `own` | from FROM and WHERE to relations of which each row has one owner |
//! | `groups`, `bound` | which groups come back; how much one unit can change |
//! | `noise` | what noise does to numbers that are computed from it |
//! | `aggregates` | a table: what is released of each aggregate, how the answer follows from it, and how far off it is |
//! | `release` | a private relation with its groups, and all that is released of them |
//! | `cut` | where the border between private and released lies |
//! | `reach`, `price` | how far noise reaches above it; the noise, and its charge |
//! | `explain`, `stream` | all of that in words; questions to a sparse vector stream |

pub mod aggregates;
pub mod algebra;
pub mod bound;
pub mod cut;
pub mod explain;
pub mod expr;
pub mod facts;
mod free;
mod groups;
pub mod noise;
pub mod normalise;
mod own;
mod planned;
pub mod price;
pub mod quantile_ends;
pub mod reach;
mod refusals;
pub mod release;
mod settings;
pub mod stream;
mod syntax;
pub mod words;

pub use aggregates::{Output, Part, PartKind};
pub use bound::bounding::Bounding;
pub use cut::grouping_sets::GroupingSets;
pub use facts::public_rows::PublicRows;
pub use facts::{PlanError, Size, Sizes};
pub use free::with_rows;
pub use groups::key::Key;
pub use own::given::Stage;
pub use planned::{Free, Plan, Question, Reached};
pub use quantile_ends::Ends;
pub use release::Release;
pub use settings::{Accuracy, Settings, UTC};

use facts::Counts;
use policy::Policy;
use sql::ast::Statement;

/// Plans a resolved statement. What fits no rule as it stands, and can be written in another way, is written so, in its place.
/// `sizes` holds the known numbers of values of public columns.
///
/// # Errors
/// It is refused, or a fact is needed first, for the statement as it is then.
pub fn plan(
    statement: &mut Statement,
    policy: &Policy,
    settings: &Settings,
    sizes: &Sizes,
) -> Result<Plan, PlanError> {
    loop {
        let taken = statement.spend.taken();
        let planned = match attempt(statement, policy, settings, sizes) {
            Ok(Attempt::Anew(new)) => {
                // Each time is charged to the statement's account, which ends.
                *statement = *new;
                continue;
            }
            Ok(Attempt::Planned(plan)) => Ok(*plan),
            Err(e) => Err(e),
        };
        // What is planned again, with a fact more or for another price, is not charged twice.
        statement.spend.back_to(taken);
        return planned;
    }
}

/// What comes of a statement as it stands.
enum Attempt {
    /// Its plan.
    Planned(Box<Plan>),
    /// It fits no rule; this one means the same.
    Anew(Box<Statement>),
}

fn attempt(
    statement: &Statement,
    policy: &Policy,
    settings: &Settings,
    sizes: &Sizes,
) -> Result<Attempt, PlanError> {
    if let Some(free) = free::plan(statement, policy) {
        return Ok(Attempt::Planned(Box::new(free)));
    }
    let own = Settings { ends: settings.ends.of(&statement.query), ..settings.clone() };
    let (counts, mut otherwise) = (Counts::new(sizes), None);
    let cut = cut::cut(statement, policy, &own, &counts, &mut otherwise);
    match counts.complete(cut)?.and_then(|cut| price::of(statement, cut, &own)) {
        Ok(plan) => Ok(Attempt::Planned(Box::new(price::accuracy::priced(plan, policy, settings)?))),
        Err(e) => match otherwise.map(|o| o.written(statement, policy)).transpose()?.flatten() {
            Some(new) => Ok(Attempt::Anew(Box::new(new))),
            None => Err(e),
        },
    }
}
