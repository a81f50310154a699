//! What the rules of claiming need of an export.

use crate::client::{AnyFh, ClientError, FileClient, FileReply, FoundObject, Removal as Procedure};
use crate::target::{JukeboxRetries, Service, Target, explain, refused};
use filermark_driver_kit::claim::{
    A_LINK, DirLookup, Entry, EntryKind, FilePrefix, NOT_A_DIRECTORY, OTHER_FILE_SYSTEM, Patch,
    Removal, Removed, RunDirBackend,
};
use filermark_driver_kit::marker::MARKER_BYTES_MAX;
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::{Fattr3, Ftype3, Nfsstat3, Sattr3, Verf};

/// A run directory on an export.
pub struct Export<'a> {
    plan: &'a NfsPlan,
    target: &'a Target,
    dir_name: &'a str,
    nfs: FileClient,
    jukebox: JukeboxRetries,
    /// The file system that the run directory is on, once it was found.
    fsid: Option<u64>,
    /// Whether the last failure may be gone at another try.
    may_pass: bool,
}

/// Where a listing goes on.
#[derive(Debug)]
pub struct Listing {
    dir: AnyFh,
    next: Option<(u64, Verf)>,
}

const fn step_of(what: Removal) -> &'static str {
    match what {
        Removal::File => "remove leftovers",
        Removal::Dir => "remove leftover directories",
    }
}

const fn name_of(what: Removal) -> &'static str {
    match what {
        Removal::File => "REMOVE",
        Removal::Dir => "RMDIR",
    }
}

const fn procedure(what: Removal) -> Procedure {
    match what {
        Removal::File => Procedure::File,
        Removal::Dir => Procedure::Dir,
    }
}

impl<'a> Export<'a> {
    pub(super) fn new(plan: &'a NfsPlan, target: &'a Target, claim: &'a Claim) -> Self {
        Self {
            plan,
            target,
            dir_name: &claim.dir_name,
            nfs: target.file_client(plan),
            jukebox: JukeboxRetries::of(plan),
            fsid: None,
            may_pass: false,
        }
    }

    /// Makes a call, again while the answer is NFS3ERR_JUKEBOX; turns its failures into errors, except the
    /// statuses in `wanted`. `step` is what it is for, and its procedure.
    fn ask<O>(
        &mut self,
        step: (&str, &str),
        wanted: &[Nfsstat3],
        mut call: impl FnMut(&mut FileClient) -> FileReply<O>,
    ) -> Result<Result<O, Nfsstat3>, DriverError> {
        let nfs = &mut self.nfs;
        let reply = self.jukebox.call(|| call(nfs));
        match reply {
            Ok(Ok(ok)) => Ok(Ok(ok)),
            Ok(Err(failed)) if wanted.contains(&failed.status) => Ok(Err(failed.status)),
            Ok(Err(failed)) => Err(self.refused(step, failed.status)),
            Err(error) => Err(self.lost(step.0, &error)),
        }
    }

    fn refused(&mut self, (step, procedure): (&str, &str), status: Nfsstat3) -> DriverError {
        self.may_pass = matches!(status, Nfsstat3::Io | Nfsstat3::Serverfault);
        let mut error = refused(&self.place(), step, status, self.plan);
        error.reason.push_str(&format!(" to {procedure}"));
        error
    }

    fn lost(&mut self, step: &str, error: &ClientError) -> DriverError {
        self.may_pass = false;
        let address = self.target.nfs_address;
        explain(&self.place(), step, Service::Nfs, address, error)
    }

    /// A name, with the attributes of what it leads to.
    fn look(
        &mut self,
        step: &str,
        dir: &AnyFh,
        name: &str,
    ) -> Result<Option<(AnyFh, Fattr3)>, DriverError> {
        let gone = [Nfsstat3::Noent, Nfsstat3::Stale];
        let found = self.ask((step, "LOOKUP"), &gone, |nfs| {
            nfs.lookup(dir, name.as_bytes())
        })?;
        let Ok(FoundObject { object, attributes }) = found else {
            return Ok(None);
        };
        match attributes {
            Some(attributes) => Ok(Some((object, attributes))),
            None => {
                let asked = self.ask((step, "GETATTR"), &gone, |nfs| nfs.getattr(&object))?;
                Ok(asked.ok().map(|attributes| (object, attributes)))
            }
        }
    }

    /// The front of a file that was found.
    fn front_of(&mut self, file: &AnyFh) -> Result<FilePrefix, DriverError> {
        let not_readable = [Nfsstat3::Isdir, Nfsstat3::Inval, Nfsstat3::Noent];
        let read = self.ask(("read the marker file", "READ"), &not_readable, |nfs| {
            nfs.read(file, 0, MARKER_BYTES_MAX)
        })?;
        Ok(read.map_or(FilePrefix::NoFile, |read| FilePrefix::Bytes(read.data)))
    }

    fn put(&mut self, file: &AnyFh, from: u64, bytes: &[u8]) -> Result<(), DriverError> {
        let step = "write the marker file";
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = from + (bytes.len() - rest.len()) as u64;
            let wrote = self.ask((step, "WRITE"), &[], |nfs| nfs.write(file, offset, rest))?;
            let count = wrote.map_or(0, |count| count as usize);
            if count == 0 {
                return Err(DriverError {
                    place: self.place(),
                    step: step.to_owned(),
                    reason: "the server wrote none of its bytes".to_owned(),
                    advice: "check in the server's log whether its disk is full".to_owned(),
                });
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Sends removals, many at a time; the status of each. After a lost connection
    /// those without an answer go again: what is gone by then answers
    /// NFS3ERR_NOENT, which is as good.
    fn send_row(
        &mut self,
        what: Removal,
        dir: &AnyFh,
        names: &[&str],
    ) -> Result<Vec<Nfsstat3>, DriverError> {
        let mut statuses = vec![None; names.len()];
        let mut open: Vec<usize> = (0..names.len()).collect();
        let mut attempt = 0;
        loop {
            let now: Vec<&[u8]> = open
                .iter()
                .filter_map(|&at| names.get(at).map(|name| name.as_bytes()))
                .collect();
            let kind = procedure(what);
            let sent = self.nfs.remove_many(kind, dir, &now, |number, status| {
                let slot = open.get(number).and_then(|&at| statuses.get_mut(at));
                if let Some(slot) = slot {
                    *slot = Some(status);
                }
            });
            let before = open.len();
            open.retain(|&at| statuses.get(at).is_some_and(Option::is_none));
            match sent {
                Ok(()) => break,
                Err(error) if error.is_worth_a_retry() => {
                    attempt = if open.len() < before { 0 } else { attempt + 1 };
                    if attempt > self.plan.rpc_retries {
                        return Err(self.lost(step_of(what), &error));
                    }
                }
                Err(error) => return Err(self.lost(step_of(what), &error)),
            }
        }
        Ok(statuses.into_iter().flatten().collect())
    }
}

impl RunDirBackend for Export<'_> {
    type Dir = AnyFh;
    type Listing = Listing;

    fn place(&self) -> String {
        format!("{}/{}", self.target.mount, self.dir_name)
    }

    fn find_run_dir(&mut self) -> Result<DirLookup<AnyFh>, DriverError> {
        let (root, name) = (self.target.root, self.dir_name);
        let found = self.look("open the run's directory", &root, name)?;
        Ok(match found {
            None => DirLookup::Missing,
            Some((dir, attributes)) if attributes.ftype == Ftype3::Dir => {
                self.fsid = Some(attributes.fsid);
                DirLookup::Dir(dir)
            }
            Some(_) => DirLookup::Other(NOT_A_DIRECTORY),
        })
    }

    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        let (root, name) = (self.target.root, self.dir_name);
        let made = self.ask(
            ("make the run's directory", "MKDIR"),
            &[Nfsstat3::Exist],
            |nfs| nfs.mkdir(&root, name.as_bytes(), Sattr3::mode(0o755)),
        )?;
        Ok(made.is_ok())
    }

    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        let (root, name) = (self.target.root, self.dir_name);
        let gone = &[Nfsstat3::Noent, Nfsstat3::Stale];
        let _ = self.ask(("remove the run's directory", "RMDIR"), gone, |nfs| {
            nfs.remove(Procedure::Dir, &root, name.as_bytes())
        })?;
        Ok(())
    }

    fn find_dir(&mut self, parent: &AnyFh, name: &str) -> Result<DirLookup<AnyFh>, DriverError> {
        Ok(match self.look("inspect a leftover", parent, name)? {
            None => DirLookup::Missing,
            Some((_, attributes)) if attributes.ftype == Ftype3::Lnk => DirLookup::Other(A_LINK),
            Some((_, attributes)) if attributes.ftype != Ftype3::Dir => {
                DirLookup::Other(NOT_A_DIRECTORY)
            }
            Some((_, attributes)) if self.fsid != Some(attributes.fsid) => {
                DirLookup::Other(OTHER_FILE_SYSTEM)
            }
            Some((dir, _)) => DirLookup::Dir(dir),
        })
    }

    fn read_file(&mut self, dir: &AnyFh, name: &str) -> Result<FilePrefix, DriverError> {
        match self.look("read the marker file", dir, name)? {
            None => Ok(FilePrefix::Missing),
            Some((_, attributes)) if attributes.ftype != Ftype3::Reg => Ok(FilePrefix::NoFile),
            Some((file, _)) => self.front_of(&file),
        }
    }

    fn write_file(&mut self, dir: &AnyFh, name: &str, text: &str) -> Result<(), DriverError> {
        let step = "write the marker file";
        let attributes = Sattr3 {
            mode: Some(0o644),
            size: Some(0),
            ..Sattr3::default()
        };
        let made = self.ask((step, "CREATE"), &[], |nfs| {
            nfs.create(dir, name.as_bytes(), attributes)
        })?;
        let again = (step, "LOOKUP");
        let file = match made.map(|made| made.object) {
            Ok(Some(file)) => file,
            _ => match self.ask(again, &[], |nfs| nfs.lookup(dir, name.as_bytes()))? {
                Ok(found) => found.object,
                Err(status) => return Err(self.refused(again, status)),
            },
        };
        self.put(&file, 0, text.as_bytes())
    }

    fn change_file(
        &mut self,
        dir: &AnyFh,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError> {
        let Some((file, _)) = self.look("renew the marker file", dir, name)? else {
            return Ok(());
        };
        let front = self.front_of(&file)?;
        match change(front) {
            Some(patch) => self.put(&file, patch.offset, &patch.bytes),
            None => Ok(()),
        }
    }

    fn list(&mut self, dir: &AnyFh) -> Result<Option<Listing>, DriverError> {
        Ok(Some(Listing {
            dir: *dir,
            next: Some((0, Verf::default())),
        }))
    }

    /// The names from a cookie on. Where the cookie is no longer good the listing ends
    /// (the next pass begins anew).
    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, DriverError> {
        let Some(from) = listing.next else {
            return Ok(None);
        };
        let bytes = self.target.dir_bytes();
        let gone = [
            Nfsstat3::BadCookie,
            Nfsstat3::NotSync,
            Nfsstat3::Noent,
            Nfsstat3::Stale,
        ];
        let wanted: &[Nfsstat3] = if from.0 == 0 { &gone[2..] } else { &gone };
        let step = ("list the run's directory", "READDIR");
        let dir = listing.dir;
        let part = match self.ask(step, wanted, |nfs| nfs.readdir(&dir, from, bytes))? {
            Ok(part) => part,
            Err(_) => {
                listing.next = None;
                return Ok(None);
            }
        };
        listing.next = match part.entries.last().map(|entry| entry.cookie) {
            // A cookie that leads to itself would never end.
            Some(cookie) if !part.eof && cookie != from.0 => Some((cookie, part.cookieverf)),
            _ => None,
        };
        let names = part.entries.into_iter().map(|entry| entry.name);
        let entries = names.filter(|name| name != b"." && name != b"..");
        let entries = entries.map(|name| Entry {
            name,
            kind: EntryKind::Unknown,
        });
        Ok(Some(entries.collect()))
    }

    /// Gone is gone, a name of ours that is something else is left, JUKEBOX is asked
    /// again, the rest is a failure.
    fn remove(
        &mut self,
        what: Removal,
        dir: &AnyFh,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        const LEFT: [Nfsstat3; 4] = [
            Nfsstat3::Isdir,
            Nfsstat3::Notdir,
            Nfsstat3::Notempty,
            Nfsstat3::Exist,
        ];
        let step = (step_of(what), name_of(what));
        let statuses = self.send_row(what, dir, names)?;
        let mut became = Vec::with_capacity(names.len());
        for (name, mut status) in names.iter().zip(statuses) {
            if status == Nfsstat3::Jukebox {
                let all = [&LEFT[..], &[Nfsstat3::Noent, Nfsstat3::Stale]].concat();
                let kind = procedure(what);
                let again = self.ask(step, &all, |nfs| nfs.remove(kind, dir, name.as_bytes()))?;
                status = again.err().unwrap_or(Nfsstat3::Ok);
            }
            became.push(match status {
                Nfsstat3::Ok => Removed::Done,
                Nfsstat3::Noent | Nfsstat3::Stale => Removed::NotFound,
                status if LEFT.contains(&status) => Removed::NotRemoved,
                status => return Err(self.refused(step, status)),
            });
        }
        Ok(became)
    }

    fn may_pass(&self) -> bool {
        self.may_pass
    }
}
