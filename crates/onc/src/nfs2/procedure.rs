//! The procedures, with arguments and results (RFC 1094 section 2.2).

use super::*;

/// Every procedure of NFSv2: number, name, arguments and results. Calls the macro `$user` with the list,
/// so that all code with one entry per procedure (the codec, a server's dispatch) is generated from this
/// list.
#[macro_export]
macro_rules! nfs2_procedures {
    ($user:ident) => {
        $user! {
            /// Does nothing.
            Null = 0 "NULL" (NullArgs) -> ();
            /// Reads attributes.
            Getattr = 1 "GETATTR" (GetattrArgs<'a>) -> AttrstatRes;
            /// Sets attributes.
            Setattr = 2 "SETATTR" (SetattrArgs<'a>) -> AttrstatRes;
            /// Obsolete: MOUNT gives the root's handle.
            Root = 3 "ROOT" (RootArgs) -> ();
            /// Finds a name in a directory.
            Lookup = 4 "LOOKUP" (LookupArgs<'a>) -> DiropRes<'r>;
            /// Reads a symbolic link.
            Readlink = 5 "READLINK" (ReadlinkArgs<'a>) -> ReadlinkRes<'r>;
            /// Reads data.
            Read = 6 "READ" (ReadArgs<'a>) -> ReadRes<'r>;
            /// Unused: it was to come with the next version.
            Writecache = 7 "WRITECACHE" (WritecacheArgs) -> ();
            /// Writes data, stable when it is answered.
            Write = 8 "WRITE" (WriteArgs<'a>) -> AttrstatRes;
            /// Creates a file.
            Create = 9 "CREATE" (CreateArgs<'a>) -> DiropRes<'r>;
            /// Removes a file.
            Remove = 10 "REMOVE" (RemoveArgs<'a>) -> StatRes;
            /// Renames a file or directory.
            Rename = 11 "RENAME" (RenameArgs<'a>) -> StatRes;
            /// Makes a hard link.
            Link = 12 "LINK" (LinkArgs<'a>) -> StatRes;
            /// Creates a symbolic link.
            Symlink = 13 "SYMLINK" (SymlinkArgs<'a>) -> StatRes;
            /// Creates a directory.
            Mkdir = 14 "MKDIR" (MkdirArgs<'a>) -> DiropRes<'r>;
            /// Removes a directory.
            Rmdir = 15 "RMDIR" (RmdirArgs<'a>) -> StatRes;
            /// Lists a directory.
            Readdir = 16 "READDIR" (ReaddirArgs<'a>) -> ReaddirRes<'r>;
            /// Reads how full a file system is.
            Statfs = 17 "STATFS" (StatfsArgs<'a>) -> StatfsRes;
        }
    };
}

nfs2_procedures!(xdr_program);
