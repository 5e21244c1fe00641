//! Released integers of a group: what each counts or adds up, and how much one unit can change it.

use crate::expr::{GridValue, Scalar};
use crate::profiled::Own;
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use dp::Pick;
use schema::SqlType;

/// A released integer per group.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The numbers that are counted or summed.
    pub kind: PartKind,
    /// Sensitivity l∞: the most that one unit can change the part by in one group, in grid units.
    pub linf: u128,
    /// Name in messages.
    pub label: String,
    /// The norm by which a unit's sums are bounded, where that is not by its rows.
    pub own: Option<Own>,
}

/// Kinds of parts. Each is a form of a fetch, of which the kernel proves what is said here.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKind {
    /// Rows where the argument is not NULL (all rows without one).
    Count(Option<Scalar>),
    /// Distinct units: of all rows, or of those where the argument is not NULL.
    Units(Option<Scalar>),
    /// Distinct values, but for NULL: in a release of its own, with their sum where that is asked for.
    Values(Scalar),
    /// A sum of distinct values on a grid, of which each counts once.
    SumOfValues(GridValue),
    /// A sum of values on a grid.
    Sum(GridValue),
    /// A point of its cells.
    Point(Pick),
}

impl Part {
    /// Of which nothing is bounded yet.
    pub fn new(kind: PartKind, label: &str) -> Self {
        Self { kind, linf: 0, label: label.into(), own: None }
    }

    /// Sensitivity in a group where at most `rows` rows of a unit count, in grid units; None when
    /// no number holds it.
    pub(crate) fn in_one_group(&self, rows: u32) -> Option<u128> {
        match &self.kind {
            PartKind::Count(_) => Some(rows.into()),
            PartKind::Units(_) => Some(1),
            PartKind::Sum(s) => match &self.own {
                Some(own) => Some(own.most().into()),
                None => u128::from(rows).checked_mul(s.bound()),
            },
            PartKind::Point(_) | PartKind::Values(_) | PartKind::SumOfValues(_) => Some(self.linf),
        }
    }

    /// Unit of its numbers, when that is not the value's own.
    pub(crate) fn unit(&self) -> String {
        self.kind.grid().map_or_else(String::new, |g| format!(" steps of {}", g.to_plain_string()))
    }
}

impl PartKind {
    /// The number of the rows where a value is there.
    pub fn rows_of(x: &Scalar) -> Self {
        Self::Count(Some(x).filter(|x| x.nullable()).cloned())
    }

    /// Name in a plan that programs read.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Count(_) => "count",
            Self::Point(_) => "point",
            Self::Units(_) => "count_units",
            Self::Values(_) => "count_values",
            Self::Sum(_) => "sum",
            Self::SumOfValues(_) => "sum_values",
        }
    }

    /// The expression over a row that the part looks at.
    pub fn argument(&self) -> Option<&Scalar> {
        match self {
            Self::Count(x) | Self::Units(x) => x.as_ref(),
            Self::Values(x) => Some(x),
            Self::Sum(s) | Self::SumOfValues(s) => Some(s.arg()),
            Self::Point(_) => None,
        }
    }

    /// The same of other words for what it looks at, for a form that is hashed and not run.
    #[must_use]
    pub fn reworded(&self, f: &mut dyn FnMut(&Scalar) -> Scalar) -> Self {
        match self {
            // What cannot be NULL is counted as rows are.
            Self::Count(x) => Self::Count(x.as_ref().filter(|x| x.nullable()).map(f)),
            Self::Units(x) => Self::Units(x.as_ref().map(f)),
            Self::Values(x) => Self::Values(f(x)),
            Self::Point(pick) => Self::Point(*pick),
            Self::Sum(s) => Self::Sum(s.reworded(f)),
            Self::SumOfValues(s) => Self::SumOfValues(s.reworded(f)),
        }
    }

    /// The values of a sum.
    pub fn on_grid(&self) -> Option<&GridValue> {
        match self {
            Self::Sum(s) | Self::SumOfValues(s) => Some(s),
            _ => None,
        }
    }

    /// The grid of what it adds up.
    pub fn grid(&self) -> Option<&BigDecimal> {
        self.on_grid().map(GridValue::grid)
    }

    /// Whose distinct values it counts or adds up, where it does.
    pub fn values(&self) -> Option<&Scalar> {
        match self {
            Self::Values(x) => Some(x),
            Self::SumOfValues(s) => Some(s.arg()),
            _ => None,
        }
    }

    /// The part adds up distinct values.
    pub fn adds_values(&self) -> bool {
        matches!(self, Self::SumOfValues(_))
    }

    /// The part counts rows or adds up their values, each for itself: groups add up to those of
    /// fewer keys.
    pub fn adds_rows(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Sum(_))
    }

    /// The part counts units.
    pub fn counts_units(&self) -> bool {
        matches!(self, Self::Units(_))
    }

    /// The part is the number of rows or of units in a group.
    pub fn counts(&self) -> bool {
        matches!(self, Self::Count(_) | Self::Units(_))
    }

    /// The part is chosen among points.
    pub fn is_chosen(&self) -> bool {
        matches!(self, Self::Point(_))
    }
}

/// The axis on which points lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// Multiples of a step, in the value's unit or in seconds since 1970, where the key says how many steps. What lies
    /// beyond the ends counts as the nearest.
    Grid {
        /// Distance of neighbouring points.
        step: BigDecimal,
        /// Lower end of the values.
        low: BigDecimal,
        /// Upper end of the values.
        high: BigDecimal,
        /// The type of the values.
        of: SqlType,
    },
    /// The values of the key itself.
    Values,
    /// A list of values, of which the key is the place: constants as text.
    Listed(Vec<String>),
}

/// Cells: the last key is a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// The axis of the points.
    pub axis: Axis,
    /// Number of points in a group, at most.
    pub points: usize,
    /// Choices, one for each part.
    pub picks: Vec<Pick>,
    /// Weight of all cells of one unit together.
    pub weight: u32,
}

impl Cells {
    /// The first point, where points are whole numbers: others are counted from it.
    pub fn first(&self) -> Option<i64> {
        match &self.axis {
            Axis::Grid { step, low, .. } => (low / step).with_scale_round(0, RoundingMode::Floor).to_i64(),
            Axis::Listed(_) => Some(0),
            Axis::Values => None,
        }
    }
}
