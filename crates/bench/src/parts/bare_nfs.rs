//! The bare loop of NFS calls: one call, encoded once, is sent again for each reply. The loop
//! waits, receives and sends as the driver does, and neither decodes nor counts anything else.

use filermark_onc::nfs3::{
    self, Fh, GetattrArgs, GetattrRes, Nfsstat3, ReadArgs, ReadRes, StableHow, WriteArgs, WriteRes,
};
use filermark_onc::rpc::{AuthSys, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{self, Decode, Decoder};
use rustix::event::epoll;
use rustix::net::{RecvFlags, recv};
use std::fmt::Display;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Bytes of a record mark, and its bit of the last fragment.
const MARK: usize = 4;
const LAST: u32 = 1 << 31;
/// Longest reply, without the data of a READ.
const REPLY_MAX: usize = 1 << 10;
const SCRATCH: usize = 256 << 10;
const EVENTS_MAX: usize = 1024;
/// Longest wait for a reply, in seconds.
const REPLY_TIMEOUT_S: i64 = 5;

pub(super) fn failed(error: impl Display) -> String {
    format!("bare loop: {error}")
}

/// Repeats a turn of a bare loop for this long; returns the number of replies.
pub(super) fn keep_up(
    span: Duration,
    mut turn: impl FnMut() -> Result<u64, String>,
) -> Result<u64, String> {
    let began = Instant::now();
    let mut count = 0;
    loop {
        count += turn()?;
        if began.elapsed() >= span {
            return Ok(count);
        }
    }
}

/// The call that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// GETATTR.
    Getattr,
    /// READ of this number of bytes.
    Read(u32),
    /// WRITE of this number of bytes, unstable.
    Write(u32),
}

/// Connections with calls under way.
pub struct BareLoop {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    links: Vec<(TcpStream, usize)>,
    /// As many calls as are under way on a connection.
    calls: Vec<u8>,
    call_len: usize,
    reply_len: usize,
    scratch: Vec<u8>,
}

impl BareLoop {
    /// Connects, and sends the first calls.
    ///
    /// # Errors
    /// Those of the connections; a reply that does not decode or is an error.
    pub fn open(
        server: SocketAddr,
        (connections, depth): (u32, u32),
        kind: Call,
    ) -> Result<Self, String> {
        let call = kind.encode()?;
        let mut bare = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?,
            events: Vec::with_capacity(EVENTS_MAX),
            links: Vec::new(),
            calls: call.repeat(depth as usize),
            call_len: call.len(),
            reply_len: 0,
            scratch: vec![0; SCRATCH],
        };
        for number in 0..connections {
            let mut stream = TcpStream::connect(server).map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            bare.reply_len = kind.first_reply(&mut stream, &call)?;
            let (data, flags) = (
                epoll::EventData::new_u64(u64::from(number)),
                epoll::EventFlags::IN | epoll::EventFlags::ET,
            );
            epoll::add(&bare.epoll, &stream, data, flags).map_err(failed)?;
            bare.links.push((stream, 0));
        }
        for (stream, _) in &mut bare.links {
            stream.write_all(&bare.calls).map_err(failed)?;
        }
        Ok(bare)
    }

    /// Sends a new call for each reply, for this long; returns the number of replies.
    ///
    /// # Errors
    /// Those of the connections.
    pub fn keep_up(&mut self, span: Duration) -> Result<u64, String> {
        keep_up(span, || self.turn())
    }

    fn turn(&mut self) -> Result<u64, String> {
        self.events.clear();
        let limit = rustix::event::Timespec {
            tv_sec: REPLY_TIMEOUT_S,
            tv_nsec: 0,
        };
        let buffer = rustix::buffer::spare_capacity(&mut self.events);
        epoll::wait(&self.epoll, buffer, Some(&limit)).map_err(failed)?;
        if self.events.is_empty() {
            return Err(failed("no reply"));
        }
        let mut count = 0;
        for event in &self.events {
            let (stream, partial) = &mut self.links[event.data.u64() as usize];
            loop {
                let (_, got) = match recv(&*stream, &mut self.scratch[..], RecvFlags::DONTWAIT) {
                    Err(rustix::io::Errno::AGAIN) => break,
                    other => other.map_err(failed)?,
                };
                if got == 0 {
                    return Err(failed("the server has closed the connection"));
                }
                *partial += got;
                let whole = *partial / self.reply_len;
                *partial %= self.reply_len;
                let calls = &self.calls[..whole * self.call_len];
                stream.write_all(calls).map_err(failed)?;
                count += whole as u64;
                // A short read has emptied the socket.
                if got < self.scratch.len() {
                    break;
                }
            }
        }
        Ok(count)
    }
}

impl Call {
    /// The call as a record.
    pub(super) fn encode(self) -> Result<Vec<u8>, String> {
        let cred = AuthSys::new(0, b"client", 1000, 1000, &[]).to_body();
        let template = CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, cred.as_auth());
        let handle = Fh::new(&[7; 32]).ok_or("a handle too long")?;
        let (file, offset) = (handle.handle(), 0);
        let mut call = Vec::new();
        match self {
            Self::Getattr => template.call(&mut call, 1, &GetattrArgs { object: file }),
            Self::Read(count) => template.call(
                &mut call,
                1,
                &ReadArgs {
                    file,
                    offset,
                    count,
                },
            ),
            Self::Write(count) => template.call(
                &mut call,
                1,
                &WriteArgs {
                    file,
                    offset,
                    count,
                    stable: StableHow::Unstable,
                    data: &vec![1; count as usize],
                },
            ),
        };
        Ok(call)
    }

    /// Sends the call and returns the length of the reply's record, which is that of all others.
    pub(super) fn first_reply(self, stream: &mut TcpStream, call: &[u8]) -> Result<usize, String> {
        stream.write_all(call).map_err(failed)?;
        let mut mark = [0; MARK];
        stream.read_exact(&mut mark).map_err(failed)?;
        let length = (u32::from_be_bytes(mark) & !LAST) as usize;
        let data = match self {
            Self::Read(count) => count as usize,
            _ => 0,
        };
        if length > data + REPLY_MAX {
            return Err(failed(format!("a reply of {length} bytes")));
        }
        let mut record = vec![0; length];
        stream.read_exact(&mut record).map_err(failed)?;
        let mut decoder = Decoder::new(&record);
        let header = ReplyHeader::decode(&mut decoder).map_err(failed)?;
        header.check().map_err(failed)?;
        match self.status(&mut decoder)? {
            None => Ok(MARK + length),
            Some(status) => Err(failed(format!("{self:?}: {status:?}"))),
        }
    }

    /// The status of the results, if it is an error.
    fn status(self, decoder: &mut Decoder<'_>) -> Result<Option<Nfsstat3>, String> {
        Ok(match self {
            Self::Getattr => {
                let results = xdr::finish::<GetattrRes>(decoder).map_err(failed)?;
                results.err().map(|failed| failed.status)
            }
            Self::Read(_) => {
                let results = xdr::finish::<ReadRes<'_>>(decoder).map_err(failed)?;
                results.err().map(|failed| failed.status)
            }
            Self::Write(_) => {
                let results = xdr::finish::<WriteRes>(decoder).map_err(failed)?;
                results.err().map(|failed| failed.status)
            }
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use filermark_server::{Server, ServerOptions};

    /// A loop that is open: it goes on for a moment, and returns the number of replies.
    pub type Running = Box<dyn FnMut() -> Result<u64, String>>;

    /// Each loop counts replies of a server with canned ones: more than are under way at the start.
    pub fn count_replies<C, const N: usize>(
        cases: [C; N],
        open: impl Fn(SocketAddr, C) -> Result<Running, String>,
    ) {
        let options = ServerOptions {
            null: true,
            ..ServerOptions::default()
        };
        let server = Server::start(options).expect("a server");
        for case in cases {
            let mut keep_up = open(server.addrs()[0], case).expect("connections");
            let mut count = 0;
            while count < 200 {
                count += keep_up().expect("replies");
            }
        }
        server.stop();
    }

    #[test]
    fn each_reply_is_counted_and_followed_by_a_call() {
        let calls = [Call::Getattr, Call::Read(4096), Call::Write(70_000)];
        count_replies(calls, |address, call| {
            let mut bare = BareLoop::open(address, (3, 4), call)?;
            Ok(Box::new(move || bare.keep_up(Duration::ZERO)))
        });
    }
}
