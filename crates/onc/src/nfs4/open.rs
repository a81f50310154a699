//! OPEN and the operations on what it opened (RFC 8881 sections 18.2, 18.16 and 18.18, RFC 7530 section
//! 16.18): arguments and results, field by field in the RFC's order.

use super::attribute::Bitmap4;
use super::basic::ChangeInfo4;
use super::delegation::{OpenDelegation4, OpenDelegationType4};
use super::fattr::Fattr4;
use super::state::{StateOwner4, Stateid4};
use super::status::Res;
use super::{MAX_NAME, Verf};

/// Bits of OPEN's `share_access` and `share_deny`.
pub mod share {
    /// Read. (Of `share_deny`: others may not read.)
    pub const READ: u32 = 1;
    /// Write. (Of `share_deny`: others may not write.)
    pub const WRITE: u32 = 2;
    /// Both.
    pub const BOTH: u32 = 3;
    /// Delegation: any for reading.
    pub const WANT_READ_DELEG: u32 = 0x0100;
    /// Delegation: any for writing.
    pub const WANT_WRITE_DELEG: u32 = 0x0200;
    /// Delegation: any.
    pub const WANT_ANY_DELEG: u32 = 0x0300;
    /// Delegation: none.
    pub const WANT_NO_DELEG: u32 = 0x0400;
    /// Delegation: no longer.
    pub const WANT_CANCEL: u32 = 0x0500;
    /// A delegation that cannot be given now is to be signaled later.
    pub const WANT_SIGNAL_DELEG_WHEN_RESRC_AVAIL: u32 = 0x0001_0000;
    /// A delegation that cannot be given now is to be pushed later.
    pub const WANT_PUSH_DELEG_WHEN_UNCONTENDED: u32 = 0x0002_0000;
}

/// Bits of OPEN's `rflags`.
pub mod open_result {
    /// The stateid needs OPEN_CONFIRM (minor version 0).
    pub const CONFIRM: u32 = 0x0002;
    /// Locks follow POSIX.
    pub const LOCKTYPE_POSIX: u32 = 0x0004;
    /// The server keeps a removed file while it is open.
    pub const PRESERVE_UNLINKED: u32 = 0x0008;
    /// The server can send CB_NOTIFY_LOCK.
    pub const MAY_NOTIFY_LOCK: u32 = 0x0020;
}

xdr_struct! {
    /// `creatverfattr`: an exclusive creation with attributes.
    pub struct Creatverfattr<'a> {
        /// Names the creation.
        verf: Verf,
        /// The first attributes.
        attrs: Fattr4<'a>,
    }
}

xdr_union! {
    /// `createhow4`: what OPEN does with a name that exists.
    pub enum Createhow4<'a> {
        /// Takes the file that is there.
        Unchecked(Fattr4<'a>) = 0,
        /// Fails.
        Guarded(Fattr4<'a>) = 1,
        /// Fails unless an earlier call with the same verifier made it.
        Exclusive(Verf) = 2,
        /// The same, and sets attributes (minor version 1 and later).
        Exclusive41(Creatverfattr<'a>) = 3,
    }
}

xdr_union! {
    /// `openflag4`: whether OPEN creates.
    pub enum Openflag4<'a> {
        /// It does not.
        NoCreate = 0,
        /// It does.
        Create(Createhow4<'a>) = 1,
    }
}

xdr_struct! {
    /// `open_claim_delegate_cur4`: an open that a delegation allowed.
    pub struct OpenClaimDelegateCur4<'a> {
        /// The delegation.
        delegate_stateid: Stateid4,
        /// The name.
        file: &'a [u8] => MAX_NAME,
    }
}

xdr_union! {
    /// `open_claim4`: what is opened, and by which right.
    pub enum OpenClaim4<'a> {
        /// The name in the current directory.
        Null(&'a [u8] => MAX_NAME) = 0,
        /// The current file, which was open before the server's restart.
        Previous(OpenDelegationType4) = 1,
        /// The name, by a delegation.
        DelegateCur(OpenClaimDelegateCur4<'a>) = 2,
        /// The name, by a delegation from before the client's restart.
        DelegatePrev(&'a [u8] => MAX_NAME) = 3,
        /// The current file (minor version 1 and later).
        Fh = 4,
        /// The current file, by a delegation (minor version 1 and later).
        DelegCurFh(Stateid4) = 5,
        /// The current file, by a delegation from before the client's restart (minor version 1 and later).
        DelegPrevFh = 6,
    }
}

xdr_struct! {
    /// Arguments of OPEN.
    pub struct OpenArgs<'a> {
        /// Sequence number of the owner (minor version 0).
        seqid: u32,
        /// Bits of [`share`].
        share_access: u32,
        /// Bits of [`share`].
        share_deny: u32,
        /// Who opens.
        owner: StateOwner4<'a>,
        /// Whether and how to create.
        openhow: Openflag4<'a>,
        /// What is opened.
        claim: OpenClaim4<'a>,
    }
}

xdr_struct! {
    /// What OPEN returns.
    pub struct OpenOk<'a> {
        /// The open.
        stateid: Stateid4,
        /// The directory.
        cinfo: ChangeInfo4,
        /// Bits of [`open_result`].
        rflags: u32,
        /// What was set.
        attrset: Bitmap4,
        /// The delegation, if there is one.
        delegation: OpenDelegation4<'a>,
    }
}

/// Results of OPEN.
pub type OpenRes<'a> = Res<OpenOk<'a>>;

xdr_struct! {
    /// Arguments of OPEN_CONFIRM.
    pub struct OpenConfirmArgs {
        /// The open.
        open_stateid: Stateid4,
        /// Sequence number of the owner.
        seqid: u32,
    }
}

xdr_struct! {
    /// What OPEN_CONFIRM returns.
    pub struct OpenConfirmOk {
        /// The open.
        open_stateid: Stateid4,
    }
}

/// Results of OPEN_CONFIRM.
pub type OpenConfirmRes = Res<OpenConfirmOk>;

xdr_struct! {
    /// Arguments of OPEN_DOWNGRADE.
    pub struct OpenDowngradeArgs {
        /// The open.
        open_stateid: Stateid4,
        /// Sequence number of the owner (minor version 0).
        seqid: u32,
        /// Bits of [`share`] that stay.
        share_access: u32,
        /// Bits of [`share`] that stay.
        share_deny: u32,
    }
}

xdr_struct! {
    /// What OPEN_DOWNGRADE returns.
    pub struct OpenDowngradeOk {
        /// The open.
        open_stateid: Stateid4,
    }
}

/// Results of OPEN_DOWNGRADE.
pub type OpenDowngradeRes = Res<OpenDowngradeOk>;

xdr_struct! {
    /// Arguments of CLOSE.
    pub struct CloseArgs {
        /// Sequence number of the owner (minor version 0).
        seqid: u32,
        /// The open.
        open_stateid: Stateid4,
    }
}

xdr_struct! {
    /// What CLOSE returns.
    pub struct CloseOk {
        /// To be ignored.
        open_stateid: Stateid4,
    }
}

/// Results of CLOSE.
pub type CloseRes = Res<CloseOk>;
