//! Delegations: what OPEN returns of them, and the operations on them (RFC 8881 sections 10.4, 18.5, 18.6,
//! 18.39 and 18.49), field by field in the RFC's order.

use super::Verf;
use super::attribute::Bitmap4;
use super::basic::{Nfsace4, Nfstime4};
use super::state::{Clientid4, Stateid4};
use super::status::Res;

xdr_enum! {
    /// `open_delegation_type4`: kind of a delegation.
    pub enum OpenDelegationType4 {
        /// None.
        None = 0 "OPEN_DELEGATE_NONE",
        /// For reading.
        Read = 1 "OPEN_DELEGATE_READ",
        /// For writing.
        Write = 2 "OPEN_DELEGATE_WRITE",
        /// None, with the reason.
        NoneExt = 3 "OPEN_DELEGATE_NONE_EXT",
    }
}

xdr_struct! {
    /// `open_read_delegation4`: a delegation for reading.
    pub struct OpenReadDelegation4<'a> {
        /// The delegation.
        stateid: Stateid4,
        /// Whether it is recalled already.
        recall: bool,
        /// Who may open the file without asking the server.
        permissions: Nfsace4<'a>,
    }
}

xdr_struct! {
    /// `nfs_modified_limit4`: a limit in blocks.
    pub struct NfsModifiedLimit4 {
        /// Blocks.
        num_blocks: u32,
        /// Size of a block, in bytes.
        bytes_per_block: u32,
    }
}

xdr_union! {
    /// `nfs_space_limit4`: how far a client may extend the file.
    pub enum NfsSpaceLimit4 {
        /// To this size, in bytes.
        Size(u64) = 1,
        /// By so many blocks.
        Blocks(NfsModifiedLimit4) = 2,
    }
}

xdr_struct! {
    /// `open_write_delegation4`: a delegation for writing.
    pub struct OpenWriteDelegation4<'a> {
        /// The delegation.
        stateid: Stateid4,
        /// Whether it is recalled already.
        recall: bool,
        /// How far the client may extend the file.
        space_limit: NfsSpaceLimit4,
        /// Who may open the file without asking the server.
        permissions: Nfsace4<'a>,
    }
}

xdr_union! {
    /// `open_none_delegation4`: why there is no delegation.
    pub enum OpenNoneDelegation4 {
        /// The client wants none.
        NotWanted = 0,
        /// Others use the file. Whether the server will push one later.
        Contention(bool) = 1,
        /// The server has no resources for it. Whether it will signal when it has.
        Resource(bool) = 2,
        /// Not for this type of file.
        NotSuppFtype = 3,
        /// Not for writing this type of file.
        WriteDelegNotSuppFtype = 4,
        /// The server cannot upgrade delegations.
        NotSuppUpgrade = 5,
        /// The server cannot downgrade delegations.
        NotSuppDowngrade = 6,
        /// The client has cancelled its wish.
        Cancelled = 7,
        /// It is a directory.
        IsDir = 8,
    }
}

xdr_union! {
    /// `open_delegation4`: what OPEN and WANT_DELEGATION return.
    pub enum OpenDelegation4<'a> {
        /// No delegation.
        None = 0,
        /// For reading.
        Read(OpenReadDelegation4<'a>) = 1,
        /// For writing.
        Write(OpenWriteDelegation4<'a>) = 2,
        /// None, with the reason (minor version 1 and later).
        NoneExt(OpenNoneDelegation4) = 3,
    }
}

xdr_struct! {
    /// Arguments of DELEGPURGE.
    pub struct DelegpurgeArgs {
        /// The client that reclaims no more delegations.
        clientid: Clientid4,
    }
}

/// Results of DELEGPURGE.
pub type DelegpurgeRes = Res<()>;

xdr_struct! {
    /// Arguments of DELEGRETURN.
    pub struct DelegreturnArgs {
        /// The delegation.
        deleg_stateid: Stateid4,
    }
}

/// Results of DELEGRETURN.
pub type DelegreturnRes = Res<()>;

xdr_union! {
    /// `deleg_claim4`: by which right a delegation is asked for.
    pub enum DelegClaim4 {
        /// It was held before the server's restart.
        Previous(OpenDelegationType4) = 1,
        /// None.
        Fh = 4,
        /// It was held before the client's restart.
        DelegPrevFh = 6,
    }
}

xdr_struct! {
    /// Arguments of WANT_DELEGATION.
    pub struct WantDelegationArgs {
        /// Bits of [`super::share`].
        want: u32,
        /// By which right.
        claim: DelegClaim4,
    }
}

/// Results of WANT_DELEGATION.
pub type WantDelegationRes<'a> = Res<OpenDelegation4<'a>>;

xdr_struct! {
    /// Arguments of GET_DIR_DELEGATION.
    pub struct GetDirDelegationArgs {
        /// A delegation that cannot be given now is to be signaled later.
        signal_deleg_avail: bool,
        /// The notifications asked for.
        notification_types: Bitmap4,
        /// Delay of those about attributes of entries.
        child_attr_delay: Nfstime4,
        /// Delay of those about attributes of the directory.
        dir_attr_delay: Nfstime4,
        /// Attributes of entries.
        child_attributes: Bitmap4,
        /// Attributes of the directory.
        dir_attributes: Bitmap4,
    }
}

xdr_struct! {
    /// A delegation of a directory (`GET_DIR_DELEGATION4resok`).
    pub struct GetDirDelegationGranted {
        /// The verifier of READDIR.
        cookieverf: Verf,
        /// The delegation.
        stateid: Stateid4,
        /// The notifications that will be sent.
        notification: Bitmap4,
        /// Attributes of entries.
        child_attributes: Bitmap4,
        /// Attributes of the directory.
        dir_attributes: Bitmap4,
    }
}

xdr_union! {
    /// `GET_DIR_DELEGATION4res_non_fatal`: a delegation, or none.
    pub enum GetDirDelegationOk {
        /// A delegation (`GDD4_OK`).
        Granted(GetDirDelegationGranted) = 0,
        /// None. Whether the server will signal when there is one (`GDD4_UNAVAIL`).
        Unavail(bool) = 1,
    }
}

/// Results of GET_DIR_DELEGATION.
pub type GetDirDelegationRes = Res<GetDirDelegationOk>;
