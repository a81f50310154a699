//! Installs the program on a host with Windows: files by SFTP, since cmd.exe passes no binary
//! data; the program is run once by a command line of cmd.exe before it gets its name.

use super::HostLimits;
use super::remote::{self, Awaited, Counted, Input, RemoteCommand, RemoteError};
use super::sftp::{Attributes, RemoteFile, Sftp};
use super::verdict::InstallAction;
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, SshClient};
use crate::launch::windows::WindowsProgram;
use filermark_link::build::{BUILD_DIGITS, HashingReader, Program, has_mark};
use filermark_model::launch::HostPlan;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

/// What a file there contains.
struct FileContents {
    sha256: String,
    is_filermark: bool,
}

/// Reads the first `len` bytes of a file, or fewer, with a limited number of them in memory. The
/// file is closed in any case, so that the connection can be used for other work.
fn read_file<R: Read, W: Write, T>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    len: u64,
    read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
) -> Result<T, String> {
    let mut remote = RemoteFile::open(sftp, path, len)?;
    let result = read(&mut remote).map_err(|e| e.to_string());
    let closed = remote.close();
    let found = result?;
    closed.map(|()| found)
}

/// Reads a whole file once.
fn contents<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    len: u64,
) -> Result<FileContents, String> {
    read_file(sftp, path, len, |file| {
        let mut file = HashingReader::new(file);
        let is_filermark = has_mark(&mut file)?;
        let (sha256, _) = file.finish()?;
        Ok(FileContents {
            sha256,
            is_filermark,
        })
    })
}

/// Whether a file is Filermark; it is read up to its mark.
fn is_filermark<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    path: &str,
    found: &Attributes,
) -> Result<bool, String> {
    let is_program = !found.is_dir && found.len <= FILE_LEN_MAX;
    Ok(is_program && read_file(sftp, path, found.len, |file| has_mark(file))?)
}

/// Whether a file is there; also true if the server does not answer.
fn is_there<R: Read, W: Write>(sftp: &mut Sftp<R, W>, path: &str) -> bool {
    !matches!(sftp.attributes(path), Ok(None))
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
/// has the program's. If it fails, the new file is removed. Returns what the user should know
/// about the old program.
fn place_new<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    [from, to, aside]: [&str; 3],
    shown: &str,
    sha256: &str,
) -> Result<Option<String>, String> {
    let placed = match judge_file(sftp, to, shown, sha256) {
        Ok(InstallAction::Send) => match sftp.rename(from, to, aside) {
            Ok(true) => settle_aside(sftp, [from, to, aside], shown),
            Ok(false) => Ok(None),
            Err(why) => Err(format!(
                "{why}; is the program in use? end it there and try again"
            )),
        },
        Ok(InstallAction::UpToDate) => {
            // Another prime was faster.
            let _ = sftp.remove(from);
            Ok(None)
        }
        Ok(InstallAction::Refuse(why)) | Err(why) => Err(why),
    };
    if placed.is_err() {
        let _ = sftp.remove(from);
    }
    placed
}

/// Removes the file that was moved aside for the new program. It may have come after the last
/// look: one that is not Filermark is put back.
fn settle_aside<R: Read, W: Write>(
    sftp: &mut Sftp<R, W>,
    [from, to, aside]: [&str; 3],
    shown: &str,
) -> Result<Option<String>, String> {
    let found = match sftp.attributes(aside) {
        Ok(None) => return Ok(None),
        Ok(Some(found)) => is_filermark(sftp, aside, &found),
        Err(why) => Err(why),
    };
    match found {
        Ok(true) => Ok(sftp.remove(aside).err().map(|why| {
            format!("the old program is in use and is now {aside}: remove it there later ({why})")
        })),
        Ok(false) => {
            let moved = sftp.rename_to_free(to, from);
            let back = moved
                .map_err(|why| format!("the old file is now {aside} ({why})"))
                .and_then(|()| sftp.put_back(aside, to));
            let more = back
                .err()
                .map_or_else(String::new, |why| format!("; {why}"));
            Err(format!(
                "{shown} is not Filermark; set EXEC_PATH to another path{more}"
            ))
        }
        Err(why) => Ok(Some(format!(
            "the old file is now {aside}: look at it there, and remove it ({why})"
        ))),
    }
}

/// Whether a directory contains a Filermark program and nothing else.
fn is_only_filermark<R: Read, W: Write>(sftp: &mut Sftp<R, W>, dir: &str) -> bool {
    let found = sftp.entries(dir).unwrap_or_default();
    let [(name, file)] = found.as_slice() else {
        return false;
    };
    let path = format!("{dir}/{name}");
    name == "filermark.exe" && is_filermark(sftp, &path, file).unwrap_or(false)
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
        assert_eq!(server.files(), [("to".into(), old.clone().into_bytes())]);

        server.put("second", new.as_bytes());
        place_new(&mut sftp, ["second", "to", "aside"], "to", &sha256).unwrap();
        assert_eq!(server.files(), [("to".into(), new.into_bytes())]);

        // An old program that is running is named.
        server.put("third", old.as_bytes());
        server.refuse_removal_of("aside");
        let third = super::tests::sha256(old.as_bytes());
        let note = place_new(&mut sftp, ["third", "to", "aside"], "to", &third).unwrap();
        assert!(note.unwrap().contains("is now aside"));
        assert_eq!(server.files().len(), 2);
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

        // One that came after the last look, and was moved aside.
        server.put("aside", b"netmist");
        server.put("to", MARK.as_bytes());
        let why = settle_aside(&mut server.connect(), names, "to").unwrap_err();
        assert!(why.contains("to is not Filermark"), "{why}");
        let left = [
            ("new".into(), MARK.as_bytes().to_vec()),
            ("to".into(), b"netmist".to_vec()),
        ];
        assert_eq!(server.files(), left);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_closed() {
        let server = FakeServer::default();
        let mut long = MARK.as_bytes().to_vec();
        long.resize(40 << 15, 1);
        server.put("to", &long);
        server.put("new", MARK.as_bytes());
        server.refuse_reads_of("to");
        let mut sftp = server.connect();
        let why = place_new(&mut sftp, ["new", "to", "aside"], "to", "0").unwrap_err();
        assert!(why.contains("made up"), "{why}");
        assert_eq!(server.files(), [("to".into(), long)], "no new file is left");
        assert_eq!(server.open_count(), 0);
    }

    #[test]
    fn an_old_program_is_read_up_to_its_mark() {
        let server = FakeServer::default();
        let mut long = MARK.as_bytes().to_vec();
        long.resize(256 << 15, 1);
        server.put("own", &long);
        let found = Attributes {
            len: long.len() as u64,
            ..Attributes::default()
        };
        let mut sftp = server.connect();
        assert_eq!(is_filermark(&mut sftp, "own", &found), Ok(true));
        let read = server.reads_count();
        assert!(read < 128, "{read} of 256 pieces");
        assert_eq!(server.open_count(), 0);
    }
}
