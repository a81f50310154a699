//! What a host is: the part of a result that explains its figures.
//!
//! Best effort: what cannot be read stays empty, and nothing here ever fails.
//! No addresses of third parties, no user names, no environment variables.

use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::net::ToSocketAddrs as _;
use std::path::Path;

/// Longest file that is read to learn about the host, in bytes.
const FILE_LEN_MAX: usize = 1 << 20;

/// A host that made load, and the servers it saw.
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
    /// Whether this is a virtual machine: by whom, where known.
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
    /// What each mount point's server says of itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountFacts>,
}

/// What the server of a mount point says of itself: ports, transfer sizes,
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
    /// What makes this host another one than it was, in words; empty: nothing. Load, clock
    /// source and what servers say of themselves may change.
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
        texts.chain(cores).chain(servers).collect()
    }

    /// Looks at this host; `program_build` says what the program is.
    pub fn collect(program_build: &str) -> Self {
        Self {
            host: proc_line("/proc/sys/kernel/hostname"),
            os: os_name(),
            kernel: format!(
                "{} {}",
                proc_line("/proc/sys/kernel/ostype"),
                proc_line("/proc/sys/kernel/osrelease")
            )
            .trim()
            .to_owned(),
            architecture: std::env::consts::ARCH.into(),
            cpu_model: field_of("/proc/cpuinfo", &["model name", "Model", "cpu model"]),
            core_count: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
            memory_bytes: memory_bytes(&field_of("/proc/meminfo", &["MemTotal"])),
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

    /// What there is to tell, as (name, value), for reports.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let memory = match self.memory_bytes {
            0 => String::new(),
            n => filermark_model::Bytes(n).to_string(),
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
            ("Load average before", format!("{:.2}", self.load_average)),
            ("Program", self.program_build.clone()),
            ("Servers", servers.collect::<Vec<_>>().join("; ")),
        ];
        // A host's own words: nothing in them may move a terminal's cursor.
        let rows = rows
            .into_iter()
            .map(|(name, value)| (name, one_line(&value)));
        rows.filter(|(_, v)| !v.is_empty()).collect()
    }
}

/// A small file's text; empty when it cannot be read.
fn text_of(path: &str) -> String {
    let mut text = fs::read(Path::new(path)).unwrap_or_default();
    text.truncate(FILE_LEN_MAX);
    String::from_utf8_lossy(&text).into_owned()
}

fn proc_line(path: &str) -> String {
    text_of(path).lines().next().unwrap_or("").trim().to_owned()
}

/// The value behind the first of `names` in a file of `name : value` lines.
fn field_of(path: &str, names: &[&str]) -> String {
    let text = text_of(path);
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
    for line in text_of("/etc/os-release").lines() {
        if let Some(name) = line.strip_prefix("PRETTY_NAME=") {
            return name.trim_matches(['"', '\'']).to_owned();
        }
    }
    std::env::consts::OS.into()
}

fn virtualization() -> String {
    let product = proc_line("/sys/class/dmi/id/product_name");
    let cpuinfo = text_of("/proc/cpuinfo");
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
    fn what_cannot_be_read_stays_empty() {
        assert_eq!(proc_line("/nowhere/at/all"), "");
        assert_eq!(field_of("/nowhere/at/all", &["x"]), "");
        assert_eq!(memory_bytes(""), 0);
        assert_eq!(memory_bytes("2 kB"), 2048);
    }
}
