//! Units that no bound cuts: how few rows a unit has to have for all of them to count, whatever they are, and whether it pays to
//! tell such units from others.
//!
//! Where rows are scaled down there is a group for each unit and key in the database's memory, nearly as many as there are rows.
//! Most units keep to a bound that was well chosen; their rows can be added up by key alone.

use super::model::Release;
use crate::aggregates::Part;
use crate::bound::bounding::Norm;
use crate::groups::kept;
use schema::SqlType;

/// The least bound for which light units are told apart. Whoever bounds a unit by fewer rows may well cut most units, and reading
/// the rows twice is then for nothing. This looks at the policy and the statement alone, as it must.
const LEAST: u32 = 16;

/// The least share of a table's rows that conditions have to leave, by declared ranges: both readings look at all of them where no index
/// serves, and of few that are left there is little to save.
const KEPT: f64 = 0.25;

impl Release {
    /// Rows: of a unit that has no more of them, in all groups together, none is cut and no sum is scaled, in whatever groups they
    /// are. None where the fetch has one way for all units.
    ///
    /// Such a unit has no more in one group either; the sum of its rows over groups is at most this, and so the sum of their
    /// squares at most the square of this.
    pub fn light(&self) -> Option<u32> {
        let (Norm::Sum(rows) | Norm::Squares(rows)) = self.norm()?;
        // A sum with a norm of its own may be long where rows are few.
        let added = |p: &Part| p.own.is_none() && (p.kind.adds_rows() || p.kind.is_chosen());
        let grouped = self.public_groups && !self.keys.is_empty();
        let adds = !self.parts.is_empty() && self.parts.iter().all(added);
        (rows >= LEAST && grouped && adds && self.reads_much_of_a_table()).then_some(rows)
    }

    /// Its rows are those of one table, and many of them: reading them twice costs no join, and no scan of which little is kept.
    fn reads_much_of_a_table(&self) -> bool {
        let source = &self.source;
        let table = source.scans.len() == 1 && source.scans.iter().all(|s| s.table().is_some());
        // Equality of these tells the values themselves apart.
        let ty = &source.unit.ty;
        let told = ty.is_integer() || ty.is_text() || *ty == SqlType::Uuid;
        let much = || kept::share(&source.filter).is_some_and(|share| share >= KEPT);
        table && told && source.unit.columns.len() == 1 && much()
    }
}
