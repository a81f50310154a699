//! Types: what is opened, set and found, and what the server returns.

use filermark_smbwire::request;
use filermark_smbwire::smb2::create::OplockLevel;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::{FileId, GrantedLease, RequestedOplock};

/// Rights for everything that a check does to a file of its own.
const ALL: u32 = access::READ_DATA
    | access::WRITE_DATA
    | access::APPEND_DATA
    | access::READ_EA
    | access::WRITE_EA
    | access::READ_ATTRIBUTES
    | access::WRITE_ATTRIBUTES
    | access::DELETE
    | access::READ_CONTROL
    | access::SYNCHRONIZE;

/// An open: what to, how, and what the client would like to keep.
#[derive(Clone, Copy, Debug)]
pub(in crate::validate) struct Open<'a> {
    pub(in crate::validate) path: &'a str,
    pub(in crate::validate) access: u32,
    pub(in crate::validate) attributes: u32,
    pub(in crate::validate) share: u32,
    pub(in crate::validate) disposition: u32,
    pub(in crate::validate) options: u32,
    pub(in crate::validate) oplock: RequestedOplock,
}

impl<'a> Open<'a> {
    /// An existing file, with all rights, shared for everything.
    pub(in crate::validate) const fn file(path: &'a str) -> Self {
        Self {
            path,
            access: ALL,
            attributes: attributes::NORMAL,
            share: share::ALL,
            disposition: disposition::OPEN,
            options: options::NON_DIRECTORY_FILE,
            oplock: RequestedOplock::None,
        }
    }

    /// A new file.
    pub(in crate::validate) const fn new_file(path: &'a str) -> Self {
        Self::file(path).by(disposition::CREATE)
    }

    /// A directory that is there.
    pub(in crate::validate) const fn dir(path: &'a str) -> Self {
        let mut open = Self::file(path).with(options::DIRECTORY_FILE);
        open.access = ALL & !(access::WRITE_EA | access::APPEND_DATA);
        open
    }

    /// A new directory.
    pub(in crate::validate) const fn new_dir(path: &'a str) -> Self {
        Self::dir(path).by(disposition::CREATE)
    }

    pub(in crate::validate) const fn by(mut self, disposition: u32) -> Self {
        self.disposition = disposition;
        self
    }

    pub(in crate::validate) const fn with(mut self, options: u32) -> Self {
        self.options = options;
        self
    }

    pub(in crate::validate) const fn rights(mut self, access: u32) -> Self {
        self.access = access;
        self
    }

    pub(in crate::validate) const fn shared(mut self, share: u32) -> Self {
        self.share = share;
        self
    }

    pub(in crate::validate) const fn attributes(mut self, attributes: u32) -> Self {
        self.attributes = attributes;
        self
    }

    /// As the request says it.
    pub(in crate::validate) const fn request(&self) -> request::Open<'a> {
        request::Open {
            path: self.path,
            access: self.access,
            attributes: self.attributes,
            share: self.share,
            disposition: self.disposition,
            options: self.options,
            oplock: self.oplock,
        }
    }

    pub(in crate::validate) const fn keeping(mut self, oplock: RequestedOplock) -> Self {
        self.oplock = oplock;
        self
    }
}

/// What an open gave.
#[derive(Clone, Copy, Debug)]
pub(in crate::validate) struct Opened {
    pub(in crate::validate) file: FileId,
    /// What it did: see [`filermark_smbwire::smb2::file::action`].
    pub(in crate::validate) action: u32,
    pub(in crate::validate) oplock: OplockLevel,
    pub(in crate::validate) lease: Option<GrantedLease>,
    pub(in crate::validate) size: u64,
    pub(in crate::validate) attributes: u32,
}

impl Opened {
    pub(in crate::validate) const fn is_dir(&self) -> bool {
        self.attributes & attributes::DIRECTORY != 0
    }
}

/// The facts that a server returns about a file. Times are in 100 ns since 1601.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::validate) struct Facts {
    /// Made, read, written, changed.
    pub(in crate::validate) times: [u64; 4],
    pub(in crate::validate) attributes: u32,
    pub(in crate::validate) allocation: u64,
    pub(in crate::validate) size: u64,
    pub(in crate::validate) links: u32,
    pub(in crate::validate) delete_pending: bool,
    pub(in crate::validate) directory: bool,
}

/// The facts that a server returns about a file system.
#[derive(Clone, Debug, Default)]
pub(in crate::validate) struct FsFacts {
    /// Bytes in total, free for this user, free for all users.
    pub(in crate::validate) total: u64,
    pub(in crate::validate) available: u64,
    pub(in crate::validate) free: u64,
    /// The longest name, in characters; `None`: this protocol does not return it.
    pub(in crate::validate) name_max: Option<u32>,
}

/// What is set.
#[derive(Clone, Copy, Debug)]
pub(in crate::validate) enum AttributeSet<'a> {
    /// Times (made, read, written, changed) and attributes; 0 leaves one as it is.
    Basic([u64; 4], u32),
    /// The size.
    Size(u64),
    /// Whether it goes when it is closed.
    Delete(bool),
    /// A new name in the same directory.
    Rename {
        /// The directory, from the share's root.
        dir: &'a str,
        /// The name in it.
        name: &'a str,
        /// What has it already gives way.
        replace: bool,
    },
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::validate) struct DirEntry {
    pub(in crate::validate) name: String,
    pub(in crate::validate) size: u64,
    pub(in crate::validate) attributes: u32,
    pub(in crate::validate) written: u64,
}

/// A break: what is taken back, and what stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::validate) enum OplockBreakInfo {
    Oplock {
        file: FileId,
        level: OplockLevel,
    },
    Lease {
        key: [u8; 16],
        current: u32,
        new: u32,
        must_acknowledge: bool,
    },
}

/// A change in a watched directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::validate) struct ChangeNotification {
    /// 1 added, 2 removed, 3 changed, 4 old name, 5 new name (MS-FSCC 2.7.1).
    pub(in crate::validate) action: u32,
    pub(in crate::validate) name: String,
}
