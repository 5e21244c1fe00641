//! Memory of a process that handles what people say: no core dump, and no reading by others of its
//! user.
//!
//! A proxy that randomises holds an answer until it is randomised, an encoder holds all of its
//! input, and a shuffler for a moment who wrote what. Memory that was freed is not overwritten: a
//! dump would have it. Root reads it all the same, and so does a user who may write to swap.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Set to 1 by an operator who needs a dump, on a machine where nobody says anything true.
const LIFTED: &str = "NOISEGATE_DUMPABLE";

/// Lets nobody dump or attach to this process, unless the environment says so; what is amiss, in words.
///
/// # Errors
/// The system does not do it. The process may go on: it is one of several layers.
pub fn keep() -> Result<(), String> {
    if std::env::var_os(LIFTED).is_some_and(|v| v == "1") {
        return Err(format!("{LIFTED} is set: core dumps of this process may hold what people said"));
    }
    let amiss = |e: rustix::io::Errno| format!("core dumps cannot be turned off: {e}");
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(amiss)?;
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).map_err(amiss)
}

/// The same, for a command by itself.
pub fn keep_or_say() {
    if let Err(why) = keep() {
        eprintln!("noisegate: {why}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rustix::process::getrlimit;

    #[test]
    fn this_process_is_not_dumped() {
        keep().unwrap();
        let core = getrlimit(Resource::Core);
        assert_eq!((core.current, core.maximum), (Some(0), Some(0)));
        #[cfg(target_os = "linux")]
        assert_eq!(
            rustix::process::dumpable_behavior().unwrap(),
            rustix::process::DumpableBehavior::NotDumpable
        );
    }
}
