//! Installs the program on a host with Windows: files by SFTP, since cmd.exe passes no binary
//! data; the program is run once by a command line of cmd.exe before it gets its name.

use super::HostLimits;
use super::remote::{self, Counted, Input, RemoteCommand, RemoteError};
use super::sftp::{RemoteFile, Sftp};
use super::verdict::InstallAction;
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, SshClient};
use crate::launch::windows::WindowsProgram;
use filermark_link::build::{BUILD_DIGITS, HashingReader, Program, has_mark};
use filermark_model::launch::HostPlan;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Largest file that is read to find out whether it is Filermark, in bytes.
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
    /// Returns the number of old builds that were removed.
    pub fn send(
        &self,
        program: &Program,
        nonce: &str,
        limit: Duration,
        progress: &dyn Fn(u64),
    ) -> Result<usize, RemoteError> {
        let until = Instant::now() + limit;
        let left = || until.saturating_duration_since(Instant::now());
        let new = self.place.beside(&format!("filermark-{nonce}.exe"));
        let aside = self.place.beside(&format!("filermark-{nonce}.old.exe"));
        let file = File::open(&program.path)
            .map_err(|e| RemoteError::Failed(format!("{}: {e}", program.path.display())))?;
        let (path, dirs) = (new.sftp.clone(), self.dirs());
        let (sha256, len) = (program.sha256.clone(), program.len);
        let is_default = self.place.is_default_path;
        let written = self.sftp(left(), progress, move |sftp, sent| {
            for dir in dirs.iter().filter(|_| is_default) {
                sftp.make_dir(dir)?;
            }
            let count = |bytes| sent.store(bytes, Ordering::Relaxed);
            upload(sftp, &path, file, (&sha256, len), &count)
        });
        written.map_err(|why| self.not_written(why))?;
        let runs = self.run_once(&new, left());
        let (from, to, aside) = (new.sftp, self.place.sftp.clone(), aside.sftp);
        let (dirs, shown) = (self.dirs(), self.place.shown.clone());
        let sha256 = program.sha256.clone();
        let is_running = runs.is_ok();
        let removed = self.sftp(left(), &|_| {}, move |sftp, _| {
            if !is_running {
                sftp.remove(&from)?;
                return Ok(0);
            }
            place_new(sftp, [&from, &to, &aside], &shown, &sha256)?;
            match (is_default, dirs.as_slice()) {
                (true, [.., all, own]) => Ok(remove_old(sftp, all, own)),
                _ => Ok(0),
            }
        });
        runs.and(removed)
    }

    /// Whether the program runs there.
    fn run_once(&self, new: &WindowsProgram, limit: Duration) -> Result<(), RemoteError> {
        let line = new.command_line(["--version"]);
        let call = self.call(Remote::Command(line), self.limits.silence.min(limit));
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
            limit,
            limits: self.limits,
        }
    }
}

/// What a file there contains.
struct FileContents {
    sha256: String,
    is_filermark: bool,
}

/// Reads a file of `len` bytes once, with a limited number of them in memory.
fn contents<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    len: u64,
) -> Result<FileContents, String> {
    let mut remote = RemoteFile::open(sftp, path, len)?;
    let mut file = HashingReader::new(&mut remote);
    let is_filermark = has_mark(&mut file).map_err(|e| e.to_string())?;
    let (sha256, _) = file.finish().map_err(|e| e.to_string())?;
    remote.close()?;
    Ok(FileContents {
        sha256,
        is_filermark,
    })
}

/// What to do where the program with this hash is to be.
fn judge_file<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    shown: &str,
    sha256: &str,
) -> Result<InstallAction, String> {
    let Some(found) = sftp.attributes(path)? else {
        return Ok(InstallAction::Send);
    };
    if found.is_dir {
        return Ok(InstallAction::Refuse(format!(
            "{shown} is a directory; set EXEC_PATH to the file ({shown}/filermark.exe)"
        )));
    }
    let foreign = InstallAction::Refuse(format!(
        "{shown} is not Filermark; it was not changed; set EXEC_PATH to another path"
    ));
    if found.len > FILE_LEN_MAX {
        return Ok(foreign);
    }
    let found = contents(sftp, path, found.len)?;
    Ok(match found.is_filermark {
        _ if found.sha256 == sha256 => InstallAction::UpToDate,
        true => InstallAction::Send,
        false => foreign,
    })
}

/// Writes a new file, and reads it to compare it with the SHA-256 and the length of the program.
/// If that fails, no file is left.
fn upload<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    source: impl Read,
    (sha256, len): (&str, u64),
    sent: &dyn Fn(u64),
) -> Result<(), String> {
    let write = |sftp: &mut Sftp<R, W>| {
        sftp.write_new(path, source, sent)?;
        let stored = sftp.attributes(path)?.map(|found| found.len);
        if stored == Some(len) && contents(sftp, path, len)?.sha256 == sha256 {
            return Ok(());
        }
        Err("the received file has another checksum than the sent one; try again".into())
    };
    let written = write(sftp);
    if written.is_err() {
        let _ = sftp.remove(path);
    }
    written
}

/// Gives the new file its name, unless a file that is not Filermark has got it meanwhile. The
/// names are those of the new file, of the program, and one for the old program while neither
/// has the program's. If it fails, the new file is removed.
fn place_new<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    [from, to, aside]: [&str; 3],
    shown: &str,
    sha256: &str,
) -> Result<(), String> {
    let placed = match judge_file(sftp, to, shown, sha256) {
        Ok(InstallAction::Send) => sftp
            .rename(from, to, aside)
            .map_err(|why| format!("{why}; is the program in use? end it there and try again")),
        // Another prime was faster.
        Ok(InstallAction::UpToDate) => return sftp.remove(from),
        Ok(InstallAction::Refuse(why)) | Err(why) => Err(why),
    };
    if placed.is_err() {
        let _ = sftp.remove(from);
    }
    placed
}

/// Whether a directory contains a Filermark program and nothing else.
fn is_only_filermark<R: Read, W: Write>(sftp: &mut Sftp<R, W>, dir: &str) -> bool {
    let found = sftp.entries(dir).unwrap_or_default();
    let [(name, file)] = found.as_slice() else {
        return false;
    };
    let is_program = name == "filermark.exe" && !file.is_dir && file.len <= FILE_LEN_MAX;
    let path = format!("{dir}/{name}");
    is_program && contents(sftp, &path, file.len).is_ok_and(|found| found.is_filermark)
}

/// Removes the builds in `all` that were used longest ago, but not `own`, and only directories
/// with nothing but a Filermark program. Failures are ignored, since an agent may still use one.
fn remove_old<R: Read, W: Write>(sftp: &mut Sftp<R, W>, all: &str, own: &str) -> usize {
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
        if !is_only_filermark(sftp, &dir) {
            continue;
        }
        let gone = sftp.remove(&format!("{dir}/filermark.exe"));
        if gone.and_then(|()| sftp.remove_dir(&dir)).is_ok() {
            removed += 1;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::super::sftp::fake_server::FakeServer;
    use super::*;
    use filermark_link::build::MARK;

    fn sha256(bytes: &[u8]) -> String {
        HashingReader::new(bytes).finish().expect("a hash").0
    }

    #[test]
    fn a_damaged_copy_is_not_left() {
        let text = [MARK.as_bytes(), &[7; 100_000]].concat();
        let program = (&*sha256(&text), text.len() as u64);
        let server = FakeServer::default();
        let mut sftp = server.connect();
        upload(&mut sftp, "new", text.as_slice(), program, &|_| {}).expect("a good copy");
        assert_eq!(server.files(), [("new".into(), text.clone())]);
        server.remove("new");
        server.damage_writes();
        let why = upload(&mut sftp, "new", text.as_slice(), program, &|_| {}).unwrap_err();
        assert!(why.contains("another checksum"), "{why}");
        assert_eq!(server.files(), []);
    }

    #[test]
    fn the_old_program_stays_if_the_new_one_cannot_be_placed() {
        let (old, new) = (format!("{MARK} old"), format!("{MARK} new"));
        let server = FakeServer::default();
        server.set_posix_rename(false);
        server.put("to", old.as_bytes());
        server.put("new", new.as_bytes());
        server.refuse_rename_of("new");
        let mut sftp = server.connect();
        let sha256 = sha256(new.as_bytes());
        let why = place_new(&mut sftp, ["new", "to", "aside"], "to", &sha256).unwrap_err();
        assert!(why.contains("in use"), "{why}");
        assert_eq!(server.files(), [("to".into(), old.into_bytes())]);

        server.put("second", new.as_bytes());
        place_new(&mut sftp, ["second", "to", "aside"], "to", &sha256).unwrap();
        assert_eq!(server.files(), [("to".into(), new.into_bytes())]);
    }

    #[test]
    fn a_file_that_another_program_has_put_there_meanwhile_stays() {
        let server = FakeServer::default();
        server.put("to", b"netmist");
        server.put("new", MARK.as_bytes());
        let names = ["new", "to", "aside"];
        let why = place_new(&mut server.connect(), names, "to", "0").unwrap_err();
        assert!(why.contains("to is not Filermark"), "{why}");
        assert_eq!(server.files(), [("to".into(), b"netmist".to_vec())]);
    }
}
