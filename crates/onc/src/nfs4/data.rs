//! READ, WRITE and COMMIT (RFC 8881 sections 18.22, 18.32 and 18.3): arguments and results, field by field
//! in the RFC's order.

use super::state::Stateid4;
use super::status::{Nfsstat4, Res};
use super::{MAX_DATA, StableHow, Verf};
use crate::xdr::{Decode, DecodeError, Decoder};

xdr_struct! {
    /// Arguments of READ.
    pub struct ReadArgs {
        /// An open, a lock or a delegation.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// This many bytes at most.
        count: u32,
    }
}

xdr_struct! {
    /// What READ returns.
    pub struct ReadOk<'a> {
        /// Whether the end of the file was reached.
        eof: bool,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}

/// Results of READ.
pub type ReadRes<'a> = Res<ReadOk<'a>>;

xdr_struct! {
    /// Arguments of WRITE.
    pub struct WriteArgs<'a> {
        /// An open, a lock or a delegation.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// How safe.
        stable: StableHow,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}

xdr_struct! {
    /// What WRITE returns.
    pub struct WriteOk {
        /// How many bytes were written.
        count: u32,
        /// How safe they are.
        committed: StableHow,
        /// Changes when the server may have lost unstable data.
        writeverf: Verf,
    }
}

/// Results of WRITE.
pub type WriteRes = Res<WriteOk>;

xdr_struct! {
    /// Arguments of COMMIT.
    pub struct CommitArgs {
        /// From this byte.
        offset: u64,
        /// This many bytes; 0 for "to the end".
        count: u32,
    }
}

xdr_struct! {
    /// What COMMIT returns.
    pub struct CommitOk {
        /// Changes when the server may have lost unstable data.
        writeverf: Verf,
    }
}

/// Results of COMMIT.
pub type CommitRes = Res<CommitOk>;

/// The front of a READ's results, up to the length of the data: for a client that throws the data away
/// and needs not have it in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead4 {
    /// Whether the end of the file was reached.
    pub eof: bool,
    /// Length of the data that follows, in bytes, without padding.
    pub data_len: usize,
}

impl ReadHead4 {
    /// Reads the front of a READ's results and leaves the decoder at the data, which need not be there.
    ///
    /// # Errors
    /// What is wrong with the fields before the data.
    #[inline]
    pub fn decode_front(d: &mut Decoder<'_>) -> Result<Res<Self>, DecodeError> {
        Ok(match Nfsstat4::decode_as(d, "nfsstat4")? {
            Nfsstat4::Ok => Ok(Self {
                eof: d.bool("ReadOk.eof")?,
                data_len: d.length(MAX_DATA, "ReadOk.data")?,
            }),
            status => Err(status),
        })
    }
}
