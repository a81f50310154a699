//! Data servers (RFC 8881 sections 18.40 and 18.41): arguments and results, field by field in the RFC's order.

use super::attribute::Bitmap4;
use super::layout::LayoutContent4;
use super::status::{Failed4, Res};
use super::{MAX_ITEMS, Verf};
use crate::xdr::Array;

/// `deviceid4`: a data server.
pub type Deviceid4 = [u8; 16];

xdr_struct! {
    /// Arguments of GETDEVICEINFO.
    pub struct GetdeviceinfoArgs {
        /// The data server.
        device_id: Deviceid4,
        /// A number of [`super::layout_type`].
        layout_type: u32,
        /// The most bytes in the answer's `device_addr4`.
        maxcount: u32,
        /// The notifications asked for.
        notify_types: Bitmap4,
    }
}

xdr_struct! {
    /// What GETDEVICEINFO returns.
    pub struct GetdeviceinfoOk<'a> {
        /// Where the data server is, in the form of the layout's type (`device_addr4`).
        device_addr: LayoutContent4<'a>,
        /// The notifications that will be sent.
        notification: Bitmap4,
    }
}

/// GETDEVICEINFO failed: with NFS4ERR_TOOSMALL there is the size that is needed, in bytes.
pub type GetdeviceinfoFailed = Failed4<u32, 10005>;

/// Results of GETDEVICEINFO.
pub type GetdeviceinfoRes<'a> = Result<GetdeviceinfoOk<'a>, GetdeviceinfoFailed>;

xdr_struct! {
    /// Arguments of GETDEVICELIST.
    pub struct GetdevicelistArgs {
        /// A number of [`super::layout_type`].
        layout_type: u32,
        /// The most data servers.
        maxdevices: u32,
        /// Start behind this cookie; 0 for the beginning.
        cookie: u64,
        /// The verifier that came with the cookie; zeros with cookie 0.
        cookieverf: Verf,
    }
}

xdr_struct! {
    /// What GETDEVICELIST returns.
    pub struct GetdevicelistOk<'a> {
        /// Where the next GETDEVICELIST goes on.
        cookie: u64,
        /// To be sent back with the cookie.
        cookieverf: Verf,
        /// The data servers.
        deviceid_list: Array<'a, Deviceid4, MAX_ITEMS>,
        /// Whether these are the last.
        eof: bool,
    }
}

/// Results of GETDEVICELIST.
pub type GetdevicelistRes<'a> = Res<GetdevicelistOk<'a>>;
