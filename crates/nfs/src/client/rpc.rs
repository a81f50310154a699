//! One blocking RPC connection, over TCP or UDP: record marking, xid check, limits.

use super::datagram::DatagramLink;
use super::error::timeout_error;
use super::protected::NEW_CONTEXTS;
use super::secure::{SecureStream, is_nothing};
use super::starttls::TlsOptions;
use super::{ClientError, connect};
use crate::security::{GssContext, KerberosOptions, lost_context};
use filermark_engine::interrupt_guard;
use filermark_model::plan::Transport;
use filermark_onc::record::{OpenRecord, RecordReader, append_fragments};
use filermark_onc::rpc::{AuthBody, Call, CallHeader, OpaqueAuth, ReplyHeader};
use filermark_onc::xdr::{self, Decode, Decoder};
use filermark_tls::ClientTls;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How a connection is made and how long it may take to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcOptions {
    /// What carries the calls.
    pub transport: Transport,
    /// UDP: the first wait for an answer; doubled with each retransmission, up to
    /// `reply_timeout`.
    pub udp_timeout: Duration,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for one answer.
    pub reply_timeout: Duration,
    /// How often an unanswered call goes out again, each time on a new connection.
    /// Over UDP it is given up when it went again that often and `reply_timeout` is
    /// over, whichever is later.
    pub retries: u32,
    /// Whether the source port has to be below 1024.
    pub resvport: bool,
    /// Largest answer in bytes.
    pub reply_bytes_max: usize,
    /// TLS over TCP; `None`: in the clear.
    pub tls: Option<TlsOptions>,
    /// How calls are protected, over TCP; `None`: they are not, and carry the credential of the client.
    pub kerberos: Option<KerberosOptions>,
}

impl Default for RpcOptions {
    fn default() -> Self {
        Self {
            transport: Transport::Tcp,
            udp_timeout: Duration::from_millis(1100),
            connect_timeout: Duration::from_secs(10),
            reply_timeout: Duration::from_secs(10),
            retries: 0,
            resvport: false,
            reply_bytes_max: 5 << 20,
            tls: None,
            kerberos: None,
        }
    }
}

/// A version of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program's number.
    pub prog: u32,
    /// The version.
    pub vers: u32,
}

/// Calls one program at one address. Connects when first used, and again after
/// the connection broke.
#[derive(Debug)]
pub struct RpcClient {
    pub(super) address: SocketAddr,
    pub(super) options: RpcOptions,
    pub(super) program: Program,
    cred: AuthBody,
    pub(super) link: Option<Link>,
    datagrams: Option<DatagramLink>,
    /// What was read from the files of TLS.
    tls: Option<ClientTls>,
    pub(super) xid: u32,
    pub(super) call: Vec<u8>,
    pub(super) reply: Vec<u8>,
    fragment_bytes: Option<usize>,
    /// The context of protected calls.
    pub(super) gss: Option<Box<GssContext>>,
}

/// What belongs to one connection.
#[derive(Debug)]
pub(super) struct Link {
    stream: TcpStream,
    reader: RecordReader,
    tls: Option<SecureStream>,
    /// Bytes that came and are not looked at yet: `input[start..end]`.
    input: Vec<u8>,
    start: usize,
    end: usize,
}

/// Calls that may be in flight together in [`RpcClient::call_many`].
const WINDOW: usize = 32;
/// The limit over UDP, where calls that do not fit the server's socket buffer are lost.
const WINDOW_UDP: usize = 8;
const INPUT_BYTES: usize = 64 << 10;
const MARK_BYTES: usize = 4;

impl RpcClient {
    /// A client that connects when it is first used.
    pub fn new(address: SocketAddr, program: Program, cred: AuthBody, options: RpcOptions) -> Self {
        Self {
            address,
            options,
            program,
            cred,
            link: None,
            datagrams: None,
            tls: None,
            xid: first_xid(),
            call: Vec::new(),
            reply: Vec::new(),
            fragment_bytes: None,
            gss: None,
        }
    }

    /// Whom it calls.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How it calls.
    pub const fn options(&self) -> &RpcOptions {
        &self.options
    }

    /// The program that it calls.
    pub const fn program(&self) -> Program {
        self.program
    }

    /// Version of TLS and cipher suite of the present connection, in text; `None`: in the clear, or there
    /// is none.
    pub fn tls_description(&self) -> Option<String> {
        self.link.as_ref()?.tls.as_ref()?.description()
    }

    /// Sets the longest wait for one answer, from the next call on.
    pub const fn set_reply_timeout(&mut self, timeout: Duration) {
        self.options.reply_timeout = timeout;
    }

    /// Sets how it calls, from the next call on.
    pub fn set_options(&mut self, options: RpcOptions) {
        self.options = options;
    }

    /// Limits each wait, and sends calls once; returns the options before that.
    pub fn limit(&mut self, wait: Duration) -> RpcOptions {
        let before = self.options.clone();
        self.options.connect_timeout = before.connect_timeout.min(wait);
        self.options.reply_timeout = before.reply_timeout.min(wait);
        self.options.retries = 0;
        before
    }

    /// Cuts calls into fragments of this many bytes, as the record marking allows;
    /// `None`: one each. Over UDP a call is one datagram all the same.
    pub const fn set_fragment_bytes(&mut self, bytes: Option<usize>) {
        self.fragment_bytes = bytes;
    }

    /// Connects if there is no connection. Over UDP that does not show whether the
    /// server exists.
    ///
    /// # Errors
    /// As [`connect`].
    pub fn connect(&mut self) -> Result<(), ClientError> {
        match self.options.transport {
            Transport::Tcp => self.linked().map(|_| ()),
            Transport::Udp => self.datagrams().map(|_| ()),
        }
    }

    /// Closes the connection; the next call makes a new one.
    pub fn disconnect(&mut self) {
        self.link = None;
        self.datagrams = None;
    }

    fn datagrams(&mut self) -> Result<&mut DatagramLink, ClientError> {
        match &mut self.datagrams {
            Some(link) => Ok(link),
            empty => {
                let link = DatagramLink::open(self.address, self.options.resvport)?;
                Ok(empty.insert(link))
            }
        }
    }

    fn linked(&mut self) -> Result<&mut Link, ClientError> {
        match &mut self.link {
            Some(link) => Ok(link),
            empty => {
                let options = &self.options;
                if let (Some(tls), None) = (&options.tls, &self.tls) {
                    let read = tls.read(self.program.prog, self.program.vers);
                    self.tls = Some(read.map_err(|source| ClientError::TlsFile { source })?);
                }
                let (address, limit) = (self.address, options.connect_timeout);
                let mut stream = connect(address, options.resvport, limit)?;
                let tls = self.tls.as_ref().filter(|_| options.tls.is_some());
                let tls = tls.map(|tls| SecureStream::open(tls, address, &mut stream, limit));
                Ok(empty.insert(Link {
                    stream,
                    reader: RecordReader::new(options.reply_bytes_max),
                    tls: tls.transpose()?,
                    input: vec![0; INPUT_BYTES],
                    start: 0,
                    end: 0,
                }))
            }
        }
    }

    /// Calls a procedure and decodes its results, which borrow from the answer.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub fn call<'s, A: Call>(&'s mut self, args: &A) -> Result<A::Res<'s>, ClientError> {
        self.build(self.program, A::PROC, |out| xdr::append(out, args));
        self.exchange()?;
        let mut d = self.results()?;
        let address = self.address;
        xdr::finish(&mut d).map_err(|source| ClientError::Garbage { address, source })
    }

    /// Calls any procedure of any version of any program with arguments that are
    /// bytes already, sound or not; hands out the undecoded results.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub fn call_raw(
        &mut self,
        program: Program,
        procedure: u32,
        args: &[u8],
    ) -> Result<&[u8], ClientError> {
        self.build(program, procedure, |out| out.extend_from_slice(args));
        self.exchange()?;
        self.results().map(|d| d.rest())
    }

    /// Makes the same kind of call for each of `args`, many at a time on the one
    /// connection, and hands the results to `each` with their number, in the
    /// order in which they come. Calls that went unanswered are not sent again
    /// (over UDP they are, like all others): the caller starts over.
    ///
    /// # Errors
    /// Every [`ClientError`]; the calls before it may have been executed or not.
    pub fn call_many<A: Call>(
        &mut self,
        args: &[A],
        mut each: impl FnMut(usize, A::Res<'_>),
    ) -> Result<(), ClientError> {
        if self.options.transport == Transport::Udp {
            return self.call_many_datagrams(args, each);
        }
        let window = match self.secured()? {
            Some(context) => WINDOW.min(context.window.size() as usize),
            None => WINDOW,
        };
        for (chunk_number, chunk) in args.chunks(window).enumerate() {
            self.secured()?;
            let first = self.xid.wrapping_add(1);
            let mut wire = Vec::new();
            let mut numbers = Vec::new();
            for one in chunk {
                self.build(self.program, A::PROC, |out| xdr::append(out, one));
                let call = std::mem::take(&mut self.call);
                let (call, number) = self.protect(&call)?;
                wire.extend(self.cut(call));
                numbers.push(number);
            }
            let address = self.address;
            let mut pending = vec![true; chunk.len()];
            self.send(&wire)?;
            for _ in chunk {
                self.receive()?;
                let xid = filermark_onc::rpc::peek_xid(&self.reply).unwrap_or_default();
                let number = xid.wrapping_sub(first) as usize;
                match pending.get_mut(number) {
                    Some(open) if *open => *open = false,
                    _ => return Err(self.wrong_xid(first, xid)),
                }
                self.unprotect(numbers.get(number).copied().unwrap_or_default())?;
                let results = xdr::finish(&mut self.results()?)
                    .map_err(|source| ClientError::Garbage { address, source })?;
                each(chunk_number * window + number, results);
            }
        }
        Ok(())
    }

    fn call_many_datagrams<A: Call>(
        &mut self,
        args: &[A],
        mut each: impl FnMut(usize, A::Res<'_>),
    ) -> Result<(), ClientError> {
        let address = self.address;
        for (chunk_number, chunk) in args.chunks(WINDOW_UDP).enumerate() {
            let mut calls = Vec::with_capacity(chunk.len());
            for one in chunk {
                self.build(self.program, A::PROC, |out| xdr::append(out, one));
                calls.push(self.call.split_off(MARK_BYTES.min(self.call.len())));
            }
            let options = self.options.clone();
            let mut answers = Vec::with_capacity(chunk.len());
            let outcome = self
                .datagrams()?
                .exchange(&options, &calls, |number, answer| {
                    answers.push((number, answer.to_vec()));
                });
            for (number, answer) in answers {
                self.reply = answer;
                let results = xdr::finish(&mut self.results()?)
                    .map_err(|source| ClientError::Garbage { address, source })?;
                each(chunk_number * WINDOW_UDP + number, results);
            }
            outcome?;
        }
        Ok(())
    }

    /// Writes a call with the next xid into `self.call`, its mark in front.
    pub(super) fn build(&mut self, program: Program, proc: u32, args: impl FnOnce(&mut Vec<u8>)) {
        self.xid = self.xid.wrapping_add(1);
        self.call.clear();
        let record = OpenRecord::begin(&mut self.call);
        let header = CallHeader {
            xid: self.xid,
            prog: program.prog,
            vers: program.vers,
            proc,
            cred: self.cred.as_auth(),
            verf: OpaqueAuth::NONE,
        };
        xdr::append(&mut self.call, &header);
        args(&mut self.call);
        record.finish(&mut self.call);
    }

    /// A call in fragments, as is set.
    fn cut(&self, call: Vec<u8>) -> Vec<u8> {
        let Some(bytes) = self.fragment_bytes else {
            return call;
        };
        let mut cut = Vec::new();
        append_fragments(&mut cut, call.get(MARK_BYTES..).unwrap_or_default(), bytes);
        cut
    }

    /// Sends `self.call` and waits until its answer is in `self.reply`.
    fn exchange(&mut self) -> Result<(), ClientError> {
        if self.options.transport == Transport::Udp {
            return self.exchange_datagrams();
        }
        let call = std::mem::take(&mut self.call);
        let (mut attempt, mut new_contexts) = (0, 0);
        let xid = self.xid;
        let outcome = loop {
            match self.exchange_once(&call, xid) {
                // The server has not executed it.
                Ok(()) if self.has_lost_context() && new_contexts < NEW_CONTEXTS => {
                    new_contexts += 1;
                    self.gss = None;
                }
                Err(error) if error.is_worth_a_retry() && attempt < self.options.retries => {
                    tracing::debug!(target: "filermark_nfs::rpc", %error, "sending the call again");
                    attempt += 1;
                }
                other => break other,
            }
        };
        self.call = call;
        outcome
    }

    /// Sends a call once, and waits for its answer.
    fn exchange_once(&mut self, call: &[u8], xid: u32) -> Result<(), ClientError> {
        let (wire, number) = self.protect(call)?;
        let wire = self.cut(wire);
        if let Err(error) = self.send(&wire).and_then(|()| self.receive()) {
            if let Some(context) = &mut self.gss {
                context.window.release(number);
            }
            return Err(error);
        }
        match filermark_onc::rpc::peek_xid(&self.reply) {
            Some(got) if got != xid => Err(self.wrong_xid(xid, got)),
            _ => self.unprotect(number),
        }
    }

    fn has_lost_context(&self) -> bool {
        self.gss.is_some() && lost_context(&self.reply).is_some()
    }

    fn exchange_datagrams(&mut self) -> Result<(), ClientError> {
        let call = self.call.split_off(MARK_BYTES.min(self.call.len()));
        let options = self.options.clone();
        let mut reply = std::mem::take(&mut self.reply);
        let link = self.datagrams()?;
        let outcome = link.exchange(&options, std::slice::from_ref(&call), |_, answer| {
            reply.clear();
            reply.extend_from_slice(answer);
        });
        self.reply = reply;
        outcome
    }

    pub(super) fn wrong_xid(&mut self, expected: u32, got: u32) -> ClientError {
        self.link = None;
        let address = self.address;
        ClientError::WrongXid {
            address,
            expected,
            got,
        }
    }

    pub(super) fn send(&mut self, wire: &[u8]) -> Result<(), ClientError> {
        if interrupt_guard::stop_requested() {
            return Err(ClientError::Stopped);
        }
        let (address, limit) = (self.address, self.options.reply_timeout);
        let link = self.linked()?;
        let sent = link
            .stream
            .set_write_timeout(Some(at_least_a_moment(limit)))
            .and_then(|()| match &mut link.tls {
                None => link.stream.write_all(wire),
                Some(tls) => tls.write_all(&mut link.stream, wire),
            });
        sent.map_err(|source| {
            self.link = None;
            timeout_error(address, limit, source)
        })
    }

    /// Waits for the next record and puts it into `self.reply`. Any failure closes
    /// the connection: what comes later could be taken for another call's answer.
    pub(super) fn receive(&mut self) -> Result<(), ClientError> {
        let (address, limit) = (self.address, self.options.reply_timeout);
        let Some(link) = &mut self.link else {
            return Err(ClientError::Closed { address });
        };
        let outcome = link.next_record(address, limit, &mut self.reply);
        if outcome.is_err() {
            self.link = None;
        }
        outcome
    }

    /// A decoder at the results in `self.reply`.
    fn results(&self) -> Result<Decoder<'_>, ClientError> {
        let address = self.address;
        let mut d = Decoder::new(&self.reply);
        let header = ReplyHeader::decode(&mut d)
            .map_err(|source| ClientError::Garbage { address, source })?;
        match header.check() {
            Ok(()) => Ok(d),
            Err(refusal) => Err(ClientError::Refused { address, refusal }),
        }
    }
}

impl Link {
    fn next_record(
        &mut self,
        address: SocketAddr,
        limit: Duration,
        record: &mut Vec<u8>,
    ) -> Result<(), ClientError> {
        let deadline = Instant::now() + limit;
        loop {
            let fresh = self.input.get(self.start..self.end).unwrap_or_default();
            let mut rest = fresh;
            let found = self
                .reader
                .next_record(&mut rest)
                .map_err(|source| ClientError::Record { address, source })?
                .map(|bytes| {
                    record.clear();
                    record.extend_from_slice(bytes);
                });
            self.start = self.end - rest.len();
            if found.is_some() {
                return Ok(());
            }
            // Also from a server that sends its answer byte by byte.
            if interrupt_guard::stop_requested() {
                return Err(ClientError::Stopped);
            }
            self.fill(deadline)
                .map_err(|source| timeout_error(address, limit, source))
                .and_then(|got| match got {
                    Some(0) => Err(ClientError::Closed { address }),
                    Some(_) | None => Ok(()),
                })?;
        }
    }

    /// Reads more bytes behind those that wait already; `None`: nothing came for now.
    fn fill(&mut self, deadline: Instant) -> io::Result<Option<usize>> {
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let piece = at_least_a_moment(left.min(interrupt_guard::LOOK));
        self.stream.set_read_timeout(Some(piece))?;
        let read = match &mut self.tls {
            None => self.stream.read(&mut self.input[self.end..]),
            Some(tls) => {
                self.input.truncate(self.end);
                tls.read(&mut self.stream, &mut self.input)
            }
        };
        match read {
            Ok(got) if self.tls.is_some() => {
                self.end = self.input.len();
                Ok(Some(got))
            }
            Ok(got) => {
                self.end += got;
                Ok(Some(got))
            }
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&mut self.stream);
        }
    }
}

/// A time-out of zero would mean "none".
fn at_least_a_moment(limit: Duration) -> Duration {
    limit.max(Duration::from_millis(1))
}

/// Servers remember answers by xid and address for a while; starting anywhere
/// keeps two runs in a row apart.
fn first_xid() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}
