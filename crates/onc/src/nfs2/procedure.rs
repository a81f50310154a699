//! The procedures and their numbers (RFC 1094 section 2.2).

xdr_enum! {
    /// A procedure of NFSv2.
    pub enum Procedure {
        /// Does nothing.
        Null = 0 "NULL",
        /// Reads attributes.
        Getattr = 1 "GETATTR",
        /// Sets attributes.
        Setattr = 2 "SETATTR",
        /// Obsolete: MOUNT gives the root's handle.
        Root = 3 "ROOT",
        /// Finds a name in a directory.
        Lookup = 4 "LOOKUP",
        /// Reads a symbolic link.
        Readlink = 5 "READLINK",
        /// Reads data.
        Read = 6 "READ",
        /// Unused: it was to come with the next version.
        Writecache = 7 "WRITECACHE",
        /// Writes data, stable when it is answered.
        Write = 8 "WRITE",
        /// Creates a file.
        Create = 9 "CREATE",
        /// Removes a file.
        Remove = 10 "REMOVE",
        /// Renames a file or directory.
        Rename = 11 "RENAME",
        /// Makes a hard link.
        Link = 12 "LINK",
        /// Creates a symbolic link.
        Symlink = 13 "SYMLINK",
        /// Creates a directory.
        Mkdir = 14 "MKDIR",
        /// Removes a directory.
        Rmdir = 15 "RMDIR",
        /// Lists a directory.
        Readdir = 16 "READDIR",
        /// Reads how full a file system is.
        Statfs = 17 "STATFS",
    }
}

impl Procedure {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}
