//! Numbers of what a statement holds, each of a type of its own.

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
    /// The number of a relation in FROM, which its columns refer to. A statement's own are places in its list; those that a plan
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
