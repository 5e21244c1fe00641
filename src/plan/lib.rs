//! Plans: which part of a statement is private, how much one unit can change, and what that costs.
//!
//! No I/O. A relation is public, private (each row belongs to exactly one unit) or released. Each maximal aggregate
//! over a private relation becomes a [`Release`]; everything above it is post-processing. What fits no rule is
//! refused here, before the backend hears of the statement.
//!
//! [`plan`] is these passes, in this order:
//!
//! | pass | from → to | what holds after it |
//! |---|---|---|
//! | `free::plan` | statement → plan | a statement that needs no private row has its plan |
//! | `cut::look` | statement → kinds, sites of rules | of each SELECT over private rows it is known whether it is grouped by the unit |
//! | `normalise::apply` | statement → statement | no rule matches; each application is charged to the statement's account, which ends |
//! | `cut::cut` | statement → releases, stages | nothing above a release is private; each release has one owner (`cut::Cut::holds`) |
//! | `price::of` | releases → plan | each release that reads rows has its noise, and the charge covers all of them |
//! | `price::accuracy::priced` | plan → plan | the price is the least that reaches the accuracy that was asked for |
//!
//! Debug builds check what holds of relations, cuts and plans (`invariant`).
//!
//! Facts that are missing on the way ([`Missing`]) are noted, and the pass goes on: all of them are asked for at once.
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
mod invariant;
pub mod noise;
pub mod normalise;
mod own;
mod planned;
pub mod price;
pub mod profiled;
pub mod quantile_ends;
pub mod reach;
mod refusals;
pub mod release;
mod settings;
mod stop;
pub mod stream;
mod syntax;
pub mod words;

pub use aggregates::{Output, Part, PartKind};
pub use bound::bounding::Bounding;
pub use cut::grouping_sets::GroupingSets;
pub use facts::public_rows::PublicRows;
pub use facts::{Missing, PlanError, Size, Sizes};
pub use free::with_rows;
pub use groups::key::Key;
pub use own::given::Stage;
pub use planned::{Free, Plan, Question, Reached, Unsure};
pub use quantile_ends::Ends;
pub use release::Release;
pub use settings::{Accuracy, Settings, UTC};

use facts::Facts;
use invariant::checked;
use policy::Policy;
use sql::ast::Statement;
use stop::Stop;

/// Plans a resolved statement, which rules may write in another way, in its place. `sizes` holds the known numbers of values of
/// public columns.
///
/// # Errors
/// It is refused, or facts are needed first, for the statement as it is then.
pub fn plan(
    statement: &mut Statement,
    policy: &Policy,
    settings: &Settings,
    sizes: &Sizes,
) -> Result<Plan, PlanError> {
    if let Some(free) = free::plan(statement, policy) {
        return Ok(free);
    }
    let facts = Facts::new(sizes);
    loop {
        let look = normalised(statement, policy, settings, &facts)?;
        let own = Settings { ends: settings.ends.of(&statement.query), ..settings.clone() };
        let cut = statement.spend.uncharged(|| cut::cut(statement, policy, &own, &facts, look));
        match facts.complete(cut)? {
            Ok(cut) => {
                let plan = price::of(statement, cut, &own)?;
                return price::accuracy::priced(plan, policy, settings).map(checked);
            }
            Err(Stop::Refused(refused)) => return Err(PlanError::Refused(refused)),
            Err(Stop::Cap(cap)) => normalise::apply(statement, vec![Box::new(cap)], policy, &facts)?,
        }
    }
}

/// Applies rules until none matches. Each time is charged to the statement's account, which ends. Gives what was seen of the
/// statement as it is then.
fn normalised(
    statement: &mut Statement,
    policy: &Policy,
    settings: &Settings,
    facts: &Facts<'_>,
) -> Result<cut::Look, PlanError> {
    loop {
        let look = statement.spend.uncharged(|| cut::look(statement, policy, settings, facts));
        let mut look = facts.complete(look)?;
        match std::mem::take(&mut look.matches) {
            matches if matches.is_empty() => return Ok(look),
            matches => normalise::apply(statement, matches, policy, facts)?,
        }
    }
}
