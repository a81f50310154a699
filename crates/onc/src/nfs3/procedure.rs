//! The procedures and their numbers (RFC 1813 section 3).

xdr_enum! {
    /// A procedure of NFSv3.
    pub enum Procedure {
        /// Does nothing.
        Null = 0 "NULL",
        /// Reads attributes.
        Getattr = 1 "GETATTR",
        /// Sets attributes.
        Setattr = 2 "SETATTR",
        /// Finds a name in a directory.
        Lookup = 3 "LOOKUP",
        /// Checks permissions.
        Access = 4 "ACCESS",
        /// Reads a symbolic link.
        Readlink = 5 "READLINK",
        /// Reads data.
        Read = 6 "READ",
        /// Writes data.
        Write = 7 "WRITE",
        /// Creates a file.
        Create = 8 "CREATE",
        /// Creates a directory.
        Mkdir = 9 "MKDIR",
        /// Creates a symbolic link.
        Symlink = 10 "SYMLINK",
        /// Creates a device, socket or pipe.
        Mknod = 11 "MKNOD",
        /// Removes a file.
        Remove = 12 "REMOVE",
        /// Removes a directory.
        Rmdir = 13 "RMDIR",
        /// Renames a file or directory.
        Rename = 14 "RENAME",
        /// Makes a hard link.
        Link = 15 "LINK",
        /// Lists a directory.
        Readdir = 16 "READDIR",
        /// Lists a directory with attributes and handles.
        Readdirplus = 17 "READDIRPLUS",
        /// Reads how full a file system is.
        Fsstat = 18 "FSSTAT",
        /// Reads a server's transfer sizes and abilities.
        Fsinfo = 19 "FSINFO",
        /// Reads POSIX limits.
        Pathconf = 20 "PATHCONF",
        /// Commits unstable writes to stable storage.
        Commit = 21 "COMMIT",
    }
}

impl Procedure {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}
