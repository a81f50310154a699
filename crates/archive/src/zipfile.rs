//! The zip format. Only this module uses the library. The same files are packed to the same
//! bytes. Archives that are read are not trusted.

use crate::name::{check_name, shown};
use crate::{ArchiveError, ArchiveResult, FILE_COUNT_MAX, FILE_LEN_MAX, TOTAL_LEN_MAX};
use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Maximum ratio of the size of all files to that of the archive ...
const RATIO_MAX: u64 = 200;
/// ... if the files are larger than this, in bytes.
const RATIO_FROM: u64 = 64 << 20;
/// The first bytes of every zip file that is not empty.
const MAGIC: &[u8] = b"PK\x03\x04";

/// Files by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Whether bytes begin like a zip file.
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Packs files in the given order, all with the same time.
pub(crate) fn pack<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> ArchiveResult<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| ArchiveError(format!("cannot be packed: {e}"));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(name, options).map_err(|e| failed(&e))?;
        writer.write_all(bytes).map_err(|e| failed(&e))?;
    }
    let packed = writer.finish().map_err(|e| failed(&e))?;
    Ok(packed.into_inner())
}

/// Reads the files of a zip file.
pub(crate) fn unpack(bytes: &[u8]) -> ArchiveResult<Files> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|e| ArchiveError(format!("not a zip file, or a damaged one: {e}")))?;
    check_whole(&mut archive)?;
    let mut files = Files::new();
    let mut total = 0u64;
    for at in 0..archive.len() {
        let raw = archive.by_index_raw(at).map_err(|e| damaged(at, &e))?;
        let name = std::str::from_utf8(raw.name_raw())
            .map_err(|_| ArchiveError(format!("file {}: the name is not UTF-8", at + 1)))?
            .to_owned();
        let refused = |why: &str| Err(ArchiveError(format!("\"{}\": {why}", shown(&name))));
        if raw.is_dir() && check_name(name.trim_end_matches('/')).is_ok() {
            continue;
        }
        if let Err(why) = check_name(&name) {
            return refused(why);
        }
        if raw.encrypted() {
            return refused("the file is encrypted, which is not allowed in an archive");
        }
        if raw.is_symlink() || raw.unix_mode().is_some_and(|mode| !is_regular(mode)) {
            return refused("not a regular file, but a link or a device");
        }
        let size = raw.size();
        drop(raw);
        if size > FILE_LEN_MAX {
            return refused("larger than 1 GiB");
        }
        total = total.saturating_add(size);
        if total > TOTAL_LEN_MAX {
            return refused("the files are larger than 2 GiB together");
        }
        if total > RATIO_FROM && total / RATIO_MAX > bytes.len() as u64 {
            return refused(
                "the files are more than 200 times as large as the archive: it could fill the disk",
            );
        }
        let content = match read_one(&mut archive, at, size) {
            Ok(content) => content,
            Err(why) => return refused(&why),
        };
        if files.insert(name.clone(), content).is_some() {
            return refused("the name is there twice");
        }
    }
    Ok(files)
}

fn damaged(at: usize, e: &dyn std::fmt::Display) -> ArchiveError {
    ArchiveError(format!("file {}: damaged: {e}", at + 1))
}

/// Whether a mode is that of a regular file, or has no file type.
const fn is_regular(mode: u32) -> bool {
    matches!(mode & 0o170_000, 0 | 0o100_000)
}

/// Checks that the archive has no duplicate names, overlapping files or bytes before the
/// first file.
fn check_whole(archive: &mut ZipArchive<Cursor<&[u8]>>) -> ArchiveResult {
    let refused = |why: &str| Err(ArchiveError(why.to_owned()));
    if archive.len() > FILE_COUNT_MAX {
        return refused("more than 60000 files");
    }
    if archive.has_duplicate_names() {
        return refused("a name is there twice: it is unclear which file is meant");
    }
    if archive.offset() != 0 {
        return refused("there are bytes before the first file");
    }
    match archive.has_overlapping_entries() {
        Ok(false) => {}
        Ok(true) => return refused("files overlap: it could fill the disk"),
        Err(e) => return refused(&format!("damaged: {e}")),
    }
    match archive.validate_header_consistency() {
        Ok(()) => Ok(()),
        Err(e) => refused(&format!(
            "its two lists of files contradict each other: {e}"
        )),
    }
}

/// Reads one file, at most as long as its header states.
fn read_one(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    at: usize,
    size: u64,
) -> Result<Vec<u8>, String> {
    let file = archive.by_index(at).map_err(|e| format!("damaged: {e}"))?;
    let mut content = Vec::new();
    file.take(size.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|e| format!("damaged: {e}"))?;
    match content.len() as u64 == size {
        true => Ok(content),
        false => Err(format!(
            "{} bytes, but its header states {size}",
            content.len()
        )),
    }
}
