//! What names state on a server: client IDs, sessions, stateids, owners (RFC 7530 section 9, RFC 8881
//! sections 2.4 and 8), and the operations on stateids alone.

use super::status::{Nfsstat4, Res};
use super::{MAX_OWNER, MAX_STATEIDS, Verf};
use crate::xdr::Array;

/// `clientid4`: a client as the server numbers it.
pub type Clientid4 = u64;
/// `sessionid4`: a session.
pub type Sessionid4 = [u8; 16];

xdr_struct! {
    /// `stateid4`: an open, a lock, a delegation or a layout.
    #[derive(Default, Hash)]
    pub struct Stateid4 {
        /// Version of the state; grows with each change.
        seqid: u32,
        /// What names it.
        other: [u8; 12],
    }
}

impl Stateid4 {
    /// No state: READ, WRITE and SETATTR without an open.
    pub const ANONYMOUS: Self = Self {
        seqid: 0,
        other: [0; 12],
    };
    /// No state, and locks do not hinder a READ.
    pub const READ_BYPASS: Self = Self {
        seqid: u32::MAX,
        other: [0xff; 12],
    };
    /// The stateid of an earlier operation in the COMPOUND (minor version 1 and later).
    pub const CURRENT: Self = Self {
        seqid: 1,
        other: [0; 12],
    };
    /// Never valid: DELEGRETURN and CLOSE return it (minor version 1 and later).
    pub const INVALID: Self = Self {
        seqid: u32::MAX,
        other: [0; 12],
    };

    /// Whether it is one of the four special ones.
    pub fn is_special(&self) -> bool {
        [
            Self::ANONYMOUS,
            Self::READ_BYPASS,
            Self::CURRENT,
            Self::INVALID,
        ]
        .contains(self)
    }
}

xdr_struct! {
    /// `open_owner4`, `lock_owner4`: who opens or locks.
    pub struct StateOwner4<'a> {
        /// The client; ignored in a session.
        clientid: Clientid4,
        /// Name of the owner within the client.
        owner: &'a [u8] => MAX_OWNER,
    }
}

xdr_struct! {
    /// `client_owner4`, `nfs_client_id4`: who asks for a client ID.
    pub struct ClientOwner4<'a> {
        /// Changes with each start of the client.
        verifier: Verf,
        /// Name of the client.
        ownerid: &'a [u8] => MAX_OWNER,
    }
}

xdr_struct! {
    /// Arguments of FREE_STATEID.
    pub struct FreeStateidArgs {
        /// The state.
        stateid: Stateid4,
    }
}

/// Results of FREE_STATEID.
pub type FreeStateidRes = Res<()>;

xdr_struct! {
    /// Arguments of TEST_STATEID.
    pub struct TestStateidArgs<'a> {
        /// The states.
        stateids: Array<'a, Stateid4, MAX_STATEIDS>,
    }
}

xdr_struct! {
    /// What TEST_STATEID returns.
    pub struct TestStateidOk<'a> {
        /// A status for each state.
        status_codes: Array<'a, Nfsstat4, MAX_STATEIDS>,
    }
}

/// Results of TEST_STATEID.
pub type TestStateidRes<'a> = Res<TestStateidOk<'a>>;
