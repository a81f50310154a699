//! The parameters of the 2014 and 2020 generations' rc files (sources.md 3.1 and
//! 3.2; slides E), and Filermark's own ones for composite benchmarks.

use super::decl::{Group, Kind, Origin, Parameter, StandardValue};
use super::value::parameters;

const fn p2014(group: Group, kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(group, kind, one_line).composite(Origin::Rc2014)
}

/// One of 2014 that Filermark accepts and ignores.
const fn idle2014(one_line: &'static str) -> Parameter {
    p2014(Group::Legacy, Kind::Text, one_line).standard(StandardValue::NoEffect)
}

/// One of 2020 that Filermark accepts and ignores.
const fn idle2020(one_line: &'static str) -> Parameter {
    Parameter::new(Group::Legacy, Kind::Text, one_line)
        .composite(Origin::Rc2020)
        .standard(StandardValue::NoEffect)
}

/// One of 2020 that Filermark accepts and ignores, whose values are lists.
const fn list2020(one_line: &'static str) -> Parameter {
    let mut parameter = idle2020(one_line);
    parameter.kind = Kind::List;
    parameter
}

/// One of 2020 for Windows clients, which other parameters name today.
const fn windows(kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(Group::Legacy, kind, one_line)
        .composite(Origin::Rc2020)
        .standard(StandardValue::Refused)
}

const fn own(group: Group, kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(group, kind, one_line).composite(Origin::Filermark("0.1"))
}

/// The largest file, and the most memory or data that is accepted: 1 PiB.
pub(crate) const SIZE_MAX: u64 = 1 << 50;
const SIZE: Kind = Kind::Size(1, SIZE_MAX);

parameters! {
    CLIENT_MOUNTPOINTS: Vec<String> = p2014(
        Group::Load,
        Kind::List,
        "Where to work: client:/path for every mount (nv[01-16]:/mnt), or a file",
    )
    .example("localhost:/mnt/test")
    .help(
        "A list with blanks or commas between its words, or the name of a file (relative to the \
         rc file) with lines 'client path [path ...]'; # begins a comment. nv[01-16]:/mnt stands \
         for sixteen of them, one after the other; 10000 clients at most. The file systems are \
         mounted before the run. The procs of a component are assigned to the list in turn; a path that is \
         listed twice gets twice as many. IPv6 addresses of clients stand in brackets: \
         [::1]:/mnt. A Windows client works on a drive or a share: w1:C:\\bench, \
         w1:\\\\server\\share\\bench. LAUNCHER says how clients other than this host are reached.",
    );
    FILE_SIZE: Option<u64> = Parameter::new(
        Group::Workload,
        SIZE,
        "Size of the files that are read and written; not set: the benchmark's",
    )
    .of_2014()
    .example("16k")
    .standard(StandardValue::Unset)
    .help(
        "Over NFS and SMB all I/O files have this size, in place of the benchmark's table. On \
         mounted file systems it is that of all components: the mean, where the sizes are spread. \
         Changes the data set, so the run is not standard.",
    );
    FILES_PER_DIR: Option<u32> = p2014(
        Group::Workload,
        Kind::Int(1, 1_000_000, "files"),
        "Files in each bucket of each directory; not set: those of the benchmark",
    )
    .example("100")
    .standard(StandardValue::Unset)
    .help(
        "DIR_COUNT=10 and FILES_PER_DIR=100 are both in every rc file of 2014, where the \
         benchmark's own figures are used instead; here too, with a note. Any other value \
         counts, and the run is not standard.",
    );
    OPRATE_MULTIPLIER: f64 = p2014(
        Group::Load,
        Kind::Real(0.000_001, 1_000_000.0, "times"),
        "Every proc's rate is that of the benchmark times this",
    )
    .default("1")
    .standard(StandardValue::Fixed("1"));
    WORKLOAD_FILE: Option<String> = p2014(
        Group::Workload,
        Kind::Path,
        "A file with workload objects in the text form, in place of the shipped",
    )
    .example("my_workloads")
    .standard(StandardValue::Unset)
    .help(
        "Looked for in WORK_DIR, then next to the rc file. 'filermark workload export' (netmist -E) \
         prints one to start from.",
    );
    WORKLOAD: Option<String> = own(
        Group::Workload,
        Kind::Text,
        "A workload on one line, in place of BENCHMARK; same as -w",
    )
    .example("read_random=70,write_random=30,size=4k,direct")
    .standard(StandardValue::Unset)
    .help("For mounted file systems (CLIENT_MOUNTPOINTS); one unit of LOAD is one job. Operations with their shares in percent, which total 100; one without a share has the rest. Settings: size, read_size, write_size (4k, or a range: 4k-64k), direct, osync, fsync (percent; without a value 100), procs (of a job), rate (op/s of each proc; not set: as fast as it is answered), dirs, files (of a directory), file_size.");
    CLIENT_MEM: u64 = p2014(
        Group::Workload,
        SIZE,
        "Memory of a client, for benchmarks that scale their files by it",
    )
    .default("1g")
    .help(
        "The file size is chosen so that the files of a directory tree are as much as the \
         memory that the client has per proc: CLIENT_MEM over the procs of a client, over \
         DIR_COUNT x FILES_PER_DIR, rounded up to 8 KiB. Benchmarks with a fixed file size \
         (SWBUILD, VDA, VDI, DATABASE ...) take no notice, and so does a run with FILE_SIZE.",
    );
    AGGR_CAP: u64 = p2014(
        Group::Workload,
        SIZE,
        "Least data of all procs, for benchmarks that scale their files by it",
    )
    .default("1g")
    .help("As CLIENT_MEM, with all procs of the run: the larger of the two file sizes counts.");
    UNLINK_FILES: bool = p2014(
        Group::Workload,
        Kind::Switch,
        "Remove the files after every load point, instead of keeping them",
    )
    .default("off")
    .help("Off, a load point keeps the files of the one before and adds what it needs. KEEP leaves them there at the end.");
    SHARING_MODE: bool = p2014(
        Group::Workload,
        Kind::Switch,
        "All procs of a workload share one directory tree",
    )
    .default("off")
    .standard(StandardValue::Fixed("off"));
    DISABLE_FSYNCS: bool = p2014(
        Group::Workload,
        Kind::Switch,
        "Never call fsync",
    )
    .default("off")
    .standard(StandardValue::Fixed("off"));
    MAX_FD: Option<u32> = p2014(
        Group::Transport,
        Kind::Int(16, 10_000_000, "files"),
        "Files that the procs of a client may keep open; not set: 64 each",
    )
    .example("10000");
    HEARTBEAT_NOTIFICATIONS: bool = p2014(
        Group::Output,
        Kind::Switch,
        "Report the rate of a proc every HEARTBEAT_S seconds",
    )
    .default("on");
    FILE_ACCESS_LIST: bool = p2014(
        Group::Output,
        Kind::Switch,
        "Count how often every file was accessed, for the client logs",
    )
    .default("off");
    NETMIST_LOGS: Option<String> = p2014(
        Group::Output,
        Kind::Path,
        "Directory of the clients' logs; not set: that of the results",
    )
    .example("/tmp/netmist_logs");
    PIT_SERVER: Option<String> = p2014(
        Group::Time,
        Kind::Text,
        "Host of a time service to compare the clock with",
    )
    .example("timehost");
    PIT_PORT: String = p2014(
        Group::Time,
        Kind::Text,
        "Its TCP port, or its name in /etc/services",
    )
    .default("2010")
    .help("Used with PIT_SERVER. 'filermark clock' answers on such a port.");
    LATENCY_GRAPH: Option<String> = idle2014("No effect: every record has the latency histograms");
    USE_RSHRCP: Option<String> = idle2014("No effect: clients are reached by ssh");
    BYTE_OFFSET: Option<String> = idle2014("No effect: offsets follow from the workload");
    LOCAL_ONLY: Option<String> = idle2014("No effect: local and remote mounts are measured in the same way");
    SOCK_DEBUG: Option<String> = idle2014("No effect; see DEBUG");
    TRACEDEBUG: Option<String> = idle2014("No effect; see DEBUG");
    INIT_RATE: Option<String> = idle2014("No effect: INIT fills as fast as the server takes it");
    UNIX_CLIENT_LIST: Vec<String> = list2020("No effect: CLIENT_MOUNTPOINTS names the clients");
    UNIX_CLIENT_MOUNTPOINTS: Vec<String> = list2020("No effect: set CLIENT_MOUNTPOINTS");
    WINDOWS_CLIENT_LIST: Option<String> = windows(
        Kind::Text,
        "Refused: name the clients in CLIENT_MOUNTPOINTS",
    );
    WINDOWS_CLIENT_MOUNTPOINTS: Option<String> = windows(
        Kind::Text,
        "Refused: write client:C:\\dir or client:\\\\server\\share in CLIENT_MOUNTPOINTS",
    );
    WINDOWS_EXEC_PATH: Option<String> = windows(
        Kind::Text,
        "Refused: set EXEC_PATH, or AGENTS_DIR for clients of several systems",
    );
    WINDOWS_USER: Option<String> = windows(
        Kind::Text,
        "Refused: set USER, the account for SSH",
    );
    WINDOWS_PASSWORD: Option<String> = windows(
        Kind::Secret,
        "Refused: clients are started by SSH with a key",
    );
    NETMIST_WINDOWS_LOGS: Option<String> = idle2020("No effect: LOG_DIR and the run record have the logs of all clients");
    NETMIST_LICENSE_KEY: Option<String> = idle2020("No effect: nothing here needs a key");
    NETMIST_LICENSE_KEY_PATH: Option<String> = idle2020("No effect: nothing here needs a key");
    PDSM_MODE: Option<String> = idle2020("No effect: the run record has what a PDSM log has");
    PDSM_INTERVAL: Option<String> = idle2020("No effect: the run record has what a PDSM log has");
    UNIX_PDSM_LOG: Option<String> = idle2020("No effect: the run record has what a PDSM log has");
    UNIX_PDSM_CONTROL: Option<String> = idle2020("No effect: a workload does not change while it runs");
    WINDOWS_PDSM_LOG: Option<String> = idle2020("No effect: the run record has what a PDSM log has");
    WINDOWS_PDSM_CONTROL: Option<String> = idle2020("No effect: a workload does not change while it runs");
    DROP_CACHES: bool = own(
        Group::Workload,
        Kind::Switch,
        "Take the run's files out of the client's cache before each WARMUP",
    )
    .default("on")
    .standard(StandardValue::Fixed("on"))
    .help("Every file is opened and posix_fadvise(POSIX_FADV_DONTNEED) called, after INIT. Names and attributes stay cached. What WARMUP and RUN bring into the cache stays, too: the report says how much of what was read came from there (client-cache).");
    CUSTOM1_CMD: Vec<String> = own(
        Group::Workload,
        Kind::List,
        "The program behind the operation custom1, with its arguments",
    );
    CUSTOM2_CMD: Vec<String> = own(
        Group::Workload,
        Kind::List,
        "The program behind the operation custom2, with its arguments",
    );
    HEARTBEAT_S: f64 = own(
        Group::Output,
        Kind::Real(0.1, 86_400.0, "seconds"),
        "Time between heartbeats",
    )
    .default("60");
    SCRIPTS: bool = own(
        Group::Output,
        Kind::Switch,
        "Call netmist_mon.sh, netmist_power.sh and netmist_stat.sh if they are here",
    )
    .default("on")
    .help(
        "They are looked for in the current directory. What they print is kept in the record; \
         one that fails or takes longer than SCRIPT_LIMIT_S becomes a finding.",
    );
    SCRIPT_LIMIT_S: f64 = Parameter::new(
        Group::Output,
        Kind::Real(0.1, 86_400.0, "seconds"),
        "The longest that a call of a script may take",
    )
    .own()
    .default("60")
    .help("netmist's scripts, and PRIME_MON_SCRIPT with PRIME_MON_MODE=phases.");
    COMPONENT_VARIANCE_MAX: Option<f64> = own(
        Group::Limits,
        Kind::Real(0.0, 100.0, "percent"),
        "Most that a component's share may be off its target, in percent of it",
    )
    .standard(StandardValue::Benchmark(|b| {
        b.standard.component_variance_pcnt_max
    }))
    .help("0: no limit.");
}
