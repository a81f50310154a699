//! A file system with injected delays and errors, which counts requests.
//!
//! It is a FUSE file system, served by threads of the test itself over a
//! directory of the host, and mounted in the namespace of a [`Mounts`]. If the
//! test's process dies, the kernel ends the connection and the namespace: no
//! process hangs, nothing stays mounted.

mod faults;
mod fs;
mod requests;
mod tree;

pub use faults::Kind;

use crate::tools::BUSY_LIMIT;
use crate::{Error, Mounts, Result, Scratch};
use faults::Faults;
use fs::FaultyFs;
use fuser::{BackgroundSession, Config, Session, SessionACL};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A mount takes milliseconds.
const MOUNT_LIMIT: Duration = BUSY_LIMIT;
/// The threads end as soon as the connection is cut.
const END_LIMIT: Duration = BUSY_LIMIT;

/// Options of a [`Faulty`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultyOptions {
    /// Reads and writes bypass the page cache: each one is a request. Without it, a
    /// read of data that was cached since the file was opened is not.
    pub direct_io: bool,
    /// Concurrent requests: with delays, more than the program has threads.
    pub thread_count: usize,
}

impl Default for FaultyOptions {
    fn default() -> Self {
        Self {
            direct_io: false,
            thread_count: 16,
        }
    }
}

/// A mounted file system with faults; unmounted when dropped.
#[derive(Debug)]
pub struct Faulty {
    faults: Arc<Faults>,
    session: Option<BackgroundSession>,
    place: Scratch,
    backing: PathBuf,
    mounts: Arc<Mounts>,
}

impl Faulty {
    /// Mounts a file system without faults over a new directory.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without `/dev/fuse`; otherwise what mount(8) or the
    /// kernel reported.
    pub fn mount(mounts: &Arc<Mounts>, options: FaultyOptions) -> Result<Faulty> {
        let device = Path::new("/dev/fuse");
        if !device.exists() {
            return Err(Error::Unavailable("/dev/fuse is missing".into()));
        }
        let opened = OpenOptions::new().read(true).write(true).open(device);
        let fuse = OwnedFd::from(opened.map_err(Error::path("open", device))?);
        let backing = mounts.plain()?.path().to_owned();
        let place = mounts.place("mnt")?;
        let given = fuse
            .try_clone()
            .map_err(Error::io("duplicate the handle of /dev/fuse"))?;
        // The device is passed as standard input, so that its descriptor is 0.
        let mounting = mounts.start_mount(
            &[
                "-i",
                "-t",
                "fuse",
                "-o",
                "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other",
                "filermark-faulty",
            ],
            &place,
            Stdio::from(given),
        )?;
        let faults = Arc::new(Faults::new());
        let fs = FaultyFs::new(backing.clone(), Arc::clone(&faults), options.direct_io);
        let session = serve(fs, fuse, mounting, options.thread_count)?;
        Ok(Faulty {
            faults,
            session: Some(session),
            place,
            backing,
            mounts: Arc::clone(mounts),
        })
    }

    /// The directory on which it is mounted.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.place
    }

    /// The directory of the host with its files: access there is not counted and has
    /// no faults.
    #[must_use]
    pub fn backing(&self) -> &Path {
        &self.backing
    }

    /// Delays every further request of this kind.
    pub fn delay(&self, kind: Kind, by: Duration) {
        self.faults.set_delay(kind, by);
    }

    /// Answers every `every`-th further request of this kind with an error
    /// (`libc::EIO` is 5) and does not perform it; 0 ends that.
    pub fn fail(&self, kind: Kind, every: u64, errno: i32) {
        self.faults.set_error(kind, every, errno);
    }

    /// After this number of bytes, writes fail with ENOSPC; statfs shows the limit,
    /// too. `None`: no limit.
    pub fn limit_space(&self, bytes: Option<u64>) {
        self.faults.set_space(bytes);
    }

    /// Acknowledges further writes but does not perform them. Reads show it only with
    /// [`FaultyOptions::direct_io`]; otherwise the kernel's cache has the data.
    pub fn forget_writes(&self) {
        self.faults.set_forgets_writes(true);
    }

    /// Ends all faults.
    pub fn recover(&self) {
        self.faults.recover();
    }

    /// Ends all delays, also those of waiting requests.
    pub fn end_delays(&self) {
        self.faults.end_delays();
    }

    /// Cuts the connection, as a crash of a network file system's server does:
    /// calls on open files fail with ENOTCONN, the path is an empty directory.
    ///
    /// # Errors
    ///
    /// What umount(8) reported.
    pub fn die(&self) -> Result<()> {
        self.faults.end_delays();
        self.mounts.run(&["umount", "-f", "-l"], &self.place)
    }

    /// Requests so far, by kind, with zeros.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Kind, u64> {
        self.faults.counts()
    }

    /// Requests so far that were answered with an injected error, without those
    /// that failed for lack of space.
    #[must_use]
    pub fn failures(&self) -> BTreeMap<Kind, u64> {
        self.faults.failures()
    }
}

/// Waits for the kernel's first request, then starts the threads that serve.
fn serve(
    fs: FaultyFs,
    fuse: OwnedFd,
    mut mounting: Child,
    thread_count: usize,
) -> Result<BackgroundSession> {
    let start = Instant::now();
    let step = Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    loop {
        let mut fds = [PollFd::new(&fuse, PollFlags::IN)];
        let ready = poll(&mut fds, Some(&step));
        if ready.is_ok_and(|count| count > 0) && fds[0].revents().contains(PollFlags::IN) {
            break;
        }
        let ended = mounting.try_wait().map_err(Error::io("wait for mount"))?;
        if ended.is_some_and(|status| !status.success()) || start.elapsed() > MOUNT_LIMIT {
            let _ = mounting.kill();
            let output = mounting.wait_with_output();
            let output = output.map_err(Error::io("wait for mount"))?;
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::failed(
                "mount fuse",
                output.status.to_string(),
                stderr,
            ));
        }
        // poll reports a device that is not mounted yet as ready, with an error.
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut config = Config::default();
    config.n_threads = Some(thread_count.max(1));
    config.clone_fd = true;
    let session = Session::from_fd(fs, fuse, SessionACL::All, config)
        .and_then(Session::spawn)
        .map_err(Error::io("serve fuse"))?;
    let output = mounting.wait_with_output();
    let output = output.map_err(Error::io("wait for mount"))?;
    match output.status.success() {
        true => Ok(session),
        false => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(Error::failed(
                "mount fuse",
                output.status.to_string(),
                stderr,
            ))
        }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        // It may have been unmounted already.
        let _ = self.die();
        let Some(session) = self.session.take() else {
            return;
        };
        let start = Instant::now();
        while !session.guard.is_finished() {
            if start.elapsed() > END_LIMIT {
                eprintln!("testbed: the threads of a faulty file system do not end");
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = session.join();
    }
}
