//! Installs the program on a host with Windows: files by SFTP, since cmd.exe passes no binary
//! data; the program is run once by a command line of cmd.exe before it gets its name.

mod program_files;

use self::program_files::{is_there, judge_file, place_new, remove_old, upload};
use super::HostLimits;
use super::remote::{self, Awaited, Counted, Input, RemoteCommand, RemoteError};
use super::sftp::Sftp;
use super::verdict::InstallAction;
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, SshClient};
use crate::launch::windows::WindowsProgram;
use filermark_link::build::Program;
use filermark_model::launch::HostPlan;
use std::fs::File;
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A host with Windows, and the path of the program there.
pub(super) struct WindowsHost<'a> {
    pub client: &'a SshClient,
    pub host: &'a HostPlan,
    pub place: WindowsProgram,
    pub limits: &'a HostLimits,
}

/// A dialogue with the SFTP server of a host.
type HostSftp = Sftp<Counted<ChildStdout>, Counted<ChildStdin>>;

impl WindowsHost<'_> {
    /// Compares the file at the path with the program.
    pub fn inspect(&self, program: &Program) -> Result<InstallAction, RemoteError> {
        let (path, shown) = (self.place.sftp.clone(), self.place.shown.clone());
        let sha256 = program.sha256.clone();
        self.sftp(self.limits.total, &|_| {}, move |sftp, _| {
            judge_file(sftp, &path, &shown, &sha256)
        })
    }

    /// Sends the program, compares what is stored there, runs it once, and gives it its name.
    /// Then old builds are removed, which changes nothing about the success.
    pub fn send(
        &self,
        program: &Program,
        nonce: &str,
        limit: Duration,
        progress: &dyn Fn(u64),
    ) -> Result<SentProgram, RemoteError> {
        let new = self.place.beside(&format!("filermark-{nonce}.exe"));
        let aside = self.place.beside(&format!("filermark-{nonce}.old.exe"));
        let is_left = Arc::new(AtomicBool::new(false));
        let placed = self.send_as(program, [&new, &aside], limit, progress, &is_left);
        let left = || {
            let note = format!("{} may be left there: remove it", new.shown);
            is_left.load(Ordering::Relaxed).then_some(note)
        };
        match placed {
            Ok(note) => Ok(SentProgram {
                removed: self.remove_old(),
                note: note.or_else(left),
            }),
            Err(why) => Err(match left() {
                Some(left) => RemoteError::Failed(format!("{}; {left}", why.text())),
                None => why,
            }),
        }
    }

    /// [`Self::send`] without old builds. `is_left` is set while there may be a file with the
    /// temporary name. Returns what the user should know about the old program.
    fn send_as(
        &self,
        program: &Program,
        [new, aside]: [&WindowsProgram; 2],
        limit: Duration,
        progress: &dyn Fn(u64),
        is_left: &Arc<AtomicBool>,
    ) -> Result<Option<String>, RemoteError> {
        let until = Instant::now() + limit;
        let remaining = || until.saturating_duration_since(Instant::now());
        let file = File::open(&program.path)
            .map_err(|e| RemoteError::Failed(format!("{}: {e}", program.path.display())))?;
        let (path, dirs) = (new.sftp.clone(), self.dirs());
        let (sha256, len) = (program.sha256.clone(), program.len);
        let is_default = self.place.is_default_path;
        let left = is_left.clone();
        let written = self.sftp(remaining(), progress, move |sftp, sent| {
            for dir in dirs.iter().filter(|_| is_default) {
                sftp.make_dir(dir)?;
            }
            left.store(true, Ordering::Relaxed);
            let count = |bytes| sent.store(bytes, Ordering::Relaxed);
            let written = upload(sftp, &path, file, (&sha256, len), &count);
            left.store(written.is_ok() || is_there(sftp, &path), Ordering::Relaxed);
            written
        });
        written.map_err(|why| self.not_written(why))?;
        let runs = self.run_once(new, remaining());
        let (from, to, aside) = (
            new.sftp.clone(),
            self.place.sftp.clone(),
            aside.sftp.clone(),
        );
        let (sha256, shown) = (program.sha256.clone(), self.place.shown.clone());
        let (is_running, left) = (runs.is_ok(), is_left.clone());
        let limit = match is_running {
            true => remaining(),
            false => self.limits.inspect,
        };
        let placed = self.sftp(limit, &|_| {}, move |sftp, _| {
            let placed = match is_running {
                true => place_new(sftp, [&from, &to, &aside], &shown, &sha256),
                false => sftp.remove(&from).map(|()| None),
            };
            left.store(is_there(sftp, &from), Ordering::Relaxed);
            placed
        });
        runs.and(placed)
    }

    /// Removes old builds at the default path, in a dialogue of its own: no failure and no limit
    /// of it makes the new program fail. Returns their number.
    fn remove_old(&self) -> usize {
        let mut dirs = self.dirs();
        let (Some(own), Some(all)) = (dirs.pop(), dirs.pop()) else {
            return 0;
        };
        if !self.place.is_default_path {
            return 0;
        }
        let removed = self.sftp(self.limits.inspect, &|_| {}, move |sftp, _| {
            Ok(remove_old(sftp, &all, &own))
        });
        removed.unwrap_or(0)
    }

    /// Whether the program runs there.
    fn run_once(&self, new: &WindowsProgram, limit: Duration) -> Result<(), RemoteError> {
        let line = new.command_line(["--version"]);
        let call = RemoteCommand {
            awaited: Awaited::NewProgram,
            ..self.call(Remote::Command(line), self.limits.first_start.min(limit))
        };
        let reply = remote::run(&call, &|_| {})?;
        if reply.exit == ProcessExit::Code(0) {
            return Ok(());
        }
        let why = reply.meaning.unwrap_or_else(|| format!("{:?}", reply.exit));
        Err(RemoteError::Failed(format!(
            "{}: the program does not run there: {why}; possible causes: a policy that allows \
             programs in other directories only, or a virus scanner (set EXEC_PATH to another path)",
            self.place.shown
        )))
    }

    fn not_written(&self, why: RemoteError) -> RemoteError {
        match why {
            RemoteError::Failed(why) => RemoteError::Failed(format!(
                "{}: cannot be written: {why}; free space there, make its directory, or set \
                 EXEC_PATH to another path",
                self.place.shown
            )),
            RemoteError::Stopped => RemoteError::Stopped,
        }
    }

    /// The directories above the default path, the outer ones first.
    fn dirs(&self) -> Vec<String> {
        let mut dirs = Vec::new();
        let mut rest = self.place.sftp.as_str();
        while let Some((dir, _)) = rest.rsplit_once('/') {
            dirs.insert(0, dir.to_owned());
            rest = dir;
        }
        dirs
    }

    fn sftp<T: Send + 'static>(
        &self,
        limit: Duration,
        progress: &dyn Fn(u64),
        work: impl FnOnce(&mut HostSftp, &AtomicU64) -> Result<T, String> + Send + 'static,
    ) -> Result<T, RemoteError> {
        let call = self.call(Remote::Subsystem("sftp"), limit);
        remote::dialogue(&call, progress, move |from, to, sent| {
            work(&mut Sftp::connect(from, to)?, sent)
        })
    }

    fn call(&self, remote: Remote, limit: Duration) -> RemoteCommand<'_> {
        RemoteCommand {
            client: self.client,
            host: self.host,
            remote,
            program: self.place.shown.clone(),
            input: Input::Nothing,
            awaited: Awaited::Sftp,
            limit,
            limits: self.limits,
        }
    }
}

/// What was sent.
#[derive(Default)]
pub(super) struct SentProgram {
    /// Old builds that were removed.
    pub removed: usize,
    /// What the user should know, although it has succeeded.
    pub note: Option<String>,
}
