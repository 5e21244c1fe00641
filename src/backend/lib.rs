//! The database: pools, the relay, the fetch, and the proof that the finish login cannot reach private rows.
//!
//! [`Backend`] has two pools. *fetch* reads private rows, over tokio-postgres, in one snapshot.
//! *finish* prepares and runs statements over public and released rows by a separate login, over a small
//! connection of ours that carries rows as bytes in the client's own format. Sessions here carry no
//! state: what a client's session has set is [`Settings`], applied inside each transaction and gone with it.
//! Nothing here knows about privacy prices, and no error of a fetch holds a word that the database wrote.

mod alive;
pub mod citus;
mod collect;
mod connect;
mod connection;
mod data_row;
mod direct;
mod directory;
mod error;
mod falls;
mod fetch;
mod finish_login;
mod health;
pub mod introspect;
mod listen;
mod login;
mod memory;
mod needless;
pub mod needs;
mod options;
mod param;
mod places;
mod pool;
mod prepared;
mod relay;
mod rows;
mod settings;
mod shares;
mod socket;
mod terms;
mod text;
mod tls;
mod worn;

pub use collect::{Batch, Cells, Reports, StoreError, Target};
pub use connect::ConnectError;
pub use data_row::texts;
pub use direct::Direct;
pub use directory::Directory;
pub use error::{DbError, FetchError, RelayError, cause, lacking};
pub use falls::Witness;
pub use fetch::{Answers, FetchRequest, Fingerprint, Keeps, Opened, Sieve};
pub use health::PoolUse;
pub use listen::{Listening, row_triggers};
pub use login::Login;
pub use options::OPTIONS_LOST;
pub use param::Param;
pub use places::Places;
pub use pool::{Asker, Backend, Reader};
pub use prepared::is_lasting;
pub use relay::Description;
pub use rows::Rows;
pub use settings::{Setting, Settings};
pub use shares::Place;
pub use text::{FetchText, Hints};
pub use tls::{Secured, Tls, server};
