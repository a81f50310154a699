//! READDIR and READDIRPLUS: arguments and results, and the lists in them: read in place, entry by entry;
//! written until the reply is full.

use std::marker::PhantomData;

use super::attr::PostOpAttr;
use super::handle::FileHandle;
use super::look::DirAttr;
use super::status::{Nfsstat3, Res};
use super::{MAX_NAME, Verf};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

xdr_struct! {
    /// `entry3`: an entry of READDIR.
    pub struct Entry3<'a> {
        /// The file's number.
        fileid: u64,
        /// Its name.
        name: &'a [u8] => MAX_NAME,
        /// Where the next READDIR goes on.
        cookie: u64,
    }
}
xdr_struct! {
    /// `entryplus3`: an entry of READDIRPLUS.
    pub struct EntryPlus3<'a> {
        /// The file's number.
        fileid: u64,
        /// Its name.
        name: &'a [u8] => MAX_NAME,
        /// Where the next READDIRPLUS goes on.
        cookie: u64,
        /// The file's attributes, if the server gives them.
        name_attributes: PostOpAttr,
        /// The file's handle, if the server gives it.
        name_handle: Option<FileHandle<'a>>,
    }
}
xdr_struct! {
    /// Arguments of READDIR.
    pub struct ReaddirArgs<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// Start behind the entry with this cookie; 0 for the beginning.
        cookie: u64,
        /// The verifier that came with the cookie; zeros with cookie 0.
        cookieverf: Verf,
        /// The most bytes in the answer's `READDIR3resok`.
        count: u32,
    }
}

xdr_struct! {
    /// What READDIR returns.
    pub struct ReaddirOk<'a> {
        /// The directory's attributes.
        dir_attributes: PostOpAttr,
        /// To be sent back with a cookie of the list.
        cookieverf: Verf,
        /// Entries and end mark (`dirlist3`).
        reply: DirList<'a, Entry3<'a>>,
    }
}

/// Results of READDIR.
pub type ReaddirRes<'a> = Res<ReaddirOk<'a>, DirAttr>;

xdr_struct! {
    /// Arguments of READDIRPLUS.
    pub struct ReaddirplusArgs<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// Start behind the entry with this cookie; 0 for the beginning.
        cookie: u64,
        /// The verifier that came with the cookie; zeros with cookie 0.
        cookieverf: Verf,
        /// The most bytes of names, cookies and file ids.
        dircount: u32,
        /// The most bytes in the answer's `READDIRPLUS3resok`.
        maxcount: u32,
    }
}

xdr_struct! {
    /// What READDIRPLUS returns.
    pub struct ReaddirplusOk<'a> {
        /// The directory's attributes.
        dir_attributes: PostOpAttr,
        /// To be sent back with a cookie of the list.
        cookieverf: Verf,
        /// Entries and end mark (`dirlistplus3`).
        reply: DirList<'a, EntryPlus3<'a>>,
    }
}

/// Results of READDIRPLUS.
pub type ReaddirplusRes<'a> = Res<ReaddirplusOk<'a>, DirAttr>;

/// `dirlist3` or `dirlistplus3` as it came: the entries are checked while they are read. It is the last
/// item of its results, so it takes all that is left of the message.
#[derive(Debug, Clone, Copy)]
pub struct DirList<'a, E> {
    list: Decoder<'a>,
    kind: PhantomData<fn() -> E>,
}

/// Equal bytes are equal lists, wherever in a message they stand.
impl<E> PartialEq for DirList<'_, E> {
    fn eq(&self, other: &Self) -> bool {
        self.list.rest() == other.list.rest()
    }
}

impl<E> Eq for DirList<'_, E> {}

impl<'a, E: Decode<'a>> DirList<'a, E> {
    /// The list in these bytes.
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self {
            list: Decoder::new(bytes),
            kind: PhantomData,
        }
    }

    /// The entries in order.
    pub const fn iter(&self) -> DirIter<'a, E> {
        DirIter {
            d: self.list,
            state: IterState::Entries,
            kind: PhantomData,
        }
    }
}

impl<'a, E: Decode<'a>> IntoIterator for &DirList<'a, E> {
    type Item = Result<E, DecodeError>;
    type IntoIter = DirIter<'a, E>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<E> Encode for DirList<'_, E> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.raw(self.list.rest());
    }
}

impl<'a, E> Decode<'a> for DirList<'a, E> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, _what: &'static str) -> Result<Self, DecodeError> {
        Ok(Self {
            list: d.take_rest(),
            kind: PhantomData,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IterState {
    Entries,
    End { eof: bool },
    Failed,
}

/// The entries of a [`DirList`]. After the last one (or after an error, which ends it too) it yields
/// `None` for ever; then [`DirIter::eof`] is known.
#[derive(Debug, Clone)]
pub struct DirIter<'a, E> {
    d: Decoder<'a>,
    state: IterState,
    kind: PhantomData<fn() -> E>,
}

impl<'a, E: Decode<'a>> DirIter<'a, E> {
    /// Whether the directory ends with this list; `None` before the iterator is at its end, and when the
    /// list was damaged.
    pub const fn eof(&self) -> Option<bool> {
        match self.state {
            IterState::End { eof } => Some(eof),
            IterState::Entries | IterState::Failed => None,
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<Option<E>, DecodeError> {
        if self.d.bool("dirlist3.entries")? {
            return E::decode(&mut self.d).map(Some);
        }
        let eof = self.d.bool("dirlist3.eof")?;
        self.d.end()?;
        self.state = IterState::End { eof };
        Ok(None)
    }
}

impl<'a, E: Decode<'a>> Iterator for DirIter<'a, E> {
    type Item = Result<E, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.state != IterState::Entries {
            return None;
        }
        let next = self.advance().transpose();
        if matches!(next, Some(Err(_))) {
            self.state = IterState::Failed;
        }
        next
    }
}

/// Writes the successful results of READDIR or READDIRPLUS, entry by entry, within the size that the
/// client asked for.
#[derive(Debug)]
pub struct DirListWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    limit: usize,
    entries: usize,
}

/// End of the list and `eof`.
const TAIL_BYTES: usize = 8;

impl<'o> DirListWriter<'o> {
    /// Writes status, attributes and verifier. `maxcount` is the most bytes behind the status (`count`
    /// of READDIR, `maxcount` of READDIRPLUS).
    pub fn begin(
        out: &'o mut Vec<u8>,
        dir_attributes: PostOpAttr,
        cookieverf: Verf,
        maxcount: u32,
    ) -> Self {
        let start = out.len();
        let mut e = Encoder::new(out);
        e.put(&Nfsstat3::Ok);
        let limit = e.position().saturating_add(maxcount as usize);
        e.put(&dir_attributes);
        e.put(&cookieverf);
        Self {
            out,
            start,
            limit,
            entries: 0,
        }
    }

    /// Writes the status of NFSv2's READDIR, which has nothing beside it. `count` is the most bytes of
    /// the whole result (RFC 1094 section 2.2.17).
    pub fn begin_v2(out: &'o mut Vec<u8>, count: u32) -> Self {
        let start = out.len();
        let mut e = Encoder::new(out);
        let limit = e.position().saturating_add(count as usize);
        e.put(&Nfsstat3::Ok);
        Self {
            out,
            start,
            limit,
            entries: 0,
        }
    }

    /// Writes status and verifier of NFSv4's READDIR. `maxcount` is the most bytes behind the status
    /// (RFC 8881 section 18.23.3). The list ends like the others.
    pub fn begin_v4(out: &'o mut Vec<u8>, cookieverf: Verf, maxcount: u32) -> Self {
        let start = out.len();
        let mut e = Encoder::new(out);
        e.u32(0);
        let limit = e.position().saturating_add(maxcount as usize);
        e.put(&cookieverf);
        Self {
            out,
            start,
            limit,
            entries: 0,
        }
    }

    /// Appends an entry (of the list's own version) if it fits; otherwise changes nothing and says `false`.
    pub fn push<E: Encode>(&mut self, entry: &E) -> bool {
        let before = self.out.len();
        let mut e = Encoder::new(self.out);
        e.bool(true);
        e.put(entry);
        let fits = e.position().saturating_add(TAIL_BYTES) <= self.limit;
        if fits {
            self.entries += 1;
        } else {
            self.out.truncate(before);
        }
        fits
    }

    /// How many entries are in it.
    pub const fn len(&self) -> usize {
        self.entries
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Ends the list.
    pub fn finish(self, eof: bool) {
        let mut e = Encoder::new(self.out);
        e.bool(false);
        e.bool(eof);
    }

    /// Takes everything back, to answer NFS3ERR_TOOSMALL instead.
    pub fn cancel(self) {
        self.out.truncate(self.start);
    }
}
