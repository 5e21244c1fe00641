//! What clients send.

use noisegate::frontend::fuzzing;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().unwrap();
}

/// Messages after the login.
pub fn messages(bytes: &[u8]) -> Result<bool, String> {
    let whole = fuzzing::messages(bytes, 1 << 20)?;
    // However little a server takes, it reads no other messages.
    let small = fuzzing::messages(bytes, 100)?;
    if small > whole { Err(format!("{small} of {whole} messages")) } else { Ok(whole > 0) }
}

/// Whatever comes before the login.
pub fn opening(bytes: &[u8]) -> Result<bool, String> {
    let wish = RUNTIME.with(|runtime| runtime.block_on(fuzzing::opening(bytes.to_vec())))?;
    Ok(matches!(wish, "login" | "cancel" | "refused"))
}
