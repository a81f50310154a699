//! Attributes: what the server reports about a file and what a client may set (RFC 1094 section 2.3).

xdr_enum! {
    /// `ftype`: kind of a file. The RFC ends at symbolic links; sockets and pipes have the numbers that
    /// servers and clients gave them later (X/Open's XNFS).
    pub enum Ftype {
        /// No file.
        Non = 0 "NFNON",
        /// Regular file.
        Reg = 1 "NFREG",
        /// Directory.
        Dir = 2 "NFDIR",
        /// Block device.
        Blk = 3 "NFBLK",
        /// Character device.
        Chr = 4 "NFCHR",
        /// Symbolic link.
        Lnk = 5 "NFLNK",
        /// Socket.
        Sock = 6 "NFSOCK",
        /// Unused.
        Bad = 7 "NFBAD",
        /// Named pipe.
        Fifo = 8 "NFFIFO",
    }
}

xdr_struct! {
    /// `timeval`: a time since 1970.
    #[derive(Default, Hash, PartialOrd, Ord)]
    pub struct Timeval {
        /// Seconds.
        seconds: u32,
        /// Microseconds of the second.
        useconds: u32,
    }
}

xdr_struct! {
    /// `fattr`: attributes of a file, 68 bytes on the wire.
    pub struct Fattr {
        /// Kind (`type` in the RFC).
        ftype: Ftype,
        /// Kind and permission bits, as Unix has them.
        mode: u32,
        /// Hard links.
        nlink: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
        /// Size, in bytes.
        size: u32,
        /// Size of a block, in bytes.
        blocksize: u32,
        /// Device number of a device.
        rdev: u32,
        /// Space it takes on the server, in blocks.
        blocks: u32,
        /// File system it is in.
        fsid: u32,
        /// Number in the file system.
        fileid: u32,
        /// Last access.
        atime: Timeval,
        /// Last change of data.
        mtime: Timeval,
        /// Last change of attributes.
        ctime: Timeval,
    }
}

xdr_struct! {
    /// `sattr`: attributes to set; a field of [`Sattr::KEEP`] is left as it is.
    pub struct Sattr {
        /// Permission bits.
        mode: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
        /// Size, in bytes: cuts off or extends with zeros.
        size: u32,
        /// Last access.
        atime: Timeval,
        /// Last change of data.
        mtime: Timeval,
    }
}

impl Timeval {
    /// In [`Sattr`]: leave the time as it is.
    pub const KEEP: Self = Self {
        seconds: Sattr::KEEP,
        useconds: Sattr::KEEP,
    };
}

impl Sattr {
    /// The value that leaves a field as it is (-1 in the RFC).
    pub const KEEP: u32 = u32::MAX;

    /// Sets nothing.
    pub const NONE: Self = Self {
        mode: Self::KEEP,
        uid: Self::KEEP,
        gid: Self::KEEP,
        size: Self::KEEP,
        atime: Timeval::KEEP,
        mtime: Timeval::KEEP,
    };

    /// Sets the permission bits and nothing else.
    pub const fn mode(mode: u32) -> Self {
        Self { mode, ..Self::NONE }
    }

    /// Sets the size, in bytes, and nothing else.
    pub const fn size(size: u32) -> Self {
        Self { size, ..Self::NONE }
    }
}
