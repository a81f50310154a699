//! Client IDs and sessions of minor version 1 and later (RFC 8881 sections 18.35 to 18.37, 18.46, 18.50 and
//! 18.51): arguments and results, field by field in the RFC's order.

use super::MAX_OWNER;
use super::basic::Nfstime4;
use super::channel::{ChannelAttrs4, SecParms};
use super::protect::{StateProtect4A, StateProtect4R};
use super::state::{ClientOwner4, Clientid4, Sessionid4};
use super::status::Res;

/// Bits of EXCHANGE_ID's `flags`.
pub mod exchgid {
    /// The client follows referrals.
    pub const SUPP_MOVED_REFER: u32 = 0x0000_0001;
    /// The client follows migrations.
    pub const SUPP_MOVED_MIGR: u32 = 0x0000_0002;
    /// The stateids are bound to the principal.
    pub const BIND_PRINC_STATEID: u32 = 0x0000_0100;
    /// No pNFS.
    pub const USE_NON_PNFS: u32 = 0x0001_0000;
    /// Metadata server.
    pub const USE_PNFS_MDS: u32 = 0x0002_0000;
    /// Data server.
    pub const USE_PNFS_DS: u32 = 0x0004_0000;
    /// The client changes a confirmed record.
    pub const UPD_CONFIRMED_REC_A: u32 = 0x4000_0000;
    /// The client ID was confirmed before.
    pub const CONFIRMED_R: u32 = 0x8000_0000;
}

/// Bits of CREATE_SESSION's `flags`.
pub mod create_session {
    /// The replay cache survives a restart of the server.
    pub const PERSIST: u32 = 1;
    /// The connection carries callbacks, too.
    pub const CONN_BACK_CHAN: u32 = 2;
    /// RDMA.
    pub const CONN_RDMA: u32 = 4;
}

/// Bits of SEQUENCE's `status_flags`.
pub mod seq4_status {
    /// No path for callbacks.
    pub const CB_PATH_DOWN: u32 = 0x0001;
    /// GSS contexts for callbacks expire soon.
    pub const CB_GSS_CONTEXTS_EXPIRING: u32 = 0x0002;
    /// GSS contexts for callbacks have expired.
    pub const CB_GSS_CONTEXTS_EXPIRED: u32 = 0x0004;
    /// All state was revoked when the lease expired.
    pub const EXPIRED_ALL_STATE_REVOKED: u32 = 0x0008;
    /// Some state was revoked when the lease expired.
    pub const EXPIRED_SOME_STATE_REVOKED: u32 = 0x0010;
    /// An administrator revoked state.
    pub const ADMIN_STATE_REVOKED: u32 = 0x0020;
    /// Delegations or layouts were revoked.
    pub const RECALLABLE_STATE_REVOKED: u32 = 0x0040;
    /// A file system of the lease has moved.
    pub const LEASE_MOVED: u32 = 0x0080;
    /// The server has restarted; state is to be reclaimed.
    pub const RESTART_RECLAIM_NEEDED: u32 = 0x0100;
    /// This session has no path for callbacks.
    pub const CB_PATH_DOWN_SESSION: u32 = 0x0200;
    /// The channel for callbacks failed.
    pub const BACKCHANNEL_FAULT: u32 = 0x0400;
    /// The device information changed.
    pub const DEVID_CHANGED: u32 = 0x0800;
    /// The device information was removed.
    pub const DEVID_DELETED: u32 = 0x1000;
}

xdr_struct! {
    /// `nfs_impl_id4`: an implementation.
    pub struct NfsImplId4<'a> {
        /// Domain of the maker.
        domain: &'a [u8] => MAX_OWNER,
        /// Name and version.
        name: &'a [u8] => MAX_OWNER,
        /// When it was made.
        date: Nfstime4,
    }
}

xdr_struct! {
    /// `server_owner4`: connections to one owner may share sessions (`major_id`) or client IDs.
    pub struct ServerOwner4<'a> {
        /// Part of the server.
        minor_id: u64,
        /// The server.
        major_id: &'a [u8] => MAX_OWNER,
    }
}

xdr_struct! {
    /// Arguments of EXCHANGE_ID.
    pub struct ExchangeIdArgs<'a> {
        /// The client.
        clientowner: ClientOwner4<'a>,
        /// Bits of [`exchgid`].
        flags: u32,
        /// Protection of its state.
        state_protect: StateProtect4A<'a>,
        /// What it is, if it says so.
        client_impl_id: Option<NfsImplId4<'a>>,
    }
}

xdr_struct! {
    /// What EXCHANGE_ID returns.
    pub struct ExchangeIdOk<'a> {
        /// The client ID.
        clientid: Clientid4,
        /// The sequence number of the first CREATE_SESSION.
        sequenceid: u32,
        /// Bits of [`exchgid`].
        flags: u32,
        /// Protection of its state.
        state_protect: StateProtect4R<'a>,
        /// The server.
        server_owner: ServerOwner4<'a>,
        /// Servers of one scope know each other's client IDs and handles.
        server_scope: &'a [u8] => MAX_OWNER,
        /// What the server is, if it says so.
        server_impl_id: Option<NfsImplId4<'a>>,
    }
}

/// Results of EXCHANGE_ID.
pub type ExchangeIdRes<'a> = Res<ExchangeIdOk<'a>>;

xdr_struct! {
    /// Arguments of CREATE_SESSION.
    pub struct CreateSessionArgs<'a> {
        /// The client.
        clientid: Clientid4,
        /// Sequence number of the client ID.
        sequence: u32,
        /// Bits of [`create_session`].
        flags: u32,
        /// Limits for calls.
        fore_chan_attrs: ChannelAttrs4,
        /// Limits for callbacks.
        back_chan_attrs: ChannelAttrs4,
        /// Program number of callbacks.
        cb_program: u32,
        /// Credentials of callbacks.
        sec_parms: SecParms<'a>,
    }
}

xdr_struct! {
    /// What CREATE_SESSION returns.
    pub struct CreateSessionOk {
        /// The session.
        sessionid: Sessionid4,
        /// Sequence number of the client ID.
        sequence: u32,
        /// Bits of [`create_session`].
        flags: u32,
        /// Limits for calls, as granted.
        fore_chan_attrs: ChannelAttrs4,
        /// Limits for callbacks, as granted.
        back_chan_attrs: ChannelAttrs4,
    }
}

/// Results of CREATE_SESSION.
pub type CreateSessionRes = Res<CreateSessionOk>;

xdr_struct! {
    /// Arguments of DESTROY_SESSION.
    pub struct DestroySessionArgs {
        /// The session.
        sessionid: Sessionid4,
    }
}

/// Results of DESTROY_SESSION.
pub type DestroySessionRes = Res<()>;

xdr_struct! {
    /// Arguments of DESTROY_CLIENTID.
    pub struct DestroyClientidArgs {
        /// The client.
        clientid: Clientid4,
    }
}

/// Results of DESTROY_CLIENTID.
pub type DestroyClientidRes = Res<()>;

xdr_struct! {
    /// Arguments of RECLAIM_COMPLETE.
    pub struct ReclaimCompleteArgs {
        /// Of the current file handle's file system alone.
        one_fs: bool,
    }
}

/// Results of RECLAIM_COMPLETE.
pub type ReclaimCompleteRes = Res<()>;

xdr_struct! {
    /// Arguments of SEQUENCE.
    pub struct SequenceArgs {
        /// The session.
        sessionid: Sessionid4,
        /// Sequence number of the slot.
        sequenceid: u32,
        /// The slot.
        slotid: u32,
        /// The highest slot in use.
        highest_slotid: u32,
        /// Whether the reply shall be kept for a retry.
        cachethis: bool,
    }
}

xdr_struct! {
    /// What SEQUENCE returns.
    pub struct SequenceOk {
        /// The session.
        sessionid: Sessionid4,
        /// Sequence number of the slot.
        sequenceid: u32,
        /// The slot.
        slotid: u32,
        /// The highest slot that the server has.
        highest_slotid: u32,
        /// The highest slot that the client shall use.
        target_highest_slotid: u32,
        /// Bits of [`seq4_status`].
        status_flags: u32,
    }
}

/// Results of SEQUENCE.
pub type SequenceRes = Res<SequenceOk>;
