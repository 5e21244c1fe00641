//! Reading the policy again while the proxy serves: all of it takes effect, or none of it.

use super::log;
use super::manager::Manager;
use super::request::Answer;
use crate::gateway::{ActiveGateway, Reopened};
use frontend::{InForce, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a reload of one policy reaches.
pub struct Reloader {
    /// The policy's file, as it was when the proxy started.
    pub file: PathBuf,
    /// The gateway in force.
    pub active: Arc<ActiveGateway>,
    /// What it shares with others.
    pub folder: Arc<Folder>,
}

/// What all policies behind one port share: it is as the first one says.
pub struct Folder {
    /// The first one's gateway in force.
    pub first: Arc<ActiveGateway>,
    /// The frontend's part.
    pub settings: InForce,
    /// The log's level.
    pub log: log::Handle,
    /// Who hears of it.
    pub manager: Manager,
    /// One at a time.
    pub turn: tokio::sync::Mutex<()>,
    /// What the service manager shows while all is well.
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
                let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
                for warning in &reopened.warnings {
                    tracing::warn!("{}", one_line(warning));
                }
                if !reopened.restart.is_empty() {
                    tracing::warn!(keys = reopened.restart.join(", "), "changed, and needs a restart");
                }
                let mut changed = owned(&reopened.changed);
                if reopened.schema_changed {
                    changed.push("the schema of the tables".to_owned());
                }
                tracing::info!(changed = changed.join(", "), "reloaded");
                Answer::Reloaded {
                    changed,
                    restart: owned(&reopened.restart),
                    warnings: reopened.warnings.clone(),
                }
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

    async fn try_reload(&self) -> Result<Reopened, String> {
        let raw = policy::load(&self.file).map_err(|e| e.to_string())?;
        let old = self.active.current();
        let reopened = old.reopen(&raw).await.map_err(|e| {
            let moved = raw.backend().is_some_and(|b| *b != old.policy().backend);
            let note = "(checked over the database that is served: a change of [backend] needs a restart)";
            if moved { format!("{e}\n{note}") } else { e.to_string() }
        });
        let (gateway, mut reopened) = reopened?;
        if !Arc::ptr_eq(&self.active, &self.folder.first) {
            let unlike = gateway.policy().unlike(self.folder.first.current().policy());
            if !unlike.is_empty() {
                return Err(format!(
                    "{} must be as in the first policy of the folder: they share a port; change them there, and reload \
                     that first",
                    unlike.join(", ")
                ));
            }
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

/// A mistake and its hint in one line.
pub fn one_line(text: &str) -> String {
    text.replace("\n    ", "; ").replace('\n', " ")
}
