//! Frames: the encoding of a message on a byte stream.
//!
//! An agent begins with [`MAGIC`]; output of a login shell before it is skipped. Frames follow:
//! the length of the rest (4 bytes, big endian), one byte for the packing, and the message as
//! JSON, deflated if it is long. No I/O and no clock: bytes in, messages out. Lengths from the
//! wire are checked before use, packed and unpacked.

use filermark_model::text::sanitize;
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::io::Read;

/// What an agent sends before its first frame.
pub const MAGIC: &[u8] = b"\nfilermark-agent/3\n";
/// Longest frame in bytes: enough for the figures of a client with 100,000 procs and a day of
/// seconds.
pub const FRAME_LEN_MAX: usize = 64 << 20;
/// Longest message when unpacked, in bytes.
pub const MESSAGE_LEN_MAX: usize = 256 << 20;
/// Maximum output before the magic, in bytes.
pub const NOISE_LEN_MAX: usize = 64 << 10;
/// Messages from this length on are deflated.
const PACK_FROM: usize = 1024;
/// Longest frame that is not packed, in bytes; senders pack much shorter ones.
const PLAIN_LEN_MAX: usize = PACK_FROM * 4;
/// Longest description of an invalid message, in characters.
const REASON_CHARS_MAX: usize = 200;
/// Bytes before the message: length and packing.
const HEAD_LEN: usize = 5;

/// Why bytes are not a valid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It is too long.
    #[error("a message of {0} bytes is too long")]
    TooLong(usize),
    /// It cannot be decoded.
    #[error("a message that cannot be decoded: {0}")]
    Malformed(String),
    /// The other side is not an agent.
    #[error("no agent answered, but: {0}")]
    NotAnAgent(String),
}

/// Encodes a message.
///
/// # Errors
/// It is too long.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let plain = serde_json::to_vec(message).map_err(|e| FrameError::Malformed(e.to_string()))?;
    if plain.len() > MESSAGE_LEN_MAX {
        return Err(FrameError::TooLong(plain.len()));
    }
    let mut frame = vec![0; HEAD_LEN];
    if plain.len() < PACK_FROM {
        frame.extend_from_slice(&plain);
    } else {
        frame[HEAD_LEN - 1] = 1;
        ZlibEncoder::new(plain.as_slice(), Compression::fast())
            .read_to_end(&mut frame)
            .map_err(|e| FrameError::Malformed(e.to_string()))?;
    }
    let len = frame.len() - HEAD_LEN + 1;
    if len > FRAME_LEN_MAX {
        return Err(FrameError::TooLong(len));
    }
    frame[..4].copy_from_slice(&(len as u32).to_be_bytes());
    Ok(frame)
}

/// A message as received, not unpacked yet, as it waits in queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    packed: bool,
    body: Vec<u8>,
}

impl Frame {
    /// Decodes it.
    ///
    /// # Errors
    /// It is not a message of this type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        self.unpack(MESSAGE_LEN_MAX)?.decode()
    }

    /// Unpacks it.
    ///
    /// # Errors
    /// It cannot be unpacked, or is longer than `len_max` bytes.
    pub(crate) fn unpack(&self, len_max: usize) -> Result<Plain<'_>, FrameError> {
        if !self.packed {
            return Ok(Plain(Cow::Borrowed(&self.body)));
        }
        let mut plain = Vec::new();
        ZlibDecoder::new(self.body.as_slice())
            .take(len_max as u64 + 1)
            .read_to_end(&mut plain)
            .map_err(|e| malformed(&e))?;
        if plain.len() > len_max {
            return Err(FrameError::TooLong(plain.len()));
        }
        Ok(Plain(Cow::Owned(plain)))
    }

    /// Its length in memory.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

/// A message, unpacked.
pub(crate) struct Plain<'a>(Cow<'a, [u8]>);

impl Plain<'_> {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Decodes it.
    ///
    /// # Errors
    /// It is not a message of this type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        serde_json::from_slice(&self.0).map_err(|e| malformed(&e))
    }
}

/// The reason may quote the message.
fn malformed(error: &dyn std::fmt::Display) -> FrameError {
    FrameError::Malformed(sanitize(&error.to_string(), REASON_CHARS_MAX))
}

/// Splits a byte stream into frames.
#[derive(Debug, Default)]
pub struct Deframer {
    bytes: Vec<u8>,
    /// Bytes of `bytes` that are consumed.
    used: usize,
    /// The magic has not arrived yet.
    before_magic: bool,
}

impl Deframer {
    /// For orders to an agent.
    pub fn of_prime() -> Self {
        Self::default()
    }

    /// For reports of an agent: begins with the magic.
    pub fn of_agent() -> Self {
        Self {
            before_magic: true,
            ..Self::default()
        }
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.used > 0 && self.used * 2 >= self.bytes.len() {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete frame; `None`: more bytes are needed.
    ///
    /// # Errors
    /// The bytes are not a frame; no further frame can follow.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.before_magic && !self.find_magic()? {
            return Ok(None);
        }
        let rest = &self.bytes[self.used..];
        let Some(head) = rest.first_chunk::<HEAD_LEN>() else {
            return Ok(None);
        };
        let len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let packed = match head[4] {
            0 => false,
            1 => true,
            other => return Err(FrameError::Malformed(format!("packing {other}"))),
        };
        let len_max = if packed { FRAME_LEN_MAX } else { PLAIN_LEN_MAX };
        if len > len_max {
            return Err(FrameError::TooLong(len));
        }
        if len == 0 {
            return Err(FrameError::Malformed("an empty frame".into()));
        }
        let Some(body) = rest.get(HEAD_LEN..HEAD_LEN - 1 + len) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.used += HEAD_LEN - 1 + len;
        Ok(Some(Frame { packed, body }))
    }

    /// Output before the magic, for a message; empty after the magic.
    pub fn foreign_output(&self) -> String {
        if self.before_magic {
            last_line(&self.bytes)
        } else {
            String::new()
        }
    }

    fn find_magic(&mut self) -> Result<bool, FrameError> {
        let found = self
            .bytes
            .windows(MAGIC.len())
            .position(|window| window == MAGIC);
        match found {
            Some(at) => {
                self.used = at + MAGIC.len();
                self.before_magic = false;
                Ok(true)
            }
            None if self.bytes.len() > NOISE_LEN_MAX => {
                Err(FrameError::NotAnAgent(last_line(&self.bytes)))
            }
            None => Ok(false),
        }
    }
}

/// The last line of foreign output, sanitized.
fn last_line(foreign_output: &[u8]) -> String {
    const SHOWN: usize = 200;
    let text = String::from_utf8_lossy(foreign_output);
    let line = text.lines().map(str::trim).rfind(|l| !l.is_empty());
    sanitize(line.unwrap_or_default(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Order, Report};
    use proptest::prelude::*;

    fn frames(deframer: &mut Deframer) -> Vec<Frame> {
        std::iter::from_fn(|| deframer.next_frame().expect("frames")).collect()
    }

    #[test]
    fn messages_are_decoded_wherever_the_bytes_are_split() {
        let long = serde_json::json!({ "order": "stop", "ballast": vec!["nas:/export"; 500] });
        let wire = [
            b"Welcome to this host\n".to_vec(),
            MAGIC.to_vec(),
            encode(&Order::Stop).unwrap(),
            encode(&long).unwrap(),
            encode(&Order::Goodbye).unwrap(),
        ]
        .concat();
        assert!(wire.len() < 1000, "repetitions are packed: {}", wire.len());
        for step in [1, 2, 7, 1000] {
            let mut deframer = Deframer::of_agent();
            let mut names = Vec::new();
            for bytes in wire.chunks(step) {
                deframer.push(bytes);
                for frame in frames(&mut deframer) {
                    names.push(frame.decode::<Order>().unwrap().name());
                }
            }
            assert_eq!(names, ["stop", "stop", "goodbye"]);
        }
    }

    #[test]
    fn lengths_are_checked_and_invalid_bytes_are_reported() {
        let mut deframer = Deframer::of_prime();
        deframer.push(&[0xff; 4]);
        deframer.push(&[0]);
        assert!(matches!(deframer.next_frame(), Err(FrameError::TooLong(_))));
        let mut deframer = Deframer::of_prime();
        deframer.push(&[0, 0, 0, 3, 0, b'{', b']']);
        let frame = deframer.next_frame().unwrap().unwrap();
        assert!(matches!(
            frame.decode::<Report>(),
            Err(FrameError::Malformed(_))
        ));
        for wrong in [[0, 0, 0, 0, 0], [0, 0, 0, 2, 9]] {
            let mut deframer = Deframer::of_prime();
            deframer.push(&wrong);
            assert!(deframer.next_frame().is_err());
        }
    }

    #[test]
    fn unpacked_frames_are_short() {
        for (packed, is_error) in [(0, true), (1, false)] {
            let mut deframer = Deframer::of_prime();
            deframer.push(&(PLAIN_LEN_MAX as u32 + 1).to_be_bytes());
            deframer.push(&[packed]);
            assert_eq!(deframer.next_frame().is_err(), is_error);
        }
        // The longest that a sender leaves unpacked is accepted.
        let mut deframer = Deframer::of_prime();
        let plain = "x".repeat(PACK_FROM - 3);
        deframer.push(&encode(&plain).unwrap());
        let frame = deframer.next_frame().unwrap().unwrap();
        assert!(!frame.packed && frame.decode::<String>().unwrap() == plain);
    }

    #[test]
    fn invalid_messages_are_reported_without_control_characters() {
        let body = b"{\"report\":\"\\u001b[2J\\u009b\"}".to_vec();
        let frame = Frame {
            packed: false,
            body,
        };
        let Err(error) = frame.decode::<Report>() else {
            panic!("it can be decoded");
        };
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }

    #[test]
    fn a_decompression_bomb_stops_at_the_limit() {
        let zeros = vec![b' '; 8 << 20];
        let mut body = Vec::new();
        for _ in 0..2 {
            // A real decompression bomb has two layers; a frame has one.
            body.clear();
            ZlibEncoder::new(zeros.as_slice(), Compression::best())
                .read_to_end(&mut body)
                .unwrap();
        }
        let frame = Frame { packed: true, body };
        assert!(matches!(
            frame.decode::<Report>(),
            Err(FrameError::Malformed(_))
        ));
    }

    #[test]
    fn a_host_without_an_agent_is_reported_with_its_output() {
        let mut deframer = Deframer::of_agent();
        deframer.push(b"This account is \x1b[1mclosed\x1b[0m.\r\n");
        assert_eq!(deframer.next_frame(), Ok(None));
        assert_eq!(
            deframer.foreign_output(),
            "This account is \u{fffd}[1mclosed\u{fffd}[0m."
        );
        deframer.push(&[b'x'; NOISE_LEN_MAX]);
        assert!(matches!(
            deframer.next_frame(),
            Err(FrameError::NotAnAgent(_))
        ));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut deframer = Deframer::of_prime();
            deframer.push(&bytes);
            while let Ok(Some(frame)) = deframer.next_frame() {
                let _ = frame.decode::<Report>();
                let _ = frame.decode::<Order>();
            }
        }
    }
}
