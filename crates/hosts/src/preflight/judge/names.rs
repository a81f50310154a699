//! Whether clients are known by one name everywhere, and let SSH in.

use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use crate::preflight::probe::ssh::Destination;
use filermark_link::own_host::names::{ForwardLookup, ReverseLookup};
use filermark_model::launch::{HostPlan, LauncherKind};
use std::net::IpAddr;
use std::time::Duration;

/// What the prime found out about the way to a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct ClientRoute {
    /// Where SSH's configuration sends its name.
    pub destination: Option<Destination>,
    /// What the name leads to; `None`: it is not for this host to look up.
    pub name: Option<ForwardLookup>,
    /// How long SSH took; or why it failed.
    pub ssh: Option<Result<Duration, String>>,
}

/// One or two lines about the way to a client.
pub(in crate::preflight) fn judge(host: &HostPlan, approach: &ClientRoute) -> Vec<Check> {
    let client = host.client.as_str();
    let mut checks = vec![name(host, approach)];
    match &approach.ssh {
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

fn name(host: &HostPlan, approach: &ClientRoute) -> Check {
    let client = host.client.as_str();
    let jump = approach.destination.as_ref().and_then(|d| d.jump.as_ref());
    if let Some(jump) = jump {
        let sentence = format!("is reached through '{jump}', which looks its name up");
        return Check::ok(client, "name", sentence);
    }
    let Some(look) = &approach.name else {
        let sentence = match host.launcher {
            LauncherKind::Local => "is this host",
            LauncherKind::Slurm => "is a node of Slurm's, which knows its address",
            LauncherKind::Accept => "comes by itself; its name is not looked up",
            LauncherKind::Ssh | LauncherKind::Connect(_) => "is not looked up",
        };
        return Check::ok(client, "name", sentence);
    };
    let addresses = match &look.addresses {
        Ok(addresses) => addresses,
        Err(reason) => return no_address(client, look, reason, approach),
    };
    if let Some(line) = &look.loopback_line {
        let sentence = format!(
            "/etc/hosts of this host gives it a loopback address ({line}), so that this host would be measured in its place: write its own address there"
        );
        return Check::failure(client, "name", sentence).fix("${EDITOR:-vi} /etc/hosts");
    }
    both_ways(client, look, addresses)
}

fn no_address(client: &str, look: &ForwardLookup, reason: &str, approach: &ClientRoute) -> Check {
    if matches!(approach.ssh, Some(Ok(_))) {
        let sentence = format!(
            "{} has no address by this host's name service ({reason}); SSH finds it all the same",
            look.name
        );
        return Check::warning(client, "name", sentence);
    }
    let sentence = format!(
        "{} has no address ({reason}): correct CLIENTS, or make it known to the name service, to /etc/hosts or to SSH's configuration (HostName)",
        look.name
    );
    Check::failure(client, "name", sentence).fix(format!(
        "echo {} | sudo tee -a /etc/hosts",
        quote(&format!("ADDRESS {}", look.name))
    ))
}

/// Slides E: "the most common problem".
fn both_ways(client: &str, look: &ForwardLookup, addresses: &[IpAddr]) -> Check {
    let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let shown = shown.join(", ");
    let is_literal = look.name.parse::<IpAddr>().is_ok();
    let mut astray = Vec::new();
    let mut known = Vec::new();
    for (address, back) in &look.back {
        match back {
            ReverseLookup::Names(names)
                if is_literal || names.iter().any(|n| same(n, &look.name)) =>
            {
                known.extend(names.first().cloned());
            }
            ReverseLookup::Names(names) => {
                astray.push(format!("{address} leads back to {}", names.join(", ")))
            }
            ReverseLookup::NoName if is_literal => {}
            ReverseLookup::NoName => astray.push(format!("no name leads back from {address}")),
            ReverseLookup::Unknown(why) => {
                let sentence = format!("{shown}; the way back could not be asked ({why})");
                return Check::ok(client, "name", sentence);
            }
        }
    }
    if astray.is_empty() {
        let sentence = match (is_literal, known.first()) {
            (true, Some(name)) => format!("{shown} is {name}"),
            (true, None) => format!("{shown}, without a name"),
            (false, _) => format!("{} is {shown}, and back", look.name),
        };
        return Check::ok(client, "name", sentence);
    }
    let sentence = format!(
        "{} is {shown}, but {}: a server that exports to names knows it by another one, or by none (the Emerald training of 2018 wants both ways to agree)",
        look.name,
        astray.join("; ")
    );
    Check::warning(client, "name", sentence)
}

/// Whether two names are one: a short one is the beginning of the whole one.
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

    fn name_check(approach: &ClientRoute) -> Check {
        judge(&ssh_host(), approach).remove(0)
    }

    #[test]
    fn both_ways_must_agree() {
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
            assert!(check.sentence.contains("Emerald"), "{}", check.sentence);
        }
        assert!(same("h2.lab", "H2.LAB.") && !same("h2.lab", "h2.other"));
        let literal = name_check(&found("10.0.0.2", ReverseLookup::NoName));
        assert_eq!(literal.verdict, CheckStatus::Ok);
    }

    #[test]
    fn a_name_without_address_or_with_loopback_fails() {
        let mut approach = found("h2", ReverseLookup::NoName);
        let look = approach.name.as_mut().unwrap();
        look.loopback_line = Some("127.0.1.1 h2".into());
        let check = name_check(&approach);
        assert_eq!(check.verdict, CheckStatus::Failure);
        assert!(check.sentence.contains("127.0.1.1 h2"));
        let look = approach.name.as_mut().unwrap();
        look.addresses = Err("unknown".into());
        assert_eq!(name_check(&approach).verdict, CheckStatus::Failure);
        approach.ssh = Some(Ok(Duration::from_millis(3)));
        assert_eq!(name_check(&approach).verdict, CheckStatus::Warning);
        approach.destination = Some(Destination {
            host_name: "h2".into(),
            jump: Some("gate".into()),
        });
        assert_eq!(name_check(&approach).verdict, CheckStatus::Ok);
    }

    #[test]
    fn ssh_tells_how_long_it_took_or_what_mends_it() {
        let mut approach = found("h2", ReverseLookup::Names(vec!["h2".into()]));
        approach.ssh = Some(Ok(Duration::from_millis(12)));
        let check = judge(&ssh_host(), &approach).remove(1);
        assert_eq!(check.sentence, "answers without a password (12 ms)");
        approach.ssh = Some(Err("denied; `filermark keys -r RC` sets it up".into()));
        let check = judge(&ssh_host(), &approach).remove(1);
        assert_eq!(check.verdict, CheckStatus::Failure);
        assert_eq!(check.command.as_deref(), Some("filermark keys -r RC"));
        let local = judge(&HostPlan::local("here".into()), &ClientRoute::default());
        assert_eq!((local.len(), local[0].verdict), (1, CheckStatus::Ok));
    }
}
