//! The values of attributes (`fattr4`): a set of numbers and the values one after the other.

use super::attribute::{Attribute, Bitmap4};
use super::basic::*;
use super::status::Nfsstat4;
use super::{FileHandle4, MAX_ATTRIBUTES, MAX_OWNER};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// [`Attributes`] from the list of those whose values this codec knows, in the order of their numbers.
macro_rules! attributes {
    ($($(#[$meta:meta])* $variant:ident $field:ident: $ty:ty $(=> $max:expr)?;)*) => {
        /// The values of attributes, each where it was sent or is to be sent. The default has none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Attributes<'a> {
            $($(#[$meta])* pub $field: Option<$ty>,)*
        }

        impl<'a> Attributes<'a> {
            /// The attributes whose values this codec knows. Only these may be asked for: the values of
            /// others, and all that follow them, could not be read.
            pub const KNOWN: Bitmap4 = Bitmap4::of(&[$(Attribute::$variant,)*]);

            /// Those that GETATTR cannot return: they can only be set, or are for READDIR alone. A server
            /// answers NFS4ERR_INVAL (RFC 8881 sections 5.5 and 5.8.1.12).
            pub const NOT_IN_GETATTR: Bitmap4 = Bitmap4::of(&[
                Attribute::RdattrError,
                Attribute::TimeAccessSet,
                Attribute::TimeModifySet,
                Attribute::ModeSetMasked,
                Attribute::ModeUmask,
            ]);

            /// Which attributes have a value.
            pub fn mask(&self) -> Bitmap4 {
                let mut mask = Bitmap4::EMPTY;
                $(if self.$field.is_some() {
                    mask = mask.with(Attribute::$variant);
                })*
                mask
            }

            fn encode_values(&self, e: &mut Encoder<'_>) {
                $(if let Some(value) = self.$field {
                    xdr_field!(@encode e, value $(, $max)?);
                })*
            }

            fn decode_value(
                &mut self,
                attribute: Attribute,
                d: &mut Decoder<'a>,
            ) -> Result<bool, DecodeError> {
                match attribute {
                    $(Attribute::$variant => {
                        self.$field = Some(xdr_field!(
                            @decode d, $ty, concat!("fattr4.", stringify!($field)) $(, $max)?
                        ));
                    })*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

attributes! {
    /// The attributes that the server supports for this file system.
    SupportedAttrs supported_attrs: Bitmap4;
    /// Kind of the object.
    Type ftype: Ftype4;
    /// Whether and when file handles expire.
    FhExpireType fh_expire_type: u32;
    /// Changes whenever the object does.
    Change change: u64;
    /// Size, in bytes.
    Size size: u64;
    /// Whether hard links are supported.
    LinkSupport link_support: bool;
    /// Whether symbolic links are supported.
    SymlinkSupport symlink_support: bool;
    /// Whether the object has named attributes.
    NamedAttr named_attr: bool;
    /// File system it is in.
    Fsid fsid: Fsid4;
    /// Whether two handles are always two objects.
    UniqueHandles unique_handles: bool;
    /// How long a lease is, in seconds.
    LeaseTime lease_time: u32;
    /// Why READDIR could not read the attributes of this entry.
    RdattrError rdattr_error: Nfsstat4;
    /// Access control list.
    Acl acl: Acl4<'a>;
    /// Which kinds of access control entries are supported.
    Aclsupport aclsupport: u32;
    /// Whether it was archived since its last change.
    Archive archive: bool;
    /// Whether SETATTR can set times.
    Cansettime cansettime: bool;
    /// Whether case of names is ignored.
    CaseInsensitive case_insensitive: bool;
    /// Whether case of names is kept.
    CasePreserving case_preserving: bool;
    /// Whether only root can give files away.
    ChownRestricted chown_restricted: bool;
    /// Its handle.
    Filehandle filehandle: FileHandle4<'a>;
    /// Number in the file system.
    Fileid fileid: u64;
    /// Free files for this user.
    FilesAvail files_avail: u64;
    /// Free files.
    FilesFree files_free: u64;
    /// Files that the file system can hold.
    FilesTotal files_total: u64;
    /// Whether it is hidden.
    Hidden hidden: bool;
    /// Whether these attributes are the same for the whole file system.
    Homogeneous homogeneous: bool;
    /// Largest file, in bytes.
    Maxfilesize maxfilesize: u64;
    /// Most hard links of a file.
    Maxlink maxlink: u32;
    /// Most bytes of a name.
    Maxname maxname: u32;
    /// Largest READ, in bytes.
    Maxread maxread: u64;
    /// Largest WRITE, in bytes.
    Maxwrite maxwrite: u64;
    /// MIME type.
    Mimetype mimetype: &'a [u8] => MAX_OWNER;
    /// Permission bits.
    Mode mode: u32;
    /// Whether longer names are refused rather than cut.
    NoTrunc no_trunc: bool;
    /// Hard links.
    Numlinks numlinks: u32;
    /// Owner, by name or by number.
    Owner owner: &'a [u8] => MAX_OWNER;
    /// Group, by name or by number.
    OwnerGroup owner_group: &'a [u8] => MAX_OWNER;
    /// Space that the user can still take, in bytes.
    QuotaAvailHard quota_avail_hard: u64;
    /// Space that the user can still take before a warning, in bytes.
    QuotaAvailSoft quota_avail_soft: u64;
    /// Space that the user has taken, in bytes.
    QuotaUsed quota_used: u64;
    /// Device numbers of a device.
    Rawdev rawdev: Specdata4;
    /// Free space for this user, in bytes.
    SpaceAvail space_avail: u64;
    /// Free space, in bytes.
    SpaceFree space_free: u64;
    /// Size of the file system, in bytes.
    SpaceTotal space_total: u64;
    /// Space it takes on the server, in bytes.
    SpaceUsed space_used: u64;
    /// Whether it belongs to an operating system.
    System system: bool;
    /// Last access.
    TimeAccess time_access: Nfstime4;
    /// Sets the time of the last access.
    TimeAccessSet time_access_set: Settime4;
    /// Last backup.
    TimeBackup time_backup: Nfstime4;
    /// Creation.
    TimeCreate time_create: Nfstime4;
    /// Fineness of the server's times.
    TimeDelta time_delta: Nfstime4;
    /// Last change of attributes.
    TimeMetadata time_metadata: Nfstime4;
    /// Last change of data.
    TimeModify time_modify: Nfstime4;
    /// Sets the time of the last change of data.
    TimeModifySet time_modify_set: Settime4;
    /// Number of the directory on which a file system is mounted.
    MountedOnFileid mounted_on_fileid: u64;
    /// Delay of notifications of a directory's attributes.
    DirNotifDelay dir_notif_delay: Nfstime4;
    /// Delay of notifications of the attributes of a directory's entries.
    DirentNotifDelay dirent_notif_delay: Nfstime4;
    /// Discretionary access control list with its flags.
    Dacl dacl: Nfsacl41<'a>;
    /// System access control list with its flags.
    Sacl sacl: Nfsacl41<'a>;
    /// Changes when the policy of the file system does.
    ChangePolicy change_policy: ChangePolicy4;
    /// Types of layouts that the file system has.
    FsLayoutTypes fs_layout_types: LayoutTypes<'a>;
    /// Types of layouts that this file has.
    LayoutTypes layout_types: LayoutTypes<'a>;
    /// Preferred transfer with a layout, in bytes.
    LayoutBlksize layout_blksize: u32;
    /// Preferred alignment with a layout, in bytes.
    LayoutAlignment layout_alignment: u32;
    /// Administrative holds.
    RetentionHold retention_hold: u64;
    /// Sets some of the permission bits.
    ModeSetMasked mode_set_masked: ModeMasked4;
    /// Attributes that an exclusive OPEN can set.
    SuppattrExclcreat suppattr_exclcreat: Bitmap4;
    /// Which characters the file system takes in names.
    FsCharsetCap fs_charset_cap: u32;
    /// Alignment that CLONE needs, in bytes.
    CloneBlksize clone_blksize: u32;
    /// Space that removal of the file would free, in bytes.
    SpaceFreed space_freed: u64;
    /// How the attribute change changes.
    ChangeAttrType change_attr_type: ChangeAttrType4;
    /// Security label.
    SecLabel sec_label: SecLabel4<'a>;
    /// Sets permission bits of a new object, with the umask.
    ModeUmask mode_umask: ModeUmask4;
    /// Whether the file system supports extended attributes.
    XattrSupport xattr_support: bool;
}

/// `fattr4`: attributes in a message. To be sent it refers to values; when it is received, it keeps the
/// bytes, and the values are read on demand: a server compares the set with what it supports before that.
#[derive(Debug, Clone, Copy)]
pub struct Fattr4<'a> {
    attrmask: Bitmap4,
    values: Values<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Values<'a> {
    Known(&'a Attributes<'a>),
    Wire(Decoder<'a>),
}

impl<'a> Fattr4<'a> {
    /// These values, to be sent.
    pub fn new(values: &'a Attributes<'a>) -> Self {
        Self {
            attrmask: values.mask(),
            values: Values::Known(values),
        }
    }

    /// Which attributes it has.
    pub const fn attrmask(&self) -> Bitmap4 {
        self.attrmask
    }

    /// The values.
    ///
    /// # Errors
    /// The first value that cannot be decoded, an attribute that is not in [`Attributes::KNOWN`], or
    /// bytes after the last value.
    pub fn attributes(&self) -> Result<Attributes<'a>, DecodeError> {
        let mut d = match self.values {
            Values::Known(values) => return Ok(*values),
            Values::Wire(d) => d,
        };
        let mut values = Attributes::default();
        for bit in self.attrmask.bits() {
            let known = match Attribute::from_u32(bit) {
                Some(attribute) => values.decode_value(attribute, &mut d)?,
                None => false,
            };
            if !known {
                return Err(DecodeError::unexpected(d.offset(), "fattr4.attrmask", bit));
            }
        }
        d.end()?;
        Ok(values)
    }
}

/// Equal values are equal attributes; what cannot be decoded is compared by its bytes.
impl PartialEq for Fattr4<'_> {
    fn eq(&self, other: &Self) -> bool {
        if let (Values::Wire(ours), Values::Wire(theirs)) = (self.values, other.values) {
            return self.attrmask == other.attrmask && ours.rest() == theirs.rest();
        }
        match (self.attributes(), other.attributes()) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            _ => false,
        }
    }
}

impl Eq for Fattr4<'_> {}

impl Encode for Fattr4<'_> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.put(&self.attrmask);
        match self.values {
            Values::Known(values) => e.opaque_with(|e| values.encode_values(e)),
            Values::Wire(d) => e.opaque(d.rest()),
        }
    }
}

impl<'a> Decode<'a> for Fattr4<'a> {
    #[inline]
    fn decode_as(d: &mut Decoder<'a>, _what: &'static str) -> Result<Self, DecodeError> {
        let attrmask = Bitmap4::decode_as(d, "fattr4.attrmask")?;
        let values = Values::Wire(d.opaque_part(MAX_ATTRIBUTES, "fattr4.attr_vals")?);
        Ok(Self { attrmask, values })
    }
}
