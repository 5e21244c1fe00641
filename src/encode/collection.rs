//! The public description of a collection, and from answers to reports.

use super::column::{Answer, Column, Text};
use super::error::{DescriptionError, EncodeError};
use super::keys::{AnalyserKey, ShufflerKey};
use super::message::Message;
use super::suite::PublicKey;
use dp::Entropy;
use dp::randomised::Report;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The description as JSON has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    collection: String,
    shuffler_key: String,
    analyser_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shuffle: Option<Shuffle>,
    columns: Vec<Text>,
}

/// The shuffler's promises to those who answer: part of the description, so that a shuffler with
/// other rules opens none of its reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// Reports that go out together.
    pub min_batch: u64,
    /// Seconds after which a smaller batch goes out, marked as small.
    pub max_delay: u64,
    /// About the number of reports of a group before any of it goes out.
    pub min_group: u64,
    /// ε of the noise on that threshold, as a decimal.
    pub group_epsilon: String,
    /// Reports of one writer that count in a group.
    pub counted_per_writer: u64,
}

/// A description of a collection: public, and the same for everybody who answers.
#[derive(Clone)]
pub struct Collection {
    name: String,
    columns: Vec<Column>,
    shuffler: PublicKey,
    analyser: PublicKey,
    shuffle: Option<Shuffle>,
    digest: [u8; 32],
    json: String,
}

/// Columns of a collection, and bytes of its reports.
const MOST_COLUMNS: usize = 256;
const MOST_BYTES: usize = 1 << 16;

impl Collection {
    /// Reads a description.
    ///
    /// # Errors
    /// It is not JSON of the right form, or has a mistake, which the error names.
    pub fn parse(json: &str) -> Result<Self, DescriptionError> {
        let mut described: Described =
            serde_json::from_str(json).map_err(|e| DescriptionError::Form(e.to_string()))?;
        let other = |what: &str| Err(DescriptionError::Other(what.into()));
        let columns: Vec<Column> =
            std::mem::take(&mut described.columns).into_iter().map(Column::new).collect::<Result<_, _>>()?;
        if columns.is_empty() || columns.len() > MOST_COLUMNS {
            return other("a collection has from 1 to 256 columns");
        }
        let mut names: Vec<&str> = columns.iter().map(Column::name).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return other("two columns have the same name");
        }
        if columns.iter().map(Column::width).sum::<usize>() > MOST_BYTES {
            return other("a report would have over 65536 bytes: use hadamard for large domains");
        }
        let shuffler = ShufflerKey::read_public(&described.shuffler_key)?;
        let analyser = AnalyserKey::read_public(&described.analyser_key)?;
        described.columns = columns.iter().map(|column| column.text.clone()).collect();
        // In one form, whatever spaces and defaults there were.
        let json = serde_json::to_string(&described).map_err(|e| DescriptionError::Form(e.to_string()))?;
        let digest = Sha256::digest(&json).into();
        let (name, shuffle) = (described.collection, described.shuffle);
        Ok(Self { name, columns, shuffler, analyser, shuffle, digest, json })
    }

    /// Name of the collection.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Columns, in the order of a report's fields.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rules that the shuffler is bound to, where the description has them.
    pub fn shuffle(&self) -> Option<&Shuffle> {
        self.shuffle.as_ref()
    }

    /// The description in the form that [`Self::digest`] is of.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// SHA-256 of [`Self::json`]: two descriptions with the same are the same. Reports of one are none of another.
    pub fn digest(&self) -> &[u8] {
        &self.digest
    }

    pub(crate) fn shuffler(&self) -> &PublicKey {
        &self.shuffler
    }

    pub(crate) fn analyser(&self) -> &PublicKey {
        &self.analyser
    }

    pub(crate) fn fields_len(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// The report of one person: an answer for each column, randomised and sealed. `group` is a label that the shuffler sees the
    /// digest of: reports wait until there are enough of their group.
    ///
    /// Guarantee: Σε over columns, ε-DP in the local sense, for replacing all answers by any others, against everybody.
    ///
    /// # Errors
    /// An answer cannot be one, or there is no entropy; nothing was sealed then.
    pub fn encode(
        &self,
        answers: &[Answer<'_>],
        group: &str,
        rng: &mut impl Entropy,
    ) -> Result<Message, EncodeError> {
        if answers.len() != self.columns.len() {
            return Err(EncodeError::Width { given: answers.len(), wanted: self.columns.len() });
        }
        let mut fields = Vec::with_capacity(self.fields_len());
        for (column, answer) in self.columns.iter().zip(answers) {
            let report = column.randomise(*answer, rng)?;
            column.write(&report, &mut fields);
        }
        self.seal(&fields, group, rng)
    }

    /// The fields of a report; None where one is what its randomiser never says.
    pub(crate) fn read_fields(&self, mut fields: &[u8]) -> Option<Vec<Report>> {
        let mut reports = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let (field, rest) = fields.split_at_checked(column.width())?;
            reports.push(column.read(field)?);
            fields = rest;
        }
        fields.is_empty().then_some(reports)
    }
}
