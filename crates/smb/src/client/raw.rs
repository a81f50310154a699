//! Requests as they are on the wire, of either protocol, and their replies whatever they
//! say: what the file level and the validator build on. Several may be under way.
//!
//! [`RawSession`] is the same for both protocols; what is each one's own, message ids
//! and how frames are taken apart, is its [`Protocol`] (`smb1`, `smb2`).

mod smb1;
mod smb2;

pub use smb1::{RawSmb1, ReplySmb1, UnderWaySmb1};
pub use smb2::{Compound, RawSmb2, ReplySmb2};

use super::error::{ClientError, Failure};
use super::wire::Wire;
use filermark_smbwire::codec::{Answer, Codec, MessageId};
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::request::Request;
use filermark_smbwire::settings::TransferLimits;
use filermark_smbwire::status;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What a reply has around its data, in bytes.
const REPLY_OVERHEAD: usize = 64 << 10;
/// Maximum of kept replies that were not fetched, and of kept breaks.
const KEPT_MAX: usize = 4096;

/// A session with its connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // There is one for each connection.
pub enum Raw {
    /// SMB1.
    Smb1(RawSmb1),
    /// SMB2 and 3.
    Smb2(RawSmb2),
}

/// A reply, or a break that came unasked.
pub trait Reply: Debug {
    /// Its NTSTATUS.
    fn status(&self) -> u32;

    /// What it brings.
    fn answer(&self) -> Answer<'_>;

    /// The request, as far as the reply names it; else `asked`.
    fn step(&self, asked: &'static str) -> &'static str;
}

/// A reply that brings what was asked for.
pub(crate) fn good<R: Reply>(asked: &'static str, reply: R) -> Result<R, Failure> {
    match reply.status() {
        status::SUCCESS | status::BUFFER_OVERFLOW => Ok(reply),
        status => Err(Failure::Refused {
            step: reply.step(asked),
            status,
        }),
    }
}

/// What the sessions of the two protocols have of their own.
pub trait Protocol: Codec + Debug {
    /// The number of a message.
    type Id: Copy + Ord + Debug + Into<u64>;
    /// A request that has no whole reply yet.
    type UnderWay: Debug;
    /// A reply.
    type Reply: Reply;
    /// What the ids are made of, besides the session.
    type Ids: Debug + Default;

    /// The id of this number.
    fn id(number: u64) -> Self::Id;

    /// An id for a message that takes `charge` credits; waits until it may be sent.
    ///
    /// # Errors
    /// The connection is gone; the server does not let it be sent for too long.
    fn take_id(raw: &mut RawSession<Self>, charge: u16) -> Result<Self::Id, ClientError>;

    /// How the message goes out.
    fn message_id(id: Self::Id, charge: u16) -> MessageId;

    /// A request that was sent; `number` came of [`Codec::end_frame`].
    fn under_way(number: u32) -> Self::UnderWay;

    /// Appends the message that takes a request back.
    fn put_cancel(&self, id: Self::Id, sent: Option<&Self::UnderWay>, out: &mut Vec<u8>);

    /// Takes a frame that came.
    ///
    /// # Errors
    /// It is not valid.
    fn take_apart(raw: &mut RawSession<Self>, frame: &mut [u8]) -> Result<(), DecodeError>;

    /// What the server and the session are, for the record: name, value.
    fn facts(&self) -> Vec<(String, String)>;
}

/// A session of one protocol, with its connection.
#[derive(Debug)]
pub struct RawSession<P: Protocol> {
    session: P,
    line: RawConnection,
    ids: P::Ids,
    under_way: BTreeMap<P::Id, P::UnderWay>,
    replies: BTreeMap<P::Id, P::Reply>,
    breaks: VecDeque<P::Reply>,
    strays: u64,
}

impl<P: Protocol> RawSession<P> {
    pub(in crate::client) fn new(session: P, wire: Wire, limit: Duration) -> Self {
        Self {
            line: RawConnection::new(wire, session.limits(), limit),
            session,
            ids: P::Ids::default(),
            under_way: BTreeMap::new(),
            replies: BTreeMap::new(),
            breaks: VecDeque::new(),
            strays: 0,
        }
    }

    /// The session.
    pub const fn session(&self) -> &P {
        &self.session
    }

    /// The server's address.
    pub const fn peer(&self) -> SocketAddr {
        self.line.peer()
    }

    /// How long a reply may take.
    pub const fn limit(&self) -> Duration {
        self.line.limit
    }

    /// Replies to no request that waits for one.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// Sends a request; the ids of its messages come back, for [`wait`](Self::wait).
    ///
    /// # Errors
    /// The connection is gone; the server does not let it be sent for too long.
    pub fn send_request(&mut self, request: &Request<'_>) -> Result<Vec<P::Id>, ClientError> {
        let charges = self.session.charges(request);
        let (mut ids, mut numbers) = (Vec::new(), Vec::new());
        for charge in charges.all() {
            let id = P::take_id(self, *charge)?;
            ids.push(id);
            numbers.push(P::message_id(id, *charge));
        }
        let put = |session: &P, out: &mut Vec<u8>| session.put(&numbers, request, out);
        let number = self.ship(put, |_| {})?;
        for id in &ids {
            self.under_way.insert(*id, P::under_way(number));
        }
        Ok(ids)
    }

    /// Sends one message that the caller appends, with its header, valid or not, and changes it
    /// before it is sent: `spoil` gets the frame, with its mark, once it is signed or encrypted.
    fn send_message(
        &mut self,
        charge: u16,
        build: impl FnOnce(&P, P::Id, &mut Vec<u8>),
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<P::Id, ClientError> {
        let id = P::take_id(self, charge)?;
        let number = self.ship(|session, out| build(session, id, out), spoil)?;
        self.under_way.insert(id, P::under_way(number));
        Ok(id)
    }

    /// Sends a frame.
    fn ship(
        &mut self,
        build: impl FnOnce(&P, &mut Vec<u8>),
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u32, ClientError> {
        self.line.out.clear();
        let frame = self.session.begin_frame(&mut self.line.out);
        build(&self.session, &mut self.line.out);
        let number = self.session.end_frame(&mut self.line.out, frame);
        spoil(&mut self.line.out);
        self.line.send().map(|()| number)
    }

    /// Takes a request back: it is answered with STATUS_CANCELLED, if it is not too late.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn cancel(&mut self, id: P::Id) -> Result<(), ClientError> {
        let Self {
            session,
            line,
            under_way,
            ..
        } = self;
        line.out.clear();
        let frame = session.begin_frame(&mut line.out);
        session.put_cancel(id, under_way.get(&id), &mut line.out);
        session.end_frame(&mut line.out, frame);
        line.send()
    }

    /// The reply to a message that was sent. A promise of one (STATUS_PENDING) is none.
    ///
    /// # Errors
    /// The connection is gone, the reply is late or is not valid.
    pub fn wait(&mut self, id: P::Id) -> Result<P::Reply, ClientError> {
        let limit = self.line.limit;
        self.wait_within(id, limit)?.ok_or_else(|| self.line.late())
    }

    /// The same; `None`: none has come within the limit, and it may be waited for again.
    ///
    /// # Errors
    /// The connection is gone, or a message is not valid.
    pub fn wait_within(
        &mut self,
        id: P::Id,
        limit: Duration,
    ) -> Result<Option<P::Reply>, ClientError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return Ok(Some(reply));
            }
            if !self.take_message(until)? {
                return Ok(None);
            }
        }
    }

    /// The next break of an oplock or a lease; `None`: none within the limit.
    ///
    /// # Errors
    /// The connection is gone, or a message is not valid.
    pub fn next_break(&mut self, limit: Duration) -> Result<Option<P::Reply>, ClientError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(received) = self.breaks.pop_front() {
                return Ok(Some(received));
            }
            if !self.take_message(until)? {
                return Ok(None);
            }
        }
    }

    /// Takes the next frame; `false`: none came.
    fn take_message(&mut self, until: Instant) -> Result<bool, ClientError> {
        if !self.line.receive(until)? {
            return Ok(false);
        }
        let mut frame = std::mem::take(&mut self.line.message);
        let received = P::take_apart(self, &mut frame);
        self.line.message = frame;
        received
            .map(|()| true)
            .map_err(|source| ClientError::Garbage {
                address: self.peer(),
                source,
            })
    }

    /// Keeps a reply until it is fetched.
    fn keep_reply(&mut self, id: P::Id, reply: P::Reply) {
        self.under_way.remove(&id);
        self.replies.insert(id, reply);
        if self.replies.len() > KEPT_MAX {
            self.replies.pop_first();
        }
    }

    /// Keeps a break.
    fn keep_break(&mut self, message: P::Reply) {
        self.breaks.push_back(message);
        self.breaks.truncate(KEPT_MAX);
    }
}

/// The connection of a session, and how long it is waited for.
#[derive(Debug)]
struct RawConnection {
    wire: Wire,
    limit: Duration,
    /// The next frame is put together here.
    out: Vec<u8>,
    /// The last message that came.
    message: Vec<u8>,
}

impl RawConnection {
    fn new(mut wire: Wire, limits: TransferLimits, limit: Duration) -> Self {
        let most = limits.read_max.max(limits.transact_max) as usize;
        wire.set_message_max(most.saturating_add(REPLY_OVERHEAD));
        Self {
            wire,
            limit,
            out: Vec::new(),
            message: Vec::new(),
        }
    }

    const fn peer(&self) -> SocketAddr {
        self.wire.peer()
    }

    /// Sends what is in `out`.
    fn send(&mut self) -> Result<(), ClientError> {
        let sent = self.wire.send(&self.out, self.limit);
        self.out.clear();
        sent
    }

    /// Waits for the next message until then; `false`: none came.
    fn receive(&mut self, until: Instant) -> Result<bool, ClientError> {
        let left = until.saturating_duration_since(Instant::now());
        self.wire.receive(&mut self.message, left)
    }

    fn late(&self) -> ClientError {
        ClientError::TimedOut {
            address: self.peer(),
            waited: self.limit,
        }
    }
}
