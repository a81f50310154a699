//! Files: read up to a limit, written whole or not at all.

use crate::exit::CommandError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Reads a file of at most `len_max` bytes.
///
/// # Errors
/// It cannot be read, or is larger: a sentence with the path.
pub fn read_limited(path: &Path, len_max: u64) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let cannot = |e: io::Error| format!("{shown}: cannot be read: {e}");
    let mut content = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(len_max.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(cannot)?;
    match content.len() as u64 > len_max {
        true => Err(format!("{shown}: larger than {} MiB", len_max >> 20)),
        false => Ok(content),
    }
}

/// Reads a file whose name comes from a foreign document, as [`read_limited`] does: it must be
/// a bare name of a regular file in `folder`, and no link.
///
/// # Errors
/// As [`read_limited`], or the name has a directory, or it is no regular file.
pub fn read_named(folder: &Path, name: &str, len_max: u64) -> Result<Vec<u8>, String> {
    let is_bare = Path::new(name).file_name().is_some_and(|n| n == name);
    if !is_bare {
        return Err(format!(
            "\"{name}\": such a file must be in the folder of the submission, without a folder in its name"
        ));
    }
    let path = folder.join(name);
    let shown = path.display();
    let kind = fs::symlink_metadata(&path).map_err(|e| format!("{shown}: cannot be read: {e}"))?;
    match kind.is_file() {
        true => read_limited(&path, len_max),
        false => Err(format!(
            "{shown}: this is a link, a folder or a device, and no file"
        )),
    }
}

/// Refuses to write over a file that is being read.
///
/// # Errors
/// `out` is one of the inputs, also by another name or link.
pub fn refuse_inputs(out: &Path, inputs: &[&Path]) -> Result<(), CommandError> {
    let Ok(target) = fs::canonicalize(out) else {
        return Ok(());
    };
    let is_target = |input: &&&Path| fs::canonicalize(input).is_ok_and(|input| input == target);
    match inputs.iter().find(is_target) {
        None => Ok(()),
        Some(input) => Err(CommandError::Usage(vec![format!(
            "{}: this would be written over {}, which is read; give another name",
            out.display(),
            input.display()
        )])),
    }
}

/// Writes a whole file or none: into a hidden file beside it, which is synchronized and
/// renamed. A link stays a link, the mode stays as it was; a pipe or a device is written into.
///
/// # Errors
/// A sentence with the path.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), String> {
    let failed = |e: io::Error| {
        let step = match e.kind() {
            io::ErrorKind::NotFound => "make its folder first, or give another path",
            io::ErrorKind::IsADirectory => "give the path of a file, or remove the folder",
            _ => "check the free space and the permissions of its folder, or give another path",
        };
        format!("{}: cannot be written: {e}; {step}", path.display())
    };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut file = OpenOptions::new()
            .write(true)
            .open(&target)
            .map_err(failed)?;
        return file.write_all(content).map_err(failed);
    }
    let folder = folder_of(&target);
    let beside = beside(&target).ok_or_else(|| no_name(path))?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&beside)
        .map_err(failed)?;
    let mode = old.map_or(Ok(()), |old| file.set_permissions(old.permissions()));
    let written = mode
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    // The rename reaches the disk, too, where directories can be synchronized.
    let _ = File::open(&folder).and_then(|folder| folder.sync_all());
    written.map_err(failed)
}

/// The hidden file that becomes `target`, in the same directory.
fn beside(target: &Path) -> Option<PathBuf> {
    let name = target.file_name()?.to_string_lossy().into_owned();
    let hidden = format!(".{name}.{}.tmp", std::process::id());
    Some(folder_of(target).join(hidden))
}

fn no_name(path: &Path) -> String {
    format!("{}: this is no name of a file", path.display())
}

/// A large file that is written line by line into a hidden file, and renamed when it is whole.
/// Dropped before, nothing is left of it.
#[derive(Debug)]
pub struct PendingFile {
    target: PathBuf,
    beside: PathBuf,
    force: bool,
}

impl PendingFile {
    /// For a file at `path`; with `force` an existing one is replaced by [`Self::keep`].
    ///
    /// # Errors
    /// The file exists and may not be replaced, or is no regular file.
    pub fn new(path: &Path, force: bool) -> Result<Self, CommandError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        refuse_older(&target, force)?;
        let beside = beside(&target).ok_or_else(|| CommandError::Usage(vec![no_name(path)]))?;
        Ok(Self {
            target,
            beside,
            force,
        })
    }

    /// Where to write until then.
    pub fn path(&self) -> &Path {
        &self.beside
    }

    /// The file is whole: synchronizes it, and gives it its name.
    ///
    /// # Errors
    /// The file system refuses it, or another program has made a file of that name meanwhile.
    pub fn keep(self) -> Result<(), CommandError> {
        refuse_older(&self.target, self.force)?;
        let failed =
            |e| CommandError::Failed(format!("{}: cannot be written: {e}", self.target.display()));
        File::open(&self.beside)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&self.beside, &self.target))
            .map_err(failed)?;
        let _ = File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside);
    }
}

/// Refuses to replace a file without `force`.
///
/// # Errors
/// The file exists and `force` is false, or it is no regular file.
pub fn refuse_older(target: &Path, force: bool) -> Result<(), CommandError> {
    let shown = target.display();
    let sentence = match fs::metadata(target) {
        Err(_) => return Ok(()),
        Ok(old) if !old.is_file() => {
            format!("{shown}: this is no regular file; give another name (-o)")
        }
        Ok(_) if force => return Ok(()),
        Ok(_) => {
            format!("{shown} exists already; give another name (-o), or --force to replace it")
        }
    };
    Err(CommandError::Usage(vec![sentence]))
}

/// The directory of a file.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_modes_and_devices_stay_what_they_are() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        write_whole(&at("a"), b"one").expect("written");
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o600)).expect("a mode");
        symlink(at("a"), at("link")).expect("a link");
        write_whole(&at("link"), b"two").expect("written");
        assert!(
            fs::symlink_metadata(at("link"))
                .expect("there")
                .is_symlink()
        );
        assert_eq!(fs::read(at("a")).expect("there"), b"two");
        let mode = fs::metadata(at("a")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        write_whole(Path::new("/dev/null"), b"three").expect("written");
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
        let error = write_whole(&at("none/b"), b"four").expect_err("no folder");
        assert!(error.contains("none/b"), "{error}");
        assert!(error.contains("; make its folder first"), "{error}");
        let error = write_whole(dir.path(), b"five").expect_err("a folder");
        assert!(error.contains("; give the path of a file"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 2);
        assert!(refuse_inputs(&at("link"), &[&at("a")]).is_err());
        assert!(refuse_inputs(&at("new"), &[&at("a")]).is_ok());
    }

    #[test]
    fn what_others_name_is_a_file_beside() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("a"), "12345").expect("written");
        symlink("/etc/passwd", dir.path().join("link")).expect("a link");
        assert_eq!(read_named(dir.path(), "a", 5).expect("read"), b"12345");
        for (name, what) in [
            ("a", "larger"),
            ("link", "a link"),
            ("../a", "in the folder of the submission"),
            ("b", "cannot be read"),
        ] {
            let error = read_named(dir.path(), name, 4).expect_err(name);
            assert!(error.contains(what), "{error}");
        }
        assert!(
            read_limited(Path::new("/dev/zero"), 10)
                .expect_err("endless")
                .contains("larger")
        );
    }
}
