//! The records of an open session (RFC 8446 section 5): sealed and opened in place, so that each byte is
//! copied once and nothing is allocated. The library has made the handshake and derives all keys.

use super::{Begun, TlsError};
use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce,
    UnboundKey,
};
use rustls::kernel::KernelConnection;
use rustls::{AlertDescription, ConnectionTrafficSecrets, Error, ExtractedSecrets};

/// Plaintext of a record, and what encryption adds to it: header, content type, tag.
pub(super) const RECORD_PLAIN: usize = 16 << 10;
pub(super) const RECORD_ADDED: usize = HEADER + 1 + TAG;
const HEADER: usize = 5;
const TAG: usize = 16;
/// The longest body of a record.
const BODY_MAX: usize = RECORD_PLAIN + 256;
/// The longest message of the handshake that is kept until it is complete, in bytes: a ticket.
const MESSAGE_MAX: usize = 68 << 10;
/// The most messages of the handshake, and alerts, between data.
const MESSAGES_MAX: u32 = 32;
/// Content types, messages of the handshake, and the level of an alert that ends the session.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;
const WARNING: u8 = 1;
const FATAL: u8 = 2;
/// Records with one key of AES-GCM, before there is another one (RFC 8446 section 5.5).
const RECORDS_MAX: u64 = 1 << 24;

/// One direction.
struct Half {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    /// Number of the next record with this key.
    number: u64,
    records_max: u64,
}

impl Half {
    fn new((number, secrets): (u64, ConnectionTrafficSecrets)) -> Result<Self, TlsError> {
        let (algorithm, key, iv, records_max): (&'static Algorithm, _, _, _) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv, RECORDS_MAX),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv, RECORDS_MAX),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (&CHACHA20_POLY1305, key, iv, u64::MAX)
            }
            _ => return Err(TlsError::Broken("an unknown cipher".to_owned())),
        };
        let unusable = || TlsError::Broken("a key has another length".to_owned());
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| unusable())?;
        Ok(Self {
            key: LessSafeKey::new(key),
            iv: iv.as_ref().try_into().map_err(|_| unusable())?,
            number,
            records_max,
        })
    }

    /// The nonce of the next record (RFC 8446 section 5.3).
    fn next_nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce.iter_mut().rev().zip(self.number.to_le_bytes()) {
            *byte ^= of_number;
        }
        self.number += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Derives the next keys.
trait NextKeys: Send {
    fn next(&mut self, is_tx: bool) -> Result<Half, TlsError>;
    fn description(&self) -> (rustls::ProtocolVersion, rustls::CipherSuite);
}

impl<Data: Send> NextKeys for KernelConnection<Data> {
    fn next(&mut self, is_tx: bool) -> Result<Half, TlsError> {
        Half::new(match is_tx {
            true => self.update_tx_secret()?,
            false => self.update_rx_secret()?,
        })
    }

    fn description(&self) -> (rustls::ProtocolVersion, rustls::CipherSuite) {
        let suite = self.negotiated_cipher_suite().suite();
        (self.protocol_version(), suite)
    }
}

/// Both directions of an open session.
pub(super) struct Records {
    keys: Box<dyn NextKeys>,
    tx: Half,
    rx: Half,
    is_client: bool,
    /// A message of the handshake of which a part has come.
    message: Vec<u8>,
    /// Messages of the handshake, and alerts, since the last data.
    messages: u32,
}

/// What the records of one read had.
#[derive(Debug)]
pub(super) struct Opened {
    /// Plaintext at the front of the buffer, in bytes.
    pub(super) plain: usize,
    /// Where the bytes begin that were not processed.
    pub(super) at: usize,
    /// Plaintext came, here or for the message that has begun.
    pub(super) has_data: bool,
    /// The peer has ended the session.
    pub(super) is_ended: bool,
}

impl Opened {
    /// Nothing yet, of the bytes from `at` on.
    pub(super) const fn new(at: usize) -> Self {
        Self {
            plain: 0,
            at,
            has_data: false,
            is_ended: false,
        }
    }
}

/// Why a record ends the session, and the alert for the peer.
pub(super) struct Refusal(AlertDescription, TlsError);

impl Refusal {
    /// Why, without the alert.
    pub(super) fn error(self) -> TlsError {
        self.1
    }

    fn broken(alert: AlertDescription, text: &str) -> Self {
        Self(alert, TlsError::Broken(text.to_owned()))
    }
}

impl From<TlsError> for Refusal {
    fn from(error: TlsError) -> Self {
        Self(AlertDescription::InternalError, error)
    }
}

impl Records {
    /// The records of a session whose handshake is complete.
    ///
    /// # Errors
    /// A cipher that is not that of TLS 1.3.
    pub(super) fn new<Data: Send + 'static>(
        secrets: ExtractedSecrets,
        keys: KernelConnection<Data>,
        is_client: bool,
    ) -> Result<Self, TlsError> {
        Ok(Self {
            keys: Box::new(keys),
            tx: Half::new(secrets.tx)?,
            rx: Half::new(secrets.rx)?,
            is_client,
            message: Vec::new(),
            messages: 0,
        })
    }

    /// Version of the protocol and cipher suite.
    pub(super) fn description(&self) -> (rustls::ProtocolVersion, rustls::CipherSuite) {
        self.keys.description()
    }

    /// Memory of messages that are not complete, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.message.capacity()
    }

    /// See [`Channel::seal`](super::Channel::seal).
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        let records = plain.len().div_ceil(RECORD_PLAIN);
        out.reserve(plain.len() + records * RECORD_ADDED);
        for part in plain.chunks(RECORD_PLAIN) {
            if self.tx.number >= self.tx.records_max {
                self.update_tx(out)?;
            }
            self.append(DATA, part, out)?;
        }
        Ok(())
    }

    /// Appends the notice of the end.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.append_alert(WARNING, AlertDescription::CloseNotify, out)
    }

    fn append_alert(
        &mut self,
        level: u8,
        alert: AlertDescription,
        out: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let alert = [level, u8::from(alert)];
        self.append(ALERT, &alert, out)
    }

    /// Appends a record.
    fn append(&mut self, kind: u8, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        let body_len = (plain.len() + 1 + TAG) as u16;
        let [high, low] = body_len.to_be_bytes();
        let header = [DATA, 3, 3, high, low];
        out.extend_from_slice(&header);
        let body_at = out.len();
        out.extend_from_slice(plain);
        out.push(kind);
        let body = out.get_mut(body_at..).unwrap_or_default();
        let nonce = self.tx.next_nonce();
        let sealed = self
            .tx
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(header), body);
        let tag = sealed.map_err(|_| TlsError::from(Error::EncryptError))?;
        out.extend_from_slice(tag.as_ref());
        Ok(())
    }

    /// Appends the notice of another key, and takes that key (RFC 8446 section 4.6.3).
    fn update_tx(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.append(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], out)?;
        self.tx = self.keys.next(true)?;
        Ok(())
    }

    /// Opens the records in `scratch` from where `opened` is to `end`; see
    /// [`Channel::receive`](super::Channel::receive).
    ///
    /// # Errors
    /// The session is broken behind what `opened` has; [`Self::refuse`] is to be called.
    pub(super) fn open(
        &mut self,
        scratch: &mut [u8],
        end: usize,
        opened: &mut Opened,
        mut begun: Option<&mut Begun<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        while !opened.is_ended && self.open_record(scratch, end, opened, &mut begun, out)? {}
        Ok(())
    }

    /// Appends the alert for the peer, unless it is the peer that has sent one; returns the error.
    pub(super) fn refuse(&mut self, refusal: Refusal, out: &mut Vec<u8>) -> TlsError {
        let Refusal(alert, error) = refusal;
        if !matches!(error, TlsError::Alert(_)) {
            // The connection is closed in any case.
            let _ = self.append_alert(FATAL, alert, out);
        }
        error
    }

    /// Opens the next record; `false`: it has not come wholly.
    fn open_record(
        &mut self,
        scratch: &mut [u8],
        end: usize,
        opened: &mut Opened,
        begun: &mut Option<&mut Begun<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let (front, back) = scratch.split_at_mut(opened.at);
        let came = back.get_mut(..end.saturating_sub(opened.at));
        let Some((header, rest)) = came.and_then(<[u8]>::split_first_chunk_mut::<HEADER>) else {
            return Ok(false);
        };
        let [kind, major, _, high, low] = *header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if (kind, major) != (DATA, 3) {
            let text = "a record that is not encrypted";
            return Err(Refusal::broken(AlertDescription::UnexpectedMessage, text));
        }
        if length > BODY_MAX {
            let text = "a record is too long";
            return Err(Refusal::broken(AlertDescription::RecordOverflow, text));
        }
        let Some(body) = rest.get_mut(..length) else {
            return Ok(false);
        };
        let nonce = self.rx.next_nonce();
        let inner = self.rx.key.open_in_place(nonce, Aad::from(*header), body);
        let inner = inner
            .map_err(|_| Refusal(AlertDescription::BadRecordMac, Error::DecryptError.into()))?;
        // The content type is the last byte that is not padding (RFC 8446 section 5.4).
        let Some(last) = inner.iter().rposition(|byte| *byte != 0) else {
            let text = "a record without a content type";
            return Err(Refusal::broken(AlertDescription::UnexpectedMessage, text));
        };
        let (plain, kind) = (&inner[..last], inner[last]);
        if plain.len() > RECORD_PLAIN {
            let text = "a record is too long";
            return Err(Refusal::broken(AlertDescription::RecordOverflow, text));
        }
        opened.at += HEADER + length;
        match kind {
            DATA if self.message.is_empty() => {
                // Records without data are allowed (section 5.1), but allow no more messages.
                if !plain.is_empty() {
                    self.messages = 0;
                    opened.has_data = true;
                }
                let rest = match begun {
                    Some(begun) => begun.take(plain),
                    None => plain,
                };
                let place = front.get_mut(opened.plain..opened.plain + rest.len());
                let place = place.ok_or_else(|| TlsError::Broken("a record is too long".into()))?;
                place.copy_from_slice(rest);
                opened.plain += rest.len();
            }
            HANDSHAKE => self.message(plain, out)?,
            // Nothing comes between the parts of a message (section 5.1).
            ALERT if self.message.is_empty() => {
                opened.is_ended = is_end(plain)?;
                self.count_message()?;
            }
            _ => {
                let text = "a record of another type than was due";
                return Err(Refusal::broken(AlertDescription::UnexpectedMessage, text));
            }
        }
        Ok(true)
    }

    /// Counts a message without data: there is an end of them.
    fn count_message(&mut self) -> Result<(), Refusal> {
        self.messages += 1;
        if self.messages > MESSAGES_MAX {
            let text = "messages of the handshake, or alerts, without end";
            return Err(Refusal::broken(AlertDescription::UnexpectedMessage, text));
        }
        Ok(())
    }

    /// Processes a part of the messages of the handshake that follow it: tickets, which are not used, and
    /// notices of another key.
    fn message(&mut self, part: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let unexpected = |text| Refusal::broken(AlertDescription::UnexpectedMessage, text);
        if part.is_empty() || self.message.len() + part.len() > MESSAGE_MAX {
            return Err(unexpected(
                "a message of the handshake is empty or too long",
            ));
        }
        self.message.extend_from_slice(part);
        let mut messages = std::mem::take(&mut self.message);
        let mut rest = &messages[..];
        while let Some(([kind, high, middle, low], behind)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            let Some((body, behind)) = behind.split_at_checked(length) else {
                break;
            };
            rest = behind;
            self.count_message()?;
            match (*kind, body) {
                (NEW_SESSION_TICKET, _) if self.is_client => {}
                // What follows has the next key: it is in another record.
                (KEY_UPDATE, [answer @ (0 | 1)]) if rest.is_empty() => {
                    self.rx = self.keys.next(false)?;
                    if *answer == 1 {
                        self.update_tx(out)?;
                    }
                }
                _ => return Err(unexpected("a message of the handshake that is not allowed")),
            }
        }
        if rest.is_empty() {
            // They are rare: no connection keeps a buffer for them.
            return Ok(());
        }
        let used = messages.len() - rest.len();
        messages.drain(..used);
        self.message = messages;
        Ok(())
    }
}

/// Whether an alert is the ordinary end (RFC 8446 section 6).
fn is_end(alert: &[u8]) -> Result<bool, Refusal> {
    let [_, description] = *alert else {
        let text = "an alert of another length";
        return Err(Refusal::broken(AlertDescription::DecodeError, text));
    };
    match AlertDescription::from(description) {
        AlertDescription::CloseNotify => Ok(true),
        AlertDescription::UserCanceled => Ok(false),
        other => Err(Refusal(other, Error::AlertReceived(other).into())),
    }
}

#[cfg(feature = "testing")]
mod known;
#[cfg(test)]
mod tests;
