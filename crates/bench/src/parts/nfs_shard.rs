//! A shard of the NFS driver on the current thread, kept busy without the engine.

use crate::plan::{claim, nfs3, plan};
use crate::server::ServerProcess;
use crate::turns::Turn;
use crate::{alloc, cpu};
use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Completion, LoadDriver, ObjectId, PROC_DIR, ProcSetup, Request, ShardDriver,
    ShardSetup, Status, StopFlag, Submit,
};
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_nfs::driver::NfsDriver;
use std::net::SocketAddr;
use std::sync::Arc;

/// Longest wait for a reply.
const REPLY_TIMEOUT: Nanos = Nanos::from_secs(5);
/// The time before a turn is measured.
const WARMUP: Nanos = Nanos::from_millis(200);
/// The file that each proc reads and writes.
pub const FILE: ObjectId = ObjectId(1);
/// Its number for the contents.
pub const FILE_NUMBER: u64 = 1;

/// The server that a shard calls.
#[derive(Clone, Debug)]
pub struct Place {
    /// `host:path`.
    pub mount: String,
    /// The ports of NFS and of MOUNT.
    pub ports: (u16, u16),
    /// It is called over NFSv4.1.
    pub has_sessions: bool,
    /// Further parameters.
    pub options: Vec<(&'static str, String)>,
}

impl Place {
    /// A server with canned replies.
    pub fn canned(
        address: SocketAddr,
        has_sessions: bool,
        options: Vec<(&'static str, String)>,
    ) -> Self {
        Self {
            mount: "127.0.0.1:/export".to_owned(),
            ports: (address.port(), address.port()),
            has_sessions,
            options,
        }
    }
}

/// A shard whose procs each keep the same number of calls under way.
pub struct SaturatedShard {
    shard: Box<dyn ShardDriver>,
    clock: Clock,
    done: Vec<Completion>,
    action: Action,
    depth: u32,
    procs: u32,
}

impl SaturatedShard {
    /// Connects to a server, makes the directory of each proc (and a file of `file_bytes` in it, if not
    /// zero), and sends the first calls.
    pub fn open(
        place: &Place,
        (procs, depth): (u32, u32),
        action: Action,
        file_bytes: u64,
    ) -> Result<Self, String> {
        let version = match place.has_sessions {
            true => "4.1",
            false => "3",
        };
        let mut with = vec![("NFS_VERSION", version)];
        let options = place.options.iter();
        with.extend(options.map(|(name, value)| (*name, value.as_str())));
        let plan = plan(procs, &place.mount, place.ports, &with)?;
        let driver = NfsDriver::new(nfs3(&plan)?);
        let mounts = &plan.clients[0].mounts;
        let claim = claim();
        // The server with sessions has every name already, and no directory to claim.
        if !place.has_sessions {
            let claimed = driver.claim(&mounts[0], &claim);
            claimed.map_err(|e| e.to_string())?;
        }
        let clock = Clock::real();
        let shard = driver.open_shard(ShardSetup {
            shard: 0,
            shard_count: 1,
            clock: clock.clone(),
            data: Arc::new(DataSource::new(1, VerifyLevel::Nothing)),
            procs: (0..)
                .zip(mounts)
                .map(|(number, mount)| ProcSetup {
                    number,
                    mount: mount.clone(),
                    tree: None,
                })
                .collect(),
            claim,
            stop: StopFlag::new(),
        });
        let mut saturated = Self {
            shard: shard.map_err(|e| e.to_string())?,
            clock,
            done: Vec::with_capacity(4096),
            action,
            depth,
            procs,
        };
        saturated.on_each_proc(|proc| Action::MakeProcDir {
            name: Name::new(NameKind::ProcDir, proc),
        })?;
        if file_bytes > 0 {
            saturated.on_each_proc(|_| Action::Fill {
                dir: PROC_DIR,
                name: Name::new(NameKind::File, FILE.0),
                object: Some(FILE),
                file: FILE_NUMBER,
                size: file_bytes,
            })?;
        }
        for token in 0..procs * depth {
            saturated.submit(token, action)?;
        }
        Ok(saturated)
    }

    fn on_each_proc(&mut self, action: impl Fn(u32) -> Action) -> Result<(), String> {
        for proc in 0..self.procs {
            self.submit(proc * self.depth, action(proc))?;
        }
        self.wait_for(self.procs)
    }

    fn submit(&mut self, token: u32, action: Action) -> Result<(), String> {
        let request = Request {
            token,
            proc: token / self.depth,
            action,
        };
        match self.shard.submit(&request) {
            Submit::Queued => Ok(()),
            other => Err(format!("a request was not queued: {other:?}")),
        }
    }

    fn poll(&mut self) -> Result<(), String> {
        self.shard.flush();
        let deadline = self.clock.now() + REPLY_TIMEOUT;
        self.shard
            .poll(deadline, &mut self.done)
            .map_err(|e| e.to_string())?;
        match self.done.iter().find(|d| d.outcome.status != Status::Ok) {
            Some(bad) => Err(format!("a call failed: {:?}", bad.outcome.status)),
            None if self.done.is_empty() => Err("no reply within 5 s".into()),
            None => Ok(()),
        }
    }

    fn wait_for(&mut self, count: u32) -> Result<(), String> {
        let mut completed = 0;
        while completed < count {
            self.poll()?;
            completed += self.done.drain(..).count() as u32;
        }
        Ok(())
    }

    /// Sends a new call for each reply, for this long; returns the number of replies.
    pub fn keep_up(&mut self, span: Nanos) -> Result<u64, String> {
        let began = self.clock.now();
        let mut count = 0;
        loop {
            self.poll()?;
            count += self.done.len() as u64;
            let mut done = std::mem::take(&mut self.done);
            for completion in done.drain(..) {
                self.submit(completion.token, self.action)?;
            }
            self.done = done;
            if self.clock.now().since(began) >= span {
                return Ok(count);
            }
        }
    }

    /// A turn of `span` on connections of its own, so that no call of another contender is under way in
    /// it; and the allocations of each operation.
    ///
    /// # Errors
    /// As [`SaturatedShard::open`]; a call fails.
    pub fn turn(
        server: &ServerProcess,
        shape: (u32, u32),
        work: (Action, u64),
        span: Nanos,
    ) -> Result<(Turn, f64), String> {
        let place = Place::canned(server.address, server.spec.has_sessions, server.options());
        Self::turn_at(&place, shape, work, span)
    }

    /// The same on any server.
    ///
    /// # Errors
    /// As [`SaturatedShard::turn`].
    pub fn turn_at(
        place: &Place,
        shape: (u32, u32),
        (action, file_bytes): (Action, u64),
        span: Nanos,
    ) -> Result<(Turn, f64), String> {
        let mut shard = Self::open(place, shape, action, file_bytes)?;
        shard.keep_up(WARMUP)?;
        let taken = alloc::taken_count();
        let turn = Turn::measure(cpu::process_ns, || Ok(shard.keep_up(span)? as f64))?;
        let allocations = (alloc::taken_count() - taken) as f64 / turn.ops;
        shard.drain()?;
        Ok((turn, allocations))
    }

    /// Waits for the replies to all calls under way.
    pub fn drain(&mut self) -> Result<(), String> {
        self.wait_for(self.procs * self.depth)
    }
}
