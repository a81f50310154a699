//! The bare loops: the same system calls as the driver's, on the same files or on as many of the
//! same names, and nothing beside them.

use super::{FILE_BYTES, LoopCalls};
use crate::turns::Turn;
use filermark_engine::sys::thread_cpu;
use filermark_model::Rng;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, mkdirat, open, openat, statat, unlinkat};
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Calls between two readings of the clock.
const BATCH: u32 = 64;
const MODE: Mode = Mode::from_raw_mode(0o700);
/// Of a buffer for listings.
const LISTING_BYTES: usize = 64 << 10;
/// How a handle is opened that only names.
const NAMING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

fn to_string(e: impl Display) -> String {
    format!("bare loop: {e}")
}

/// A directory, open, and the names in it.
struct NamedDir {
    fd: OwnedFd,
    names: Vec<CString>,
}

/// Calls on the files that the driver has below `dir`, or on as many names of its own as come
/// and go there: `names` in each of `dirs` directories.
pub fn metadata(
    dir: &Path,
    calls: LoopCalls,
    (dirs, names): (u32, u32),
    window: Duration,
) -> Result<Turn, String> {
    match calls {
        LoopCalls::Stat | LoopCalls::Readdir => {
            let dirs = bucket_dirs(dir)?;
            standing(&dirs, calls, window)
        }
        LoopCalls::CreateUnlink | LoopCalls::MkdirRmdir => {
            let top = dir.join("bare");
            let dirs = (0..dirs)
                .map(|d| own_dir(&top.join(format!("d{d:04}/b08")), names))
                .collect::<Result<Vec<_>, _>>()?;
            let turn = coming_and_going(&dirs, calls, window);
            drop(dirs);
            std::fs::remove_dir_all(&top).map_err(to_string)?;
            turn
        }
    }
}

fn own_dir(path: &Path, names: u32) -> Result<NamedDir, String> {
    std::fs::create_dir_all(path).map_err(to_string)?;
    let name = |n| CString::new(format!("f{n:07}")).map_err(to_string);
    Ok(NamedDir {
        fd: open(path, NAMING, Mode::empty()).map_err(to_string)?,
        names: (0..names).map(name).collect::<Result<_, _>>()?,
    })
}

/// The directories of the driver's tree that have files.
fn bucket_dirs(top: &Path) -> Result<Vec<NamedDir>, String> {
    let mut found: Vec<NamedDir> = Vec::new();
    for (dir, files) in walk(top)? {
        // What is no bucket has the marker of the run at most.
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        if files.is_empty() || !name.starts_with('b') {
            continue;
        }
        let names = files.iter().filter_map(|f| f.file_name());
        let names = names.map(|name| CString::new(name.as_bytes()).map_err(to_string));
        found.push(NamedDir {
            fd: open(&dir, NAMING, Mode::empty()).map_err(to_string)?,
            names: names.collect::<Result<_, _>>()?,
        });
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(to_string("the driver's files are not found")),
    }
}

/// All directories below and with `top`, each with the regular files in it.
fn walk(top: &Path) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, String> {
    let mut open = vec![top.to_owned()];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&dir).map_err(to_string)? {
            let entry = entry.map_err(to_string)?;
            let kind = entry.file_type().map_err(to_string)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
        files.sort();
        found.push((dir, files));
    }
    found.sort();
    Ok(found)
}

fn standing(dirs: &[NamedDir], calls: LoopCalls, window: Duration) -> Result<Turn, String> {
    let mut room = Vec::with_capacity(LISTING_BYTES);
    looped(window, |rng| {
        let dir = &dirs[rng.below(dirs.len() as u64) as usize];
        if let LoopCalls::Readdir = calls {
            return list(&dir.fd, &mut room).map(|()| 1);
        }
        let name = &dir.names[rng.below(dir.names.len() as u64) as usize];
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        statat(&dir.fd, name.as_c_str(), flags).map(|_| 1)
    })
}

fn list(dir: &OwnedFd, room: &mut Vec<u8>) -> rustix::io::Result<()> {
    let listed = openat(dir, c".", LISTED, Mode::empty())?;
    let mut listing = RawDir::new(listed, room.spare_capacity_mut());
    while let Some(entry) = listing.next() {
        entry?;
    }
    Ok(())
}

/// Which names are there, and which are not.
struct Names {
    live: Vec<u32>,
    free: Vec<u32>,
}

impl Names {
    /// Draws what comes next, as a mix of half and half does: the name, and whether it is made.
    fn draw(&mut self, rng: &mut Rng) -> (u32, bool) {
        let makes = match (self.live.is_empty(), self.free.is_empty()) {
            (true, _) => true,
            (_, true) => false,
            _ => rng.below(2) == 0,
        };
        let from = match makes {
            true => self.free.pop(),
            false => {
                let at = rng.below(self.live.len() as u64) as usize;
                Some(self.live.swap_remove(at))
            }
        };
        let name = from.unwrap_or_default();
        match makes {
            true => self.live.push(name),
            false => self.free.push(name),
        }
        (name, makes)
    }
}

/// Makes and removes names, in random order, where every second file is there at the beginning
/// and no directory is, as in the driver's tree.
fn coming_and_going(dirs: &[NamedDir], calls: LoopCalls, window: Duration) -> Result<Turn, String> {
    let total: usize = dirs.iter().map(|d| d.names.len()).sum();
    let per_dir = (total / dirs.len().max(1)).max(1);
    let make_file = |dir: &OwnedFd, name: &CStr| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(dir, name, flags, MODE).map(drop)
    };
    let at = |number: u32| {
        let dir = &dirs[number as usize / per_dir];
        (&dir.fd, dir.names[number as usize % per_dir].as_c_str())
    };
    let is_dir = matches!(calls, LoopCalls::MkdirRmdir);
    let mut names = Names {
        live: Vec::with_capacity(total),
        free: (0..total as u32).rev().collect(),
    };
    if !is_dir {
        for _ in 0..total / 2 {
            let number = names.free.pop().unwrap_or_default();
            let (dir, name) = at(number);
            make_file(dir, name).map_err(to_string)?;
            names.live.push(number);
        }
    }
    looped(window, |rng| {
        let (number, makes) = names.draw(rng);
        let (dir, name) = at(number);
        match (makes, is_dir) {
            (true, true) => mkdirat(dir, name, MODE)?,
            (true, false) => make_file(dir, name)?,
            (false, true) => unlinkat(dir, name, AtFlags::REMOVEDIR)?,
            (false, false) => unlinkat(dir, name, AtFlags::empty())?,
        }
        Ok(1)
    })
}

/// The driver's files of [`FILE_BYTES`] below `dir`.
pub fn data_files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let files = walk(dir)?.into_iter().flat_map(|(_, files)| files);
    let files: Vec<_> = files
        .filter(|file| file.metadata().is_ok_and(|m| m.len() == FILE_BYTES))
        .collect();
    match files.is_empty() {
        false => Ok(files),
        true => Err(to_string("the driver's files are not found")),
    }
}

/// Reads or writes of 4 KiB at random places of the files.
pub fn transfers(files: &[PathBuf], write: bool, window: Duration) -> Result<Turn, String> {
    let flags = match write {
        true => OFlags::WRONLY,
        false => OFlags::RDONLY,
    };
    let open = |path: &PathBuf| open(path, flags, Mode::empty()).map_err(to_string);
    let files = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut block = vec![1u8; 4096];
    looped(window, |rng| {
        let file = &files[rng.below(files.len() as u64) as usize];
        let offset = rng.below(FILE_BYTES / 4096) * 4096;
        match write {
            true => rustix::io::pwrite(file, &block, offset).map(|_| 1),
            false => rustix::io::pread(file, &mut block, offset).map(|_| 1),
        }
    })
}

fn looped(
    window: Duration,
    mut call: impl FnMut(&mut Rng) -> rustix::io::Result<u32>,
) -> Result<Turn, String> {
    let mut rng = Rng::new(1, 1);
    Turn::measure(
        || thread_cpu().0,
        || {
            let began = Instant::now();
            let mut count = 0u64;
            loop {
                for _ in 0..BATCH {
                    count += u64::from(call(&mut rng).map_err(to_string)?);
                }
                if began.elapsed() >= window {
                    return Ok(count as f64);
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_when_missing_and_removed_when_there() {
        let (mut rng, mut there) = (Rng::new(1, 1), [false; 9]);
        let mut names = Names {
            live: Vec::new(),
            free: (0..9).collect(),
        };
        let mut made = 0;
        for _ in 0..1000 {
            let (name, makes) = names.draw(&mut rng);
            assert_eq!(there[name as usize], !makes);
            there[name as usize] = makes;
            made += u32::from(makes);
        }
        assert!((400..=600).contains(&made), "{made}");
    }

    #[test]
    fn the_loops_work_on_the_files_of_a_tree() {
        let dir = tempfile::tempdir().expect("a directory");
        let bucket = dir.path().join("filermark.x/p0/d0000/b04");
        std::fs::create_dir_all(&bucket).expect("made");
        std::fs::write(dir.path().join("filermark.x/.marker"), b"m").expect("written");
        let file = std::fs::File::create(bucket.join("f0000000")).expect("made");
        file.set_len(FILE_BYTES).expect("its size");
        let found = bucket_dirs(dir.path()).expect("found");
        assert_eq!((found.len(), found[0].names.len()), (1, 1));
        let files = data_files(dir.path()).expect("found");
        assert_eq!(files, [bucket.join("f0000000")]);
        for calls in [
            LoopCalls::Stat,
            LoopCalls::Readdir,
            LoopCalls::CreateUnlink,
            LoopCalls::MkdirRmdir,
        ] {
            let turn = metadata(dir.path(), calls, (2, 3), Duration::ZERO).expect("worked");
            assert_eq!(turn.ops, f64::from(BATCH));
        }
        for write in [true, false] {
            let turn = transfers(&files, write, Duration::ZERO).expect("worked");
            assert_eq!(turn.ops, f64::from(BATCH));
        }
        assert!(!dir.path().join("bare").exists());
    }
}
