//! Program files on the SFTP server of a host with Windows: judged, written, renamed and removed,
//! never a file that is not Filermark.

use crate::admin::sftp::{Attributes, RemoteFile, Sftp};
use crate::admin::verdict::InstallAction;
use filermark_link::build::{BUILD_DIGITS, HashingReader, has_mark};
use std::io::{self, Read, Write};

/// Largest file that is read to find out whether it is Filermark, in bytes.
const FILE_LEN_MAX: u64 = 1 << 30;
/// Builds that are kept at the default path.
const BUILDS_KEPT: usize = 3;

/// What a file there contains.
struct FileContents {
    sha256: String,
    is_filermark: bool,
}

/// Reads the first `len` bytes of a file, or fewer, with a limited number of them in memory. The
/// file is closed in any case, so that the connection can be used for other work.
fn read_file<R: Read, W: Write, T>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    len: u64,
    read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
) -> Result<T, String> {
    let mut remote = RemoteFile::open(sftp, path, len)?;
    let result = read(&mut remote).map_err(|e| e.to_string());
    let closed = remote.close();
    let found = result?;
    closed.map(|()| found)
}

/// Reads a whole file once.
fn contents<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    len: u64,
) -> Result<FileContents, String> {
    read_file(sftp, path, len, |file| {
        let mut file = HashingReader::new(file);
        let is_filermark = has_mark(&mut file)?;
        let (sha256, _) = file.finish()?;
        Ok(FileContents {
            sha256,
            is_filermark,
        })
    })
}

/// Whether a file is Filermark; it is read up to its mark.
fn is_filermark<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    found: &Attributes,
) -> Result<bool, String> {
    let is_program = !found.is_dir && found.len <= FILE_LEN_MAX;
    Ok(is_program && read_file(sftp, path, found.len, |file| has_mark(file))?)
}

/// Whether a file is there; also true if the server does not answer.
pub(super) fn is_there<R: Read, W: Write>(sftp: &mut Sftp<R, W>, path: &str) -> bool {
    !matches!(sftp.attributes(path), Ok(None))
}

/// What to do where the program with this hash is to be.
pub(super) fn judge_file<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    shown: &str,
    sha256: &str,
) -> Result<InstallAction, String> {
    let Some(found) = sftp.attributes(path)? else {
        return Ok(InstallAction::Send);
    };
    if found.is_dir {
        return Ok(InstallAction::Refuse(format!(
            "{shown} is a directory; set EXEC_PATH to the file ({shown}/filermark.exe)"
        )));
    }
    let foreign = InstallAction::Refuse(format!(
        "{shown} is not Filermark; it was not changed; set EXEC_PATH to another path"
    ));
    if found.len > FILE_LEN_MAX {
        return Ok(foreign);
    }
    let found = contents(sftp, path, found.len)?;
    Ok(match found.is_filermark {
        _ if found.sha256 == sha256 => InstallAction::UpToDate,
        true => InstallAction::Send,
        false => foreign,
    })
}

/// Writes a new file, and reads it to compare it with the SHA-256 and the length of the program.
/// If that fails, no file is left.
pub(super) fn upload<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    source: impl Read,
    (sha256, len): (&str, u64),
    sent: &dyn Fn(u64),
) -> Result<(), String> {
    let write = |sftp: &mut Sftp<R, W>| {
        sftp.write_new(path, source, sent)?;
        let stored = sftp.attributes(path)?.map(|found| found.len);
        if stored == Some(len) && contents(sftp, path, len)?.sha256 == sha256 {
            return Ok(());
        }
        Err("the received file has another checksum than the sent one; try again".into())
    };
    let written = write(sftp);
    if written.is_err() {
        let _ = sftp.remove(path);
    }
    written
}

/// Gives the new file its name, unless a file that is not Filermark has got it meanwhile. The
/// names are those of the new file, of the program, and one for the old program while neither
/// has the program's. If it fails, the new file is removed. Returns what the user should know
/// about the old program.
pub(super) fn place_new<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    [from, to, aside]: [&str; 3],
    shown: &str,
    sha256: &str,
) -> Result<Option<String>, String> {
    let placed = match judge_file(sftp, to, shown, sha256) {
        Ok(InstallAction::Send) => match sftp.rename(from, to, aside) {
            Ok(true) => settle_aside(sftp, [from, to, aside], shown),
            Ok(false) => Ok(None),
            Err(why) => Err(format!(
                "{why}; is the program in use? end it there and try again"
            )),
        },
        Ok(InstallAction::UpToDate) => {
            // Another prime was faster.
            let _ = sftp.remove(from);
            Ok(None)
        }
        Ok(InstallAction::Refuse(why)) | Err(why) => Err(why),
    };
    if placed.is_err() {
        let _ = sftp.remove(from);
    }
    placed
}

/// Removes the file that was moved aside for the new program. It may have come after the last
/// look: one that is not Filermark is put back.
fn settle_aside<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    [from, to, aside]: [&str; 3],
    shown: &str,
) -> Result<Option<String>, String> {
    let found = match sftp.attributes(aside) {
        Ok(None) => return Ok(None),
        Ok(Some(found)) => is_filermark(sftp, aside, &found),
        Err(why) => Err(why),
    };
    match found {
        Ok(true) => Ok(sftp.remove(aside).err().map(|why| {
            format!("the old program is in use and is now {aside}: remove it there later ({why})")
        })),
        Ok(false) => {
            let moved = sftp.rename_to_free(to, from);
            let back = moved
                .map_err(|why| format!("the old file is now {aside} ({why})"))
                .and_then(|()| sftp.put_back(aside, to));
            let more = back
                .err()
                .map_or_else(String::new, |why| format!("; {why}"));
            Err(format!(
                "{shown} is not Filermark; set EXEC_PATH to another path{more}"
            ))
        }
        Err(why) => Ok(Some(format!(
            "the old file is now {aside}: look at it there, and remove it ({why})"
        ))),
    }
}

/// Whether a directory contains a Filermark program and nothing else.
fn is_only_filermark<R: Read, W: Write>(sftp: &mut Sftp<R, W>, dir: &str) -> bool {
    let found = sftp.entries(dir).unwrap_or_default();
    let [(name, file)] = found.as_slice() else {
        return false;
    };
    let path = format!("{dir}/{name}");
    name == "filermark.exe" && is_filermark(sftp, &path, file).unwrap_or(false)
}

/// Removes the builds in `all` that were used longest ago, but not `own`, and only directories
/// with nothing but a Filermark program. Failures are ignored, since an agent may still use one.
pub(super) fn remove_old<R: Read, W: Write>(sftp: &mut Sftp<R, W>, all: &str, own: &str) -> usize {
    let suffix = |name: &str| name.get(BUILD_DIGITS..).map(str::to_owned);
    let own_name = own.rsplit_once('/').map_or(own, |(_, name)| name);
    let is_build = |name: &str| {
        let digits = name.get(..BUILD_DIGITS);
        let is_hex = digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        is_hex && suffix(name) == suffix(own_name) && name != own_name
    };
    let Ok(mut found) = sftp.entries(all) else {
        return 0;
    };
    found.retain(|(name, attributes)| attributes.is_dir && is_build(name));
    found.sort_by_key(|(_, attributes)| std::cmp::Reverse(attributes.changed_at));
    let mut removed = 0;
    for (name, _) in found.iter().skip(BUILDS_KEPT - 1) {
        let dir = format!("{all}/{name}");
        if !is_only_filermark(sftp, &dir) {
            continue;
        }
        let gone = sftp.remove(&format!("{dir}/filermark.exe"));
        if gone.and_then(|()| sftp.remove_dir(&dir)).is_ok() {
            removed += 1;
        }
    }
    removed
}

#[cfg(test)]
mod tests;
