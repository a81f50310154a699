//! The bare loops: the system calls of the driver, on the same files or on as many names in the
//! same directories, and nothing else.

use super::transfers::FILE_BYTES;
use crate::turns::Turn;
use filermark_engine::sys::thread_cpu;
use filermark_model::{Bucket, Rng};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, mkdirat, open, openat, statat, unlinkat};
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Calls between two readings of the clock.
const BATCH: u32 = 64;
/// Size of the buffer for directory listings.
const LISTING_BYTES: usize = 64 << 10;
/// A handle that names are relative to.
const NAMING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// As the driver makes files (`crates/posix/src/sys/unix.rs`).
const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL);
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const DIR_MODE: Mode = Mode::from_raw_mode(0o755);

/// How long a loop runs before it is measured, and how long it is measured.
pub type Spans = (Duration, Duration);

fn failed(e: impl Display) -> String {
    format!("bare loop: {e}")
}

/// An open directory and names in it.
struct NamedDir {
    fd: OwnedFd,
    names: Vec<CString>,
}

impl NamedDir {
    fn open(path: &Path, names: Vec<CString>) -> Result<Self, String> {
        let fd = open(path, NAMING, Mode::empty()).map_err(failed)?;
        Ok(Self { fd, names })
    }
}

/// A loop of calls that leave the directories as they are.
pub struct ReadingLoop {
    dirs: Vec<NamedDir>,
    lists: bool,
}

impl ReadingLoop {
    /// fstatat of the driver's files below `top`.
    pub fn stat(top: &Path) -> Result<Self, String> {
        Ok(Self {
            dirs: dirs_with_files(top)?,
            lists: false,
        })
    }

    /// openat, getdents to the end and close of the directories of these files.
    pub fn readdir(top: &Path) -> Result<Self, String> {
        Ok(Self {
            dirs: dirs_with_files(top)?,
            lists: true,
        })
    }

    /// One turn.
    pub fn turn(&self, spans: Spans) -> Result<Turn, String> {
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        turn(spans, |rng| {
            let dir = &self.dirs[rng.below(self.dirs.len() as u64) as usize];
            if self.lists {
                return list(&dir.fd, &mut buffer);
            }
            let name = &dir.names[rng.below(dir.names.len() as u64) as usize];
            statat(&dir.fd, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).map(drop)
        })
    }
}

fn list(dir: &OwnedFd, buffer: &mut Vec<u8>) -> rustix::io::Result<()> {
    let listed = openat(dir, c".", LISTED, Mode::empty())?;
    let mut listing = RawDir::new(listed, buffer.spare_capacity_mut());
    while let Some(entry) = listing.next() {
        entry?;
    }
    Ok(())
}

/// A loop that makes and removes names in the driver's own directories.
///
/// The directories decide about the speed: ext4 without a journal searches the inodes of a group
/// past all that were deleted within the last minutes, so that results in a directory of another
/// group cannot be compared.
pub struct ChangingLoop {
    dirs: Vec<NamedDir>,
    names: NamePool,
    makes_dirs: bool,
}

impl ChangingLoop {
    /// openat (O_CREAT) and close; unlinkat. `per_dir` names in each directory; half of them exist
    /// at the beginning, as in the driver's tree.
    pub fn files(top: &Path, per_dir: u32) -> Result<Self, String> {
        let mut made = Self::new(top, Bucket::UNLINK, per_dir)?;
        for _ in 0..made.names.free.len() / 2 {
            let number = made.names.free.pop().unwrap_or_default();
            made.change(number, true).map_err(failed)?;
            made.names.live.push(number);
        }
        Ok(made)
    }

    /// mkdirat; unlinkat. No name exists at the beginning, as in the driver's tree.
    pub fn dirs(top: &Path, per_dir: u32) -> Result<Self, String> {
        Self::new(top, Bucket::MKDIR, per_dir)
    }

    fn new(top: &Path, bucket: Bucket, per_dir: u32) -> Result<Self, String> {
        let name = |n| CString::new(format!("x{n:07}")).map_err(failed);
        let names = (0..per_dir).map(name).collect::<Result<Vec<_>, _>>()?;
        let dirs = bucket_dirs(top, bucket)?
            .iter()
            .map(|dir| NamedDir::open(dir, names.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        let total = dirs.len() * names.len();
        Ok(Self {
            names: NamePool {
                live: Vec::with_capacity(total),
                free: (0..total as u32).rev().collect(),
            },
            dirs,
            makes_dirs: bucket == Bucket::MKDIR,
        })
    }

    /// One turn.
    pub fn turn(&mut self, spans: Spans) -> Result<Turn, String> {
        turn(spans, |rng| {
            let (number, makes) = self.names.draw(rng);
            self.change(number, makes)
        })
    }

    fn change(&self, number: u32, makes: bool) -> rustix::io::Result<()> {
        let per_dir = self.dirs[0].names.len();
        let dir = &self.dirs[number as usize / per_dir];
        let name: &CStr = &dir.names[number as usize % per_dir];
        match (makes, self.makes_dirs) {
            (true, true) => mkdirat(&dir.fd, name, DIR_MODE),
            (true, false) => openat(&dir.fd, name, NEW_FILE, FILE_MODE).map(drop),
            (false, true) => unlinkat(&dir.fd, name, AtFlags::REMOVEDIR),
            (false, false) => unlinkat(&dir.fd, name, AtFlags::empty()),
        }
    }

    /// Removes the names that exist.
    pub fn remove_all(self) -> Result<(), String> {
        let removed = self.names.live.iter().map(|n| self.change(*n, false));
        removed.collect::<Result<(), _>>().map_err(failed)
    }
}

/// The driver's directories of a bucket below `top`.
fn bucket_dirs(top: &Path, bucket: Bucket) -> Result<Vec<PathBuf>, String> {
    let name = format!("b{:02}", bucket.number());
    let dirs = walk(top)?.into_iter().map(|(dir, _)| dir);
    let dirs: Vec<_> = dirs.filter(|dir| dir.ends_with(&name)).collect();
    match dirs.is_empty() {
        false => Ok(dirs),
        true => Err(failed(format!("no directory {name} in the driver's tree"))),
    }
}

/// The directories of the driver's tree that have files.
fn dirs_with_files(top: &Path) -> Result<Vec<NamedDir>, String> {
    let mut found: Vec<NamedDir> = Vec::new();
    for (dir, files) in walk(top)? {
        // Other directories have the marker of the run at most.
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        if files.is_empty() || !name.starts_with('b') {
            continue;
        }
        let names = files.iter().filter_map(|f| f.file_name());
        let names = names.map(|name| CString::new(name.as_bytes()).map_err(failed));
        found.push(NamedDir::open(&dir, names.collect::<Result<_, _>>()?)?);
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(failed("no file in the driver's tree")),
    }
}

/// All directories below and with `top`, each with the regular files in it.
fn walk(top: &Path) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, String> {
    let mut open = vec![top.to_owned()];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
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

/// The names that exist, and those that do not.
struct NamePool {
    live: Vec<u32>,
    free: Vec<u32>,
}

impl NamePool {
    /// Draws the next name, and whether it is made or removed, with the same chance of both.
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

/// The driver's files of [`FILE_BYTES`] below `dir`.
pub fn data_files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let files = walk(dir)?.into_iter().flat_map(|(_, files)| files);
    let files: Vec<_> = files
        .filter(|file| file.metadata().is_ok_and(|m| m.len() == FILE_BYTES))
        .collect();
    match files.is_empty() {
        false => Ok(files),
        true => Err(failed("the driver's files are not found")),
    }
}

/// Reads or writes of 4 KiB at random places of the files, for one turn.
pub fn transfers(files: &[PathBuf], write: bool, spans: Spans) -> Result<Turn, String> {
    let flags = match write {
        true => OFlags::WRONLY,
        false => OFlags::RDONLY,
    };
    let open = |path: &PathBuf| open(path, flags, Mode::empty()).map_err(failed);
    let files = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut block = vec![1u8; 4096];
    turn(spans, |rng| {
        let file = &files[rng.below(files.len() as u64) as usize];
        let offset = rng.below(FILE_BYTES / 4096) * 4096;
        match write {
            true => rustix::io::pwrite(file, &block, offset).map(drop),
            false => rustix::io::pread(file, &mut block, offset).map(drop),
        }
    })
}

/// Repeats a call.
fn turn(
    (warmup, window): Spans,
    mut call: impl FnMut(&mut Rng) -> rustix::io::Result<()>,
) -> Result<Turn, String> {
    let mut rng = Rng::new(1, 1);
    repeat(warmup, &mut rng, &mut call)?;
    Turn::measure(
        || thread_cpu().0,
        || repeat(window, &mut rng, &mut call).map(|count| count as f64),
    )
}

fn repeat(
    span: Duration,
    rng: &mut Rng,
    mut call: impl FnMut(&mut Rng) -> rustix::io::Result<()>,
) -> Result<u64, String> {
    let began = Instant::now();
    let mut count = 0;
    loop {
        for _ in 0..BATCH {
            call(rng).map_err(failed)?;
        }
        count += u64::from(BATCH);
        if began.elapsed() >= span {
            return Ok(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Spans = (Duration::ZERO, Duration::ZERO);

    #[test]
    fn names_are_made_when_missing_and_removed_when_there() {
        let (mut rng, mut there) = (Rng::new(1, 1), [false; 9]);
        let mut names = NamePool {
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
        let top = dir.path();
        let tree = top.join("filermark.x/p0/d0000");
        for bucket in ["b04", "b07", "b08"] {
            std::fs::create_dir_all(tree.join(bucket)).expect("made");
        }
        std::fs::write(top.join("filermark.x/.marker"), b"m").expect("written");
        let file = std::fs::File::create(tree.join("b04/f0000000")).expect("made");
        file.set_len(FILE_BYTES).expect("its size");
        let files = data_files(top).expect("found");
        assert_eq!(files, [tree.join("b04/f0000000")]);
        let reading = [ReadingLoop::stat(top), ReadingLoop::readdir(top)];
        for reading in reading.map(|found| found.expect("found")) {
            assert_eq!((reading.dirs.len(), reading.dirs[0].names.len()), (1, 1));
            let turn = reading.turn(AT_ONCE).expect("worked");
            assert_eq!(turn.ops, f64::from(BATCH));
        }
        let names_in = |bucket: &str| {
            let listed = std::fs::read_dir(tree.join(bucket)).expect("listed");
            listed.count()
        };
        for (bucket, changing, at_first) in [
            ("b08", ChangingLoop::files(top, 6), 3),
            ("b07", ChangingLoop::dirs(top, 6), 0),
        ] {
            let mut changing = changing.expect("found");
            assert_eq!(names_in(bucket), at_first);
            let turn = changing.turn(AT_ONCE).expect("worked");
            assert_eq!(turn.ops, f64::from(BATCH));
            assert_eq!(names_in(bucket), changing.names.live.len());
            changing.remove_all().expect("removed");
            assert_eq!(names_in(bucket), 0);
        }
        for write in [true, false] {
            let turn = transfers(&files, write, AT_ONCE).expect("worked");
            assert_eq!(turn.ops, f64::from(BATCH));
        }
    }
}
