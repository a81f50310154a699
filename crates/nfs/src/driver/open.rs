//! Opening a shard: which file systems, which connections, who uses which.

use super::NfsDriver;
use super::calls::Calls;
use super::conn::{Conn, Io};
use super::core::{Core, FileSystem, Proc, Settings};
use super::counters::Counters;
use super::ended_calls::EndedCalls;
use super::handles::Handles;
use super::ops::Ops;
use super::records::RecordSplitter;
use super::reply_timeouts::ReplyTimeouts;
use super::shard::Shard;
use super::uncommitted::UncommittedWrites;
use crate::target::{Target, credential};
use filermark_driver_kit::marker::OwnerTexts;
use filermark_engine::data::History;
use filermark_engine::driver::{DriverError, ShardSetup};
use filermark_model::Nanos;
use filermark_model::benchmark::CommitPolicy;
use filermark_model::plan::{Connections, MountPoint, NfsPlan, NfsVersion, Transport};
use filermark_model::rng::hash3;
use filermark_net::{Arrivals, BATCH, BufferPool, BufferSizes, Reactor, open_files_limit};
use filermark_onc::nfs3::{Fh, PROGRAM};
use filermark_onc::template::CallTemplate;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;

/// What is read in one go.
const SCRATCH: usize = 1 << 20;
/// Unused buffers that a shard keeps.
const POOL_BYTES: usize = 32 << 20;
/// Largest listing that is asked for, in bytes.
const READDIR_BYTES: u32 = 32 << 10;
/// What a reply may have beside its data.
const REPLY_OVERHEAD: u32 = 8 << 10;
/// Replies of up to this size are taken whatever the transfer sizes (READLINK).
const REPLY_MIN: u32 = 128 << 10;

/// The largest datagram, in bytes.
const DATAGRAM_MAX: u32 = 65_535;
/// The system counts its own headers too, per fragment.
const BUFFER_FACTOR: usize = 2;
/// Buffers of a datagram socket, in bytes.
const BUFFER_BYTES_MIN: usize = 256 << 10;
const BUFFER_BYTES_MAX: usize = 16 << 20;

/// A mount point as it was found: shared by all shards of a client.
#[derive(Clone, Debug)]
pub(super) struct MountState {
    pub(super) address: SocketAddr,
    pub(super) file_system: FileSystem,
}

impl MountState {
    /// A target and the run's directory in it.
    pub(super) fn new(target: &Target, run_dir: Fh) -> Self {
        Self {
            address: target.nfs_address,
            file_system: FileSystem {
                root: target.root,
                run_dir,
                rsize: target.rsize,
                wsize: target.wsize,
                readdir_bytes: target.fsinfo.rtmax.clamp(4096, READDIR_BYTES),
            },
        }
    }
}

impl Settings {
    fn of(plan: &NfsPlan, buffers: BufferSizes) -> Self {
        let millis = |ms: u32| Nanos::from_millis(ms.max(1).into());
        let rpc_timeout = millis(plan.rpc_timeout_ms);
        Self {
            version: plan.version,
            reads_max: plan.biod_max_reads.max(1),
            writes_max: plan.biod_max_writes.max(1),
            // Version 2 writes at once and has no COMMIT.
            commit: match plan.version {
                NfsVersion::V2 => CommitPolicy::at_once(),
                NfsVersion::V3 => plan.commit,
            },
            rpc_timeout,
            waits: match plan.transport {
                Transport::Tcp => ReplyTimeouts::constant(rpc_timeout),
                Transport::Udp => ReplyTimeouts::doubling(millis(plan.udp_timeout_ms), rpc_timeout),
            },
            datagrams: plan.transport == Transport::Udp,
            buffers,
            rpc_retries: plan.rpc_retries.min(u16::MAX.into()) as u16,
            connect_timeout: millis(plan.connect_timeout_ms),
            jukebox_delay: millis(plan.jukebox_delay_ms),
            jukebox_retries: plan.jukebox_retries.min(u16::MAX.into()) as u16,
            reserved_port: plan.resvport,
        }
    }
}

/// Hands out connections to procs.
struct ConnectionAssigner {
    rule: Connections,
    transport: Transport,
    /// The shard's number and how many there are.
    shard: (u32, u32),
    conns: Vec<Conn>,
    /// Per server: its first connection, and how many procs it has.
    servers: HashMap<SocketAddr, (u32, u32)>,
}

impl ConnectionAssigner {
    fn add(&mut self, peer: SocketAddr) -> u32 {
        let number = self.conns.len() as u32;
        self.conns.push(Conn::new(number, peer, self.transport));
        number
    }

    /// The connection of the next proc that works on this server.
    fn next(&mut self, peer: SocketAddr) -> u32 {
        let per_server = match self.rule {
            Connections::PerProc => return self.add(peer),
            // This shard's part of the agent's connections.
            Connections::Shared(count) => {
                let (shard, shards) = self.shard;
                (count / shards + u32::from(shard < count % shards)).max(1)
            }
        };
        let next = self.conns.len() as u32;
        let (first, procs) = *self.servers.entry(peer).or_insert((next, 0));
        if first == next && procs == 0 {
            for _ in 0..per_server {
                self.add(peer);
            }
        }
        self.servers.insert(peer, (first, procs + 1));
        first + procs % per_server
    }
}

impl NfsDriver {
    /// The shard of `setup`, connected.
    pub(super) fn shard(&self, setup: ShardSetup) -> Result<Shard, DriverError> {
        // As many connections as the system allows; where that is not enough,
        // connecting says so.
        open_files_limit(u64::MAX);
        let mut spread = ConnectionAssigner {
            rule: self.plan.connections,
            transport: self.plan.transport,
            shard: (setup.shard, setup.shard_count.max(1)),
            conns: Vec::new(),
            servers: HashMap::new(),
        };
        let mut file_systems = Vec::new();
        let mut numbers: HashMap<&MountPoint, (u32, SocketAddr)> = HashMap::new();
        let mut procs = Vec::with_capacity(setup.procs.len());
        for proc in &setup.procs {
            let (file_system, address) = match numbers.get(&proc.mount) {
                Some(known) => *known,
                None => {
                    let place = self.place(&proc.mount, &setup.claim.dir_name)?;
                    let number = file_systems.len() as u32;
                    file_systems.push(place.file_system);
                    numbers.insert(&proc.mount, (number, place.address));
                    (number, place.address)
                }
            };
            procs.push(Proc {
                file_system,
                conn: spread.next(address),
                handles: Handles::default(),
                settling: false,
            });
        }
        // Servers may remember xids of an earlier run from the same port.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let start = now.map_or(0, |t| t.as_nanos() as u64);
        let calls = Calls::new(
            spread.conns.len(),
            hash3(start, setup.shard.into(), 0) as u32,
        );
        let owners = OwnerTexts::of(&setup, &self.nonces);
        let mut shard = assemble(
            &self.plan,
            setup,
            calls,
            (file_systems, procs),
            spread.conns,
        )?;
        shard.core.owners = owners;
        shard.connect_all()?;
        Ok(shard)
    }
}

fn assemble(
    plan: &NfsPlan,
    setup: ShardSetup,
    calls: Calls,
    (file_systems, procs): (Vec<FileSystem>, Vec<Proc>),
    conns: Vec<Conn>,
) -> Result<Shard, DriverError> {
    let sizes = file_systems.iter().map(|f| f.rsize.max(f.readdir_bytes));
    let record_max = sizes.fold(REPLY_MIN, u32::max) + REPLY_OVERHEAD;
    let reactor = Reactor::new().map_err(|error| DriverError {
        place: "this client".to_owned(),
        step: "make an event queue".to_owned(),
        reason: error.to_string(),
        advice: "raise the limit of open files (ulimit -n)".to_owned(),
    })?;
    let buffers = socket_buffers(
        plan,
        &file_systems,
        procs.len().div_ceil(conns.len().max(1)),
    );
    let core = Core {
        now: setup.clock.now(),
        clock: setup.clock,
        settings: Settings::of(plan, buffers),
        history: History::new(setup.data, setup.procs.len()),
        owners: OwnerTexts::default(),
        stop: setup.stop,
        stopping: false,
        stopping_at: Nanos::ZERO,
        template: CallTemplate::new(PROGRAM, plan.version.number(), credential(plan).as_auth()),
        gather: UncommittedWrites::new(plan.commit, procs.len()),
        verfs: vec![[None; 2]; file_systems.len()],
        file_systems,
        procs,
        ops: Ops::default(),
        calls,
        departed: EndedCalls::new(plan.transport),
        timers: BinaryHeap::new(),
        cursors: HashMap::new(),
        counters: Counters::new(plan.version),
        dirty: Vec::with_capacity(conns.len()),
        is_dirty: vec![false; conns.len()],
        done: Vec::new(),
    };
    let io = Io {
        reactor,
        pool: BufferPool::new(POOL_BYTES),
        scratch: vec![0; SCRATCH],
        send: Vec::with_capacity(SCRATCH / 2),
        pieces: Vec::with_capacity(BATCH),
        records: RecordSplitter::new(record_max as usize),
        arrivals: Arrivals::new(datagram_max(&core.file_systems)),
        unread: Vec::new(),
        reported_buffers: false,
    };
    Ok(Shard {
        core,
        io,
        conns,
        ready: Vec::new(),
    })
}

/// The longest reply that fits into a datagram, in bytes, and what may come of it.
fn datagram_max(file_systems: &[FileSystem]) -> usize {
    let sizes = file_systems.iter().map(|f| f.rsize.max(f.readdir_bytes));
    (sizes.fold(0, u32::max) + REPLY_OVERHEAD).min(DATAGRAM_MAX) as usize
}

/// What a datagram socket needs for everything that `procs` of its procs may have
/// under way at once. What does not fit is lost on this host already.
pub(crate) fn socket_buffers(
    plan: &NfsPlan,
    file_systems: &[FileSystem],
    procs: usize,
) -> BufferSizes {
    if plan.transport == Transport::Tcp {
        return BufferSizes::default();
    }
    let size = |of: fn(&FileSystem) -> u32| file_systems.iter().map(of).fold(0, u32::max);
    let need = |transfers: u32, bytes: u32| {
        let each = (bytes + REPLY_OVERHEAD) as usize * BUFFER_FACTOR;
        let all = each.saturating_mul(transfers.max(1) as usize);
        all.saturating_mul(procs)
            .clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX)
    };
    BufferSizes {
        receive: need(plan.biod_max_reads, size(|f| f.rsize.max(f.readdir_bytes))),
        send: need(plan.biod_max_writes, size(|f| f.wsize)),
    }
}
