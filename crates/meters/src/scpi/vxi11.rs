//! VXI-11 (TCP/IP Instrument Protocol, VXIbus Consortium, 1995): what instruments speak on
//! Ethernet. Remote procedure calls (RFC 5531) over TCP, a link to the device `inst0`.
//!
//! A handful of calls of whole words: written out here, without the engine's codecs, which
//! are made for many calls under way at once.

use super::{LINE_LEN_MAX, Talk, receive, send, stream};
use crate::meter::Trouble;
use crate::waiting::Deadline;
use std::net::{SocketAddr, TcpStream};

/// Where the portmapper listens.
pub(super) const PORTMAPPER: u16 = 111;
/// The device of an instrument that is one.
const DEVICE: &[u8] = b"inst0";
/// Program, version, procedure.
type Procedure = (u32, u32, u32);
const GETPORT: Procedure = (100_000, 2, 3);
const CORE: u32 = 0x0006_07AF;
const CREATE_LINK: Procedure = (CORE, 1, 10);
const DEVICE_WRITE: Procedure = (CORE, 1, 11);
const DEVICE_READ: Procedure = (CORE, 1, 12);
/// The last data of a message (flag of a write).
const END: u32 = 8;
/// The same, among the reasons why a read has ended.
const END_READ: u32 = 4;
/// Largest reply that is read, in bytes: a line and the words around it.
const REPLY_LEN_MAX: usize = LINE_LEN_MAX + 256;

/// A link to an instrument.
#[derive(Debug)]
pub(super) struct Vxi11 {
    calls: Calls,
    link: u32,
}

impl Vxi11 {
    /// To the core channel at this address, or where the portmapper there says.
    pub(super) fn connect(
        mut address: SocketAddr,
        ask_portmapper: bool,
        deadline: Deadline,
    ) -> Result<Self, Trouble> {
        if ask_portmapper {
            const STEP: &str = "ask the portmapper";
            let what = "the portmapper of a meter with VXI-11 (vxi11://HOST:PORT goes past it, scpi:// is the line port)";
            let mut calls = Calls::connect(address, what, deadline)?;
            let mut reply = calls.call(GETPORT, &[CORE, 1, 6, 0], &[], STEP, deadline)?;
            let port = u16::try_from(reply.word(STEP)?).unwrap_or(0);
            if port == 0 {
                let reason = "it knows no VXI-11; is this an instrument, and is its network on?";
                return Err(Trouble::new(STEP, reason));
            }
            address.set_port(port);
        }
        const STEP: &str = "make a link";
        let mut calls = Calls::connect(address, "the meter's port of VXI-11", deadline)?;
        // Number of the client, no lock, no wait for a lock, the device.
        let mut reply = calls.call(CREATE_LINK, &[1, 0, 0], DEVICE, STEP, deadline)?;
        accepted(reply.word(STEP)?, STEP)?;
        let link = reply.word(STEP)?;
        Ok(Self { calls, link })
    }
}

/// How long the instrument may take, in its words: milliseconds, until just before we give
/// up, so that it says so itself.
fn patience_ms(step: &'static str, deadline: Deadline) -> Result<u32, Trouble> {
    let left = deadline.left(step)?;
    Ok(u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1))
}

impl Talk for Vxi11 {
    fn tell(&mut self, words: &str, step: &'static str, deadline: Deadline) -> Result<(), Trouble> {
        let line = format!("{words}\n");
        let head = [self.link, patience_ms(step, deadline)?, 0, END];
        let mut reply = self
            .calls
            .call(DEVICE_WRITE, &head, line.as_bytes(), step, deadline)?;
        accepted(reply.word(step)?, step)?;
        match usize::try_from(reply.word(step)?) {
            Ok(len) if len == line.len() => Ok(()),
            _ => Err(Trouble::new(step, "it took a part of the command only")),
        }
    }

    fn hear(&mut self, step: &'static str, deadline: Deadline) -> Result<String, Trouble> {
        let mut line: Vec<u8> = Vec::new();
        loop {
            let most = u32::try_from(LINE_LEN_MAX).unwrap_or(u32::MAX);
            let head = [self.link, most, patience_ms(step, deadline)?, 0, 0, 0];
            let mut reply = self.calls.call(DEVICE_READ, &head, &[], step, deadline)?;
            accepted(reply.word(step)?, step)?;
            let reason = reply.word(step)?;
            let data = reply.bytes(step)?;
            line.extend_from_slice(data);
            if line.len() > LINE_LEN_MAX || data.is_empty() && reason & END_READ == 0 {
                let reason = format!("it answered {} bytes without an end", line.len());
                return Err(Trouble::new(step, reason));
            }
            if reason & END_READ != 0 {
                let text = String::from_utf8(line).map(|text| text.trim().to_owned());
                return text.map_err(|_| Trouble::new(step, "its answer is no text"));
            }
        }
    }
}

/// Codes of the specification, table B.2.
fn accepted(code: u32, step: &'static str) -> Result<(), Trouble> {
    let why = match code {
        0 => return Ok(()),
        3 => "it has no device inst0",
        9 => "it has no link left: another program holds it",
        11 => "another program has locked it",
        15 => "it says that it takes too long",
        _ => "it refuses",
    };
    Err(Trouble::new(step, format!("{why} (VXI-11 error {code})")))
}

/// A connection that carries calls, one after the other.
#[derive(Debug)]
struct Calls {
    stream: TcpStream,
    last: u32,
}

impl Calls {
    fn connect(address: SocketAddr, what: &str, deadline: Deadline) -> Result<Self, Trouble> {
        Ok(Self {
            stream: stream(address, what, deadline)?,
            last: 0,
        })
    }

    /// A call with these words and, after them, these bytes with their length, if any.
    fn call(
        &mut self,
        (program, version, procedure): Procedure,
        words: &[u32],
        bytes: &[u8],
        step: &'static str,
        deadline: Deadline,
    ) -> Result<Reply, Trouble> {
        self.last = self.last.wrapping_add(1);
        // A call (0) of RPC version 2, without credentials and verifier.
        let head = [self.last, 0, 2, program, version, procedure, 0, 0, 0, 0];
        let mut body: Vec<u8> = Vec::new();
        for word in head.iter().chain(words) {
            body.extend_from_slice(&word.to_be_bytes());
        }
        if !bytes.is_empty() {
            let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            body.extend_from_slice(&len.to_be_bytes());
            body.extend_from_slice(bytes);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
        // The highest bit: the last, and only, fragment.
        let mut record = (len | 0x8000_0000).to_be_bytes().to_vec();
        record.append(&mut body);
        send(&mut self.stream, &record, step, deadline)?;
        let mut reply = self.reply(step, deadline)?;
        let no_reply = || Trouble::new(step, "what it answers is no reply to a call");
        // A reply (1) to this call that was accepted (0).
        let head = [reply.word(step)?, reply.word(step)?, reply.word(step)?];
        if head != [self.last, 1, 0] {
            return Err(no_reply());
        }
        reply.word(step)?;
        reply.bytes(step)?;
        match reply.word(step)? {
            0 => Ok(reply),
            code => {
                let reason = format!("it does not know the call (RPC status {code})");
                Err(Trouble::new(step, reason))
            }
        }
    }

    fn reply(&mut self, step: &'static str, deadline: Deadline) -> Result<Reply, Trouble> {
        let mut bytes = Vec::new();
        loop {
            let mut mark = [0; 4];
            self.exactly(&mut mark, step, deadline)?;
            let mark = u32::from_be_bytes(mark);
            let len = usize::try_from(mark & 0x7fff_ffff).unwrap_or(usize::MAX);
            if len > REPLY_LEN_MAX.saturating_sub(bytes.len()) || len == 0 {
                let reason = "what it answers is no reply to a call: too long, or empty";
                return Err(Trouble::new(step, reason));
            }
            let mut fragment = vec![0; len];
            self.exactly(&mut fragment, step, deadline)?;
            bytes.append(&mut fragment);
            if mark & 0x8000_0000 != 0 {
                return Ok(Reply { bytes, at: 0 });
            }
        }
    }

    fn exactly(
        &mut self,
        mut rest: &mut [u8],
        step: &'static str,
        deadline: Deadline,
    ) -> Result<(), Trouble> {
        while !rest.is_empty() {
            let len = receive(&mut self.stream, rest, step, deadline)?;
            rest = rest.get_mut(len..).unwrap_or(&mut []);
        }
        Ok(())
    }
}

/// A reply that is read word by word.
#[derive(Debug)]
struct Reply {
    bytes: Vec<u8>,
    at: usize,
}

impl Reply {
    fn take(&mut self, len: usize, step: &'static str) -> Result<&[u8], Trouble> {
        let end = self.at.saturating_add(len);
        let taken = self.bytes.get(self.at..end);
        self.at = end;
        taken.ok_or_else(|| Trouble::new(step, "its reply is cut short"))
    }

    fn word(&mut self, step: &'static str) -> Result<u32, Trouble> {
        let bytes = self.take(4, step)?;
        Ok(bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    fn bytes(&mut self, step: &'static str) -> Result<&[u8], Trouble> {
        let len = usize::try_from(self.word(step)?).unwrap_or(usize::MAX);
        let taken = self.take(len.checked_next_multiple_of(4).unwrap_or(usize::MAX), step)?;
        Ok(taken.get(..len).unwrap_or(&[]))
    }
}
