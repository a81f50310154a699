//! What the system knows of the volume that a directory is on: its space, its file
//! system, where it is mounted, what transfers past the cache must be multiples of.

use super::raw;
use crate::sys::{Result, Space};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::BorrowedHandle;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Wdk::System::SystemServices as dev;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_SHARE_READ, FILE_SHARE_WRITE, VOLUME_NAME_DOS, VOLUME_NAME_GUID,
};

/// The sector of disks whose file system does not state it, and the largest that is
/// believed, in bytes.
const SECTOR_BYTES: u64 = 512;
const SECTOR_BYTES_MAX: u64 = 4096;

/// The space of a file system.
pub(super) fn space(file: BorrowedHandle<'_>) -> Result<Space> {
    let answer = raw::volume_info(file, nt::FileFsFullSizeInformation)?;
    let unit = u64::from(answer.u32_at(24)).saturating_mul(answer.u32_at(28).into());
    Ok(Space {
        block_bytes: unit,
        total_bytes: answer.u64_at(0).saturating_mul(unit),
        free_bytes: answer.u64_at(8).saturating_mul(unit),
        // File systems of Windows state no limit.
        free_files: 0,
    })
}

/// The logical sector of a volume, in bytes.
pub(super) fn sector_bytes(file: BorrowedHandle<'_>) -> u64 {
    let answer = raw::volume_info(file, nt::FileFsFullSizeInformation);
    let stated = answer.map_or(0, |answer| answer.u32_at(28).into());
    match u64::is_power_of_two(stated) {
        true => stated.clamp(SECTOR_BYTES, SECTOR_BYTES_MAX),
        false => SECTOR_BYTES,
    }
}

/// File system, source, place and options of the volume that a directory is on.
pub(super) fn of(dir: BorrowedHandle<'_>) -> Vec<(String, String)> {
    let path = raw::path_of(dir, VOLUME_NAME_DOS).unwrap_or_default();
    let place = raw::volume_of(&path).map_or(String::new(), |place| text(&place));
    let source = match share_of(&text(&path)) {
        Some(share) => share,
        // A local volume has a name that stays when its letter changes.
        None => {
            let path = raw::path_of(dir, VOLUME_NAME_GUID).unwrap_or_default();
            volume_in(&text(&path)).unwrap_or_default().to_owned()
        }
    };
    let facts = [
        ("file system", file_system(dir).unwrap_or_default()),
        ("source", source),
        ("mount point", plain(&place)),
        ("mount options", options(dir)),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Writes out what a local volume still has to write.
///
/// # Errors
/// Those of the calls; no permission, as a rule, for all but administrators.
pub(super) fn flush_volume(dir: BorrowedHandle<'_>) -> Result<()> {
    let path = text(&raw::path_of(dir, VOLUME_NAME_GUID)?);
    let volume = volume_in(&path).ok_or(crate::sys::Errno::NOSYS)?;
    let volume = OpenOptions::new()
        .read(true)
        .write(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .open(volume)?;
    Ok(volume.sync_all()?)
}

fn text(units: &[u16]) -> String {
    OsString::from_wide(units).to_string_lossy().into_owned()
}

/// A path without the prefix that switches its interpretation off.
fn plain(path: &str) -> String {
    match path.strip_prefix(r"\\?\UNC\") {
        Some(share) => format!(r"\\{share}"),
        None => path.strip_prefix(r"\\?\").unwrap_or(path).to_owned(),
    }
}

/// Server and share of the path of a file on one: `\\server\share`.
fn share_of(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\UNC\")?;
    let mut names = rest.split('\\');
    let (server, share) = (names.next()?, names.next()?);
    Some(format!(r"\\{server}\{share}"))
}

/// The volume of a path that begins with its name: `\\?\Volume{...}`.
fn volume_in(path: &str) -> Option<&str> {
    let end = path.find('}')?;
    let volume = path.get(..=end)?;
    volume.starts_with(r"\\?\Volume{").then_some(volume)
}

fn file_system(dir: BorrowedHandle<'_>) -> Result<String> {
    let answer = raw::volume_info(dir, nt::FileFsAttributeInformation)?;
    Ok(answer.text_at(12, answer.u32_at(8)))
}

/// What else is known of a volume, separated by commas.
fn options(dir: BorrowedHandle<'_>) -> String {
    let mut options = Vec::new();
    if let Ok(answer) = raw::volume_info(dir, nt::FileFsDeviceInformation) {
        let flags = answer.u32_at(4);
        for (flag, name) in [
            (dev::FILE_REMOTE_DEVICE, "remote"),
            (dev::FILE_REMOVABLE_MEDIA, "removable"),
            (dev::FILE_READ_ONLY_DEVICE, "read-only"),
        ] {
            if flags & flag != 0 {
                options.push(name.to_owned());
            }
        }
    }
    if let Ok(answer) = raw::volume_info(dir, nt::FileFsVolumeInformation) {
        let serial = answer.u32_at(8);
        options.push(format!(
            "serial={:04X}-{:04X}",
            serial >> 16,
            serial & 0xffff
        ));
    }
    if let Ok(answer) = raw::volume_info(dir, nt::FileFsAttributeInformation) {
        options.push(format!("flags={:#x}", answer.u32_at(0)));
        options.push(format!("namelen={}", answer.u32_at(4)));
    }
    options.push(format!("sector={}", sector_bytes(dir)));
    if let Ok(answer) = raw::volume_info(dir, nt::FileFsSectorSizeInformation) {
        options.push(format!("physical-sector={}", answer.u32_at(4)));
    }
    options.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_system_are_understood() {
        let share = r"\\?\UNC\server\share\dir";
        assert_eq!(share_of(share).as_deref(), Some(r"\\server\share"));
        assert_eq!(plain(share), r"\\server\share\dir");
        assert_eq!(share_of(r"\\?\C:\dir"), None);
        assert_eq!(share_of(r"\\?\UNC\server"), None);
        assert_eq!(plain(r"\\?\C:\"), r"C:\");
        let volume = r"\\?\Volume{0f-1}\dir";
        assert_eq!(volume_in(volume), Some(r"\\?\Volume{0f-1}"));
        for other in [r"\\?\C:\a}", "", "}"] {
            assert_eq!(volume_in(other), None, "{other}");
        }
    }
}
