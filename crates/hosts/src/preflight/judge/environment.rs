//! Checks of a client's environment: processor, virtual machine, firewall, SELinux, other load.

use super::client::Client;
use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use filermark_link::facts::FirewallFacts;
use filermark_model::launch::LauncherKind;
use filermark_model::units::counted;

/// Other processes that use more than this share of all cores cause a warning `[own]`.
const OTHERS_SHARE_MAX: f64 = 0.10;
/// A load average above this share of the cores causes a warning `[own]`.
const LOAD_SHARE_MAX: f64 = 0.25;
/// ... but not below this.
const LOAD_MIN: f64 = 1.0;

/// What the files of Linux's kernel show; on other systems one line says that it is not known.
pub(super) fn of_kernel(client: &Client<'_>) -> Vec<Check> {
    if !client.facts.environment.may_have_proc() {
        let sentence = "not checked, since this is known on Linux only: frequency scaling, virtual \
             machine, packet filter, other load";
        return vec![Check::ok(client.name, "system", sentence)];
    }
    let mut checks = vec![cpu(client), machine(client), firewall(client)];
    checks.extend(selinux(client));
    checks.push(load(client));
    checks
}

/// The frequency governors of the processors.
fn cpu(client: &Client<'_>) -> Check {
    let (name, governors) = (client.name, &client.facts.governors);
    match governors.as_slice() {
        [] => Check::ok(name, "cpu", "no frequency scaling"),
        [one] if one == "performance" => Check::ok(name, "cpu", "governor performance"),
        others => {
            let sentence = format!(
                "governor {}: processors that reduce their frequency between operations increase latencies (netmist's manual requires power saving to be off)",
                others.join(", ")
            );
            Check::warning(name, "cpu", sentence).fix("sudo cpupower frequency-set -g performance")
        }
    }
}

/// A virtual machine's clock may run unevenly.
fn machine(client: &Client<'_>) -> Check {
    let (name, environment) = (client.name, &client.facts.environment);
    if environment.virtualization.is_empty() {
        return Check::ok(name, "machine", "no virtual machine detected");
    }
    let what = environment.virtualization.trim_start_matches("yes").trim();
    let what = format!("a virtual machine {what}").trim_end().to_owned();
    if client.has_clock_service {
        let sentence = format!("{what}; its clock will be compared with the time service");
        return Check::ok(name, "machine", sentence);
    }
    let sentence = format!(
        "{what}: its clock may run unevenly and other machines may use its processors; PIT_SERVER compares the clock with that of another machine (`filermark clock` there)"
    );
    Check::warning(name, "machine", sentence).fix("filermark clock")
}

/// SELinux is not changed; the message names the command that shows denials.
fn selinux(client: &Client<'_>) -> Option<Check> {
    let mode = match client.facts.selinux_enforcing? {
        true => "enforcing",
        false => "permissive",
    };
    let sentence =
        format!("{mode}; it can stay enabled (`ausearch -m avc -ts recent` shows what it denied)");
    Some(Check::ok(client.name, "selinux", sentence))
}

/// Other load on the host.
fn load(client: &Client<'_>) -> Check {
    let (name, load) = (client.name, &client.facts.load);
    let cores = f64::from(client.facts.environment.core_count.max(1));
    let average = client.facts.environment.load_average;
    let mut found = format!("load average {average:.2} on {cores} cores");
    if let Some(busy) = load.busiest.as_ref().filter(|b| b.percent >= 1.0) {
        found += &format!(
            "; busiest other process during the check: {} (pid {}), {:.2} of {cores} cores",
            busy.name,
            busy.pid,
            (busy.percent / 100.0).min(cores)
        );
    }
    let others = load.others_percent > cores * 100.0 * OTHERS_SHARE_MAX;
    if !others && average <= (cores * LOAD_SHARE_MAX).max(LOAD_MIN) {
        return Check::ok(name, "load", found);
    }
    let sentence = format!(
        "{found}: other load uses resources that the measurement needs; stop the other programs, or measure when the host is idle (`top -b -n 1 -o %CPU | head -15` shows them)"
    );
    Check::warning(name, "load", sentence).fix_as_stated()
}

/// Rules of a packet filter that may block the run's connections. The filter stays enabled.
fn firewall(client: &Client<'_>) -> Check {
    let (name, rules) = (client.name, &client.facts.firewall);
    let ports = match client.host.launcher {
        LauncherKind::Local => "the agent needs no port".to_owned(),
        LauncherKind::Ssh => "over SSH no other port has to be open".to_owned(),
        LauncherKind::Connect(port) => format!("port {port} is open, the agent was reached"),
        LauncherKind::Slurm | LauncherKind::Accept => {
            "the agent can connect to the prime".to_owned()
        }
    };
    if let Some(why) = &rules.unreadable {
        let sentence = format!("its rules are not known ({why}); {ports}");
        return Check::ok(name, "firewall", sentence);
    }
    if rules.rule_count == 0 && !rules.may_drop() {
        return Check::ok(name, "firewall", format!("no rules; {ports}"));
    }
    let found = rules_text(rules);
    let unreached: Vec<&str> = client
        .facts
        .servers
        .iter()
        .filter(|s| s.services.iter().any(|s| s.connected_us.is_err()))
        .map(|s| s.host.as_str())
        .collect();
    if unreached.is_empty() || !rules.may_drop() {
        let sentence = format!("{found}; none blocks the run: {ports}");
        return Check::ok(name, "firewall", sentence);
    }
    let sentence = format!(
        "{found}, and {} cannot be reached: allow outgoing TCP to {}",
        unreached.join(", "),
        client.driver.describe().ports
    );
    match rules.manager.as_deref() {
        Some("ufw") => {
            let command = format!("sudo ufw allow out to {} proto tcp", quote(unreached[0]));
            Check::warning(name, "firewall", sentence).fix(command)
        }
        _ => {
            let sentence = format!("{sentence} (`sudo nft list ruleset` shows the rules)");
            Check::warning(name, "firewall", sentence).fix_as_stated()
        }
    }
}

/// A short description of the rules.
pub(super) fn rules_text(rules: &FirewallFacts) -> String {
    let mut found = counted(rules.rule_count.into(), "rule");
    if rules.drop_rule_count > 0 {
        found += &format!(", {} drop or reject", rules.drop_rule_count);
    }
    if !rules.drop_policies.is_empty() {
        found += &format!("; by default {} drops", rules.drop_policies.join(" and "));
    }
    if let Some(manager) = &rules.manager {
        found += &format!(" ({manager})");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::HealthyClient;
    use super::*;
    use crate::preflight::check::CheckStatus;
    use filermark_link::facts::{BusyProcess, ServerInfo, ServiceInfo};

    #[test]
    fn a_system_without_those_files_is_not_reported_as_in_order() {
        let mut made = HealthyClient::new();
        let names = |made: &HealthyClient| {
            let checks = of_kernel(&made.client());
            checks.into_iter().map(|c| c.what).collect::<Vec<_>>()
        };
        assert_eq!(names(&made), ["cpu", "machine", "firewall", "load"]);
        made.facts.environment.kernel = "Windows 10.0.19041".into();
        assert_eq!(names(&made), ["system"]);
        assert!(
            of_kernel(&made.client())[0]
                .sentence
                .starts_with("not checked")
        );
    }

    #[test]
    fn power_saving_is_reported() {
        let mut made = HealthyClient::new();
        assert_eq!(cpu(&made.client()).verdict, CheckStatus::Ok);
        made.facts.governors = vec!["performance".into()];
        assert_eq!(cpu(&made.client()).verdict, CheckStatus::Ok);
        made.facts.governors.push("powersave".into());
        let check = cpu(&made.client());
        assert_eq!(check.verdict, CheckStatus::Warning);
        assert!(check.command.unwrap().contains("cpupower"));
    }

    #[test]
    fn other_load_is_reported_with_its_name() {
        let mut made = HealthyClient::new();
        made.facts.environment.core_count = 8;
        made.facts.environment.load_average = 1.5;
        assert_eq!(load(&made.client()).verdict, CheckStatus::Ok);
        made.facts.load.others_percent = 95.0;
        made.facts.load.busiest = Some(BusyProcess {
            name: "dd".into(),
            pid: 42,
            percent: 93.0,
        });
        let check = load(&made.client());
        assert_eq!(check.verdict, CheckStatus::Warning);
        assert!(
            check.sentence.contains("dd (pid 42), 0.93 of 8 cores"),
            "{}",
            check.sentence
        );
        made.facts.load.others_percent = 0.0;
        made.facts.environment.load_average = 2.5;
        assert_eq!(load(&made.client()).verdict, CheckStatus::Warning);
    }

    #[test]
    fn a_firewall_is_a_warning_only_if_a_server_is_not_reached() {
        let mut made = HealthyClient::new();
        assert_eq!(firewall(&made.client()).verdict, CheckStatus::Ok);
        made.facts.firewall.rule_count = 3;
        made.facts.firewall.drop_policies = vec!["inet filter output".into()];
        let check = firewall(&made.client());
        assert_eq!(check.verdict, CheckStatus::Ok);
        assert!(
            check.sentence.contains("none blocks the run"),
            "{}",
            check.sentence
        );
        made.facts.servers = vec![ServerInfo {
            host: "nas".into(),
            services: vec![ServiceInfo {
                name: "nfs".into(),
                address: "10.0.0.1:2049".into(),
                connected_us: Err("no answer".into()),
            }],
            exports: Vec::new(),
        }];
        let check = firewall(&made.client());
        assert_eq!(check.verdict, CheckStatus::Warning);
        for word in ["disable", "stop", "off"] {
            assert!(!check.command.as_ref().unwrap().contains(word));
        }
        made.facts.firewall.unreadable = Some("nft: Operation not permitted".into());
        assert_eq!(firewall(&made.client()).verdict, CheckStatus::Ok);
    }

    #[test]
    fn virtual_machines_need_a_time_service_and_selinux_stays_enabled() {
        let mut made = HealthyClient::new();
        assert_eq!(machine(&made.client()).verdict, CheckStatus::Ok);
        made.facts.environment.virtualization = "yes (KVM)".into();
        assert_eq!(machine(&made.client()).verdict, CheckStatus::Warning);
        made.has_clock_service = true;
        assert_eq!(machine(&made.client()).verdict, CheckStatus::Ok);
        assert_eq!(selinux(&made.client()), None);
        made.facts.selinux_enforcing = Some(true);
        let check = selinux(&made.client()).expect("SELinux is reported");
        assert_eq!((check.verdict, check.command), (CheckStatus::Ok, None));
    }
}
