//! Work that recurses.

use crate::STACK;

/// In a thread with the stack that planning needs.
pub fn with_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|e| format!("no thread can be started: {e}"))?;
        // A panic has printed what it is.
        thread.join().unwrap_or_else(|_| Err("the command failed".into()))
    })
}
