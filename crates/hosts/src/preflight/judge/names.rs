//! Checks whether clients have one name everywhere, and accept SSH.

use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use crate::preflight::probe::ssh::Destination;
use filermark_link::own_host::names::{ForwardLookup, ReverseLookup};
use filermark_model::launch::{HostPlan, LauncherKind};
use std::net::IpAddr;
use std::time::Duration;

/// What the prime found out about a client's name and SSH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct ClientRoute {
    /// The name that SSH's configuration maps the client's name to.
    pub destination: Option<Destination>,
    /// The lookup of the name; `None`: this host does not look it up.
    pub name: Option<ForwardLookup>,
    /// How long SSH took, or why it failed.
    pub ssh: Option<Result<Duration, String>>,
}

/// One or two checks of a client's name and SSH.
pub(in crate::preflight) fn judge(host: &HostPlan, route: &ClientRoute) -> Vec<Check> {
    let client = host.client.as_str();
    let mut checks = vec![name(host, route)];
    match &route.ssh {
        Some(Ok(took)) => {
            let ms = took.as_millis();
            checks.push(Check::ok(
                client,
                "ssh",
                format!("answers without a password ({ms} ms)"),
            ));
        }
        Some(Err(reason)) => {
            checks.push(Check::failure(client, "ssh", reason.clone()).fix_as_stated());
        }
        None => {}
    }
    checks
}

fn name(host: &HostPlan, route: &ClientRoute) -> Check {
    let client = host.client.as_str();
    let jump = route.destination.as_ref().and_then(|d| d.jump.as_ref());
    if let Some(jump) = jump {
        let sentence = format!("is reached through '{jump}', where its name is looked up");
        return Check::ok(client, "name", sentence);
    }
    let Some(lookup) = &route.name else {
        let sentence = match host.launcher {
            LauncherKind::Local => "is this host",
            LauncherKind::Slurm => "is a Slurm node, whose address Slurm knows",
            LauncherKind::Accept => "connects to the prime; its name is not looked up",
            LauncherKind::Ssh | LauncherKind::Connect(_) => "is not looked up",
        };
        return Check::ok(client, "name", sentence);
    };
    let addresses = match &lookup.addresses {
        Ok(addresses) => addresses,
        Err(reason) => return no_address(client, lookup, reason, route),
    };
    if let Some(line) = &lookup.loopback_line {
        let file = hosts_file(cfg!(windows));
        let sentence = format!(
            "{file} of this host maps it to a loopback address ({line}), so this host would be used in its place: use its own address"
        );
        let check = Check::failure(client, "name", sentence);
        return match cfg!(windows) {
            true => check.fix_as_stated(),
            false => check.fix("${EDITOR:-vi} /etc/hosts"),
        };
    }
    reverse_lookup(client, lookup, addresses)
}

/// The file in which a system looks for host names first.
pub(super) fn hosts_file(is_windows: bool) -> &'static str {
    match is_windows {
        true => r"%SystemRoot%\System32\drivers\etc\hosts",
        false => "/etc/hosts",
    }
}

/// The command that adds a name to that file, on Unix.
pub(super) fn add_address(name: &str) -> String {
    format!(
        "echo {} | sudo tee -a {}",
        quote(&format!("ADDRESS {name}")),
        hosts_file(false)
    )
}

fn no_address(client: &str, lookup: &ForwardLookup, reason: &str, route: &ClientRoute) -> Check {
    if matches!(route.ssh, Some(Ok(_))) {
        let sentence = format!(
            "{} has no address in this host's name service ({reason}), but SSH can reach it",
            lookup.name
        );
        return Check::warning(client, "name", sentence);
    }
    let sentence = format!(
        "{} has no address ({reason}): correct CLIENTS, or add it to the name service, {} or SSH's configuration (HostName)",
        lookup.name,
        hosts_file(cfg!(windows))
    );
    let check = Check::failure(client, "name", sentence);
    match cfg!(windows) {
        true => check.fix_as_stated(),
        false => check.fix(add_address(&lookup.name)),
    }
}

/// Slides E: "the most common problem".
fn reverse_lookup(client: &str, lookup: &ForwardLookup, addresses: &[IpAddr]) -> Check {
    let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let shown = shown.join(", ");
    let is_literal = lookup.name.parse::<IpAddr>().is_ok();
    let mut mismatches = Vec::new();
    let mut known = Vec::new();
    for (address, back) in &lookup.back {
        match back {
            ReverseLookup::Names(names)
                if is_literal || names.iter().any(|n| same(n, &lookup.name)) =>
            {
                known.extend(names.first().cloned());
            }
            ReverseLookup::Names(names) => {
                mismatches.push(format!("{address} resolves to {}", names.join(", ")))
            }
            ReverseLookup::NoName if is_literal => {}
            ReverseLookup::NoName => mismatches.push(format!("{address} resolves to no name")),
            ReverseLookup::Unknown(why) => {
                let sentence = format!("{shown}; the reverse lookup failed ({why})");
                return Check::ok(client, "name", sentence);
            }
        }
    }
    if mismatches.is_empty() {
        let sentence = match (is_literal, known.first()) {
            (true, Some(name)) => format!("{shown} is {name}"),
            (true, None) => format!("{shown}, without a name"),
            (false, _) => format!("{} is {shown}, also in reverse", lookup.name),
        };
        return Check::ok(client, "name", sentence);
    }
    let sentence = format!(
        "{} is {shown}, but {}: a server that exports to host names sees another name, or none; make both lookups agree in the DNS or in {} (slides E)",
        lookup.name,
        mismatches.join("; "),
        hosts_file(cfg!(windows))
    );
    Check::warning(client, "name", sentence)
}

/// Whether two names are the same; a short name equals the first label of a long one.
fn same(a: &str, b: &str) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or("").to_ascii_lowercase();
    let (a, b) = (a.trim_end_matches('.'), b.trim_end_matches('.'));
    let is_short = !a.contains('.') || !b.contains('.');
    a.eq_ignore_ascii_case(b) || (is_short && first(a) == first(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::check::CheckStatus;

    fn ssh_host() -> HostPlan {
        HostPlan {
            launcher: LauncherKind::Ssh,
            ..HostPlan::local("h2".into())
        }
    }

    fn found(name: &str, back: ReverseLookup) -> ClientRoute {
        let address: IpAddr = "10.0.0.2".parse().unwrap();
        ClientRoute {
            name: Some(ForwardLookup {
                name: name.into(),
                addresses: Ok(vec![address]),
                back: vec![(address, back)],
                loopback_line: None,
            }),
            ..ClientRoute::default()
        }
    }

    fn name_check(route: &ClientRoute) -> Check {
        judge(&ssh_host(), route).remove(0)
    }

    #[test]
    fn forward_and_reverse_lookup_must_agree() {
        let back =
            |names: &[&str]| ReverseLookup::Names(names.iter().map(|n| (*n).into()).collect());
        for good in [
            back(&["h2"]),
            back(&["x", "H2.lab"]),
            ReverseLookup::Unknown("?".into()),
        ] {
            assert_eq!(name_check(&found("h2", good)).verdict, CheckStatus::Ok);
        }
        for bad in [back(&["h3.lab"]), back(&["h22"]), ReverseLookup::NoName] {
            let check = name_check(&found("h2", bad));
            assert_eq!(check.verdict, CheckStatus::Warning);
            assert!(check.sentence.contains("(slides E)"), "{}", check.sentence);
        }
        assert!(same("h2.lab", "H2.LAB.") && !same("h2.lab", "h2.other"));
        let literal = name_check(&found("10.0.0.2", ReverseLookup::NoName));
        assert_eq!(literal.verdict, CheckStatus::Ok);
    }

    #[test]
    fn a_name_without_address_or_with_loopback_fails() {
        let mut route = found("h2", ReverseLookup::NoName);
        let lookup = route.name.as_mut().unwrap();
        lookup.loopback_line = Some("127.0.1.1 h2".into());
        let check = name_check(&route);
        assert_eq!(check.verdict, CheckStatus::Failure);
        assert!(check.sentence.contains("127.0.1.1 h2"));
        let lookup = route.name.as_mut().unwrap();
        lookup.addresses = Err("unknown".into());
        assert_eq!(name_check(&route).verdict, CheckStatus::Failure);
        route.ssh = Some(Ok(Duration::from_millis(3)));
        assert_eq!(name_check(&route).verdict, CheckStatus::Warning);
        route.destination = Some(Destination {
            host_name: "h2".into(),
            jump: Some("gate".into()),
        });
        assert_eq!(name_check(&route).verdict, CheckStatus::Ok);
    }

    #[test]
    fn ssh_reports_its_duration_or_the_command_that_fixes_it() {
        let mut route = found("h2", ReverseLookup::Names(vec!["h2".into()]));
        route.ssh = Some(Ok(Duration::from_millis(12)));
        let check = judge(&ssh_host(), &route).remove(1);
        assert_eq!(check.sentence, "answers without a password (12 ms)");
        route.ssh = Some(Err("denied; `filermark keys -r RC` sets it up".into()));
        let check = judge(&ssh_host(), &route).remove(1);
        assert_eq!(check.verdict, CheckStatus::Failure);
        assert_eq!(check.command.as_deref(), Some("filermark keys -r RC"));
        let local = judge(&HostPlan::local("here".into()), &ClientRoute::default());
        assert_eq!((local.len(), local[0].verdict), (1, CheckStatus::Ok));
    }
}
