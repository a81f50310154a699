//! Layouts (RFC 8881 sections 18.42 to 18.44, RFC 7862 sections 15.6 and 15.7): arguments and results, field
//! by field in the RFC's order. What a layout holds depends on its type: see [`super::flexfiles`].

use super::basic::Nfstime4;
use super::device::Deviceid4;
use super::state::Stateid4;
use super::status::{Failed4, Nfsstat4, Res};
use super::{MAX_ITEMS, MAX_LAYOUT_BODY};
use crate::xdr::Array;

xdr_enum! {
    /// `layoutiomode4`: for which access a layout is.
    pub enum Layoutiomode4 {
        /// Reading.
        Read = 1 "LAYOUTIOMODE4_READ",
        /// Reading and writing.
        Rw = 2 "LAYOUTIOMODE4_RW",
        /// Any (to return or recall layouts).
        Any = 3 "LAYOUTIOMODE4_ANY",
    }
}

xdr_struct! {
    /// `layout_content4`, `layoutupdate4`: data of a layout in the form of its type.
    pub struct LayoutContent4<'a> {
        /// A number of [`super::layout_type`].
        layout_type: u32,
        /// The data.
        body: &'a [u8] => MAX_LAYOUT_BODY,
    }
}

xdr_struct! {
    /// `layout4`: where a part of a file is.
    pub struct Layout4<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
        /// For which access.
        iomode: Layoutiomode4,
        /// Where it is.
        content: LayoutContent4<'a>,
    }
}

xdr_struct! {
    /// Arguments of LAYOUTGET.
    pub struct LayoutgetArgs {
        /// A layout that cannot be given now is to be signaled later.
        signal_layout_avail: bool,
        /// A number of [`super::layout_type`].
        layout_type: u32,
        /// For which access.
        iomode: Layoutiomode4,
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
        /// At least so many bytes.
        minlength: u64,
        /// An open, or the layout so far.
        stateid: Stateid4,
        /// The most bytes in the answer's `LAYOUTGET4resok`.
        maxcount: u32,
    }
}

xdr_struct! {
    /// What LAYOUTGET returns.
    pub struct LayoutgetOk<'a> {
        /// Whether the layout is to be returned before CLOSE.
        return_on_close: bool,
        /// The layout.
        stateid: Stateid4,
        /// Its parts.
        layout: Array<'a, Layout4<'a>, MAX_ITEMS>,
    }
}

/// LAYOUTGET failed: with NFS4ERR_LAYOUTTRYLATER there is whether the server will signal.
pub type LayoutgetFailed = Failed4<bool, 10058>;

/// Results of LAYOUTGET.
pub type LayoutgetRes<'a> = Result<LayoutgetOk<'a>, LayoutgetFailed>;

xdr_struct! {
    /// Arguments of LAYOUTCOMMIT.
    pub struct LayoutcommitArgs<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
        /// Whether the layout was held before the server's restart.
        reclaim: bool,
        /// The layout.
        stateid: Stateid4,
        /// The last byte that was written.
        last_write_offset: Option<u64>,
        /// The time of the last change of data.
        time_modify: Option<Nfstime4>,
        /// More, by the type of the layout.
        layoutupdate: LayoutContent4<'a>,
    }
}

xdr_struct! {
    /// What LAYOUTCOMMIT returns.
    pub struct LayoutcommitOk {
        /// The size of the file, if it changed, in bytes.
        newsize: Option<u64>,
    }
}

/// Results of LAYOUTCOMMIT.
pub type LayoutcommitRes = Res<LayoutcommitOk>;

xdr_struct! {
    /// `layoutreturn_file4`: layouts of the current file.
    pub struct LayoutreturnFile4<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
        /// The layout.
        stateid: Stateid4,
        /// More, by the type of the layout.
        body: &'a [u8] => MAX_LAYOUT_BODY,
    }
}

xdr_union! {
    /// `layoutreturn4`: which layouts are returned.
    pub enum Layoutreturn4<'a> {
        /// Of the current file.
        File(LayoutreturnFile4<'a>) = 1,
        /// Of the current file's file system.
        Fsid = 2,
        /// All.
        All = 3,
    }
}

xdr_struct! {
    /// Arguments of LAYOUTRETURN.
    pub struct LayoutreturnArgs<'a> {
        /// Whether the layouts were held before the server's restart.
        reclaim: bool,
        /// A number of [`super::layout_type`].
        layout_type: u32,
        /// For which access.
        iomode: Layoutiomode4,
        /// Which.
        layoutreturn: Layoutreturn4<'a>,
    }
}

xdr_struct! {
    /// What LAYOUTRETURN returns.
    pub struct LayoutreturnOk {
        /// The layout, if any of it is left.
        stateid: Option<Stateid4>,
    }
}

/// Results of LAYOUTRETURN.
pub type LayoutreturnRes = Res<LayoutreturnOk>;

xdr_struct! {
    /// `device_error4`: what a data server answered.
    pub struct DeviceError4 {
        /// The data server.
        device_id: Deviceid4,
        /// The status.
        status: Nfsstat4,
        /// The operation's number.
        opnum: u32,
    }
}

xdr_struct! {
    /// Arguments of LAYOUTERROR.
    pub struct LayouterrorArgs<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
        /// The layout.
        stateid: Stateid4,
        /// What happened.
        errors: Array<'a, DeviceError4, MAX_ITEMS>,
    }
}

/// Results of LAYOUTERROR.
pub type LayouterrorRes = Res<()>;

xdr_struct! {
    /// `io_info4`: transfers with a layout.
    pub struct IoInfo4 {
        /// How many.
        count: u64,
        /// Their bytes.
        bytes: u64,
    }
}

xdr_struct! {
    /// Arguments of LAYOUTSTATS.
    pub struct LayoutstatsArgs<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
        /// The layout.
        stateid: Stateid4,
        /// READs.
        read: IoInfo4,
        /// WRITEs.
        write: IoInfo4,
        /// The data server.
        device_id: Deviceid4,
        /// More, by the type of the layout.
        layoutupdate: LayoutContent4<'a>,
    }
}

/// Results of LAYOUTSTATS.
pub type LayoutstatsRes = Res<()>;
