//! Checks whether a client can reach the servers, mount and write.

use super::client::Client;
use super::names::{add_address, hosts_file};
use crate::launch::ssh::quote;
use crate::preflight::check::Check;
use filermark_link::facts::{ExportInfo, ServerInfo};
use filermark_model::Bytes;
use filermark_model::plan::{DriverFacts, MountPoint};

/// A connection that takes longer causes a warning, in microseconds `[own]`: it is not a local
/// network.
const CONNECT_US_MAX: u64 = 20_000;

/// The checks of the servers of one client.
pub(super) fn judge(client: &Client<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for server in &client.facts.servers {
        checks.push(services(client, server));
        for export in &server.exports {
            checks.push(judge_export(client, server, export));
        }
    }
    checks
}

fn services(client: &Client<'_>, server: &ServerInfo) -> Check {
    let name = client.name;
    let facts = client.driver.facts();
    let transport = facts.transport.unwrap_or_default().name();
    let failed = server
        .services
        .iter()
        .find_map(|s| Some((s, s.connected_us.as_ref().err()?)));
    if let Some((service, reason)) = failed {
        let at = match service.address.as_str() {
            "" => String::new(),
            address => format!(" at {address}"),
        };
        // Without an address no service was contacted.
        let is_unknown = service.name == "name";
        let advice = match is_unknown {
            true => match client.facts.environment.kernel.starts_with("Windows") {
                true => format!("; correct the name, or add it to {}", hosts_file(true)),
                false => String::new(),
            },
            false => advice(&facts, &service.name, transport),
        };
        let sentence = format!("{}: {}{at}: {reason}{advice}", server.host, service.name);
        let command = match is_unknown {
            true => add_address(&server.host),
            false => command(facts.service_command, &server.host, &service.address),
        };
        let check = Check::failure(name, "server", sentence);
        let is_windows = client.facts.environment.kernel.starts_with("Windows");
        return match is_unknown && is_windows {
            true => check.fix_as_stated(),
            false => check.fix(command),
        };
    }
    let reached = server
        .services
        .iter()
        .filter_map(|s| Some((s, *s.connected_us.as_ref().ok()?)));
    let shown = reached.clone().map(|(s, us)| {
        let ms = us as f64 / 1e3;
        format!("{} {} in {ms:.2} ms", s.name, s.address)
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let over = match transport {
        "UDP" => " over UDP",
        _ => "",
    };
    let sentence = format!("{} answers{over}: {shown}", server.host);
    match reached.map(|(_, us)| us).min() {
        Some(us) if us > CONNECT_US_MAX => Check::warning(
            name,
            "server",
            format!("{sentence}: the latency of the connection is part of every response time"),
        ),
        _ => Check::ok(name, "server", sentence),
    }
}

/// Advice for a service that does not answer.
fn advice(facts: &DriverFacts, service: &str, transport: &str) -> String {
    let up = format!("; check that the server is up and that no firewall blocks {transport}");
    let mut more = facts.service_advice.iter();
    match more.find(|(name, _)| *name == service) {
        Some((_, sentence)) => format!("{up}; {sentence}"),
        None => up,
    }
}

/// A command of a driver with the name and port of this server.
fn command(template: &str, host: &str, address: &str) -> String {
    let port = address.rsplit(':').next().unwrap_or_default();
    template
        .replace("{port}", port)
        .replace("{host}", &quote(host))
}

fn judge_export(client: &Client<'_>, server: &ServerInfo, export: &ExportInfo) -> Check {
    let mount_point = MountPoint {
        host: server.host.clone(),
        path: export.path.clone(),
    };
    let mounts = if mount_point.is_share() {
        "opens"
    } else {
        "mounts"
    };
    match &export.writable {
        Ok(true) => {
            let free = export
                .free_bytes
                .map_or(String::new(), |b| format!(", {} free", Bytes(b)));
            let sentence = format!("{mount_point} {mounts} and is writable{free}");
            Check::ok(client.name, "mount", sentence)
        }
        Ok(false) => {
            let user = client.driver.describe().user;
            let facts = client.driver.facts();
            let parameter = facts.user_parameter;
            if facts.has_name_space_root && export.path == "/" {
                let host = &server.host;
                let sentence = format!(
                    "{mount_point} {mounts}, but {user} may not create files there: it is the root of the server's name space, which often has only the exports: name one of them ({host}:/export)"
                );
                return Check::failure(client.name, "mount", sentence);
            }
            let sentence = format!(
                "{mount_point} {mounts}, but {user} may not create files there: change its owner or mode, export it read-write, or set another user ({parameter})"
            );
            Check::failure(client.name, "mount", sentence)
        }
        Err(reason) => {
            let check = Check::failure(client.name, "mount", reason.clone());
            // The list of exports explains no failure of TLS or Kerberos.
            let of_others = ["TLS", "certificate", "Kerberos"];
            let explains = !of_others.iter().any(|word| reason.contains(word));
            match client.driver.facts().export_command.filter(|_| explains) {
                Some(command_template) => check.fix(command(command_template, &server.host, "")),
                None => check,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::HealthyClient;
    use super::*;
    use crate::preflight::check::CheckStatus;
    use filermark_link::facts::ServiceInfo;

    fn server(connected_us: Result<u64, String>, writable: Result<bool, String>) -> Vec<Check> {
        let mut made = HealthyClient::new();
        made.facts.servers = vec![ServerInfo {
            host: "nas".into(),
            services: vec![ServiceInfo {
                name: "nfs".into(),
                address: "10.0.0.1:2049".into(),
                connected_us,
            }],
            exports: vec![ExportInfo {
                path: "/vol".into(),
                writable,
                free_bytes: Some(1 << 30),
            }],
        }];
        judge(&made.client())
    }

    #[test]
    fn servers_are_judged_by_their_replies() {
        let verdicts = |checks: &[Check]| checks.iter().map(|c| c.verdict).collect::<Vec<_>>();
        let good = server(Ok(120), Ok(true));
        assert_eq!(verdicts(&good), [CheckStatus::Ok, CheckStatus::Ok]);
        assert!(
            good[0].sentence.contains("in 0.12 ms"),
            "{}",
            good[0].sentence
        );
        assert!(good[1].sentence.contains("1.0 GiB free"));
        let far = server(Ok(50_000), Ok(false));
        assert_eq!(verdicts(&far), [CheckStatus::Warning, CheckStatus::Failure]);
        let dead = server(Err("refused".into()), Err("refused".into()));
        assert_eq!(
            verdicts(&dead),
            [CheckStatus::Failure, CheckStatus::Failure]
        );
        assert!(dead.iter().all(|c| c.command.is_some()));
        for reason in [
            "no TLS",
            "the server's certificate has expired",
            "Kerberos: no ticket",
        ] {
            let refused = server(Ok(120), Err(reason.into()));
            assert_eq!(refused[1].command, None, "{reason}");
        }
    }
}
