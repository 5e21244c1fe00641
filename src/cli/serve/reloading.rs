//! Reading the policy again while the proxy serves: all of it takes effect, or none of it.

use super::log;
use super::manager::Manager;
use super::request::Answer;
use crate::gateway::{ActiveGateway, Checked, OpenError, Reopened};
use frontend::{InForce, Settings};
use policy::RawPolicy;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a policy is read until two reads agree.
const READS: u32 = 30;
const BETWEEN_READS: Duration = Duration::from_millis(100);

/// A reloader of one policy.
pub struct Reloader {
    /// The policy's file, as it was when the proxy started.
    pub file: PathBuf,
    /// The gateway in force.
    pub active: Arc<ActiveGateway>,
    /// State that it shares with others.
    pub folder: Arc<Folder>,
}

/// State that all policies behind one port share: it is as the first one says.
pub struct Folder {
    /// The first one's gateway in force.
    pub first: Arc<ActiveGateway>,
    /// All of them, each with its file.
    pub all: Vec<(PathBuf, Arc<ActiveGateway>)>,
    /// The frontend's part.
    pub settings: InForce,
    /// The log's level.
    pub log: log::Handle,
    /// The service manager, which hears of it.
    pub manager: Manager,
    /// Turns at reloading, one at a time.
    pub turn: tokio::sync::Mutex<()>,
    /// Status that the service manager shows while all is well.
    pub status: String,
}

impl Reloader {
    /// The policy's file.
    pub fn policy(&self) -> &Path {
        &self.file
    }

    /// Whether this is the policy's file, by whatever name.
    pub fn serves(&self, file: &Path) -> bool {
        match (self.file.canonicalize(), file.canonicalize()) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            _ => self.file == file,
        }
    }

    /// Reads the policy and puts it in force, or says why not. Both are logged.
    pub async fn reload(&self) -> Answer {
        let _turn = self.folder.turn.lock().await;
        self.folder.manager.reloading();
        tracing::info!(policy = %self.file.display(), "reloading");
        match self.try_reload().await {
            Ok(reopened) => {
                self.folder.manager.ready(&self.folder.status);
                for warning in &reopened.warnings {
                    tracing::warn!("{}", one_line(warning));
                }
                if !reopened.restart.is_empty() {
                    tracing::warn!(keys = reopened.restart.join(", "), "changed, and needs a restart");
                }
                tracing::info!(changed = changed(&reopened).join(", "), "reloaded");
                told(&reopened)
            }
            Err(why) => {
                for line in why.replace("\n    ", "; ").lines() {
                    tracing::error!("not reloaded, the old policy stays in force: {line}");
                }
                let first = why.lines().next().unwrap_or_default();
                self.folder
                    .manager
                    .ready(&format!("{}; the last reload failed: {first}", self.folder.status));
                Answer::Refused(why)
            }
        }
    }

    /// Says what a reload would change, or why it would be refused.
    pub async fn compare(&self) -> Answer {
        let compared = async {
            let raw = self.read().await?;
            let old = self.active.current();
            let (checked, reopened) = old.compare(&raw).await.map_err(|e| self.refused(&raw, &e))?;
            self.fits_the_folder(&checked)?;
            Settings::of(&checked.policy).map_err(|e| e.to_string())?;
            Ok::<_, String>(reopened)
        };
        compared.await.map_or_else(Answer::Refused, |reopened| told(&reopened))
    }

    /// The policy, when two reads of it agree: who writes it may not be done.
    async fn read(&self) -> Result<RawPolicy, String> {
        let bytes = || std::fs::read(&self.file).ok();
        let mut before = bytes();
        for _ in 0..READS {
            tokio::time::sleep(BETWEEN_READS).await;
            let raw = policy::load(&self.file);
            let now = bytes();
            if now == before {
                return raw.map_err(|e| e.to_string());
            }
            before = now;
        }
        Err(format!("{} is still being written; reload when that has ended", self.file.display()))
    }

    fn refused(&self, raw: &RawPolicy, e: &OpenError) -> String {
        let moved = raw.backend().is_some_and(|b| *b != self.active.current().policy().backend);
        let note = "(checked over the database that is served: a change of [backend] needs a restart)";
        if moved { format!("{e}\n{note}") } else { e.to_string() }
    }

    /// Whether what all policies behind the port share is as the first one says, and no rows have books beside those of
    /// another policy.
    fn fits_the_folder(&self, Checked { policy, reached, .. }: &Checked) -> Result<(), String> {
        for (file, other) in self.folder.all.iter().filter(|(_, other)| !Arc::ptr_eq(other, &self.active)) {
            let other = other.current();
            let name = file.display().to_string();
            if let Some(clash) = other.reached().clash(other.policy(), &name, reached, policy) {
                return Err(clash);
            }
        }
        if Arc::ptr_eq(&self.active, &self.folder.first) {
            return Ok(());
        }
        let unlike = policy.unlike(self.folder.first.current().policy());
        if unlike.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{} must be as in the first policy of the folder: they share a port; change them there, and reload that first",
            unlike.join(", ")
        ))
    }

    async fn try_reload(&self) -> Result<Reopened, String> {
        let raw = self.read().await?;
        let old = self.active.current();
        let (checked, mut reopened) = old.compare(&raw).await.map_err(|e| self.refused(&raw, &e))?;
        self.fits_the_folder(&checked)?;
        let gateway = old.reopen(checked, &reopened).await.map_err(|e| self.refused(&raw, &e))?;
        if !Arc::ptr_eq(&self.active, &self.folder.first) {
            self.active.replace(gateway);
            return Ok(reopened);
        }
        let settings = Settings::of(gateway.policy()).map_err(|e| e.to_string())?;
        // Nothing fails from here on.
        self.folder.log.set(gateway.policy().log.level);
        if self.folder.settings.replace(settings) {
            reopened.changed.push("the certificate");
        }
        self.active.replace(gateway);
        Ok(reopened)
    }
}

/// What has changed and is in force with it.
fn changed(reopened: &Reopened) -> Vec<String> {
    let schema = reopened.schema_changed.then_some("the schema of the tables");
    reopened.changed.iter().copied().chain(schema).map(str::to_owned).collect()
}

fn told(reopened: &Reopened) -> Answer {
    Answer::Reloaded {
        changed: changed(reopened),
        restart: reopened.restart.iter().map(|key| (*key).to_owned()).collect(),
        warnings: reopened.warnings.clone(),
    }
}

/// A mistake and its hint in one line.
pub fn one_line(text: &str) -> String {
    text.replace("\n    ", "; ").replace('\n', " ")
}
