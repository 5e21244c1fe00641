//! Numbers of what a statement holds, each of a type of its own, and the list that the numbers of relations point into.

use super::query::Binding;
use std::fmt;

/// A number that a statement gives out, in order.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(usize);

        impl $name {
            /// Of a number.
            pub const fn new(number: usize) -> Self {
                Self(number)
            }

            /// The number as such.
            pub const fn number(self) -> usize {
                self.0
            }

            /// The number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// The number of a relation in FROM, which its columns refer to. A statement's own are places in [`Bindings`]; those that a plan
    /// adds follow them.
    BindingId
}

id! {
    /// The number of a SELECT, unique in its statement.
    SelectId
}

id! {
    /// The number of a CTE, unique in its statement.
    CteId
}

/// The relations of a statement, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings(Vec<Binding>);

impl Bindings {
    /// The relation of a number; None for one that the statement does not have.
    pub fn get(&self, id: BindingId) -> Option<&Binding> {
        self.0.get(id.0)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: BindingId) -> Option<&mut Binding> {
        self.0.get_mut(id.0)
    }

    /// The number of the next relation.
    pub fn next(&self) -> BindingId {
        BindingId(self.0.len())
    }

    /// Adds a relation, and says its number.
    pub fn push(&mut self, binding: Binding) -> BindingId {
        let id = self.next();
        self.0.push(binding);
        id
    }

    /// The relations with their numbers, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (BindingId, &Binding)> {
        self.0.iter().enumerate().map(|(i, b)| (BindingId(i), b))
    }

    /// The relations, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Binding> {
        self.0.iter_mut()
    }

    /// Whether nothing is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
