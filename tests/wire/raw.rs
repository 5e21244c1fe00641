//! A client that sends what it is told, byte for byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

pub struct Client(pub TcpStream);

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub tag: char,
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse or NoticeResponse.
    pub fn field(&self, code: char) -> Option<String> {
        assert!(matches!(self.tag, 'E' | 'N'), "{self:?}");
        self.body
            .split(|b| *b == 0)
            .filter_map(|f| f.split_first())
            .find(|(c, _)| char::from(**c) == code)
            .map(|(_, text)| String::from_utf8(text.to_vec()).unwrap())
    }
}

/// The messages up to ReadyForQuery or the end.
#[derive(Debug)]
pub struct Reply(pub Vec<Message>);

impl Reply {
    pub fn tags(&self) -> String {
        self.0.iter().map(|m| m.tag).collect()
    }

    fn all(&self, tag: char) -> impl Iterator<Item = &Message> {
        self.0.iter().filter(move |m| m.tag == tag)
    }

    /// First cells of all rows.
    pub fn rows(&self) -> Vec<String> {
        self.all('D').map(|m| String::from_utf8(m.body[6..].to_vec()).unwrap()).collect()
    }

    /// Command tags.
    pub fn completed(&self) -> Vec<String> {
        self.all('C').map(|m| String::from_utf8(m.body[..m.body.len() - 1].to_vec()).unwrap()).collect()
    }

    pub fn notices(&self) -> Vec<&Message> {
        self.all('N').collect()
    }

    /// The error's severity and SQLSTATE.
    pub fn error(&self) -> Option<(String, String)> {
        let mut errors = self.all('E');
        let first = errors.next()?;
        assert!(errors.next().is_none(), "two errors: {self:?}");
        Some((first.field('S').unwrap(), first.field('C').unwrap()))
    }

    pub fn error_field(&self, code: char) -> Option<String> {
        self.all('E').next()?.field(code)
    }

    /// The status of ReadyForQuery.
    pub fn status(&self) -> Option<char> {
        self.all('Z').next().map(|m| char::from(m.body[0]))
    }

    pub fn is_fatal(&self, code: &str) -> bool {
        self.error() == Some(("FATAL".into(), code.into())) && self.status().is_none()
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    /// From this address of this machine.
    pub fn connect_from(local: SocketAddr, address: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(local).unwrap();
            socket.connect(address).await.unwrap().into_std().unwrap()
        });
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(stream)
    }

    /// A session of a user who needs no password.
    pub fn login(address: SocketAddr, user: &str) -> Self {
        let mut client = Self::connect(address);
        client.send(&startup(&[("user", user)]));
        let reply = client.reply();
        assert_eq!(reply.status(), Some('I'), "{reply:?}");
        client
    }

    /// Sends as much as the server takes.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    pub fn query(&mut self, sql: &str) -> Reply {
        self.send(&query(sql));
        self.reply()
    }

    /// The next message, or nothing at the end.
    pub fn message(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        match self.0.read_exact(&mut head) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("the server does not answer"),
            Err(_) => return None,
        }
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.0.read_exact(&mut body).unwrap();
        Some(Message { tag: char::from(head[0]), body })
    }

    /// Messages up to ReadyForQuery or the end.
    pub fn reply(&mut self) -> Reply {
        let mut messages = Vec::new();
        while let Some(message) = self.message() {
            let last = message.tag == 'Z';
            messages.push(message);
            if last {
                break;
            }
        }
        Reply(messages)
    }

    /// All bytes up to the end, which must come.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Err(e) = self.0.read_to_end(&mut bytes) {
            assert_ne!(e.kind(), std::io::ErrorKind::WouldBlock, "the server does not close");
        }
        bytes
    }

    /// What comes until the end, or until nothing has come for so long.
    pub fn read_for(&mut self, silence: Duration) -> Vec<u8> {
        let before = self.0.read_timeout().unwrap();
        self.0.set_read_timeout(Some(silence)).unwrap();
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(n @ 1..) = self.0.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..n]);
        }
        self.0.set_read_timeout(before).unwrap();
        bytes
    }

    pub fn finish_sending(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

pub fn packet(body: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(body.len() + 4).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

pub fn message(tag: char, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(tag).unwrap()];
    bytes.extend(packet(body));
    bytes
}

pub fn query(sql: &str) -> Vec<u8> {
    message('Q', &[sql.as_bytes(), b"\0"].concat())
}

pub fn startup_version(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    packet(&body)
}

pub fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    startup_version(3 << 16, parameters)
}

pub fn ssl_request() -> Vec<u8> {
    packet(&80_877_103u32.to_be_bytes())
}

pub fn gssenc_request() -> Vec<u8> {
    packet(&80_877_104u32.to_be_bytes())
}

pub fn cancel_request(pid: &[u8], secret: &[u8]) -> Vec<u8> {
    packet(&[&80_877_102u32.to_be_bytes()[..], pid, secret].concat())
}
