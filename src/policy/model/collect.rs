//! Collected relations, by local differential privacy: `[collect.NAME]`.

use crate::given::GivenFile;
use bigdecimal::{BigDecimal, ToPrimitive};
use dp::Ratio;
use dp::randomised::{Layer, Mean, Oracle, OracleKind, Sets};
use schema::SqlType;

/// `[collect.NAME]`: rows that writers send, and of which nothing is stored but randomised reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collect {
    /// Name of the relation, for writers and for analysts.
    pub name: String,
    /// Schema of the table that holds the reports.
    pub schema: String,
    /// The table that holds the reports. Analysts cannot name it.
    pub table: String,
    /// Place in `Policy::tables`.
    pub reports: usize,
    /// Writers, by login name.
    pub users: Vec<String>,
    /// Writers, by role.
    pub roles: Vec<String>,
    /// Columns, in the order of the policy.
    pub columns: Vec<Collected>,
    /// The encoder.
    pub encoder: Encoder,
    /// Column that identifies a person, and how much one may say.
    pub person: Option<Person>,
}

/// A column that identifies a person among those who write: nothing of it is stored beside reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The column's name, in what is written alone.
    pub column: String,
    /// The file of the key that persons are known by.
    pub key_file: GivenFile,
    /// A person's value is randomised in the same way each time.
    pub permanent: Option<Permanent>,
    /// Limit on one person.
    pub limit: Option<Limit>,
}

/// Terms of permanent responses, which are randomised once more for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permanent {
    /// ε of a row's second layer, which its columns share equally: how well rows of one person can be linked.
    pub instant_epsilon: BigDecimal,
    /// The most rows that one person gives in all, on which intervals rest; None where that is not known, and no interval is.
    pub rows: Option<u32>,
}

/// A limit on how much one person may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// ε of all that one person says in a window.
    pub epsilon: BigDecimal,
    /// Seconds of a window.
    pub window: u64,
    /// Rows that this allows.
    pub rows: u64,
    /// The file in which it is kept, sealed.
    pub file: GivenFile,
}

/// An encoder: where rows are randomised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoder {
    /// noisegate, as rows arrive.
    Proxy,
    /// The client: sealed reports arrive in batches of a shuffler.
    Client(Box<Shuffled>),
}

/// Terms of reports that are sealed where they are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffled {
    /// The public key of the shuffler, as `noisegate collect key` prints it.
    pub shuffler_key: String,
    /// The file of the key that opens the inner layer.
    pub analyser_key_file: GivenFile,
    /// Reports that go out together.
    pub min_batch: u64,
    /// Seconds after which a smaller batch goes out, which says so.
    pub max_delay: u64,
    /// About the number of reports of a group before any of it goes out.
    pub min_group: u64,
    /// ε of the noise on that threshold.
    pub group_epsilon: BigDecimal,
    /// Reports of one writer that count in a group.
    pub counted_per_writer: u64,
}

/// A column of what is collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Name of the column, in statements of writers and analysts, and in the table of the reports.
    pub name: String,
    /// Kind of its values.
    pub kind: CollectedKind,
    /// Every value that may be reported, as text that casts to its type; the place is the number that is randomised. NULL, where
    /// it may be missing, is one more, behind them; so is what fills a set up.
    pub values: Vec<String>,
    /// Place of the value that stands for all that are not listed; None makes such a value an
    /// error.
    pub other: Option<usize>,
    /// The column may be NULL.
    pub missing: bool,
    /// ε of one report of this column.
    pub epsilon: BigDecimal,
    /// The randomiser.
    pub randomiser: Randomiser,
    /// The second layer, over what the randomiser gives: where that is permanent.
    pub instant: Option<Layer>,
}

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectedKind {
    /// A text of a list.
    Categorical,
    /// True or false.
    Boolean,
    /// A whole number of a range, of which the distribution is estimated.
    Count,
    /// A number of a range, of which sums and averages are estimated.
    Number,
    /// Several of a list of texts.
    Set,
}

impl CollectedKind {
    /// All, in the order of the document.
    pub const ALL: [Self; 5] = [Self::Categorical, Self::Boolean, Self::Count, Self::Number, Self::Set];

    /// The word of policies.
    pub fn word(self) -> &'static str {
        match self {
            Self::Categorical => "categorical",
            Self::Boolean => "boolean",
            Self::Count => "count",
            Self::Number => "number",
            Self::Set => "set",
        }
    }

    /// The type of its values, for writers and analysts.
    pub fn ty(self) -> SqlType {
        match self {
            Self::Categorical => SqlType::Text,
            Self::Boolean => SqlType::Bool,
            Self::Count => SqlType::Int4,
            Self::Number => SqlType::Numeric { scale: None },
            Self::Set => SqlType::Other { oid: 1009, name: "pg_catalog.text[]".into() },
        }
    }
}

/// A randomiser of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Randomiser {
    /// A frequency oracle over the numbers of values.
    Oracle(Oracle),
    /// A mean, over the steps of a grid.
    Mean {
        /// The mechanism.
        mean: Mean,
        /// The number of step 0.
        low: BigDecimal,
        /// From one step to the next.
        grid: BigDecimal,
    },
    /// Pad-and-sample over a frequency oracle: one of a set's values, or none, is drawn and randomised.
    Sets(Sets),
}

impl Randomiser {
    /// The word of policies.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Oracle(oracle) => oracle.kind().word(),
            Self::Mean { mean, .. } => mean.kind().word(),
            Self::Sets(sets) => sets.oracle().kind().word(),
        }
    }

    /// The frequency oracle in it.
    pub fn oracle(&self) -> Option<&Oracle> {
        match self {
            Self::Oracle(oracle) => Some(oracle),
            Self::Sets(sets) => Some(sets.oracle()),
            Self::Mean { .. } => None,
        }
    }

    /// p and q of its reports; None of a number.
    pub fn probabilities(&self) -> Option<(f64, f64)> {
        match self {
            Self::Oracle(oracle) => Some(oracle.probabilities()),
            Self::Sets(sets) => Some(sets.probabilities()),
            Self::Mean { .. } => None,
        }
    }

    /// Symbols that a report may be; None where it is bits.
    pub fn symbols(&self) -> Option<u32> {
        match self {
            Self::Mean { mean, .. } => Some(mean.symbols()),
            Self::Oracle(_) | Self::Sets(_) => self.oracle()?.symbols(),
        }
    }

    /// The type that reports are stored in.
    pub fn stored(&self) -> SqlType {
        match self.oracle().map(Oracle::kind) {
            Some(OracleKind::Unary) => SqlType::Other { oid: 17, name: "bytea".into() },
            Some(OracleKind::Response | OracleKind::Hadamard) | None => SqlType::Int4,
        }
    }

    /// Type of the stored column, as DDL has it.
    pub fn stored_word(&self) -> &'static str {
        if self.stored() == SqlType::Int4 { "int4" } else { "bytea" }
    }
}

impl Collect {
    /// Whether this user may write.
    pub fn admits(&self, user: &str, role: Option<&str>) -> bool {
        self.users.iter().any(|u| u == user) || role.is_some_and(|role| self.roles.iter().any(|r| r == role))
    }

    /// Terms of shuffling, where reports arrive sealed.
    pub fn shuffled(&self) -> Option<&Shuffled> {
        match &self.encoder {
            Encoder::Proxy => None,
            Encoder::Client(shuffled) => Some(shuffled),
        }
    }

    /// The table of the batches that were stored, where reports arrive in batches: it is what stores each once.
    pub fn batches(&self) -> Option<String> {
        self.shuffled().map(|_| format!("{}_batches", self.table))
    }

    /// ε of one whole report: its columns are randomised independently, and compose (local model: for replacing everything
    /// that one row says by anything else).
    pub fn epsilon(&self) -> BigDecimal {
        self.columns.iter().map(|c| &c.epsilon).sum::<BigDecimal>().normalized()
    }

    /// The statements that make the table of the reports, and give `writer` and `readers` what they need.
    pub fn ddl(&self, writer: &str, readers: [&str; 2]) -> Vec<String> {
        let name = schema::quoted::ident;
        let table = format!("{}.{}", name(&self.schema), name(&self.table));
        let columns =
            self.columns.iter().map(|c| format!("{} {} NOT NULL", name(&c.name), c.randomiser.stored_word()));
        let mut ddl = vec![
            format!("CREATE TABLE {table} ({});", columns.collect::<Vec<_>>().join(", ")),
            format!("GRANT INSERT ON {table} TO {};", name(writer)),
            format!("GRANT SELECT ON {table} TO {};", readers.map(name).join(", ")),
        ];
        if let Some(batches) = self.batches() {
            let batches = format!("{}.{}", name(&self.schema), name(&batches));
            let columns = Self::BATCHES.map(|(column, _, word)| format!("{column} {word}")).join(", ");
            ddl.push(format!("CREATE TABLE {batches} ({columns}, PRIMARY KEY (batch));"));
            ddl.push(format!("GRANT INSERT ON {batches} TO {};", name(writer)));
        }
        ddl
    }

    /// Columns of the table of batches: name, the type's OID, and as DDL has it.
    pub const BATCHES: [(&str, u32, &str); 4] = [
        ("batch", 2950, "uuid NOT NULL"),
        ("reports", 23, "int4 NOT NULL"),
        ("left_out", 23, "int4 NOT NULL"),
        ("small", 16, "boolean NOT NULL"),
    ];
}

impl Collected {
    /// Number of values, NULL included.
    pub fn size(&self) -> usize {
        self.values.len() + usize::from(self.missing)
    }

    /// p and q: what a report supports its writer's value with, and each other one, through all layers; None of a number.
    pub fn probabilities(&self) -> Option<(f64, f64)> {
        let first = self.randomiser.probabilities()?;
        Some(self.instant.as_ref().map_or(first, |layer| layer.over(first)))
    }

    /// Factor and offset by which a report of a number is right on average, in steps of its grid; None of values.
    pub fn affine(&self) -> Option<(f64, f64)> {
        let Randomiser::Mean { mean, .. } = &self.randomiser else { return None };
        let first = (mean.scale(), mean.offset());
        Some(self.instant.as_ref().map_or(first, |layer| layer.affine_over(first)))
    }

    /// The largest parts of the variance that all rows of a person have in common: of a count of this column's values alone, and of
    /// whatever else is added up ([`Layer::common`]).
    pub fn common(&self) -> (f64, f64) {
        let Some(layer) = &self.instant else { return (0.0, 0.0) };
        match (&self.randomiser, self.randomiser.oracle()) {
            (_, None) => (layer.common(1.0), layer.common(1.0)),
            (randomiser, Some(oracle)) => {
                let several = matches!(randomiser, Randomiser::Oracle(_));
                let counts = randomiser.probabilities().map(|first| layer.common_of_counts(first, several));
                let any = layer.common(oracle.probabilities().0);
                (counts.unwrap_or(any), any)
            }
        }
    }

    /// ε, exactly.
    pub fn ratio(&self) -> Option<Ratio> {
        dp::ratio(&self.epsilon)
    }

    /// The most that somebody who sees a report of this column may believe of its writer, after
    /// believing with `prior` that they have some property: Bayes' rule at a likelihood ratio of
    /// e^ε. For display.
    pub fn posterior(&self, prior: f64) -> f64 {
        let odds = prior / (1.0 - prior) * self.epsilon.to_f64().unwrap_or(f64::INFINITY).exp();
        if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
    }
}
