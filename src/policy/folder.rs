//! A folder of policies: a database for each, behind one port.

use super::error::{PolicyError, PolicyErrors};
use super::model::Policy;
use std::path::{Path, PathBuf};

/// The policies that a path names, and whether it is a folder: all its files that end in `.toml`, in the order of their names.
///
/// # Errors
/// The folder cannot be read, or has none.
pub fn files(path: &Path) -> Result<(Vec<PathBuf>, bool), PolicyErrors> {
    if !path.is_dir() {
        return Ok((vec![path.to_owned()], false));
    }
    let fail = |message: String| {
        let hint = Some("a folder of policies has a file NAME.toml for each database".to_owned());
        PolicyErrors(vec![PolicyError {
            file: path.display().to_string(),
            position: None,
            message,
            hint,
            note: false,
        }])
    };
    let entries = std::fs::read_dir(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
    let entries = entries.collect::<Result<Vec<_>, _>>().map_err(|e| fail(format!("cannot be read: {e}")))?;
    let policy = |file: &PathBuf| {
        let hidden = file.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        !hidden && file.extension().is_some_and(|e| e == "toml")
    };
    let mut files: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).filter(policy).collect();
    files.sort();
    match files.is_empty() {
        true => Err(fail("no policy is in this folder".into())),
        false => Ok((files, true)),
    }
}

impl Policy {
    /// The name that clients ask for this policy's database by, where it is one of several.
    pub fn database_name(&self, file: &Path) -> String {
        let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.server.database.clone().unwrap_or_else(stem)
    }

    /// Settings that the listener keeps to and that differ from another policy's: behind one port
    /// all have the same.
    pub fn unlike(&self, other: &Self) -> Vec<&'static str> {
        let (mine, others) = (&self.server, &other.server);
        let parts = [
            ("server.listen", mine.listen != others.listen),
            (
                "server.unix_socket_permissions",
                mine.unix_socket_permissions != others.unix_socket_permissions,
            ),
            ("server.tls", mine.tls != others.tls),
            ("server.shutdown_timeout", mine.shutdown_timeout != others.shutdown_timeout),
            ("[[access]]", self.access != other.access),
            ("[metrics]", self.metrics != other.metrics),
            ("[traces]", self.traces != other.traces),
            ("[log]", self.log != other.log),
            ("[limits]", self.limits != other.limits),
        ];
        parts.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}
