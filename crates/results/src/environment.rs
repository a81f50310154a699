//! The facts of a host, which help to explain a result.
//!
//! Best effort: what cannot be read stays empty, and nothing here returns an error.
//! No addresses of third parties, no user names, no environment variables.

use filermark_model::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::ToSocketAddrs as _;
use std::path::Path;

/// Longest file that is read for facts of the host, in bytes.
const FILE_LEN_MAX: usize = 1 << 20;
/// Memory counts as unchanged if it differs by less than this fraction.
const MEMORY_SHARE: u64 = 100;
/// Facts of a mount that must not change.
const MOUNT_FACTS: [&str; 4] = ["file system", "source", "mount point", "mount options"];
/// Options of a mount that change when the server restarts.
const FREE_OPTIONS: [&str; 1] = ["mountport="];

/// A host that made load, and its servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Its host name.
    pub host: String,
    /// The operating system, by its own name.
    pub os: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// The instruction set, e.g. `x86_64`.
    pub architecture: String,
    /// The processor's model.
    pub cpu_model: String,
    /// Processors that this process may use; zero: unknown.
    pub core_count: u32,
    /// Physical memory in bytes; zero: unknown.
    pub memory_bytes: u64,
    /// Whether this is a virtual machine: with its product, where known.
    pub virtualization: String,
    /// The clock source of the kernel.
    pub clock_source: String,
    /// How the processor's frequency is chosen.
    pub cpu_governor: String,
    /// Load average over the last minute, before the run.
    pub load_average: f64,
    /// The build of the program: version, profile, target.
    pub program_build: String,
    /// The servers and the addresses that their names gave.
    pub servers: Vec<ServerAddresses>,
    /// What each mount point's server reports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountFacts>,
}

/// What the server of a mount point reports: ports, transfer sizes,
/// limits, space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    /// The mount point.
    pub mount: String,
    /// Name and value of each fact.
    pub facts: Vec<(String, String)>,
}

/// A server's name and its addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddresses {
    /// Its name or address as the mount points give it.
    pub host: String,
    /// The addresses it resolved to.
    pub addresses: Vec<String>,
}

impl Environment {
    /// What has changed on this host since `earlier`, in words; empty: nothing. Load, clock
    /// source and what servers report may change; what is mounted may not.
    pub fn changes_since(&self, earlier: &Self) -> Vec<String> {
        let texts = [
            ("the host", &self.host, &earlier.host),
            ("the operating system", &self.os, &earlier.os),
            ("the kernel", &self.kernel, &earlier.kernel),
            (
                "the architecture",
                &self.architecture,
                &earlier.architecture,
            ),
            ("the processor", &self.cpu_model, &earlier.cpu_model),
            ("the program", &self.program_build, &earlier.program_build),
        ];
        let texts = texts.into_iter().filter(|(_, now, was)| now != was);
        let texts = texts.map(|(what, now, was)| format!("{what} is {now:?}, was {was:?}"));
        let (cores, were) = (self.core_count, earlier.core_count);
        let cores = (cores != were).then(|| format!("it has {cores} processors, had {were}"));
        let addresses = |of: &Self| -> BTreeSet<String> {
            let all = of.servers.iter().flat_map(|server| &server.addresses);
            all.cloned().collect()
        };
        let servers = addresses(self) != addresses(earlier);
        let servers = servers.then(|| "its servers have other addresses".to_owned());
        let (memory, had) = (self.memory_bytes, earlier.memory_bytes);
        let shown = filermark_model::Bytes;
        // The memory that the kernel reserves differs a little from boot to boot.
        let memory = (memory.abs_diff(had) > had / MEMORY_SHARE)
            .then(|| format!("it has {} of memory, had {}", shown(memory), shown(had)));
        let mounts = mounts_changed(&earlier.mounts, &self.mounts);
        let hardware = texts.chain(cores).chain(memory);
        hardware.chain(servers).chain(mounts).collect()
    }

    /// Collects the facts of this host; `program_build` names the program.
    pub fn collect(program_build: &str) -> Self {
        let cpu_model = field_of("/proc/cpuinfo", &["model name", "Model", "cpu model"]);
        let memory = memory_bytes(&field_of("/proc/meminfo", &["MemTotal"]));
        let facts = filermark_system::host_facts();
        Self {
            host: filermark_system::host_name(),
            os: match facts.os.is_empty() {
                true => os_name(),
                false => facts.os,
            },
            kernel: facts.kernel,
            architecture: std::env::consts::ARCH.into(),
            cpu_model: match cpu_model.is_empty() {
                true => facts.cpu_model,
                false => cpu_model,
            },
            core_count: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
            memory_bytes: memory.max(facts.memory_bytes),
            virtualization: virtualization(),
            clock_source: proc_line(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            cpu_governor: proc_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load_average: proc_line("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|l| l.parse().ok())
                .unwrap_or(0.0),
            program_build: program_build.into(),
            servers: Vec::new(),
            mounts: Vec::new(),
        }
    }

    /// Looks up the addresses of these servers, each name once; `port` is only
    /// needed for the look-up. A name that is unknown stays without addresses.
    pub fn resolve_servers<'a>(&mut self, hosts: impl IntoIterator<Item = &'a str>, port: u16) {
        for host in hosts {
            if self.servers.iter().any(|s| s.host == host) {
                continue;
            }
            let mut addresses: Vec<String> = (host, port)
                .to_socket_addrs()
                .map(|found| found.map(|a| a.ip().to_string()).collect())
                .unwrap_or_default();
            addresses.dedup();
            self.servers.push(ServerAddresses {
                host: host.into(),
                addresses,
            });
        }
    }

    /// Whether the host may have the files of Linux's kernel. On others the virtual machine, the
    /// load average, the clock source and the governor are not known.
    pub fn may_have_proc(&self) -> bool {
        self.kernel.is_empty() || self.kernel.starts_with("Linux ")
    }

    /// The known facts as (name, value), for reports.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let memory = match self.memory_bytes {
            0 => String::new(),
            n => filermark_model::Bytes(n).to_string(),
        };
        let load_average = match self.may_have_proc() {
            true => format!("{:.2}", self.load_average),
            false => String::new(),
        };
        let servers = self.servers.iter().map(|s| match s.addresses.is_empty() {
            true => format!("{} (address unknown)", s.host),
            false => format!("{} ({})", s.host, s.addresses.join(", ")),
        });
        let rows = [
            ("Host", self.host.clone()),
            ("Operating system", self.os.clone()),
            ("Kernel", self.kernel.clone()),
            ("Architecture", self.architecture.clone()),
            ("Processor", self.cpu_model.clone()),
            ("Cores", number(u64::from(self.core_count))),
            ("Memory", memory),
            ("Virtualisation", self.virtualization.clone()),
            ("Clock source", self.clock_source.clone()),
            ("Frequency governor", self.cpu_governor.clone()),
            ("Load average before", load_average),
            ("Program", self.program_build.clone()),
            ("Servers", servers.collect::<Vec<_>>().join("; ")),
        ];
        // Text from a host: control characters must not reach a terminal.
        let rows = rows
            .into_iter()
            .map(|(name, value)| (name, one_line(&value)));
        rows.filter(|(_, v)| !v.is_empty()).collect()
    }
}

/// What has changed on these hosts since the earlier piece of the run, in words; empty:
/// nothing. Hosts are compared by name. Each earlier client is compared once: two clients
/// that share a host now, and had one each before, are a change.
pub fn hosts_changed(earlier: &[Environment], now: &[Environment]) -> Vec<String> {
    let mut rest: BTreeMap<&str, Vec<&Environment>> = BTreeMap::new();
    for host in earlier {
        rest.entry(&host.host).or_default().push(host);
    }
    let mut changed = Vec::new();
    for host in now {
        let name = &host.host;
        let Some(candidates) = rest.get_mut(name.as_str()) else {
            changed.push(format!("{name}: it made no load in the pieces before"));
            continue;
        };
        let changes = candidates.iter().map(|was| host.changes_since(was));
        let best = changes.enumerate().min_by_key(|(_, changes)| changes.len());
        match best {
            None => changed.push(format!(
                "{name}: more clients run on it than in the pieces before"
            )),
            Some((at, changes)) => {
                candidates.swap_remove(at);
                if !changes.is_empty() {
                    changed.push(format!("{name}: {}", changes.join("; ")));
                }
            }
        }
    }
    changed
}

/// What differs between mounts, in words.
fn mounts_changed(earlier: &[MountFacts], now: &[MountFacts]) -> Vec<String> {
    let names: BTreeSet<&str> = (earlier.iter().chain(now))
        .map(|mount| mount.mount.as_str())
        .collect();
    let fact = |mounts: &[MountFacts], mount: &str, name: &str| -> Option<String> {
        let mount = mounts.iter().find(|m| m.mount == mount)?;
        let (_, value) = mount.facts.iter().find(|(fact, _)| fact == name)?;
        Some(value.clone())
    };
    let mut changes = Vec::new();
    for mount in names {
        for name in MOUNT_FACTS {
            let (was, is) = (fact(earlier, mount, name), fact(now, mount, name));
            if was.as_deref().map(options) != is.as_deref().map(options) {
                let shown = |value: Option<String>| match value {
                    Some(value) => format!("{value:?}"),
                    None => "unknown".to_owned(),
                };
                changes.push(format!(
                    "{mount}: the {name} is {}, was {}",
                    shown(is),
                    shown(was)
                ));
            }
        }
    }
    changes
}

/// The options of a mount in any order.
fn options(value: &str) -> BTreeSet<&str> {
    let counts = |option: &&str| !FREE_OPTIONS.iter().any(|free| option.starts_with(free));
    value.split(',').filter(counts).collect()
}

/// The text of a file of Linux's kernel; empty on other systems.
fn proc_text(path: &str) -> String {
    match filermark_system::proc_exists(path) {
        true => text_of(path),
        false => String::new(),
    }
}

/// A small file's text; empty when it cannot be read.
fn text_of(path: &str) -> String {
    let mut text = fs::read(Path::new(path)).unwrap_or_default();
    text.truncate(FILE_LEN_MAX);
    String::from_utf8_lossy(&text).into_owned()
}

fn proc_line(path: &str) -> String {
    proc_text(path)
        .lines()
        .next()
        .unwrap_or("")
        .trim()
        .to_owned()
}

/// The value after the first of `names` in a file of `name : value` lines.
fn field_of(path: &str, names: &[&str]) -> String {
    let text = proc_text(path);
    for name in names {
        for line in text.lines() {
            if let Some((key, value)) = line.split_once(':')
                && key.trim() == *name
            {
                return value.trim().to_owned();
            }
        }
    }
    String::new()
}

/// `"16384 kB"` in bytes.
fn memory_bytes(mem_total: &str) -> u64 {
    let kib = mem_total.split(' ').next().and_then(|n| n.parse().ok());
    kib.unwrap_or(0u64).saturating_mul(1024)
}

fn os_name() -> String {
    if !cfg!(unix) {
        return std::env::consts::OS.into();
    }
    for line in text_of("/etc/os-release").lines() {
        if let Some(name) = line.strip_prefix("PRETTY_NAME=") {
            return name.trim_matches(['"', '\'']).to_owned();
        }
    }
    std::env::consts::OS.into()
}

fn virtualization() -> String {
    let product = proc_line("/sys/class/dmi/id/product_name");
    let cpuinfo = proc_text("/proc/cpuinfo");
    let flagged = cpuinfo
        .lines()
        .any(|l| l.starts_with("flags") && l.split(' ').any(|f| f == "hypervisor"));
    match (flagged, product.is_empty()) {
        (true, true) => "yes".into(),
        (true, false) => format!("yes ({product})"),
        (false, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn this_host_is_described() {
        let mut here = Environment::collect("filermark test");
        assert!(here.core_count > 0 && here.memory_bytes > 1 << 20);
        assert!(here.kernel.starts_with("Linux "), "{}", here.kernel);
        here.resolve_servers(["127.0.0.1", "127.0.0.1"], 2049);
        assert_eq!(here.servers.len(), 1);
        assert_eq!(here.servers[0].addresses, ["127.0.0.1"]);
        assert!(here.rows().iter().all(|(_, v)| !v.is_empty()));
    }

    #[test]
    fn what_only_linux_reports_is_not_shown_of_other_systems() {
        let mut host = Environment {
            kernel: "Linux 6.1".into(),
            ..Environment::default()
        };
        let shows = |host: &Environment| host.rows().iter().any(|(n, _)| n.starts_with("Load"));
        assert!(shows(&host) && host.may_have_proc());
        host.kernel = "Windows 10.0.19041".into();
        assert!(!shows(&host) && !host.may_have_proc());
    }

    /// A client on a host, with one mount point.
    fn client(host: &str, facts: &[(&str, &str)]) -> Environment {
        let facts = facts
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        Environment {
            host: host.into(),
            memory_bytes: 8 << 30,
            mounts: vec![MountFacts {
                mount: "/mnt/a".into(),
                facts: facts.collect(),
            }],
            ..Environment::default()
        }
    }

    const MOUNTED: [(&str, &str); 4] = [
        ("file system", "nfs4"),
        ("source", "server:/export"),
        ("mount point", "/mnt/a"),
        ("mount options", "rw,relatime,vers=4.2,mountport=1000"),
    ];

    #[test]
    fn a_host_with_another_mount_or_memory_has_changed() {
        let was = client("a", &MOUNTED);
        let with = |name: &str, value: &str| {
            let facts = MOUNTED.map(|(n, v)| (n, if n == name { value } else { v }));
            client("a", &facts).changes_since(&was)
        };
        let free = [
            ("mount options", "relatime,rw,mountport=2000,vers=4.2"),
            ("source", "server:/export"),
        ];
        for (name, value) in free {
            assert_eq!(with(name, value), [""; 0], "{name} {value}");
        }
        for (name, value) in [
            ("file system", "ext4"),
            ("source", "other:/export"),
            ("mount point", "/"),
            ("mount options", "rw,sync,relatime,vers=4.2"),
        ] {
            let changes = with(name, value).join("; ");
            assert!(
                changes.starts_with(&format!("/mnt/a: the {name} is ")),
                "{changes}"
            );
        }
        // No longer mounted: the file system of the directory is a different one.
        let changes = client("a", &MOUNTED[..0]).changes_since(&was).join("; ");
        assert!(changes.contains("is unknown, was \"nfs4\""), "{changes}");
        let memory = |bytes: u64| {
            let now = Environment {
                memory_bytes: bytes,
                ..was.clone()
            };
            now.changes_since(&was).join("; ")
        };
        assert_eq!(memory((8 << 30) - 4096), "");
        assert_eq!(memory(4 << 30), "it has 4.0 GiB of memory, had 8.0 GiB");
    }

    #[test]
    fn each_client_of_the_piece_before_is_compared_once() {
        let (a, b) = (client("a", &MOUNTED), client("b", &MOUNTED));
        let of = |earlier: &[&Environment], now: &[&Environment]| {
            let all = |hosts: &[&Environment]| -> Vec<Environment> {
                hosts.iter().map(|host| (*host).clone()).collect()
            };
            hosts_changed(&all(earlier), &all(now)).join("; ")
        };
        assert_eq!(of(&[&a, &b], &[&b, &a]), "");
        let changes = of(&[&a, &b], &[&a, &a]);
        assert_eq!(
            changes,
            "a: more clients run on it than in the pieces before"
        );
        let changes = of(&[&a], &[&b]);
        assert_eq!(changes, "b: it made no load in the pieces before");
        // Two clients of one host with a mount point each, in any order.
        let mut other = a.clone();
        other.mounts[0].mount = "/mnt/b".into();
        assert_eq!(of(&[&a, &other], &[&other, &a]), "");
    }

    #[test]
    fn what_cannot_be_read_stays_empty() {
        assert_eq!(proc_line("/nowhere/at/all"), "");
        assert_eq!(field_of("/nowhere/at/all", &["x"]), "");
        assert_eq!(memory_bytes(""), 0);
        assert_eq!(memory_bytes("2 kB"), 2048);
    }
}
