//! Deadlines, and host name lookups that keep them.

use crate::meter::ReadFailure;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// The time by which a reading must be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            limit,
        }
    }

    /// The time left, above 0.
    pub(crate) fn left(self, step: &'static str) -> Result<Duration, ReadFailure> {
        let left = self.at.saturating_duration_since(Instant::now());
        // A socket refuses a timeout of 0, and may round a short one down to 0.
        if left < Duration::from_micros(100) {
            return Err(self.passed(step));
        }
        Ok(left)
    }

    /// The failure when it has passed.
    pub(crate) fn passed(self, step: &'static str) -> ReadFailure {
        let limit = self.limit.as_secs_f64();
        ReadFailure::new(
            step,
            format!("no answer within {limit} s; check that it is on and reachable"),
        )
    }
}

/// Finds the address of a host. The system's resolver has no time limit, so it runs in a
/// thread. There is one thread at a time, and a late result is used the next time.
#[derive(Debug)]
pub(crate) struct Resolver {
    host: String,
    port: u16,
    asking: Option<Receiver<std::io::Result<Option<SocketAddr>>>>,
}

impl Resolver {
    /// For this host; nothing is resolved yet.
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            asking: None,
        }
    }

    /// The address, now.
    pub(crate) fn address(&mut self, deadline: Deadline) -> Result<SocketAddr, ReadFailure> {
        const STEP: &str = "look the host up";
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(SocketAddr::new(ip, self.port));
        }
        let asking = match self.asking.take() {
            Some(asking) => asking,
            None => ask(self.host.clone(), self.port)?,
        };
        let answer = match asking.recv_timeout(deadline.left(STEP)?) {
            Ok(answer) => answer,
            Err(_) => {
                if !matches!(asking.try_recv(), Err(TryRecvError::Disconnected)) {
                    self.asking = Some(asking);
                }
                return Err(deadline.passed(STEP));
            }
        };
        match answer {
            Ok(Some(address)) => Ok(address),
            Ok(None) => Err(ReadFailure::new(STEP, "the name has no address")),
            Err(error) => Err(ReadFailure::new(
                STEP,
                format!("{error}; is the name right? An address does as well"),
            )),
        }
    }
}

fn ask(
    host: String,
    port: u16,
) -> Result<Receiver<std::io::Result<Option<SocketAddr>>>, ReadFailure> {
    let (result, asking) = channel();
    std::thread::Builder::new()
        .name("resolve".into())
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // The receiver may have given up.
            let _ = result.send(found.map(|mut found| found.next()));
        })
        .map_err(|error| ReadFailure::new("look the host up", format!("no thread: {error}")))?;
    Ok(asking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_found() {
        let deadline = Deadline::after(Duration::from_secs(10));
        let mut plain = Resolver::new("::1", 7);
        let found = plain.address(deadline).expect("an address");
        assert_eq!(found.to_string(), "[::1]:7");
        let mut name = Resolver::new("localhost", 7);
        assert!(
            name.address(deadline)
                .expect("localhost")
                .ip()
                .is_loopback()
        );
        let mut none = Resolver::new("no-such-host.invalid", 7);
        assert!(none.address(deadline).is_err());
    }

    #[test]
    fn a_deadline_passes() {
        let deadline = Deadline::after(Duration::ZERO);
        assert!(deadline.left("wait").is_err());
        assert!(Deadline::after(Duration::from_secs(1)).left("wait").is_ok());
    }
}
