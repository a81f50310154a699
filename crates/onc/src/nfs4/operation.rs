//! The operations, with arguments and results.

use super::*;

xdr_struct! {
    /// Arguments of ILLEGAL: none.
    pub struct IllegalArgs {}
}

/// Results of ILLEGAL.
pub type IllegalRes = Res<()>;

/// Every operation of NFSv4: number, name, first and last minor version, arguments and results. Calls the
/// macro `$user` with the list, so that all code with one entry per operation (the codec, a server's
/// dispatch) is generated from this list.
#[macro_export]
macro_rules! nfs4_operations {
    ($user:ident) => {
        $user! {
            /// Checks permissions.
            Access = 3 "ACCESS" [0 2] (AccessArgs) -> AccessRes;
            /// Closes a file.
            Close = 4 "CLOSE" [0 2] (CloseArgs) -> CloseRes;
            /// Commits unstable writes to stable storage.
            Commit = 5 "COMMIT" [0 2] (CommitArgs) -> CommitRes;
            /// Creates an object that is not a file.
            Create = 6 "CREATE" [0 2] (CreateArgs<'a>) -> CreateRes;
            /// Gives up the delegations that were not reclaimed.
            Delegpurge = 7 "DELEGPURGE" [0 2] (DelegpurgeArgs) -> DelegpurgeRes;
            /// Returns a delegation.
            Delegreturn = 8 "DELEGRETURN" [0 2] (DelegreturnArgs) -> DelegreturnRes;
            /// Reads attributes.
            Getattr = 9 "GETATTR" [0 2] (GetattrArgs) -> GetattrRes<'r>;
            /// Reads the current file handle.
            Getfh = 10 "GETFH" [0 2] (GetfhArgs) -> GetfhRes<'r>;
            /// Makes a hard link.
            Link = 11 "LINK" [0 2] (LinkArgs<'a>) -> LinkRes;
            /// Locks a range.
            Lock = 12 "LOCK" [0 2] (LockArgs<'a>) -> LockRes<'r>;
            /// Tests for a lock.
            Lockt = 13 "LOCKT" [0 2] (LocktArgs<'a>) -> LocktRes<'r>;
            /// Unlocks a range.
            Locku = 14 "LOCKU" [0 2] (LockuArgs) -> LockuRes;
            /// Finds a name in a directory.
            Lookup = 15 "LOOKUP" [0 2] (LookupArgs<'a>) -> LookupRes;
            /// Finds the parent directory.
            Lookupp = 16 "LOOKUPP" [0 2] (LookuppArgs) -> LookuppRes;
            /// Goes on if attributes differ.
            Nverify = 17 "NVERIFY" [0 2] (NverifyArgs<'a>) -> NverifyRes;
            /// Opens a file.
            Open = 18 "OPEN" [0 2] (OpenArgs<'a>) -> OpenRes<'r>;
            /// Finds the directory of named attributes.
            Openattr = 19 "OPENATTR" [0 2] (OpenattrArgs) -> OpenattrRes;
            /// Confirms an open.
            OpenConfirm = 20 "OPEN_CONFIRM" [0 0] (OpenConfirmArgs) -> OpenConfirmRes;
            /// Reduces the access of an open.
            OpenDowngrade = 21 "OPEN_DOWNGRADE" [0 2] (OpenDowngradeArgs) -> OpenDowngradeRes;
            /// Sets the current file handle.
            Putfh = 22 "PUTFH" [0 2] (PutfhArgs<'a>) -> PutfhRes;
            /// Sets the public file handle.
            Putpubfh = 23 "PUTPUBFH" [0 2] (PutpubfhArgs) -> PutpubfhRes;
            /// Sets the root's file handle.
            Putrootfh = 24 "PUTROOTFH" [0 2] (PutrootfhArgs) -> PutrootfhRes;
            /// Reads data.
            Read = 25 "READ" [0 2] (ReadArgs) -> ReadRes<'r>;
            /// Lists a directory.
            Readdir = 26 "READDIR" [0 2] (ReaddirArgs) -> ReaddirRes<'r>;
            /// Reads a symbolic link.
            Readlink = 27 "READLINK" [0 2] (ReadlinkArgs) -> ReadlinkRes<'r>;
            /// Removes a file or directory.
            Remove = 28 "REMOVE" [0 2] (RemoveArgs<'a>) -> RemoveRes;
            /// Renames a file or directory.
            Rename = 29 "RENAME" [0 2] (RenameArgs<'a>) -> RenameRes;
            /// Renews the lease.
            Renew = 30 "RENEW" [0 0] (RenewArgs) -> RenewRes;
            /// Sets the saved file handle.
            Restorefh = 31 "RESTOREFH" [0 2] (RestorefhArgs) -> RestorefhRes;
            /// Saves the current file handle.
            Savefh = 32 "SAVEFH" [0 2] (SavefhArgs) -> SavefhRes;
            /// Lists the security flavors of a name.
            Secinfo = 33 "SECINFO" [0 2] (SecinfoArgs<'a>) -> SecinfoRes<'r>;
            /// Sets attributes.
            Setattr = 34 "SETATTR" [0 2] (SetattrArgs<'a>) -> SetattrRes;
            /// Asks for a client ID.
            Setclientid = 35 "SETCLIENTID" [0 0] (SetclientidArgs<'a>) -> SetclientidRes<'r>;
            /// Confirms a client ID.
            SetclientidConfirm = 36 "SETCLIENTID_CONFIRM" [0 0] (SetclientidConfirmArgs) -> SetclientidConfirmRes;
            /// Goes on if attributes are the same.
            Verify = 37 "VERIFY" [0 2] (VerifyArgs<'a>) -> VerifyRes;
            /// Writes data.
            Write = 38 "WRITE" [0 2] (WriteArgs<'a>) -> WriteRes;
            /// Gives up the state of a lock owner.
            ReleaseLockowner = 39 "RELEASE_LOCKOWNER" [0 0] (ReleaseLockownerArgs<'a>) -> ReleaseLockownerRes;
            /// Changes the credentials of callbacks.
            BackchannelCtl = 40 "BACKCHANNEL_CTL" [1 2] (BackchannelCtlArgs<'a>) -> BackchannelCtlRes;
            /// Adds a connection to a session.
            BindConnToSession = 41 "BIND_CONN_TO_SESSION" [1 2] (BindConnToSessionArgs) -> BindConnToSessionRes;
            /// Asks for a client ID.
            ExchangeId = 42 "EXCHANGE_ID" [1 2] (ExchangeIdArgs<'a>) -> ExchangeIdRes<'r>;
            /// Creates a session.
            CreateSession = 43 "CREATE_SESSION" [1 2] (CreateSessionArgs<'a>) -> CreateSessionRes;
            /// Ends a session.
            DestroySession = 44 "DESTROY_SESSION" [1 2] (DestroySessionArgs) -> DestroySessionRes;
            /// Gives up a stateid.
            FreeStateid = 45 "FREE_STATEID" [1 2] (FreeStateidArgs) -> FreeStateidRes;
            /// Asks for a delegation of a directory.
            GetDirDelegation = 46 "GET_DIR_DELEGATION" [1 2] (GetDirDelegationArgs) -> GetDirDelegationRes;
            /// Reads where a data server is.
            Getdeviceinfo = 47 "GETDEVICEINFO" [1 2] (GetdeviceinfoArgs) -> GetdeviceinfoRes<'r>;
            /// Lists data servers.
            Getdevicelist = 48 "GETDEVICELIST" [1 2] (GetdevicelistArgs) -> GetdevicelistRes<'r>;
            /// Commits what was written with a layout.
            Layoutcommit = 49 "LAYOUTCOMMIT" [1 2] (LayoutcommitArgs<'a>) -> LayoutcommitRes;
            /// Asks for a layout.
            Layoutget = 50 "LAYOUTGET" [1 2] (LayoutgetArgs) -> LayoutgetRes<'r>;
            /// Returns layouts.
            Layoutreturn = 51 "LAYOUTRETURN" [1 2] (LayoutreturnArgs<'a>) -> LayoutreturnRes;
            /// Lists the security flavors of the current file handle.
            SecinfoNoName = 52 "SECINFO_NO_NAME" [1 2] (SecinfoNoNameArgs) -> SecinfoNoNameRes<'r>;
            /// Names session and slot.
            Sequence = 53 "SEQUENCE" [1 2] (SequenceArgs) -> SequenceRes;
            /// Changes a shared secret.
            SetSsv = 54 "SET_SSV" [1 2] (SetSsvArgs<'a>) -> SetSsvRes<'r>;
            /// Checks stateids.
            TestStateid = 55 "TEST_STATEID" [1 2] (TestStateidArgs<'a>) -> TestStateidRes<'r>;
            /// Asks for a delegation.
            WantDelegation = 56 "WANT_DELEGATION" [1 2] (WantDelegationArgs) -> WantDelegationRes<'r>;
            /// Gives up a client ID.
            DestroyClientid = 57 "DESTROY_CLIENTID" [1 2] (DestroyClientidArgs) -> DestroyClientidRes;
            /// States that nothing is left to reclaim.
            ReclaimComplete = 58 "RECLAIM_COMPLETE" [1 2] (ReclaimCompleteArgs) -> ReclaimCompleteRes;
            /// Reserves space.
            Allocate = 59 "ALLOCATE" [2 2] (AllocateArgs) -> AllocateRes;
            /// Copies data on the server.
            Copy = 60 "COPY" [2 2] (CopyArgs<'a>) -> CopyRes;
            /// Announces a copy by another server.
            CopyNotify = 61 "COPY_NOTIFY" [2 2] (CopyNotifyArgs<'a>) -> CopyNotifyRes<'r>;
            /// Makes a hole.
            Deallocate = 62 "DEALLOCATE" [2 2] (DeallocateArgs) -> DeallocateRes;
            /// Announces how a file will be used.
            IoAdvise = 63 "IO_ADVISE" [2 2] (IoAdviseArgs) -> IoAdviseRes;
            /// Reports errors of data servers.
            Layouterror = 64 "LAYOUTERROR" [2 2] (LayouterrorArgs<'a>) -> LayouterrorRes;
            /// Reports transfers with data servers.
            Layoutstats = 65 "LAYOUTSTATS" [2 2] (LayoutstatsArgs<'a>) -> LayoutstatsRes;
            /// Ends a copy.
            OffloadCancel = 66 "OFFLOAD_CANCEL" [2 2] (OffloadCancelArgs) -> OffloadCancelRes;
            /// Reads the state of a copy.
            OffloadStatus = 67 "OFFLOAD_STATUS" [2 2] (OffloadStatusArgs) -> OffloadStatusRes;
            /// Reads data and holes.
            ReadPlus = 68 "READ_PLUS" [2 2] (ReadPlusArgs) -> ReadPlusRes<'r>;
            /// Finds data or a hole.
            Seek = 69 "SEEK" [2 2] (SeekArgs) -> SeekRes;
            /// Writes a pattern.
            WriteSame = 70 "WRITE_SAME" [2 2] (WriteSameArgs<'a>) -> WriteSameRes;
            /// Makes a copy that shares its blocks.
            Clone = 71 "CLONE" [2 2] (CloneArgs) -> CloneRes;
            /// Reads an extended attribute.
            Getxattr = 72 "GETXATTR" [2 2] (GetxattrArgs<'a>) -> GetxattrRes<'r>;
            /// Sets an extended attribute.
            Setxattr = 73 "SETXATTR" [2 2] (SetxattrArgs<'a>) -> SetxattrRes;
            /// Lists extended attributes.
            Listxattrs = 74 "LISTXATTRS" [2 2] (ListxattrsArgs) -> ListxattrsRes<'r>;
            /// Removes an extended attribute.
            Removexattr = 75 "REMOVEXATTR" [2 2] (RemovexattrArgs<'a>) -> RemovexattrRes;
            /// Stands for an operation that does not exist.
            Illegal = 10044 "ILLEGAL" [0 2] (IllegalArgs) -> IllegalRes;
        }
    };
}

nfs4_operations!(xdr_operations);
