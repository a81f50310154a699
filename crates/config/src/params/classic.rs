//! The parameters of the 2008 generation's rc file, in its order
//! (sources.md 2.2; meanings: manual M, sections 1.3, 3.3 and 3.3.1).

use super::decl::{Group, Kind, Parameter, StandardValue, WordList, rule};
use super::mixfile_help::MIXFILE_HELP;
use super::value::{DriverWord, WarmUp, choice, parameters};
use filermark_model::benchmark::FileSetRule;
use filermark_model::plan::{IpChoice, MonitorMode, NfsPlan, SmbPlan};

const fn p(group: Group, kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(group, kind, one_line)
}

/// One of the rc files before 2008 that Filermark accepts and ignores.
const fn older(one_line: &'static str) -> Parameter {
    p(Group::Legacy, Kind::Text, one_line)
        .older()
        .standard(StandardValue::NoEffect)
}

/// The largest load that is accepted, in op/s.
pub(crate) const LOAD_MAX: u64 = 1_000_000_000;
/// The most load points of a sweep.
pub(crate) const RUNS_MAX: u64 = 1_000;
/// The most procs of a run, and so of a client.
pub(crate) const PROCS_MAX: u64 = 100_000;

parameters! {
    LOAD: Vec<String> = p(
        Group::Load,
        Kind::List,
        "Requested load: the first point, or all of them",
    )
    .example("100")
    .help(
        "One number: the load of the first (or only) load point; INCR_LOAD and NUM_RUNS make \
         the others. Several numbers, with blanks or commas between them: the load points \
         themselves. 100-1000 is ten evenly spaced load points, 100-1000/5 is five. A load is \
         the sum over all procs of all clients; it is rounded down so that every proc gets a \
         whole number of operations per second. LOAD=200 INCR_LOAD=200 NUM_RUNS=3 on 32 procs \
         gives 192, 384 and 576. LOAD=search finds the highest load that holds, and measures ten \
         load points up to it, of composite benchmarks in units. LOAD=max requests no rate: every proc of a classical benchmark \
         makes its next operation as soon as the one before has ended, and FILESET_MB sets the \
         size of the file set. Of composite benchmarks it is the number of units of the \
         business metric (BUILDs, STREAMs ...), and nothing is rounded.",
    );
    GOAL: Option<String> = p(
        Group::Load,
        Kind::Text,
        "LOAD=search: latencies that the load has to keep, beside the rules",
    )
    .own()
    .example("p99<5ms")
    .help("Limits of the service time, with commas between them: mean, max or a percentile (p50, p99, p99.9), then < or <=, then a number with us, ms or s.");
    SEARCH_FIRST: Option<u64> = p(
        Group::Load,
        Kind::Int(1, LOAD_MAX, "op/s or units"),
        "LOAD=search: the first probe; not set: 10 op/s per proc, or 1 unit",
    )
    .own()
    .example("1000")
    .help("Choose a load that holds: the file set grows with the loads that are tried.");
    SEARCH_MAX: Option<u64> = p(
        Group::Load,
        Kind::Int(1, LOAD_MAX, "op/s or units"),
        "LOAD=search: the highest load that is tried",
    )
    .own()
    .example("20000")
    .help(
        "Not set: no limit; of composite benchmarks so many units that each client has 250 procs. \
         The clients need memory, threads and open files for the procs of this load.",
    );
    SEARCH_RUNTIME: f64 = p(
        Group::Load,
        Kind::Real(0.1, 604_800.0, "seconds"),
        "LOAD=search: length of RUN of a probe, at most RUNTIME",
    )
    .own()
    .default("10")
    .help("WARMUP of a probe is WARMUP_TIME, but at most 5 s. The load that is found is confirmed with WARMUP_TIME and RUNTIME.");
    SEARCH_SWEEP: bool = p(
        Group::Load,
        Kind::Switch,
        "LOAD=search: ten load points up to the load that was found follow",
    )
    .own()
    .default("on")
    .help("off: the confirmed load is the only load point of the run.");
    INCR_LOAD: Option<u64> = p(
        Group::Load,
        Kind::Int(1, LOAD_MAX, "op/s or units"),
        "How much the load grows from point to point",
    )
    .example("100")
    .help("Used when LOAD is a single number. Equal to LOAD, the points are evenly spaced.");
    NUM_RUNS: u64 = p(
        Group::Load,
        Kind::Int(1, RUNS_MAX, "load points"),
        "How many load points there are",
    )
    .default("10")
    .help("Used when INCR_LOAD is given. A standard run has 10 or more.");
    PROCS: Option<u32> = p(
        Group::Load,
        Kind::Int(1, PROCS_MAX, "procs"),
        "Load-generating procs on each client",
    )
    .classic()
    .alias(&["NUM_PROCS"])
    .example("8")
    .help(
        "A proc is one simulated process: its own identity, its own part of the file set, one \
         operation at a time. Choose so many that the highest load is below 250 op/s per proc \
         and the lowest above 10. A proc costs about 64 KiB of memory, not a thread.",
    );
    CLIENTS: Vec<String> = p(
        Group::Load,
        Kind::List,
        "The hosts that make the load, also as ranges: nv[01-16] c[1-3,7]",
    )
    .classic()
    .default("localhost")
    .help(
        "Names or addresses with blanks or commas between them, each once; IPv6 addresses may \
         stand in brackets. nv[01-16] stands for nv01, nv02 ... nv16. 10000 hosts at most, and \
         100000 procs on all of them. The host that Filermark is started on makes load only if \
         it is listed. LAUNCHER says how the others are reached.",
    );
    MNT_POINTS: Vec<String> = p(
        Group::Load,
        Kind::List,
        "What to measure: host:/path or \\\\host\\share for every proc, or a file",
    )
    .classic()
    .example("server:/export")
    .help(
        "host:/path for NFS, \\\\host\\share for SMB. Three forms. A list of PROCS mount points: proc N of every client uses number N. A \
         list of PROCS times the number of CLIENTS: the first client takes the first PROCS of \
         them, and so on. A file name (relative to the rc file): every line has a client's name \
         (or several, as a range) and its PROCS mount points. A single mount point is used by all procs. Nothing needs \
         to be mounted. IPv6 addresses stand in brackets: [::1]:/export. nfs://host:port/path \
         works too; its port counts as NFS_PORT. SMB (FS_PROTOCOL=cifs or smb): \\\\host\\share or \
         \\\\host\\share\\directory, also with slashes (//host/share) or as \
         smb://host:port/share/directory, where a blank is %20 and the port counts as SMB_PORT. \
         Backslashes stand as they are, in double quotes too; only before a closing quote there \
         can be none.",
    );
    BIOD_MAX_WRITES: u32 = p(
        Group::Transport,
        Kind::Int(0, 32, "calls"),
        "Physical writes that one logical write keeps outstanding",
    )
    .classic()
    .default("2")
    .help("0 works as 1: each waits for the one before. NFS and SMB.");
    BIOD_MAX_READS: u32 = p(
        Group::Transport,
        Kind::Int(0, 32, "calls"),
        "Physical reads that one logical read keeps outstanding",
    )
    .classic()
    .default("2")
    .help("0 works as 1: each waits for the one before. NFS and SMB.");
    IPV6_ENABLE: IpChoice = p(
        Group::Server,
        choice::<IpChoice>(),
        "Address family of server names: off IPv4, on IPv6, any the first one found",
    )
    .default("any")
    .help(
        "An address written out in MNT_POINTS is used as it is. Composites, whose servers are \
         reached through their mounts: on reaches the client hosts over IPv6.",
    );
    FS_PROTOCOL: DriverWord = p(
        Group::Server,
        Kind::Words(WordList::Protocols),
        "The protocol: NFS (see NFS_VERSION), SMB1 (cifs), or SMB 2 and 3 (smb)",
    )
    .classic()
    .default("nfs")
    .help(
        "It chooses the benchmark where BENCHMARK is not set: general-nfs3, general-smb1 or \
         general-smb2. With BENCHMARK it may be left out: the benchmark has its protocol.",
    );
    USERNAME: Option<String> = p(
        Group::Server,
        Kind::Text,
        "The user who logs in: over SMB, and over NFS with Kerberos",
    )
    .classic()
    .example("bench")
    .help(
        "Without the domain, which is DOMAIN. See SMB_AUTH for when it is not needed. With \
         SECURITY=krb5, krb5i or krb5p it chooses among the tickets; not set: those of the owner of the \
         cache. With SECURITY=sys it has no effect.",
    );
    PASSWORD: Option<String> = p(
        Group::Server,
        Kind::Secret,
        "The password of USERNAME; better: PASSWORD_FILE",
    )
    .of_driver(SmbPlan::DRIVER)
    .help(
        "In the rc file only: a command line can be seen by all users of the host, so \
         -o PASSWORD=... is refused. The first of these that is given counts: PASSWORD_FILE, \
         PASSWORD, the environment variable FILERMARK_PASSWORD. Single quotes keep every \
         character as it is. No message, plan, record or log shows it, and agents get it \
         encrypted.",
    );
    DOMAIN: Option<String> = p(
        Group::Server,
        Kind::Text,
        "The domain of USERNAME; with Kerberos the realm",
    )
    .classic()
    .example("WORKGROUP")
    .help("Not set: the server's own accounts, or the system's default realm.");
    SFS_DIR: Option<String> = p(
        Group::Legacy,
        Kind::Path,
        "Directory of the benchmark's programs; Filermark is one program",
    )
    .classic()
    .standard(StandardValue::NoEffect);
    SUFFIX: String = p(
        Group::Output,
        Kind::Text,
        "Suffix of the names of the result files (sfssum.SUFFIX ...); same as -s",
    )
    .default("sfs")
    .help("Letters, digits, '.', '_' and '-', 64 at most.");
    WORK_DIR: String = p(
        Group::Output,
        Kind::Path,
        "Directory of the result files; same as -d",
    )
    .default("result")
    .help("Relative to the current directory. Mix files are looked for here first.");
    PRIME_MON_SCRIPT: Option<String> = p(
        Group::Output,
        Kind::Path,
        "A program that runs on the prime while RUN does",
    )
    .example("./sfs_ext_mon")
    .help(
        "It is started with PRIME_MON_ARGS when RUN of a load point begins and is ended \
         (SIGTERM) when RUN ends; PRIME_MON_MODE=phases calls it at the begin and end of every \
         phase instead. A name with a '/' that is not absolute is looked for next to the rc \
         file. examples/sfs_ext_mon is one to start from.",
    );
    PRIME_MON_ARGS: Vec<String> = p(
        Group::Output,
        Kind::List,
        "Arguments for PRIME_MON_SCRIPT",
    );
    PRIME_MON_MODE: MonitorMode = p(
        Group::Output,
        choice::<MonitorMode>(),
        "Whether PRIME_MON_SCRIPT runs while RUN does, or is called in every phase",
    )
    .own()
    .default("program")
    .help(
        "program: any program; nothing is added to its arguments. phases: a script, called as \
         SCRIPT [PRIME_MON_ARGS] --phase INIT|WARMUP|RUN|CLEANUP --event begin|end --load N \
         --run K --suffix S, one call after the other; each may take SCRIPT_LIMIT_S.",
    );
    INIT_TIMEOUT: f64 = p(
        Group::Time,
        Kind::Real(1.0, 604_800.0, "seconds"),
        "Longest that filling the file set may take at one load point",
    )
    .default("8000");
    BLOCK_SIZE: Option<u32> = p(
        Group::Transport,
        Kind::Int(1, 4096, "KB"),
        "Largest physical transfer; not set: what the server prefers",
    )
    .classic()
    .example("32")
    .standard(StandardValue::FigureOrFree(|b| b.standard.block_size_kib.map(f64::from)))
    .help("In binary kilobytes. It caps what is negotiated with the server (NFS: FSINFO, SMB: the largest read and write), never raises it. NFS version 2 carries 8 at most, NFS over UDP 32: more is cut. The benchmarks after older generations have 8.");
    SFS_NFS_USER_ID: Option<u32> = p(
        Group::Server,
        Kind::Int(0, u32::MAX as u64, "user id"),
        "AUTH_SYS user id; not set: that of the user who starts Filermark",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("500");
    SFS_NFS_GROUP_ID: Option<u32> = p(
        Group::Server,
        Kind::Int(0, u32::MAX as u64, "group id"),
        "AUTH_SYS group id; not set: that of the user who starts Filermark",
    )
    .of_driver(NfsPlan::DRIVER)
    .example("500");
    RUNTIME: Option<f64> = p(
        Group::Time,
        Kind::Real(0.1, 604_800.0, "seconds"),
        "Length of RUN, the measured phase",
    )
    .standard(StandardValue::Benchmark(|b| b.standard.runtime_s));
    WARMUP_TIME: Option<WarmUp> = p(
        Group::Time,
        Kind::WordOrReal("auto", 0.0, 604_800.0, "seconds"),
        "Length of WARMUP, before RUN; auto: until the load is steady",
    )
    .standard(StandardValue::Benchmark(|b| b.standard.warmup_s))
    .help("auto: WARMUP lasts until neither the rate nor the mean response time has changed over its last 30 s (by the test of the rule unsteady), 32 s at least and WARMUP_TIME_MAX at most. All clients begin RUN together. The record says how long it took, and the rule warmup-limit warns where the limit was reached.");
    MIXFILE: Option<String> = p(
        Group::Workload,
        Kind::Path,
        "A file with another operation mix",
    )
    .classic()
    .example("my.mix")
    .standard(StandardValue::Unset)
    .help(MIXFILE_HELP);
    ACCESS_PCNT: Option<f64> = p(
        Group::Workload,
        Kind::Real(0.1, 100.0, "percent"),
        "Share of the I/O files that RUN touches",
    )
    .classic()
    .standard(StandardValue::Benchmark(|b| rule(b, |r| r.access_pcnt)));
    APPEND_PCNT: Option<f64> = p(
        Group::Workload,
        Kind::Real(0.0, 100.0, "percent"),
        "Share of the writes that append; the others overwrite",
    )
    .classic()
    .standard(StandardValue::Benchmark(|b| rule(b, |r| r.append_pcnt)));
    BLOCK_FILE: Option<String> = p(
        Group::Workload,
        Kind::Path,
        "A file with other transfer sizes",
    )
    .classic()
    .example("blocks")
    .standard(StandardValue::Unset)
    .help(
        "Looked for in WORK_DIR, then next to the rc file. Every line is 'read KB PERCENT%' or \
         'write KB PERCENT%', for example 'read 4 25%'; # begins a comment. The shares of the \
         reads add up to 100, and so do those of the writes; a kind without a line keeps the \
         benchmark's sizes.",
    );
    DIR_COUNT: Option<u32> = p(
        Group::Workload,
        Kind::Int(1, FileSetRule::DIR_COUNT_MAX as u64, "directories"),
        "Directories per proc; see FILES_PER_DIR for composites",
    )
    .standard(StandardValue::Benchmark(|b| rule(b, |r| f64::from(r.dir_count))));
    FILE_COUNT: Option<u32> = p(
        Group::Workload,
        Kind::Int(1, FileSetRule::FILE_COUNT_MAX as u64, "files"),
        "Files per proc that are not for reading and writing",
    )
    .classic()
    .standard(StandardValue::Benchmark(|b| {
        rule(b, |r| f64::from(r.file_count))
    }));
    SYMLINK_COUNT: Option<u32> = p(
        Group::Workload,
        Kind::Int(1, FileSetRule::SYMLINK_COUNT_MAX as u64, "links"),
        "Symbolic links per proc",
    )
    .of_driver(NfsPlan::DRIVER)
    .standard(StandardValue::Benchmark(|b| {
        rule(b, |r| f64::from(r.symlink_count))
    }));
    TCP: bool = p(
        Group::Transport,
        Kind::Switch,
        "on: TCP carries the calls; off: UDP (NFS only)",
    )
    .classic()
    .default("on")
    .help(
        "Over UDP every call and every reply is one datagram: lost ones are sent again after \
         UDP_TIMEOUT_MS, and transfers are 32 KB at most. The generations up to 2001 had both; \
         a standard run of general-nfs3 uses TCP, and the benchmarks after older \
         generations leave it free.",
    )
    .standard(StandardValue::FixedButOlder("on"));
    DEBUG: Option<String> = p(
        Group::Output,
        Kind::Text,
        "Debugging messages by flag number, e.g. 3,4,8-10",
    )
    .example("4,8-10")
    .standard(StandardValue::Unset)
    .help("Numbers and ranges between commas; the table below shows what each turns on.");
    DUMP: Option<String> = p(
        Group::Legacy,
        Kind::Text,
        "No effect: the run record holds what it would dump",
    )
    .classic()
    .standard(StandardValue::NoEffect);
    POPULATE: Option<String> = p(
        Group::Legacy,
        Kind::Text,
        "No effect: INIT fills the file set; see KEEP and REUSE",
    )
    .classic()
    .standard(StandardValue::NoEffect);
    LAT_GRAPH: Option<String> = p(
        Group::Legacy,
        Kind::Text,
        "No effect: every report has the latency histograms",
    )
    .classic()
    .standard(StandardValue::NoEffect);
    PRIME_SLEEP: Option<String> = p(
        Group::Legacy,
        Kind::Text,
        "No effect: phases follow each other without a pause",
    )
    .classic()
    .standard(StandardValue::NoEffect);
    PRIME_TIMEOUT: Option<String> = p(
        Group::Legacy,
        Kind::Text,
        "No effect: every wait has its own limit (INIT_TIMEOUT, RPC_TIMEOUT_MS)",
    )
    .classic()
    .standard(StandardValue::NoEffect);
    RSH: Option<String> = older("No effect: clients are reached by ssh, see LAUNCHER and SSH_COMMAND");
    RCP: Option<String> = older("No effect: nothing is copied by rcp; see 'filermark install'");
    FILESET_DELTA: Option<String> = older("No effect: the size of the file set follows from the load");
    USE_RPC: Option<String> = older("No effect: prime and clients use ssh or TLS, see LAUNCHER");
}
