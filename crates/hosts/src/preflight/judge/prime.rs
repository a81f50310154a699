//! Checks of the prime's host.

use super::environment::rules_text;
use crate::launch::AGENT_PORT;
use crate::launch::ssh::quote;
use crate::preflight::check::{Check, PRIME};
use crate::preflight::probe::prime::{ListenPort, PrimeFacts, ResultDir};
use filermark_link::facts::FirewallFacts;
use filermark_model::Bytes;
use filermark_model::launch::{LaunchPlan, LauncherKind};

/// Descriptors of the prime for each agent: its streams, and those that are open for a short
/// time while it is started.
const FILES_PER_AGENT: u64 = 8;
/// Descriptors of the prime itself.
const FILES_OWN: u64 = 128;
/// Threads and processes for each agent.
const THREADS_PER_AGENT: u64 = 5;
/// Threads and processes of the prime itself.
const THREADS_OWN: u64 = 64;
/// Less free space for results causes a warning `[own]`: a sweep's record has histograms.
const RESULTS_MIN: Bytes = Bytes::from_mib(256);

/// The checks of the prime's host. `lost_count`: agents that should have connected and did not.
pub(in crate::preflight) fn judge(
    facts: &PrimeFacts,
    plan: &LaunchPlan,
    lost_count: usize,
) -> Vec<Check> {
    let mut checks = limits(facts, plan.hosts.len() as u64);
    checks.push(results(&facts.results));
    if let Some(listen_port) = &facts.listen_port {
        checks.extend(judge_listen_port(listen_port, plan, lost_count));
    }
    checks
}

fn limits(facts: &PrimeFacts, agents: u64) -> Vec<Check> {
    let files = FILES_OWN + agents.saturating_mul(FILES_PER_AGENT);
    let threads = THREADS_OWN + agents.saturating_mul(THREADS_PER_AGENT);
    let mut checks = Vec::new();
    checks.push(match facts.limits.open_files_soft {
        Some(limit) if limit < files => {
            let sentence = format!(
                "open files are limited to {limit} in this shell, {agents} agents need {files}"
            );
            Check::failure(PRIME, "files", sentence).fix(format!("ulimit -n {files}"))
        }
        limit => {
            let limit = limit.map_or("any".into(), |l| l.to_string());
            Check::ok(
                PRIME,
                "files",
                format!("{limit} open files allowed, {files} needed"),
            )
        }
    });
    if let Some(limit) = facts.limits.threads.filter(|limit| *limit < threads) {
        let sentence = format!(
            "processes and threads are limited to {limit} for this user, {agents} agents need {threads}"
        );
        checks.push(Check::failure(PRIME, "threads", sentence).fix(format!("ulimit -u {threads}")));
    }
    checks
}

fn results(dir: &ResultDir) -> Check {
    let path = dir.path.display();
    if let Some(reason) = &dir.unwritable {
        let sentence = format!(
            "results cannot be written to {path} ({}: {reason}): choose another directory (-d, WORK_DIR)",
            dir.nearest.display()
        );
        return Check::failure(PRIME, "results", sentence);
    }
    match dir.free_bytes {
        Some(free) if free < RESULTS_MIN.0 => {
            let sentence = format!(
                "only {} are free for results in {path}: a long sweep with its histograms may need more",
                Bytes(free)
            );
            Check::warning(PRIME, "results", sentence).fix(format!(
                "df -h {}",
                quote(&dir.nearest.display().to_string())
            ))
        }
        free => {
            let free = free.map_or("unknown".into(), |b| Bytes(b).to_string());
            Check::ok(PRIME, "results", format!("{path} is writable, {free} free"))
        }
    }
}

fn judge_listen_port(listen_port: &ListenPort, plan: &LaunchPlan, lost_count: usize) -> Vec<Check> {
    let come = |l: LauncherKind| matches!(l, LauncherKind::Accept | LauncherKind::Slurm);
    let agents = plan.hosts.iter().filter(|h| come(h.launcher)).count();
    let mut checks = vec![listen_port_firewall(
        &listen_port.firewall,
        plan,
        lost_count,
    )];
    if let Some(most) = listen_port.waiting_max.filter(|most| *most < agents as u64) {
        let sentence = format!(
            "net.core.somaxconn is {most}: of {agents} agents that connect at once, some must retry (netmist's manual advises 65536)"
        );
        let command = "sudo sysctl -w net.core.somaxconn=65536";
        checks.push(Check::warning(PRIME, "sysctl", sentence).fix(command));
    }
    checks
}

fn listen_port_firewall(rules: &FirewallFacts, plan: &LaunchPlan, lost_count: usize) -> Check {
    // Slurm's agents get the port that the system chose, unless one is set.
    let is_accept = |h: &filermark_model::launch::HostPlan| h.launcher == LauncherKind::Accept;
    let fallback = plan.hosts.iter().any(is_accept).then_some(AGENT_PORT);
    let port = plan
        .listen
        .map(|a| a.port())
        .or(fallback)
        .filter(|p| *p > 0);
    let shown = port.map_or("the port that PRIME_LISTEN names".into(), |p| {
        format!("port {p}")
    });
    if let Some(why) = &rules.unreadable {
        let sentence = format!("its rules are not known ({why}); {shown} must be open for agents");
        return Check::ok(PRIME, "firewall", sentence);
    }
    if !rules.may_drop() {
        return Check::ok(
            PRIME,
            "firewall",
            "no rule drops packets; agents can connect",
        );
    }
    let found = rules_text(rules);
    if lost_count == 0 {
        let sentence = format!("{found}; none blocks agents: all are connected");
        return Check::ok(PRIME, "firewall", sentence);
    }
    let sentence = format!(
        "{found}, and agents did not connect: {shown} must be open for TCP from the clients"
    );
    let number = port.map_or("PORT".into(), |p| p.to_string());
    let command = match rules.manager.as_deref() {
        Some("firewalld") => format!("sudo firewall-cmd --add-port={number}/tcp"),
        Some("ufw") => format!("sudo ufw allow {number}/tcp"),
        _ => match rules
            .drop_policies
            .iter()
            .find(|c| c.split(' ').count() == 3)
        {
            Some(chain) => {
                // Three words: family, table, chain.
                let chain: Vec<String> = chain.split(' ').map(quote).collect();
                let chain = chain.join(" ");
                format!("sudo nft insert rule {chain} tcp dport {number} accept")
            }
            None => format!("sudo iptables -I INPUT -p tcp --dport {number} -j ACCEPT"),
        },
    };
    Check::warning(PRIME, "firewall", sentence).fix(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::check::CheckStatus;
    use filermark_link::facts::LimitFacts;

    fn plan(hosts: usize, launcher: LauncherKind) -> LaunchPlan {
        let mut plan = LaunchPlan::local((0..hosts).map(|n| format!("h{n}")));
        for host in &mut plan.hosts {
            host.launcher = launcher;
        }
        plan
    }

    fn facts() -> PrimeFacts {
        PrimeFacts {
            limits: LimitFacts {
                open_files_soft: Some(1024),
                open_files_hard: Some(1 << 20),
                threads: Some(4096),
            },
            results: ResultDir {
                path: "result".into(),
                nearest: "/home/x".into(),
                unwritable: None,
                free_bytes: Some(1 << 40),
            },
            listen_port: None,
        }
    }

    #[test]
    fn a_thousand_agents_need_more_files() {
        let few = judge(&facts(), &plan(3, LauncherKind::Ssh), 0);
        assert!(few.iter().all(|c| c.verdict == CheckStatus::Ok), "{few:?}");
        let many = judge(&facts(), &plan(1000, LauncherKind::Ssh), 0);
        let failed: Vec<_> = many
            .iter()
            .filter(|c| c.verdict == CheckStatus::Failure)
            .collect();
        assert_eq!(failed.len(), 2);
        assert_eq!(failed[0].command.as_deref(), Some("ulimit -n 8128"));
    }

    #[test]
    fn results_need_a_writable_directory() {
        let mut found = facts();
        found.results.free_bytes = Some(1 << 20);
        assert_eq!(results(&found.results).verdict, CheckStatus::Warning);
        found.results.unwritable = Some("Permission denied".into());
        assert_eq!(results(&found.results).verdict, CheckStatus::Failure);
    }

    #[test]
    fn the_listen_port_must_be_open_for_agents() {
        let mut found = facts();
        found.listen_port = Some(ListenPort {
            firewall: FirewallFacts {
                rule_count: 1,
                drop_policies: vec!["inet filter input".into()],
                ..FirewallFacts::default()
            },
            waiting_max: Some(1),
        });
        let plan = plan(2, LauncherKind::Accept);
        let came = judge(&found, &plan, 0);
        assert_eq!(came[2].verdict, CheckStatus::Ok, "{came:?}");
        assert_eq!(came[3].what, "sysctl");
        let lost = judge(&found, &plan, 1).remove(2);
        assert_eq!(lost.verdict, CheckStatus::Warning);
        let command =
            format!("sudo nft insert rule inet filter input tcp dport {AGENT_PORT} accept");
        assert_eq!(lost.command, Some(command));
    }
}
