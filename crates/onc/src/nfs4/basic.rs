//! Small types that attributes and operations share (RFC 7531, RFC 5662, RFC 7863).

use super::{MAX_ITEMS, MAX_LABEL, MAX_OWNER};
use crate::xdr::Array;

xdr_enum! {
    /// `nfs_ftype4`: kind of an object.
    pub enum Ftype4 {
        /// Regular file.
        Reg = 1 "NF4REG",
        /// Directory.
        Dir = 2 "NF4DIR",
        /// Block device.
        Blk = 3 "NF4BLK",
        /// Character device.
        Chr = 4 "NF4CHR",
        /// Symbolic link.
        Lnk = 5 "NF4LNK",
        /// Socket.
        Sock = 6 "NF4SOCK",
        /// Named pipe.
        Fifo = 7 "NF4FIFO",
        /// Directory of named attributes.
        Attrdir = 8 "NF4ATTRDIR",
        /// Named attribute.
        Namedattr = 9 "NF4NAMEDATTR",
    }
}

xdr_struct! {
    /// `nfstime4`: a time since 1970.
    #[derive(Default, Hash, PartialOrd, Ord)]
    pub struct Nfstime4 {
        /// Seconds; negative before 1970.
        seconds: i64,
        /// Nanoseconds of the second.
        nseconds: u32,
    }
}

xdr_union! {
    /// `settime4`: what to do with a time.
    pub enum Settime4 {
        /// The server's present time.
        ServerTime = 0,
        /// This time.
        ClientTime(Nfstime4) = 1,
    }
}

xdr_struct! {
    /// `fsid4`: a file system.
    #[derive(Default, Hash)]
    pub struct Fsid4 {
        /// First part.
        major: u64,
        /// Second part.
        minor: u64,
    }
}

xdr_struct! {
    /// `specdata4`: numbers of a device.
    #[derive(Default)]
    pub struct Specdata4 {
        /// Major number.
        specdata1: u32,
        /// Minor number.
        specdata2: u32,
    }
}

xdr_struct! {
    /// `change_info4`: a directory's attribute `change` before and after an operation.
    #[derive(Default)]
    pub struct ChangeInfo4 {
        /// Whether nothing else can have changed it in between.
        atomic: bool,
        /// Before.
        before: u64,
        /// After.
        after: u64,
    }
}

xdr_struct! {
    /// `nfsace4`: an access control entry.
    pub struct Nfsace4<'a> {
        /// Kind: 0 allows, 1 denies, 2 audits, 3 alarms (`type` in the RFC).
        acetype: u32,
        /// Inheritance and other flags.
        flag: u32,
        /// The rights.
        access_mask: u32,
        /// The user or group.
        who: &'a [u8] => MAX_OWNER,
    }
}

/// The attribute `acl`.
pub type Acl4<'a> = Array<'a, Nfsace4<'a>, 4096>;

xdr_struct! {
    /// `nfsacl41`: an access control list with its flags.
    pub struct Nfsacl41<'a> {
        /// Flags of the list.
        flag: u32,
        /// The entries.
        aces: Acl4<'a>,
    }
}

xdr_struct! {
    /// `change_policy4`: changes when the policy of a file system does.
    pub struct ChangePolicy4 {
        /// First part.
        major: u64,
        /// Second part.
        minor: u64,
    }
}

xdr_struct! {
    /// `mode_masked4`: permission bits to set.
    pub struct ModeMasked4 {
        /// Values of the bits.
        value_to_set: u32,
        /// Which bits.
        mask_bits: u32,
    }
}

xdr_struct! {
    /// `mode_umask4`: permission bits of a new object (RFC 8275).
    pub struct ModeUmask4 {
        /// The bits that the program asked for.
        mode: u32,
        /// The bits that its umask removes.
        umask: u32,
    }
}

xdr_enum! {
    /// `change_attr_type4`: how the attribute `change` changes (RFC 7862 section 12.2.3).
    pub enum ChangeAttrType4 {
        /// It grows.
        MonotonicIncr = 0 "NFS4_CHANGE_TYPE_IS_MONOTONIC_INCR",
        /// It counts versions.
        VersionCounter = 1 "NFS4_CHANGE_TYPE_IS_VERSION_COUNTER",
        /// It counts versions, without pNFS.
        VersionCounterNopnfs = 2 "NFS4_CHANGE_TYPE_IS_VERSION_COUNTER_NOPNFS",
        /// It is the time of the last change of attributes.
        TimeMetadata = 3 "NFS4_CHANGE_TYPE_IS_TIME_METADATA",
        /// Nothing is known.
        Undefined = 4 "NFS4_CHANGE_TYPE_IS_UNDEFINED",
    }
}

xdr_struct! {
    /// `sec_label4`: a security label (RFC 7862 section 12.2.4).
    pub struct SecLabel4<'a> {
        /// Number of the label's format.
        lfs: u32,
        /// Number of the policy.
        pi: u32,
        /// The label.
        data: &'a [u8] => MAX_LABEL,
    }
}

/// `layouttype4` numbers.
pub mod layout_type {
    /// Files on data servers (RFC 8881 section 13).
    pub const NFSV4_1_FILES: u32 = 1;
    /// Objects (RFC 5664).
    pub const OSD2_OBJECTS: u32 = 2;
    /// Blocks (RFC 5663).
    pub const BLOCK_VOLUME: u32 = 3;
    /// Flexible files (RFC 8435).
    pub const FLEX_FILES: u32 = 4;
    /// SCSI (RFC 8154).
    pub const SCSI: u32 = 5;
}

/// Attributes that list types of layouts: numbers of [`layout_type`].
pub type LayoutTypes<'a> = Array<'a, u32, MAX_ITEMS>;

xdr_struct! {
    /// `netaddr4`: a network address.
    pub struct Netaddr4<'a> {
        /// Transport, "tcp" or "tcp6".
        netid: &'a [u8] => MAX_OWNER,
        /// Universal address, as [`crate::rpcbind::parse_uaddr`] reads it.
        addr: &'a [u8] => MAX_OWNER,
    }
}
