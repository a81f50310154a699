//! The one thing that the canned replies keep: run directories and their markers.
//!
//! A benchmark claims a directory before it works and gives it back afterwards: it
//! must find nothing, then what it has made, then nothing again. So names beginning
//! with `filermark.` exist from MKDIR to RMDIR, and in such a directory
//! `.filermark-owner` from CREATE to REMOVE, with the bytes written to it. A number in
//! the handle tells what belongs here; other handles and names never reach the lock.

use super::{VERIFIER, attributes, handle, wcc};
use crate::protocol::convert::HANDLE;
use crate::protocol::{Refusal, put, reply};
use filermark_onc::nfs3::{
    CreateArgs, CreateOk, CreateRes, Createhow3, DirAttr, DirListWriter, DirWcc, Diropargs3,
    Entry3, EntryPlus3, Failed, FileHandle, Ftype3, LookupArgs, LookupOk, LookupRes, MkdirArgs,
    Nfsstat3, Procedure, ReadArgs, ReadOk, ReadRes, ReaddirArgs, ReaddirRes, ReaddirplusArgs,
    RemoveArgs, RemoveRes, RmdirArgs, StableHow, WriteArgs, WriteOk, WriteRes,
};
use filermark_onc::xdr::{self, Decoder};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the names of run directories begin with, and the name of the marker in them.
/// (The engine has its own words for both; this room does not look there.)
const RUN_PREFIX: &[u8] = b"filermark.";
pub(super) const MARKER: &[u8] = b".filermark-owner";
/// Longest name of a run directory, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Most bytes of a marker.
const MARKER_BYTES_MAX: usize = 4096;
/// Most run directories at a time.
const RUNS_MAX: usize = 64;
/// Where a handle says which run it belongs to; 0 there: to none.
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
    /// How many were ever made: a removed run's handles stay stale.
    made: u64,
}

/// The run directories of one server.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Runs(Mutex<Table>);

/// The run that a handle belongs to, if any.
#[inline]
pub(super) fn run_of(handle: &FileHandle<'_>) -> Option<u64> {
    let bytes = handle.as_bytes();
    let id = bytes.get(ID)?.first_chunk()?;
    match u64::from_be_bytes(*id) {
        0 => None,
        id => (bytes.len() == HANDLE).then_some(id),
    }
}

pub(super) fn handle_of(kind: Ftype3, id: u64) -> [u8; HANDLE] {
    let mut bytes = handle(kind);
    bytes[ID].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) enum Named<'a> {
    /// A run directory.
    Run(&'a [u8]),
    /// The marker of this run.
    Marker(u64),
}

/// What a name stands for, in the directory of this run.
#[inline]
pub(super) fn named(name: &[u8], run: impl FnOnce() -> Option<u64>) -> Option<Named<'_>> {
    match name {
        name if name.starts_with(RUN_PREFIX) => Some(Named::Run(name)),
        MARKER => run().map(Named::Marker),
        _ => None,
    }
}

#[inline]
fn named_in<'a>(place: &Diropargs3<'a>) -> Option<Named<'a>> {
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

    fn find(&mut self, what: Named<'_>) -> Result<(Ftype3, u64), Nfsstat3> {
        match what {
            Named::Run(name) => {
                let run = self.by_name(name).ok_or(Nfsstat3::Noent)?;
                Ok((Ftype3::Dir, run.id))
            }
            Named::Marker(id) => match self.by_id(id)?.marker {
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

    pub(super) fn find(&self, what: Named<'_>) -> Result<(Ftype3, u64), Nfsstat3> {
        self.table().find(what)
    }

    pub(super) fn make_dir(&self, name: &[u8]) -> Result<(Ftype3, u64), Nfsstat3> {
        self.table().make_dir(name)
    }

    pub(super) fn make_marker(&self, id: u64, how: &Createhow3) -> Result<(Ftype3, u64), Nfsstat3> {
        self.table().make_marker(id, how)
    }

    pub(super) fn remove_dir(&self, name: &[u8]) -> Result<(), Nfsstat3> {
        self.table().remove_dir(name)
    }

    pub(super) fn remove_marker(&self, id: u64) -> Result<(), Nfsstat3> {
        self.table().remove_marker(id)
    }

    /// Whether a run's directory has its marker.
    pub(super) fn is_marked(&self, id: u64) -> Result<bool, Nfsstat3> {
        self.table().by_id(id).map(|run| run.marker.is_some())
    }

    /// The bytes of a run's marker.
    pub(super) fn marker(&self, id: u64) -> Result<Vec<u8>, Nfsstat3> {
        self.table().marker(id).cloned()
    }

    /// Writes into a run's marker.
    pub(super) fn set_marker(&self, id: u64, offset: u64, data: &[u8]) -> Result<(), Nfsstat3> {
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

    /// Answers a call on names or listings if it is about a run directory; `false`: it
    /// is not, and nothing was appended.
    pub(super) fn serve(
        &self,
        procedure: Procedure,
        xid: u32,
        args: &mut Decoder<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        match procedure {
            Procedure::Lookup => match named_in(&xdr::finish::<LookupArgs<'_>>(args)?.what) {
                Some(named) => lookup(self.table().find(named), xid, out),
                None => return Ok(false),
            },
            Procedure::Mkdir => match named_in(&xdr::finish::<MkdirArgs<'_>>(args)?.location) {
                Some(Named::Run(name)) => made(self.table().make_dir(name), xid, out),
                _ => return Ok(false),
            },
            Procedure::Create => {
                let args: CreateArgs<'_> = xdr::finish(args)?;
                match named_in(&args.location) {
                    Some(Named::Marker(id)) => {
                        made(self.table().make_marker(id, &args.how), xid, out);
                    }
                    _ => return Ok(false),
                }
            }
            Procedure::Rmdir => match named_in(&xdr::finish::<RmdirArgs<'_>>(args)?.object) {
                Some(Named::Run(name)) => removed(self.table().remove_dir(name), xid, out),
                _ => return Ok(false),
            },
            Procedure::Remove => match named_in(&xdr::finish::<RemoveArgs<'_>>(args)?.object) {
                Some(Named::Marker(id)) => removed(self.table().remove_marker(id), xid, out),
                _ => return Ok(false),
            },
            Procedure::Readdir => {
                let args: ReaddirArgs<'_> = xdr::finish(args)?;
                match run_of(&args.dir) {
                    Some(id) => self.list(id, args.cookie, args.count, false, xid, out),
                    None => return Ok(false),
                }
            }
            Procedure::Readdirplus => {
                let args: ReaddirplusArgs<'_> = xdr::finish(args)?;
                match run_of(&args.dir) {
                    Some(id) => self.list(id, args.cookie, args.maxcount, true, xid, out),
                    None => return Ok(false),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A listing: `.`, `..`, and the marker where there is one.
    fn list(&self, id: u64, cookie: u64, count: u32, plus: bool, xid: u32, out: &mut Vec<u8>) {
        let marked = self.is_marked(id);
        let dir_attributes = Some(attributes(Ftype3::Dir));
        let fail = |out: &mut Vec<u8>, status| {
            let info = DirAttr { dir_attributes };
            put(out, &ReaddirRes::Err(Failed { status, info }));
        };
        reply(out, xid, |out| {
            let marked = match marked {
                Ok(marked) => marked,
                Err(status) => return fail(out, status),
            };
            let mut writer = DirListWriter::begin(out, dir_attributes, VERIFIER, count);
            let here = handle_of(Ftype3::Dir, id);
            let marker = handle_of(Ftype3::Reg, id);
            let entries = [
                (1, &b"."[..], Ftype3::Dir, here),
                (2, b"..", Ftype3::Dir, handle(Ftype3::Dir)),
                (3, MARKER, Ftype3::Reg, marker),
            ];
            let shown = entries
                .iter()
                .take(2 + usize::from(marked))
                .filter(|entry| entry.0 > cookie);
            let mut all = true;
            for (cookie, name, kind, fh) in shown {
                let fileid = u64::from(kind.to_u32());
                let (name, cookie) = (*name, *cookie);
                all = all
                    && match plus {
                        true => writer.push(&EntryPlus3 {
                            fileid,
                            name,
                            cookie,
                            name_attributes: Some(attributes(*kind)),
                            name_handle: FileHandle::new(fh),
                        }),
                        false => writer.push(&Entry3 {
                            fileid,
                            name,
                            cookie,
                        }),
                    };
            }
            if writer.is_empty() && !all {
                writer.cancel();
                return fail(out, Nfsstat3::Toosmall);
            }
            writer.finish(all);
        });
    }

    /// READ of the marker of run `id`.
    pub(super) fn read(&self, id: u64, args: &ReadArgs<'_>, xid: u32, out: &mut Vec<u8>) -> u64 {
        let mut table = self.table();
        let file_attributes = Some(attributes(Ftype3::Reg));
        let result = table.marker(id).map(|bytes| {
            let from = usize::try_from(args.offset).unwrap_or(usize::MAX);
            let rest = bytes.get(from..).unwrap_or_default();
            let data = &rest[..rest.len().min(args.count as usize)];
            ReadOk {
                file_attributes,
                count: data.len() as u32,
                eof: data.len() == rest.len(),
                data,
            }
        });
        let count = result.as_ref().map_or(0, |ok| u64::from(ok.count));
        let result: ReadRes<'_> = result.map_err(Failed::new);
        reply(out, xid, |out| put(out, &result));
        count
    }

    /// WRITE to the marker of run `id`.
    pub(super) fn write(&self, id: u64, args: &WriteArgs<'_>, xid: u32, out: &mut Vec<u8>) -> u64 {
        let count = args.data.len().min(args.count as usize);
        let data = &args.data[..count];
        let written = self.set_marker(id, args.offset, data);
        let result = written.map(|()| WriteOk {
            file_wcc: wcc(Ftype3::Reg),
            count: count as u32,
            committed: StableHow::FileSync,
            verf: VERIFIER,
        });
        let count = result.as_ref().map_or(0, |ok| u64::from(ok.count));
        let result: WriteRes = result.map_err(Failed::new);
        reply(out, xid, |out| put(out, &result));
        count
    }
}

fn lookup(found: Result<(Ftype3, u64), Nfsstat3>, xid: u32, out: &mut Vec<u8>) {
    let dir_attributes = Some(attributes(Ftype3::Dir));
    reply(out, xid, |out| match found {
        Ok((kind, id)) => {
            let fh = handle_of(kind, id);
            let Some(object) = FileHandle::new(&fh) else {
                return;
            };
            let found = LookupOk {
                object,
                obj_attributes: Some(attributes(kind)),
                dir_attributes,
            };
            put(out, &LookupRes::Ok(found));
        }
        Err(status) => {
            let info = DirAttr { dir_attributes };
            put(out, &LookupRes::Err(Failed { status, info }));
        }
    });
}

fn made(made: Result<(Ftype3, u64), Nfsstat3>, xid: u32, out: &mut Vec<u8>) {
    let dir_wcc = wcc(Ftype3::Dir);
    reply(out, xid, |out| match made {
        Ok((kind, id)) => {
            let fh = handle_of(kind, id);
            let made = CreateOk {
                obj: FileHandle::new(&fh),
                obj_attributes: Some(attributes(kind)),
                dir_wcc,
            };
            put(out, &CreateRes::Ok(made));
        }
        Err(status) => {
            let info = DirWcc { dir_wcc };
            put(out, &CreateRes::Err(Failed { status, info }));
        }
    });
}

fn removed(removed: Result<(), Nfsstat3>, xid: u32, out: &mut Vec<u8>) {
    let info = DirWcc {
        dir_wcc: wcc(Ftype3::Dir),
    };
    let result: RemoveRes = match removed {
        Ok(()) => Ok(info),
        Err(status) => Err(Failed { status, info }),
    };
    reply(out, xid, |out| put(out, &result));
}
