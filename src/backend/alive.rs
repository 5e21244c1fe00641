//! Signs of life: a connection to a database whose other side has vanished is given up within a
//! quarter of a minute, since the system asks for a sign of life, unless the URL says otherwise
//! (`keepalives_idle`, `keepalives_interval`, `keepalives_retries`, `tcp_user_timeout`, as in
//! libpq).

use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_postgres::Config;

/// The idle time that the system waits for where a URL says nothing: two hours.
const SYSTEM_S: Duration = Duration::from_secs(2 * 60 * 60);

const IDLE: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_secs(3);
const RETRIES: u32 = 3;
/// The time after which bytes that were sent and not acknowledged are lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(15);

/// Makes what the URL leaves open ours.
pub(super) fn watched(config: &mut Config) {
    if !config.get_keepalives() {
        return;
    }
    if config.get_keepalives_idle() == SYSTEM_S {
        config.keepalives_idle(IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(RETRIES);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
}

/// Keepalives of a socket of our own, as a URL asks for them.
#[derive(Clone, Debug)]
pub(super) struct Alive {
    keepalive: Option<TcpKeepalive>,
    unacknowledged: Option<Duration>,
}

impl Alive {
    pub(super) fn of(config: &Config) -> Self {
        let keepalive = config.get_keepalives().then(|| {
            let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
            if let Some(interval) = config.get_keepalives_interval() {
                keepalive = keepalive.with_interval(interval);
            }
            if let Some(retries) = config.get_keepalives_retries() {
                keepalive = keepalive.with_retries(retries);
            }
            keepalive
        });
        Self { keepalive, unacknowledged: config.get_tcp_user_timeout().copied() }
    }

    pub(super) fn set(&self, stream: &TcpStream) -> io::Result<()> {
        let socket = SockRef::from(stream);
        if let Some(keepalive) = &self.keepalive {
            socket.set_tcp_keepalive(keepalive)?;
        }
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(self.unacknowledged)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_url_that_says_nothing_has_ours_and_one_that_does_its_own() {
        let mut plain: Config = "postgres://u@h/d".parse().unwrap();
        watched(&mut plain);
        assert_eq!(
            (plain.get_keepalives_idle(), plain.get_tcp_user_timeout()),
            (IDLE, Some(&UNACKNOWLEDGED))
        );
        let mut own: Config = "postgres://u@h/d?keepalives_idle=60&tcp_user_timeout=99".parse().unwrap();
        watched(&mut own);
        assert_eq!(own.get_keepalives_idle(), Duration::from_secs(60));
        assert_eq!(own.get_tcp_user_timeout(), Some(&Duration::from_secs(99)));
        let mut none: Config = "postgres://u@h/d?keepalives=0".parse().unwrap();
        watched(&mut none);
        assert!(Alive::of(&none).keepalive.is_none());
    }

    #[tokio::test]
    async fn a_socket_of_ours_asks_for_signs_of_life() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut config = Config::new();
        watched(&mut config);
        Alive::of(&config).set(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), IDLE);
    }
}
