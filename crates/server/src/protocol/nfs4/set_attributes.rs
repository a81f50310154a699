//! Attributes that a client sets (RFC 8881 section 5.5), as the file system takes them.

use super::super::convert::NS;
use super::attributes::{SETTABLE, settable_new, supported};
use crate::memfs::{SetAttr, SetTime};
use filermark_onc::nfs4::*;

/// The number in the text of an owner or group; texts with names are not mapped.
fn id(text: &[u8]) -> Res<u32> {
    let text = std::str::from_utf8(text).map_err(|_| Nfsstat4::Badowner)?;
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_| Nfsstat4::Badowner),
        false => Err(Nfsstat4::Badowner),
    }
}

/// Times before 1970 are taken as 1970.
fn set_time(time: Option<Settime4>) -> Res<SetTime> {
    Ok(match time {
        None => SetTime::Keep,
        Some(Settime4::ServerTime) => SetTime::Now,
        Some(Settime4::ClientTime(Nfstime4 { nseconds, .. })) if u64::from(nseconds) >= NS => {
            return Err(Nfsstat4::Inval);
        }
        Some(Settime4::ClientTime(Nfstime4 { seconds, nseconds })) => {
            let seconds = u64::try_from(seconds).unwrap_or(0);
            SetTime::To(seconds.saturating_mul(NS).saturating_add(nseconds.into()))
        }
    })
}

fn decoded(fattr: &Fattr4<'_>, minor: u32, settable: Bitmap4) -> Res<SetAttr> {
    let mask = fattr.attrmask();
    if !mask.without(supported(minor)).is_empty() {
        return Err(Nfsstat4::Attrnotsupp);
    }
    if !mask.without(settable).is_empty() {
        return Err(Nfsstat4::Inval);
    }
    let values = fattr.attributes().map_err(|_| Nfsstat4::Badxdr)?;
    let mode = match (values.mode, values.mode_umask) {
        (Some(_), Some(_)) => return Err(Nfsstat4::Inval),
        (None, Some(ModeUmask4 { mode, umask })) => Some(mode & !umask),
        (mode, None) => mode,
    };
    if mode.is_some_and(|mode| mode > 0o7777) {
        return Err(Nfsstat4::Inval);
    }
    Ok(SetAttr {
        mode,
        uid: values.owner.map(id).transpose()?,
        gid: values.owner_group.map(id).transpose()?,
        size: values.size,
        atime: set_time(values.time_access_set)?,
        mtime: set_time(values.time_modify_set)?,
    })
}

/// What SETATTR sets.
///
/// # Errors
/// ATTRNOTSUPP, INVAL of what cannot be set, BADOWNER, BADXDR.
pub(super) fn of_setattr(fattr: &Fattr4<'_>, minor: u32) -> Res<SetAttr> {
    decoded(fattr, minor, SETTABLE)
}

/// What a new object gets.
///
/// # Errors
/// The same.
pub(super) fn of_new(fattr: &Fattr4<'_>, minor: u32) -> Res<SetAttr> {
    decoded(fattr, minor, settable_new(minor))
}
