//! The SMB driver: compared with smbtorture and smbclient on the same server, its ciphers alone, and
//! thousands of sessions.

mod ciphers;
mod comparisons;
mod sessions;

use crate::measured::{Measured, MeasuredOrReason};
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Claim, Completion, LoadDriver, PROC_DIR, ProcSetup, Request, ShardDriver, ShardSetup,
    Status, StopFlag, Submit,
};
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{ProcPath, SessionAction};
use filermark_model::plan::{IpChoice, MountPoint, SmbPlan};
use filermark_model::smb::{Auth, Dialect};
use filermark_model::{Nanos, Secret};
use filermark_smb::driver::SmbDriver;
use std::sync::Arc;

pub use sessions::{COMMAND, serve};

/// The directory of the run on the share.
const RUN_DIR: &str = "filermark.bench";
/// Longest wait for replies.
const REPLY_TIMEOUT: Nanos = Nanos::from_secs(60);

/// Measures all of them.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let mut measured = Measured::default();
    measured.add(ciphers::measure(rounds)?);
    measured.add(comparisons::measure(rounds)?);
    measured.add(sessions::measure()?);
    Ok(measured)
}

/// A plan for a server on this host.
fn plan(port: u16, dialect: Dialect, auth: Auth, password: Secret) -> SmbPlan {
    SmbPlan {
        dialects: (dialect, dialect),
        auth,
        password,
        port,
        ip: IpChoice::V4,
        connect_timeout_ms: 60_000,
        ..SmbPlan::default()
    }
}

/// A shard of the driver on this thread.
struct Shard {
    driver: Box<dyn ShardDriver>,
    clock: Clock,
    done: Vec<Completion>,
}

impl Shard {
    fn open(plan: SmbPlan, share: &str, procs: u32) -> Result<Self, String> {
        let mount = MountPoint {
            host: "127.0.0.1".into(),
            path: format!(r"\{share}"),
        };
        let proc = |number| ProcSetup {
            number,
            mount: mount.clone(),
            tree: None,
        };
        let clock = Clock::real();
        let setup = ShardSetup {
            shard: 0,
            shard_count: 1,
            clock: clock.clone(),
            data: Arc::new(DataSource::new(1, VerifyLevel::Sample)),
            procs: (0..procs).map(proc).collect(),
            claim: Claim {
                dir_name: RUN_DIR.into(),
                run_id: "bench".into(),
            },
            stop: StopFlag::new(),
        };
        let driver = SmbDriver::new(plan).open_shard(setup);
        Ok(Self {
            driver: driver.map_err(|e| e.to_string())?,
            clock,
            done: Vec::with_capacity(8192),
        })
    }

    fn submit(&mut self, proc: u32, action: Action) -> Result<(), String> {
        let request = Request {
            token: proc,
            proc,
            action,
        };
        match self.driver.submit(&request) {
            Submit::Queued => Ok(()),
            other => Err(format!("{action:?} was not queued: {other:?}")),
        }
    }

    /// Waits for replies and returns their number; an error is an `Err`.
    fn turn(&mut self) -> Result<usize, String> {
        self.done.clear();
        self.driver.flush();
        let limit = self.clock.now() + REPLY_TIMEOUT;
        while self.done.is_empty() {
            let polled = self.driver.poll(limit, &mut self.done);
            polled.map_err(|e| e.to_string())?;
            if self.clock.now() >= limit {
                return Err("no reply within 60 s".into());
            }
        }
        match self.done.iter().find(|c| c.outcome.status != Status::Ok) {
            Some(bad) => Err(format!("{:?}", bad.outcome.status)),
            None => Ok(self.done.len()),
        }
    }

    fn wait(&mut self, count: usize) -> Result<(), String> {
        let mut left = count;
        while left > 0 {
            left = left.saturating_sub(self.turn()?);
        }
        Ok(())
    }

    /// One operation of the first proc, until it ends.
    fn run(&mut self, action: Action) -> Result<(), String> {
        self.submit(0, action)?;
        self.wait(1)
    }

    /// Keeps `depth` of an action under way until `count` have ended.
    fn keep_up(&mut self, action: SessionAction, depth: usize, count: usize) -> Result<(), String> {
        for _ in 0..depth {
            self.submit(0, Action::Session(action))?;
        }
        let mut sent = depth;
        let mut ended = 0;
        while ended < count {
            let replies = self.turn()?;
            ended += replies;
            for _ in 0..replies {
                if sent < count {
                    self.submit(0, Action::Session(action))?;
                    sent += 1;
                }
            }
        }
        Ok(())
    }
}

/// The file that is opened and read.
const FILE: ProcPath = ProcPath {
    dir: PROC_DIR,
    name: Some(Name::new(NameKind::File, 1)),
};
