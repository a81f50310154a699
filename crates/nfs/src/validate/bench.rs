//! What a check works with: a client, a directory of its own, and words for what
//! should have come and what came.

use crate::client::{ClientError, Nfs3Client, Reply};
use crate::target::{Patience, Target};
use filermark_engine::name::{Name, NameKind, NameText};
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::*;
use filermark_onc::rpc::{AcceptStat, RpcRefusal};
use std::fmt::{self, Debug, Display};
use std::time::{Duration, Instant};

/// Why a check ends before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The server did what it must not do.
    Fail { expected: String, got: String },
    /// The check cannot be tried.
    Skip(String),
}

impl Stop {
    pub(super) fn fail(expected: impl Display, got: impl Display) -> Self {
        Self::Fail {
            expected: expected.to_string(),
            got: got.to_string(),
        }
    }
}

/// How a call with odd arguments was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// By the procedure.
    Status(Nfsstat3),
    /// Before it: the arguments could not be decoded.
    GarbageArgs,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => Display::fmt(status, f),
            Self::GarbageArgs => f.write_str("GARBAGE_ARGS"),
        }
    }
}

/// The server in front of the checks.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a NfsPlan,
    pub(super) target: &'a Target,
    pub(super) nfs: Nfs3Client,
    /// The present check's own directory.
    pub(super) dir: Fh,
    patience: Patience,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(plan: &'a NfsPlan, target: &'a Target) -> Self {
        Self {
            plan,
            target,
            nfs: target.nfs_client(plan),
            dir: target.root,
            patience: Patience::of(plan),
            notes: Vec::new(),
        }
    }

    /// Makes the directory for the check of this number, and tells its name. Takes
    /// another one where a validation that was killed has left its own.
    pub(super) fn enter(&mut self, parent: &Fh, number: u32) -> Result<NameText, Stop> {
        const NAMES: u32 = 50;
        let what = "MKDIR of the check's own directory";
        for attempt in 0..NAMES {
            let name = Name::new(NameKind::MadeDir, number + attempt * 1000).text();
            let mode = Sattr3::mode(0o755);
            match self.either(what, |nfs| nfs.mkdir(parent, name.as_bytes(), mode))? {
                Ok(made) => {
                    self.dir = self.handle_of(made.obj, parent, name.as_bytes())?;
                    return Ok(name);
                }
                Err(Nfsstat3::Exist) => {}
                Err(status) => return Err(Stop::fail(format!("{what}: NFS3_OK"), status)),
            }
        }
        Err(Stop::fail(
            "a free name for the check's own directory",
            "none",
        ))
    }

    /// Removes the directory of a check with all that is in it. What cannot be
    /// removed is told as a note; the claim's release will tell of it again.
    pub(super) fn leave(&mut self, parent: &Fh, name: &[u8]) {
        let dir = self.dir;
        let cleared = self.clear(&dir, 0).and_then(|()| {
            self.done("RMDIR of the check's own directory", |nfs| {
                nfs.rmdir(parent, name)
            })
        });
        if let Err(Stop::Fail { expected, got }) = cleared {
            self.note(format!("cleaning up: {expected}: {got}"));
        }
    }

    fn clear(&mut self, dir: &Fh, depth: usize) -> Result<(), Stop> {
        const DEPTH_MAX: usize = 8;
        const ROUNDS_MAX: usize = 64;
        for _ in 0..ROUNDS_MAX {
            let names: Vec<_> = self.list(dir)?.into_iter().map(|e| e.name).collect();
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                let found = self.done("LOOKUP", |nfs| nfs.lookup(dir, &name))?;
                let attributes = self.attributes(&found.object)?;
                if attributes.ftype == Ftype3::Dir && depth < DEPTH_MAX {
                    self.clear(&found.object, depth + 1)?;
                    self.done("RMDIR", |nfs| nfs.rmdir(dir, &name))?;
                } else {
                    self.done("REMOVE", |nfs| nfs.remove(dir, &name))?;
                }
            }
        }
        Err(Stop::fail("an empty directory", "it fills up again"))
    }

    /// Why the server cannot be reached any more, if so.
    pub(super) fn server_gone(&mut self) -> Option<ClientError> {
        self.nfs.null().err().filter(ClientError::is_worth_a_retry)
    }

    /// Something worth telling that is no failure.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn ask<O, F>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<Result<O, Failed<F>>, Stop> {
        let nfs = &mut self.nfs;
        let reply = self.patience.call(|| call(nfs));
        reply.map_err(|error| no_answer(what, &error))
    }

    /// The results of a call that has to succeed.
    pub(super) fn done<O, F>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<O, Stop> {
        let answer = self.ask(what, call)?;
        answer.map_err(|failed| Stop::fail(format!("{what}: NFS3_OK"), failed.status))
    }

    /// As [`Bench::done`]; a server that does not have the procedure is let off.
    pub(super) fn done_if_supported<O, F>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<O, Stop> {
        match self.ask(what, call)? {
            Err(failed) if failed.status == Nfsstat3::Notsupp => Err(Stop::Skip(format!(
                "{what}: the server does not support it"
            ))),
            answer => {
                answer.map_err(|failed| Stop::fail(format!("{what}: NFS3_OK"), failed.status))
            }
        }
    }

    /// Either outcome of a call, for checks that judge themselves.
    pub(super) fn either<O, F>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<Result<O, Nfsstat3>, Stop> {
        let answer = self.ask(what, call)?;
        Ok(answer.map_err(|failed| failed.status))
    }

    /// A call that has to be refused with one of these.
    pub(super) fn refused<O, F>(
        &mut self,
        what: &str,
        wanted: &[Nfsstat3],
        call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<Nfsstat3, Stop> {
        match self.either(what, call)? {
            Err(status) if wanted.contains(&status) => Ok(status),
            other => {
                let names: Vec<String> = wanted.iter().map(Nfsstat3::to_string).collect();
                let got = other.err().unwrap_or(Nfsstat3::Ok);
                Err(Stop::fail(format!("{what}: {}", names.join(" or ")), got))
            }
        }
    }

    /// Either outcome of a call with odd arguments, which a server may also be
    /// unable to decode.
    pub(super) fn either_odd<O, F>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<Result<O, Refusal>, Stop> {
        let nfs = &mut self.nfs;
        match self.patience.call(|| call(nfs)) {
            Ok(answer) => Ok(answer.map_err(|failed| Refusal::Status(failed.status))),
            Err(ClientError::Refused {
                refusal: RpcRefusal::Accepted(AcceptStat::GarbageArgs),
                ..
            }) => Ok(Err(Refusal::GarbageArgs)),
            Err(error) => Err(no_answer(what, &error)),
        }
    }

    /// A call that has to be refused, in one of the ways in `usual`; another way
    /// is only worth a note, for the RFC does not name one for this case.
    pub(super) fn refused_somehow<O, F>(
        &mut self,
        what: &str,
        usual: &[Nfsstat3],
        call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<(), Stop> {
        let names: Vec<String> = usual.iter().map(Nfsstat3::to_string).collect();
        let names = names.join(" or ");
        match self.either_odd(what, call)? {
            Err(Refusal::Status(status)) if usual.contains(&status) => {}
            Err(refusal) => self.note(format!("{what}: {refusal}; {names} is usual")),
            Ok(_) => return Err(Stop::fail(format!("{what}: {names}"), Nfsstat3::Ok)),
        }
        Ok(())
    }

    /// The handle has to become stale. Servers may keep a removed file for a
    /// moment while they still have it open themselves.
    pub(super) fn becomes_stale<O, F>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut Nfs3Client) -> Reply<O, F>,
    ) -> Result<(), Stop> {
        const MOMENT: Duration = Duration::from_secs(3);
        let begun = Instant::now();
        let mut waited = false;
        loop {
            match self.either(what, &mut call)? {
                Err(Nfsstat3::Stale | Nfsstat3::Badhandle) => break,
                Ok(_) if begun.elapsed() < MOMENT => waited = true,
                other => {
                    let got = other.err().unwrap_or(Nfsstat3::Ok);
                    return Err(Stop::fail(format!("{what}: {}", Nfsstat3::Stale), got));
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if waited {
            let ms = begun.elapsed().as_millis();
            self.note(format!("{what} still succeeds for {ms} ms"));
        }
        Ok(())
    }

    /// Two things that have to be the same.
    pub(super) fn equal<T: PartialEq + Debug>(
        &self,
        what: &str,
        expected: T,
        got: T,
    ) -> Result<(), Stop> {
        if expected == got {
            return Ok(());
        }
        Err(Stop::fail(
            format!("{what}: {expected:?}"),
            format!("{got:?}"),
        ))
    }

    /// Something that has to hold.
    pub(super) fn holds(&self, fact: bool, expected: &str, got: impl Display) -> Result<(), Stop> {
        if fact {
            return Ok(());
        }
        Err(Stop::fail(expected, got))
    }

    /// Attributes by GETATTR.
    pub(super) fn attributes(&mut self, object: &Fh) -> Result<Fattr3, Stop> {
        self.done("GETATTR", |nfs| nfs.getattr(object))
    }

    /// The handle behind a name.
    pub(super) fn find(&mut self, dir: &Fh, name: &[u8]) -> Result<Fh, Stop> {
        let what = format!("LOOKUP of {}", shown(name));
        Ok(self.done(&what, |nfs| nfs.lookup(dir, name))?.object)
    }

    /// The name is not there.
    pub(super) fn absent(&mut self, dir: &Fh, name: &[u8]) -> Result<(), Stop> {
        let what = format!("LOOKUP of {}", shown(name));
        self.refused(&what, &[Nfsstat3::Noent], |nfs| nfs.lookup(dir, name))
            .map(drop)
    }

    /// A new empty file in the check's directory, mode 644.
    pub(super) fn file(&mut self, name: &[u8]) -> Result<Fh, Stop> {
        let dir = self.dir;
        self.file_in(&dir, name)
    }

    /// A new empty file, mode 644.
    pub(super) fn file_in(&mut self, dir: &Fh, name: &[u8]) -> Result<Fh, Stop> {
        let how = Createhow3::Guarded(Sattr3::mode(0o644));
        let what = format!("CREATE of {}", shown(name));
        let made = self.done(&what, |nfs| nfs.create(dir, name, how))?;
        self.handle_of(made.obj, dir, name)
    }

    /// A new file in the check's directory with these bytes in it.
    pub(super) fn file_with(&mut self, name: &[u8], data: &[u8]) -> Result<Fh, Stop> {
        let file = self.file(name)?;
        self.put(&file, 0, data)?;
        Ok(file)
    }

    /// A new directory in the check's directory, mode 755.
    pub(super) fn mkdir(&mut self, name: &[u8]) -> Result<Fh, Stop> {
        let dir = self.dir;
        self.mkdir_in(&dir, name)
    }

    /// A new directory, mode 755.
    pub(super) fn mkdir_in(&mut self, dir: &Fh, name: &[u8]) -> Result<Fh, Stop> {
        let what = format!("MKDIR of {}", shown(name));
        let made = self.done(&what, |nfs| nfs.mkdir(dir, name, Sattr3::mode(0o755)))?;
        self.handle_of(made.obj, dir, name)
    }

    /// The handle of what was just made: given with it, or looked up.
    pub(super) fn handle_of(
        &mut self,
        given: Option<Fh>,
        dir: &Fh,
        name: &[u8],
    ) -> Result<Fh, Stop> {
        match given {
            Some(handle) => Ok(handle),
            None => self.find(dir, name),
        }
    }

    /// Writes all of `data` with FILE_SYNC, in as many calls as the server wants.
    pub(super) fn put(&mut self, file: &Fh, offset: u64, data: &[u8]) -> Result<(), Stop> {
        let wsize = self.target.wsize as usize;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let part = rest.get(..wsize).unwrap_or(rest);
            let at = offset + done as u64;
            let what = format!("WRITE of {} bytes at {at}", part.len());
            let wrote = self.done(&what, |nfs| nfs.write(file, at, StableHow::FileSync, part))?;
            let count = wrote.count as usize;
            if count == 0 || count > part.len() {
                let expected = format!("{what}: a count of 1 to {}", part.len());
                return Err(Stop::fail(expected, count));
            }
            done += count;
        }
        Ok(())
    }

    /// Reads `count` bytes, in as many calls as the server wants; fewer only at
    /// the end of the file.
    pub(super) fn get(&mut self, file: &Fh, offset: u64, count: u32) -> Result<Vec<u8>, Stop> {
        let mut data = Vec::new();
        while (data.len() as u64) < u64::from(count) {
            let left = count - data.len() as u32;
            let at = offset + data.len() as u64;
            let part = left.min(self.target.rsize);
            let what = format!("READ of {part} bytes at {at}");
            let read = self.done(&what, |nfs| nfs.read(file, at, part))?;
            self.equal(
                &format!("{what}: count as many as the data"),
                read.data.len(),
                read.count as usize,
            )?;
            let fits = read.count <= part;
            self.holds(fits, &format!("{what}: {part} bytes at most"), read.count)?;
            if read.data.is_empty() && !read.eof {
                return Err(Stop::fail(
                    format!("{what}: data, or eof"),
                    "neither: a client would ask for ever",
                ));
            }
            data.extend_from_slice(&read.data);
            if read.eof {
                break;
            }
        }
        Ok(data)
    }

    /// The bytes at `offset` have to be these.
    pub(super) fn contains(&mut self, file: &Fh, offset: u64, wanted: &[u8]) -> Result<(), Stop> {
        let got = self.get(file, offset, wanted.len() as u32)?;
        same_bytes(offset, wanted, &got)
    }

    /// All entries of a directory but "." and "..", read with ordinary sizes.
    pub(super) fn list(&mut self, dir: &Fh) -> Result<Vec<crate::client::DirEntry>, Stop> {
        let count = self.target.dir_bytes();
        let mut all = Vec::new();
        let mut from = (0, Verf::default());
        loop {
            let part = self.done("READDIR", |nfs| nfs.readdir(dir, from, count))?;
            let last = part.entries.last().map(|entry| entry.cookie);
            all.extend(part.entries.into_iter().filter(|e| !is_dot(&e.name)));
            match last {
                Some(cookie) if !part.eof => from = (cookie, part.cookieverf),
                _ => return Ok(all),
            }
            if all.len() > 10_000 {
                return Err(Stop::fail("READDIR: an end", "more than 10000 entries"));
            }
        }
    }
}

/// "." or "..".
pub(super) fn is_dot(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

pub(super) fn no_answer(what: &str, error: &ClientError) -> Stop {
    Stop::fail(format!("{what}: an answer"), error)
}

/// A name for people.
pub(super) fn shown(name: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = name.escape_ascii().to_string();
    match text.get(..SHOWN) {
        Some(front) if text.len() > SHOWN => format!("'{front}...' ({} bytes)", name.len()),
        _ => format!("'{text}'"),
    }
}

/// Bytes that tell their place, so that none is right by chance.
pub(super) fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..len).map(step).collect()
}

/// Compares data, and tells where it differs.
pub(super) fn same_bytes(offset: u64, wanted: &[u8], got: &[u8]) -> Result<(), Stop> {
    if wanted == got {
        return Ok(());
    }
    let expected = format!("{} bytes at {offset}, as written", wanted.len());
    let place = wanted.iter().zip(got).position(|(a, b)| a != b);
    Err(match place {
        Some(place) => Stop::fail(
            expected,
            format!(
                "{} bytes, the first wrong one at {} ({:#04x} instead of {:#04x})",
                got.len(),
                offset + place as u64,
                got.get(place).copied().unwrap_or_default(),
                wanted.get(place).copied().unwrap_or_default(),
            ),
        ),
        None => Stop::fail(expected, format!("{} bytes", got.len())),
    })
}
