//! A TCP relay in front of PostgreSQL that cuts or freezes connections at a chosen message.

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A commit, and its answer.
const COMMIT: &[u8] = b"COMMIT\0";

/// What happens next, once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trap {
    /// When these bytes are sent: they are lost, and the connection with them.
    CutBefore(&'static [u8]),
    /// When these bytes are answered: they are lost, and the connection with them.
    CutAnswer(&'static [u8]),
    /// When these bytes are sent: they are lost, and nothing is passed on until somebody lets it.
    FreezeBefore(&'static [u8]),
    /// When these bytes are answered: the same.
    FreezeAnswer(&'static [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Pass,
    Freeze,
    /// New connections end at once; those that are there go on.
    Refuse,
}

struct State {
    mode: Mode,
    trap: Option<Trap>,
    open: Vec<TcpStream>,
    /// The connections, by number, whose COMMIT has not been answered.
    committing: HashSet<usize>,
}

/// It ends with the test's process.
#[derive(Clone)]
pub struct Relay {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Relay {
    /// The relay, and the URL that goes through it.
    pub fn before(url: &str) -> (Self, String) {
        let (front, path) = url.rsplit_once('/').unwrap();
        let (host, server) = front.rsplit_once(':').unwrap();
        let server: u16 = server.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = State { mode: Mode::Pass, trap: None, open: Vec::new(), committing: HashSet::new() };
        let relay = Self { port: listener.local_addr().unwrap().port(), state: Arc::new(Mutex::new(state)) };
        let through = format!("{host}:{}/{path}", relay.port);
        let accepting = relay.clone();
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
                if accepting.mode() == Mode::Refuse {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let both = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                accepting.state.lock().unwrap().open.extend(both);
                let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (up, down) = (accepting.clone(), accepting.clone());
                std::thread::spawn(move || up.pump(number, client, server, true));
                std::thread::spawn(move || down.pump(number, from_server, to_client, false));
            }
        });
        (relay, through)
    }

    pub fn set(&self, mode: Mode) {
        self.state.lock().unwrap().mode = mode;
    }

    fn mode(&self) -> Mode {
        self.state.lock().unwrap().mode
    }

    pub fn trap(&self, trap: Trap) {
        self.state.lock().unwrap().trap = Some(trap);
    }

    pub fn sprung(&self) -> bool {
        self.state.lock().unwrap().trap.is_none()
    }

    /// Whether the proxy knows of every commit that it asked for. The database shows what a commit did before its
    /// answer has come this far: a trap set in between would take that answer for the next one.
    pub fn settled(&self) -> bool {
        self.state.lock().unwrap().committing.is_empty()
    }

    /// Ends all connections.
    pub fn cut(&self) {
        for socket in self.state.lock().unwrap().open.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn pump(&self, number: usize, mut from: TcpStream, mut to: TcpStream, up: bool) {
        from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
                Ok(n) => {
                    let bytes = &buffer[..n];
                    match self.springs(bytes, up) {
                        None => {}
                        Some(true) => break,
                        // Lost, whatever comes later.
                        Some(false) => continue,
                    }
                    while self.mode() == Mode::Freeze {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    let commit = bytes.windows(COMMIT.len()).any(|w| w == COMMIT);
                    if commit && up {
                        self.state.lock().unwrap().committing.insert(number);
                    }
                    if to.write_all(bytes).is_err() {
                        break;
                    }
                    if commit && !up {
                        self.state.lock().unwrap().committing.remove(&number);
                    }
                }
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
        self.state.lock().unwrap().committing.remove(&number);
    }

    /// Whether the trap springs, and whether it cuts.
    fn springs(&self, bytes: &[u8], up: bool) -> Option<bool> {
        let mut state = self.state.lock().unwrap();
        let (what, sent, cuts) = match state.trap? {
            Trap::CutBefore(what) => (what, true, true),
            Trap::CutAnswer(what) => (what, false, true),
            Trap::FreezeBefore(what) => (what, true, false),
            Trap::FreezeAnswer(what) => (what, false, false),
        };
        if sent != up || !bytes.windows(what.len()).any(|w| w == what) {
            return None;
        }
        state.trap = None;
        if !cuts {
            state.mode = Mode::Freeze;
        }
        Some(cuts)
    }
}
