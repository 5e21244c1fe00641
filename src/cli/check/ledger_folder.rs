//! The folder in which the ledger is written, or the mark of one in PostgreSQL: without it neither `budget create` nor
//! `serve` gets further.

use policy::{GivenFile, LedgerLocation};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::path::Path;

/// The reason why whoever runs this could not write there, with what makes it right.
pub(super) fn mistake(location: &LedgerLocation) -> Option<String> {
    let (what, file) = match location {
        LedgerLocation::Sqlite(file) => ("the ledger", file),
        LedgerLocation::Postgres(database) => ("the mark of the ledger", &database.mark),
    };
    let folder = file.reveal().parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = named(what, file, folder);
    let no_folder = || Some(format!("{named} is no folder\n    name another file in [ledger]"));
    // A file in its place has rights of its own, which are not what is wrong.
    if folder.metadata().is_ok_and(|there| !there.is_dir()) {
        return no_folder();
    }
    match access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Err(Errno::NOENT) => {
            let make = match file.is_secret() {
                true => "make it".to_owned(),
                false => format!("make it, as the user that serves: install -d -m 0700 {}", folder.display()),
            };
            Some(format!("{named} is not there\n    {make}; or name another file in [ledger]"))
        }
        Err(Errno::NOTDIR) => no_folder(),
        Err(why) => Some(format!("{named} cannot be written by this user: {}\n    {AS_WHO}", words(why))),
        Ok(()) => match access(file.reveal(), Access::READ_OK | Access::WRITE_OK) {
            Ok(()) | Err(Errno::NOENT) => None,
            Err(why) => {
                Some(format!("{what} {file} cannot be written by this user: {}\n    {AS_WHO}", words(why)))
            }
        },
    }
}

const AS_WHO: &str = "check as the user that serves (runuser -u noisegate -- noisegate check …), whose it must be: chown noisegate";

/// The folder by its name, or by the file's where the environment has a part in that.
fn named(what: &str, file: &GivenFile, folder: &Path) -> String {
    match file.is_secret() {
        true => format!("the folder of {what} {file}"),
        false => format!("the folder of {what}, {},", folder.display()),
    }
}

fn words(why: Errno) -> String {
    std::io::Error::from(why).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_cannot_hold_a_ledger_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| mistake(&LedgerLocation::Sqlite(folder.path().join(name).into()));
        assert_eq!(at("ledger.db"), None);
        let (missing, file) = (folder.path().join("books"), folder.path().join("file"));
        let said = at("books/ledger.db").unwrap();
        assert_eq!(
            said,
            format!(
                "the folder of the ledger, {0}, is not there\n    make it, as the user that serves: install -d -m 0700 \
                 {0}; or name another file in [ledger]",
                missing.display()
            )
        );
        std::fs::write(&file, "").unwrap();
        let said = at("file/ledger.db").unwrap();
        assert!(
            said.starts_with(&format!("the folder of the ledger, {}, is no folder", file.display())),
            "{said}"
        );
    }
}
