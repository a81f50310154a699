//! Preflight: whether a run will do, looked at before it is made.
//!
//! The prime looks at names, SSH and its own host, starts the agents as a run does,
//! has each look at its own ([`filermark_link::facts`]), lays probe files to see whether all have the
//! same file systems, and judges. Looking and judging are apart: `look` says what
//! is, `judge` what it means, in lines ([`check`]). Nothing stays on any host.

pub mod check;
mod judge;
mod needs;
mod probe;
mod probes;
mod text;

pub use text::text;

use crate::launch::ssh::SshClient;
use check::{Check, Findings, PRIME};
use filermark_engine::driver::StopFlag;
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_engine::parallel::each_within;
use filermark_link::agents::{Agents, Heard, OrderError};
use filermark_link::facts::{InspectFacts, InspectRequest};
use filermark_link::identity;
use filermark_link::links::AgentLinks;
use filermark_link::message::{Order, Report};
use filermark_link::own_host::names;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind, OnLost};
use filermark_model::secret::Secret;
use filermark_model::{Nanos, RunPlan};
use judge::names::ClientRoute;
use judge::{ClientReport, ProbeResult};
use std::path::PathBuf;
use std::time::Duration;

/// How long agents may take to look at their hosts: a mount that hangs and a server
/// that does not answer have limits of their own below this.
const INSPECT_MAX: Nanos = Nanos::from_secs(120);
/// How long names and SSH of all clients may take together, beside a time per client.
const APPROACH_MAX: Duration = Duration::from_secs(90);
/// ... which is this.
const APPROACH_EACH: Duration = Duration::from_secs(3);

/// Begins to start the agents of these hosts.
pub type StartAgents<'a> = &'a mut dyn FnMut(&LaunchPlan) -> Result<Box<dyn AgentLinks>, String>;

/// What preflight needs besides the plan.
pub struct PreflightOptions<'a> {
    /// The plan.
    pub plan: RunPlan,
    /// Where the agents are to be.
    pub launch: LaunchPlan,
    /// End of the names of the result files, and of the run's directory.
    pub suffix: String,
    /// Directory of the result files.
    pub dir: PathBuf,
    /// What the commands that mend something call the rc file: `-r RC`.
    pub rc: Option<String>,
    /// Raised when the user wishes to stop.
    pub stop: StopFlag,
    /// Starts agents.
    pub board: StartAgents<'a>,
    /// Told what goes on.
    pub observe: &'a mut dyn FnMut(&str),
}

/// Looks at everything that a run will need, and judges it.
pub fn preflight(options: PreflightOptions<'_>) -> Findings {
    Preflight {
        found: options
            .launch
            .hosts
            .iter()
            .map(|_| ClientReport::default())
            .collect(),
        sightings: Vec::new(),
        checks: Vec::new(),
        options,
    }
    .carry_out()
}

struct Preflight<'a> {
    options: PreflightOptions<'a>,
    /// By the clients' numbers in the plan.
    found: Vec<ClientReport>,
    sightings: Vec<ProbeResult>,
    checks: Vec<Check>,
}

impl Preflight<'_> {
    fn carry_out(mut self) -> Findings {
        let facts = probe::prime::look(&self.options.launch, &self.options.dir);
        self.approach();
        if !self.options.stop.is_raised() {
            self.ask_agents();
        }
        let launch = &self.options.launch;
        let lost_count = self
            .found
            .iter()
            .filter(|f| f.lost_reason.is_some())
            .count();
        self.checks
            .extend(judge::prime::judge(&facts, launch, lost_count));
        let clients = judge::clients(&self.options.plan, launch, &self.found, &self.sightings);
        self.checks.extend(clients);
        if let Some(rc) = &self.options.rc {
            let named = format!("-r {rc}");
            for check in &mut self.checks {
                check.sentence = check.sentence.replace("-r RC", &named);
                let command = check.command.take();
                check.command = command.map(|c| c.replace("-r RC", &named));
            }
        }
        let names: Vec<String> = launch.hosts.iter().map(|h| h.client.clone()).collect();
        Findings::new(self.checks, &names, self.options.stop.is_raised())
    }

    /// Names and SSH, all clients side by side. A client that SSH does not reach is not
    /// tried again.
    fn approach(&mut self) {
        let launch = &self.options.launch;
        let elsewhere = |h: &&HostPlan| h.launcher != LauncherKind::Local;
        if launch.hosts.iter().any(|h| elsewhere(&h)) {
            (self.options.observe)("looking up names, knocking at SSH");
        }
        let (client, ip) = (SshClient::of(launch), launch.ip);
        let stop = self.options.stop.clone();
        let limit = APPROACH_MAX + APPROACH_EACH * launch.hosts.len() as u32;
        let approaches = each_within(launch.hosts.clone(), limit, move |host| {
            approach(&client, &host, ip, &stop)
        });
        for (at, approach) in approaches.into_iter().enumerate() {
            let host = &launch.hosts[at];
            let approach = approach.unwrap_or_else(|| ClientRoute {
                ssh: (host.launcher == LauncherKind::Ssh)
                    .then(|| Err(format!("not looked at within {} s", limit.as_secs()))),
                ..ClientRoute::default()
            });
            self.checks.extend(judge::names::judge(host, &approach));
            self.found[at].unreached = matches!(approach.ssh, Some(Err(_)));
        }
    }

    fn ask_agents(&mut self) {
        // The numbers of the clients in the plan, by those of the agents.
        let whom: Vec<usize> = (0..self.found.len())
            .filter(|at| !self.found[*at].unreached)
            .collect();
        if whom.is_empty() {
            return;
        }
        let launch = LaunchPlan {
            hosts: whom
                .iter()
                .map(|at| self.options.launch.hosts[*at].clone())
                .collect(),
            ..self.options.launch.clone()
        };
        let board = match (self.options.board)(&launch) {
            Ok(board) => board,
            Err(reason) => {
                self.checks
                    .push(Check::failure(PRIME, "agents", reason).fix_as_stated());
                return;
            }
        };
        (self.options.observe)("starting agents");
        let stop = self.options.stop.clone();
        let mut agents = Agents::new(board, &launch, identity::own_hello(), stop);
        let greeted = agents.wait_hello(launch.start_timeout, &mut |_, _| {});
        if !matches!(greeted, Err(OrderError::Stopped)) && !agents.living().is_empty() {
            // Whoever is lost here is among the losses.
            let _ = agents.sync_clocks(OnLost::Continue);
            (self.options.observe)("looking at the hosts");
            let asked = self.ask_hosts(&mut agents, &whom);
            if asked.is_ok() {
                self.sightings = probes::compare(&mut agents, &whom, &self.found);
            }
            self.report_errors(asked);
        }
        for loss in agents.losses() {
            self.found[whom[loss.agent]].lost_reason = Some(loss.reason.clone());
        }
        agents.dismiss();
    }

    fn ask_hosts(&mut self, agents: &mut Agents, whom: &[usize]) -> Result<(), OrderError> {
        let plan = &self.options.plan;
        let dir_name = format!("{RUN_DIR_PREFIX}{}", self.options.suffix);
        let order = |agent: usize, log_in: bool| {
            let mut mounts = plan
                .clients
                .get(whom[agent])
                .map_or_else(Vec::new, |c| c.mounts.clone());
            mounts.sort();
            mounts.dedup();
            inspect(InspectRequest::Host {
                driver: Box::new(plan.driver.clone()),
                mounts,
                dir_name: dir_name.clone(),
                log_in,
                password: None,
            })
        };
        let everybody = agents.living();
        // A password that is wrong is tried by one client, not by all.
        let alone = match plan.driver.password().is_some_and(Secret::is_given) {
            true => everybody.len().min(1),
            false => 0,
        };
        let (first, others) = everybody.split_at(alone);
        let found = &mut self.found;
        let mut log_in = true;
        let mut asked = Ok(());
        for group in [first, others] {
            if group.is_empty() || asked.is_err() {
                continue;
            }
            let mut take = |_: Nanos, heard: Heard<'_>| {
                if let Heard::Answer(agent, Report::Inspected(facts)) = heard
                    && let InspectFacts::Host(facts) = *facts
                {
                    found[whom[agent]].facts = Some(*facts);
                }
            };
            let order = |agent: usize| order(agent, log_in);
            asked = agents.order(group, &order, INSPECT_MAX, OnLost::Continue, &mut take);
            let facts = group
                .iter()
                .filter_map(|at| found[whom[*at]].facts.as_ref());
            let mut exports = facts.flat_map(|f| &f.servers).flat_map(|s| &s.exports);
            log_in = alone == 0 || exports.any(|e| e.writable.is_ok());
        }
        for agent in &everybody {
            found[whom[*agent]].clock = agents.clock(*agent);
        }
        asked
    }

    /// What kept agents from answering and is not told as their loss.
    fn report_errors(&mut self, asked: Result<(), OrderError>) {
        if let Err(OrderError::Failed { reason }) = asked {
            self.checks.push(Check::failure(PRIME, "agents", reason));
        }
    }
}

fn inspect(request: InspectRequest) -> Order {
    Order::Inspect(Box::new(request))
}

/// One client's name and SSH.
fn approach(
    client: &SshClient,
    host: &HostPlan,
    ip: filermark_model::plan::IpChoice,
    stop: &StopFlag,
) -> ClientRoute {
    let mut approach = ClientRoute::default();
    if stop.is_raised() {
        return approach;
    }
    match host.launcher {
        LauncherKind::Ssh => {
            let destination = probe::ssh::destination(client, host);
            if destination.jump.is_none() {
                approach.name = Some(names::look(&destination.host_name, ip));
            }
            approach.destination = Some(destination);
            approach.ssh = Some(probe::ssh::answer(client, host, stop));
        }
        LauncherKind::Connect(_) => {
            approach.name = Some(names::look(crate::launch::ssh::bare(&host.client), ip));
        }
        LauncherKind::Local | LauncherKind::Slurm | LauncherKind::Accept => {}
    }
    approach
}

#[cfg(test)]
mod tests;
