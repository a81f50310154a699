//! Which connections a shard has and who uses them.

use super::SmbDriver;
use super::calls::Calls;
use super::conn::{Conn, Io};
use super::core::{Core, Proc, SessionState, Settings};
use super::counters::Counters;
use super::ops::Ops;
use super::shard::Shard;
use crate::login::Login;
use crate::target::Target;
use filermark_driver_kit::marker::OwnerTexts;
use filermark_engine::data::History;
use filermark_engine::driver::{DriverError, ShardSetup};
use filermark_model::Nanos;
use filermark_model::plan::{Connections, MountPoint, SmbPlan};
use filermark_net::{BufferPool, Reactor, open_files_limit};
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// Memory that connections without anything under way leave to others, in bytes.
const POOL_BYTES: usize = 32 << 20;
/// One read, in bytes.
const SCRATCH: usize = 512 << 10;
/// No transfer is larger than this, whatever the server allows, in bytes: the largest
/// logical one is 256 KiB, and a file is filled in pieces that leave others their turn.
const TRANSFER_MAX: u32 = 1 << 20;

/// A share as it was found.
#[derive(Clone, Debug)]
pub(super) struct ShareState {
    pub(super) address: SocketAddr,
    pub(super) login: Arc<Login>,
    /// The run's directory, from the share on.
    pub(super) run_dir: Arc<str>,
}

impl Settings {
    fn of(plan: &SmbPlan) -> Self {
        let millis = |ms: u32| Nanos::from_millis(ms.max(1).into());
        Self {
            reads_max: plan.biod_max_reads.max(1),
            writes_max: plan.biod_max_writes.max(1),
            block_max: plan
                .block_size_max
                .unwrap_or(TRANSFER_MAX)
                .clamp(512, TRANSFER_MAX),
            reply_timeout: millis(plan.reply_timeout_ms),
            connect_timeout: millis(plan.connect_timeout_ms),
        }
    }
}

/// Hands out connections to procs.
struct ConnectionAssigner {
    rule: Connections,
    /// The shard's number and how many there are.
    shard: (u32, u32),
    conns: Vec<Conn>,
    /// Per share: its first connection, and how many procs it has.
    shares: HashMap<MountPoint, (u32, u32)>,
}

impl ConnectionAssigner {
    fn add(&mut self, place: &ShareState) -> u32 {
        let number = self.conns.len() as u32;
        let conn = Conn::new(number, place.address, place.login.clone());
        self.conns.push(conn);
        number
    }

    /// The connection of the next proc that works on this share. A connection has one
    /// tree: shares do not mix.
    fn next(&mut self, mount: &MountPoint, place: &ShareState) -> u32 {
        let per_share = match self.rule {
            Connections::PerProc => return self.add(place),
            // This shard's part of the agent's connections.
            Connections::Shared(count) => {
                let (shard, shards) = self.shard;
                (count / shards + u32::from(shard < count % shards)).max(1)
            }
        };
        let next = self.conns.len() as u32;
        let (first, procs) = *self.shares.entry(mount.clone()).or_insert((next, 0));
        if first == next && procs == 0 {
            for _ in 0..per_share {
                self.add(place);
            }
        }
        self.shares.insert(mount.clone(), (first, procs + 1));
        first + procs % per_share
    }
}

impl SmbDriver {
    /// The shard of `setup`, connected.
    pub(super) fn shard(&self, setup: ShardSetup) -> Result<Shard, DriverError> {
        // As many connections as the system allows; where that is not enough,
        // connecting says so.
        open_files_limit(u64::MAX);
        let mut spread = ConnectionAssigner {
            rule: self.plan.connections,
            shard: (setup.shard, setup.shard_count.max(1)),
            conns: Vec::new(),
            shares: HashMap::new(),
        };
        let mut places: HashMap<&MountPoint, ShareState> = HashMap::new();
        let mut procs = Vec::with_capacity(setup.procs.len());
        for proc in &setup.procs {
            let place = match places.get(&proc.mount) {
                Some(known) => known.clone(),
                None => {
                    let place = self.place(&proc.mount, &setup.claim.dir_name)?;
                    places.insert(&proc.mount, place.clone());
                    place
                }
            };
            let conn = spread.next(&proc.mount, &place);
            procs.push(Proc::new(proc.number, conn, &place.run_dir));
        }
        drop(places);
        let owners = OwnerTexts::of(&setup, &self.nonces);
        let mut shard = assemble(&self.plan, setup, procs, spread.conns)?;
        shard.core.owners = owners;
        shard.connect_all()?;
        Ok(shard)
    }

    fn place(&self, mount: &MountPoint, dir_name: &str) -> Result<ShareState, DriverError> {
        let target = Target::of(mount)?;
        let address = self.address(&target)?;
        Ok(ShareState {
            address,
            login: Arc::new(Login::new(&target, &self.plan, &self.refusals)),
            run_dir: target.run_dir(dir_name).into(),
        })
    }
}

fn assemble(
    plan: &SmbPlan,
    setup: ShardSetup,
    procs: Vec<Proc>,
    conns: Vec<Conn>,
) -> Result<Shard, DriverError> {
    let reactor = Reactor::new().map_err(|error| DriverError {
        place: "this client".to_owned(),
        step: "make an event queue".to_owned(),
        reason: error.to_string(),
        advice: "raise the limit of open files (ulimit -n)".to_owned(),
    })?;
    let now = setup.clock.now();
    let core = Core {
        now,
        clock: setup.clock,
        settings: Settings::of(plan),
        history: History::new(setup.data, setup.procs.len()),
        owners: OwnerTexts::default(),
        stop: setup.stop,
        stopping: false,
        procs,
        ops: Ops::default(),
        calls: Calls::default(),
        queues: conns.iter().map(|_| VecDeque::new()).collect(),
        transfers: vec![(0, 0); conns.len()],
        timers: BinaryHeap::new(),
        counters: Counters::new(),
        dirty: Vec::with_capacity(conns.len()),
        is_dirty: vec![false; conns.len()],
        done: Vec::new(),
        path: String::new(),
        session: SessionState::Valid,
        epochs: vec![0; conns.len()],
        filetime_base: filetime_at_zero(now),
    };
    let io = Io {
        reactor,
        pool: BufferPool::new(POOL_BYTES),
        scratch: vec![0; SCRATCH],
        send: Vec::with_capacity(SCRATCH / 2),
        unread: Vec::new(),
    };
    Ok(Shard {
        core,
        io,
        conns,
        ready: Vec::new(),
    })
}

/// The time of day at which the clock was at zero, in 100 ns since 1601.
fn filetime_at_zero(now: Nanos) -> u64 {
    /// From 1601 to 1970 (MS-DTYP 2.3.3).
    const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_100ns = since_1970.map_or(0, |t| (t.as_nanos() / 100) as u64);
    (UNIX_EPOCH + now_100ns).saturating_sub(now.0 / 100)
}
