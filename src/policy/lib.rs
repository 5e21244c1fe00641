//! Policies of owners: TOML text and a schema snapshot in, a checked [`Policy`] out, or every
//! mistake at once.
//!
//! No I/O but reading the files it is told to read; no SQL. `raw` reads the text (`reader` knows
//! TOML; `backend`, `ledger`, `limits`, `listen`, `access`, `log`, `users`, `budget`, `stream`,
//! `tables`, `cache` and `answers` are its sections), `check` holds it against the schema, `bounds`
//! does so for one column; the result is in `model`. Numbers stay exact decimals from the text to
//! the model.

mod access;
mod advice;
mod answers;
mod auto;
mod backend;
mod bounds;
mod budget;
mod cache;
mod cache_key;
mod check;
mod collect;
mod console;
mod declared;
mod envelope;
mod environment;
mod error;
mod folder;
mod given;
mod json_path;
mod keys;
mod ledger;
mod limits;
mod listen;
mod log;
mod metrics;
mod model;
mod passwords;
mod path;
mod placement;
mod private_file;
mod profiles;
mod raw;
mod raw_table;
mod reader;
mod reference;
mod reload;
mod role;
mod server_url;
mod stream;
mod suggest;
mod tables;
mod time;
mod traces;
mod type_name;
mod url;
pub mod userlist;
mod users;
mod version;
mod view;
mod whose;
mod window;

pub use error::{PolicyError, PolicyErrors};
pub use folder::files;
pub use given::{Given, GivenFile, Shown};
pub use json_path::is_jsonb;
pub use keys::{Key, Keys, is_value};
pub use model::*;
pub use passwords::with_password;
pub use private_file::private_file;
pub use raw::RawPolicy;
pub use reader::decimal_text;
pub use reference::reference;
pub use reload::Reloaded;
pub use server_url::{ServerTls, ServerUrl, Trust};
pub use tables::PUBLIC_VIEW;
pub use time::from_iso;
pub use users::iterations;

/// Randomisers of columns, and ε.
pub use dp::{
    Ratio,
    randomised::{Mean, Oracle, OracleKind, Sets},
};

use error::Findings;
use std::path::Path;

/// No policy is larger than this; what is, is the wrong file.
const MAX_BYTES: u64 = 16 << 20;

/// Reads a policy from a file. What is an error here: the file cannot be read, or it is not TOML.
///
/// Paths in it are absolute from here on, by whatever path the file was named: a policy that is read again, perhaps from
/// another folder, is the same one.
pub fn load(path: &Path) -> Result<RawPolicy, PolicyErrors> {
    read(path, false)
}

/// [`load`] away from the place where the proxy runs: variables of the environment and files of users may be absent,
/// because nothing is connected to and nobody logs in.
pub fn load_elsewhere(path: &Path) -> Result<RawPolicy, PolicyErrors> {
    read(path, true)
}

fn read(path: &Path, elsewhere: bool) -> Result<RawPolicy, PolicyErrors> {
    let file = path.display().to_string();
    let fail = |message: String| {
        let hint = Some("give the policy's path, for example --policy config/bikes.toml".to_owned());
        PolicyErrors(vec![PolicyError { file: file.clone(), position: None, message, hint, note: false }])
    };
    match std::fs::metadata(path) {
        Ok(m) if !m.is_file() => return Err(fail("this is not a file".into())),
        Ok(m) if m.len() > MAX_BYTES => return Err(fail(format!("larger than {MAX_BYTES} bytes"))),
        Ok(_) => {}
        Err(e) => return Err(fail(format!("cannot be read: {e}"))),
    }
    let bytes = std::fs::read(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|e| fail(format!("not UTF-8: {e}")))?;
    let findings = Findings::new(&file, &text);
    let findings = if elsewhere { findings.read_elsewhere() } else { findings };
    let whole = std::path::absolute(path).map_err(|e| fail(format!("its folder is not known: {e}")))?;
    RawPolicy::parse(findings, &text, &file, whole.parent().unwrap_or(Path::new("/")))
}

/// Reads a policy from text. `file` is its name in messages; paths in it are relative to `base_dir`.
pub fn parse(text: &str, file: &str, base_dir: &Path) -> Result<RawPolicy, PolicyErrors> {
    RawPolicy::parse(Findings::new(file, text), text, file, base_dir)
}
