//! The channels of a session (RFC 8881 sections 18.33, 18.34 and 18.36): their limits, their connections, and
//! the credentials of callbacks.

use super::state::Sessionid4;
use super::status::Res;
use super::{MAX_ITEMS, MAX_OWNER};
use crate::rpc::AuthSys;
use crate::xdr::Array;

xdr_struct! {
    /// `channel_attrs4`: limits of a session's channel.
    pub struct ChannelAttrs4 {
        /// Padding of headers, in bytes.
        headerpadsize: u32,
        /// Longest request, in bytes.
        maxrequestsize: u32,
        /// Longest reply, in bytes.
        maxresponsesize: u32,
        /// Longest reply that is kept for a retry, in bytes.
        maxresponsesize_cached: u32,
        /// Most operations in a COMPOUND.
        maxoperations: u32,
        /// Slots.
        maxrequests: u32,
        /// RDMA reads.
        rdma_ird: Option<u32>,
    }
}

xdr_struct! {
    /// `gss_cb_handles4`: GSS contexts for callbacks.
    pub struct GssCbHandles4<'a> {
        /// Service: 1 none, 2 integrity, 3 privacy.
        service: u32,
        /// Handle that the server gave.
        handle_from_server: &'a [u8] => MAX_OWNER,
        /// Handle that the client gave.
        handle_from_client: &'a [u8] => MAX_OWNER,
    }
}

xdr_union! {
    /// `callback_sec_parms4`: a credential for callbacks.
    pub enum CallbackSecParms4<'a> {
        /// AUTH_NONE.
        None = 0,
        /// AUTH_SYS.
        Sys(AuthSys<'a>) = 1,
        /// RPCSEC_GSS.
        Gss(GssCbHandles4<'a>) = 6,
    }
}

/// Credentials for callbacks.
pub type SecParms<'a> = Array<'a, CallbackSecParms4<'a>, MAX_ITEMS>;

xdr_struct! {
    /// Arguments of BACKCHANNEL_CTL.
    pub struct BackchannelCtlArgs<'a> {
        /// Program number of callbacks.
        cb_program: u32,
        /// Credentials of callbacks.
        sec_parms: SecParms<'a>,
    }
}

/// Results of BACKCHANNEL_CTL.
pub type BackchannelCtlRes = Res<()>;

/// `channel_dir_from_client4`, `channel_dir_from_server4`: the channels of a connection.
pub mod channel_dir {
    /// Calls.
    pub const FORE: u32 = 1;
    /// Callbacks.
    pub const BACK: u32 = 2;
    /// Of a server: both. Of a client: calls, or both.
    pub const BOTH: u32 = 3;
    /// Of a client: callbacks, or both.
    pub const BACK_OR_BOTH: u32 = 7;
}

xdr_struct! {
    /// Arguments of BIND_CONN_TO_SESSION.
    pub struct BindConnToSessionArgs {
        /// The session.
        sessid: Sessionid4,
        /// Which channels: a number of [`channel_dir`].
        dir: u32,
        /// With RDMA.
        use_conn_in_rdma_mode: bool,
    }
}

xdr_struct! {
    /// What BIND_CONN_TO_SESSION returns.
    pub struct BindConnToSessionOk {
        /// The session.
        sessid: Sessionid4,
        /// Which channels: a number of [`channel_dir`].
        dir: u32,
        /// With RDMA.
        use_conn_in_rdma_mode: bool,
    }
}

/// Results of BIND_CONN_TO_SESSION.
pub type BindConnToSessionRes = Res<BindConnToSessionOk>;
