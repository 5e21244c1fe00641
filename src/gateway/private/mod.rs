//! The steps of a query that has a plan, in their order: `planning` resolves and plans, with constants from `constant_folding`, public
//! rows from `public_rows`, and moving bounds from `snapping`; `typing` has PostgreSQL type; `stages` orders releases in steps, `execution` looks
//! for stored answers and has `pay` charge, fetch and release the others; `finish` finishes over released `columns`, and `straight` what needs no finish.
//! `bounds` and `refine` release more than once, `rounds` and `private_groups` what is released in groups, `stream` asks streams,
//! `synthetic` makes rows up. `measuring` asks statements of the owner's.

pub mod bounds;
pub mod columns;
pub mod constant_folding;
pub mod execution;
pub mod finish;
pub mod lasting;
pub mod measuring;
pub mod parameters;
pub mod pay;
pub mod planning;
pub mod private_groups;
pub mod public_rows;
pub mod reads;
pub mod refine;
pub mod rounds;
pub mod snapping;
pub mod stages;
pub mod step;
pub mod straight;
pub mod stream;
pub mod synthetic;
pub mod typing;
