//! Ports for the demo.

use super::Error;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// The usual port, if it is free.
pub const PORT: u16 = 6432;

/// The console's usual port.
const CONSOLE_PORT: u16 = 6480;

/// How many ports from [`PORT`] on are tried.
const TRIES: u16 = 100;

/// Takes the address asked for, else the first free port from [`PORT`] on. Loopback only, because the demo asks
/// nobody for a password.
///
/// # Errors
///
/// An address that is not loopback, is taken, or is not this machine's.
pub fn listen(asked: Option<SocketAddr>) -> Result<TcpListener, Error> {
    let Some(address) = asked else { return next_free(PORT) };
    if !address.ip().is_loopback() {
        let why = "the demo asks for no password, so it listens on loopback only (127.0.0.1 or [::1])";
        return Err(Error::Argument(format!("cannot listen on {address}: {why}")));
    }
    bind(address)
}

/// The console's usual port, or the next one that is free, on this machine only.
///
/// # Errors
///
/// No port is free.
pub fn listen_console() -> Result<TcpListener, Error> {
    next_free(CONSOLE_PORT)
}

fn next_free(first: u16) -> Result<TcpListener, Error> {
    let last = first.saturating_add(TRIES);
    for port in first..last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            other => {
                return other
                    .and_then(nonblocking)
                    .map_err(Error::io(format!("cannot listen on port {port}")));
            }
        }
    }
    Err(Error::Argument(format!(
        "no port from {first} to {last} is free: name one with --listen 127.0.0.1:PORT"
    )))
}

fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).and_then(nonblocking).map_err(Error::io(format!("cannot listen on {address}")))
}

/// As tokio wants it.
fn nonblocking(listener: TcpListener) -> std::io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_loopback_is_listened_on() {
        let error = listen(Some("0.0.0.0:0".parse().unwrap())).unwrap_err();
        assert!(error.to_string().contains("loopback"), "{error}");
        assert!(listen(Some("127.0.0.1:0".parse().unwrap())).is_ok());
    }

    #[test]
    fn a_taken_port_is_an_error_when_asked_for_and_passed_over_when_not() {
        let taken = listen(Some("127.0.0.1:0".parse().unwrap())).unwrap();
        let address = taken.local_addr().unwrap();
        assert!(listen(Some(address)).unwrap_err().to_string().contains(&address.to_string()));
        let next = next_free(address.port()).unwrap();
        assert!(next.local_addr().unwrap().port() > address.port());
    }
}
