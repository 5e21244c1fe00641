//! Policies that are served: one, or a folder of them behind one port.

use crate::gateway::{ActiveGateway, Checked, Database, Databases, Gateway, Reached, same_books};
use policy::{LedgerLocation, Policy, RawPolicy};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A policy that is served.
pub struct Served {
    /// File of the policy, by the path that was named at the start: paths in it are relative to
    /// that folder.
    pub file: PathBuf,
    /// The gateway in force.
    pub active: Arc<ActiveGateway>,
    /// The file beside which commands find this process: the ledger when that is its own, else the
    /// policy.
    pub beside: PathBuf,
}

/// All policies of a path, read.
pub struct Policies {
    /// Policies, each with its file.
    pub list: Vec<(PathBuf, RawPolicy)>,
    /// They are of a folder, and have names.
    folder: bool,
}

/// Reads them.
pub fn load(path: &Path) -> Result<Policies, Box<dyn Error>> {
    let (files, folder) = policy::files(path)?;
    let read = files.into_iter().map(|file| policy::load(&file).map(|raw| (file, raw)));
    Ok(Policies { list: read.collect::<Result<_, _>>()?, folder })
}

/// Opens all of them, or none. The first one's settings are the listener's.
pub async fn open(policies: Policies) -> Result<(Vec<Served>, Arc<Databases>), Box<dyn Error>> {
    let Policies { list, folder } = policies;
    let mut checked: Vec<(PathBuf, Checked)> = Vec::new();
    for (file, raw) in list {
        let of = |e: crate::gateway::OpenError| {
            if folder { format!("{}: {e}", file.display()) } else { e.to_string() }
        };
        let one = Checked::new(&raw).await.map_err(of)?;
        for warning in &one.warnings {
            tracing::warn!("{}", super::reloading::one_line(warning));
        }
        checked.push((file, one));
    }
    let all: Vec<_> = checked.iter().map(|(f, c)| (f.as_path(), &c.policy, Some(&c.reached))).collect();
    agree(&all)?;
    let (mut served, mut databases): (Vec<Served>, _) = (Vec::new(), Vec::new());
    for (file, checked) in checked {
        let own = checked.policy.server.database.clone();
        let name = if folder { Some(checked.policy.database_name(&file)) } else { own };
        let beside = match checked.policy.ledger.clone() {
            LedgerLocation::Sqlite(ledger) => ledger.reveal().clone(),
            LedgerLocation::Postgres(_) => file.clone(),
        };
        let books = |s: &&Served| same_books(&s.active.current().policy().ledger, &checked.policy.ledger);
        let opened = match served.iter().find(books).map(|s| s.active.current()) {
            Some(first) => first.open_beside(checked).await,
            None => Gateway::open(checked, None),
        };
        let active = ActiveGateway::new(opened?);
        databases.push(Database { name, active: active.clone() });
        // Not the file that a link leads to: paths are relative to the folder that was named at the start.
        served.push(Served { file: std::path::absolute(&file)?, active, beside });
    }
    let mut databases = databases.into_iter();
    let first = databases.next().ok_or("no policy is to be served")?;
    Ok((served, Databases::new(first, databases.collect())))
}

/// Checks that policies behind one port agree where they must, and share nothing that they must
/// not.
pub fn agree(policies: &[(&Path, &Policy, Option<&Reached>)]) -> Result<(), String> {
    let Some(((file, first, _), others)) = policies.split_first() else { return Ok(()) };
    let mut wrong = String::new();
    for (other, policy, _) in others {
        let unlike = policy.unlike(first);
        if !unlike.is_empty() {
            let (other, file) = (other.display(), file.display());
            let _ = writeln!(wrong, "{other}: {} must be as in {file}: they share a port", unlike.join(", "));
        }
    }
    for (i, (file, policy, reached)) in policies.iter().enumerate() {
        let Some(before) = policies.get(..i) else { continue };
        let name = policy.database_name(file);
        for (other, earlier, before) in before {
            let (shown, others) = (file.display(), other.display());
            if earlier.database_name(other) == name {
                let _ = writeln!(
                    wrong,
                    "{shown}: the database {name:?} is {others}'s, too; set database in [server]"
                );
            }
            // Where no database was asked, nobody knows whose rows these are.
            let clash = before
                .zip(*reached)
                .and_then(|(before, reached)| before.clash(earlier, &others.to_string(), reached, policy));
            if let Some(clash) = clash {
                let _ = writeln!(wrong, "{shown}: {clash}");
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.trim_end().to_owned()) }
}
