//! The PostgreSQL wire: listening, TLS, login, framing, the virtual transaction, and the simple and the
//! extended query protocol with their prepared statements and portals.
//!
//! Everything here treats the client as hostile: each length has a limit, each message is decoded by checked
//! code, and an error before the login is done always closes the connection. What a statement means is not
//! decided here: the [`Service`] parses and runs it. No SQL, no policy and no privacy belong in this folder.

mod auth;
mod budget;
mod call;
mod cancel;
mod cells;
mod connection;
mod copy;
mod cursors;
mod extended;
mod frame;
#[cfg(feature = "testing")]
pub mod fuzzing;
pub mod journal;
mod listener;
mod message;
mod opened;
pub mod password;
mod peer;
mod phase;
mod portal;
mod position;
mod prepared;
mod query;
mod reply;
mod rows;
mod run;
mod scratch;
mod server;
mod service;
mod session;
mod settings;
mod slots;
mod spool;
mod startup;
mod state;
mod stop;
mod tls;
mod transaction;
mod turns;
pub mod unix;
mod wire;

pub use answer::Control;
pub use listener::{Address, Listener};
pub use peer::neighbourhood;
pub use server::{Server, Sessions, Shutdown};
pub use service::{Account, Auth, Client, Service, Session, Weight};
pub use settings::{InForce, Settings};
pub use tls::Tls;
