//! Risk: how identifying a table is, if its rows left as they are: for its owner, never for
//! analysts.
//!
//! `asked` is what is looked at, `texts` has PostgreSQL count it, and `classes`, `sets`,
//! `diversity` and `population` turn the counts into the measures of the literature. Nothing here
//! asks a database, and no figure holds a value of a row. These figures are exact: they promise
//! nobody anything, and are no answer of noisegate.

mod asked;
mod classes;
mod diversity;
mod population;
mod sets;
mod texts;

pub use asked::{Asked, Column, MAX_COLUMNS};
pub use classes::{Classes, Size};
pub use diversity::{Diversity, Values};
pub use population::{Match, Population};
pub use sets::{Curve, Found, Set, curve, most_identifying, sets};
pub use texts::{classes, diversity, population, sets as sets_text};
