//! The run plan: everything a run is, resolved and typed.
//!
//! rc files and flags resolve into one of these; it can be printed, hashed (the
//! fingerprint) and sent to agents. Nothing below this border sees a string
//! that still wants parsing.

use crate::benchmark::{Benchmark, CommitPolicy, Headline};
use crate::composite::DataSet;
use crate::fileset::{FileSet, FileSums};
use crate::finding::Finding;
use crate::op::Op;
use crate::secret::Secret;
use crate::stop_if::StopCondition;
use crate::units::{Nanos, OpsPerSec};
use serde::{Deserialize, Serialize};
use std::fmt;

pub use crate::smb::SmbPlan;

/// A run, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The benchmark, with the run's changes already in it.
    pub benchmark: Benchmark,
    /// The load points, in order.
    pub points: Vec<LoadPoint>,
    /// The client hosts and what each of their procs works on.
    pub clients: Vec<ClientPlan>,
    /// Load-generating procs on each client; composites: the most on any client.
    pub procs_per_client: u32,
    /// Composites: every proc of the largest load point, in the order in which they
    /// come into play. A proc is the same at every load point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub procs: Vec<ProcPlan>,
    /// Which procs `procs` has, where they are only those of one client
    /// ([`RunPlan::for_client`]); `None`: all, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<ProcSlice>,
    /// The driver and its settings.
    pub driver: DriverPlan,
    /// How load is paced.
    pub pacing: Pacing,
    /// How long the phases last.
    pub phases: PhasePlan,
    /// What the run may do with the file set.
    pub fileset: FileSetPlan,
    /// How the server's space and memory are held against the file set.
    #[serde(default)]
    pub space: SpacePlan,
    /// The seed that every random stream derives from.
    pub seed: u64,
    /// Load-making threads per client; `None`: one per core, two at least.
    pub shards: Option<u32>,
    /// A program to run beside the phases.
    pub monitor: Option<MonitorPlan>,
    /// netmist's scripts, when they are to be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts: Option<ScriptsPlan>,
    /// A time service to hold the clock against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_service: Option<ClockServicePlan>,
    /// Every proc's rate is told so often (`-G`, `-q`, HEARTBEAT_NOTIFICATIONS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Nanos>,
    /// Limits that judge a load point, as the run has set them.
    pub limits: Limits,
    /// Conditions that end the run (STOP_IF).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_if: Vec<StopCondition>,
    /// What the resolution itself noticed (changed standard parameters ...).
    pub findings: Vec<Finding>,
    /// The parameters as given, by name, for the record and the report.
    pub parameters: Vec<(String, String)>,
}

impl RunPlan {
    /// Which figure is the run's result, under its own response limit.
    pub fn headline(&self) -> Headline {
        self.benchmark.headline(self.limits.response_ms)
    }

    /// Procs in the whole run.
    pub fn proc_count(&self) -> u32 {
        match (&self.slice, self.procs.len()) {
            (Some(slice), _) => slice.total,
            (None, 0) => (self.clients.len() as u32).saturating_mul(self.procs_per_client),
            (None, n) => n as u32,
        }
    }

    /// Procs that make load at a load point.
    pub fn proc_count_at(&self, point: LoadPoint) -> u32 {
        match point.proc_count {
            0 => self.proc_count(),
            n => n.min(self.proc_count()),
        }
    }

    /// Files of the I/O set at a load: by bytes per unit of load over the mean
    /// file size; at least one per proc.
    pub fn io_file_count(&self, load: OpsPerSec) -> u64 {
        let Some(classic) = self.benchmark.classic() else {
            return 0;
        };
        let bytes = load.0 * classic.fileset.mb_per_op * (1u64 << 20) as f64;
        let files = bytes / classic.file_sizes.mean_bytes().max(1.0);
        (files.round() as u64).max(u64::from(self.proc_count()))
    }

    /// What the I/O files of a classical benchmark add up to at a load: size by size, as INIT
    /// makes them.
    pub fn io_sums(&self, load: OpsPerSec) -> FileSums {
        let Some(classic) = self.benchmark.classic() else {
            return FileSums::default();
        };
        let set = FileSet::new(self.seed, classic);
        set.sums(
            self.io_file_count(load),
            self.proc_count(),
            &classic.read_sizes,
        )
    }

    /// By how much the I/O files of a classical benchmark come to grow while a load point
    /// runs, in bytes: what is written behind their ends in WARMUP and RUN. INIT cuts them
    /// back.
    pub fn io_growth_bytes(&self, load: OpsPerSec) -> u64 {
        let Some(classic) = self.benchmark.classic() else {
            return 0;
        };
        let seconds = self.phases.warmup.as_secs_f64() + self.phases.runtime.as_secs_f64();
        let writes = load.0 * seconds * self.benchmark.mix.percent(Op::Write) / 100.0;
        let appended = writes * classic.fileset.append_pcnt / 100.0;
        (appended * classic.write_sizes.mean_bytes()) as u64
    }

    /// The bytes that the I/O files take at most at a load: as they are made, and a tenth or
    /// what is appended to them, whichever is more (seed 001, section 3.1).
    pub fn io_space_bytes(&self, load: OpsPerSec) -> u64 {
        let created = self.io_sums(load).created_bytes;
        let growth = (created / 10).max(self.io_growth_bytes(load));
        created.saturating_add(growth)
    }

    /// Size of the I/O set of a classical benchmark at a load when it is made, in bytes.
    pub fn io_bytes(&self, load: OpsPerSec) -> u64 {
        self.io_sums(load).created_bytes
    }

    /// The wanted rate of one proc of a classical benchmark at a load.
    pub fn rate_per_proc(&self, load: OpsPerSec) -> OpsPerSec {
        OpsPerSec(load.0 / f64::from(self.proc_count().max(1)))
    }

    /// The wanted rate of the proc with this number at a load point; `None`: as
    /// fast as it goes.
    pub fn rate_of_proc(&self, number: u32, point: LoadPoint) -> Option<OpsPerSec> {
        match self.proc(number) {
            Some(proc) => proc.ops_per_sec,
            None => Some(self.rate_per_proc(point.requested)),
        }
    }

    /// The procs of one client: number in the run, and what each works on.
    pub fn procs_of(&self, client: usize) -> Vec<(u32, MountPoint)> {
        if self.procs.is_empty() {
            let first = client as u32 * self.procs_per_client;
            let mounts = self.clients.get(client).map_or(&[][..], |c| &c.mounts[..]);
            let all = (first..).zip(mounts).take(self.procs_per_client as usize);
            return all.map(|(number, mount)| (number, mount.clone())).collect();
        }
        let mine = |(_, p): &(u32, &ProcPlan)| p.client as usize == client;
        let all = self.numbered_procs().filter(mine);
        all.map(|(number, p)| (number, p.mount.clone())).collect()
    }

    /// A composite's proc with this number.
    pub fn proc(&self, number: u32) -> Option<&ProcPlan> {
        let at = match &self.slice {
            None => number as usize,
            Some(slice) => slice.numbers.binary_search(&number).ok()?,
        };
        self.procs.get(at)
    }

    /// The procs of a composite that are here, with their numbers in the run.
    pub fn numbered_procs(&self) -> impl Iterator<Item = (u32, &ProcPlan)> {
        let numbers = self.slice.as_ref().map_or(&[][..], |s| &s.numbers[..]);
        (0u32..)
            .zip(&self.procs)
            .map(move |(at, proc)| (numbers.get(at as usize).copied().unwrap_or(at), proc))
    }

    /// The plan as far as the agent of one client needs it: a thousand of them must
    /// not each get what all of them do. Where trees are shared, who else works in
    /// them matters, and everything stays.
    #[must_use]
    pub fn for_client(&self, client: usize) -> Self {
        let mut own = self.without_clients();
        own.clients
            .extend(self.clients.iter().enumerate().map(|(at, c)| ClientPlan {
                name: c.name.clone(),
                mounts: if at == client {
                    c.mounts.clone()
                } else {
                    Vec::new()
                },
            }));
        if self.shares_trees() || self.procs.is_empty() {
            own.procs = self.procs.clone();
            own.slice = self.slice.clone();
            return own;
        }
        let mine = |(_, p): &(u32, &ProcPlan)| p.client as usize == client;
        let (numbers, procs) = self
            .numbered_procs()
            .filter(mine)
            .map(|(n, p)| (n, p.clone()))
            .unzip();
        own.procs = procs;
        own.slice = Some(ProcSlice {
            total: self.proc_count(),
            numbers,
        });
        own
    }

    /// Whether procs of a composite work in trees of others.
    pub fn shares_trees(&self) -> bool {
        let components = self
            .benchmark
            .composite()
            .map_or(&[][..], |c| &c.components[..]);
        let sharing = |c: &crate::composite::Component| c.workload.attributes.sharemode;
        self.fileset.sharing || components.iter().any(sharing)
    }

    /// Everything but clients, procs, and what only the prime looks at.
    fn without_clients(&self) -> Self {
        Self {
            benchmark: self.benchmark.clone(),
            points: self.points.clone(),
            clients: Vec::new(),
            procs_per_client: self.procs_per_client,
            procs: Vec::new(),
            slice: None,
            driver: self.driver.clone(),
            pacing: self.pacing,
            phases: self.phases,
            fileset: self.fileset,
            space: self.space,
            seed: self.seed,
            shards: self.shards,
            monitor: None,
            scripts: None,
            clock_service: self.clock_service.clone(),
            heartbeat: self.heartbeat,
            limits: self.limits,
            stop_if: Vec::new(),
            findings: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// What a composite's procs need of the file system at a load point.
    pub fn data_set(&self, point: LoadPoint) -> DataSet {
        let Some(composite) = self.benchmark.composite() else {
            return DataSet::default();
        };
        let procs = &self.procs[..self.proc_count_at(point) as usize];
        composite.data_set(procs, self.clients.len() as u32, self.fileset.sharing)
    }

    /// Composites: bytes that RUN is to move at this load point where the data set is to
    /// be touched.
    pub fn bytes_to_touch(&self, point: LoadPoint) -> u64 {
        let procs = || &self.procs[..self.proc_count_at(point) as usize];
        self.benchmark
            .composite()
            .map_or(0, |work| work.bytes_to_touch(procs(), self.fileset.sharing))
    }
}

/// One requested load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Its number, from 1.
    pub number: u32,
    /// What the user asked for.
    pub asked: OpsPerSec,
    /// What is requested: rounded down to whole op/s per proc (seed 001, 3.3 LOAD).
    pub requested: OpsPerSec,
    /// Composites: the load in units of the business metric (BUILDs, STREAMs);
    /// 0: there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub units: f64,
    /// Composites: how many of the plan's procs make load; 0: all.
    #[serde(default, skip_serializing_if = "is_zero_count")]
    pub proc_count: u32,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}
fn is_zero_count(n: &u32) -> bool {
    *n == 0
}

/// One proc of a composite benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcPlan {
    /// Which of the plan's clients it runs on, from 0.
    pub client: u32,
    /// The directory it works in.
    pub mount: MountPoint,
    /// Which component it belongs to, from 0.
    pub component: u32,
    /// Its number among the procs of its component, from 0.
    pub instance: u32,
    /// Its rate; `None`: as fast as it goes.
    pub ops_per_sec: Option<OpsPerSec>,
}

/// Which procs of a run a plan has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcSlice {
    /// Procs in the whole run.
    pub total: u32,
    /// The numbers of those that are here, rising.
    pub numbers: Vec<u32>,
}

/// A client host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientPlan {
    /// Its name as the rc file gives it.
    pub name: String,
    /// One mount point per proc; composites: those that its procs work in, each once.
    pub mounts: Vec<MountPoint>,
}

/// A server and a path on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MountPoint {
    /// Host name or address, without brackets.
    pub host: String,
    /// The exported path; SMB: the share with a backslash before it, and perhaps a
    /// directory in it (`\share\dir`).
    pub path: String,
}

impl MountPoint {
    /// Whether it is a share of an SMB server.
    pub fn is_share(&self) -> bool {
        self.path.starts_with('\\')
    }

    /// The place of what lies in its directory, for people: with the host, and absolute.
    pub fn below(&self, name: &str) -> String {
        match self.is_share() {
            true => format!(r"{self}\{name}"),
            false => format!("{}/{name}", self.to_string().trim_end_matches('/')),
        }
    }
}

impl fmt::Display for MountPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_share() {
            let (open, close) = if self.host.contains(':') {
                ("[", "]")
            } else {
                ("", "")
            };
            return write!(f, r"\\{open}{}{close}{}", self.host, self.path);
        }
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.path)
        } else {
            write!(f, "{}:{}", self.host, self.path)
        }
    }
}

/// Which driver makes the load, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum DriverPlan {
    /// Speaks NFS version 2 or 3 itself. (Records up to format 1 call it `nfs3`.)
    #[serde(alias = "nfs3")]
    Nfs(NfsPlan),
    /// Speaks SMB itself.
    Smb(SmbPlan),
    /// Works on mounted file systems by system calls.
    Posix(PosixPlan),
    /// Answers every operation at once: measures the generator.
    Null,
}

impl DriverPlan {
    /// Whether it speaks a network protocol itself, so that any client can reach any
    /// mount point by its name.
    pub const fn is_network(&self) -> bool {
        matches!(self, Self::Nfs(_) | Self::Smb(_))
    }

    /// The address family that it was told to use; `None`: it uses no network itself.
    pub const fn ip(&self) -> Option<IpChoice> {
        match self {
            Self::Nfs(nfs) => Some(nfs.ip),
            Self::Smb(smb) => Some(smb.ip),
            Self::Posix(_) | Self::Null => None,
        }
    }

    /// How procs share connections, where it makes any.
    pub const fn connections(&self) -> Option<Connections> {
        match self {
            Self::Nfs(nfs) => Some(nfs.connections),
            Self::Smb(smb) => Some(smb.connections),
            Self::Posix(_) | Self::Null => None,
        }
    }

    /// BIOD_MAX_READS and BIOD_MAX_WRITES.
    pub const fn biods(&self) -> (u32, u32) {
        match self {
            Self::Nfs(nfs) => (nfs.biod_max_reads, nfs.biod_max_writes),
            Self::Smb(smb) => (smb.biod_max_reads, smb.biod_max_writes),
            Self::Posix(_) | Self::Null => (0, 0),
        }
    }

    /// The password that it logs in with, where it does.
    pub const fn password(&self) -> Option<&Secret> {
        match self {
            Self::Smb(smb) => Some(&smb.password),
            Self::Nfs(_) | Self::Posix(_) | Self::Null => None,
        }
    }

    /// Gives it the password, which plans come without; no use to those that need none.
    pub fn set_password(&mut self, password: Secret) {
        if let Self::Smb(smb) = self {
            smb.password = password;
        }
    }

    /// What carries its calls; `None`: it uses no network itself.
    pub const fn transport(&self) -> Option<Transport> {
        match self {
            Self::Nfs(nfs) => Some(nfs.transport),
            Self::Smb(_) => Some(Transport::Tcp),
            Self::Posix(_) | Self::Null => None,
        }
    }

    /// The port by which its servers are reached; `None`: it uses no network itself.
    pub fn server_port(&self) -> Option<u16> {
        match self {
            Self::Nfs(nfs) => Some(nfs.nfs_port.unwrap_or(2049)),
            Self::Smb(smb) => Some(smb.port),
            Self::Posix(_) | Self::Null => None,
        }
    }
}

/// A version of NFS that the driver speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NfsVersion {
    /// Version 2 (RFC 1094), with version 1 of MOUNT.
    V2,
    /// Version 3 (RFC 1813), with version 3 of MOUNT.
    #[default]
    V3,
}

impl NfsVersion {
    /// Its number, as calls carry it.
    pub const fn number(self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// The largest READ and WRITE over what carries them, in bytes; `None`: as the server
    /// likes. Version 2 has MAXDATA (RFC 1094 section 2.3); over UDP it is what kernel
    /// clients send, where a datagram could have 64 KiB less its headers.
    pub const fn transfer_bytes_max(self, transport: Transport) -> Option<u32> {
        match (self, transport) {
            (Self::V2, _) => Some(8 << 10),
            (Self::V3, Transport::Udp) => Some(32 << 10),
            (Self::V3, Transport::Tcp) => None,
        }
    }

    /// That of the MOUNT program that goes with it.
    pub const fn mount_number(self) -> u32 {
        match self {
            Self::V2 => 1,
            Self::V3 => 3,
        }
    }
}

/// What carries the calls (TCP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A stream with record marks.
    #[default]
    Tcp,
    /// A datagram per call and per reply; lost ones are sent again.
    Udp,
}

impl Transport {
    /// As sfssum has it in column 7 (seed 001, section 4.4).
    pub const fn sfssum_letter(self) -> char {
        match self {
            Self::Tcp => 'T',
            Self::Udp => 'U',
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// Settings of the NFS driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NfsPlan {
    /// The version that it speaks; follows from the benchmark.
    #[serde(default)]
    pub version: NfsVersion,
    /// What carries its calls (TCP).
    #[serde(default)]
    pub transport: Transport,
    /// UDP: the first wait for a reply, in milliseconds, doubled with every
    /// retransmission up to `rpc_timeout_ms` (UDP_TIMEOUT_MS).
    #[serde(default = "NfsPlan::udp_timeout_ms_default")]
    pub udp_timeout_ms: u32,
    /// AUTH_SYS user id (SFS_NFS_USER_ID).
    pub uid: u32,
    /// AUTH_SYS group id (SFS_NFS_GROUP_ID).
    pub gid: u32,
    /// AUTH_SYS supplementary groups, 16 at most (NFS_GROUPS).
    pub gids: Vec<u32>,
    /// AUTH_SYS machine name.
    pub machine_name: String,
    /// Bind to a source port below 1024 (RESVPORT).
    pub resvport: bool,
    /// Largest physical transfer in bytes (BLOCK_SIZE); `None`: what the server prefers.
    pub block_size_max: Option<u32>,
    /// Physical reads outstanding per logical read (BIOD_MAX_READS, 0 to 32; 0 works as 1).
    pub biod_max_reads: u32,
    /// Physical writes outstanding per logical write (BIOD_MAX_WRITES, 0 to 32; 0 works as 1).
    pub biod_max_writes: u32,
    /// When COMMIT is called for what was written; follows from the benchmark.
    /// Not written where it is that of before: earlier records keep their fingerprint.
    #[serde(default, skip_serializing_if = "CommitPolicy::is_at_once")]
    pub commit: CommitPolicy,
    /// Port of the NFS program; `None`: ask the portmapper.
    pub nfs_port: Option<u16>,
    /// Port of the MOUNT program; `None`: ask the portmapper.
    pub mount_port: Option<u16>,
    /// Port of the portmapper.
    pub portmap_port: u16,
    /// Address family to use.
    pub ip: IpChoice,
    /// How procs share connections.
    pub connections: Connections,
    /// How long a reply may take before the call is sent again on a new
    /// connection, in milliseconds (RPC_TIMEOUT_MS).
    pub rpc_timeout_ms: u32,
    /// How often that is tried before the operation fails (RPC_RETRIES).
    pub rpc_retries: u32,
    /// Longest wait for a connection or a mount, in milliseconds.
    pub connect_timeout_ms: u32,
    /// First wait after NFS3ERR_JUKEBOX, in milliseconds; doubled each time.
    pub jukebox_delay_ms: u32,
    /// How often an operation waits for NFS3ERR_JUKEBOX before it fails.
    pub jukebox_retries: u32,
}

impl NfsPlan {
    /// What plans have that were written before there was UDP: the 1.1 s that kernel
    /// clients begin with (nfs(5), `timeo`).
    pub const fn udp_timeout_ms_default() -> u32 {
        1_100
    }
}

/// Settings of the driver of mounted file systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PosixPlan {
    /// Never call fsync (`-F`, DISABLE_FSYNCS).
    pub no_fsync: bool,
    /// Files that a proc may keep open (MAX_FD, shared by all procs of a client);
    /// `None`: 64, or as many as the limits of the system allow, if fewer.
    pub open_files_max: Option<u32>,
    /// Leave files that an earlier run with the same suffix kept, where they have the
    /// right size, instead of making them anew (`-K`, UNLINK_FILES=0).
    pub reuse_kept: bool,
    /// Before each WARMUP take the run's files out of the client's cache (DROP_CACHES).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_caches: bool,
    /// The programs behind custom1 and custom2; empty: there is none.
    #[serde(default)]
    pub custom: [Vec<String>; 2],
}

/// Scripts of netmist that the prime calls (seed 002, section 21).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptsPlan {
    /// Where they are looked for.
    pub dir: String,
    /// How long one may take.
    pub limit: Nanos,
}

/// A time service to hold the clock against (`-H`, `-S`; PIT_SERVER, PIT_PORT).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockServicePlan {
    /// Its host.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

/// Which address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpChoice {
    /// IPv4 only (IPV6_ENABLE=off and no IPv6 literal).
    V4,
    /// IPv6 only.
    V6,
    /// Whatever the name resolves to first.
    Any,
}

/// How procs share connections (CONNECTIONS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// One each: the classical rule.
    PerProc,
    /// This many per client and server, as kernel clients do with `nconnect`.
    Shared(u32),
}

/// How load is paced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    /// Closed or open.
    pub mode: PacingMode,
    /// How the intended starts lie around their mean gap.
    pub arrivals: Arrivals,
    /// Open pacing: most operations waiting or in flight per proc.
    pub backlog_max_per_proc: u32,
}

/// Whether the server's slowness holds back the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacingMode {
    /// One operation in flight per proc: the classical behaviour.
    Closed,
    /// The arrival rate is kept whatever the server does.
    Open,
}

/// How intended starts are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// One per slot of the mean gap, anywhere in it: the rate is exact.
    Uniform,
    /// A Poisson process.
    Poisson,
}

/// Durations of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasePlan {
    /// WARMUP (WARMUP_TIME); the longest one where it lasts until the server is steady
    /// (WARMUP_TIME_MAX).
    pub warmup: Nanos,
    /// WARMUP lasts until rate and mean response time are steady (WARMUP_TIME=auto).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warmup_until_steady: bool,
    /// RUN (RUNTIME).
    pub runtime: Nanos,
    /// RUN goes on until the data set has been read and written once, for so long at most
    /// (netmist's without a rate). None: it takes `runtime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_max: Option<Nanos>,
    /// Longest INIT of one load point (INIT_TIMEOUT).
    pub init_timeout: Nanos,
}

impl PhasePlan {
    /// The longest that RUN may take.
    pub fn longest_run(&self) -> Nanos {
        self.runtime_max.unwrap_or(self.runtime).max(self.runtime)
    }
}

/// What the run may do with the file set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSetPlan {
    /// Leave it on the server at the end (KEEP).
    pub keep: bool,
    /// Let a load point grow the file set of the one before (REUSE); off: made anew.
    pub reuse: bool,
    /// Compare all that is read with what was written, not only a sample (VERIFY).
    pub verify: bool,
    /// Population operations in flight per proc-owning shard in INIT and CLEANUP.
    pub init_window: u32,
    /// Composites: all procs of a workload share one tree (`-X`, SHARING_MODE).
    #[serde(default)]
    pub sharing: bool,
    /// Composites: count how often every file was accessed (`-Y`, FILE_ACCESS_LIST).
    #[serde(default)]
    pub access_list: bool,
    /// Composites: the point does not count unless as many bytes were read and written
    /// as the data set has (netmist's minimum run time).
    #[serde(default)]
    pub touch_all: bool,
}

/// How the server's space and memory are held against the file set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpacePlan {
    /// Refuse a run whose file set does not fit (SPACE_CHECK).
    pub check: bool,
    /// Share of each file system that has to stay free, in percent (SPACE_RESERVE).
    pub reserve_pcnt: f64,
    /// Memory that the server is declared to have, in bytes (SERVER_MEMORY).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory_bytes: Option<u64>,
}

impl Default for SpacePlan {
    fn default() -> Self {
        Self {
            check: true,
            reserve_pcnt: 5.0,
            server_memory_bytes: None,
        }
    }
}

/// PRIME_MON_SCRIPT and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorPlan {
    /// The program.
    pub script: String,
    /// Its own arguments, before those that we add.
    pub args: Vec<String>,
    /// When it runs (PRIME_MON_MODE).
    #[serde(default, skip_serializing_if = "MonitorMode::is_phases")]
    pub mode: MonitorMode,
    /// How long a call of a phase may take (SCRIPT_LIMIT_S); nothing else has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
}

/// When the program of PRIME_MON_SCRIPT runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MonitorMode {
    /// From the beginning to the end of RUN, with its own arguments only.
    Program,
    /// It is called as each phase begins and ends. Records without a word mean this.
    #[default]
    Phases,
}

impl MonitorMode {
    fn is_phases(&self) -> bool {
        *self == Self::Phases
    }
}

/// Limits that judge a load point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest mean service time, in milliseconds (RESPONSE_LIMIT_MS); 0: no limit.
    pub response_ms: f64,
    /// Least achieved share of the requested rate, in percent (ACHIEVED_PCNT_MIN).
    pub achieved_pcnt_min: f64,
    /// Least share of its own rate per proc, in percent (PROC_PCNT_MIN).
    pub proc_pcnt_min: f64,
    /// Largest distance from the mix, in percentage points (MIX_DEVIATION_MAX).
    pub mix_deviation_pcnt_max: f64,
    /// Failed operations from which on a point does not count, in percent (ERROR_PCNT_MAX).
    pub error_pcnt_max: f64,
    /// Composites: most that a component's share may differ from its target, in percent
    /// of the target (COMPONENT_VARIANCE_MAX); 0: no limit.
    #[serde(default)]
    pub component_variance_pcnt_max: f64,
    /// Share of RUN that a process may stand still, in percent (STALL_PCNT_MAX). Not
    /// written where it is the standard one: the plan is the same as before.
    #[serde(
        default = "stall_pcnt_standard",
        skip_serializing_if = "is_stall_pcnt_standard"
    )]
    pub stall_pcnt_max: f64,
}

/// The standard of [`Limits::stall_pcnt_max`].
pub const STALL_PCNT_STANDARD: f64 = 0.5;

fn stall_pcnt_standard() -> f64 {
    STALL_PCNT_STANDARD
}

fn is_stall_pcnt_standard(limit: &f64) -> bool {
    *limit == STALL_PCNT_STANDARD
}
