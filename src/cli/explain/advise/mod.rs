//! `noisegate explain advise --policy F queries.sql`: what a policy's budgets buy of a file of statements, what each costs and how wrong it
//! will be, what is refused, which answers others would share, and which fact of the policy would help most.
//!
//! By itself it plans: no database is asked, and nothing depends on a row. `findings` looks, `helps` plans anew with one fact
//! changed, `text` and `html` print. What error each number is expected to have depends on how many people there are: `magnitudes`
//! is told, or has the proxy asked for a price, and `expected` asks made-up rows of that number.

mod args;
mod expected;
mod findings;
mod helps;
mod html;
mod magnitudes;
mod text;

use crate::cli::args::Format;
use crate::cli::file;
use crate::cli::offline::{self, Chosen, Offline};
use crate::cli::print::{pretty, say};
use crate::cli::stack::with_stack;
pub use args::Args;
use findings::Findings;
use magnitudes::{Magnitudes, with_parents};
use std::error::Error;

/// Says it.
///
/// # Errors
/// The policy, its snapshot or the file cannot be read, or the file is no SQL; where errors are expected of made-up rows, the policy
/// cannot be served, or the proxy does not answer.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let sql = file::text(&args.queries)?;
    let (offline, mut found) = with_stack(|| {
        let offline = Offline::read(&args.offline, &Chosen::default())?;
        let found = Findings::of(&sql, &offline).map_err(|e| offline::told(&e, &sql))?;
        Ok((offline, found))
    })?;
    let (policy, tables) = (&offline.policy, with_parents(found.tables.iter().copied(), &offline.policy));
    if let Some(of) = Magnitudes::of(args, policy, &tables).await? {
        let asked = expected::ask(
            args.offline.policy.policy.clone(),
            policy.tables.iter().map(|t| t.profile.clone()).collect(),
            of.sizes.clone(),
            found.epsilon.clone(),
            found.priced(),
        );
        // Planning recurses, and the program's own thread has a small stack.
        let asked = tokio::spawn(asked).await.map_err(|_| "the statements could not be asked")??;
        found.expect(&of, policy, &tables, asked);
    }
    let text = match args.format {
        Format::Text => text::print(&found),
        Format::Json => pretty(&found.object()),
        Format::Html => html::print(&found).into_string(),
    };
    Ok(say(&text)?)
}
