//! The only state of the canned replies: run directories and their markers.
//!
//! A benchmark claims a directory before it works and gives it back afterwards: it
//! must find nothing, then what it has made, then nothing again. So names beginning
//! with `filermark.` exist from MKDIR to RMDIR, and in such a directory
//! `.filermark-owner` from CREATE to REMOVE, with the bytes written to it. A number in
//! the handle identifies their handles; other handles and names do not take the lock.

use super::sample::handle;
use crate::protocol::convert::HANDLE;
use filermark_onc::nfs3::{Createhow3, Diropargs3, FileHandle, Ftype3, Nfsstat3};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the names of run directories begin with, and the name of the marker in them.
/// (The engine has its own constants for both; this crate does not depend on it.)
const RUN_PREFIX: &[u8] = b"filermark.";
pub(in crate::protocol) const MARKER: &[u8] = b".filermark-owner";
/// Longest name of a run directory, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Most bytes of a marker.
const MARKER_BYTES_MAX: usize = 4096;
/// Most run directories at a time.
const RUNS_MAX: usize = 64;
/// Bytes of a handle with the id of its run; 0: it belongs to no run.
const ID: Range<usize> = 8..16;

/// A run directory.
#[derive(Debug)]
struct Run {
    id: u64,
    name: Vec<u8>,
    marker: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Table {
    runs: Vec<Run>,
    /// Runs made so far: ids are not reused, so a removed run's handles stay stale.
    made: u64,
}

/// The run directories of one server.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Runs(Mutex<Table>);

/// The run that a handle belongs to, if any.
#[inline]
pub(in crate::protocol) fn run_of(handle: &FileHandle<'_>) -> Option<u64> {
    let bytes = handle.as_bytes();
    let id = bytes.get(ID)?.first_chunk()?;
    match u64::from_be_bytes(*id) {
        0 => None,
        id => (bytes.len() == HANDLE).then_some(id),
    }
}

pub(in crate::protocol) fn handle_of(kind: Ftype3, id: u64) -> [u8; HANDLE] {
    let mut bytes = handle(kind);
    bytes[ID].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// What a name means.
#[derive(Clone, Copy)]
pub(in crate::protocol) enum NameMeaning<'a> {
    /// A run directory.
    Run(&'a [u8]),
    /// The marker of this run.
    Marker(u64),
}

/// What a name means, in the directory of this run.
#[inline]
pub(in crate::protocol) fn named(
    name: &[u8],
    run: impl FnOnce() -> Option<u64>,
) -> Option<NameMeaning<'_>> {
    match name {
        name if name.starts_with(RUN_PREFIX) => Some(NameMeaning::Run(name)),
        MARKER => run().map(NameMeaning::Marker),
        _ => None,
    }
}

/// What a name means in a directory of version 3.
#[inline]
pub(in crate::protocol) fn named_in<'a>(place: &Diropargs3<'a>) -> Option<NameMeaning<'a>> {
    named(place.name, || run_of(&place.dir))
}

impl Table {
    fn by_name(&self, name: &[u8]) -> Option<&Run> {
        self.runs.iter().find(|run| run.name == name)
    }

    fn by_id(&mut self, id: u64) -> Result<&mut Run, Nfsstat3> {
        let run = self.runs.iter_mut().find(|run| run.id == id);
        run.ok_or(Nfsstat3::Stale)
    }

    fn marker(&mut self, id: u64) -> Result<&mut Vec<u8>, Nfsstat3> {
        self.by_id(id)?.marker.as_mut().ok_or(Nfsstat3::Stale)
    }

    fn find(&mut self, what: NameMeaning<'_>) -> Result<(Ftype3, u64), Nfsstat3> {
        match what {
            NameMeaning::Run(name) => {
                let run = self.by_name(name).ok_or(Nfsstat3::Noent)?;
                Ok((Ftype3::Dir, run.id))
            }
            NameMeaning::Marker(id) => match self.by_id(id)?.marker {
                Some(_) => Ok((Ftype3::Reg, id)),
                None => Err(Nfsstat3::Noent),
            },
        }
    }

    fn make_dir(&mut self, name: &[u8]) -> Result<(Ftype3, u64), Nfsstat3> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Nfsstat3::Nametoolong);
        }
        if self.by_name(name).is_some() {
            return Err(Nfsstat3::Exist);
        }
        if self.runs.len() >= RUNS_MAX {
            return Err(Nfsstat3::Nospc);
        }
        self.made += 1;
        self.runs.push(Run {
            id: self.made,
            name: name.to_vec(),
            marker: None,
        });
        Ok((Ftype3::Dir, self.made))
    }

    fn make_marker(&mut self, id: u64, how: &Createhow3) -> Result<(Ftype3, u64), Nfsstat3> {
        let run = self.by_id(id)?;
        match (how, &mut run.marker) {
            (Createhow3::Unchecked(sattr), Some(bytes)) => {
                if sattr.size == Some(0) {
                    bytes.clear();
                }
            }
            (_, Some(_)) => return Err(Nfsstat3::Exist),
            (_, none) => *none = Some(Vec::new()),
        }
        Ok((Ftype3::Reg, id))
    }

    fn remove_dir(&mut self, name: &[u8]) -> Result<(), Nfsstat3> {
        let run = self.by_name(name).ok_or(Nfsstat3::Noent)?;
        if run.marker.is_some() {
            return Err(Nfsstat3::Notempty);
        }
        self.runs.retain(|run| run.name != name);
        Ok(())
    }

    fn remove_marker(&mut self, id: u64) -> Result<(), Nfsstat3> {
        let marker = self.by_id(id)?.marker.take();
        marker.map(drop).ok_or(Nfsstat3::Noent)
    }
}

impl Runs {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a name means now.
    pub(in crate::protocol) fn find(
        &self,
        what: NameMeaning<'_>,
    ) -> Result<(Ftype3, u64), Nfsstat3> {
        self.table().find(what)
    }

    pub(in crate::protocol) fn make_dir(&self, name: &[u8]) -> Result<(Ftype3, u64), Nfsstat3> {
        self.table().make_dir(name)
    }

    pub(in crate::protocol) fn make_marker(
        &self,
        id: u64,
        how: &Createhow3,
    ) -> Result<(Ftype3, u64), Nfsstat3> {
        self.table().make_marker(id, how)
    }

    pub(in crate::protocol) fn remove_dir(&self, name: &[u8]) -> Result<(), Nfsstat3> {
        self.table().remove_dir(name)
    }

    pub(in crate::protocol) fn remove_marker(&self, id: u64) -> Result<(), Nfsstat3> {
        self.table().remove_marker(id)
    }

    /// Whether a run's directory has its marker.
    pub(in crate::protocol) fn is_marked(&self, id: u64) -> Result<bool, Nfsstat3> {
        self.table().by_id(id).map(|run| run.marker.is_some())
    }

    /// The bytes of a run's marker.
    pub(in crate::protocol) fn marker(&self, id: u64) -> Result<Vec<u8>, Nfsstat3> {
        self.table().marker(id).cloned()
    }

    /// Writes into a run's marker.
    pub(in crate::protocol) fn set_marker(
        &self,
        id: u64,
        offset: u64,
        data: &[u8],
    ) -> Result<(), Nfsstat3> {
        let mut table = self.table();
        let bytes = table.marker(id)?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = from.saturating_add(data.len());
        if end > MARKER_BYTES_MAX {
            return Err(Nfsstat3::Fbig);
        }
        bytes.resize(bytes.len().max(end), 0);
        bytes[from..end].copy_from_slice(data);
        Ok(())
    }
}
