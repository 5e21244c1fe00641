//! Output of commands. A reader that has enough, as `head` has, is no error.

use serde_json::Value;
use std::io::{self, BufWriter, ErrorKind, Write};

/// A text, and the end of its line.
pub fn say(text: &str) -> io::Result<()> {
    lines(&[text])
}

/// Lines, of which there may be many.
pub fn lines(lines: &[impl AsRef<str>]) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = lines.iter().try_for_each(|line| writeln!(out, "{}", line.as_ref()));
    written = written.and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// JSON for people, too.
pub fn pretty(value: &Value) -> String {
    // Maps with string keys and no number that JSON lacks: this has no way to fail.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
