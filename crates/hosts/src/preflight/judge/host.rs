//! Checks of a client against the plan: program, clock, memory, limits.

use super::client::Client;
use super::names::hosts_file;
use crate::admin::install::setcap_command;
use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use filermark_link::clocks::ClockOffset;
use filermark_model::Bytes;
use filermark_model::survey::AsyncEngine;
use filermark_model::units::counted;

/// Times of day that differ by more than this cause a warning, in nanoseconds `[own]`.
const CLOCKS_APART_NS: u64 = 100_000_000;
/// A bound of a clock's offset above this causes a warning, in nanoseconds `[own]`.
const CLOCK_BOUND_NS: u64 = 20_000_000;

/// The program, and the description of the host.
pub(super) fn host(client: &Client<'_>) -> Vec<Check> {
    let (name, facts) = (client.name, client.facts);
    let mut checks = Vec::new();
    if let Some(hello) = &facts.hello {
        // Another build would have been refused.
        let sentence = format!(
            "filermark {}, build {}, the same as on the prime",
            hello.version, hello.build
        );
        checks.push(Check::ok(name, "version", sentence));
    }
    let environment = &facts.environment;
    let mut parts = vec![format!("host name {}", environment.host)];
    if !facts.addresses.is_empty() {
        const SHOWN: usize = 4;
        parts.push(facts.addresses[..facts.addresses.len().min(SHOWN)].join(", "));
    }
    parts.push(format!("{} {}", environment.os, environment.kernel));
    let cores = counted(environment.core_count.into(), "core");
    parts.push(format!("{cores}, {}", Bytes(environment.memory_bytes)));
    checks.push(Check::ok(name, "host", parts.join("; ")));
    checks.extend(own_name(client));
    checks
}

/// RESVPORT=on: whether the program on the client may use source ports below 1024. A capability
/// of the program on the prime is not part of the file that `install` copies.
pub(super) fn low_ports(client: &Client<'_>) -> Option<Check> {
    let (name, facts) = (client.name, client.facts);
    match (client.driver.facts().reserved_ports, facts.low_ports?) {
        (false, _) => None,
        (true, true) => {
            let sentence = "the program may call from source ports below 1024 (RESVPORT=on)";
            Some(Check::ok(name, "ports", sentence))
        }
        (true, false) => {
            let sentence = "the program may not call from source ports below 1024 (RESVPORT=on): \
                 this user is not root, and the file on the client has no capability for it; `install` \
                 copies none";
            let check = Check::failure(name, "ports", sentence);
            let Some(program) = &facts.program else {
                return Some(check);
            };
            Some(check.fix(setcap_command(client.ssh, client.host, &quote(program))))
        }
    }
}

/// Workloads with a depth: whether reads and writes can be asynchronous on the client.
pub(super) fn depth(client: &Client<'_>) -> Option<Check> {
    let depth = client.needs.depth;
    if depth <= 1 {
        return None;
    }
    match &client.facts.async_engine {
        AsyncEngine::Unknown => None,
        AsyncEngine::IoUring => {
            let sentence = format!("reads and writes with a depth of {depth} use io_uring");
            Some(Check::ok(client.name, "depth", sentence))
        }
        AsyncEngine::Missing(why) => {
            let sentence = format!("reads and writes with a depth of {depth} cannot begin: {why}");
            Some(Check::failure(client.name, "depth", sentence).fix_as_stated())
        }
    }
}

/// Slides E: no "127.0.0.1 hostname" in /etc/hosts.
fn own_name(client: &Client<'_>) -> Option<Check> {
    let line = client.facts.own_name.loopback_line.as_ref()?;
    if client.is_alone {
        return None;
    }
    let is_windows = client.facts.environment.kernel.starts_with("Windows");
    let file = hosts_file(is_windows);
    let sentence = format!(
        "{file} there maps its own name to a loopback address ({line}): peers may get an address that they cannot use; remove the name from that line, or give it the host's own address (slides E)"
    );
    let check = Check::warning(client.name, "name", sentence);
    Some(match is_windows {
        true => check.fix_as_stated(),
        false => check.fix("${EDITOR:-vi} /etc/hosts"),
    })
}

/// The clock, against the prime's.
pub(super) fn clock(client: &Client<'_>) -> Option<Check> {
    let ClockOffset {
        unix_offset_ns,
        error_ns,
        ..
    } = client.clock?;
    let (name, apart) = (client.name, unix_offset_ns.unsigned_abs());
    let direction = if unix_offset_ns < 0 {
        "behind"
    } else {
        "ahead of"
    };
    let found = format!(
        "time of day {} {direction} the prime's, known within {}",
        span(apart),
        span(error_ns)
    );
    Some(if apart > CLOCKS_APART_NS.saturating_add(error_ns) {
        let sentence = format!(
            "{found}; phases start at the same time nevertheless, but the times in logs and of files do not agree"
        );
        Check::warning(name, "clock", sentence).fix("chronyc makestep")
    } else if error_ns > CLOCK_BOUND_NS {
        let sentence = format!(
            "{found}: the connection is too slow to know the offset better, and phases start no more exactly than that"
        );
        Check::warning(name, "clock", sentence)
    } else {
        Check::ok(name, "clock", found)
    })
}

fn span(ns: u64) -> String {
    match ns {
        0..=999_999 => format!("{:.0} us", ns as f64 / 1e3),
        1_000_000..=9_999_999_999 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.0} s", ns as f64 / 1e9),
    }
}

/// Memory, against the definition's figure and that of the program.
pub(super) fn memory(client: &Client<'_>) -> Option<Check> {
    let (name, needs) = (client.name, &client.needs);
    let available = client.facts.memory_available_bytes?;
    let procs = counted(needs.proc_count, "proc");
    let free = Bytes(available);
    Some(if available < needs.own_memory_bytes {
        let sentence = format!(
            "{free} available, but the program alone takes {} for {procs}: fewer procs on this client (PROCS, LOAD), or more clients",
            Bytes(needs.own_memory_bytes)
        );
        Check::failure(name, "memory", sentence)
    } else if available < needs.advised_memory_bytes {
        let sentence = format!(
            "{free} available; the largest load needs {} for {procs} on this client, the page cache included (manual N, slides E): use more clients, or a smaller LOAD",
            Bytes(needs.advised_memory_bytes)
        );
        Check::warning(name, "memory", sentence)
    } else {
        let wanted = needs.advised_memory_bytes.max(needs.own_memory_bytes);
        let sentence = format!("{free} available, {} needed for {procs}", Bytes(wanted));
        Check::ok(name, "memory", sentence)
    })
}

/// Open files and threads.
pub(super) fn limits(client: &Client<'_>) -> Vec<Check> {
    let (name, needs, limits) = (client.name, &client.needs, &client.facts.limits);
    // Agents raise the soft limit to the hard one.
    let hard = limits.open_files_hard.unwrap_or(u64::MAX);
    let procs = counted(needs.proc_count, "proc");
    let (least, best) = (needs.open_files_min, needs.open_files_best);
    let raise =
        |to: u64| format!("echo '* hard nofile {to}' | sudo tee -a /etc/security/limits.conf");
    let files = if hard < least {
        let sentence = format!(
            "open files are limited to {hard}, {procs} need {least}: raise the hard limit (limits.conf and a new session, LimitNOFILE of the service), or run fewer procs per client"
        );
        Check::failure(name, "files", sentence).fix(raise(best))
    } else if hard < best {
        let sentence = format!(
            "open files are limited to {hard}; with {best}, {procs} need not close files that are used again (netmist's manual advises a large limit)"
        );
        Check::warning(name, "files", sentence).fix(raise(best))
    } else {
        let limit = limits
            .open_files_hard
            .map_or("any".into(), |l| l.to_string());
        Check::ok(
            name,
            "files",
            format!("{limit} open files allowed, {best} needed"),
        )
    };
    let mut checks = vec![files];
    if let Some(limit) = limits.threads.filter(|limit| *limit < needs.thread_count) {
        let sentence = format!(
            "processes and threads are limited to {limit}, {procs} take {}",
            needs.thread_count
        );
        let command = format!(
            "echo '* - nproc {}' | sudo tee -a /etc/security/limits.conf",
            needs.thread_count.saturating_mul(2)
        );
        checks.push(Check::failure(name, "threads", sentence).fix(command));
    }
    checks
}

/// Clients on the same host: pairs of names.
pub(super) fn same_hosts(clients: &[Client<'_>]) -> Vec<Check> {
    let mut checks = Vec::new();
    for (at, client) in clients.iter().enumerate() {
        let is_same = |other: &&Client<'_>| {
            let (a, b) = (other.facts, client.facts);
            a.environment.host == b.environment.host && a.addresses == b.addresses
        };
        if let Some(first) = clients[..at].iter().find(is_same) {
            let sentence = format!(
                "is the same host as {} ({}): one host with its memory and cores generates the load of both",
                first.name, client.facts.environment.host
            );
            checks.push(Check::warning(client.name, "host", sentence));
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::tests::HealthyClient;
    use super::*;
    use crate::preflight::check::CheckStatus;

    #[test]
    fn memory_is_compared_with_both_figures() {
        let mut made = HealthyClient::new();
        made.needs.own_memory_bytes = 1 << 30;
        made.needs.advised_memory_bytes = 4 << 30;
        let of = |made: &mut HealthyClient, available: u64| {
            made.facts.memory_available_bytes = Some(available);
            memory(&made.client()).expect("known").verdict
        };
        assert_eq!(of(&mut made, 5 << 30), CheckStatus::Ok);
        assert_eq!(of(&mut made, 3 << 30), CheckStatus::Warning);
        assert_eq!(of(&mut made, 1 << 20), CheckStatus::Failure);
        made.facts.memory_available_bytes = None;
        assert_eq!(memory(&made.client()), None);
    }

    #[test]
    fn limits_are_compared_with_the_plan() {
        let mut made = HealthyClient::new();
        (made.needs.open_files_min, made.needs.open_files_best) = (500, 2000);
        let verdicts = |made: &HealthyClient| -> Vec<CheckStatus> {
            limits(&made.client()).iter().map(|c| c.verdict).collect()
        };
        assert_eq!(verdicts(&made), [CheckStatus::Ok]);
        made.facts.limits.open_files_hard = Some(1024);
        assert_eq!(verdicts(&made), [CheckStatus::Warning]);
        made.facts.limits.open_files_hard = Some(499);
        (made.needs.thread_count, made.facts.limits.threads) = (100, Some(99));
        assert_eq!(
            verdicts(&made),
            [CheckStatus::Failure, CheckStatus::Failure]
        );
        let checks = limits(&made.client());
        assert!(checks[0].command.as_ref().unwrap().contains("nofile 2000"));
    }

    #[test]
    fn clocks_that_differ_are_reported() {
        let mut made = HealthyClient::new();
        let of = |made: &mut HealthyClient, apart: i64, bound: u64| {
            made.clock = Some(ClockOffset {
                offset_ns: 0,
                error_ns: bound,
                unix_offset_ns: apart,
            });
            clock(&made.client()).expect("known")
        };
        assert_eq!(of(&mut made, -3_200_000, 50_000).verdict, CheckStatus::Ok);
        let sentence = of(&mut made, -3_200_000, 50_000).sentence;
        assert_eq!(
            sentence,
            "time of day 3.2 ms behind the prime's, known within 50 us"
        );
        let late = of(&mut made, 7_000_000_000, 50_000);
        assert_eq!(late.verdict, CheckStatus::Warning);
        assert!(late.command.is_some());
        assert_eq!(of(&mut made, 0, 60_000_000).verdict, CheckStatus::Warning);
        made.clock = None;
        assert_eq!(clock(&made.client()), None);
    }

    #[test]
    fn one_host_with_two_names_is_reported() {
        let (mut one, mut two) = (HealthyClient::new(), HealthyClient::new());
        one.host.client = "a".into();
        two.host.client = "b".into();
        let checks = same_hosts(&[one.client(), two.client()]);
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].host, "b");
        two.facts.environment.host = "elsewhere".into();
        assert!(same_hosts(&[one.client(), two.client()]).is_empty());
    }

    #[test]
    fn a_loopback_line_for_its_own_name_matters_only_with_several_clients() {
        let mut made = HealthyClient::new();
        made.facts.own_name.loopback_line = Some("127.0.1.1 h1".into());
        assert!(own_name(&made.client()).is_some());
        made.is_alone = true;
        assert!(own_name(&made.client()).is_none());
    }
}
