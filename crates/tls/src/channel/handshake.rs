//! The handshake, which the library makes: bytes in, messages out, until the keys are there.

use crate::error::TlsError;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};

/// What both sides of the library have.
pub(super) trait Handshake {
    type Data;
    /// Nothing of the library is in what it has not processed once the handshake is complete: a client sends no
    /// message of the handshake behind it, a server may (tickets), of which the library keeps parts there.
    const IS_COMPLETE_AT_ONCE: bool;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
    fn is_handshaking(&self) -> bool;
    /// Whether messages of the handshake, or alerts, wait to be encoded.
    fn has_messages(&self) -> bool;
}

impl Handshake for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    const IS_COMPLETE_AT_ONCE: bool = false;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }

    fn is_handshaking(&self) -> bool {
        (**self).is_handshaking()
    }

    fn has_messages(&self) -> bool {
        self.wants_write()
    }
}

impl Handshake for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    const IS_COMPLETE_AT_ONCE: bool = true;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }

    fn is_handshaking(&self) -> bool {
        (**self).is_handshaking()
    }

    fn has_messages(&self) -> bool {
        self.wants_write()
    }
}

/// Appends a message of the handshake, into space of the size that `write` asks for.
fn encode(
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), TlsError> {
    let start = out.len();
    out.resize(start + (1 << 10), 0);
    let mut written = write(&mut out[start..]);
    if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) = written {
        out.resize(start + required_size, 0);
        written = write(&mut out[start..]);
    }
    out.truncate(start + written.as_ref().copied().unwrap_or_default());
    written
        .map(drop)
        .map_err(|error| TlsError::Broken(error.to_string()))
}

/// The processing of what one read brought, during the handshake.
pub(super) struct Turn<'a> {
    pub(super) scratch: &'a mut [u8],
    /// Plaintext at the front of the buffer.
    pub(super) plain: usize,
    /// A record of data was the last one.
    pub(super) has_data: bool,
    /// Where the bytes begin that were not processed.
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) out: &'a mut Vec<u8>,
    pub(super) is_ended: &'a mut bool,
}

impl Turn<'_> {
    /// Goes on as far as the bytes suffice.
    pub(super) fn run<C: Handshake>(&mut self, conn: &mut C) -> Result<(), TlsError> {
        loop {
            self.has_data = false;
            let (front, back) = self.scratch.split_at_mut(self.at);
            let input = back.get_mut(..self.end - self.at).unwrap_or_default();
            let UnbufferedStatus { discard, state } = conn.process(input);
            let is_done = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    self.has_data = true;
                    while let Some(record) = traffic.next_record() {
                        let payload = record?.payload;
                        let place = front.get_mut(self.plain..self.plain + payload.len());
                        let Some(place) = place else {
                            return Err(TlsError::Broken("a record is too long".to_owned()));
                        };
                        place.copy_from_slice(payload);
                        self.plain += payload.len();
                    }
                    false
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encode(self.out, |space| data.encode(space))?;
                    false
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    false
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    *self.is_ended = true;
                    true
                }
                Ok(ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake) => true,
                Ok(_) => return Err(TlsError::Broken("early data, which was not offered".into())),
                Err(error) => {
                    self.encode_alerts(conn);
                    return Err(error.into());
                }
            };
            self.at = (self.at + discard).min(self.end);
            // Records behind the first data are those of an open session, which keeps data in front of a bad one.
            if is_done || self.has_data && self.is_complete(conn) {
                return Ok(());
            }
        }
    }

    /// Whether the handshake is complete, and nothing of the library is in what was not processed: data does not
    /// come between the parts of a message (RFC 8446 section 5.1).
    pub(super) fn is_complete<C: Handshake>(&self, conn: &C) -> bool {
        let is_between = C::IS_COMPLETE_AT_ONCE || self.at == self.end || self.has_data;
        !conn.is_handshaking() && is_between
    }

    /// After a failure: the messages with the reason for the peer. Nothing more is processed.
    fn encode_alerts<C: Handshake>(&mut self, conn: &mut C) {
        while conn.has_messages() {
            let state = conn.process(&mut []).state;
            let Ok(ConnectionState::EncodeTlsData(mut data)) = state else {
                return;
            };
            if encode(self.out, |space| data.encode(space)).is_err() {
                return;
            }
        }
    }
}
