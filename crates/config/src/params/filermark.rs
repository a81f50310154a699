//! Filermark's own parameters, which the 2008 generation did not have.

use super::decl::{Group, Kind, Parameter, StandardValue, WordList, rule};
use super::value::{DriverWord, choice, parameters};
use filermark_model::Benchmark;
use filermark_model::plan::{
    Arrivals, ClientIds, Connections, DelegationUse, LayoutUse, NfsPlan, NfsSecurity, NfsVersion,
    PacingMode,
};

const fn p(group: Group, kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(group, kind, one_line).own()
}

/// The word of DRIVER for a benchmark.
const fn driver(benchmark: &Benchmark) -> &'static str {
    benchmark.protocol.decl().driver_word
}

/// The version of NFS of a benchmark.
const fn nfs_version(benchmark: &Benchmark) -> &'static str {
    match benchmark.protocol.nfs_version() {
        Some(version) => version.name(),
        None => NfsVersion::V3.name(),
    }
}

pub(crate) const PORT: Kind = Kind::Int(1, 65_535, "port");
const TIMEOUT_MS: Kind = Kind::Int(1, 86_400_000, "ms");

parameters! {
    BENCHMARK: String = p(
        Group::Workload,
        Kind::Text,
        "The benchmark, by name",
    )
    .default("general-nfs3")
    .help("A definition that ships with Filermark; it holds the mix, the sizes, the file set and the rules. general-nfs3 is the classical one, general-nfs40, general-nfs41 and general-nfs42 are its mix translated to NFSv4, general-smb1 and general-smb2 are similar ones over SMB1 and over SMB 2 and 3 (not set: FS_PROTOCOL chooses among these); nfs42-offload has the operations that only NFSv4.2 has; nfs2-1993, nfs2-1997, nfs3-1997 and nfs3-2001 are modelled on the older generations; SWBUILD, VDA, VDI, DATABASE, METADATA and others are composites, which work on mounted file systems.");
    IGNORE_UNKNOWN: bool = p(
        Group::Output,
        Kind::Switch,
        "Leave out names that no parameter has, with a note",
    )
    .default("off")
    .help("For rc files of other programs that are not to be changed. 'filermark import' makes an rc file without such names. A misspelled name is left out, too, so look at the notes of 'filermark plan'.");
    BENCHMARK_FILE: Option<String> = p(
        Group::Workload,
        Kind::Path,
        "Benchmark definitions of your own (TOML); same as -b",
    )
    .example("mine.toml")
    .standard(StandardValue::Unset)
    .help("Relative to the rc file. A classical definition replaces BENCHMARK: start from crates/model/definitions/general-nfs3.toml and give it another name. A file with [[benchmark]] and [[workload]] tables adds composites, of which BENCHMARK chooses one.");
    DRIVER: Option<DriverWord> = p(
        Group::Workload,
        Kind::Words(WordList::Drivers),
        "What makes the operations; null measures the generator",
    )
    .standard(StandardValue::Choice(driver))
    .help("nfs2, nfs3, nfs42 and smb for classical benchmarks, posix for composites: it follows from BENCHMARK. null answers every operation at once and needs no MNT_POINTS.");
    SEED: u64 = p(
        Group::Workload,
        Kind::Int(0, u64::MAX, "seed"),
        "The number that every random choice derives from",
    )
    .default("1")
    .help("The same seed gives the same file set and the same operations. It is in the run record.");
    FILESET_MB_PER_OP: Option<f64> = p(
        Group::Workload,
        Kind::Real(0.001, 1_000_000.0, "MB per op/s"),
        "Size of the file set per op/s of load, in binary megabytes",
    )
    .classic()
    .standard(StandardValue::Benchmark(|b| rule(b, |r| r.mb_per_op)))
    .help("The size depends on the load alone, never on the number of procs or clients.");
    FILESET_MB: u64 = p(
        Group::Workload,
        Kind::Int(1, 1 << 40, "MB"),
        "Size of the file set at LOAD=max, in binary megabytes",
    )
    .classic()
    .default("1024")
    .help("Without a rate the size of the file set cannot follow from the load. FILESET_MB_PER_OP has no effect then.");
    VERIFY: bool = p(
        Group::Workload,
        Kind::Switch,
        "Compare all that is read with what was written, not only a sample",
    )
    .default("off")
    .standard(StandardValue::Fixed("off"))
    .help("A sample of what is read is compared in any case: a sector of each reply, of fewer where that would take 1.5 % of the processor time. All of it costs processor time on the client; a read of wrong data then fails.");
    SPACE_CHECK: bool = p(
        Group::Workload,
        Kind::Switch,
        "Refuse a run whose file set does not fit the file system",
    )
    .default("on")
    .help("Before INIT the file set of the largest load point is compared with the free space that the server states (FSSTAT, SMB, statvfs), less SPACE_RESERVE. off: for file systems that cannot state how much space they have; a shortage is only a warning then.");
    SPACE_RESERVE: f64 = p(
        Group::Workload,
        Kind::Real(0.0, 90.0, "%"),
        "Share of the file system that must stay free",
    )
    .default("5")
    .help("Of the size that the server states; where it states none, of its free space. A filer that others use must not be filled.");
    SERVER_MEMORY: Option<u64> = p(
        Group::Workload,
        Kind::Size(1 << 20, 1 << 50),
        "Memory of the server, to compare the working set with",
    )
    .example("64g")
    .help("Declared, not measured. A note says where the working set of a load point fits into it, so that the server may answer from its memory.");
    KEEP: bool = p(
        Group::Workload,
        Kind::Switch,
        "Leave the file set on the server at the end",
    )
    .default("off");
    REUSE: bool = p(
        Group::Workload,
        Kind::Switch,
        "Let a load point grow the file set of the one before",
    )
    .default("on")
    .help("on: it never shrinks; where the loads fall, the larger file set stays, but only the files of the current load are used. off: every load point makes its own file set and removes it.");
    PACING: PacingMode = p(
        Group::Time,
        choice::<PacingMode>(),
        "closed: one operation at a time per proc; open: the rate is kept",
    )
    .default("closed")
    .standard(StandardValue::Fixed("closed"))
    .help(
        "closed is the classical behaviour: a slow server slows the load down. open starts \
         operations at their intended times whatever the server does, up to BACKLOG_MAX.",
    );
    ARRIVALS: Arrivals = p(
        Group::Time,
        choice::<Arrivals>(),
        "How intended starts are distributed around their mean gap",
    )
    .default("uniform")
    .standard(StandardValue::Fixed("uniform"))
    .help("uniform: one in every slot of the mean gap. poisson: independent of each other.");
    BACKLOG_MAX: u32 = p(
        Group::Time,
        Kind::Int(1, 1_000_000, "operations"),
        "Open pacing: most operations waiting or in flight per proc",
    )
    .default("256");
    SHARDS: Option<u32> = p(
        Group::Transport,
        Kind::Int(1, 1024, "threads"),
        "Threads that make the load; not set: one per core, two at least",
    )
    .example("4");
    INIT_WINDOW: u32 = p(
        Group::Transport,
        Kind::Int(1, 4096, "operations"),
        "Operations in flight per thread while the file set is made or removed",
    )
    .classic()
    .default("64")
    .help("Over UDP 4, if nothing is given: datagrams that do not fit into a server's socket buffer are lost.");
    CONNECTIONS: Connections = p(
        Group::Transport,
        Kind::WordOrInt("proc", 1, 65_535),
        "Connections: one per proc, or this many per client and server",
    )
    .classic()
    .default("proc")
    .standard(StandardValue::Fixed("proc"))
    .help("A number shares connections as kernel clients do. Over NFSv4.1 and 4.2 CLIENT_IDS and NCONNECT say which of them are one client. Over SMB every proc keeps a session of its own.");
    CLIENT_IDS: ClientIds = p(
        Group::Transport,
        choice::<ClientIds>(),
        "NFSv4.1 and 4.2: which connections have one client ID and one session",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("connection")
    .help("connection: each connection of CONNECTIONS is a client of the server; with NCONNECT it has several. shared: all connections of a thread (SHARDS) to one server are one client, as those of a host with one mount are. Calls are spread over the connections of a client in turn.");
    NCONNECT: u32 = p(
        Group::Transport,
        Kind::Int(1, 16, "connections"),
        "NFSv4.1 and 4.2: connections of each client and its session",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("1")
    .help("As the mount option of Linux: each connection of CONNECTIONS becomes this many connections of one client, which are bound to its session (BIND_CONN_TO_SESSION). CONNECTIONS=8 with NCONNECT=4 are 8 clients with 32 connections per client host and server. With CLIENT_IDS=shared CONNECTIONS sets how many there are.");
    RPC_TIMEOUT_MS: u32 = p(
        Group::Transport,
        TIMEOUT_MS,
        "How long a reply may take before its connection is closed",
    )
    .classic()
    .default("60000")
    .help("NFS over TCP: the call is sent again on a new connection, as RFC 1813 servers expect. Over UDP: the longest wait between two retransmissions. SMB: the operation fails, and the proc opens a new session.");
    UDP_TIMEOUT_MS: u32 = p(
        Group::Transport,
        TIMEOUT_MS,
        "NFS over UDP: first wait for a reply before the call is sent again",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("1100")
    .help("Doubled with every retransmission, up to RPC_TIMEOUT_MS; after RPC_RETRIES of them the operation fails. 1100 is what kernel clients begin with (timeo=11). A retransmission has the same xid, so that the server recognizes it.");
    DELEGATIONS: DelegationUse = p(
        Group::Transport,
        choice::<DelegationUse>(),
        "NFSv4.1 and 4.2: whether delegations are kept that the server grants",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("refuse")
    .help("refuse: every OPEN says that no delegation is wanted. keep: the server decides. READs open a file for reading only then, so that the server may grant a delegation; READ and WRITE use its stateid; it is returned when the file is closed or the server recalls it. Every operation goes to the server all the same.");
    LAYOUTS: LayoutUse = p(
        Group::Transport,
        choice::<LayoutUse>(),
        "NFSv4.1 and 4.2: whether layouts of pNFS (flexible files) are used",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("refuse")
    .help("refuse: the client says that it does not use pNFS. use: a layout is asked for once per open file, for reading and for writing; READ, WRITE and COMMIT of the file go to the data server that it names (RFC 8435), as NFSv3 with the user and group of the layout. Without a layout that can be used they go to the metadata server, and are counted. Not with TLS or Kerberos.");
    RPC_RETRIES: u32 = p(
        Group::Transport,
        Kind::Int(0, 1000, "times"),
        "How often a call is sent again before its operation fails",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("5");
    CONNECT_TIMEOUT_MS: u32 = p(
        Group::Transport,
        TIMEOUT_MS,
        "Longest wait for a connection, a mount or an SMB session",
    )
    .classic()
    .default("10000")
    .help("TCP, TLS and the session together. A call of the session's set-up without a reply is sent again on another connection after RPC_TIMEOUT_MS, if that is shorter.");
    JUKEBOX_DELAY_MS: u32 = p(
        Group::Transport,
        TIMEOUT_MS,
        "First wait after NFS3ERR_JUKEBOX; doubled each time",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("100");
    JUKEBOX_RETRIES: u32 = p(
        Group::Transport,
        Kind::Int(0, 30, "times"),
        "How often an operation waits for NFS3ERR_JUKEBOX before it fails",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("8");
    NFS_VERSION: Option<NfsVersion> = p(
        Group::Server,
        choice::<NfsVersion>(),
        "Version of NFS; it chooses the benchmark where BENCHMARK is not set",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("4.1")
    .standard(StandardValue::Choice(nfs_version))
    .help("2: nfs2-1997, 3: general-nfs3. With BENCHMARK it may be left out: every benchmark has its version. 4.0, 4.1 and 4.2 measure with the operations of a benchmark for version 3, each as a COMPOUND; 4 means 4.1; general-nfs40, general-nfs41, general-nfs42 and nfs42-offload have operations of version 4, too. They need TCP, NFS_PORT (not set: 2049) and nothing else: no portmapper, no MOUNT. Paths in MNT_POINTS are looked up from the root of the server's version 4 name space, where they may differ from those of version 3.");
    SECURITY: NfsSecurity = p(
        Group::Server,
        choice::<NfsSecurity>(),
        "How NFS calls carry the user, and whether they are signed or encrypted",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("sys")
    .standard(StandardValue::Fixed("sys"))
    .help("The words are those of sec= in the options of exports and mounts. sys: user and groups as numbers (SFS_NFS_USER_ID, SFS_NFS_GROUP_ID), taken on trust. krb5, krb5i and krb5p: Kerberos (RPCSEC_GSS), for versions 3, 4.0, 4.1 and 4.2 over TCP. krb5 proves the user and signs the headers of calls, krb5i signs the data too, krb5p encrypts it. Tickets are those of USERNAME and DOMAIN, or those of the owner of the cache (kinit); every client host needs them, or a key table (KRB5_CLIENT_KTNAME). MNT_POINTS has the server's name as in its principal nfs/NAME.");
    NFS_PORT: Option<u16> = p(
        Group::Server,
        PORT,
        "Port of the NFS program; not set: ask the portmapper (NFSv4: 2049)",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("2049");
    MOUNT_PORT: Option<u16> = p(
        Group::Server,
        PORT,
        "Port of the MOUNT program; not set: ask the portmapper",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("20048");
    PORTMAP_PORT: u16 = p(
        Group::Server,
        PORT,
        "Port of the portmapper (rpcbind)",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("111");
    RESVPORT: bool = p(
        Group::Server,
        Kind::Switch,
        "Call from a source port below 1024, as exports without 'insecure' require",
    )
    .of_driver(NfsPlan::DRIVER)
    .default("off")
    .help("Needs root or CAP_NET_BIND_SERVICE. Ports from 512 to 1023 are taken, so 500 connections at most: use CONNECTIONS with more procs.");
    NFS_GROUPS: Vec<String> = p(
        Group::Server,
        Kind::List,
        "AUTH_SYS supplementary groups, 16 at most",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("100 1000");
    MACHINE_NAME: Option<String> = p(
        Group::Server,
        Kind::Text,
        "AUTH_SYS machine name; not set: this host's name",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("client1");
    RESPONSE_LIMIT_MS: Option<f64> = p(
        Group::Limits,
        Kind::Real(0.0, 3_600_000.0, "ms"),
        "Largest mean service time of a load point; 0: no limit",
    )
    .standard(StandardValue::Benchmark(|b| b.standard.response_limit_ms));
    ACHIEVED_PCNT_MIN: Option<f64> = p(
        Group::Limits,
        Kind::Real(0.0, 100.0, "percent"),
        "Least share of the requested load that is to be achieved",
    )
    .help("Below it a load point of a composite does not count. In the classical benchmarks it counts with what it achieved, and a warning; a value above the standard one holds there, too. See the rule achieved-rate.")
    .standard(StandardValue::Benchmark(|b| b.standard.achieved_pcnt_min));
    PROC_PCNT_MIN: Option<f64> = p(
        Group::Limits,
        Kind::Real(0.0, 100.0, "percent"),
        "Least share of its own rate that every proc must achieve",
    )
    .standard(StandardValue::Benchmark(|b| b.standard.proc_pcnt_min));
    MIX_DEVIATION_MAX: Option<f64> = p(
        Group::Limits,
        Kind::Real(0.0, 100.0, "percentage points"),
        "Largest distance of an operation's share from the mix",
    )
    .standard(StandardValue::Benchmark(|b| b.standard.mix_deviation_pcnt_max));
    WARMUP_TIME_MAX: u64 = p(
        Group::Time,
        Kind::Int(1, 604_800, "seconds"),
        "Longest WARMUP with WARMUP_TIME=auto",
    )
    .default("300");
    STOP_IF: String = p(
        Group::Limits,
        Kind::Text,
        "Conditions that end the run to protect the server; off: none",
    )
    .default("off")
    .example("p99>2s for 10s, errors>5%")
    .help("Commas between conditions, each FIGURE>LIMIT for SECONDSs (not given: 10s). Figures, of every second of WARMUP and RUN and of all clients together: p99 (or p50, p99.9 ...) and mean of the service times, with a limit in s, ms or us; errors, the share of failed operations, with a limit in %. free<5% (or another share) is about the free space of each server file system, where the server states it, every 5 s of INIT, WARMUP and RUN; where it does not, a warning says at the start that the condition cannot hold. A condition has to hold in so many seconds in a row; those of free space count on from INIT into WARMUP and RUN of a load point, and start again with the next one. Percentiles are taken by classes that double, at their lower bound: p99>2s holds from 2.1 s on. Seconds in which nothing is answered count with the time since the last reply. When a condition holds, the load stops, CLEANUP is done, the load point does not count (rule emergency-stop), and the exit code is 1.");
    ERROR_PCNT_MAX: Option<f64> = p(
        Group::Limits,
        Kind::Real(0.0, 100.0, "percent"),
        "Share of failed operations from which on a load point does not count",
    )
    .standard(StandardValue::Benchmark(|b| b.standard.error_pcnt_invalid));
    STALL_PCNT_MAX: f64 = p(
        Group::Limits,
        Kind::Real(0.0, 100.0, "percent of RUN"),
        "Share of RUN that the prime or an agent may be stalled; 100: no limit",
    )
    .default("0.5")
    .standard(StandardValue::Fixed("0.5"))
    .help("A process is stalled when it is stopped, its host is suspended, or it gets no processor for more than 50 ms. What it measured meanwhile is its own delay, not the server's.");
}
