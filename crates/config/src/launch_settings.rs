//! How client hosts are reached: LAUNCHER and its related parameters.
//!
//! These are not part of the measurement: they are in the launch plan, never in
//! the run plan.

use crate::error::quoted;
use crate::given::Values;
use crate::hosts::{HostWordError, check_host, check_program, check_user, key};
use crate::params::{self, Launcher, Param};
use crate::reading::Reading;
use crate::sources::Host;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::plan::{ClientPlan, IpChoice};
use filermark_model::{Finding, Nanos, Rule, Severity};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The parameters, read before the clients are known.
pub(crate) struct LaunchSettings {
    launcher: Launcher,
    agent_port: u16,
    everywhere: HostLogin,
    /// Without its hosts.
    plan: LaunchPlan,
}

/// The user and the program of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostLogin {
    pub user: Option<String>,
    pub program: Option<String>,
}

/// Settings of single clients, by [`key`].
pub(crate) type HostLogins = HashMap<String, HostLogin>;

impl LaunchSettings {
    /// Reads the parameters; `ip` is the address family for the connections to the clients.
    pub fn read(r: &mut Reading<'_>, ip: IpChoice) -> Self {
        let values = r.values;
        let launcher = values.get(&params::LAUNCHER);
        let everywhere = HostLogin {
            user: checked(r, &params::USER, check_user),
            program: checked(r, &params::EXEC_PATH, check_program),
        };
        let plan = LaunchPlan {
            hosts: Vec::new(),
            ssh_command: command(r, &params::SSH_COMMAND),
            srun_command: command(r, &params::SRUN_COMMAND),
            ip,
            install: values.get(&params::INSTALL),
            agents_dir: agents_dir(r),
            on_lost: values.get(&params::ON_LOST),
            listen: listen(r, launcher),
            prime_address: checked(r, &params::PRIME_ADDRESS, check_address)
                .map(|address| bare(&address).to_owned()),
            secret_file: secret_file(r, launcher),
            start_timeout: Nanos::from_secs_f64(values.get(&params::START_TIMEOUT)),
        };
        Self {
            launcher,
            agent_port: values.get(&params::AGENT_PORT),
            everywhere,
            plan,
        }
    }

    /// The launch plan for these clients.
    pub fn plan(self, clients: &[ClientPlan], own: &HostLogins, host: &Host) -> LaunchPlan {
        let host_plan = |client: &ClientPlan| {
            let launcher = self.kind(&client.name, host);
            let own = own.get(&key(&client.name));
            let of = |field: fn(&HostLogin) -> &Option<String>| {
                let one = own.and_then(|account| field(account).clone());
                one.or_else(|| field(&self.everywhere).clone())
            };
            // This program is started here as the calling user; Slurm's tasks belong to the
            // user of the allocation; agents that are started by hand are not changed.
            let (user, program) = match launcher {
                LauncherKind::Ssh => (of(|a| &a.user), of(|a| &a.program)),
                LauncherKind::Slurm => (None, of(|a| &a.program)),
                LauncherKind::Local | LauncherKind::Connect(_) | LauncherKind::Accept => {
                    (None, None)
                }
            };
            HostPlan {
                client: client.name.clone(),
                launcher,
                user,
                program,
            }
        };
        LaunchPlan {
            hosts: clients.iter().map(host_plan).collect(),
            ..self.plan
        }
    }

    fn kind(&self, client: &str, host: &Host) -> LauncherKind {
        match self.launcher {
            Launcher::Local => LauncherKind::Local,
            Launcher::Ssh => LauncherKind::Ssh,
            Launcher::Slurm => LauncherKind::Slurm,
            Launcher::Connect => LauncherKind::Connect(self.agent_port),
            Launcher::Accept => LauncherKind::Accept,
            Launcher::Auto if host.is_this_host(client) => LauncherKind::Local,
            Launcher::Auto => LauncherKind::Ssh,
        }
    }
}

/// Findings about a launch plan: parameters that no client uses,
/// hosts that are only names.
pub(crate) fn remarks(values: &Values, plan: &LaunchPlan, host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    let used = [
        (
            &params::EXEC_PATH,
            plan.hosts.iter().any(|h| h.program.is_some()),
        ),
        (&params::USER, plan.hosts.iter().any(|h| h.user.is_some())),
    ];
    for (parameter, is_used) in used {
        if let (Some(given), false) = (values.given(parameter), is_used) {
            let text = format!("{} has no effect here", given.shown());
            findings.push(Finding::new(Rule::NotStandard, Severity::Note, text));
        }
    }
    let elsewhere =
        |h: &HostPlan| h.launcher == LauncherKind::Local && !host.is_this_host(&h.client);
    if plan.hosts.len() > 1 && plan.hosts.iter().any(elsewhere) {
        let text = format!(
            "LAUNCHER=local: {} clients are processes of this one host, good for trying out only",
            plan.hosts.len()
        );
        findings.push(Finding::new(Rule::NotStandard, Severity::Warning, text));
    }
    findings
}

/// The text of a parameter, checked.
fn checked(
    r: &mut Reading<'_>,
    parameter: &Param<Option<String>>,
    check: fn(&str) -> Result<(), HostWordError>,
) -> Option<String> {
    let text = r.values.get(parameter)?;
    match check(&text) {
        Ok(()) => Some(text),
        Err((what, hint)) => {
            let message = format!("{}={} {what}", parameter.name, quoted(&text));
            r.refuse(parameter, message, hint);
            None
        }
    }
}

fn check_address(address: &str) -> Result<(), HostWordError> {
    check_host(bare(address)).map_err(|_| {
        (
            "is neither a host name nor an address".to_owned(),
            "give it without a port, which is that of PRIME_LISTEN".to_owned(),
        )
    })
}

/// An address without its brackets.
fn bare(address: &str) -> &str {
    let inner = address.strip_prefix('[').and_then(|a| a.strip_suffix(']'));
    inner.filter(|a| a.contains(':')).unwrap_or(address)
}

/// A program and its arguments, between blanks.
fn command(r: &mut Reading<'_>, parameter: &Param<Vec<String>>) -> Vec<String> {
    let (values, name) = (r.values, parameter.name);
    let words = values.get(parameter);
    let is_option = words.first().is_some_and(|w| w.starts_with('-'));
    let controls = words.iter().any(|w| w.chars().any(char::is_control));
    if is_option || controls {
        let what = match is_option {
            true => "begins with an option, not with a program",
            false => "has a control character",
        };
        let hint = format!("write {name}=\"program option ...\"");
        r.refuse(parameter, format!("{name} {what}"), hint);
    }
    words
}

fn listen(r: &mut Reading<'_>, launcher: Launcher) -> Option<SocketAddr> {
    let values = r.values;
    let example = "give an address and a port, e.g. PRIME_LISTEN=0.0.0.0:20049 or [::]:20049";
    let Some(text) = values.get(&params::PRIME_LISTEN) else {
        if launcher == Launcher::Accept && !values.is_bad(&params::PRIME_LISTEN) {
            r.refuse(
                &params::LAUNCHER,
                "LAUNCHER=accept waits for agents that connect, and PRIME_LISTEN is not set",
                example,
            );
        }
        return None;
    };
    let (what, hint) = match text.parse::<SocketAddr>() {
        // The port must be known for agents that are started by hand.
        Ok(address) if address.port() == 0 && launcher == Launcher::Accept => (
            "leaves the port open, which agents started by hand must know",
            example,
        ),
        Ok(address) => return Some(address),
        Err(_) => ("is not an address with a port", example),
    };
    let message = format!("PRIME_LISTEN={} {what}", quoted(&text));
    r.refuse(&params::PRIME_LISTEN, message, hint);
    None
}

/// The directory with the programs for other systems; must exist.
fn agents_dir(r: &mut Reading<'_>) -> Option<PathBuf> {
    let (values, sources) = (r.values, r.sources);
    let path = sources.folder().join(values.get(&params::AGENTS_DIR)?);
    if !path.is_dir() {
        let shown = filermark_model::text::sanitize(&path.display().to_string(), 4096);
        r.refuse(
            &params::AGENTS_DIR,
            format!("the directory {shown} does not exist"),
            "put the programs for the clients there, e.g. filermark-linux-aarch64 and filermark-windows-x86_64.exe",
        );
    }
    Some(path)
}

/// The file with the prime's keys; must exist where agents are started by hand.
fn secret_file(r: &mut Reading<'_>, launcher: Launcher) -> Option<PathBuf> {
    let (values, sources) = (r.values, r.sources);
    let needed = matches!(launcher, Launcher::Connect | Launcher::Accept);
    let Some(name) = values.get(&params::SECRET_FILE) else {
        if needed && !values.is_bad(&params::SECRET_FILE) {
            r.refuse(&params::LAUNCHER,
                format!(
                    "LAUNCHER={} needs keys to authenticate both sides, and SECRET_FILE is not set",
                    launcher.name()
                ),
                "make them: filermark agent --make-keys DIR --clients LIST, move DIR/client-NAME.key to each client, set SECRET_FILE=DIR/prime.key",
            );
        }
        return None;
    };
    let path = sources.folder().join(&name);
    if needed && !path.is_file() {
        let shown = filermark_model::text::sanitize(&path.display().to_string(), 4096);
        r.refuse(&params::SECRET_FILE,
            format!("the key file {shown} does not exist"),
            "make the files: filermark agent --make-keys DIR --clients LIST, and move DIR/client-NAME.key to each client",
        );
    }
    Some(path)
}
