//! The configuration of the user's SSH client for a host, and whether the host accepts this
//! user without prompts.

use crate::admin::HostLimits;
use crate::admin::remote::{self, RemoteError};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{SshClient, bare};
use filermark_engine::driver::StopFlag;
use filermark_model::launch::HostPlan;
use std::time::{Duration, Instant};

/// How long a host may take to answer; ssh's own limit of the connection is 10 s.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The destination in SSH's configuration for a client's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::preflight) struct Destination {
    /// The name or address that is looked up.
    pub host_name: String,
    /// The jump host that looks the name up; or the command that makes the connection.
    pub jump: Option<String>,
}

/// Queries ssh. If it does not answer, the name is used unchanged.
pub(in crate::preflight) fn destination(client: &SshClient, host: &HostPlan) -> Destination {
    let output = client.configuration(host).unwrap_or_default();
    destination_in(&output, bare(&host.client))
}

fn destination_in(configuration: &str, name: &str) -> Destination {
    let value = |key: &str| {
        let found = configuration
            .lines()
            .find_map(|l| l.strip_prefix(key)?.strip_prefix(' '));
        found.filter(|v| !v.is_empty() && *v != "none")
    };
    Destination {
        host_name: value("hostname").unwrap_or(name).to_owned(),
        jump: value("proxyjump")
            .or(value("proxycommand"))
            .map(str::to_owned),
    }
}

/// How long the host took to run a command that does nothing; or why it did not, with advice.
/// There are no prompts, and no unknown host key is accepted.
pub(in crate::preflight) fn answer(
    client: &SshClient,
    host: &HostPlan,
    stop: &StopFlag,
) -> Result<Duration, String> {
    let limits = HostLimits {
        inspect: ANSWER_MAX,
        stop: stop.clone(),
        ..HostLimits::default()
    };
    let began = Instant::now();
    match remote::try_login(client, host, &limits) {
        Ok(reply) if reply.exit == ProcessExit::Code(0) => Ok(began.elapsed()),
        Ok(reply) => Err(reply
            .meaning
            .unwrap_or_else(|| format!("ssh ended with {:?} and no message", reply.exit))),
        Err(RemoteError::Failed(why)) => Err(why),
        Err(RemoteError::Stopped) => Err("stopped on request".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_is_read_from_the_configuration() {
        let text = "host h2\nuser root\nhostname 10.0.0.2\nport 22\nproxyjump none\n";
        let plain = destination_in(text, "h2");
        assert_eq!((plain.host_name.as_str(), plain.jump), ("10.0.0.2", None));
        let jump = destination_in("hostname node7\nproxyjump gate\n", "h2");
        assert_eq!(jump.jump.as_deref(), Some("gate"));
        let command = destination_in("hostname x\nproxycommand nc -X 5 %h %p\n", "h2");
        assert_eq!(command.jump.as_deref(), Some("nc -X 5 %h %p"));
        assert_eq!(destination_in("", "h2").host_name, "h2");
    }

    #[cfg(unix)]
    #[test]
    fn an_ssh_that_fails_is_reported() {
        let mut plan = filermark_model::launch::LaunchPlan::local(["h".to_owned()]);
        let host = plan.hosts[0].clone();
        let stop = StopFlag::new();
        plan.ssh_command = vec!["sh".into(), "-c".into(), "exit 0".into()];
        assert!(answer(&SshClient::of(&plan), &host, &stop).is_ok());
        plan.ssh_command[2] = "echo 'root@h: Permission denied (publickey).' >&2; exit 255".into();
        let why = answer(&SshClient::of(&plan), &host, &stop).expect_err("denied");
        assert!(why.contains("filermark keys"), "{why}");
        plan.ssh_command = vec!["no-such-ssh".into()];
        let client = SshClient::of(&plan);
        assert!(answer(&client, &host, &stop).is_err());
        assert_eq!(destination(&client, &host).host_name, "h");
        plan.ssh_command = vec!["sleep".into(), "60".into()];
        stop.raise();
        let began = Instant::now();
        assert!(answer(&SshClient::of(&plan), &host, &stop).is_err());
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
