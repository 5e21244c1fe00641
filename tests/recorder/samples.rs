//! The samples of the allow-list, by what they give: a new entry is drawn without any work.

use crate::harness::{Lab, Refusal, settings};
use noisegate::plan::PartKind;
use noisegate::plan::expr::{Scalar, entries};

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A truth value.
    Truth,
    /// A text.
    Text,
}

/// All samples.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    numbers: Vec<&'static str>,
    truths: Vec<&'static str>,
    texts: Vec<&'static str>,
}

/// A column or a constant for each hole.
const PLAIN: &[(&str, &str)] = &[
    ("{n}", "minutes"),
    ("{i}", "minutes"),
    ("{f}", "dist"),
    ("{t}", "started_at"),
    ("{s}", "note"),
    ("{j}", "payload"),
    ("{b}", "(zero > 0)"),
    ("{c}", "1"),
    ("{d}", "1"),
    ("{p}", "'a%'"),
    ("{e}", "'a'"),
    ("{m}", "TIMESTAMP '2024-03-01 00:00'"),
];

impl Samples {
    /// Plans each once, to see what it gives.
    pub async fn of_lab(lab: &mut Lab) -> Self {
        let mut all = Self::default();
        for entry in entries() {
            for sample in entry.samples {
                let mut text = (*sample).to_owned();
                for (hole, with) in PLAIN {
                    text = text.replace(hole, with);
                }
                assert!(!text.contains('{'), "a hole that nobody fills: {sample}");
                let kind = kind(lab, &text).await;
                match kind {
                    Kind::Number => all.numbers.push(sample),
                    Kind::Truth => all.truths.push(sample),
                    Kind::Text => all.texts.push(sample),
                }
            }
        }
        all
    }

    /// Those that give this.
    pub fn of(&self, kind: Kind) -> &[&'static str] {
        match kind {
            Kind::Number => &self.numbers,
            Kind::Truth => &self.truths,
            Kind::Text => &self.texts,
        }
    }
}

impl Samples {
    /// All, with what each gives.
    pub fn all(&self) -> Vec<(&'static str, Kind)> {
        let of = |kind: Kind| self.of(kind).iter().map(move |s| (*s, kind));
        of(Kind::Number).chain(of(Kind::Truth)).chain(of(Kind::Text)).collect()
    }
}

async fn kind(lab: &mut Lab, text: &str) -> Kind {
    let sql = format!("SELECT count(*) FILTER (WHERE ({text}) IS NULL) FROM trips");
    let planned = match lab.draft(&sql, &settings(1, 1)).await {
        Ok(p) => p,
        Err(Refusal::Plan(why) | Refusal::Type(why) | Refusal::Defect(why)) => panic!("{text}: {why}"),
    };
    let PartKind::Count(Some(counted)) = &planned.plan.releases[0].parts[0].kind else { panic!("{text}") };
    let ty = asked(counted).ty();
    if ty.is_number() {
        Kind::Number
    } else if ty.is_text() {
        Kind::Text
    } else {
        assert_eq!(ty.sql_name(), "pg_catalog.bool", "{text}");
        Kind::Truth
    }
}

/// The x of `count(*) FILTER (WHERE x IS NULL)`, as it is planned.
pub fn asked(counted: &Scalar) -> &Scalar {
    counted.children()[0].children()[0]
}
