//! Relations under a release, by what is done of them: FROM is read, then its units are found, then values are computed from it.

use super::scans::{Result, Scans};
use super::scope::Scope;
use super::units::Block;
use crate::algebra::normal::Normal;
use crate::algebra::props::{Owner, Props};
use crate::algebra::source::{PrivateSource, Tree};
use crate::expr::{Scalar, lower, truth};
use crate::invariant::checked;
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::syntax::conditions::split;
use crate::syntax::null_extension::{null_test, rejects};
use sql::ast::*;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The scans of one FROM, in a state: [`Reading`], [`Read`], [`Owned`].
pub(crate) struct Relation<'a, State> {
    /// The scans, with their names.
    pub scans: Scans<'a>,
    /// The state.
    pub state: State,
}

/// Place of a relation.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// On the nullable side of an outer join.
    pub nullable: bool,
    /// The clause that conditions of derived tables go to: WHERE (0), or the ON of an outer join.
    pub sink: usize,
}

impl Place {
    /// Under no outer join.
    pub const TOP: Self = Self { nullable: false, sink: 0 };
}

/// Private sides of public LEFT JOIN private, and where the join was written.
pub(crate) type Optional = Vec<(BTreeSet<BindingId>, Pos)>;

/// FROM is being read.
pub(crate) struct Reading {
    /// Conditions of derived tables, by [`Place::sink`].
    sinks: Vec<Vec<Expr>>,
    pub optional: Optional,
}

/// FROM was read: its joins, and all that WHERE says, as conjuncts.
pub(crate) struct Read {
    tree: Normal,
    pub conditions: Vec<Expr>,
    optional: Optional,
}

/// A relation of which each row has one owner.
pub(crate) struct Owned {
    pub tree: Tree,
    pub props: Rc<Props>,
    /// WHERE.
    pub filter: Vec<Scalar>,
    optional: Optional,
}

impl<'a> Relation<'a, Reading> {
    /// Nothing was read yet.
    pub fn new(scope: Rc<Scope<'a>>) -> Self {
        Self::over(Scans::new(scope))
    }

    /// Nothing was read yet, with names of these scans.
    pub fn over(scans: Scans<'a>) -> Self {
        Self { scans, state: Reading { sinks: vec![Vec::new()], optional: Vec::new() } }
    }

    /// A subquery or a branch inside, which sees nothing of this.
    pub fn nested(&self) -> Self {
        Self::new(self.scans.scope.clone())
    }

    /// Reads FROM and WHERE of a SELECT.
    pub fn read(mut self, select: &Select) -> Result<Relation<'a, Read>> {
        let Some(tree) = self.list(&select.from, Place::TOP)? else {
            return Err(Refusal::Unread("FROM", select.pos));
        };
        let tree = self.with_scalars(tree, select)?;
        if let Some(f) = &select.filter {
            let f = self.scans.expand(f)?;
            self.condition(f, Place::TOP);
        }
        self.finished(tree)
    }

    /// The relation once FROM is read.
    pub fn finished(mut self, tree: Normal) -> Result<Relation<'a, Read>> {
        let conditions = self.taken(Place::TOP);
        let Self { scans, state: Reading { mut optional, .. } } = self;
        // WHERE that drops the rows without partners makes an inner join of public LEFT JOIN private.
        optional.retain(|(of, _)| !conditions.iter().any(|c| rejects(c, of)));
        for (of, pos) in &optional {
            if let Some(test) = conditions.iter().find_map(|c| null_test(c, of)) {
                return Err(Join::Absence.at(test.pos.or(*pos)));
            }
        }
        Ok(Relation { scans, state: Read { tree, conditions, optional } })
    }

    /// A place for conditions of an outer join's nullable side.
    pub fn aside(&mut self) -> Place {
        self.state.sinks.push(Vec::new());
        Place { nullable: true, sink: self.state.sinks.len() - 1 }
    }

    /// Puts a condition where those of derived tables go.
    pub fn condition(&mut self, e: Expr, at: Place) {
        if let Some(sink) = self.state.sinks.get_mut(at.sink) {
            split(e, sink);
        }
    }

    /// Takes the conditions of a place.
    pub fn taken(&mut self, at: Place) -> Vec<Expr> {
        self.state.sinks.get_mut(at.sink).map(std::mem::take).unwrap_or_default()
    }
}

impl<'a> Relation<'a, Read> {
    /// Refuses public LEFT JOIN private where no aggregate says what it is for.
    pub fn no_optional(&self, pos: Pos) -> Result<()> {
        match self.state.optional.first() {
            None => Ok(()),
            Some((_, at)) => Err(Join::OptionalInSubquery.at(at.or(pos))),
        }
    }

    /// Finds the units. Gives the conditions, which are no filter yet. `known`: conditions that hold for all rows that count, its
    /// own if none are given; `outside`: rows around that these will meet.
    pub fn owned(
        self,
        known: Option<&[Expr]>,
        outside: Option<&Props>,
    ) -> Result<(Relation<'a, Owned>, Vec<Expr>)> {
        let Self { mut scans, state: Read { tree, conditions, optional } } = self;
        let Block { tree, props } = checked(scans.block(tree, known.unwrap_or(&conditions), outside)?);
        let (props, filter) = (Rc::new(props), Vec::new());
        Ok((Relation { scans, state: Owned { tree, props, filter, optional } }, conditions))
    }

    /// Finds the units by the conditions, which become the filter.
    pub fn filtered(self) -> Result<Relation<'a, Owned>> {
        let (mut owned, conditions) = self.owned(None, None)?;
        owned.filter(&conditions)?;
        Ok(owned)
    }
}

impl Relation<'_, Owned> {
    /// Takes conditions for the filter, subqueries in them included.
    pub fn filter(&mut self, conditions: &[Expr]) -> Result<()> {
        conditions.iter().try_for_each(|c| self.prepare(c))?;
        let lowered = conditions.iter().map(|c| truth(lower(c, &self.scans)?, "WHERE", c.pos));
        self.state.filter = lowered.collect::<Result<_>>()?;
        Ok(())
    }

    /// The private relation under a release.
    pub fn source(&mut self, pos: Pos) -> Result<PrivateSource> {
        let members = self.scans.members_of_joins(&self.state.tree, &self.state.filter)?;
        self.state.filter.extend(members);
        let props = &self.state.props;
        let Owner::Unit(unit) = props.owner.clone() else { return Err(Refusal::Unread("FROM", pos)) };
        // Private relations elsewhere are tied to the optional ones: they are NULL, or their rows are gone, with them.
        let private: Vec<BindingId> =
            props.bindings.iter().copied().filter(|b| self.scans.private_scan(*b)).collect();
        let optional = std::mem::take(&mut self.state.optional).into_iter();
        let mut source = PrivateSource {
            scans: self.scans.list.clone(),
            tree: self.state.tree.clone(),
            filter: self.state.filter.clone(),
            unit,
            exact: self.scans.exact(props),
            aliases: self.scans.unit_columns(&props.bindings),
            rows: props.rows.clone(),
            added: Vec::new(),
            inside: Vec::new(),
            optional: optional
                .map(|(of, _)| of.into_iter().chain(private.iter().copied()).collect())
                .collect(),
            served: Vec::new(),
        };
        self.scans.note(&mut source);
        Ok(source)
    }

    /// A value of the rows, subqueries in it included.
    pub fn value(&mut self, e: &Expr) -> Result<Scalar> {
        let e = self.scans.expand(e)?;
        self.value_over_scans(&e)
    }

    /// The value of an expression over scans, subqueries in it included.
    pub fn value_over_scans(&mut self, e: &Expr) -> Result<Scalar> {
        self.prepare(e)?;
        lower(e, &self.scans)
    }
}
