//! The procedures, with arguments and results (RFC 1813 section 3).

use super::*;

/// Every procedure of NFSv3: number, name, arguments and results. Calls the macro `$user` with the list,
/// so that all code with one entry per procedure (the codec, a server's dispatch) is generated from this
/// list.
#[macro_export]
macro_rules! nfs3_procedures {
    ($user:ident) => {
        $user! {
            /// Does nothing.
            Null = 0 "NULL" (NullArgs) -> ();
            /// Reads attributes.
            Getattr = 1 "GETATTR" (GetattrArgs<'a>) -> GetattrRes;
            /// Sets attributes.
            Setattr = 2 "SETATTR" (SetattrArgs<'a>) -> SetattrRes;
            /// Finds a name in a directory.
            Lookup = 3 "LOOKUP" (LookupArgs<'a>) -> LookupRes<'r>;
            /// Checks permissions.
            Access = 4 "ACCESS" (AccessArgs<'a>) -> AccessRes;
            /// Reads a symbolic link.
            Readlink = 5 "READLINK" (ReadlinkArgs<'a>) -> ReadlinkRes<'r>;
            /// Reads data.
            Read = 6 "READ" (ReadArgs<'a>) -> ReadRes<'r>;
            /// Writes data.
            Write = 7 "WRITE" (WriteArgs<'a>) -> WriteRes;
            /// Creates a file.
            Create = 8 "CREATE" (CreateArgs<'a>) -> CreateRes<'r>;
            /// Creates a directory.
            Mkdir = 9 "MKDIR" (MkdirArgs<'a>) -> CreateRes<'r>;
            /// Creates a symbolic link.
            Symlink = 10 "SYMLINK" (SymlinkArgs<'a>) -> CreateRes<'r>;
            /// Creates a device, socket or pipe.
            Mknod = 11 "MKNOD" (MknodArgs<'a>) -> CreateRes<'r>;
            /// Removes a file.
            Remove = 12 "REMOVE" (RemoveArgs<'a>) -> RemoveRes;
            /// Removes a directory.
            Rmdir = 13 "RMDIR" (RmdirArgs<'a>) -> RemoveRes;
            /// Renames a file or directory.
            Rename = 14 "RENAME" (RenameArgs<'a>) -> RenameRes;
            /// Makes a hard link.
            Link = 15 "LINK" (LinkArgs<'a>) -> LinkRes;
            /// Lists a directory.
            Readdir = 16 "READDIR" (ReaddirArgs<'a>) -> ReaddirRes<'r>;
            /// Lists a directory with attributes and handles.
            Readdirplus = 17 "READDIRPLUS" (ReaddirplusArgs<'a>) -> ReaddirplusRes<'r>;
            /// Reads how full a file system is.
            Fsstat = 18 "FSSTAT" (FsstatArgs<'a>) -> FsstatRes;
            /// Reads a server's transfer sizes and abilities.
            Fsinfo = 19 "FSINFO" (FsinfoArgs<'a>) -> FsinfoRes;
            /// Reads POSIX limits.
            Pathconf = 20 "PATHCONF" (PathconfArgs<'a>) -> PathconfRes;
            /// Commits unstable writes to stable storage.
            Commit = 21 "COMMIT" (CommitArgs<'a>) -> CommitRes;
        }
    };
}

nfs3_procedures!(xdr_program);
