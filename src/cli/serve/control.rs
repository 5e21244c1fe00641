//! The socket beside the ledger by which `noisegate ctl` speaks to the process that holds it.

use super::measuring;
use super::reloading::Reloader;
pub use super::request::{Answer, Beside, Measured, ProfilePrice, Profiled, Profiling, Request, Table};
use policy::GivenFile;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// The socket's name is the ledger's with this behind it.
const SUFFIX: &str = "-control";
/// More than any request has.
const LONGEST_REQUEST: u64 = 64 << 10;
/// More than any answer has: a policy has 16 MiB at most, and a mistake names a part of it.
const LONGEST_ANSWER: u64 = 256 << 20;
/// The time to say what one wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// Path of the socket.
pub fn path(ledger: &Path) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// A bound control socket, removed on drop.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    owner: u32,
}

impl Control {
    /// Binds it. The caller has the ledger, so a socket that is there belongs to nobody.
    pub fn bind(ledger: &Path) -> io::Result<Self> {
        let path = path(ledger);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(&path)?,
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is there, and no socket")),
            Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let owner = std::fs::symlink_metadata(&path)?.uid();
        Ok(Self { listener, path, owner })
    }

    /// Serves one request after the other, for the policies that share the ledger.
    pub async fn serve(self, reloaders: Arc<[Arc<Reloader>]>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    // Until the permissions are set, others may have connected.
                    let who = stream.peer_cred().map(|c| c.uid());
                    if !who.is_ok_and(|uid| uid == self.owner || uid == 0) {
                        tracing::warn!("refused a request from another user on the control socket");
                        continue;
                    }
                    let reloaders = reloaders.clone();
                    tokio::spawn(async move {
                        if let Err(error) = attend(stream, &reloaders).await {
                            tracing::warn!(%error, "a request on the control socket was not served");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "the control socket cannot be used for a moment");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn attend(mut stream: UnixStream, reloaders: &[Arc<Reloader>]) -> io::Result<()> {
    let mut text = Vec::new();
    let (read, mut write) = stream.split();
    timeout(PATIENCE, read.take(LONGEST_REQUEST).read_to_end(&mut text)).await??;
    let request: Request = serde_json::from_slice(&text)?;
    let (Request::Reload { policy, .. } | Request::Refresh { policy, .. } | Request::Profile { policy, .. }) =
        &request;
    let answer = if let Some(reloader) = reloaders.iter().find(|r| r.serves(policy)) {
        answer(reloader, &request).await
    } else {
        let served: Vec<_> = reloaders.iter().map(|r| r.policy().display().to_string()).collect();
        let served = served.join(", ");
        Answer::Refused(format!(
            "the process that holds this ledger serves {served}, not {}",
            policy.display()
        ))
    };
    write.write_all(&serde_json::to_vec(&answer)?).await?;
    write.shutdown().await
}

async fn answer(reloader: &Reloader, request: &Request) -> Answer {
    if let Request::Refresh { author, reason, .. } = request {
        match reloader.active.current().refresh(author, reason).await {
            Ok(()) => {
                tracing::info!(%author, %reason, "the data is new: kept answers have ended");
                Answer::Refreshed
            }
            Err(refusal) => Answer::Refused(refusal.to_string()),
        }
    } else if let Request::Profile { step, .. } = request {
        let gateway = reloader.active.current();
        // Measuring is a statement's whole way.
        match Box::pin(measuring::answer(&gateway, step)).await {
            Ok(done) => Answer::Profiled(done),
            Err(why) => Answer::Refused(why),
        }
    } else if let Request::Reload { check: true, .. } = request {
        reloader.compare().await
    } else {
        reloader.reload().await
    }
}

/// Error of an answer that fits no request of this version.
pub const OTHER_VERSION: &str = "the proxy is of another version: it answered something else";

/// Why nobody answered.
pub fn unanswered(ledger: &GivenFile, error: &io::Error) -> String {
    let path = ledger.and(SUFFIX);
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
            "no proxy serves from this ledger: nobody answers at {path}. If one does and ledger.url has changed, \
             it needs a restart"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("not allowed to use {path}: run this as the proxy's user, or as root")
        }
        _ => format!("cannot ask the proxy at {path}: {error}"),
    }
}

/// Asks the process that holds the ledger.
pub async fn ask(ledger: &GivenFile, request: &Request) -> io::Result<Answer> {
    let found = std::fs::canonicalize(ledger).unwrap_or_else(|_| ledger.reveal().clone());
    let mut stream = UnixStream::connect(path(&found)).await?;
    stream.write_all(&serde_json::to_vec(request)?).await?;
    stream.shutdown().await?;
    let mut text = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut text).await?;
    if text.is_empty() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it did not answer; its log says why"));
    }
    Ok(serde_json::from_slice(&text)?)
}
