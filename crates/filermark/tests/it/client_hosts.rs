//! Client hosts for a run, their filer, and checks that nothing is left on them.
//!
//! The program is started on the prime of [`Hosts`] and finds the same program at the same path on
//! all of them, so that nothing is copied unless a test needs it.

use crate::sweep::{PROGRAM, Sweep};
use filermark_results::PointRecord;
use filermark_server::{RunningServer, Server, ServerOptions};
use filermark_testbed::{BUSY_LIMIT, Export, Fsal, Ganesha, Hosts, Sandbox, available};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A session of the SSH server takes a moment to end.
const GONE_MAX: Duration = BUSY_LIMIT;
/// The writable directories of a host; its other files are read-only.
const PLACES: [&str; 6] = ["/tmp", "/var/tmp", "/run", "/dev/shm", "/mnt", "/root"];
/// Where `install` puts the program: `BUILD/filermark` below this.
const CACHE: &str = "/root/.cache/filermark";

/// Some client hosts, and perhaps a filer.
pub struct Field {
    /// The hosts.
    pub hosts: Arc<Hosts>,
    ganesha: Option<Ganesha>,
    /// The processes that always run in the prime's network.
    prime_own: Vec<String>,
    /// The files that were on each host before, by path.
    before: BTreeMap<String, BTreeSet<String>>,
}

impl Field {
    /// Hosts without a filer, for mounted file systems.
    pub fn bare(count: usize) -> Option<Self> {
        let sandbox = available(Sandbox::new())?;
        Self::in_sandbox(&sandbox, count, None)
    }

    /// Hosts with ganesha as their filer.
    pub fn with_ganesha(count: usize) -> Option<Self> {
        let ganesha = available(Ganesha::start(Fsal::Vfs))?;
        let sandbox = Arc::clone(ganesha.sandbox());
        Self::in_sandbox(&sandbox, count, Some(ganesha))
    }

    fn in_sandbox(sandbox: &Arc<Sandbox>, count: usize, ganesha: Option<Ganesha>) -> Option<Self> {
        let hosts = Arc::new(available(Hosts::start(sandbox, count))?);
        let names: Vec<String> = hosts.names().map(str::to_owned).collect();
        let mut field = Self {
            hosts,
            ganesha,
            prime_own: Vec::new(),
            before: BTreeMap::new(),
        };
        field.prime_own = field.on_prime();
        for name in names {
            field.note_files(&name);
        }
        Some(field)
    }

    /// The files that are on a host now may stay there.
    fn note_files(&mut self, host: &str) {
        let files = self.files(host);
        self.before.insert(host.to_owned(), files);
    }

    /// A small file system of a host, empty.
    pub fn small_disk(&mut self, host: &str, path: &str, size_kib: u32) {
        let made = self.hosts.small_tmpfs(host, path, size_kib);
        made.expect("a small file system");
        self.note_files(host);
    }

    /// An embedded server, reached at the filer's address.
    pub fn serve(&self, options: ServerOptions) -> (RunningServer, Export) {
        let listen = vec![(Ipv4Addr::UNSPECIFIED, 0).into()];
        let server = self.hosts.sandbox().run(|| {
            let options = ServerOptions { listen, ..options };
            Server::start(options).expect("the embedded server starts")
        });
        let port = server.addrs()[0].port();
        let export = Export {
            address: IpAddr::V4(self.hosts.address("filer").expect("the filer")),
            nfs_port: port,
            mount_port: port,
            path: "/export".into(),
            path_v4: None,
        };
        (server, export)
    }

    /// A short run of the classical workload, 4 procs on each client, against ganesha.
    pub fn sweep(&self, clients: &str) -> Sweep {
        let ganesha = self.ganesha.as_ref().expect("hosts with a filer");
        self.sweep_against(clients, ganesha.export())
    }

    /// A short run of the classical workload against another server in the sandbox.
    pub fn sweep_against(&self, clients: &str, export: &Export) -> Sweep {
        let export = self.hosts.export(export);
        self.there(Sweep::short())
            .set("CLIENTS", clients)
            .set("LOAD", 120)
            .set("MNT_POINTS", export.mount_point())
            .set("NFS_PORT", export.nfs_port)
            .set("MOUNT_PORT", export.mount_port)
    }

    /// A short run of a composite with a small tree.
    pub fn composite(&self, benchmark: &str, mounts: &str) -> Sweep {
        self.there(Sweep::small_composite(benchmark))
            .set("CLIENT_MOUNTPOINTS", mounts)
    }

    /// Starts it on the prime; the program has the same path on the clients.
    fn there(&self, sweep: Sweep) -> Sweep {
        sweep
            .on_prime_of(&self.hosts)
            .set("EXEC_PATH", PROGRAM)
            .set("INSTALL", "off")
    }

    /// The files in the export.
    pub fn exported(&self) -> Vec<String> {
        let files = self.ganesha.as_ref().and_then(Ganesha::files);
        let mut found = BTreeSet::new();
        names_below(&files.expect("ganesha's files"), "", &mut found);
        found.into_iter().collect()
    }

    /// The text of a file in the export.
    pub fn exported_text(&self, path: &str) -> String {
        let files = self.ganesha.as_ref().and_then(Ganesha::files);
        let path = files.expect("ganesha's files").join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The files in and below a directory of a host.
    pub fn below(&self, host: &str, dir: &str) -> Vec<String> {
        let mut found = BTreeSet::new();
        let outside = self.hosts.outside(host, dir).expect("a host");
        names_below(&outside, "", &mut found);
        found.into_iter().collect()
    }

    /// All files in the writable directories of a host.
    fn files(&self, host: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for place in PLACES {
            let outside = self.hosts.outside(host, place).expect("a host");
            names_below(&outside, place, &mut found);
        }
        found
    }

    /// New files on a host, except the installed program.
    pub fn new_files(&self, host: &str) -> Vec<String> {
        let before = &self.before[host];
        let files = self.files(host);
        let new = files.into_iter().filter(|path| !before.contains(path));
        new.filter(|path| !is_program(path)).collect()
    }

    /// Waits until the prime reaches a host again: ARP does not retry at once.
    pub fn wait_reached(&self, host: &str) {
        let address = self.hosts.address(host).expect("a host");
        let since = Instant::now();
        let reached = || self.hosts.run(|| TcpStream::connect((address, 22)).is_ok());
        while !reached() {
            assert!(since.elapsed() < GONE_MAX, "{host} is not reached");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The processes on the prime: number and command line.
    pub fn on_prime(&self) -> Vec<String> {
        let networks = self.hosts.network_ids().expect("the hosts");
        let prime = networks.last().copied();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let there = processes.filter(|entry| {
            let network = std::fs::metadata(entry.path().join("ns/net"));
            network.ok().map(|network| network.ino()) == prime
        });
        let shown = there.filter_map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // A process that has ended has none.
            (!line.is_empty()).then(|| format!("{} {line}", entry.file_name().display()))
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        shown
    }

    /// Asserts that no process and no file is left on any host or in the export.
    #[track_caller]
    pub fn assert_clean(&self) {
        self.assert_clean_within(GONE_MAX);
    }

    /// Waits until no process and no file is left.
    #[track_caller]
    pub fn assert_clean_within(&self, limit: Duration) {
        let since = Instant::now();
        if let Err(left) = self.hosts.wait_clean(limit) {
            panic!("{left}");
        }
        while self.on_prime() != self.prime_own {
            let left = self.on_prime();
            assert!(since.elapsed() < limit, "left on the prime: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        for host in self.hosts.names() {
            let left = self.new_files(host);
            assert!(left.is_empty(), "left on {host}: {left:?}");
        }
        if self.ganesha.is_some() {
            let left = self.exported();
            assert!(left.is_empty(), "left in the export: {left:?}");
        }
    }
}

/// Whether a path is that of an installed program, or of a directory on the way there.
fn is_program(path: &str) -> bool {
    let Some(rest) = path.strip_prefix(CACHE) else {
        return path == "/root/.cache";
    };
    // A build and its system: 0123456789abcdef-linux-x86_64.
    let is_build = |name: &str| {
        name.split_once('-').is_some_and(|(build, system)| {
            let is_hash = build.len() == 16 && build.bytes().all(|b| b.is_ascii_hexdigit());
            is_hash && system.starts_with("linux-")
        })
    };
    match rest.split('/').collect::<Vec<_>>()[..] {
        [""] => true,
        ["", build] => is_build(build),
        ["", build, name] => is_build(build) && name == "filermark",
        _ => false,
    }
}

/// The paths of all files below a directory, except those that disappear meanwhile.
fn names_below(top: &Path, shown: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(top).into_iter().flatten().flatten() {
        let name = format!("{shown}/{}", entry.file_name().to_string_lossy());
        // The repository, with the directories of the tests, is mounted there: it does not
        // belong to the host.
        if Path::new(&name) == repository() {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names_below(&entry.path(), &name, found);
        }
        found.insert(name);
    }
}

/// Asserts that the figures of a load point are the sums of its clients' figures.
#[track_caller]
pub fn assert_adds_up(point: &PointRecord, clients: &[&str]) {
    let stats = point.measured().expect("measured");
    let names: Vec<&str> = point.clients.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, clients);
    assert!(stats.success_count() > 0);
    for op in &stats.ops {
        let mut sum = [0; 5];
        for theirs in point.clients.iter().flat_map(|c| &c.ops) {
            if theirs.op == op.op {
                sum[0] += theirs.success_count;
                sum[1] += theirs.physical_count;
                sum[2] += theirs.error_count;
                sum[3] += theirs.read_bytes;
                sum[4] += theirs.written_bytes;
            }
        }
        let all = [
            op.success_count,
            op.physical_count,
            op.error_count,
            op.read_bytes,
            op.written_bytes,
        ];
        assert_eq!(sum, all, "{}", op.op);
        assert_eq!(op.service.count(), op.success_count, "{}", op.op);
    }
    let mut counters = BTreeMap::new();
    for (name, count) in point.clients.iter().flat_map(|c| &c.counters) {
        *counters.entry(name.clone()).or_insert(0) += count;
    }
    assert_eq!(counters, stats.counters);
    // Each proc once, on any client.
    let procs: BTreeSet<u32> = stats.procs.iter().map(|p| p.proc).collect();
    let count: u32 = point.clients.iter().map(|c| c.proc_count).sum();
    assert_eq!(
        (procs.len(), stats.procs.len()),
        (count as usize, count as usize)
    );
    let done: u64 = stats.procs.iter().map(|p| p.success_count).sum();
    assert_eq!(done, stats.success_count());
}

/// The path of this repository.
fn repository() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.ancestors().nth(2).unwrap_or(tests)
}
