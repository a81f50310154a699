//! Attributes: what the server reports about a file, before and after, and what a client may set
//! (RFC 1813 section 2.6).

use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

xdr_enum! {
    /// `ftype3`: kind of a file.
    pub enum Ftype3 {
        /// Regular file.
        Reg = 1 "NF3REG",
        /// Directory.
        Dir = 2 "NF3DIR",
        /// Block device.
        Blk = 3 "NF3BLK",
        /// Character device.
        Chr = 4 "NF3CHR",
        /// Symbolic link.
        Lnk = 5 "NF3LNK",
        /// Socket.
        Sock = 6 "NF3SOCK",
        /// Named pipe.
        Fifo = 7 "NF3FIFO",
    }
}

xdr_struct! {
    /// `specdata3`: numbers of a device.
    #[derive(Default)]
    pub struct Specdata3 {
        /// Major number.
        specdata1: u32,
        /// Minor number.
        specdata2: u32,
    }
}

xdr_struct! {
    /// `nfstime3`: a time since 1970.
    #[derive(Default, Hash, PartialOrd, Ord)]
    pub struct Nfstime3 {
        /// Seconds.
        seconds: u32,
        /// Nanoseconds of the second.
        nseconds: u32,
    }
}

xdr_struct! {
    /// `fattr3`: attributes of a file, 84 bytes on the wire.
    pub struct Fattr3 {
        /// Kind (`type` in the RFC).
        ftype: Ftype3,
        /// Permission bits.
        mode: u32,
        /// Hard links.
        nlink: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
        /// Size, in bytes.
        size: u64,
        /// Space it takes on the server, in bytes.
        used: u64,
        /// Device numbers of a device.
        rdev: Specdata3,
        /// File system it is in.
        fsid: u64,
        /// Number in the file system.
        fileid: u64,
        /// Last access.
        atime: Nfstime3,
        /// Last change of data.
        mtime: Nfstime3,
        /// Last change of attributes.
        ctime: Nfstime3,
    }
}

/// `post_op_attr`: attributes after an operation, if the server gives them.
pub type PostOpAttr = Option<Fattr3>;

xdr_struct! {
    /// `wcc_attr`: the attributes before an operation by which a client checks its cache.
    pub struct WccAttr {
        /// Size, in bytes.
        size: u64,
        /// Last change of data.
        mtime: Nfstime3,
        /// Last change of attributes.
        ctime: Nfstime3,
    }
}

xdr_struct! {
    /// `wcc_data`: attributes before and after an operation, where the server gives them.
    #[derive(Default)]
    pub struct WccData {
        /// Before.
        before: Option<WccAttr>,
        /// After.
        after: PostOpAttr,
    }
}

/// `set_atime`, `set_mtime`: what to do with a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetTime {
    /// Leave it (`DONT_CHANGE`).
    #[default]
    DontChange,
    /// The server's present time (`SET_TO_SERVER_TIME`).
    ServerTime,
    /// This time (`SET_TO_CLIENT_TIME`).
    ClientTime(Nfstime3),
}

impl Encode for SetTime {
    fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Self::DontChange => e.u32(0),
            Self::ServerTime => e.u32(1),
            Self::ClientTime(time) => {
                e.u32(2);
                e.put(time);
            }
        }
    }
}

impl Decode<'_> for SetTime {
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let at = d.offset();
        Ok(match d.u32(what)? {
            0 => Self::DontChange,
            1 => Self::ServerTime,
            2 => Self::ClientTime(Nfstime3::decode(d)?),
            other => return Err(DecodeError::unexpected(at, what, other)),
        })
    }
}

xdr_struct! {
    /// `sattr3`: attributes to set. The default sets none.
    #[derive(Default)]
    pub struct Sattr3 {
        /// Permission bits.
        mode: Option<u32>,
        /// Owner.
        uid: Option<u32>,
        /// Group.
        gid: Option<u32>,
        /// Size, in bytes: cuts off or extends with zeros.
        size: Option<u64>,
        /// Last access.
        atime: SetTime,
        /// Last change of data.
        mtime: SetTime,
    }
}

impl Sattr3 {
    /// Sets the permission bits and nothing else.
    pub fn mode(mode: u32) -> Self {
        Self {
            mode: Some(mode),
            ..Self::default()
        }
    }

    /// Sets the size, in bytes, and nothing else.
    pub fn size(size: u64) -> Self {
        Self {
            size: Some(size),
            ..Self::default()
        }
    }
}
