//! Installs the program on a host with Windows: files by SFTP, since cmd.exe passes no binary
//! data; the program is run once by a command line of cmd.exe before it gets its name.

use super::HostLimits;
use super::remote::{self, RemoteCommand, RemoteError};
use super::sftp::Sftp;
use super::verdict::InstallAction;
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, SshClient};
use crate::launch::windows::WindowsProgram;
use filermark_link::build::{BUILD_DIGITS, Program, has_mark};
use filermark_model::launch::HostPlan;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Largest file that is read to find out whether it is this program.
const FILE_LEN_MAX: u64 = 1 << 30;
/// Builds that are kept at the default path.
const BUILDS_KEPT: usize = 3;

/// A host with Windows, and the path of the program there.
pub(super) struct WindowsHost<'a> {
    pub client: &'a SshClient,
    pub host: &'a HostPlan,
    pub place: WindowsProgram,
    pub limits: &'a HostLimits,
}

/// A dialogue with the SFTP server of a host.
type HostSftp = Sftp<ChildStdout, ChildStdin>;

impl WindowsHost<'_> {
    /// Compares the file at the path with the program.
    pub fn inspect(&self, program: &Program) -> Result<InstallAction, RemoteError> {
        let (path, shown) = (self.place.sftp.clone(), self.place.shown.clone());
        let sha256 = program.sha256.clone();
        self.sftp(self.limits.total, &|_| {}, move |sftp, sent| {
            let Some(found) = sftp.attributes(&path)? else {
                return Ok(InstallAction::Send);
            };
            let advice = "it was not changed; set EXEC_PATH to another path";
            if found.is_dir {
                return Ok(InstallAction::Refuse(format!(
                    "{shown} is a directory; set EXEC_PATH to the file ({shown}/filermark.exe)"
                )));
            }
            if found.len > FILE_LEN_MAX {
                return Ok(InstallAction::Refuse(format!(
                    "{shown} is not Filermark; {advice}"
                )));
            }
            let (mut hash, mut bytes) = (Sha256::new(), Vec::new());
            sftp.read(&path, found.len, &mut |piece| {
                sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
                hash.update(piece);
                bytes.extend_from_slice(piece);
            })?;
            let digest: [u8; 32] = hash.finalize().into();
            let text: String = digest.iter().map(|b| format!("{b:02x}")).collect();
            Ok(match text == sha256 {
                true => InstallAction::UpToDate,
                false if has_mark(bytes.as_slice()).unwrap_or(false) => InstallAction::Send,
                false => InstallAction::Refuse(format!("{shown} is not Filermark; {advice}")),
            })
        })
    }

    /// Sends the program, runs it once, and gives it its name. Returns the number of old builds
    /// that were removed.
    pub fn send(
        &self,
        program: &Program,
        nonce: &str,
        limit: Duration,
        progress: &dyn Fn(u64),
    ) -> Result<usize, RemoteError> {
        let new = self.place.beside(&format!("filermark-{nonce}.exe"));
        let file = File::open(&program.path)
            .map_err(|e| RemoteError::Failed(format!("{}: {e}", program.path.display())))?;
        let (path, dirs) = (new.sftp.clone(), self.dirs());
        let is_default = self.place.is_default_path;
        let written = self.sftp(limit, progress, move |sftp, sent| {
            for dir in dirs.iter().filter(|_| is_default) {
                sftp.make_dir(dir)?;
            }
            let count = |bytes| sent.store(bytes, Ordering::Relaxed);
            let written = sftp.write_new(&path, file, &count);
            if written.is_err() {
                let _ = sftp.remove(&path);
            }
            written
        });
        written.map_err(|why| self.not_written(why))?;
        let runs = self.run_once(&new, limit);
        let (from, to) = (new.sftp, self.place.sftp.clone());
        let dirs = self.dirs();
        let is_running = runs.is_ok();
        let removed = self.sftp(limit, &|_| {}, move |sftp, _| {
            if !is_running {
                sftp.remove(&from)?;
                return Ok(0);
            }
            if let Err(why) = sftp.rename(&from, &to) {
                let _ = sftp.remove(&from);
                return Err(format!(
                    "{why}; is the program in use? end it there and try again"
                ));
            }
            match (is_default, dirs.as_slice()) {
                (true, [.., all, own]) => Ok(remove_old(sftp, all, own)),
                _ => Ok(0),
            }
        });
        runs.and(removed)
    }

    /// Whether the program runs there.
    fn run_once(&self, new: &WindowsProgram, limit: Duration) -> Result<(), RemoteError> {
        let call = self.call(Remote::Command(new.command_line(["--version"])), limit);
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
            input: None,
            limit,
            limits: self.limits,
        }
    }
}

/// Removes the builds in `all` that were used longest ago, but not `own`; failures are ignored,
/// since an agent may still use one.
fn remove_old(sftp: &mut HostSftp, all: &str, own: &str) -> usize {
    let suffix = |name: &str| name.get(BUILD_DIGITS..).map(str::to_owned);
    let own_name = own.rsplit_once('/').map_or(own, |(_, name)| name);
    let is_build = |name: &str| {
        let digits = name.get(..BUILD_DIGITS);
        let is_hex = digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        is_hex && suffix(name) == suffix(own_name) && name != own_name
    };
    let Ok(mut found) = sftp.entries(all) else {
        return 0;
    };
    found.retain(|(name, attributes)| attributes.is_dir && is_build(name));
    found.sort_by_key(|(_, attributes)| std::cmp::Reverse(attributes.changed_at));
    let mut removed = 0;
    for (name, _) in found.iter().skip(BUILDS_KEPT - 1) {
        let dir = format!("{all}/{name}");
        let gone = sftp.remove(&format!("{dir}/filermark.exe"));
        if gone.and_then(|()| sftp.remove_dir(&dir)).is_ok() {
            removed += 1;
        }
    }
    removed
}
