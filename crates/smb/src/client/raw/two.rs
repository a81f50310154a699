//! SMB2 and 3: message ids, credits, interim replies, compounds.

use super::{Line, Wire};
use crate::client::error::ClientError;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb2::header::{self, flags};
use filermark_smbwire::smb2::{Header, Messages, Request, Response, Session, WriteRequest, chain};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Replies that nobody has fetched, and breaks, that are kept.
const KEPT_MAX: usize = 4096;

/// A session of SMB2 or 3, with its connection.
#[derive(Debug)]
pub struct RawTwo {
    session: Session,
    line: Line,
    /// Requests under way by their message ids, with the async id once there is one.
    under_way: BTreeMap<u64, Option<u64>>,
    replies: BTreeMap<u64, ReplyTwo>,
    breaks: VecDeque<ReplyTwo>,
    strays: u64,
}

/// A reply, or a break that came unasked.
#[derive(Clone, Debug)]
pub struct ReplyTwo {
    /// Its header.
    pub header: Header,
    /// All of it, from its header on.
    pub message: Vec<u8>,
}

impl ReplyTwo {
    /// Its NTSTATUS.
    pub const fn status(&self) -> u32 {
        self.header.status
    }

    /// Its body.
    ///
    /// # Errors
    /// It is not what this is decoded as: see the status first.
    pub fn decode<'a, R: Response<'a>>(&'a self) -> Result<R, DecodeError> {
        R::decode(&self.message)
    }
}

impl RawTwo {
    pub(in crate::client) fn new(session: Session, wire: Wire, limit: Duration) -> Self {
        Self {
            line: Line::new(wire, session.limits, limit),
            session,
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

    /// Sends a request; its message id comes back, for [`wait`](Self::wait).
    ///
    /// # Errors
    /// The connection is gone; there are no credits.
    pub fn send<R: Request>(&mut self, request: &R) -> Result<u64, ClientError> {
        let charge = self.session.charge(request.charged_bytes());
        self.send_built(charge, |session, id, out| {
            session.request(out, id, request);
        })
    }

    /// Sends a WRITE with its data.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_write(&mut self, request: &WriteRequest, data: &[u8]) -> Result<u64, ClientError> {
        let charge = self.session.charge(data.len() as u32);
        self.send_built(charge, |session, id, out| {
            let header = session.header(header::Command::Write, id, charge);
            header.encode(out);
            let open = request.begin(out);
            out.extend_from_slice(data);
            open.finish(out);
        })
    }

    /// Sends a message that the caller appends, header and all, sound or not. It takes
    /// `charge` credits and as many message ids.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_built(
        &mut self,
        charge: u16,
        build: impl FnOnce(&Session, u64, &mut Vec<u8>),
    ) -> Result<u64, ClientError> {
        self.send_spoilt(charge, build, |_| {})
    }

    /// The same, of a message that somebody has spoilt on its way: `spoil` gets the frame,
    /// mark and all, once it is signed or encrypted.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_spoilt(
        &mut self,
        charge: u16,
        build: impl FnOnce(&Session, u64, &mut Vec<u8>),
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u64, ClientError> {
        let id = self.take_id(charge)?;
        self.line.out.clear();
        let frame = self.session.begin(&mut self.line.out);
        build(&self.session, id, &mut self.line.out);
        self.session.protect(&mut self.line.out, frame);
        spoil(&mut self.line.out);
        self.line.send()?;
        self.under_way.insert(id, None);
        Ok(id)
    }

    /// Several requests in one frame.
    ///
    /// ```text
    /// let ids = raw.compound().add(&create).related(&close).send()?;
    /// ```
    pub const fn compound(&mut self) -> Compound<'_> {
        Compound {
            raw: self,
            messages: Vec::new(),
            ids: Vec::new(),
            last: 0,
            failed: None,
        }
    }

    /// Takes a request back: it is answered with STATUS_CANCELLED, if it is not too late.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn cancel(&mut self, id: u64) -> Result<(), ClientError> {
        let async_id = self.under_way.get(&id).copied().flatten();
        self.line.out.clear();
        let frame = self.session.begin(&mut self.line.out);
        self.session.cancel(&mut self.line.out, id, async_id);
        self.session.protect(&mut self.line.out, frame);
        self.line.send()
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The connection is gone, the reply is late or makes no sense.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<ReplyTwo, ClientError> {
        let id = self.send(request)?;
        self.wait(id)
    }

    /// The reply to a request that was sent; a promise of one (STATUS_PENDING) is none.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn wait(&mut self, id: u64) -> Result<ReplyTwo, ClientError> {
        let limit = self.line.limit;
        self.wait_within(id, limit)?.ok_or_else(|| self.line.late())
    }

    /// The same; `None`: none has come within the limit, and it may be waited for again.
    ///
    /// # Errors
    /// The connection is gone, or a message makes no sense.
    pub fn wait_within(
        &mut self,
        id: u64,
        limit: Duration,
    ) -> Result<Option<ReplyTwo>, ClientError> {
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

    /// Waits until the server has promised a reply (STATUS_PENDING), or it is there; whether
    /// it is promised only.
    ///
    /// # Errors
    /// The connection is gone, or a message makes no sense.
    pub fn wait_promise(&mut self, id: u64) -> Result<bool, ClientError> {
        let until = Instant::now() + self.line.limit;
        while self.under_way.get(&id) == Some(&None) && self.take_message(until)? {}
        Ok(matches!(self.under_way.get(&id), Some(Some(_))))
    }

    /// Replies that came though nobody waited for them (any more).
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// The next break of an oplock or a lease; `None`: none within the limit.
    ///
    /// # Errors
    /// The connection is gone, or a message makes no sense.
    pub fn next_break(&mut self, limit: Duration) -> Result<Option<ReplyTwo>, ClientError> {
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

    /// The message id of a request; waits for credits where there are none.
    fn take_id(&mut self, charge: u16) -> Result<u64, ClientError> {
        let until = Instant::now() + self.line.limit;
        loop {
            if let Some(id) = self.session.credits.take(charge) {
                return Ok(id);
            }
            if self.under_way.is_empty() {
                let address = self.peer();
                return Err(ClientError::NoCredits { address });
            }
            if !self.take_message(until)? {
                return Err(self.line.late());
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
        let messages = self.session.unprotect(frame)?;
        for message in Messages::new(messages) {
            let (header, message) = message?;
            if header.flags & flags::SERVER_TO_REDIR == 0 {
                return Err(DecodeError::Bad("the direction of the message"));
            }
            self.session.credits.grant(header.credits);
            let reply = || ReplyTwo {
                header,
                message: message.to_vec(),
            };
            if header.is_break() {
                self.breaks.push_back(reply());
                self.breaks.truncate(KEPT_MAX);
            } else if let Some(async_id) = self.under_way.get_mut(&header.message_id) {
                if header.is_interim() {
                    *async_id = Some(header.async_id);
                    continue;
                }
                self.under_way.remove(&header.message_id);
                self.replies.insert(header.message_id, reply());
                if self.replies.len() > KEPT_MAX {
                    self.replies.pop_first();
                }
            } else {
                self.strays += 1;
            }
        }
        Ok(())
    }
}

/// Requests that go in one frame; see [`RawTwo::compound`].
#[derive(Debug)]
pub struct Compound<'a> {
    raw: &'a mut RawTwo,
    messages: Vec<u8>,
    ids: Vec<u64>,
    /// Where the last message begins.
    last: usize,
    failed: Option<ClientError>,
}

impl Compound<'_> {
    /// Adds a request of its own.
    #[must_use]
    #[allow(clippy::should_implement_trait)] // Nothing is summed up here.
    pub fn add<R: Request>(self, request: &R) -> Self {
        self.put(request, false)
    }

    /// Adds a request that is related to the one before it: it works on the file
    /// [`FileId::RELATED`](filermark_smbwire::smb2::FileId::RELATED).
    #[must_use]
    pub fn related<R: Request>(self, request: &R) -> Self {
        self.put(request, true)
    }

    fn put<R: Request>(mut self, request: &R, is_related: bool) -> Self {
        if self.failed.is_some() {
            return self;
        }
        let charge = self.raw.session.charge(request.charged_bytes());
        let id = match self.raw.take_id(charge) {
            Ok(id) => id,
            Err(error) => {
                self.failed = Some(error);
                return self;
            }
        };
        if !self.ids.is_empty() {
            chain::next(&mut self.messages, self.last);
        }
        let session = &self.raw.session;
        self.last = match is_related {
            true => session.related(&mut self.messages, id, request),
            false => session.request(&mut self.messages, id, request),
        };
        self.ids.push(id);
        self
    }

    /// Sends them; their message ids, in order.
    ///
    /// # Errors
    /// The connection is gone; there are no credits.
    pub fn send(self) -> Result<Vec<u64>, ClientError> {
        self.ship().map(|(_, ids)| ids)
    }

    /// Sends them and waits for all replies.
    ///
    /// # Errors
    /// As [`RawTwo::call`].
    pub fn call(self) -> Result<Vec<ReplyTwo>, ClientError> {
        let (raw, ids) = self.ship()?;
        ids.into_iter().map(|id| raw.wait(id)).collect()
    }
}

impl<'a> Compound<'a> {
    fn ship(self) -> Result<(&'a mut RawTwo, Vec<u64>), ClientError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let raw = self.raw;
        raw.line.out.clear();
        let frame = raw.session.begin(&mut raw.line.out);
        raw.line.out.extend_from_slice(&self.messages);
        raw.session.protect(&mut raw.line.out, frame);
        raw.line.send()?;
        raw.under_way.extend(self.ids.iter().map(|id| (*id, None)));
        Ok((raw, self.ids))
    }
}
