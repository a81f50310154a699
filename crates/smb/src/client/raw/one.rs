//! SMB1: multiplex ids, the numbers that replies are signed with, answers to
//! transactions that come in pieces.

use super::{Line, Wire};
use crate::client::error::ClientError;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::{
    Command, Header, NtCancel, Part, Pieces, Reply, Request, Session, Transaction, WriteAndx,
};
use filermark_smbwire::status;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Requests under way at most, however many the server takes.
const UNDER_WAY_MAX: usize = 1024;
/// The last id that is used; those beyond are the server's own.
const MID_MAX: u16 = 0xFF00;
/// Bytes of the parameters, and of the data, of one answer at most.
const TRANSACTION_MAX: usize = 1 << 20;
/// Replies that nobody has fetched, and breaks, that are kept.
const KEPT_MAX: usize = 4096;

/// A session of SMB1, with its connection.
#[derive(Debug)]
pub struct RawOne {
    session: Session,
    line: Line,
    next_mid: u16,
    under_way: BTreeMap<u16, UnderWay>,
    replies: BTreeMap<u16, ReplyOne>,
    breaks: VecDeque<ReplyOne>,
    strays: u64,
}

/// Parameters and data of a whole answer to a transaction.
type Whole = (Vec<u8>, Vec<u8>);

/// A request that has no whole reply yet.
#[derive(Debug)]
struct UnderWay {
    /// The number that the reply is signed with.
    number: u32,
    /// What has come of the answer to a transaction.
    pieces: Option<Pieces>,
}

/// A reply, or a break that came unasked.
#[derive(Clone, Debug)]
pub struct ReplyOne {
    /// Its header; the last one of an answer in pieces.
    pub header: Header,
    /// All of it, from its header on; the last one of an answer in pieces.
    pub message: Vec<u8>,
    /// The whole answer to a transaction: parameters and data.
    pub transaction: Option<(Vec<u8>, Vec<u8>)>,
}

impl ReplyOne {
    /// Its NTSTATUS.
    pub const fn status(&self) -> u32 {
        self.header.status
    }

    /// Its words and bytes.
    ///
    /// # Errors
    /// They are cut short.
    pub fn parts(&self) -> Result<Reply<'_>, DecodeError> {
        Reply::read(&self.message)
    }

    /// The answer to a transaction; an empty one, where there was none.
    pub fn answer(&self) -> Transaction<'_> {
        let whole = self.transaction.as_ref();
        whole.map_or_else(Transaction::default, |(parameters, data)| Transaction {
            parameters,
            data,
        })
    }
}

impl RawOne {
    pub(in crate::client) fn new(session: Session, wire: Wire, limit: Duration) -> Self {
        Self {
            line: Line::new(wire, session.limits, limit),
            session,
            next_mid: 0,
            under_way: BTreeMap::new(),
            replies: BTreeMap::new(),
            breaks: VecDeque::new(),
            strays: 0,
        }
    }

    /// The session.
    pub const fn session(&self) -> &Session {
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

    /// Sends a request; its id comes back, for [`wait`](Self::wait).
    ///
    /// # Errors
    /// The connection is gone; too many requests are under way for too long.
    pub fn send<R: Request>(&mut self, request: &R) -> Result<u16, ClientError> {
        self.send_built(|session, mid, out| session.head(mid).put(out, request))
    }

    /// Sends a request that has no reply of its own: NT_CANCEL apart, what acknowledges
    /// the break of an oplock.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn tell<R: Request>(&mut self, request: &R) -> Result<(), ClientError> {
        let mid = self.send(request)?;
        self.under_way.remove(&mid);
        Ok(())
    }

    /// Sends a WRITE_ANDX with its data.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_write(&mut self, request: &WriteAndx, data: &[u8]) -> Result<u16, ClientError> {
        self.send_built(|session, mid, out| {
            let mark = request.begin(&session.head(mid), out);
            out.extend_from_slice(data);
            mark.finish(out);
        })
    }

    /// Sends a message that the caller appends, header and all, sound or not.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_built(
        &mut self,
        build: impl FnOnce(&Session, u16, &mut Vec<u8>),
    ) -> Result<u16, ClientError> {
        let mid = self.take_mid()?;
        let number = self.ship(mid, build)?;
        let pieces = None;
        self.under_way.insert(mid, UnderWay { number, pieces });
        Ok(mid)
    }

    /// Takes a request back: it is answered with STATUS_CANCELLED, if it is not too late.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn cancel(&mut self, mid: u16) -> Result<(), ClientError> {
        self.ship(mid, |session, mid, out| {
            session.head(mid).put(out, &NtCancel);
        })
        .map(drop)
    }

    /// Sends a request that somebody has spoilt on its way: `spoil` gets the frame, mark
    /// and all, once it is signed.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_spoilt<R: Request>(
        &mut self,
        request: &R,
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u16, ClientError> {
        let mid = self.take_mid()?;
        let build = |session: &Session, mid, out: &mut Vec<u8>| session.head(mid).put(out, request);
        let number = self.ship_spoilt(mid, build, spoil)?;
        let pieces = None;
        self.under_way.insert(mid, UnderWay { number, pieces });
        Ok(mid)
    }

    /// Replies that came though nobody waited for them (any more).
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    fn ship(
        &mut self,
        mid: u16,
        build: impl FnOnce(&Session, u16, &mut Vec<u8>),
    ) -> Result<u32, ClientError> {
        self.ship_spoilt(mid, build, |_| {})
    }

    fn ship_spoilt(
        &mut self,
        mid: u16,
        build: impl FnOnce(&Session, u16, &mut Vec<u8>),
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u32, ClientError> {
        self.line.out.clear();
        let frame = self.session.begin(&mut self.line.out);
        build(&self.session, mid, &mut self.line.out);
        let number = self.session.protect(&mut self.line.out, frame);
        spoil(&mut self.line.out);
        self.line.send().map(|()| number)
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The connection is gone, the reply is late or makes no sense.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<ReplyOne, ClientError> {
        let mid = self.send(request)?;
        self.wait(mid)
    }

    /// The whole reply to a request that was sent.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn wait(&mut self, mid: u16) -> Result<ReplyOne, ClientError> {
        let limit = self.line.limit;
        self.wait_within(mid, limit)?
            .ok_or_else(|| self.line.late())
    }

    /// The same; `None`: none has come within the limit, and it may be waited for again.
    ///
    /// # Errors
    /// The connection is gone, or a message makes no sense.
    pub fn wait_within(
        &mut self,
        mid: u16,
        limit: Duration,
    ) -> Result<Option<ReplyOne>, ClientError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(reply) = self.replies.remove(&mid) {
                return Ok(Some(reply));
            }
            if !self.take_message(until)? {
                return Ok(None);
            }
        }
    }

    /// The next break of an oplock; `None`: none within the limit.
    ///
    /// # Errors
    /// The connection is gone, or a message makes no sense.
    pub fn next_break(&mut self, limit: Duration) -> Result<Option<ReplyOne>, ClientError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(heard) = self.breaks.pop_front() {
                return Ok(Some(heard));
            }
            if !self.take_message(until)? {
                return Ok(None);
            }
        }
    }

    /// An id that no request under way has; waits while the server takes no more.
    fn take_mid(&mut self) -> Result<u16, ClientError> {
        let until = Instant::now() + self.line.limit;
        let most = usize::from(self.session.max_mpx).clamp(1, UNDER_WAY_MAX);
        while self.under_way.len() >= most {
            if !self.take_message(until)? {
                return Err(self.line.late());
            }
        }
        loop {
            self.next_mid = match self.next_mid {
                MID_MAX.. => 1,
                mid => mid + 1,
            };
            let mid = self.next_mid;
            if !self.under_way.contains_key(&mid) && !self.replies.contains_key(&mid) {
                return Ok(mid);
            }
        }
    }

    /// Takes the next frame; `false`: none came.
    fn take_message(&mut self, until: Instant) -> Result<bool, ClientError> {
        if !self.line.receive(until)? {
            return Ok(false);
        }
        let mut frame = std::mem::take(&mut self.line.message);
        let heard = self.take_apart(&mut frame);
        self.line.message = frame;
        heard.map(|()| true).map_err(|source| ClientError::Garbage {
            address: self.peer(),
            source,
        })
    }

    fn take_apart(&mut self, frame: &mut [u8]) -> Result<(), DecodeError> {
        let header = Header::read(frame)?;
        if header.is_oplock_break() {
            let message = self.session.unprotect(frame, 0)?.to_vec();
            self.breaks.push_back(reply(header, message, None));
            self.breaks.truncate(KEPT_MAX);
            return Ok(());
        }
        if !header.is_reply() {
            return Err(DecodeError::Bad("the direction of the message"));
        }
        // Replies to what was given up are nobody's any more.
        let Some(under_way) = self.under_way.get_mut(&header.mid) else {
            self.strays += 1;
            return Ok(());
        };
        let message = self.session.unprotect(frame, under_way.number)?;
        let transaction = match is_transaction(&header) {
            false => None,
            true => match under_way.add(message)? {
                None => return Ok(()),
                whole => whole,
            },
        };
        self.under_way.remove(&header.mid);
        let message = message.to_vec();
        self.replies
            .insert(header.mid, reply(header, message, transaction));
        if self.replies.len() > KEPT_MAX {
            self.replies.pop_first();
        }
        Ok(())
    }
}

impl UnderWay {
    /// A piece of the answer to a transaction; all of it, once it is there.
    fn add(&mut self, message: &[u8]) -> Result<Option<Whole>, DecodeError> {
        let parts = Reply::read(message)?;
        if parts.words.is_empty() {
            // Before it asks for more of a request in pieces, which ours are not, or a
            // warning without an answer.
            return Ok(Some((Vec::new(), Vec::new())));
        }
        let part = Part::read(&parts)?;
        let pieces = self
            .pieces
            .get_or_insert_with(|| Pieces::new(TRANSACTION_MAX));
        let whole = pieces.add(&part)?;
        Ok(whole.map(|whole| (whole.parameters.to_vec(), whole.data.to_vec())))
    }
}

const fn reply(header: Header, message: Vec<u8>, transaction: Option<Whole>) -> ReplyOne {
    ReplyOne {
        header,
        message,
        transaction,
    }
}

/// Whether it is an answer to a transaction, and not only a refusal.
fn is_transaction(header: &Header) -> bool {
    const TRANS2: u8 = Command::Transaction2.code();
    const NT: u8 = Command::NtTransact.code();
    matches!(header.command, TRANS2 | NT) && !status::is_error(header.status)
}
