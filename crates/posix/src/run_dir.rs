//! Where a run's directory is: found once per mount, shared by all shards.

use crate::claim::backend::read_front;
use crate::sys::{Dir, Errno};
use filermark_driver_kit::claim::FilePrefix;
use filermark_driver_kit::marker::{Marker, MarkerText};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::name::MARKER;
use filermark_model::plan::MountPoint;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How long a mount may take to answer before it counts as hanging.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A run's directory.
#[derive(Debug)]
pub(crate) struct RunDir {
    /// To name things in it.
    pub dir: Dir,
    /// Its path, for people, for custom programs, and to see whether it is still there.
    pub path: PathBuf,
    id: (u64, u64),
    /// Its name, and what the owner files in it hold.
    pub(crate) dir_name: String,
    pub(crate) nonce: String,
}

impl RunDir {
    /// The run's directory below a mount's.
    ///
    /// # Errors
    /// The error of the call that looked for it.
    pub(crate) fn open(top: &Dir, mount: &MountPoint, claim: &Claim) -> crate::sys::Result<Self> {
        let name = claim.dir_name.as_str();
        let c_name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let dir = top.open_dir(&c_name)?;
        // A run that goes on with the files of an earlier one has that one's nonce.
        let nonce = match read_front(&dir, MARKER)? {
            FilePrefix::Bytes(bytes) => match Marker::read(&bytes) {
                MarkerText::Marker(marker) => marker.nonce,
                MarkerText::Cut | MarkerText::NotOurs => claim.nonce(),
            },
            FilePrefix::Missing | FilePrefix::NoFile => claim.nonce(),
        };
        Ok(Self {
            id: dir.id()?,
            dir,
            nonce,
            dir_name: name.to_owned(),
            path: PathBuf::from(&mount.path).join(name),
        })
    }

    /// Whether the path still leads to the directory that was claimed. If
    /// that cannot be determined, it counts as there.
    pub(crate) fn is_there(&self) -> bool {
        match Dir::open_top(&self.path).and_then(|dir| dir.id()) {
            Ok(id) => id == self.id,
            Err(e) => !matches!(e, Errno::NOENT | Errno::NOTDIR | Errno::NOTCONN),
        }
    }
}

/// Opens the directory that a mount point names, and calls statvfs on it; a file system that
/// does not answer within a time limit is an error.
///
/// # Errors
/// In one sentence: missing, no directory, no permission, hanging ...
pub(crate) fn reach(mount: &MountPoint) -> Result<Dir, DriverError> {
    let error = |reason: String, advice: &str| DriverError {
        place: mount.to_string(),
        step: "open the directory".to_owned(),
        reason,
        advice: advice.to_owned(),
    };
    let is_unc = mount.is_unc();
    let (answer, answered) = sync_channel(1);
    let path = PathBuf::from(&mount.path);
    let asking = move || {
        let dir = Dir::open_top(&path).and_then(|dir| dir.space().map(|_| dir));
        // The receiver may have timed out.
        let _ = answer.send(dir);
    };
    std::thread::Builder::new()
        .name("reach".to_owned())
        .spawn(asking)
        .map_err(|e| error(e.to_string(), ""))?;
    match answered.recv_timeout(ANSWER_LIMIT) {
        Ok(Ok(dir)) => Ok(dir),
        Ok(Err(e)) => Err(error(e.to_string(), reach_advice(e, is_unc))),
        Err(RecvTimeoutError::Timeout) => Err(error(
            format!("it has not answered for {} s", ANSWER_LIMIT.as_secs()),
            "check that its server is up; a mount that hangs can be removed with umount -f or -l",
        )),
        Err(RecvTimeoutError::Disconnected) => {
            Err(error("the thread that opens it failed".to_owned(), ""))
        }
    }
}

fn reach_advice(e: Errno, is_unc: bool) -> &'static str {
    match e {
        Errno::NOENT | Errno::ACCES | Errno::PERM | Errno::NOTCONN | Errno::NODEV if is_unc => {
            "check the names of server and share, this user's rights on the share, and its password \
             for the server (cmdkey /add:SERVER /user:NAME)"
        }
        Errno::NOENT => {
            "check that the file system is mounted on this client, or make the directory"
        }
        Errno::NOTDIR => "give a directory",
        Errno::ACCES | Errno::PERM => {
            "run as a user who may enter it, or change its permissions or those of the export"
        }
        other => crate::status::fatal_advice(other.0).unwrap_or(""),
    }
}
