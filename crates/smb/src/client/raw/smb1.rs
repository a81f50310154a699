//! SMB1: multiplex ids, the numbers that replies are signed with, answers to
//! transactions that come in pieces.

use super::{Protocol, RawSession, Reply};
use crate::client::error::{ClientError, Failure};
use crate::client::facts;
use filermark_smbwire::codec::{Answer, MessageId};
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::{
    self, Command, Header, NtCancel, Part, Pieces, Request, Session, Transaction, WriteAndx,
};
use filermark_smbwire::status;
use std::time::Instant;

/// Requests under way at most, however many the server takes.
const UNDER_WAY_MAX: usize = 1024;
/// The last id that is used; those beyond are the server's own.
const MID_MAX: u16 = 0xFF00;
/// Bytes of the parameters, and of the data, of one answer at most.
const TRANSACTION_MAX: usize = 1 << 20;

/// A session of SMB1, with its connection.
pub type RawSmb1 = RawSession<Session>;

/// Parameters and data of a whole answer to a transaction.
type TransactionReply = (Vec<u8>, Vec<u8>);

/// A request that has no whole reply yet.
#[derive(Debug)]
pub struct UnderWaySmb1 {
    /// The number that the reply is signed with.
    number: u32,
    /// What has come of the answer to a transaction.
    pieces: Option<Pieces>,
}

/// A reply, or a break that came unasked.
#[derive(Clone, Debug)]
pub struct ReplySmb1 {
    /// Its header; the last one of an answer in pieces.
    pub header: Header,
    /// All of it, from its header on; the last one of an answer in pieces.
    pub message: Vec<u8>,
    /// The whole answer to a transaction: parameters and data.
    pub transaction: Option<(Vec<u8>, Vec<u8>)>,
}

impl ReplySmb1 {
    /// Its NTSTATUS.
    pub const fn status(&self) -> u32 {
        self.header.status
    }

    /// Its words and bytes.
    ///
    /// # Errors
    /// They are cut short.
    pub fn parts(&self) -> Result<smb1::Reply<'_>, DecodeError> {
        smb1::Reply::read(&self.message)
    }
}

impl Reply for ReplySmb1 {
    fn status(&self) -> u32 {
        self.header.status
    }

    fn answer(&self) -> Answer<'_> {
        let whole = self.transaction.as_ref();
        Answer {
            message: &self.message,
            transaction: whole.map_or_else(Transaction::default, |(parameters, data)| {
                Transaction { parameters, data }
            }),
        }
    }

    fn step(&self, asked: &'static str) -> &'static str {
        asked
    }
}

impl RawSmb1 {
    /// Sends a request; its id comes back, for [`wait`](Self::wait).
    ///
    /// # Errors
    /// The connection is gone; too many requests are under way for too long.
    pub fn send<R: Request>(&mut self, request: &R) -> Result<u16, ClientError> {
        self.send_built(|session, mid, out| session.head(mid).put(out, request))
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
        self.send_message(0, build, |_| {})
    }

    /// Sends a request that is changed before it is sent: `spoil` gets the frame, with its
    /// mark, once it is signed.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_spoilt<R: Request>(
        &mut self,
        request: &R,
        spoil: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u16, ClientError> {
        let build = |session: &Session, mid, out: &mut Vec<u8>| session.head(mid).put(out, request);
        self.send_message(0, build, spoil)
    }

    /// Forgets a request that has no reply of its own: NT_CANCEL apart, what acknowledges
    /// the break of an oplock.
    pub(crate) fn forget_request(&mut self, mid: u16) {
        self.under_way.remove(&mid);
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// The connection is gone, the reply is late or is not valid.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<ReplySmb1, ClientError> {
        let mid = self.send(request)?;
        self.wait(mid)
    }

    /// The same; a refusal is a failure.
    pub(crate) fn ask<R: Request>(
        &mut self,
        step: &'static str,
        request: &R,
    ) -> Result<ReplySmb1, Failure> {
        let reply = self.call(request);
        super::good(
            step,
            reply.map_err(|error| Failure::ConnectionLost { step, error })?,
        )
    }

    /// What the words and bytes of a reply say.
    pub(crate) fn read_as<'a, T>(
        &self,
        step: &'static str,
        reply: &'a ReplySmb1,
        read: impl FnOnce(&smb1::Reply<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let parts = reply.parts();
        parts
            .and_then(|parts| read(&parts))
            .map_err(|source| self.garbage(step, reply, source))
    }
}

impl Protocol for Session {
    type Id = u16;
    type UnderWay = UnderWaySmb1;
    type Reply = ReplySmb1;
    /// The last id.
    type Ids = u16;

    fn id(number: u64) -> u16 {
        number as u16
    }

    /// An id that no request under way has; waits while the server takes no more.
    fn take_id(raw: &mut RawSmb1, _charge: u16) -> Result<u16, ClientError> {
        let until = Instant::now() + raw.line.limit;
        let most = usize::from(raw.session.max_mpx).clamp(1, UNDER_WAY_MAX);
        while raw.under_way.len() >= most {
            if !raw.take_message(until)? {
                return Err(raw.line.late());
            }
        }
        loop {
            raw.ids = match raw.ids {
                MID_MAX.. => 1,
                mid => mid + 1,
            };
            let mid = raw.ids;
            if !raw.under_way.contains_key(&mid) && !raw.replies.contains_key(&mid) {
                return Ok(mid);
            }
        }
    }

    fn message_id(id: u16, _charge: u16) -> MessageId {
        MessageId {
            id: id.into(),
            credits: 0,
        }
    }

    fn under_way(number: u32) -> UnderWaySmb1 {
        let pieces = None;
        UnderWaySmb1 { number, pieces }
    }

    fn put_cancel(&self, mid: u16, _sent: Option<&UnderWaySmb1>, out: &mut Vec<u8>) {
        self.head(mid).put(out, &NtCancel);
    }

    fn take_apart(raw: &mut RawSmb1, frame: &mut [u8]) -> Result<(), DecodeError> {
        let header = Header::read(frame)?;
        if header.is_oplock_break() {
            let message = raw.session.unprotect(frame, 0)?.to_vec();
            raw.keep_break(reply(header, message, None));
            return Ok(());
        }
        if !header.is_reply() {
            return Err(DecodeError::Bad("the direction of the message"));
        }
        // Replies to abandoned requests have no request any more.
        let Some(under_way) = raw.under_way.get_mut(&header.mid) else {
            raw.strays += 1;
            return Ok(());
        };
        let message = raw.session.unprotect(frame, under_way.number)?;
        let transaction = match is_transaction(&header) {
            false => None,
            true => match under_way.add(message)? {
                None => return Ok(()),
                whole => whole,
            },
        };
        let message = message.to_vec();
        raw.keep_reply(header.mid, reply(header, message, transaction));
        Ok(())
    }

    fn facts(&self) -> Vec<(String, String)> {
        facts::of_smb1(self)
    }
}

impl UnderWaySmb1 {
    /// A piece of the answer to a transaction; all of it, once it is there.
    fn add(&mut self, message: &[u8]) -> Result<Option<TransactionReply>, DecodeError> {
        let parts = smb1::Reply::read(message)?;
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

const fn reply(
    header: Header,
    message: Vec<u8>,
    transaction: Option<TransactionReply>,
) -> ReplySmb1 {
    ReplySmb1 {
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
