//! `nfsstat4`: what became of an operation (RFC 7531, RFC 5662, RFC 7863, RFC 8276).

use crate::xdr::{Decode, DecodeError, DecodeFailure, Decoder, Encode, Encoder};

xdr_status! {
    /// `nfsstat4`: what became of an operation, in any minor version.
    pub enum Nfsstat4("NFS4ERR_UNKNOWN") {
        /// Done.
        Ok = 0 "NFS4_OK" "done",
        /// Only the owner or root may do this.
        Perm = 1 "NFS4ERR_PERM" "only the owner or root may do this; check UID and root squashing on the export",
        /// The name does not exist.
        Noent = 2 "NFS4ERR_NOENT" "the name does not exist; another process may have removed it",
        /// The server could not read or write its storage.
        Io = 5 "NFS4ERR_IO" "the server could not read or write its storage; look at its log",
        /// The server's device is not there, or SEEK found no data or hole.
        Nxio = 6 "NFS4ERR_NXIO" "the server's device is not there, or SEEK found no data or hole",
        /// The mode bits refuse this uid and gid.
        Access = 13 "NFS4ERR_ACCESS" "the mode bits refuse this uid and gid; check UID, GID and root squashing on the export",
        /// The name exists already.
        Exist = 17 "NFS4ERR_EXIST" "the name exists already; an earlier run may have left it: `filermark stop -r RC -s SUFFIX` removes that, or choose another suffix (-s)",
        /// Source and target are on different file systems.
        Xdev = 18 "NFS4ERR_XDEV" "source and target are on different file systems",
        /// A directory was expected here.
        Notdir = 20 "NFS4ERR_NOTDIR" "a directory was expected here",
        /// A file was expected here, this is a directory.
        Isdir = 21 "NFS4ERR_ISDIR" "a file was expected here, this is a directory",
        /// The server calls an argument invalid.
        Inval = 22 "NFS4ERR_INVAL" "the server calls an argument invalid",
        /// The file would be larger than the server allows.
        Fbig = 27 "NFS4ERR_FBIG" "the file would be larger than the server allows; see the attribute maxfilesize",
        /// The server's disk is full.
        Nospc = 28 "NFS4ERR_NOSPC" "the server's disk is full; free space there, or measure less load (a smaller file set)",
        /// The export is read-only.
        Rofs = 30 "NFS4ERR_ROFS" "the export is read-only; export it read-write",
        /// The file has as many hard links as the server allows.
        Mlink = 31 "NFS4ERR_MLINK" "the file has as many hard links as the server allows",
        /// The name is too long for the server.
        Nametoolong = 63 "NFS4ERR_NAMETOOLONG" "the name is too long for the server; see the attribute maxname",
        /// The directory is not empty.
        Notempty = 66 "NFS4ERR_NOTEMPTY" "the directory is not empty",
        /// The user's quota is used up.
        Dquot = 69 "NFS4ERR_DQUOT" "the user's quota is used up; raise it or measure less load",
        /// The file behind the handle is gone.
        Stale = 70 "NFS4ERR_STALE" "the file behind the handle is gone; the export may have been remade, mount again",
        /// The server did not make this handle.
        Badhandle = 10001 "NFS4ERR_BADHANDLE" "the server did not make this handle",
        /// The directory changed while it was listed.
        BadCookie = 10003 "NFS4ERR_BAD_COOKIE" "the directory changed while it was listed; list it from the start",
        /// The server does not support this operation here.
        Notsupp = 10004 "NFS4ERR_NOTSUPP" "the server does not support this operation here",
        /// The requested reply size is too small for the result.
        Toosmall = 10005 "NFS4ERR_TOOSMALL" "the requested reply size is too small for the result",
        /// The server failed in a way it has no code for.
        Serverfault = 10006 "NFS4ERR_SERVERFAULT" "the server failed in a way it has no code for; look at its log",
        /// The server cannot create objects of this type.
        Badtype = 10007 "NFS4ERR_BADTYPE" "the server cannot create objects of this type",
        /// The server needs time (slow storage, a delegation that is recalled).
        Delay = 10008 "NFS4ERR_DELAY" "the server needs time (slow storage, a delegation that is recalled); the call is to be sent again later",
        /// NVERIFY: the attributes are the same.
        Same = 10009 "NFS4ERR_SAME" "NVERIFY: the attributes are the same",
        /// Another owner holds a lock on this range.
        Denied = 10010 "NFS4ERR_DENIED" "another owner holds a lock on this range",
        /// The lease has expired and the server dropped the state.
        Expired = 10011 "NFS4ERR_EXPIRED" "the lease has expired and the server dropped the state; the client was silent for too long",
        /// Another owner holds a lock that forbids this transfer.
        Locked = 10012 "NFS4ERR_LOCKED" "another owner holds a lock that forbids this transfer",
        /// The server has restarted and waits for clients to reclaim their state.
        Grace = 10013 "NFS4ERR_GRACE" "the server has restarted and waits for clients to reclaim their state; wait for the end of its grace period",
        /// The file handle has expired.
        Fhexpired = 10014 "NFS4ERR_FHEXPIRED" "the file handle has expired; look the name up again",
        /// Another owner has opened the file and denies this access.
        ShareDenied = 10015 "NFS4ERR_SHARE_DENIED" "another owner has opened the file and denies this access",
        /// The export requires another security flavor.
        Wrongsec = 10016 "NFS4ERR_WRONGSEC" "the export requires another security flavor; see the answer to SECINFO",
        /// Another client uses this client name.
        ClidInuse = 10017 "NFS4ERR_CLID_INUSE" "another client uses this client name",
        /// The server ran out of a resource for this COMPOUND.
        Resource = 10018 "NFS4ERR_RESOURCE" "the server ran out of a resource for this COMPOUND; send fewer operations in one",
        /// The file system has moved to another server.
        Moved = 10019 "NFS4ERR_MOVED" "the file system has moved to another server",
        /// The COMPOUND has not set a current file handle.
        Nofilehandle = 10020 "NFS4ERR_NOFILEHANDLE" "the COMPOUND has not set a current file handle",
        /// The server does not have this minor version.
        MinorVersMismatch = 10021 "NFS4ERR_MINOR_VERS_MISMATCH" "the server does not have this minor version; choose another NFS_VERSION",
        /// The server does not know the client ID, as after its restart.
        StaleClientid = 10022 "NFS4ERR_STALE_CLIENTID" "the server does not know the client ID, as after its restart; the client must get a new one",
        /// The stateid is from before the server's restart.
        StaleStateid = 10023 "NFS4ERR_STALE_STATEID" "the stateid is from before the server's restart",
        /// The stateid has been replaced by a newer one.
        OldStateid = 10024 "NFS4ERR_OLD_STATEID" "the stateid has been replaced by a newer one",
        /// The server does not know the stateid.
        BadStateid = 10025 "NFS4ERR_BAD_STATEID" "the server does not know the stateid",
        /// The sequence number of the owner is not the expected one (NFSv4.0).
        BadSeqid = 10026 "NFS4ERR_BAD_SEQID" "the sequence number of the owner is not the expected one (NFSv4.0)",
        /// VERIFY: the attributes differ.
        NotSame = 10027 "NFS4ERR_NOT_SAME" "VERIFY: the attributes differ",
        /// The server cannot lock part of a locked range.
        LockRange = 10028 "NFS4ERR_LOCK_RANGE" "the server cannot lock part of a locked range",
        /// The name is a symbolic link.
        Symlink = 10029 "NFS4ERR_SYMLINK" "the name is a symbolic link",
        /// The COMPOUND has not saved a file handle.
        Restorefh = 10030 "NFS4ERR_RESTOREFH" "the COMPOUND has not saved a file handle",
        /// A file system of this lease has moved to another server.
        LeaseMoved = 10031 "NFS4ERR_LEASE_MOVED" "a file system of this lease has moved to another server",
        /// The server does not support one of the attributes.
        Attrnotsupp = 10032 "NFS4ERR_ATTRNOTSUPP" "the server does not support one of the attributes",
        /// State cannot be reclaimed: the server's grace period is over.
        NoGrace = 10033 "NFS4ERR_NO_GRACE" "state cannot be reclaimed: the server's grace period is over",
        /// The server does not accept this claim to earlier state.
        ReclaimBad = 10034 "NFS4ERR_RECLAIM_BAD" "the server does not accept this claim to earlier state",
        /// Another client holds state that conflicts with the claim.
        ReclaimConflict = 10035 "NFS4ERR_RECLAIM_CONFLICT" "another client holds state that conflicts with the claim",
        /// The server could not decode the arguments.
        Badxdr = 10036 "NFS4ERR_BADXDR" "the server could not decode the arguments",
        /// Locks are still held under this open or lock owner.
        LocksHeld = 10037 "NFS4ERR_LOCKS_HELD" "locks are still held under this open or lock owner",
        /// The file was not opened for this access.
        Openmode = 10038 "NFS4ERR_OPENMODE" "the file was not opened for this access",
        /// The server cannot map the owner or group to an ID.
        Badowner = 10039 "NFS4ERR_BADOWNER" "the server cannot map the owner or group to an ID; check its ID mapping",
        /// The server does not accept a character of the name.
        Badchar = 10040 "NFS4ERR_BADCHAR" "the server does not accept a character of the name",
        /// The server does not accept the name.
        Badname = 10041 "NFS4ERR_BADNAME" "the server does not accept the name",
        /// The server cannot lock this range.
        BadRange = 10042 "NFS4ERR_BAD_RANGE" "the server cannot lock this range; it may have 32 bits for it",
        /// The server cannot change a held lock to another kind without a gap.
        LockNotsupp = 10043 "NFS4ERR_LOCK_NOTSUPP" "the server cannot change a held lock to another kind without a gap",
        /// The minor version does not have this operation.
        OpIllegal = 10044 "NFS4ERR_OP_ILLEGAL" "the minor version does not have this operation",
        /// The lock would make two owners wait for each other.
        Deadlock = 10045 "NFS4ERR_DEADLOCK" "the lock would make two owners wait for each other",
        /// The file is open, and the server does not allow this meanwhile.
        FileOpen = 10046 "NFS4ERR_FILE_OPEN" "the file is open, and the server does not allow this meanwhile",
        /// An administrator of the server revoked the state.
        AdminRevoked = 10047 "NFS4ERR_ADMIN_REVOKED" "an administrator of the server revoked the state",
        /// The server cannot reach the client for callbacks.
        CbPathDown = 10048 "NFS4ERR_CB_PATH_DOWN" "the server cannot reach the client for callbacks",
        /// The layout is not for this kind of access.
        Badiomode = 10049 "NFS4ERR_BADIOMODE" "the layout is not for this kind of access",
        /// The layout is invalid.
        Badlayout = 10050 "NFS4ERR_BADLAYOUT" "the layout is invalid",
        /// The digest of the SSV is not the expected one.
        BadSessionDigest = 10051 "NFS4ERR_BAD_SESSION_DIGEST" "the digest of the SSV is not the expected one",
        /// The server does not know the session.
        Badsession = 10052 "NFS4ERR_BADSESSION" "the server does not know the session; the client must create a new one",
        /// The slot is above the session's last one.
        Badslot = 10053 "NFS4ERR_BADSLOT" "the slot is above the session's last one",
        /// RECLAIM_COMPLETE was already sent.
        CompleteAlready = 10054 "NFS4ERR_COMPLETE_ALREADY" "RECLAIM_COMPLETE was already sent",
        /// The connection is not bound to the session.
        ConnNotBoundToSession = 10055 "NFS4ERR_CONN_NOT_BOUND_TO_SESSION" "the connection is not bound to the session; BIND_CONN_TO_SESSION is to be sent first",
        /// The client has already asked for this delegation.
        DelegAlreadyWanted = 10056 "NFS4ERR_DELEG_ALREADY_WANTED" "the client has already asked for this delegation",
        /// Callbacks are in progress on the session.
        BackChanBusy = 10057 "NFS4ERR_BACK_CHAN_BUSY" "callbacks are in progress on the session",
        /// The server cannot give the layout now.
        Layouttrylater = 10058 "NFS4ERR_LAYOUTTRYLATER" "the server cannot give the layout now; the call is to be sent again later",
        /// The server gives no layouts for this file.
        Layoutunavailable = 10059 "NFS4ERR_LAYOUTUNAVAILABLE" "the server gives no layouts for this file",
        /// The client has no such layout.
        NomatchingLayout = 10060 "NFS4ERR_NOMATCHING_LAYOUT" "the client has no such layout",
        /// The layout conflicts with one that is recalled.
        Recallconflict = 10061 "NFS4ERR_RECALLCONFLICT" "the layout conflicts with one that is recalled",
        /// The server does not have this type of layout.
        UnknownLayouttype = 10062 "NFS4ERR_UNKNOWN_LAYOUTTYPE" "the server does not have this type of layout",
        /// The sequence number of the slot is not the expected one.
        SeqMisordered = 10063 "NFS4ERR_SEQ_MISORDERED" "the sequence number of the slot is not the expected one",
        /// SEQUENCE must be the first operation, and only there.
        SequencePos = 10064 "NFS4ERR_SEQUENCE_POS" "SEQUENCE must be the first operation, and only there",
        /// The request is longer than the session allows.
        ReqTooBig = 10065 "NFS4ERR_REQ_TOO_BIG" "the request is longer than the session allows",
        /// The reply would be longer than the session allows.
        RepTooBig = 10066 "NFS4ERR_REP_TOO_BIG" "the reply would be longer than the session allows",
        /// The reply would be longer than the session's cache allows.
        RepTooBigToCache = 10067 "NFS4ERR_REP_TOO_BIG_TO_CACHE" "the reply would be longer than the session's cache allows",
        /// The server has not kept the reply of the request that was sent again.
        RetryUncachedRep = 10068 "NFS4ERR_RETRY_UNCACHED_REP" "the server has not kept the reply of the request that was sent again",
        /// The COMPOUND would need state that a retry does not have.
        UnsafeCompound = 10069 "NFS4ERR_UNSAFE_COMPOUND" "the COMPOUND would need state that a retry does not have",
        /// The COMPOUND has more operations than the session allows.
        TooManyOps = 10070 "NFS4ERR_TOO_MANY_OPS" "the COMPOUND has more operations than the session allows",
        /// The operation needs a SEQUENCE before it.
        OpNotInSession = 10071 "NFS4ERR_OP_NOT_IN_SESSION" "the operation needs a SEQUENCE before it",
        /// The server does not have this hash algorithm.
        HashAlgUnsupp = 10072 "NFS4ERR_HASH_ALG_UNSUPP" "the server does not have this hash algorithm",
        /// The client ID still has sessions or state.
        ClientidBusy = 10074 "NFS4ERR_CLIENTID_BUSY" "the client ID still has sessions or state",
        /// The data server has no data for this offset of the layout.
        PnfsIoHole = 10075 "NFS4ERR_PNFS_IO_HOLE" "the data server has no data for this offset of the layout",
        /// The request has the sequence number of an earlier one but other contents.
        SeqFalseRetry = 10076 "NFS4ERR_SEQ_FALSE_RETRY" "the request has the sequence number of an earlier one but other contents",
        /// The highest slot of SEQUENCE is too high.
        BadHighSlot = 10077 "NFS4ERR_BAD_HIGH_SLOT" "the highest slot of SEQUENCE is too high",
        /// The session is about to end.
        Deadsession = 10078 "NFS4ERR_DEADSESSION" "the session is about to end; the client must create a new one",
        /// The server does not have this encryption algorithm.
        EncrAlgUnsupp = 10079 "NFS4ERR_ENCR_ALG_UNSUPP" "the server does not have this encryption algorithm",
        /// The data server needs a layout for this transfer.
        PnfsNoLayout = 10080 "NFS4ERR_PNFS_NO_LAYOUT" "the data server needs a layout for this transfer",
        /// The operation must be the only one of its COMPOUND.
        NotOnlyOp = 10081 "NFS4ERR_NOT_ONLY_OP" "the operation must be the only one of its COMPOUND",
        /// The credential is not that of the client ID.
        WrongCred = 10082 "NFS4ERR_WRONG_CRED" "the credential is not that of the client ID",
        /// The object is of the wrong type for this operation.
        WrongType = 10083 "NFS4ERR_WRONG_TYPE" "the object is of the wrong type for this operation",
        /// The server gives no delegation of this directory.
        DirdelegUnavail = 10084 "NFS4ERR_DIRDELEG_UNAVAIL" "the server gives no delegation of this directory",
        /// The client does not accept the delegation.
        RejectDeleg = 10085 "NFS4ERR_REJECT_DELEG" "the client does not accept the delegation",
        /// The layout conflicts with one that is being returned.
        Returnconflict = 10086 "NFS4ERR_RETURNCONFLICT" "the layout conflicts with one that is being returned",
        /// The server revoked the delegation.
        DelegRevoked = 10087 "NFS4ERR_DELEG_REVOKED" "the server revoked the delegation",
        /// The other server does not support this copy.
        PartnerNotsupp = 10088 "NFS4ERR_PARTNER_NOTSUPP" "the other server does not support this copy",
        /// The other server does not authorize this copy.
        PartnerNoAuth = 10089 "NFS4ERR_PARTNER_NO_AUTH" "the other server does not authorize this copy",
        /// The server does not have this arm of the union.
        UnionNotsupp = 10090 "NFS4ERR_UNION_NOTSUPP" "the server does not have this arm of the union",
        /// The server does not allow this copy.
        OffloadDenied = 10091 "NFS4ERR_OFFLOAD_DENIED" "the server does not allow this copy",
        /// The server does not support the format of this label.
        WrongLfs = 10092 "NFS4ERR_WRONG_LFS" "the server does not support the format of this label",
        /// The server does not accept the label.
        Badlabel = 10093 "NFS4ERR_BADLABEL" "the server does not accept the label",
        /// The server cannot copy in the way that the client requires.
        OffloadNoReqs = 10094 "NFS4ERR_OFFLOAD_NO_REQS" "the server cannot copy in the way that the client requires",
        /// The extended attribute does not exist.
        Noxattr = 10095 "NFS4ERR_NOXATTR" "the extended attribute does not exist",
        /// The extended attribute is too long for the file system.
        Xattr2big = 10096 "NFS4ERR_XATTR2BIG" "the extended attribute is too long for the file system",
    }
}

impl Nfsstat4 {
    /// Whether an operation of version 4.0 with this status has used the sequence number of its owner
    /// (RFC 7530 section 9.1.7).
    pub const fn uses_seqid(self) -> bool {
        !matches!(
            self,
            Self::StaleClientid
                | Self::StaleStateid
                | Self::BadStateid
                | Self::BadSeqid
                | Self::Badxdr
                | Self::Resource
                | Self::Nofilehandle
                | Self::Moved
        )
    }
}

/// Results of an operation: a union on the status. What a few operations return beside a failure has
/// types of its own.
pub type Res<O> = Result<O, Nfsstat4>;

impl DecodeFailure<'_> for Nfsstat4 {
    const STATUS: &'static str = "nfsstat4";

    #[inline]
    fn decode_failure(status: u32, _d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from_u32(status))
    }
}

impl std::error::Error for Nfsstat4 {}

/// A failure of an operation that returns a `T` beside the status with number `STATUS`, and nothing
/// beside any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed4<T, const STATUS: u32> {
    /// The status with this number, and what the operation returns with it.
    With(T),
    /// Another status; neither that nor [`Nfsstat4::Ok`].
    Status(Nfsstat4),
}

impl<T, const STATUS: u32> Failed4<T, STATUS> {
    /// Why the operation failed.
    pub const fn status(&self) -> Nfsstat4 {
        match self {
            Self::With(_) => Nfsstat4::from_u32(STATUS),
            Self::Status(status) => *status,
        }
    }
}

impl<T: Encode, const STATUS: u32> Encode for Failed4<T, STATUS> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.put(&self.status());
        match self {
            Self::With(info) => e.put(info),
            Self::Status(status) => debug_assert!(status.to_u32() != STATUS, "{status} has more"),
        }
    }
}

impl<'a, T: Decode<'a>, const STATUS: u32> DecodeFailure<'a> for Failed4<T, STATUS> {
    const STATUS: &'static str = "nfsstat4";

    fn decode_failure(status: u32, d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        if status == STATUS {
            T::decode(d).map(Self::With)
        } else {
            Ok(Self::Status(Nfsstat4::from_u32(status)))
        }
    }
}
