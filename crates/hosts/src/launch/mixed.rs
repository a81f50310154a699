//! The launcher of a run: each client by the method in the plan.

use super::process::LocalLauncher;
use super::ssh::SshLauncher;
use super::tag::RunTag;
use super::{AcceptLauncher, ConnectLauncher, SlurmLauncher};
use crate::programs::HostSystems;
use filermark_link::start::{LaunchedAgent, Launcher};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::time::Duration;

/// Starts agents by the launcher of their hosts.
pub struct MixedLauncher {
    local: LocalLauncher,
    ssh: SshLauncher,
    slurm: SlurmLauncher,
    connect: Option<ConnectLauncher>,
    accept: Option<AcceptLauncher>,
}

impl MixedLauncher {
    /// For the hosts of a plan. If agents connect to the prime, it starts to listen. `log`: the
    /// log filter of agents on this host (RUST_LOG).
    ///
    /// # Errors
    /// A message: no key file, an address that cannot be bound, or an unknown path of this
    /// program.
    pub fn new(plan: &LaunchPlan, tag: &RunTag, log: Option<String>) -> Result<Self, String> {
        let any = |is: fn(&LauncherKind) -> bool| plan.hosts.iter().any(|h| is(&h.launcher));
        let connect = any(|l| matches!(l, LauncherKind::Connect(_)));
        let accept = any(|l| *l == LauncherKind::Accept);
        Ok(Self {
            local: LocalLauncher::new(tag.clone())?.with_log_level(log),
            ssh: SshLauncher::new(plan, tag.clone()),
            slurm: SlurmLauncher::new(plan).of_run(tag),
            connect: connect.then(|| ConnectLauncher::new(plan)).transpose()?,
            accept: accept.then(|| AcceptLauncher::new(plan)).transpose()?,
        })
    }

    /// With what is known about the systems of the hosts.
    pub fn with_systems(mut self, systems: HostSystems) -> Self {
        self.ssh = self.ssh.with_systems(systems);
        self
    }

    /// What the user has to do on clients whose agents are started by hand; a message each.
    pub fn to_do_by_hand(&self, plan: &LaunchPlan) -> Vec<String> {
        let Some(accept) = &self.accept else {
            return Vec::new();
        };
        let hosts = plan.hosts.iter();
        let waited = hosts.filter(|h| h.launcher == LauncherKind::Accept);
        waited
            .map(|h| format!("waiting for {}: {}", h.client, accept.command(&h.client)))
            .collect()
    }
}

impl Launcher for MixedLauncher {
    fn launch(&self, client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let missing = || format!("the launcher '{}' is not set up", host.launcher);
        match host.launcher {
            LauncherKind::Local => self.local.launch(client, host),
            LauncherKind::Ssh => self.ssh.launch(client, host),
            LauncherKind::Slurm => self.slurm.launch(client, host),
            LauncherKind::Connect(_) => {
                let connect = self.connect.as_ref().ok_or_else(missing)?;
                connect.launch(client, host)
            }
            LauncherKind::Accept => {
                let accept = self.accept.as_ref().ok_or_else(missing)?;
                accept.launch(client, host)
            }
        }
    }

    fn give_up(&self, limit: Duration) {
        self.slurm.give_up(limit);
    }
}
