//! A TCP proxy between noisegate and PostgreSQL that does what networks and servers do at the worst moment.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// What it does with connections and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Passes them on.
    Pass,
    /// Keeps connections open, takes new ones, and passes nothing on.
    Freeze,
    /// Takes no connection. Those that are there go on.
    Refuse,
}

/// What springs a trap.
pub enum Trigger {
    /// noisegate sends these bytes.
    Sent(&'static [u8]),
    /// PostgreSQL has answered more bytes than this since the trap was set.
    Answered(usize),
}

/// What a trap does.
pub enum Action {
    /// Freezes all connections; the bytes that sprang it are lost.
    Freeze,
    /// Resets this connection in place of passing the bytes on, and is like this from now on.
    Reset(Mode),
    /// Does something else, and passes the bytes on.
    Run(Box<dyn FnOnce() + Send>),
}

struct Trap {
    trigger: Trigger,
    answered: usize,
    action: Action,
}

/// The proxy. It ends with the test's runtime.
pub struct Proxy {
    port: u16,
    mode: Arc<watch::Sender<Mode>>,
    trap: Arc<Mutex<Option<Trap>>>,
}

impl Proxy {
    /// In front of the server at this port of 127.0.0.1.
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mode = Arc::new(watch::Sender::new(Mode::Pass));
        let trap = Arc::new(Mutex::new(None));
        tokio::spawn(accept(listener, server, mode.clone(), trap.clone()));
        Self { port, mode, trap }
    }

    /// The URL by way of this proxy.
    pub fn by_way(&self, url: &str) -> String {
        let (host, path) = url.rsplit_once('/').unwrap();
        let (host, _) = host.rsplit_once(':').unwrap();
        format!("{host}:{}/{path}", self.port)
    }

    /// From now on.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Waits for something to happen once.
    pub fn trap(&self, trigger: Trigger, action: Action) {
        *self.trap.lock().unwrap() = Some(Trap { trigger, answered: 0, action });
    }

    /// Whether the trap has sprung.
    pub fn sprung(&self) -> bool {
        self.trap.lock().unwrap().is_none()
    }
}

type Shared = (Arc<watch::Sender<Mode>>, Arc<Mutex<Option<Trap>>>);

async fn accept(
    listener: TcpListener,
    server: u16,
    mode: Arc<watch::Sender<Mode>>,
    trap: Arc<Mutex<Option<Trap>>>,
) {
    let address = listener.local_addr().unwrap();
    let mut listener = Some(listener);
    let mut seen = mode.subscribe();
    loop {
        if *seen.borrow_and_update() == Mode::Refuse {
            listener = None;
            seen.changed().await.unwrap();
            continue;
        }
        if listener.is_none() {
            listener = Some(TcpListener::bind(address).await.unwrap());
        }
        tokio::select! {
            client = listener.as_ref().unwrap().accept() => {
                tokio::spawn(connection(client.unwrap().0, server, (mode.clone(), trap.clone())));
            }
            _ = seen.changed() => {}
        }
    }
}

async fn connection(client: TcpStream, server: u16, shared: Shared) {
    // Only while it passes is there anybody behind it.
    let mut seen = shared.0.subscribe();
    match seen.wait_for(|m| *m != Mode::Freeze).await.as_deref() {
        Ok(Mode::Pass) => {}
        // It came before the listener was gone.
        _ => return,
    }
    let socket = TcpSocket::new_v4().unwrap();
    // What the server has sent and we have not read must not be its whole answer.
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let Ok(server) = socket.connect(([127, 0, 0, 1], server).into()).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    // A socket with unread bytes that is closed without waiting resets its peer.
    client.set_zero_linger().unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let pumps = (pump(from_client, to_server, true, &shared), pump(from_server, to_client, false, &shared));
    // Either end: both halves are dropped, which closes both sockets.
    tokio::select! {
        () = pumps.0 => {}
        () = pumps.1 => {}
    }
}

/// Passes bytes on until either side ends or a trap says so.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, sent: bool, shared: &Shared) {
    let (mode, trap) = shared;
    let mut seen = mode.subscribe();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(n @ 1..) = from.read(&mut buffer).await else { return };
        match sprung(trap, sent, &buffer[..n]) {
            None => {}
            Some(Action::Freeze) => {
                mode.send_replace(Mode::Freeze);
                // These bytes are lost for good, so this connection never goes on.
                std::future::pending::<()>().await;
            }
            Some(Action::Reset(then)) => {
                mode.send_replace(then);
                return;
            }
            Some(Action::Run(work)) => work(),
        }
        if seen.wait_for(|m| *m != Mode::Freeze).await.is_err() || to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

fn sprung(trap: &Mutex<Option<Trap>>, sent: bool, bytes: &[u8]) -> Option<Action> {
    let mut trap = trap.lock().unwrap();
    let set = trap.as_mut()?;
    let springs = match set.trigger {
        Trigger::Sent(what) => sent && bytes.windows(what.len()).any(|w| w == what),
        Trigger::Answered(limit) => {
            set.answered += if sent { 0 } else { bytes.len() };
            set.answered > limit
        }
    };
    if springs { trap.take().map(|t| t.action) } else { None }
}
