//! Copies by the server and work that goes on after a reply (RFC 7862 sections 15.2, 15.3, 15.8, 15.9 and
//! 15.13): arguments and results, field by field in the RFC's order.

use super::basic::{Netaddr4, Nfstime4};
use super::space::WriteResponse4;
use super::state::Stateid4;
use super::status::{Failed4, Nfsstat4, Res};
use super::{MAX_ITEMS, MAX_OWNER};
use crate::xdr::Array;

xdr_union! {
    /// `netloc4`: a server.
    pub enum Netloc4<'a> {
        /// By name.
        Name(&'a [u8] => MAX_OWNER) = 1,
        /// By URL.
        Url(&'a [u8] => MAX_OWNER) = 2,
        /// By address.
        Netaddr(Netaddr4<'a>) = 3,
    }
}

xdr_struct! {
    /// Arguments of COPY: from the saved to the current file handle.
    pub struct CopyArgs<'a> {
        /// An open of the source.
        src_stateid: Stateid4,
        /// An open of the target.
        dst_stateid: Stateid4,
        /// From this byte.
        src_offset: u64,
        /// To this byte.
        dst_offset: u64,
        /// This many bytes; 0 for "to the end".
        count: u64,
        /// Whether the bytes must be copied in order.
        consecutive: bool,
        /// Whether the reply must wait for the copy.
        synchronous: bool,
        /// Where the source is, if on another server.
        source_server: Array<'a, Netloc4<'a>, MAX_ITEMS>,
    }
}

xdr_struct! {
    /// `copy_requirements4`: how a server copies.
    pub struct CopyRequirements4 {
        /// In order.
        consecutive: bool,
        /// Before the reply.
        synchronous: bool,
    }
}

xdr_struct! {
    /// What COPY returns.
    pub struct CopyOk {
        /// What was written.
        response: WriteResponse4,
        /// How.
        requirements: CopyRequirements4,
    }
}

/// COPY failed: with NFS4ERR_OFFLOAD_NO_REQS there is how the server could copy.
pub type CopyFailed = Failed4<CopyRequirements4, 10094>;

/// Results of COPY.
pub type CopyRes = Result<CopyOk, CopyFailed>;

xdr_struct! {
    /// Arguments of COPY_NOTIFY.
    pub struct CopyNotifyArgs<'a> {
        /// An open of the source.
        src_stateid: Stateid4,
        /// The server that will copy.
        destination_server: Netloc4<'a>,
    }
}

xdr_struct! {
    /// What COPY_NOTIFY returns.
    pub struct CopyNotifyOk<'a> {
        /// How long the other server may begin.
        lease_time: Nfstime4,
        /// To be sent in COPY.
        stateid: Stateid4,
        /// Where the other server reads.
        source_server: Array<'a, Netloc4<'a>, MAX_ITEMS>,
    }
}

/// Results of COPY_NOTIFY.
pub type CopyNotifyRes<'a> = Res<CopyNotifyOk<'a>>;

xdr_struct! {
    /// Arguments of OFFLOAD_CANCEL.
    pub struct OffloadCancelArgs {
        /// The work.
        stateid: Stateid4,
    }
}

/// Results of OFFLOAD_CANCEL.
pub type OffloadCancelRes = Res<()>;

xdr_struct! {
    /// Arguments of OFFLOAD_STATUS.
    pub struct OffloadStatusArgs {
        /// The work.
        stateid: Stateid4,
    }
}

xdr_struct! {
    /// What OFFLOAD_STATUS returns.
    pub struct OffloadStatusOk {
        /// How many bytes were written.
        count: u64,
        /// What became of it, if it has ended.
        complete: Option<Nfsstat4>,
    }
}

/// Results of OFFLOAD_STATUS.
pub type OffloadStatusRes = Res<OffloadStatusOk>;

xdr_struct! {
    /// Arguments of CLONE: from the saved to the current file handle.
    pub struct CloneArgs {
        /// An open of the source.
        src_stateid: Stateid4,
        /// An open of the target.
        dst_stateid: Stateid4,
        /// From this byte.
        src_offset: u64,
        /// To this byte.
        dst_offset: u64,
        /// This many bytes; 0 for "to the end".
        count: u64,
    }
}

/// Results of CLONE.
pub type CloneRes = Res<()>;
