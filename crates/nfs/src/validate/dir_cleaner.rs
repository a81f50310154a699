//! Creates a directory for each check and removes it with its contents, over a separate
//! connection, so that it does not depend on the state of the check's connection.

use super::text::{is_dot, no_answer};
use crate::client::{AnyFh, FileClient, FileReply, Removal};
use crate::target::{JukeboxRetries, Target};
use crate::version2::status_text;
use filermark_driver_kit::checks::Stop;
use filermark_engine::name::{Name, NameKind, NameText};
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::{Ftype3, Nfsstat3, Sattr3, Verf};

/// Creates and removes the directories of checks in the run's directory.
pub(super) struct DirCleaner<'a> {
    plan: &'a NfsPlan,
    files: FileClient,
    jukebox: JukeboxRetries,
    /// Size of a directory's parts, in bytes.
    dir_bytes: u32,
    run_dir: AnyFh,
}

impl<'a> DirCleaner<'a> {
    pub(super) fn new(plan: &'a NfsPlan, target: &Target, run_dir: AnyFh) -> Self {
        Self {
            plan,
            files: target.file_client(plan),
            jukebox: JukeboxRetries::of(plan),
            dir_bytes: target.dir_bytes(),
            run_dir,
        }
    }

    /// Creates the directory of the check with this number; returns its name and handle.
    /// Uses another name if a validation that was killed has left a directory of this name.
    pub(super) fn enter(&mut self, number: u32) -> Result<(NameText, AnyFh), Stop> {
        const NAMES: u32 = 50;
        let what = "MKDIR of the check's own directory";
        let parent = self.run_dir;
        for attempt in 0..NAMES {
            let name = Name::new(NameKind::MadeDir, number + attempt * 1000).text();
            let mode = Sattr3::mode(0o755);
            match self.ask(what, |nfs| nfs.mkdir(&parent, name.as_bytes(), mode))? {
                Ok(made) => {
                    let dir = match made.object {
                        Some(dir) => dir,
                        None => self.find(&parent, name.as_bytes())?,
                    };
                    return Ok((name, dir));
                }
                Err(Nfsstat3::Exist) => {}
                Err(status) => return Err(self.failed(what, status)),
            }
        }
        Err(Stop::fail(
            "a free name for the check's own directory",
            "none",
        ))
    }

    /// Removes the directory of a check with its contents. The release of the claim also
    /// reports what cannot be removed.
    pub(super) fn leave(&mut self, name: &NameText, dir: &AnyFh) -> Result<(), Stop> {
        self.clear(dir, 0)?;
        let parent = self.run_dir;
        self.done("RMDIR of the check's own directory", |nfs| {
            nfs.remove(Removal::Dir, &parent, name.as_bytes())
        })
        .map(drop)
    }

    fn clear(&mut self, dir: &AnyFh, depth: usize) -> Result<(), Stop> {
        const DEPTH_MAX: usize = 8;
        const ROUNDS_MAX: usize = 64;
        for _ in 0..ROUNDS_MAX {
            let names = self.list(dir)?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                let found = self.find(dir, &name)?;
                let attributes = self.done("GETATTR", |nfs| nfs.getattr(&found))?;
                if attributes.ftype == Ftype3::Dir && depth < DEPTH_MAX {
                    self.clear(&found, depth + 1)?;
                    self.done("RMDIR", |nfs| nfs.remove(Removal::Dir, dir, &name))?;
                } else {
                    self.done("REMOVE", |nfs| nfs.remove(Removal::File, dir, &name))?;
                }
            }
        }
        Err(Stop::fail("an empty directory", "entries appear again"))
    }

    /// The names in a directory except "." and "..".
    fn list(&mut self, dir: &AnyFh) -> Result<Vec<Vec<u8>>, Stop> {
        let count = self.dir_bytes;
        let (mut all, mut seen) = (Vec::new(), 0);
        let mut from = (0, Verf::default());
        loop {
            let part = self.done("READDIR", |nfs| nfs.readdir(dir, from, count))?;
            let last = part.entries.last().map(|entry| entry.cookie);
            seen += part.entries.len();
            let names = part.entries.into_iter().map(|entry| entry.name);
            all.extend(names.filter(|name| !is_dot(name)));
            match last {
                Some(cookie) if !part.eof => from = (cookie, part.cookieverf),
                _ => return Ok(all),
            }
            if seen > 10_000 {
                return Err(Stop::fail("READDIR: an end", "more than 10000 entries"));
            }
        }
    }

    fn find(&mut self, dir: &AnyFh, name: &[u8]) -> Result<AnyFh, Stop> {
        Ok(self.done("LOOKUP", |nfs| nfs.lookup(dir, name))?.object)
    }

    fn failed(&self, what: &str, status: Nfsstat3) -> Stop {
        let text = |status| status_text(self.plan.version, status);
        Stop::fail(format!("{what}: {}", text(Nfsstat3::Ok)), text(status))
    }

    fn ask<O>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut FileClient) -> FileReply<O>,
    ) -> Result<Result<O, Nfsstat3>, Stop> {
        let files = &mut self.files;
        match self.jukebox.call(|| call(files)) {
            Ok(answer) => Ok(answer.map_err(|failed| failed.status)),
            Err(error) => Err(no_answer(what, &error)),
        }
    }

    fn done<O>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut FileClient) -> FileReply<O>,
    ) -> Result<O, Stop> {
        let answer = self.ask(what, call)?;
        answer.map_err(|status| self.failed(what, status))
    }
}
