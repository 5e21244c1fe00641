//! Properties of each part of FROM, derived from below: the owner of its rows, columns that are equal, and how many rows a unit has.

use super::equivalence_classes::Col;
use super::rows::Rows;
use super::source::Unit;
use sql::ast::BindingId;

/// Properties of a part of FROM whose units are found.
#[derive(Clone)]
pub(crate) struct Props {
    /// All scans in it, by their bindings.
    pub bindings: Vec<BindingId>,
    /// Whose its rows are.
    pub owner: Owner,
    /// Columns that are equal in each of its rows.
    pub equal: Vec<(Col, Col)>,
    /// Numbers of rows of a unit.
    pub rows: Rows,
}

/// Whose the rows of a part are.
#[derive(Clone)]
pub(crate) enum Owner {
    /// Nobody: every scan is public.
    Public,
    /// The unit that is named here.
    Unit(Unit),
    /// The owner of rows outside, to which paths lead from here. `unit`: the unit of scans here,
    /// which is the same, once the paths are met.
    Outside { unit: Option<Unit>, borrows: Borrows },
    /// Somebody's, and nothing says whose: a scan with a path that was not followed yet. Where it stays so, the
    /// statement is refused.
    Unfound,
}

impl Owner {
    /// The unit that scans of the part itself have.
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Unit(unit) => Some(unit),
            Self::Outside { unit, .. } => unit.as_ref(),
            Self::Public | Self::Unfound => None,
        }
    }

    /// The paths that lead outside.
    pub fn borrows(&self) -> Vec<Borrow> {
        match self {
            Self::Outside { borrows, .. } => borrows.all(),
            Self::Public | Self::Unit(_) | Self::Unfound => Vec::new(),
        }
    }

    /// Of pairs of rows whose units are equal.
    pub fn met(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unfound, _) | (_, Self::Unfound) => Self::Unfound,
            (Self::Public, owner) | (owner, Self::Public) => owner,
            (Self::Unit(a), Self::Unit(b)) => Self::Unit(surer(a, b)),
            (Self::Unit(a), Self::Outside { unit, borrows }) => {
                let unit = Some(match unit {
                    Some(b) => surer(a, b),
                    None => a,
                });
                Self::Outside { unit, borrows }
            }
            (Self::Outside { unit, borrows }, Self::Unit(b)) => {
                let unit = Some(match unit {
                    Some(a) => surer(a, b),
                    None => b,
                });
                Self::Outside { unit, borrows }
            }
            (Self::Outside { unit: a, borrows: x }, Self::Outside { unit: b, borrows: y }) => {
                let unit = match (a, b) {
                    (Some(a), Some(b)) => Some(surer(a, b)),
                    (a, b) => a.or(b),
                };
                Self::Outside { unit, borrows: x.and(y) }
            }
        }
    }

    /// After some of its paths were met: `left` are the others.
    pub fn after(self, left: Vec<Borrow>) -> Self {
        match (self, Borrows::of(left)) {
            (Self::Outside { unit, .. }, Some(borrows)) => Self::Outside { unit, borrows },
            (Self::Outside { unit: Some(unit), .. }, None) => Self::Unit(unit),
            // All paths ended here, where no scan has a unit.
            (Self::Outside { unit: None, .. }, None) => Self::Unfound,
            (owner @ (Self::Public | Self::Unit(_) | Self::Unfound), _) => owner,
        }
    }
}

/// Of two equal units the one that is never NULL, else the first.
fn surer(a: Unit, b: Unit) -> Unit {
    if a.nullable && !b.nullable { b } else { a }
}

/// Rows of a scan with a path whose unit is that of another scan of the statement.
#[derive(Clone, Copy)]
pub(crate) struct Borrow {
    pub child: BindingId,
    pub parent: BindingId,
}

/// Paths to rows outside, one at least.
#[derive(Clone)]
pub(crate) struct Borrows {
    first: Borrow,
    more: Vec<Borrow>,
}

impl Borrows {
    /// Paths of a list; None when it is empty.
    pub(crate) fn of(list: Vec<Borrow>) -> Option<Self> {
        let mut list = list.into_iter();
        Some(Self { first: list.next()?, more: list.collect() })
    }

    pub(crate) fn all(&self) -> Vec<Borrow> {
        std::iter::once(&self.first).chain(&self.more).copied().collect()
    }

    /// Paths of both, in order.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.more.push(others.first);
        self.more.extend(others.more);
        self
    }
}

impl From<Borrow> for Borrows {
    fn from(first: Borrow) -> Self {
        Self { first, more: Vec::new() }
    }
}
