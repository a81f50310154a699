//! One connection: what comes becomes plaintext in place, plaintext becomes what goes.

mod handshake;
mod records;

use super::error::TlsError;
use super::files::{ClientTls, ServerTls};
use handshake::Turn;
use records::{Opened, RECORD_ADDED, RECORD_PLAIN, Records, Refusal};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use std::fmt;

/// Bytes at the front of the receive buffer that are left free, so that the plaintext of a record fits in
/// front of it: a record has 16,384 at most (RFC 8446 section 5.1).
pub const HEADROOM: usize = 16 << 10;
/// What is kept of records and handshake messages that have come in part, in bytes, at most. A handshake
/// message has 64 KiB at most.
const HELD_MAX: usize = 96 << 10;
/// The smallest receive buffer.
pub const SCRATCH_MIN: usize = HEADROOM + HELD_MAX + (16 << 10);
/// The longest answer to the request, in bytes.
const ANSWER_MAX: usize = 1 << 10;
/// How much plaintext the first `wire` bytes of sealed records have whole, in bytes, if the records are
/// full.
pub const fn plain_of(wire: usize) -> usize {
    wire / (RECORD_PLAIN + RECORD_ADDED) * RECORD_PLAIN
}

/// What a client sends in the clear before TLS begins, and how the answer is judged.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Judges what has come.
    pub judge: fn(&[u8]) -> Answer,
}

/// What a server says to the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has not come wholly.
    Incomplete,
    /// TLS begins after so many bytes.
    Yes(usize),
    /// There is no TLS, and why.
    No(String),
}

/// A message of which a part has come: plaintext goes where it belongs, without a second copy.
#[derive(Debug)]
pub struct Begun<'m> {
    /// What has come of it.
    pub message: &'m mut Vec<u8>,
    /// How many bytes of it are missing.
    pub missing: usize,
}

impl Begun<'_> {
    /// Appends what belongs to the message; returns the rest.
    fn take<'p>(&mut self, plain: &'p [u8]) -> &'p [u8] {
        let (own, rest) = plain.split_at(self.missing.min(plain.len()));
        self.message.extend_from_slice(own);
        self.missing -= own.len();
        rest
    }
}

enum Stage {
    /// The answer to the request is awaited.
    StartRequest(ClientTls),
    /// The handshake.
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
    Open(Records),
    /// The handshake has failed at its end.
    Failed,
}

/// The state of TLS on one connection.
pub struct Channel {
    stage: Stage,
    /// Received bytes that are not used yet.
    held: Vec<u8>,
    is_open: bool,
    is_ended: bool,
    /// The session is broken: the library must not be called any more.
    has_failed: bool,
    /// The session is broken behind plaintext that [`Channel::receive`] has returned.
    refusal: Option<Refusal>,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("held", &self.held.len())
            .field("is_open", &self.is_open)
            .field("is_ended", &self.is_ended)
            .finish()
    }
}

impl Channel {
    /// A connection of a client; appends the request to `out`.
    pub fn client(tls: &ClientTls, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&tls.request.bytes);
        Self::new(Stage::StartRequest(tls.clone()))
    }

    /// A connection of a server on which the request was answered.
    ///
    /// # Errors
    /// The library refuses its configuration.
    pub fn server(tls: &ServerTls) -> Result<Self, TlsError> {
        let conn = UnbufferedServerConnection::new(tls.config.clone())?;
        Ok(Self::new(Stage::Server(conn)))
    }

    fn new(stage: Stage) -> Self {
        Self {
            stage,
            held: Vec::new(),
            is_open: false,
            is_ended: false,
            has_failed: false,
            refusal: None,
        }
    }

    /// Whether the handshake is complete, so that plaintext may be sent.
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the peer has ended the session: nothing more comes, and what does is ignored (RFC 8446
    /// section 6.1).
    pub const fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Whether the session is broken behind the plaintext that [`Channel::receive`] has returned; see
    /// [`Channel::failure`].
    pub const fn has_failure(&self) -> bool {
        self.refusal.is_some()
    }

    /// Why the session is broken behind the plaintext that [`Channel::receive`] has returned, if it is. The alert
    /// for the peer is appended to `out`; nothing is sealed after it. It is asked for once that plaintext was
    /// processed, so that the replies to it are sent in front of the alert.
    pub fn failure(&mut self, out: &mut Vec<u8>) -> Option<TlsError> {
        let refusal = self.refusal.take()?;
        Some(self.fail(refusal, out))
    }

    fn fail(&mut self, refusal: Refusal, out: &mut Vec<u8>) -> TlsError {
        self.has_failed = true;
        match &mut self.stage {
            Stage::Open(records) => records.refuse(refusal, out),
            _ => refusal.error(),
        }
    }

    /// Memory of received bytes that are not used yet, in bytes.
    pub fn held_bytes(&self) -> usize {
        let of_records = match &self.stage {
            Stage::Open(records) => records.held_bytes(),
            _ => 0,
        };
        self.held.capacity() + of_records
    }

    /// Version of the protocol and cipher suite in text, once the handshake is complete.
    pub fn description(&self) -> Option<String> {
        let Stage::Open(records) = &self.stage else {
            return None;
        };
        let (version, suite) = records.description();
        let version = match version {
            rustls::ProtocolVersion::TLSv1_3 => "TLS 1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let suite = format!("{suite:?}");
        let suite = suite.strip_prefix("TLS13_").unwrap_or(&suite);
        Some(format!("{version} with {suite}"))
    }

    /// Prepares a receive buffer of at least [`SCRATCH_MIN`] bytes: returns from where on bytes are to be
    /// read into it.
    pub fn place(&self, scratch: &mut [u8]) -> usize {
        let end = HEADROOM + self.held.len();
        if let Some(place) = scratch.get_mut(HEADROOM..end) {
            place.copy_from_slice(&self.held);
        }
        end
    }

    /// Processes what was read into the buffer, up to `end`. Plaintext completes the message that has begun;
    /// returns how many bytes of it behind that are at the front of the buffer then. Bytes that are to be sent, also after an
    /// error (alerts), are appended to `out`.
    ///
    /// Plaintext in front of a record that breaks the session is returned; [`Channel::failure`] has the error
    /// then.
    ///
    /// # Errors
    /// Why there is no TLS; the connection is to be closed. No plaintext has come.
    pub fn receive(
        &mut self,
        scratch: &mut [u8],
        end: usize,
        begun: Option<&mut Begun<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<usize, TlsError> {
        let mut at = HEADROOM.min(end);
        let end = end.min(scratch.len());
        let came = scratch.get(at..end).unwrap_or_default();
        self.check()?;
        if let Some(error) = self.failure(out) {
            return Err(error);
        }
        if self.is_ended {
            return Ok(0);
        }
        if let Stage::StartRequest(tls) = &self.stage {
            at += match (tls.request.judge)(came) {
                Answer::Yes(length) if length == came.len() => length,
                Answer::Yes(_) => {
                    let text = "more bytes follow its answer to the AUTH_TLS call";
                    return Err(TlsError::Broken(text.to_owned()));
                }
                Answer::No(why) => return Err(TlsError::NotOffered(why)),
                Answer::Incomplete if came.len() > ANSWER_MAX => {
                    let text = "its answer to the AUTH_TLS call is too long";
                    return Err(TlsError::NotOffered(text.to_owned()));
                }
                Answer::Incomplete => {
                    self.held = came.to_vec();
                    return Ok(0);
                }
            };
            let conn = UnbufferedClientConnection::new(tls.config.clone(), tls.name.clone())?;
            self.stage = Stage::Client(conn);
        }
        let mut opened = Opened::new(at);
        if !matches!(self.stage, Stage::Open(_)) {
            let shaken = self.shake(scratch, (at, end), out);
            self.has_failed = shaken.is_err();
            opened = shaken?;
        }
        if let Stage::Open(records) = &mut self.stage {
            match records.open(scratch, end, &mut opened, begun, out) {
                Err(refusal) if opened.has_data => self.refusal = Some(refusal),
                Err(refusal) => return Err(self.fail(refusal, out)),
                Ok(()) => {}
            }
        }
        self.is_ended |= opened.is_ended;
        self.hold(scratch.get(opened.at..end).unwrap_or_default())?;
        Ok(opened.plain)
    }

    /// Keeps what was not processed until more has come.
    fn hold(&mut self, rest: &[u8]) -> Result<(), TlsError> {
        self.held.clear();
        // What is behind the end, or behind a bad record, is not processed at all.
        if self.is_ended || self.refusal.is_some() {
            return Ok(());
        }
        if rest.len() > HELD_MAX {
            let text = "the peer sends handshake messages without end";
            return Err(TlsError::Broken(text.to_owned()));
        }
        self.held.extend_from_slice(rest);
        Ok(())
    }

    /// Goes on with the handshake; returns what came behind it.
    fn shake(
        &mut self,
        scratch: &mut [u8],
        (at, end): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<Opened, TlsError> {
        let mut turn = Turn {
            scratch,
            plain: 0,
            has_data: false,
            at,
            end,
            out,
            is_ended: &mut self.is_ended,
        };
        let (outcome, is_complete) = match &mut self.stage {
            Stage::Client(conn) => (turn.run(conn), turn.is_complete(conn)),
            Stage::Server(conn) => (turn.run(conn), turn.is_complete(conn)),
            Stage::StartRequest(_) | Stage::Open(_) | Stage::Failed => (Ok(()), false),
        };
        let (plain, at) = (turn.plain, turn.at);
        outcome?;
        if is_complete && !self.is_ended {
            self.open()?;
        }
        Ok(Opened {
            plain,
            has_data: plain > 0,
            ..Opened::new(at)
        })
    }

    /// The handshake is complete: the records are those of [`Records`] from now on.
    fn open(&mut self) -> Result<(), TlsError> {
        let records = match std::mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Client(conn) => {
                let (secrets, keys) = conn.dangerous_into_kernel_connection()?;
                Records::new(secrets, keys, true)?
            }
            Stage::Server(conn) => {
                let (secrets, keys) = conn.dangerous_into_kernel_connection()?;
                Records::new(secrets, keys, false)?
            }
            Stage::Open(records) => records,
            Stage::StartRequest(_) | Stage::Failed => return self.check(),
        };
        self.stage = Stage::Open(records);
        self.is_open = true;
        Ok(())
    }

    /// Encrypts `plain` and appends the records to `out`. Only once the handshake is complete.
    ///
    /// # Errors
    /// The session has ended.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.check()?;
        match &mut self.stage {
            Stage::Open(records) => records.seal(plain, out),
            _ => Err(TlsError::Broken("the handshake is not complete".to_owned())),
        }
    }

    /// Appends the notice of the end to `out` (RFC 8446 section 6.1), or the alert of [`Channel::failure`].
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if self.failure(out).is_some() {
            return;
        }
        if let (Stage::Open(records), false) = (&mut self.stage, self.has_failed) {
            // The connection is closed in any case.
            let _ = records.close(out);
        }
    }

    fn check(&self) -> Result<(), TlsError> {
        match self.has_failed {
            true => Err(TlsError::Broken("it has failed before".to_owned())),
            false => Ok(()),
        }
    }
}

/// Sessions without a handshake: see [`crate::testing::scripts`].
#[cfg(feature = "testing")]
impl Channel {
    /// One side of an open session whose keys are known.
    pub(crate) fn known(is_client: bool) -> Result<Self, TlsError> {
        let mut new = Self::new(Stage::Open(Records::known(is_client)?));
        new.is_open = true;
        Ok(new)
    }

    /// Appends a record of any type.
    pub(crate) fn append_any(
        &mut self,
        kind: u8,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        match &mut self.stage {
            Stage::Open(records) => records.append_any(kind, plain, out),
            _ => self.check(),
        }
    }

    /// What is sent has the next key.
    pub(crate) fn take_next_key(&mut self) -> Result<(), TlsError> {
        match &mut self.stage {
            Stage::Open(records) => records.take_next_key(),
            _ => self.check(),
        }
    }
}

#[cfg(test)]
mod tests;
