//! Whether the whole database fell under a statement, or its own session alone.
//!
//! When one of its processes ends in disorder, PostgreSQL ends all others and begins anew: sessions hear 57P02 or nothing. What runs
//! beside sessions (the checkpointer, say) has other processes from then on, whose numbers everybody may see. So a session that was
//! lost says in which life of the server it began, and a new one whether that has ended. A network that swallows what is sent ends no
//! session at all: who has waited for a while asks whether anybody is still heard there.

use super::login::Login;
use super::options::SESSION_PROOF;
use answer::SqlState;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

/// For how long a life that ended may go unnoticed by the server itself.
const DOUBT: Duration = Duration::from_millis(1_500);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(150);
/// How long a server that is there takes to say so.
const ANSWER: Duration = Duration::from_secs(2);

/// For how long a session says nothing before the server is asked whether it is there, and between two such questions.
const SILENCE: Duration = Duration::from_secs(3);
/// Questions that it leaves open before it is given up.
const MISSED: u32 = 2;
/// After which a question that it left open says nothing of now.
const FORGOTTEN: Duration = Duration::from_secs(12);

const CRASH_SHUTDOWN: &str = "57P02";
const CANNOT_CONNECT_NOW: &str = "57P03";

/// Takes note of what is under way at this moment, and gives what to do with that once it is known that the database crashed: that
/// takes a name of the crash.
pub type Witness = Box<dyn Fn() -> Box<dyn FnOnce(&str) + Send> + Send + Sync>;

/// Loss of a session.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// The life of the server that it was of.
    pub(super) life: Option<String>,
    /// The SQLSTATE that the server said last.
    pub(super) last_word: Option<SqlState>,
    /// Whether the connection was given up, since nothing came.
    pub(super) silent: bool,
}

/// Finds out about it, by the way that a login takes to the server.
#[derive(Clone)]
pub(super) struct Falls {
    login: Login,
    witness: Arc<OnceLock<Witness>>,
    pulse: Arc<Mutex<Pulse>>,
}

/// Whether the server lets itself be heard, as far as was asked.
#[derive(Default)]
struct Pulse {
    asked: Option<Instant>,
    /// How often it has not been heard since it was.
    missed: u32,
}

/// What a question says of the server.
#[derive(PartialEq, Eq)]
enum Answer {
    Life(String),
    /// Nobody is let in.
    Closed,
    /// Nobody is there.
    Away,
    Unknown,
}

impl Falls {
    pub(super) fn new(login: Login) -> Self {
        Self { login, witness: Arc::default(), pulse: Arc::default() }
    }

    /// For another login: crashes are told to the same witness.
    pub(super) fn by(&self, login: Login) -> Self {
        Self { login, witness: self.witness.clone(), pulse: Arc::default() }
    }

    /// Returns once nobody hears anything of the server: whatever still runs there, its answer will not come. All who wait
    /// ask as one.
    pub(super) fn away(&self) -> impl Future<Output = ()> + Send + use<> {
        let (login, pulse) = (self.login.clone(), self.pulse.clone());
        async move {
            loop {
                sleep(SILENCE).await;
                let mut pulse = pulse.lock().await;
                if pulse.asked.is_none_or(|asked| asked.elapsed() >= SILENCE) {
                    // Nobody has asked for a while: that was another time.
                    if pulse.asked.is_some_and(|asked| asked.elapsed() >= FORGOTTEN) {
                        pulse.missed = 0;
                    }
                    pulse.missed = match ask(&login).await {
                        Answer::Away => pulse.missed.saturating_add(1),
                        Answer::Life(_) | Answer::Closed | Answer::Unknown => 0,
                    };
                    pulse.asked = Some(Instant::now());
                }
                if pulse.missed >= MISSED {
                    return;
                }
            }
        }
    }

    /// Has a witness told of crashes; the first stays.
    pub(super) fn told(&self, witness: Witness) {
        let _ = self.witness.set(witness);
    }

    /// Whether all sessions were lost with this one. Takes a second or two where they were not. Crashes are told; a server
    /// that somebody stopped, and one that does not answer, is away, which is no crash.
    ///
    /// What was under way is looked up when this is called, and not when it is polled.
    pub(super) fn fell(&self, loss: Loss) -> impl Future<Output = bool> + Send + use<> {
        let confirm = self.witness.get().map(|witness| witness());
        let login = self.login.clone();
        async move {
            let crash = loss.last_word.as_ref().is_some_and(|word| word.as_str() == CRASH_SHUTDOWN);
            if !crash && !ended(&login, loss.life.as_deref(), loss.silent).await {
                return false;
            }
            if let Some(confirm) = confirm.filter(|_| crash || loss.last_word.is_none() && !loss.silent) {
                confirm(loss.life.as_deref().unwrap_or("unknown"));
            }
            true
        }
    }
}

async fn ended(login: &Login, life: Option<&str>, silent: bool) -> bool {
    let until = Instant::now() + DOUBT;
    loop {
        match ask(login).await {
            Answer::Away | Answer::Closed => return true,
            Answer::Life(now) if life.is_some_and(|life| life != now) => return true,
            // It answers: what was silent was the session.
            Answer::Life(_) if silent => return false,
            Answer::Life(_) | Answer::Unknown => {}
        }
        if Instant::now() >= until {
            return false;
        }
        sleep(PAUSE).await;
    }
}

async fn ask(login: &Login) -> Answer {
    let question = async {
        let (client, connection) = login.connect().await?;
        let driver = tokio::spawn(connection);
        let row = client.query_one(SESSION_PROOF, &[]).await;
        driver.abort();
        row?.try_get::<_, Option<String>>(LIFE)
    };
    match timeout(ANSWER, question).await {
        Ok(Ok(life)) => life.map_or(Answer::Unknown, Answer::Life),
        Ok(Err(e)) => match e.as_db_error().map(|db| db.code().code()) {
            Some(CANNOT_CONNECT_NOW | CRASH_SHUTDOWN) => Answer::Closed,
            Some(_) => Answer::Unknown,
            // The system says so, and not the server.
            None => Answer::Away,
        },
        Err(_) => Answer::Away,
    }
}

/// The column of [`SESSION_PROOF`] that says in which life of the server it is answered.
pub(super) const LIFE: usize = 2;
