//! The analyser's side of sealed reports: the description that is made of a policy, and batches that are opened by its key.

use super::tuples::BAD_COPY;
use answer::{ClientError, SqlState};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bigdecimal::BigDecimal;
use dp::randomised::Report;
use encode::{AnalyserKey, Collection, Sealed};
use policy::{Collect, Collected, CollectedKind, Randomiser, Shuffled};
use serde_json::{Value, json};

/// Bytes of a batch's first line.
const HEAD: usize = 4096;

/// The holder of the inner key of a collected relation.
pub struct Analyser {
    collect: Collect,
    collection: Collection,
    key: AnalyserKey,
}

/// A batch that was opened.
pub(super) struct Opened {
    /// Id of the batch: 32 hexadecimal digits.
    pub id: String,
    /// The batch says that it is small.
    pub small: bool,
    /// Reports of the batch, a row for each.
    pub reports: Vec<Box<[Report]>>,
    /// Reports that do not open: who made them made them so, and the others are not held up by it.
    pub left_out: usize,
}

impl Analyser {
    /// Reads the key of a collected relation, where there is one, and makes its public description.
    ///
    /// # Errors
    /// What is wrong with the key, its file or the policy, for the owner.
    pub fn read(collect: &Collect) -> Result<Option<Self>, String> {
        let Some(shuffled) = collect.shuffled() else { return Ok(None) };
        let of = |e: String| format!("[collect.{}]: {e}", collect.name);
        let text = policy::private_file(&shuffled.analyser_key_file, "the key file", 4096).map_err(of)?;
        let key = AnalyserKey::parse(&String::from_utf8_lossy(&text)).map_err(|e| of(e.to_string()))?;
        let json = description(collect, shuffled, &key.public());
        let collection = Collection::parse(&json).map_err(|e| of(e.to_string()))?;
        // Both sides were told the same in their own words; a report must mean the same to both.
        let same =
            |(ours, theirs): (&Collected, &encode::Column)| match (&ours.randomiser, theirs.randomiser()) {
                (Randomiser::Oracle(a), encode::Randomiser::Oracle(b)) => a == b,
                (Randomiser::Mean { mean, .. }, encode::Randomiser::Mean(b)) => mean == b,
                (Randomiser::Sets(a), encode::Randomiser::Sets(b)) => a == b,
                _ => false,
            };
        if let Some((c, _)) = collect.columns.iter().zip(collection.columns()).find(|pair| !same(*pair)) {
            return Err(of(format!("column {:?} cannot be encoded as the policy reads it", c.name)));
        }
        Ok(Some(Self { collect: collect.clone(), collection, key }))
    }

    /// The relation that it analyses.
    pub(super) fn collect(&self) -> &Collect {
        &self.collect
    }

    /// The public description, for who encodes and who shuffles.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Bytes of a batch of this many reports, at most.
    pub(super) fn bytes(&self, reports: usize) -> usize {
        let line = self.collection.sealed_len().div_ceil(3).saturating_mul(4).saturating_add(2);
        reports.saturating_mul(line).saturating_add(HEAD)
    }

    /// Opens a batch as `noisegate collect shuffle` writes it: a line of JSON, and one for each report.
    ///
    /// # Errors
    /// It is no batch, or not whole (22P04); it is of another description, or none of it opens (22023). Who delivers it need
    /// not try again.
    pub(super) fn open(&self, text: &[u8]) -> Result<Opened, ClientError> {
        let wrong = |what: &str| {
            ClientError::new(BAD_COPY, format!("this is no batch of noisegate collect shuffle: {what}"))
        };
        let text = std::str::from_utf8(text).map_err(|_| wrong("it is not text"))?;
        let mut lines = text.lines().filter(|line| !line.is_empty() && *line != "\\.");
        let head = lines.next().unwrap_or_default();
        let head: Value = serde_json::from_str(head).map_err(|_| wrong("its first line is not JSON"))?;
        let word = |key: &str| head.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = word("batch");
        if id.len() != 32 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong("it has no id"));
        }
        let digest: String = self.collection.digest().iter().map(|byte| format!("{byte:02x}")).collect();
        if word("collection") != digest {
            let message =
                format!("batch {id} is of another description than \"{}\" has now", self.collect.name);
            return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(
                "What is asked, an epsilon, a key or a rule of the shuffler has changed since its reports were made: such a batch \
                 is stored under the policy that they were made for, or not at all.",
            ));
        }
        let (mut reports, mut left_out) = (Vec::new(), 0);
        for line in lines {
            let sealed = URL_SAFE_NO_PAD.decode(line.trim_end());
            let opened =
                sealed.ok().and_then(|b| self.key.open(&self.collection, &Sealed::from_bytes(&b)).ok());
            match opened {
                Some(report) => reports.push(report.into_boxed_slice()),
                None => left_out += 1,
            }
        }
        let all = reports.len() + left_out;
        if all == 0 || head.get("reports").and_then(Value::as_u64) != Some(all as u64) {
            return Err(wrong("its first line says another number of reports than it has"));
        }
        if reports.is_empty() {
            let message =
                format!("batch {id} has {all} reports, none of which opens with this analyser's key");
            return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(
                "They were sealed to another key, or made to look like reports: there is nothing to store.",
            ));
        }
        let small = head.get("small").and_then(Value::as_bool).unwrap_or(true);
        Ok(Opened { id: id.to_ascii_lowercase(), small, reports, left_out })
    }
}

/// The description of a policy's relation, in the form of `noisegate collect encode`.
fn description(collect: &Collect, shuffled: &Shuffled, analyser_key: &str) -> String {
    let columns: Vec<Value> = collect.columns.iter().map(column).collect();
    json!({
        "collection": collect.name,
        "shuffler_key": shuffled.shuffler_key,
        "analyser_key": analyser_key,
        "shuffle": {
            "min_batch": shuffled.min_batch,
            "max_delay": shuffled.max_delay,
            "min_group": shuffled.min_group,
            "group_epsilon": plain(&shuffled.group_epsilon),
            "counted_per_writer": shuffled.counted_per_writer,
        },
        "columns": columns,
    })
    .to_string()
}

fn plain(number: &BigDecimal) -> String {
    number.normalized().to_plain_string()
}

fn column(c: &Collected) -> Value {
    let mut out = json!({
        "name": c.name,
        "kind": c.kind.word(),
        "missing": c.missing,
        "randomiser": c.randomiser.word(),
        "epsilon": plain(&c.epsilon),
    });
    let mut set = |key: &str, value: Value| {
        if let Some(object) = out.as_object_mut() {
            object.insert(key.to_owned(), value);
        }
    };
    match c.kind {
        CollectedKind::Categorical | CollectedKind::Set => {
            set("values", json!(c.values));
            if let Some(other) = c.other.and_then(|at| c.values.get(at)) {
                set("other", json!(other));
            }
        }
        CollectedKind::Boolean => {}
        CollectedKind::Count => {
            if let (Some(low), Some(high)) = (c.values.first(), c.values.last()) {
                set("range", json!([low, high]));
            }
        }
        CollectedKind::Number => {}
    }
    if let Randomiser::Sets(sets) = &c.randomiser {
        set("max_values", json!(sets.most()));
    }
    if let Randomiser::Mean { mean, low, grid } = &c.randomiser {
        let high = low + grid * BigDecimal::from(mean.steps());
        set("range", json!([plain(low), plain(&high)]));
        set("grid", json!(plain(grid)));
    }
    out
}
