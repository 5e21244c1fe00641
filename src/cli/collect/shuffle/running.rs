//! State that the tasks of a running shuffler share.

use super::config::Config;
use shuffler::{Spool, Writers};
use std::sync::Mutex;

pub(super) struct Running {
    pub(super) config: Config,
    pub(super) spool: Mutex<Spool>,
    pub(super) writers: Mutex<Writers>,
}
