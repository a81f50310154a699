//! VXI-11 (TCP/IP Instrument Protocol, VXIbus Consortium, 1995), a protocol of instruments on
//! Ethernet. Remote procedure calls (RFC 5531) over TCP, a link to the device `inst0`.
//!
//! Few calls, one at a time on a blocking connection.

use super::{LINE_LEN_MAX, Transport, receive, send, stream};
use crate::meter::ReadFailure;
use crate::waiting::Deadline;
use filermark_onc::portmap;
use filermark_onc::rpc::{AcceptStat, OpaqueAuth, ReplyBody, ReplyHeader, peek_xid};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Decode, Decoder, Encoder, Problem};
use std::net::{SocketAddr, TcpStream};

/// The port of the portmapper.
pub(super) const PORTMAPPER: u16 = portmap::PORT;
/// The device name of an instrument that is a single device.
const DEVICE: &[u8] = b"inst0";
/// Program, version, procedure.
type Procedure = (u32, u32, u32);
const GETPORT: Procedure = (
    portmap::PROGRAM,
    portmap::VERSION,
    portmap::Procedure::Getport.to_u32(),
);
const CORE: u32 = 0x0006_07AF;
const CREATE_LINK: Procedure = (CORE, 1, 10);
const DEVICE_WRITE: Procedure = (CORE, 1, 11);
const DEVICE_READ: Procedure = (CORE, 1, 12);
/// The last data of a message (flag of a write).
const END: u32 = 8;
/// The last data of a message (reason of a read).
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
    /// Connects to the core channel at this address, or at the port that the portmapper there
    /// returns.
    pub(super) fn connect(
        mut address: SocketAddr,
        ask_portmapper: bool,
        deadline: Deadline,
    ) -> Result<Self, ReadFailure> {
        if ask_portmapper {
            const STEP: &str = "ask the portmapper";
            let what = "the portmapper of a meter with VXI-11 (vxi11://HOST:PORT does not use it, scpi:// is the line port)";
            let mut calls = Calls::connect(address, what, deadline)?;
            let reply = calls.call(
                GETPORT,
                &[CORE, 1, portmap::IPPROTO_TCP, 0],
                &[],
                STEP,
                deadline,
            )?;
            let port = u16::try_from(reply.results(STEP).word()?).unwrap_or(0);
            if port == 0 {
                let reason = "it has no VXI-11; is this an instrument, and is its network on?";
                return Err(ReadFailure::new(STEP, reason));
            }
            address.set_port(port);
        }
        const STEP: &str = "make a link";
        let mut calls = Calls::connect(address, "the meter's port of VXI-11", deadline)?;
        // Number of the client, no lock, no wait for a lock, the device.
        let reply = calls.call(CREATE_LINK, &[1, 0, 0], DEVICE, STEP, deadline)?;
        let mut results = reply.results(STEP);
        accepted(results.word()?, STEP)?;
        let link = results.word()?;
        Ok(Self { calls, link })
    }
}

/// The time limit of the instrument in milliseconds: the time left, so that it reports the
/// timeout itself.
fn io_timeout_ms(step: &'static str, deadline: Deadline) -> Result<u32, ReadFailure> {
    let left = deadline.left(step)?;
    Ok(u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1))
}

impl Transport for Vxi11 {
    fn write(
        &mut self,
        words: &str,
        step: &'static str,
        deadline: Deadline,
    ) -> Result<(), ReadFailure> {
        let line = format!("{words}\n");
        let head = [self.link, io_timeout_ms(step, deadline)?, 0, END];
        let reply = self
            .calls
            .call(DEVICE_WRITE, &head, line.as_bytes(), step, deadline)?;
        let mut results = reply.results(step);
        accepted(results.word()?, step)?;
        match usize::try_from(results.word()?) {
            Ok(len) if len == line.len() => Ok(()),
            _ => Err(ReadFailure::new(
                step,
                "it accepted only a part of the command",
            )),
        }
    }

    fn read_line(&mut self, step: &'static str, deadline: Deadline) -> Result<String, ReadFailure> {
        let mut line: Vec<u8> = Vec::new();
        loop {
            let most = u32::try_from(LINE_LEN_MAX).unwrap_or(u32::MAX);
            let head = [self.link, most, io_timeout_ms(step, deadline)?, 0, 0, 0];
            let reply = self.calls.call(DEVICE_READ, &head, &[], step, deadline)?;
            let mut results = reply.results(step);
            accepted(results.word()?, step)?;
            let reason = results.word()?;
            let data = results.bytes()?;
            line.extend_from_slice(data);
            if line.len() > LINE_LEN_MAX || data.is_empty() && reason & END_READ == 0 {
                let reason = format!("it answered {} bytes without an end", line.len());
                return Err(ReadFailure::new(step, reason));
            }
            if reason & END_READ != 0 {
                let text = String::from_utf8(line).map(|text| text.trim().to_owned());
                return text.map_err(|_| ReadFailure::new(step, "its answer is not text"));
            }
        }
    }
}

/// Codes of the specification, table B.2.
fn accepted(code: u32, step: &'static str) -> Result<(), ReadFailure> {
    let why = match code {
        0 => return Ok(()),
        3 => "it has no device inst0",
        9 => "it has no link left: another program uses it",
        11 => "another program has locked it",
        15 => "the instrument timed out",
        _ => "it refused the call",
    };
    Err(ReadFailure::new(
        step,
        format!("{why} (VXI-11 error {code})"),
    ))
}

/// A connection that carries calls, one after the other.
#[derive(Debug)]
struct Calls {
    stream: TcpStream,
    last: u32,
}

impl Calls {
    fn connect(address: SocketAddr, what: &str, deadline: Deadline) -> Result<Self, ReadFailure> {
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
    ) -> Result<Reply, ReadFailure> {
        self.last = self.last.wrapping_add(1);
        let mut call = Vec::new();
        let template = CallTemplate::new(program, version, OpaqueAuth::NONE);
        let record = template.begin(&mut call, self.last, procedure);
        let mut e = Encoder::new(&mut call);
        for word in words {
            e.u32(*word);
        }
        if !bytes.is_empty() {
            e.opaque(bytes);
        }
        record.finish(&mut call);
        send(&mut self.stream, &call, step, deadline)?;
        let bytes = self.reply(step, deadline)?;
        let results_at = results_at(&bytes, self.last, step)?;
        Ok(Reply { bytes, results_at })
    }

    fn reply(&mut self, step: &'static str, deadline: Deadline) -> Result<Vec<u8>, ReadFailure> {
        let mut bytes = Vec::new();
        loop {
            let mut mark = [0; 4];
            self.exactly(&mut mark, step, deadline)?;
            let mark = u32::from_be_bytes(mark);
            let len = usize::try_from(mark & 0x7fff_ffff).unwrap_or(usize::MAX);
            if len > REPLY_LEN_MAX.saturating_sub(bytes.len()) || len == 0 {
                let reason = "its answer is not a reply to the call: too long, or empty";
                return Err(ReadFailure::new(step, reason));
            }
            let mut fragment = vec![0; len];
            self.exactly(&mut fragment, step, deadline)?;
            bytes.append(&mut fragment);
            if mark & 0x8000_0000 != 0 {
                return Ok(bytes);
            }
        }
    }

    fn exactly(
        &mut self,
        mut rest: &mut [u8],
        step: &'static str,
        deadline: Deadline,
    ) -> Result<(), ReadFailure> {
        while !rest.is_empty() {
            let len = receive(&mut self.stream, rest, step, deadline)?;
            rest = rest.get_mut(len..).unwrap_or(&mut []);
        }
        Ok(())
    }
}

/// Where the results begin in the reply to this call.
fn results_at(reply: &[u8], xid: u32, step: &'static str) -> Result<usize, ReadFailure> {
    let mut d = Decoder::new(reply);
    let header = ReplyHeader::decode(&mut d);
    let unknown = |code| {
        let reason = format!("it does not support the call (RPC status {code})");
        ReadFailure::new(step, reason)
    };
    let no_reply = || ReadFailure::new(step, "its answer is not a reply to the call");
    match header {
        Ok(header) if header.xid != xid => Err(no_reply()),
        Ok(header) => match header.body {
            ReplyBody::Accepted {
                stat: AcceptStat::Success,
                ..
            } => Ok(d.offset()),
            ReplyBody::Accepted { stat, .. } => Err(unknown(stat.to_u32())),
            ReplyBody::Denied(_) => Err(no_reply()),
        },
        Err(error) => Err(match error.problem {
            Problem::Unexpected { .. } if peek_xid(reply) != Some(xid) => no_reply(),
            Problem::Unexpected { value } if error.what == ReplyHeader::ACCEPT_STAT => {
                unknown(value)
            }
            Problem::Unexpected { .. } => no_reply(),
            _ => cut_short(step),
        }),
    }
}

fn cut_short(step: &'static str) -> ReadFailure {
    ReadFailure::new(step, "its reply is cut short")
}

/// A reply to a call that succeeded.
#[derive(Debug)]
struct Reply {
    bytes: Vec<u8>,
    results_at: usize,
}

impl Reply {
    fn results(&self, step: &'static str) -> Results<'_> {
        let bytes = self.bytes.get(self.results_at..).unwrap_or(&[]);
        Results {
            d: Decoder::new(bytes),
            step,
        }
    }
}

/// The results of a call, read item by item in this step.
struct Results<'a> {
    d: Decoder<'a>,
    step: &'static str,
}

impl<'a> Results<'a> {
    fn word(&mut self) -> Result<u32, ReadFailure> {
        self.d.u32("word").map_err(|_| cut_short(self.step))
    }

    fn bytes(&mut self) -> Result<&'a [u8], ReadFailure> {
        let data = self.d.opaque(usize::MAX, "data");
        data.map_err(|_| cut_short(self.step))
    }
}
