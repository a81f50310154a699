//! The attributes' numbers, and sets of them (RFC 7531, RFC 5662, RFC 7863, RFC 8275, RFC 8276).

use std::fmt;

use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

xdr_enum! {
    /// An attribute: the number is its bit in a [`Bitmap4`].
    pub enum Attribute {
        /// The attributes that the server supports for this file system.
        SupportedAttrs = 0 "supported_attrs",
        /// Kind of the object.
        Type = 1 "type",
        /// Whether and when file handles expire.
        FhExpireType = 2 "fh_expire_type",
        /// Changes whenever the object does.
        Change = 3 "change",
        /// Size, in bytes.
        Size = 4 "size",
        /// Whether hard links are supported.
        LinkSupport = 5 "link_support",
        /// Whether symbolic links are supported.
        SymlinkSupport = 6 "symlink_support",
        /// Whether the object has named attributes.
        NamedAttr = 7 "named_attr",
        /// File system it is in.
        Fsid = 8 "fsid",
        /// Whether two handles are always two objects.
        UniqueHandles = 9 "unique_handles",
        /// How long a lease is, in seconds.
        LeaseTime = 10 "lease_time",
        /// Why READDIR could not read the attributes of this entry.
        RdattrError = 11 "rdattr_error",
        /// Access control list.
        Acl = 12 "acl",
        /// Which kinds of access control entries are supported.
        Aclsupport = 13 "aclsupport",
        /// Whether it was archived since its last change.
        Archive = 14 "archive",
        /// Whether SETATTR can set times.
        Cansettime = 15 "cansettime",
        /// Whether case of names is ignored.
        CaseInsensitive = 16 "case_insensitive",
        /// Whether case of names is kept.
        CasePreserving = 17 "case_preserving",
        /// Whether only root can give files away.
        ChownRestricted = 18 "chown_restricted",
        /// Its handle.
        Filehandle = 19 "filehandle",
        /// Number in the file system.
        Fileid = 20 "fileid",
        /// Free files for this user.
        FilesAvail = 21 "files_avail",
        /// Free files.
        FilesFree = 22 "files_free",
        /// Files that the file system can hold.
        FilesTotal = 23 "files_total",
        /// Where else the file system is.
        FsLocations = 24 "fs_locations",
        /// Whether it is hidden.
        Hidden = 25 "hidden",
        /// Whether these attributes are the same for the whole file system.
        Homogeneous = 26 "homogeneous",
        /// Largest file, in bytes.
        Maxfilesize = 27 "maxfilesize",
        /// Most hard links of a file.
        Maxlink = 28 "maxlink",
        /// Most bytes of a name.
        Maxname = 29 "maxname",
        /// Largest READ, in bytes.
        Maxread = 30 "maxread",
        /// Largest WRITE, in bytes.
        Maxwrite = 31 "maxwrite",
        /// MIME type.
        Mimetype = 32 "mimetype",
        /// Permission bits.
        Mode = 33 "mode",
        /// Whether longer names are refused rather than cut.
        NoTrunc = 34 "no_trunc",
        /// Hard links.
        Numlinks = 35 "numlinks",
        /// Owner, by name or by number.
        Owner = 36 "owner",
        /// Group, by name or by number.
        OwnerGroup = 37 "owner_group",
        /// Space that the user can still take, in bytes.
        QuotaAvailHard = 38 "quota_avail_hard",
        /// Space that the user can still take before a warning, in bytes.
        QuotaAvailSoft = 39 "quota_avail_soft",
        /// Space that the user has taken, in bytes.
        QuotaUsed = 40 "quota_used",
        /// Device numbers of a device.
        Rawdev = 41 "rawdev",
        /// Free space for this user, in bytes.
        SpaceAvail = 42 "space_avail",
        /// Free space, in bytes.
        SpaceFree = 43 "space_free",
        /// Size of the file system, in bytes.
        SpaceTotal = 44 "space_total",
        /// Space it takes on the server, in bytes.
        SpaceUsed = 45 "space_used",
        /// Whether it belongs to an operating system.
        System = 46 "system",
        /// Last access.
        TimeAccess = 47 "time_access",
        /// Sets the time of the last access.
        TimeAccessSet = 48 "time_access_set",
        /// Last backup.
        TimeBackup = 49 "time_backup",
        /// Creation.
        TimeCreate = 50 "time_create",
        /// Fineness of the server's times.
        TimeDelta = 51 "time_delta",
        /// Last change of attributes.
        TimeMetadata = 52 "time_metadata",
        /// Last change of data.
        TimeModify = 53 "time_modify",
        /// Sets the time of the last change of data.
        TimeModifySet = 54 "time_modify_set",
        /// Number of the directory on which a file system is mounted.
        MountedOnFileid = 55 "mounted_on_fileid",
        /// Delay of notifications of a directory's attributes.
        DirNotifDelay = 56 "dir_notif_delay",
        /// Delay of notifications of the attributes of a directory's entries.
        DirentNotifDelay = 57 "dirent_notif_delay",
        /// Discretionary access control list with its flags.
        Dacl = 58 "dacl",
        /// System access control list with its flags.
        Sacl = 59 "sacl",
        /// Changes when the policy of the file system does.
        ChangePolicy = 60 "change_policy",
        /// Whether this copy of the file system is current.
        FsStatus = 61 "fs_status",
        /// Types of layouts that the file system has.
        FsLayoutTypes = 62 "fs_layout_types",
        /// Type of layout that the client would like.
        LayoutHint = 63 "layout_hint",
        /// Types of layouts that this file has.
        LayoutTypes = 64 "layout_types",
        /// Preferred transfer with a layout, in bytes.
        LayoutBlksize = 65 "layout_blksize",
        /// Preferred alignment with a layout, in bytes.
        LayoutAlignment = 66 "layout_alignment",
        /// Where else the file system is, in detail.
        FsLocationsInfo = 67 "fs_locations_info",
        /// From what size on a client should use the data servers.
        Mdsthreshold = 68 "mdsthreshold",
        /// Retention of the object.
        RetentionGet = 69 "retention_get",
        /// Sets the retention of the object.
        RetentionSet = 70 "retention_set",
        /// Retention by an event.
        RetentevtGet = 71 "retentevt_get",
        /// Sets the retention by an event.
        RetentevtSet = 72 "retentevt_set",
        /// Administrative holds.
        RetentionHold = 73 "retention_hold",
        /// Sets some of the permission bits.
        ModeSetMasked = 74 "mode_set_masked",
        /// Attributes that an exclusive OPEN can set.
        SuppattrExclcreat = 75 "suppattr_exclcreat",
        /// Which characters the file system takes in names.
        FsCharsetCap = 76 "fs_charset_cap",
        /// Alignment that CLONE needs, in bytes.
        CloneBlksize = 77 "clone_blksize",
        /// Space that removal of the file would free, in bytes.
        SpaceFreed = 78 "space_freed",
        /// How the attribute change changes.
        ChangeAttrType = 79 "change_attr_type",
        /// Security label.
        SecLabel = 80 "sec_label",
        /// Sets permission bits of a new object, with the umask.
        ModeUmask = 81 "mode_umask",
        /// Whether the file system supports extended attributes.
        XattrSupport = 82 "xattr_support",
    }
}

/// Words of a [`Bitmap4`].
const WORDS: usize = 4;

/// `bitmap4`: a set of numbers, of attributes as a rule. It holds numbers below 128, more than the
/// standards have; a longer bitmap is refused. Zero words at its end are not sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bitmap4 {
    words: [u32; WORDS],
}

impl Bitmap4 {
    /// The empty set.
    pub const EMPTY: Self = Self { words: [0; WORDS] };
    /// One more than the highest number that fits.
    pub const BITS: u32 = 32 * WORDS as u32;

    /// The set of these attributes.
    pub const fn of(attributes: &[Attribute]) -> Self {
        let mut set = Self::EMPTY;
        let mut i = 0;
        while i < attributes.len() {
            set = set.with_bit(attributes[i].to_u32());
            i += 1;
        }
        set
    }

    /// The set with this number in it, too. A number that does not fit changes nothing.
    pub const fn with_bit(mut self, bit: u32) -> Self {
        if bit < Self::BITS {
            self.words[(bit / 32) as usize] |= 1 << (bit % 32);
        }
        self
    }

    /// The set with this attribute in it, too.
    pub const fn with(self, attribute: Attribute) -> Self {
        self.with_bit(attribute.to_u32())
    }

    /// Whether the number is in it.
    pub const fn has_bit(&self, bit: u32) -> bool {
        bit < Self::BITS && self.words[(bit / 32) as usize] & (1 << (bit % 32)) != 0
    }

    /// Whether the attribute is in it.
    pub const fn has(&self, attribute: Attribute) -> bool {
        self.has_bit(attribute.to_u32())
    }

    /// What is in both sets.
    pub fn and(self, other: Self) -> Self {
        Self {
            words: std::array::from_fn(|i| self.words[i] & other.words[i]),
        }
    }

    /// What is in this set but not in the other.
    pub fn without(self, other: Self) -> Self {
        Self {
            words: std::array::from_fn(|i| self.words[i] & !other.words[i]),
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// The numbers in it, in order.
    pub fn bits(self) -> impl Iterator<Item = u32> {
        self.words.into_iter().zip(0u32..).flat_map(|(word, at)| {
            std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)))
                .take_while(|left| *left != 0)
                .map(move |left| at * 32 + left.trailing_zeros())
        })
    }
}

impl fmt::Debug for Bitmap4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.bits()).finish()
    }
}

impl Encode for Bitmap4 {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        let len = WORDS
            - self
                .words
                .iter()
                .rev()
                .take_while(|word| **word == 0)
                .count();
        e.u32(len as u32);
        self.words[..len].iter().for_each(|word| e.u32(*word));
    }
}

impl Decode<'_> for Bitmap4 {
    #[inline]
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let len = d.length(WORDS, what)?;
        let mut set = Self::EMPTY;
        for word in &mut set.words[..len] {
            *word = d.u32(what)?;
        }
        Ok(set)
    }
}
