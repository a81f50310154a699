//! Opens a shard: its file systems, its connections, and which proc uses which.

use super::NfsDriver;
use super::contexts::{self, Contexts};
use super::core::{Core, FileSystem, KnownVerf, Proc, Settings};
use super::counters::Counters;
use super::ended_calls::EndedCalls;
use super::handles::Handles;
use super::ops::Ops;
use super::records::RecordSplitter;
use super::sessions::{Client, DataServers, Sessions};
use super::uncommitted::UncommittedWrites;
use super::variant::{Stateless, Variant};
use crate::client::AnyFh;
use crate::starttls;
use crate::target::{Target, credential};
use crate::version4::{ClientIdentity, SessionRequest};
use filermark_driver_kit::marker::OwnerTexts;
use filermark_driver_kit::sockets::{
    Calls, Conn, ConnectionAssigner, LoopState, Peer, ReplyTimeouts, Shard, SocketSettings,
};
use filermark_engine::data::History;
use filermark_engine::driver::{DriverError, ShardDriver, ShardSetup};
use filermark_model::Nanos;
use filermark_model::benchmark::CommitPolicy;
use filermark_model::plan::{ClientIds, MinorVersion, MountPoint, NfsPlan, NfsVersion, Transport};
use filermark_model::rng::hash3;
use filermark_net::BufferSizes;
use filermark_onc::nfs3::PROGRAM;
use filermark_onc::template::CallTemplate;
use filermark_tls::ClientTls;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

/// Call slots that are created at the beginning. Servers cache replies by xid, so an xid must
/// not be used again soon; the slots are used in turn.
const CALL_SLOTS: u32 = 512;
/// Largest listing that is requested, in bytes.
const READDIR_BYTES: u32 = 32 << 10;
/// Bytes of a reply besides its data.
const REPLY_OVERHEAD: u32 = 8 << 10;
/// Replies up to this size are accepted with any transfer size (READLINK).
const REPLY_MIN: u32 = 128 << 10;

/// Slots that are asked for in a session of version 4.1.
const SLOTS_ASKED: u32 = 256;
/// The longest time that the end of the clients of version 4.1 takes when a shard could not be
/// opened.
const END_LIMIT: Nanos = Nanos::from_secs(2);

/// The largest datagram, in bytes.
const DATAGRAM_MAX: u32 = 65_535;
/// The kernel also counts its own headers, per fragment.
const BUFFER_FACTOR: usize = 2;
/// Buffers of a datagram socket, in bytes.
const BUFFER_BYTES_MIN: usize = 256 << 10;
const BUFFER_BYTES_MAX: usize = 16 << 20;

/// A resolved mount point, shared by all shards of a client.
#[derive(Clone, Debug)]
pub(super) struct MountState {
    pub(super) address: SocketAddr,
    /// The name of the server.
    pub(super) host: String,
    pub(super) file_system: FileSystem,
}

impl MountState {
    /// The state for a target and the run's directory in it.
    pub(super) fn new(target: &Target, run_dir: AnyFh) -> Self {
        Self {
            address: target.nfs_address,
            host: target.mount.host.clone(),
            file_system: FileSystem {
                root: target.root,
                run_dir,
                rsize: target.rsize,
                wsize: target.wsize,
                readdir_bytes: target.fsinfo.rtmax.clamp(4096, READDIR_BYTES),
                has_layouts: (target.session.as_ref()).is_some_and(|s| s.has_flexible_files),
            },
        }
    }
}

fn millis(ms: u32) -> Nanos {
    Nanos::from_millis(ms.max(1).into())
}

impl Settings {
    fn of(plan: &NfsPlan) -> Self {
        Self {
            version: plan.version,
            reads_max: plan.biod_max_reads.max(1),
            writes_max: plan.biod_max_writes.max(1),
            // Version 2 writes synchronously and has no COMMIT.
            commit: match plan.version {
                NfsVersion::V2 => CommitPolicy::at_once(),
                NfsVersion::V3 | NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => plan.commit,
            },
            datagrams: plan.transport == Transport::Udp,
            jukebox_delay: millis(plan.jukebox_delay_ms),
            jukebox_retries: plan.jukebox_retries.min(u16::MAX.into()) as u16,
        }
    }
}

/// Settings of the connections to these file systems, for so many procs on each.
fn socket_settings(plan: &NfsPlan, file_systems: &[FileSystem], procs: usize) -> SocketSettings {
    let rpc_timeout = millis(plan.rpc_timeout_ms);
    SocketSettings {
        transport: plan.transport,
        waits: match plan.transport {
            Transport::Tcp => ReplyTimeouts::constant(rpc_timeout),
            Transport::Udp => ReplyTimeouts::doubling(millis(plan.udp_timeout_ms), rpc_timeout),
        },
        retries: plan.rpc_retries.min(u16::MAX.into()) as u16,
        reserved_port: plan.resvport,
        buffers: socket_buffers(plan, file_systems, procs),
        datagram_max: datagram_max(file_systems),
        ..SocketSettings::streams(millis(plan.connect_timeout_ms), rpc_timeout)
    }
}

impl NfsDriver {
    /// The other end of the connections to a mount point.
    fn peer(&self, place: &MountState) -> Result<Peer, DriverError> {
        let tls = starttls::of_plan(&self.plan, &place.host).map_err(|error| DriverError {
            place: place.host.clone(),
            step: "prepare TLS".to_owned(),
            reason: error.to_string(),
            advice: starttls::file_advice(&error).to_owned(),
        })?;
        Ok(Peer {
            address: place.address,
            tls,
        })
    }

    /// What the procs of a connection have in common: with TLS it is to a server of one name, and with Kerberos
    /// its calls are for one principal.
    pub(super) fn target(
        &self,
        peer: &Peer,
        mount: &MountPoint,
    ) -> (SocketAddr, Option<String>, Option<String>) {
        let name = peer.tls.as_ref().map(ClientTls::server_name);
        let principal = (!self.plan.security.is_sys()).then(|| mount.host.clone());
        (peer.address, name, principal)
    }

    /// The shard of `setup`, connected.
    pub(super) fn shard(&self, setup: ShardSetup) -> Result<Shard<Core>, DriverError> {
        self.shard_with(setup, |_, _, _| Stateless)
    }

    /// The same for version 4.
    pub(super) fn shard4(
        &self,
        setup: ShardSetup,
        minor: MinorVersion,
    ) -> Result<Shard<Core<Sessions>>, DriverError> {
        self.shard_with(setup, |setup, file_systems, clients| {
            sessions(minor, &self.plan, setup, file_systems, clients)
        })
    }

    /// A shard whose state has what `own` returns for the file systems and the client of each
    /// connection.
    fn shard_with<V: Variant>(
        &self,
        setup: ShardSetup,
        own: impl FnOnce(&ShardSetup, &[FileSystem], &[u32]) -> V,
    ) -> Result<Shard<Core<V>>, DriverError> {
        let mut conns = ConnectionAssigner::new(
            self.plan.connections,
            self.plan.transport,
            setup.shard,
            setup.shard_count,
        )
        .with_width(self.plan.nconnect);
        let mut file_systems = Vec::new();
        let mut numbers: HashMap<&MountPoint, (u32, Peer)> = HashMap::new();
        let mut procs = Vec::with_capacity(setup.procs.len());
        let mut targets = BTreeMap::new();
        for proc in &setup.procs {
            let (file_system, peer) = match numbers.get(&proc.mount) {
                Some(known) => known.clone(),
                None => {
                    let place = self.place(&proc.mount, &setup.claim.dir_name)?;
                    let new = (file_systems.len() as u32, self.peer(&place)?);
                    file_systems.push(place.file_system);
                    numbers.insert(&proc.mount, new.clone());
                    new
                }
            };
            let target = self.target(&peer, &proc.mount);
            let conn = conns.next(target.clone(), peer, V::Conn::default);
            targets.insert(conn, target);
            procs.push(Proc {
                file_system,
                conn,
                handles: Handles::default(),
                settling: 0,
            });
        }
        let conns = conns.finish();
        let mounts = procs.iter().zip(&setup.procs);
        let mounts = mounts.map(|(proc, of)| (proc.conn, &of.mount));
        let peers = contexts::peers(conns.iter().map(Conn::peer), mounts);
        let per_conn = procs.len().div_ceil(conns.len().max(1));
        let settings = socket_settings(&self.plan, &file_systems, per_conn);
        let clients = clients_of(&self.plan, conns.len(), &targets);
        let own = own(&setup, &file_systems, &clients);
        let mut core = core(&self.plan, &setup, own, (file_systems, procs), conns.len());
        core.owners = OwnerTexts::of(&setup, &self.nonces);
        core.contexts = Contexts::establish(&self.plan, &peers)?.map(Box::new);
        let mut shard = Shard::new(core, conns, settings)?;
        if let Err(error) = shard.connect_all() {
            // Clients that were set up do not stay on the server.
            shard.end(setup.clock.now() + END_LIMIT);
            return Err(error);
        }
        Ok(shard)
    }
}

/// The client of each connection, from the targets of those that procs have. Connections without a proc have the
/// target of the one before.
pub(super) fn clients_of<T: PartialEq>(
    plan: &NfsPlan,
    conns: usize,
    targets: &BTreeMap<u32, T>,
) -> Vec<u32> {
    let conns = 0..conns as u32;
    if plan.client_ids == ClientIds::Connection {
        return conns.map(|conn| conn / plan.nconnect.max(1)).collect();
    }
    let mut known: Vec<&T> = Vec::new();
    let mut clients = Vec::with_capacity(conns.len());
    for conn in conns {
        let before = clients.last().copied().unwrap_or_default();
        let client = targets.get(&conn).map_or(before, |target| {
            let client = known.iter().position(|known| *known == target);
            client.unwrap_or_else(|| {
                known.push(target);
                known.len() - 1
            }) as u32
        });
        clients.push(client);
    }
    clients
}

/// The clients of version 4, and their connections.
fn sessions(
    minor: MinorVersion,
    plan: &NfsPlan,
    setup: &ShardSetup,
    file_systems: &[FileSystem],
    client_of: &[u32],
) -> Sessions {
    let sizes = |f: &FileSystem| f.rsize.max(f.wsize).max(f.readdir_bytes);
    let transfer_bytes = file_systems.iter().map(sizes).fold(READDIR_BYTES, u32::max);
    let client = |number| {
        let purpose = format!("load, shard {} client {number}", setup.shard);
        Client::new(ClientIdentity::new(&purpose))
    };
    let clients = 0..client_of.iter().max().map_or(0, |last| last + 1);
    let busy_ms = u64::from(plan.rpc_timeout_ms) * (u64::from(plan.rpc_retries) + 1);
    Sessions::new(
        (clients.map(client).collect(), client_of),
        setup.procs.iter().map(|proc| proc.number).collect(),
        SessionRequest::new(minor, transfer_bytes, SLOTS_ASKED)
            .with_callbacks()
            .with_layouts(!plan.layouts.is_refuse()),
        Nanos::from_millis(busy_ms),
        plan.delegations,
        (plan.layouts, DataServers::new(&plan.machine_name)),
    )
}

fn core<V: Variant>(
    plan: &NfsPlan,
    setup: &ShardSetup,
    own: V,
    (file_systems, procs): (Vec<FileSystem>, Vec<Proc>),
    conns: usize,
) -> Core<V> {
    let sizes = file_systems.iter().map(|f| f.rsize.max(f.readdir_bytes));
    let record_max = sizes.fold(REPLY_MIN, u32::max) + REPLY_OVERHEAD;
    // Servers may have cached replies to xids of an earlier run from the same port.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let start = now.map_or(0, |t| t.as_nanos() as u64);
    let generation = hash3(start, setup.shard.into(), 0) as u32;
    Core {
        own,
        state: LoopState::new(setup.clock.clone(), setup.stop.clone()),
        settings: Settings::of(plan),
        history: History::new(setup.data.clone(), setup.procs.len()),
        owners: OwnerTexts::default(),
        template: CallTemplate::new(
            PROGRAM,
            V::program_version(plan),
            credential(plan).as_auth(),
        ),
        uncommitted: UncommittedWrites::new(plan.commit, procs.len()),
        verfs: vec![KnownVerf::default(); file_systems.len()],
        file_systems,
        procs,
        ops: Ops::default(),
        calls: Calls::new(conns, CALL_SLOTS, generation),
        ended_calls: EndedCalls::new(plan.transport),
        records: RecordSplitter::new(record_max as usize),
        contexts: None,
        cursors: HashMap::new(),
        counters: Counters::new(plan.version),
        counted_in_run: None,
    }
}

/// The longest reply that is accepted in a datagram, in bytes.
fn datagram_max(file_systems: &[FileSystem]) -> usize {
    let sizes = file_systems.iter().map(|f| f.rsize.max(f.readdir_bytes));
    (sizes.fold(0, u32::max) + REPLY_OVERHEAD).min(DATAGRAM_MAX) as usize
}

/// Buffers that a datagram socket needs for everything that its `procs` procs may have under
/// way at once. This host drops datagrams that do not fit.
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
