//! NFSv4 seen as NFSv3: statuses and attributes in the types of version 3.

use filermark_onc::nfs3::{
    Fattr3, FsinfoOk, FsstatOk, Ftype3, Nfsstat3, Nfstime3, PathconfOk, Specdata3, fsf,
};
use filermark_onc::nfs4::{Attribute, Attributes, Bitmap4, Ftype4, Nfsstat4, Nfstime4};

/// The attributes that version 3 has.
pub(super) const FATTR3: Bitmap4 = Bitmap4::of(&[
    Attribute::Type,
    Attribute::Size,
    Attribute::Fsid,
    Attribute::Fileid,
    Attribute::Mode,
    Attribute::Numlinks,
    Attribute::Owner,
    Attribute::OwnerGroup,
    Attribute::Rawdev,
    Attribute::SpaceUsed,
    Attribute::TimeAccess,
    Attribute::TimeMetadata,
    Attribute::TimeModify,
]);

/// What AUTH_SYS calls a user or group that has a name but no number.
const NO_ID: u32 = 65_534;
/// The largest listing that is preferred, in bytes.
const LISTING_BYTES: u32 = 32 << 10;
/// Unit of transfers, in bytes.
const TRANSFER_UNIT: u32 = 4096;

/// The numbers are those of version 3 wherever both have one, and NFS4ERR_DELAY is NFS3ERR_JUKEBOX. Others
/// keep their numbers, so that the name can still be found.
pub(crate) fn status(status: Nfsstat4) -> Nfsstat3 {
    Nfsstat3::from_u32(status.to_u32())
}

fn ftype(ftype: Ftype4) -> Ftype3 {
    match ftype {
        Ftype4::Reg | Ftype4::Namedattr => Ftype3::Reg,
        Ftype4::Dir | Ftype4::Attrdir => Ftype3::Dir,
        Ftype4::Blk => Ftype3::Blk,
        Ftype4::Chr => Ftype3::Chr,
        Ftype4::Lnk => Ftype3::Lnk,
        Ftype4::Sock => Ftype3::Sock,
        Ftype4::Fifo => Ftype3::Fifo,
    }
}

fn time(time: Option<Nfstime4>) -> Nfstime3 {
    let time = time.unwrap_or_default();
    Nfstime3 {
        seconds: time.seconds.clamp(0, u32::MAX.into()) as u32,
        nseconds: time.nseconds,
    }
}

fn id(name: Option<&[u8]>) -> u32 {
    let text = name.and_then(|name| std::str::from_utf8(name).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or(NO_ID)
}

/// Attributes; `None`: the server has not sent the type, which every server has to have. Others are 0 where
/// the server does not support them, and owners that are not numbers are 65534.
pub(super) fn fattr(a: &Attributes<'_>) -> Option<Fattr3> {
    let fsid = a.fsid.unwrap_or_default();
    let rawdev = a.rawdev.unwrap_or_default();
    Some(Fattr3 {
        ftype: ftype(a.ftype?),
        mode: a.mode.unwrap_or_default() & 0o7777,
        nlink: a.numlinks.unwrap_or(1),
        uid: id(a.owner),
        gid: id(a.owner_group),
        size: a.size.unwrap_or_default(),
        used: a.space_used.unwrap_or_default(),
        rdev: Specdata3 {
            specdata1: rawdev.specdata1,
            specdata2: rawdev.specdata2,
        },
        // Two numbers in one: equal ones stay equal, and different ones differ on every known server.
        fsid: fsid.major ^ fsid.minor.rotate_left(32),
        fileid: a.fileid.unwrap_or_default(),
        atime: time(a.time_access),
        mtime: time(a.time_modify),
        ctime: time(a.time_metadata),
    })
}

/// FSINFO. Transfers are as large as both the file system and the session allow.
pub(super) fn fsinfo(a: &Attributes<'_>, read_max: u32, write_max: u32) -> FsinfoOk {
    let least = |stated: Option<u64>, max: u32| {
        let stated = stated.filter(|bytes| *bytes > 0);
        stated.map_or(max, |bytes| bytes.min(max.into()) as u32)
    };
    let (rtmax, wtmax) = (least(a.maxread, read_max), least(a.maxwrite, write_max));
    let property = |has: Option<bool>, bit| match has {
        Some(true) => bit,
        _ => 0,
    };
    FsinfoOk {
        obj_attributes: fattr(a),
        rtmax,
        rtpref: rtmax,
        rtmult: TRANSFER_UNIT,
        wtmax,
        wtpref: wtmax,
        wtmult: TRANSFER_UNIT,
        dtpref: read_max.min(LISTING_BYTES),
        maxfilesize: a.maxfilesize.unwrap_or(u64::MAX),
        time_delta: time(a.time_delta),
        properties: property(a.link_support, fsf::LINK)
            | property(a.symlink_support, fsf::SYMLINK)
            | property(a.homogeneous, fsf::HOMOGENEOUS)
            | property(a.cansettime, fsf::CANSETTIME),
    }
}

/// FSSTAT; 0 for what the server does not support.
pub(super) fn fsstat(a: &Attributes<'_>) -> FsstatOk {
    FsstatOk {
        obj_attributes: fattr(a),
        tbytes: a.space_total.unwrap_or_default(),
        fbytes: a.space_free.unwrap_or_default(),
        abytes: a.space_avail.unwrap_or_default(),
        tfiles: a.files_total.unwrap_or_default(),
        ffiles: a.files_free.unwrap_or_default(),
        afiles: a.files_avail.unwrap_or_default(),
        invarsec: 0,
    }
}

/// PATHCONF; `None`: the server states neither limit.
pub(super) fn pathconf(a: &Attributes<'_>) -> Option<PathconfOk> {
    a.maxlink.or(a.maxname)?;
    Some(PathconfOk {
        obj_attributes: fattr(a),
        linkmax: a.maxlink.unwrap_or_default(),
        name_max: a.maxname.unwrap_or_default(),
        no_trunc: a.no_trunc.unwrap_or_default(),
        chown_restricted: a.chown_restricted.unwrap_or_default(),
        case_insensitive: a.case_insensitive.unwrap_or_default(),
        case_preserving: a.case_preserving.unwrap_or(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::nfs4::Fsid4;

    #[test]
    fn what_is_not_stated_has_a_value_except_the_type() {
        let mut attributes = Attributes::default();
        assert_eq!(fattr(&attributes), None);
        attributes.ftype = Some(Ftype4::Dir);
        attributes.owner = Some(b"root@example.org");
        attributes.owner_group = Some(b"100");
        attributes.fsid = Some(Fsid4 { major: 3, minor: 1 });
        attributes.time_modify = Some(Nfstime4 {
            seconds: -5,
            nseconds: 1,
        });
        let translated = fattr(&attributes).unwrap();
        assert_eq!((translated.uid, translated.gid), (NO_ID, 100));
        assert_eq!(
            (translated.fsid, translated.mtime.seconds),
            (3 | 1 << 32, 0)
        );
    }

    #[test]
    fn transfers_are_as_large_as_file_system_and_session_allow() {
        let stated = Attributes {
            maxread: Some(u64::MAX),
            maxwrite: Some(65_536),
            ..Attributes::default()
        };
        let info = fsinfo(&stated, 1 << 20, 1 << 19);
        assert_eq!((info.rtmax, info.wtmax), (1 << 20, 65_536));
        let info = fsinfo(&Attributes::default(), 1 << 20, 1 << 19);
        assert_eq!((info.rtmax, info.wtmax), (1 << 20, 1 << 19));
    }

    #[test]
    fn statuses_keep_their_numbers() {
        assert_eq!(status(Nfsstat4::Delay), Nfsstat3::Jukebox);
        assert_eq!(status(Nfsstat4::Noent), Nfsstat3::Noent);
        assert_eq!(status(Nfsstat4::Wrongsec).to_u32(), 10_016);
    }
}
