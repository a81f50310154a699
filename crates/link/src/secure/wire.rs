//! The handshake: from a TCP connection to a stream whose other end is a holder of an accepted
//! key.

use super::relay::{self, LinkControl, would_block};
use super::{Identity, LinkRole, PublicKey, SecureError};
use crate::local::LocalStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConnection, Connection, Error as TlsError, ServerConnection};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The first bytes of the peer are kept for a message, up to this number.
const SHOWN: usize = 48;
/// Required by the library and not sent: keys are checked, not names.
const NAME: &str = "filermark";

/// A connection to the holder of an accepted key.
pub struct SecureStream {
    /// The plain stream; a blocking socket without time limits.
    pub stream: LocalStream,
    /// The state of the connection.
    pub hold: LinkControl,
    /// The key of the peer.
    pub peer_key: PublicKey,
}

/// The writing end of a stream. Dropping it closes this direction, even if the stream is still
/// read.
pub struct WriteHalf(LocalStream);

impl WriteHalf {
    /// Of this stream.
    pub fn of(stream: LocalStream) -> Self {
        Self(stream)
    }
}

impl Write for WriteHalf {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Secures a connection that this side began, within `limit`.
///
/// The peer may still reject this side, which then appears as the end of the stream.
///
/// # Errors
/// Why it failed.
pub fn secure_client(
    tcp: TcpStream,
    identity: &Identity,
    limit: Duration,
) -> Result<SecureStream, SecureError> {
    let name = ServerName::try_from(NAME).map_err(|e| SecureError::Tls(e.to_string()))?;
    let tls = ClientConnection::new(identity.client(), name)
        .map_err(|e| SecureError::Tls(e.to_string()))?;
    secure(tls.into(), tcp, identity.side(), limit)
}

/// Secures a connection that the peer began, within `limit`.
///
/// # Errors
/// Why it failed.
pub fn secure_server(
    tcp: TcpStream,
    identity: &Identity,
    limit: Duration,
) -> Result<SecureStream, SecureError> {
    let tls =
        ServerConnection::new(identity.server()).map_err(|e| SecureError::Tls(e.to_string()))?;
    secure(tls.into(), tcp, identity.side(), limit)
}

fn secure(
    mut tls: Connection,
    tcp: TcpStream,
    side: LinkRole,
    limit: Duration,
) -> Result<SecureStream, SecureError> {
    tcp.set_nonblocking(true)?;
    let peer = tcp.peer_addr()?;
    let mut first_bytes = FirstBytes {
        tcp: &tcp,
        first: Vec::new(),
    };
    let shaken = shake_hands(&mut tls, &mut first_bytes, side, limit);
    if let Err(error) = shaken {
        // The alert informs the peer of the reason; sending it does not block.
        while tls.wants_write() && tls.write_tls(&mut &tcp).is_ok_and(|len| len > 0) {}
        let _ = tcp.shutdown(Shutdown::Write);
        return Err(error);
    }
    // The handshake fails without a certificate.
    let shown = tls.peer_certificates().and_then(|chain| chain.first());
    let peer_key = shown.and_then(PublicKey::shown_in);
    let peer_key = peer_key.ok_or(SecureError::WrongKey)?;
    let (stream, hold) = relay::start(tls, tcp, peer)?;
    Ok(SecureStream {
        stream,
        hold,
        peer_key,
    })
}

fn shake_hands(
    tls: &mut Connection,
    first_bytes: &mut FirstBytes<'_>,
    side: LinkRole,
    limit: Duration,
) -> Result<(), SecureError> {
    let deadline = Instant::now() + limit;
    while tls.is_handshaking() || tls.wants_write() {
        if tls.wants_write() {
            match tls.write_tls(&mut first_bytes.tcp) {
                Ok(_) => continue,
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error.into()),
            }
        } else {
            match tls.read_tls(first_bytes) {
                Ok(0) => return Err(SecureError::Closed),
                Ok(_) => {
                    tls.process_new_packets()
                        .map_err(|error| describe(error, side, &first_bytes.first))?;
                    continue;
                }
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        await_socket(first_bytes.tcp, tls.wants_write(), deadline, limit)?;
    }
    // Missing if the library of the peer does not send it.
    if tls.alpn_protocol().is_none() {
        return Err(SecureError::SameSide(side));
    }
    Ok(())
}

/// How long one wait for a connection may last; `None`: without end. On Windows neither a wait
/// nor a read ends when another thread shuts the connection down
/// (<https://github.com/rust-lang/rust/issues/121594>), but the next read does: it is tried again.
pub(super) const WAIT_MAX: Option<Duration> = match cfg!(windows) {
    true => Some(Duration::from_millis(250)),
    false => None,
};

/// Waits for a socket that does not block, or for a part of the time: try it again in any case.
///
/// # Errors
/// The deadline has passed, or the system's.
pub(super) fn await_socket(
    tcp: &TcpStream,
    to_write: bool,
    deadline: Instant,
    limit: Duration,
) -> Result<(), SecureError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(SecureError::TimedOut(limit));
    }
    let left = WAIT_MAX.map_or(left, |most| most.min(left));
    let flags = if to_write {
        PollFlags::OUT
    } else {
        PollFlags::IN
    };
    let left = Timespec::try_from(left).ok();
    match poll(&mut [PollFd::new(tcp, flags)], left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// A socket, and its first bytes.
struct FirstBytes<'a> {
    tcp: &'a TcpStream,
    first: Vec<u8>,
}

impl Read for FirstBytes<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.tcp.read(buf)?;
        let kept = len.min(SHOWN - self.first.len());
        self.first.extend_from_slice(&buf[..kept]);
        Ok(len)
    }
}

fn describe(error: TlsError, side: LinkRole, first: &[u8]) -> SecureError {
    use AlertDescription as Alert;
    match error {
        // A foreign TLS service presents another certificate, or requires none.
        TlsError::InvalidCertificate(_) | TlsError::NoCertificatesPresented => {
            SecureError::WrongKey
        }
        TlsError::AlertReceived(
            Alert::AccessDenied
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::DecryptError,
        ) => SecureError::KeyRefused,
        TlsError::NoApplicationProtocol | TlsError::AlertReceived(Alert::NoApplicationProtocol) => {
            SecureError::SameSide(side)
        }
        TlsError::InvalidMessage(_) if !is_tls(first) => {
            SecureError::NotTls(String::from_utf8_lossy(first).into_owned())
        }
        other => SecureError::Tls(other.to_string()),
    }
}

/// Begins like a record of the handshake, or an alert (RFC 8446, section 5.1).
fn is_tls(first: &[u8]) -> bool {
    matches!(first, [21 | 22, 3, ..])
}
