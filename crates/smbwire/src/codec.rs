//! One interface for the messages of SMB1 and SMB2: how a [`Request`] is encoded, and
//! what its replies say. Sessions implement it ([`smb1::Session`], [`smb2::Session`]).

pub(crate) mod fuzzing;

use crate::error::DecodeError;
use crate::request::Request;
use crate::settings::TransferLimits;
use crate::smb1::Transaction;
use crate::smb2::file::attributes;
use crate::smb2::notify::Changes;
use crate::smb2::query::{BasicInfo, StandardInfo};
use crate::smb2::{FileFacts, FileId, GrantedLease, OplockLevel};
use crate::{smb1, smb2};

/// Messages of one request at most.
pub const MESSAGES_MAX: usize = 4;

/// The messages of a request, and the credits that each takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    count: usize,
    charges: [u16; MESSAGES_MAX],
}

impl Charges {
    /// One message that takes no credit.
    pub const SMB1: Self = Self {
        count: 1,
        charges: [0; MESSAGES_MAX],
    };

    pub(crate) fn add(&mut self, charge: u16) {
        if let Some(place) = self.charges.get_mut(self.count) {
            *place = charge;
            self.count += 1;
        }
    }

    /// Message by message.
    pub fn all(&self) -> &[u16] {
        self.charges.get(..self.count).unwrap_or_default()
    }

    /// Credits of all messages.
    pub fn total(&self) -> u32 {
        self.all().iter().copied().map(u32::from).sum()
    }
}

/// The number of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageId {
    /// SMB1: MultiplexId. SMB2: MessageId.
    pub id: u64,
    /// SMB2: how many credits are asked for with it.
    pub credits: u16,
}

/// A message that answers a request, and for SMB1 the whole answer to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// From its header on.
    pub message: &'a [u8],
    /// SMB1: parameters and data, put together from all messages.
    pub transaction: Transaction<'a>,
}

/// What a message says of its request, without the answer to a transaction being put
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// It is done.
    Done,
    /// A file is open.
    Opened(FileId),
    /// Bytes were read.
    Data(&'a [u8]),
    /// There is nothing to be read any more.
    End,
    /// So many bytes were written.
    Written(u32),
    /// A part of the answer to a transaction (SMB1).
    Part {
        /// Bytes that came with this message.
        came: usize,
        /// Bytes of the whole answer.
        total: usize,
    },
}

/// What an open gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The open file.
    pub file: FileId,
    /// See [`action`](crate::smb2::file::action).
    pub action: u32,
    /// What may be kept.
    pub oplock: OplockLevel,
    /// Size in bytes.
    pub size: u64,
    /// See [`attributes`].
    pub attributes: u32,
}

/// The space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of it, or of the user's quota.
    pub total: u64,
    /// What this user may still use.
    pub available: u64,
    /// What is free for all users together.
    pub free: u64,
}

/// What has a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathInfo {
    /// It is a directory.
    pub is_dir: bool,
    /// It is a reparse point.
    pub is_link: bool,
    /// Size in bytes.
    pub size: u64,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Times, sizes, attributes.
    pub facts: FileFacts,
    /// Where a search can go on (SMB1).
    pub index: u32,
    /// The name, in UTF-16.
    pub name: &'a [u8],
}

impl Entry<'_> {
    /// Whether it is the directory itself or the one above.
    pub fn is_dot(&self) -> bool {
        self.name == b".\0" || self.name == b".\0.\0"
    }

    /// What it is.
    pub const fn path_info(&self) -> PathInfo {
        PathInfo {
            is_dir: self.facts.is_directory(),
            is_link: self.facts.attributes & attributes::REPARSE_POINT != 0,
            size: self.facts.end_of_file,
        }
    }
}

/// The entries of a part of a listing.
#[derive(Clone, Debug)]
pub enum Entries<'a> {
    /// SMB1.
    Smb1(smb1::info::Entries<'a>),
    /// SMB2.
    Smb2(smb2::Entries<'a>),
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self {
            Self::Smb1(entries) => entries.next()?.map(|entry| Entry {
                facts: smb1::codec::facts(&entry),
                index: entry.index,
                name: entry.name,
            }),
            Self::Smb2(entries) => entries.next()?.map(|entry| Entry {
                facts: entry.facts,
                index: 0,
                name: entry.name,
            }),
        })
    }
}

/// A part of a listing, or what its begin gave.
#[derive(Clone, Debug)]
pub struct ListPart<'a> {
    /// What the next part is asked of. `None`: the same as before.
    pub list: Option<FileId>,
    /// Entries that came; `None`: the message is not made for them.
    pub entries: Option<Entries<'a>>,
    /// There are no more.
    pub is_over: bool,
    /// The server has ended the listing.
    pub is_closed: bool,
}

/// The interface of a protocol's codec.
pub trait Codec: Sized {
    /// Kinds of facts that one [`Request::Query`] may ask for.
    const INFOS_MAX: usize;
    /// Longest part of a listing that is asked for, in bytes.
    const LIST_BYTES: u32;
    /// Option of an open: a reparse point is opened itself. SMB1 has it in its own way.
    const OPEN_REPARSE_POINT: u32;
    /// The status at the end of a listing also closes the listing on the server.
    const STATUS_CLOSES_LIST: bool;
    /// A session that has expired can be renewed on its connection.
    const RENEWS: bool;

    /// How large transfers may be.
    fn limits(&self) -> TransferLimits;

    /// The messages of a request, and what they cost.
    fn charges(&self, request: &Request<'_>) -> Charges;

    /// Leaves space for what comes before the messages of a frame; returns the frame's offset.
    fn begin_frame(&self, out: &mut Vec<u8>) -> usize;

    /// Appends the messages of a request, with as many ids as it has messages.
    fn put(&self, ids: &[MessageId], request: &Request<'_>, out: &mut Vec<u8>);

    /// Ends the frame that began at `start`: length, signatures, encryption. SMB1: the
    /// number that the reply is signed with comes back.
    fn end_frame(&mut self, out: &mut [u8], start: usize) -> u32;

    /// The name of the request.
    fn step(request: &Request<'_>) -> &'static str;

    /// Whether a message with this command answers the request.
    fn is_answer(request: &Request<'_>, command: u16) -> bool;

    /// Whether a message with this command and status brings what was asked for, or as
    /// much of it as fits, or its end.
    fn is_good(request: &Request<'_>, command: u16, status: u32) -> bool;

    /// Whether this status, which is not good, is a refusal. Others are nothing that a
    /// server can answer.
    fn is_refusal(status: u32) -> bool;

    /// The contents of a good message.
    ///
    /// # Errors
    /// It is cut, points outside of itself, or is of another structure.
    fn take<'m>(
        request: &Request<'_>,
        command: u16,
        status: u32,
        message: &'m [u8],
    ) -> Result<Reply<'m>, DecodeError>;

    /// Which of the messages of a request brings its output: the first of them.
    fn output_at(request: &Request<'_>) -> usize;

    /// The answer to [`Request::Open`].
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn opened(answer: &Answer<'_>) -> Result<Opened, DecodeError>;

    /// The lease that an open gave; SMB1 has none.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn lease(answer: &Answer<'_>) -> Result<Option<GrantedLease>, DecodeError>;

    /// The facts in the reply to a close.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn closed(answer: &Answer<'_>) -> Result<Option<FileFacts>, DecodeError>;

    /// What was read.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn data<'m>(answer: &Answer<'m>) -> Result<&'m [u8], DecodeError>;

    /// How many bytes were written.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn written(answer: &Answer<'_>) -> Result<u32, DecodeError>;

    /// What a query brought.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn output<'m>(answer: &Answer<'m>) -> Result<&'m [u8], DecodeError>;

    /// [`FileInfo::Basic`](crate::request::FileInfo::Basic).
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn basic(answer: &Answer<'_>) -> Result<BasicInfo, DecodeError>;

    /// [`FileInfo::Standard`](crate::request::FileInfo::Standard).
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn standard(answer: &Answer<'_>) -> Result<StandardInfo, DecodeError>;

    /// [`FsInfo::Space`](crate::request::FsInfo::Space).
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn space(&self, answer: &Answer<'_>) -> Result<Space, DecodeError>;

    /// The answer to [`Request::Look`] at this path; `None`: nothing is there.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn path_info(path: &str, answer: &Answer<'_>) -> Result<Option<PathInfo>, DecodeError>;

    /// The answer to [`Request::ListBegin`].
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn list_begun<'m>(answer: &Answer<'m>) -> Result<ListPart<'m>, DecodeError>;

    /// The answer to [`Request::ListNext`].
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn list_part<'m>(answer: &Answer<'m>) -> Result<ListPart<'m>, DecodeError>;

    /// Whether a refusal of [`Request::ListBegin`] says that there is no entry.
    fn is_empty_list(status: u32) -> bool;

    /// Whether a refusal of [`Request::ListNext`] says that there are no more entries.
    fn is_list_end(status: u32) -> bool;

    /// The answer to [`Request::Watch`].
    ///
    /// # Errors
    /// As [`take`](Self::take).
    fn changes<'m>(answer: &Answer<'m>) -> Result<Changes<'m>, DecodeError>;
}
