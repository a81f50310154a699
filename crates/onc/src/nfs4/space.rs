//! Operations of minor version 2 on the data of one file (RFC 7862 section 15): arguments and results, field
//! by field in the RFC's order.

use super::attribute::Bitmap4;
use super::state::Stateid4;
use super::status::Res;
use super::{MAX_DATA, MAX_PIECES, StableHow, Verf};
use crate::xdr::Array;

xdr_struct! {
    /// Arguments of ALLOCATE.
    pub struct AllocateArgs {
        /// An open.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
    }
}

/// Results of ALLOCATE.
pub type AllocateRes = Res<()>;

xdr_struct! {
    /// Arguments of DEALLOCATE.
    pub struct DeallocateArgs {
        /// An open.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
    }
}

/// Results of DEALLOCATE.
pub type DeallocateRes = Res<()>;

xdr_enum! {
    /// `data_content4`: what a part of a file is.
    pub enum DataContent4 {
        /// Data.
        Data = 0 "NFS4_CONTENT_DATA",
        /// A hole.
        Hole = 1 "NFS4_CONTENT_HOLE",
    }
}

xdr_struct! {
    /// Arguments of SEEK.
    pub struct SeekArgs {
        /// An open.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// What to look for.
        what: DataContent4,
    }
}

xdr_struct! {
    /// What SEEK returns.
    pub struct SeekOk {
        /// Whether nothing was found before the end of the file.
        eof: bool,
        /// Where it was found.
        offset: u64,
    }
}

/// Results of SEEK.
pub type SeekRes = Res<SeekOk>;

xdr_struct! {
    /// Arguments of READ_PLUS.
    pub struct ReadPlusArgs {
        /// An open.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// This many bytes at most.
        count: u32,
    }
}

xdr_struct! {
    /// `data4`: data that READ_PLUS read.
    pub struct Data4<'a> {
        /// From this byte.
        offset: u64,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}

xdr_struct! {
    /// `data_info4`: a hole that READ_PLUS found.
    pub struct DataInfo4 {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
    }
}

xdr_union! {
    /// `read_plus_content`: a part of what READ_PLUS read.
    pub enum ReadPlusContent4<'a> {
        /// Data.
        Data(Data4<'a>) = 0,
        /// A hole.
        Hole(DataInfo4) = 1,
    }
}

xdr_struct! {
    /// What READ_PLUS returns (`read_plus_res4`).
    pub struct ReadPlusOk<'a> {
        /// Whether the end of the file was reached.
        eof: bool,
        /// The parts.
        contents: Array<'a, ReadPlusContent4<'a>, MAX_PIECES>,
    }
}

/// Results of READ_PLUS.
pub type ReadPlusRes<'a> = Res<ReadPlusOk<'a>>;

xdr_struct! {
    /// Arguments of IO_ADVISE.
    pub struct IoAdviseArgs {
        /// An open.
        stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// This many bytes; 0 for "to the end".
        count: u64,
        /// Numbers of `IO_ADVISE_type4`.
        hints: Bitmap4,
    }
}

xdr_struct! {
    /// What IO_ADVISE returns.
    pub struct IoAdviseOk {
        /// Those that the server follows.
        hints: Bitmap4,
    }
}

/// Results of IO_ADVISE.
pub type IoAdviseRes = Res<IoAdviseOk>;

xdr_struct! {
    /// `app_data_block4`: blocks with a number and a pattern in each.
    pub struct AppDataBlock4<'a> {
        /// From this byte.
        offset: u64,
        /// Size of a block, in bytes.
        block_size: u64,
        /// Blocks.
        block_count: u64,
        /// Place of the number in a block.
        reloff_blocknum: u64,
        /// The first block's number.
        block_num: u32,
        /// Place of the pattern in a block.
        reloff_pattern: u64,
        /// The pattern.
        pattern: &'a [u8] => MAX_DATA,
    }
}

xdr_struct! {
    /// Arguments of WRITE_SAME.
    pub struct WriteSameArgs<'a> {
        /// An open.
        stateid: Stateid4,
        /// How safe.
        stable: StableHow,
        /// The blocks.
        adb: AppDataBlock4<'a>,
    }
}

xdr_struct! {
    /// `write_response4`: what a copy or WRITE_SAME wrote.
    pub struct WriteResponse4 {
        /// The work, if it goes on after the reply.
        callback_id: Option<Stateid4>,
        /// How many bytes were written.
        count: u64,
        /// How safe they are.
        committed: StableHow,
        /// Changes when the server may have lost unstable data.
        writeverf: Verf,
    }
}

/// Results of WRITE_SAME.
pub type WriteSameRes = Res<WriteResponse4>;
