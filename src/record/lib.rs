//! Record of statements that ran and that run, for owners and operators: who asked, how it was
//! answered, what it cost, how long each part took, and why it was refused. Kept in memory, for as
//! long as the process lives, within a bound of bytes.
//!
//! No value is in it: no row, no cell, no parameter, no count but that of the rows that a client
//! was sent, and no text but where the policy keeps texts. `work` is one statement, `recorder` all
//! of a database, `tally` sums over them, `reason` the words of a refusal without the analyst's,
//! `totals` numbers for monitoring, `trace` what is sent elsewhere, `strangers` how the log names
//! those who are not logged in. It knows neither SQL nor policies.

mod asked;
mod held;
mod outcome;
mod reason;
mod recorder;
mod running;
mod stage;
mod strangers;
mod tally;
mod totals;
mod trace;
mod work;

pub use asked::{Asked, Ended, Price, Share};
pub use held::{Held, held, holding};
pub use outcome::Outcome;
pub use reason::reason;
pub use recorder::{Line, Recorder, Shown};
pub use running::{Running, Step, answered, inherited, looked, paid, step};
pub use stage::{Stage, Stages};
pub use strangers::{STRANGERS, said};
pub use tally::{Refusals, Tally};
pub use totals::{BOUNDS, Histogram, Totals};
pub use trace::{Traced, Tracer, Turn};
