//! Statements that were under way at a crash: a line of a file for each, which the operator may take out.

use super::shape::Shape;
use policy::GivenFile;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Crashes after which a statement is refused.
const CRASHES: u32 = 2;
/// Statements that are known; those that were at one crash, and long ago, make room.
const MOST: usize = 1_000;
/// Seconds after which one crash is forgotten.
const FORGOTTEN: u64 = 30 * 24 * 3_600;

const HEAD: &str = "# Statements that were under way when proxy or database fell: which (a hash), at how many crashes, the last crash, when \
                    that was (seconds\n# since 1970), and the incident by which they are refused. Take out a line to admit its statement again.\n";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Suspect {
    crashes: u32,
    last: String,
    at: u64,
    /// "-" before it is refused.
    incident: String,
}

pub(super) struct Suspects {
    path: GivenFile,
    list: BTreeMap<Shape, Suspect>,
}

impl Suspects {
    pub(super) fn read(path: GivenFile) -> io::Result<Self> {
        let mut suspects = Self { path, list: BTreeMap::new() };
        suspects.read_again()?;
        Ok(suspects)
    }

    fn read_again(&mut self) -> io::Result<()> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(io::Error::new(e.kind(), format!("{}: {e}", self.path))),
        };
        self.list = text.lines().filter_map(line).collect();
        Ok(())
    }

    /// The incident of a statement that is refused. The operator may have admitted it meanwhile.
    pub(super) fn refused(&mut self, shape: &Shape) -> Option<String> {
        let is = |list: &BTreeMap<Shape, Suspect>| {
            list.get(shape).filter(|s| s.crashes >= CRASHES).map(|s| s.incident.clone())
        };
        is(&self.list)?;
        // What cannot be read admits nobody.
        let _ = self.read_again();
        is(&self.list)
    }

    /// Notes a crash, by its name, and the statements that were under way.
    pub(super) fn crashed(&mut self, crash: &str, under_way: &[Shape]) {
        if under_way.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let _ = self.read_again();
        self.list.retain(|_, s| s.crashes >= CRASHES || s.at.saturating_add(FORGOTTEN) > now);
        for shape in under_way {
            let known = self.list.entry(*shape).or_insert_with(|| Suspect {
                crashes: 0,
                last: String::new(),
                at: now,
                incident: "-".into(),
            });
            if known.last == crash {
                continue;
            }
            (known.crashes, known.last, known.at) = (known.crashes.saturating_add(1), crash.into(), now);
            if known.crashes == CRASHES {
                let cause = format!(
                    "statement {shape} was under way each time; to admit it again, take its line out of {}",
                    self.path
                );
                known.incident = answer::error::noted(
                    "proxy or database fell twice: a statement is refused from now on",
                    &cause,
                );
            }
        }
        while self.list.len() > MOST {
            let oldest = self.list.iter().filter(|(_, s)| s.crashes < CRASHES).min_by_key(|(_, s)| s.at);
            let Some(oldest) = oldest.or_else(|| self.list.iter().min_by_key(|(_, s)| s.at)) else { break };
            let oldest = *oldest.0;
            self.list.remove(&oldest);
        }
        self.write();
    }

    /// A statement ended well.
    pub(super) fn cleared(&mut self, shape: &Shape) {
        if self.list.get(shape).is_some_and(|s| s.crashes < CRASHES) {
            self.list.remove(shape);
            self.write();
        }
    }

    fn write(&self) {
        if let Err(error) = self.written() {
            tracing::warn!(path = %self.path, %error, "what was under way at a crash could not be written down");
        }
    }

    fn written(&self) -> io::Result<()> {
        let new = self.path.and(".new");
        let _ = std::fs::remove_file(&new);
        let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(HEAD.as_bytes())?;
        for (shape, Suspect { crashes, last, at, incident }) in &self.list {
            writeln!(file, "{shape} {crashes} {last} {at} {incident}")?;
        }
        file.sync_all()?;
        std::fs::rename(&new, &self.path)
    }
}

fn line(line: &str) -> Option<(Shape, Suspect)> {
    let mut words = line.split_ascii_whitespace();
    let shape = Shape::parse(words.next()?)?;
    let crashes = words.next()?.parse().ok()?;
    let last = words.next()?.to_owned();
    let at = words.next()?.parse().ok()?;
    let incident = words.next().unwrap_or("-").to_owned();
    Some((shape, Suspect { crashes, last, at, incident }))
}
