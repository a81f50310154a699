//! SMB2 and 3: message ids, credits, interim replies, compounds.

use super::{Protocol, RawSession, Reply};
use crate::client::error::{ClientError, Failure};
use crate::client::facts;
use filermark_smbwire::codec::{Answer, MessageId};
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::Transaction;
use filermark_smbwire::smb2::header::{self, flags};
use filermark_smbwire::smb2::session::CREDITS_ASKED;
use filermark_smbwire::smb2::{Header, Messages, Request, Response, Session, WriteRequest, chain};
use std::time::Instant;

/// A session of SMB2 or 3, with its connection. Of a request under way the async id is
/// known, once there is one.
pub type RawSmb2 = RawSession<Session>;

/// A reply, or a break that came unasked.
#[derive(Clone, Debug)]
pub struct ReplySmb2 {
    /// Its header.
    pub header: Header,
    /// All of it, from its header on.
    pub message: Vec<u8>,
}

impl ReplySmb2 {
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

impl Reply for ReplySmb2 {
    fn status(&self) -> u32 {
        self.header.status
    }

    fn answer(&self) -> Answer<'_> {
        Answer {
            message: &self.message,
            transaction: Transaction::default(),
        }
    }

    fn step(&self, _asked: &'static str) -> &'static str {
        self.header.command.name()
    }
}

impl RawSmb2 {
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
        self.send_message(charge, build, |_| {})
    }

    /// Sends a message that is changed before it is sent: `spoil` gets the frame, with its
    /// mark, once it is signed or encrypted.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_spoilt(
        &mut self,
        charge: u16,
        build: impl FnOnce(&Session, u64, &mut Vec<u8>),
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u64, ClientError> {
        self.send_message(charge, build, spoil)
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

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The connection is gone, the reply is late or is not valid.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<ReplySmb2, ClientError> {
        let id = self.send(request)?;
        self.wait(id)
    }

    /// The same; a refusal is a failure.
    pub(crate) fn ask<R: Request>(&mut self, request: &R) -> Result<ReplySmb2, Failure> {
        let step = R::COMMAND.name();
        let reply = self.call(request);
        super::good(
            step,
            reply.map_err(|error| Failure::ConnectionLost { step, error })?,
        )
    }

    /// Waits until the server has promised a reply (STATUS_PENDING), or it is there; whether
    /// it is promised only.
    ///
    /// # Errors
    /// The connection is gone, or a message is not valid.
    pub fn wait_promise(&mut self, id: u64) -> Result<bool, ClientError> {
        let until = Instant::now() + self.line.limit;
        while self.under_way.get(&id) == Some(&None) && self.take_message(until)? {}
        Ok(matches!(self.under_way.get(&id), Some(Some(_))))
    }
}

impl Protocol for Session {
    type Id = u64;
    type UnderWay = Option<u64>;
    type Reply = ReplySmb2;
    type Ids = ();

    fn id(number: u64) -> u64 {
        number
    }

    /// The message id of a request; waits for credits where there are none.
    fn take_id(raw: &mut RawSmb2, charge: u16) -> Result<u64, ClientError> {
        let until = Instant::now() + raw.line.limit;
        loop {
            if let Some(id) = raw.session.credits.take(charge) {
                return Ok(id);
            }
            if raw.under_way.is_empty() {
                let address = raw.peer();
                return Err(ClientError::NoCredits { address });
            }
            if !raw.take_message(until)? {
                return Err(raw.line.late());
            }
        }
    }

    fn message_id(id: u64, charge: u16) -> MessageId {
        let credits = charge.saturating_add(CREDITS_ASKED);
        MessageId { id, credits }
    }

    fn under_way(_number: u32) -> Option<u64> {
        None
    }

    fn put_cancel(&self, id: u64, sent: Option<&Option<u64>>, out: &mut Vec<u8>) {
        self.cancel(out, id, sent.copied().flatten());
    }

    fn take_apart(raw: &mut RawSmb2, frame: &mut [u8]) -> Result<(), DecodeError> {
        let messages = raw.session.unprotect(frame)?;
        for message in Messages::new(messages) {
            let (header, message) = message?;
            if header.flags & flags::SERVER_TO_REDIR == 0 {
                return Err(DecodeError::Bad("the direction of the message"));
            }
            raw.session.credits.grant(header.credits);
            let reply = || ReplySmb2 {
                header,
                message: message.to_vec(),
            };
            if header.is_break() {
                raw.keep_break(reply());
            } else if let Some(async_id) = raw.under_way.get_mut(&header.message_id) {
                match header.is_interim() {
                    true => *async_id = Some(header.async_id),
                    false => raw.keep_reply(header.message_id, reply()),
                }
            } else {
                raw.strays += 1;
            }
        }
        Ok(())
    }

    fn facts(&self) -> Vec<(String, String)> {
        facts::of_smb2(self)
    }
}

/// Requests that go in one frame; see [`RawSmb2::compound`].
#[derive(Debug)]
pub struct Compound<'a> {
    raw: &'a mut RawSmb2,
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
        let id = match Session::take_id(self.raw, charge) {
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
    /// As [`RawSmb2::call`].
    pub fn call(self) -> Result<Vec<ReplySmb2>, ClientError> {
        let (raw, ids) = self.ship()?;
        ids.into_iter().map(|id| raw.wait(id)).collect()
    }
}

impl<'a> Compound<'a> {
    fn ship(self) -> Result<(&'a mut RawSmb2, Vec<u64>), ClientError> {
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
