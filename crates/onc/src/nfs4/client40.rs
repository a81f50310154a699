//! Client IDs of minor version 0 (RFC 7530 sections 16.29, 16.33, 16.34 and 16.37): arguments and results,
//! field by field in the RFC's order.

use super::Verf;
use super::basic::Netaddr4;
use super::state::{ClientOwner4, Clientid4, StateOwner4};
use super::status::{Failed4, Res};

xdr_struct! {
    /// `cb_client4`: where callbacks go.
    pub struct CbClient4<'a> {
        /// Program number.
        cb_program: u32,
        /// Address.
        cb_location: Netaddr4<'a>,
    }
}

xdr_struct! {
    /// Arguments of SETCLIENTID.
    pub struct SetclientidArgs<'a> {
        /// The client.
        client: ClientOwner4<'a>,
        /// Where callbacks go.
        callback: CbClient4<'a>,
        /// To be sent in each callback.
        callback_ident: u32,
    }
}

xdr_struct! {
    /// What SETCLIENTID returns.
    pub struct SetclientidOk {
        /// The client ID.
        clientid: Clientid4,
        /// To be sent in SETCLIENTID_CONFIRM.
        setclientid_confirm: Verf,
    }
}

/// SETCLIENTID failed: with NFS4ERR_CLID_INUSE there is the address of the other client.
pub type SetclientidFailed<'a> = Failed4<Netaddr4<'a>, 10017>;

/// Results of SETCLIENTID.
pub type SetclientidRes<'a> = Result<SetclientidOk, SetclientidFailed<'a>>;

xdr_struct! {
    /// Arguments of SETCLIENTID_CONFIRM.
    pub struct SetclientidConfirmArgs {
        /// The client ID.
        clientid: Clientid4,
        /// What SETCLIENTID returned.
        setclientid_confirm: Verf,
    }
}

/// Results of SETCLIENTID_CONFIRM.
pub type SetclientidConfirmRes = Res<()>;

xdr_struct! {
    /// Arguments of RENEW.
    pub struct RenewArgs {
        /// The client whose lease is renewed.
        clientid: Clientid4,
    }
}

/// Results of RENEW.
pub type RenewRes = Res<()>;

xdr_struct! {
    /// Arguments of RELEASE_LOCKOWNER.
    pub struct ReleaseLockownerArgs<'a> {
        /// Who will not lock any more.
        lock_owner: StateOwner4<'a>,
    }
}

/// Results of RELEASE_LOCKOWNER.
pub type ReleaseLockownerRes = Res<()>;
