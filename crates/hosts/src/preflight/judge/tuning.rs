//! The kernel's network settings against the advice of the sources: slides E (client tunes) and
//! manual N (Linux setup). Advised values are minimums: kernels may have higher defaults, which
//! are accepted. Only settings that matter for the driver in use are checked.

use super::client::Client;
use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use filermark_link::facts::MountEntry;
use filermark_model::plan::{Connections, Target};

/// From this speed on the advice for ten-gigabit interfaces applies, in megabits.
const FAST_MBPS: u32 = 10_000;
/// The source of most settings, as named in messages and in the page on sources.
const SOURCE: &str = "slides E";
/// Requests in flight that an NFS client of the kernel may have (slides E).
const SLOTS: u64 = 128;

/// A setting and its advice.
struct SettingAdvice {
    name: &'static str,
    /// Which number of the value is meant, from 0.
    field_index: usize,
    bound: SettingBound,
    /// Why it matters.
    why: &'static str,
}

/// The advised bound.
#[derive(Clone, Copy)]
enum SettingBound {
    AtLeast(u64),
    AtMost(u64),
}

/// Default buffers limit the data in flight on a connection.
const WINDOW: &str = "it limits the data in flight on a connection";

const fn at_least(name: &'static str, value: u64, why: &'static str) -> SettingAdvice {
    SettingAdvice {
        name,
        field_index: 0,
        bound: SettingBound::AtLeast(value),
        why,
    }
}

/// For all drivers that use the network.
const BUFFERS: &[SettingAdvice] = &[
    at_least("net.core.rmem_default", 131_071, WINDOW),
    at_least("net.core.rmem_max", 131_071, WINDOW),
    at_least("net.core.wmem_default", 131_071, WINDOW),
    at_least("net.core.wmem_max", 131_071, WINDOW),
];

/// For interfaces of ten gigabits and more. The defaults of Linux, 6 MiB and 4 MiB, limit no slower
/// one: that is the data of 30 ms at 1 Gbit/s.
const FAST: &[SettingAdvice] = &[
    SettingAdvice {
        field_index: 2,
        ..at_least("net.ipv4.tcp_rmem", 8_388_608, WINDOW)
    },
    SettingAdvice {
        field_index: 2,
        ..at_least("net.ipv4.tcp_wmem", 8_388_608, WINDOW)
    },
    at_least(
        "net.core.netdev_max_backlog",
        300_000,
        "packets that arrive faster than they are processed are dropped",
    ),
];

/// Procs with a connection each from which on the ports of closed connections may run short: Linux
/// has 28,232 ports for connections.
const PORTS_MATTER: u64 = 1_000;

/// For the driver with a connection per proc.
const FIN_TIMEOUT: SettingAdvice = SettingAdvice {
    name: "net.ipv4.tcp_fin_timeout",
    field_index: 0,
    bound: SettingBound::AtMost(5),
    why: "the ports of closed connections can be used again only after that many seconds",
};

/// One check for each setting that is not as advised, or one for all.
pub(super) fn judge(client: &Client<'_>) -> Vec<Check> {
    let name = client.name;
    let advice = advice_for(client);
    if advice.is_empty() {
        let sentence = "the network is not measured: its settings do not matter";
        return vec![Check::ok(name, "sysctl", sentence)];
    }
    let checked = advice
        .iter()
        .filter(|a| client.facts.sysctls.contains_key(a.name));
    let checked = checked.count();
    let mut checks: Vec<Check> = advice.iter().filter_map(|a| deviation(client, a)).collect();
    checks.extend(slots(client));
    if checks.is_empty() {
        let unreadable = match advice.len() - checked {
            0 => String::new(),
            unreadable => format!(" ({unreadable} more cannot be read there)"),
        };
        let sentence = format!(
            "{checked} network settings are at the advised values or better ({SOURCE}){unreadable}"
        );
        checks.push(Check::ok(name, "sysctl", sentence));
    }
    checks
}

fn advice_for<'a>(client: &Client<'_>) -> Vec<&'a SettingAdvice> {
    let mounts = &client.facts.mounts;
    let remote = mounts
        .iter()
        .any(|m| m.mounted.as_ref().is_ok_and(MountEntry::is_remote));
    let facts = client.driver.facts();
    let is_used = match facts.target {
        Target::Mounted => remote,
        Target::Server => true,
        Target::Nothing => false,
    };
    let per_proc = facts.connections == Some(Connections::PerProc);
    let mut advice: Vec<&SettingAdvice> = Vec::new();
    if is_used {
        advice.extend(BUFFERS);
        if client.facts.nic_mbps.is_some_and(|m| m >= FAST_MBPS) {
            advice.extend(FAST);
        }
    }
    if per_proc && client.needs.proc_count >= PORTS_MATTER {
        advice.push(&FIN_TIMEOUT);
    }
    advice
}

fn deviation(client: &Client<'_>, advice: &SettingAdvice) -> Option<Check> {
    let value = client.facts.sysctls.get(advice.name)?;
    let numbers: Vec<&str> = value.split(' ').collect();
    let found: u64 = numbers.get(advice.field_index)?.parse().ok()?;
    let (wanted, bound) = match advice.bound {
        SettingBound::AtLeast(least) if found < least => (least, "at least"),
        SettingBound::AtMost(most) if found > most => (most, "at most"),
        SettingBound::AtLeast(_) | SettingBound::AtMost(_) => return None,
    };
    // The other numbers of the value do not change.
    let mut fixed: Vec<String> = numbers.iter().map(|w| (*w).to_owned()).collect();
    fixed[advice.field_index] = wanted.to_string();
    let sentence = format!(
        "{} is {value}; set it to {bound} {wanted} ({SOURCE}): {}",
        advice.name, advice.why
    );
    let command = match fixed.as_slice() {
        [one] => format!("sudo sysctl -w {}={}", advice.name, quote(one)),
        many => format!("sudo sysctl -w {}={}", advice.name, quote(&many.join(" "))),
    };
    Some(Check::warning(client.name, "sysctl", sentence).fix(command))
}

/// Newer kernels add slots up to a limit of their own.
fn slots(client: &Client<'_>) -> Option<Check> {
    const SLOT_TABLE: &str = "sunrpc.tcp_slot_table_entries";
    let mounts = &client.facts.mounts;
    mounts
        .iter()
        .find(|m| m.mounted.as_ref().is_ok_and(MountEntry::is_kernel_nfs))?;
    let number = |name: &str| client.facts.sysctls.get(name)?.parse::<u64>().ok();
    let now = number(SLOT_TABLE)?;
    let most = number("sunrpc.tcp_max_slot_table_entries").unwrap_or(now);
    if now.max(most) >= SLOTS {
        return None;
    }
    let sentence = format!(
        "{SLOT_TABLE} is {now} and may grow to {most}; set it to {SLOTS} or more ({SOURCE}): it limits the requests in flight of an NFS mount"
    );
    let command = format!("sudo sysctl -w {SLOT_TABLE}={SLOTS}");
    Some(Check::warning(client.name, "sysctl", sentence).fix(command))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{HealthyClient, mounted};
    use super::*;
    use crate::preflight::check::CheckStatus;
    use filermark_model::plan::DriverPlan;
    use filermark_model::plan::PosixPlan;

    fn with(made: &mut HealthyClient, settings: &[(&str, &str)]) {
        let own = settings
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        made.facts.sysctls = own.collect();
    }

    #[test]
    fn low_settings_are_reported_with_command_and_source() {
        let mut made = HealthyClient::new();
        with(
            &mut made,
            &[
                ("net.core.rmem_max", "212992"),
                ("net.core.wmem_max", "65536"),
                ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
                ("net.ipv4.tcp_fin_timeout", "60"),
                ("net.core.netdev_max_backlog", "1000"),
            ],
        );
        // Few connections leave enough ports.
        assert_eq!(judge(&made.client()).len(), 1);
        made.needs.proc_count = PORTS_MATTER;
        let checks = judge(&made.client());
        let commands: Vec<_> = checks.iter().filter_map(|c| c.command.as_deref()).collect();
        assert_eq!(
            commands,
            [
                "sudo sysctl -w net.core.wmem_max=131071",
                "sudo sysctl -w net.ipv4.tcp_fin_timeout=5",
            ]
        );
        assert!(checks.iter().all(|c| c.verdict == CheckStatus::Warning));
        assert!(checks.iter().all(|c| c.sentence.contains("(slides E)")));
        // A fast interface needs more.
        made.facts.nic_mbps = Some(25_000);
        let checks = judge(&made.client());
        let of_rmem = "sudo sysctl -w net.ipv4.tcp_rmem='4096 131072 8388608'";
        assert_eq!(checks.len(), 4);
        assert_eq!(checks[1].command.as_deref(), Some(of_rmem));
    }

    #[test]
    fn only_settings_of_the_driver_are_checked() {
        let mut made = HealthyClient::new();
        made.driver = DriverPlan::Posix(PosixPlan::default());
        made.facts.mounts = vec![mounted("ext4", "/dev/vda1", "/mnt/a")];
        with(&mut made, &[("net.core.wmem_max", "1")]);
        let checks = judge(&made.client());
        assert_eq!((checks.len(), checks[0].verdict), (1, CheckStatus::Ok));
        made.facts.mounts = vec![mounted("nfs4", "nas:/vol", "/mnt/a")];
        let fin = [
            ("net.ipv4.tcp_fin_timeout", "60"),
            ("net.core.wmem_max", "1"),
        ];
        with(&mut made, &fin);
        let checks = judge(&made.client());
        assert_eq!(checks.len(), 1, "{checks:?}");
        assert!(checks[0].sentence.contains("wmem_max"));
    }

    #[test]
    fn slots_matter_only_if_the_kernel_cannot_add_more() {
        let mut made = HealthyClient::new();
        made.driver = DriverPlan::Posix(PosixPlan::default());
        made.facts.mounts = vec![mounted("nfs", "nas:/vol", "/mnt/a")];
        let slot = "sunrpc.tcp_slot_table_entries";
        with(
            &mut made,
            &[(slot, "2"), ("sunrpc.tcp_max_slot_table_entries", "65536")],
        );
        assert_eq!(judge(&made.client())[0].verdict, CheckStatus::Ok);
        with(&mut made, &[(slot, "16")]);
        let check = judge(&made.client()).remove(0);
        assert_eq!(check.verdict, CheckStatus::Warning);
        assert_eq!(
            check.command.as_deref(),
            Some("sudo sysctl -w sunrpc.tcp_slot_table_entries=128")
        );
    }
}
