//! Removing what is ours from a run's directory, and nothing else: only names of the
//! layout, only below directories that are reached without links and without
//! entering another mount.

use crate::names;
use crate::sys::{Dir, Errno, Kind};
use filermark_engine::driver::StopFlag;
use filermark_engine::file_action::{FileKind, is_tree_name};
use filermark_engine::name::MARKER;
use filermark_engine::stopping;
use filermark_model::Bucket;
use std::ffi::{CStr, CString};

/// What the scratch files of probes are called, before a number of their own.
pub(super) const PROBE_PREFIX: &str = ".filermark-probe-";
/// Foreign names that are told; more are only counted.
const FOREIGN_TOLD_MAX: usize = 20;
/// Passes over a directory: removing while listing may make a file system skip
/// some. No sound one comes near.
const PASSES_MAX: usize = 200;

/// What clearing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleared {
    /// Objects that were removed.
    pub removed_count: u64,
    /// Names that are not ours, with their place.
    pub foreign: Vec<String>,
    foreign_untold: u64,
}

impl Cleared {
    fn leave(&mut self, place: String) {
        if self.foreign.contains(&place) {
            return;
        }
        match self.foreign.len() < FOREIGN_TOLD_MAX {
            true => self.foreign.push(place),
            false => self.foreign_untold += 1,
        }
    }
}

/// What could not be done, and where.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    /// The place below the directory that was to be cleared.
    pub place: String,
    /// What the system said.
    pub errno: Errno,
}

impl From<Failed> for Errno {
    fn from(failed: Failed) -> Self {
        failed.errno
    }
}

/// Which kind of directory of the layout one is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The run's.
    Run,
    /// The top of a tree.
    Tree,
    /// `d0000`.
    Dir,
    /// `b00`.
    Bucket,
    /// `m0000000`.
    Made,
}

/// What a name is to us.
enum Ours {
    Marker,
    File,
    Dir(Level),
    No,
}

impl Level {
    fn look(self, name: &[u8]) -> Ours {
        match self {
            Self::Run if name == MARKER.as_bytes() => Ours::Marker,
            Self::Run if name.starts_with(PROBE_PREFIX.as_bytes()) => Ours::File,
            Self::Run if std::str::from_utf8(name).is_ok_and(is_tree_name) => Ours::Dir(Self::Tree),
            Self::Tree if names::is_dir(name) => Ours::Dir(Self::Dir),
            Self::Dir if names::is_bucket(name) => Ours::Dir(Self::Bucket),
            Self::Bucket => match names::kind_of(name) {
                Some(FileKind::MadeDir) => Ours::Dir(Self::Made),
                Some(_) => Ours::File,
                None => Ours::No,
            },
            _ => Ours::No,
        }
    }
}

/// Removes everything of ours in a run's directory except the marker.
pub(super) fn run_dir(dir: &Dir, place: &str) -> Result<Cleared, Failed> {
    let mut clearing = Clearing {
        cleared: Cleared::default(),
        stop: &stopping::flag(),
    };
    clearing.empty(dir, Level::Run, place)?;
    Ok(clearing.end(place))
}

/// Removes the directory `name` of the tree `top`, with everything of ours in it.
pub(crate) fn dir(top: &Dir, name: &CStr, stop: &StopFlag) -> Result<Cleared, Failed> {
    let mut clearing = Clearing {
        cleared: Cleared::default(),
        stop,
    };
    clearing.remove_dir(top, Level::Dir, name, &printable(name))?;
    Ok(clearing.end(""))
}

/// The foreign names in a run's directory itself; nothing is removed.
pub(super) fn foreign_names(dir: &Dir, place: &str) -> Result<Cleared, Failed> {
    let mut cleared = Cleared::default();
    let listed = dir.each_name(|name| {
        if matches!(Level::Run.look(name.to_bytes()), Ours::No) {
            cleared.leave(format!("{place}/{}", printable(name)));
        }
        true
    });
    listed.map_err(failed(place))?;
    Ok(cleared)
}

/// Removes what comes and goes from the trees in a run's directory that is kept: the
/// next run begins with other names of these than the one before ended with. Files
/// that stay are left.
pub(super) fn passing_names(dir: &Dir, place: &str) -> Result<(), Failed> {
    let mut clearing = Clearing {
        cleared: Cleared::default(),
        stop: &StopFlag::new(),
    };
    let passing = [
        Bucket::MKDIR,
        Bucket::UNLINK,
        Bucket::RENAME,
        Bucket::UNLINK2,
    ];
    for tree in ours_in(dir, Level::Run, place)? {
        let Ok(top) = dir.open_dir(&tree) else {
            continue;
        };
        for name in ours_in(&top, Level::Tree, place)? {
            let Ok(below) = top.open_dir(&name) else {
                continue;
            };
            for bucket in passing {
                if let Ok(bucket) = below.open_dir(names::bucket(bucket).as_c_str()) {
                    clearing.empty(&bucket, Level::Bucket, place)?;
                }
            }
        }
    }
    Ok(())
}

/// The directories of the layout in a directory.
fn ours_in(dir: &Dir, level: Level, place: &str) -> Result<Vec<CString>, Failed> {
    let mut found = Vec::new();
    let listed = dir.each_name(|name| {
        if matches!(level.look(name.to_bytes()), Ours::Dir(_)) {
            found.push(name.to_owned());
        }
        true
    });
    listed.map_err(failed(place))?;
    Ok(found)
}

struct Clearing<'a> {
    cleared: Cleared,
    stop: &'a StopFlag,
}

impl Clearing<'_> {
    fn end(mut self, place: &str) -> Cleared {
        if self.cleared.foreign_untold > 0 {
            let more = format!("{place}: and {} more names", self.cleared.foreign_untold);
            self.cleared.foreign.push(more);
        }
        self.cleared
    }

    /// Empties a directory of what is ours; tells whether it is empty now (the
    /// marker aside).
    fn empty(&mut self, dir: &Dir, level: Level, place: &str) -> Result<bool, Failed> {
        for _ in 0..PASSES_MAX {
            let before = self.cleared.removed_count;
            let mut left = false;
            let mut result = Ok(());
            let listed = dir.each_name(|name| match self.entry(dir, level, name, place) {
                Ok(gone) => {
                    left |= !gone;
                    true
                }
                Err(e) => {
                    result = Err(e);
                    false
                }
            });
            result?;
            listed.map_err(failed(place))?;
            if self.cleared.removed_count == before {
                return Ok(!left);
            }
        }
        // Somebody fills it as fast as we empty it.
        Err(Failed {
            place: place.to_owned(),
            errno: Errno::NOTEMPTY,
        })
    }

    /// One name of a directory; whether it is gone now.
    fn entry(&mut self, dir: &Dir, at: Level, name: &CStr, place: &str) -> Result<bool, Failed> {
        let told = || format!("{place}/{}", printable(name));
        if self.stop.is_raised() {
            return Err(failed(place)(Errno::CANCELED));
        }
        match at.look(name.to_bytes()) {
            Ours::Marker => return Ok(true),
            Ours::Dir(level) => return self.remove_dir(dir, level, name, &told()),
            Ours::No => {}
            Ours::File => match dir.unlink(name) {
                Ok(()) => {
                    self.cleared.removed_count += 1;
                    return Ok(true);
                }
                Err(Errno::NOENT) => return Ok(true),
                Err(Errno::ISDIR | Errno::PERM | Errno::BUSY) if is_dir(dir, name) => {}
                Err(e) => return Err(failed(&told())(e)),
            },
        }
        self.cleared.leave(told());
        Ok(false)
    }

    /// Empties and removes a directory; whether it is gone.
    fn remove_dir(
        &mut self,
        dir: &Dir,
        level: Level,
        name: &CStr,
        place: &str,
    ) -> Result<bool, Failed> {
        // Those that mkdir makes are empty: no need to look.
        if level != Level::Made {
            let below = match dir.open_dir(name) {
                Ok(below) => below,
                Err(Errno::NOENT) => return Ok(true),
                Err(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                    self.cleared.leave(place.to_owned());
                    return Ok(false);
                }
                Err(e) => return Err(failed(place)(e)),
            };
            if !self.empty(&below, level, place)? {
                return Ok(false);
            }
        }
        match dir.remove_dir(name) {
            Ok(()) => {
                self.cleared.removed_count += 1;
                Ok(true)
            }
            Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::NOTDIR | Errno::BUSY) => {
                self.cleared.leave(place.to_owned());
                Ok(false)
            }
            Err(e) => Err(failed(place)(e)),
        }
    }
}

fn is_dir(dir: &Dir, name: &CStr) -> bool {
    dir.meta(name).is_ok_and(|meta| meta.kind == Kind::Dir)
}

fn failed(place: &str) -> impl Fn(Errno) -> Failed {
    let place = place.to_owned();
    move |errno| Failed {
        place: place.clone(),
        errno,
    }
}

/// A name for people: what is not printable is escaped.
pub(super) fn printable(name: &CStr) -> String {
    name.to_string_lossy().escape_debug().to_string()
}
