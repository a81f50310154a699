//! READ, WRITE and COMMIT: arguments and results (RFC 1813 sections 3.3.6, 3.3.7 and 3.3.21), field by field
//! in the RFC's order.

use super::attr::{PostOpAttr, WccData};
use super::handle::FileHandle;
use super::look::ObjAttr;
use super::status::{Failed, Nfsstat3, Res};
use super::{MAX_DATA, Verf};
use crate::xdr::{Decode, DecodeError, Decoder};

xdr_enum! {
    /// `stable_how`: how safe written data must be before the server answers.
    pub enum StableHow {
        /// May be lost until COMMIT.
        Unstable = 0 "UNSTABLE",
        /// Data safe, metadata not yet.
        DataSync = 1 "DATA_SYNC",
        /// Data and metadata safe.
        FileSync = 2 "FILE_SYNC",
    }
}

xdr_struct! {
    /// Arguments of READ.
    pub struct ReadArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes at most.
        count: u32,
    }
}

xdr_struct! {
    /// What READ returns. A sound server's `count` is the length of `data`; code that relies on it must check.
    pub struct ReadOk<'a> {
        /// The file's attributes.
        file_attributes: PostOpAttr,
        /// How many bytes were read.
        count: u32,
        /// Whether the end of the file was reached.
        eof: bool,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}

/// Results of READ.
pub type ReadRes<'a> = Res<ReadOk<'a>, ObjAttr>;

xdr_struct! {
    /// Arguments of WRITE.
    pub struct WriteArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes; the length of `data`.
        count: u32,
        /// How safe.
        stable: StableHow,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}

xdr_struct! {
    /// What WRITE returns.
    pub struct WriteOk {
        /// The file's attributes before and after.
        file_wcc: WccData,
        /// How many bytes were written.
        count: u32,
        /// How safe they are.
        committed: StableHow,
        /// Changes when the server may have lost unstable data.
        verf: Verf,
    }
}

/// Results of WRITE.
pub type WriteRes = Res<WriteOk, FileWcc>;

xdr_struct! {
    /// Arguments of COMMIT.
    pub struct CommitArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes; 0 for "to the end".
        count: u32,
    }
}

xdr_struct! {
    /// What COMMIT returns.
    pub struct CommitOk {
        /// The file's attributes before and after.
        file_wcc: WccData,
        /// Changes when the server may have lost unstable data.
        verf: Verf,
    }
}

/// Results of COMMIT.
pub type CommitRes = Res<CommitOk, FileWcc>;

xdr_struct! {
    /// What WRITE and COMMIT return when they fail.
    #[derive(Default)]
    pub struct FileWcc {
        /// The file's attributes before and after.
        file_wcc: WccData,
    }
}

/// The front of a READ's results, up to the length of the data: for a client that throws the data away
/// and needs not have it in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead {
    /// The file's attributes.
    pub file_attributes: PostOpAttr,
    /// How many bytes were read.
    pub count: u32,
    /// Whether the end of the file was reached.
    pub eof: bool,
    /// Length of the data that follows, in bytes, without padding.
    pub data_len: usize,
}

impl ReadHead {
    /// Reads the front of a READ's results and leaves the decoder at the data, which need not be there.
    ///
    /// # Errors
    /// What is wrong with the fields before the data.
    #[inline]
    pub fn decode_front(d: &mut Decoder<'_>) -> Result<Res<Self, ObjAttr>, DecodeError> {
        Ok(match Nfsstat3::decode_as(d, "nfsstat3")? {
            Nfsstat3::Ok => Ok(Self {
                file_attributes: PostOpAttr::decode_as(d, "ReadOk.file_attributes")?,
                count: d.u32("ReadOk.count")?,
                eof: d.bool("ReadOk.eof")?,
                data_len: d.length(MAX_DATA, "ReadOk.data")?,
            }),
            status => Err(Failed {
                status,
                info: ObjAttr::decode(d)?,
            }),
        })
    }
}
