//! Preflight: checks whether a run will succeed, before it begins.
//!
//! The prime checks names, SSH and its own host, starts the agents as a run does, lets each
//! inspect its own host ([`filermark_link::facts`]), creates probe files to find out whether
//! all clients have the same file systems, and evaluates the facts. Collecting and evaluating
//! are separate: `probe` collects facts, `judge` makes checks of them ([`check`]). Nothing
//! remains on any host.

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
use filermark_link::agents::{AgentEvent, Agents, OrderError};
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

/// How long agents may take to inspect their hosts: a mount that hangs and a server that does
/// not answer have shorter limits.
const INSPECT_MAX: Nanos = Nanos::from_secs(120);
/// How long the checks of names and SSH of all clients may take, in addition to a time per
/// client.
const APPROACH_MAX: Duration = Duration::from_secs(90);
/// The time per client.
const APPROACH_EACH: Duration = Duration::from_secs(3);

/// Starts the agents of these hosts.
pub type StartAgents<'a> = &'a mut dyn FnMut(&LaunchPlan) -> Result<Box<dyn AgentLinks>, String>;

/// What preflight needs in addition to the plan.
pub struct PreflightOptions<'a> {
    /// The plan.
    pub plan: RunPlan,
    /// The hosts of the agents.
    pub launch: LaunchPlan,
    /// Suffix of the names of the result files and of the run's directory.
    pub suffix: String,
    /// Directory of the result files.
    pub dir: PathBuf,
    /// The rc file in commands of messages: `-r RC`.
    pub rc: Option<String>,
    /// Raised when the user stops it.
    pub stop: StopFlag,
    /// Starts agents.
    pub board: StartAgents<'a>,
    /// Called with the current step.
    pub observe: &'a mut dyn FnMut(&str),
}

/// Checks everything that a run will need.
pub fn preflight(options: PreflightOptions<'_>) -> Findings {
    Preflight {
        found: options
            .launch
            .hosts
            .iter()
            .map(|_| ClientReport::default())
            .collect(),
        probe_results: Vec::new(),
        checks: Vec::new(),
        options,
    }
    .carry_out()
}

struct Preflight<'a> {
    options: PreflightOptions<'a>,
    /// By the clients' numbers in the plan.
    found: Vec<ClientReport>,
    probe_results: Vec<ProbeResult>,
    checks: Vec<Check>,
}

impl Preflight<'_> {
    fn carry_out(mut self) -> Findings {
        let facts = probe::prime::inspect(&self.options.launch, &self.options.dir);
        self.route_of();
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
        let clients = judge::clients(&self.options.plan, launch, &self.found, &self.probe_results);
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

    /// Names and SSH, all clients in parallel. A client that SSH cannot reach is not tried
    /// again.
    fn route_of(&mut self) {
        let launch = &self.options.launch;
        let elsewhere = |h: &&HostPlan| h.launcher != LauncherKind::Local;
        if launch.hosts.iter().any(|h| elsewhere(&h)) {
            (self.options.observe)("looking up names, testing SSH");
        }
        let (client, ip) = (SshClient::of(launch), launch.ip);
        let stop = self.options.stop.clone();
        let limit = APPROACH_MAX + APPROACH_EACH * launch.hosts.len() as u32;
        let routes = each_within(launch.hosts.clone(), limit, move |host| {
            route_of(&client, &host, ip, &stop)
        });
        for (at, route) in routes.into_iter().enumerate() {
            let host = &launch.hosts[at];
            let route = route.unwrap_or_else(|| ClientRoute {
                ssh: (host.launcher == LauncherKind::Ssh)
                    .then(|| Err(format!("not checked within {} s", limit.as_secs()))),
                ..ClientRoute::default()
            });
            self.checks.extend(judge::names::judge(host, &route));
            self.found[at].unreached = matches!(route.ssh, Some(Err(_)));
        }
    }

    fn ask_agents(&mut self) {
        // The numbers of the clients in the plan, by those of the agents.
        let plan_numbers: Vec<usize> = (0..self.found.len())
            .filter(|at| !self.found[*at].unreached)
            .collect();
        if plan_numbers.is_empty() {
            return;
        }
        let launch = LaunchPlan {
            hosts: plan_numbers
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
        let connected = agents.wait_hello(launch.start_timeout, &mut |_, _| {});
        if !matches!(connected, Err(OrderError::Stopped)) && !agents.living().is_empty() {
            // Agents that are lost here are among the losses.
            let _ = agents.sync_clocks(OnLost::Continue);
            (self.options.observe)("inspecting the hosts");
            let asked = self.ask_hosts(&mut agents, &plan_numbers);
            if asked.is_ok() {
                self.probe_results = probes::compare(&mut agents, &plan_numbers, &self.found);
            }
            self.report_errors(asked);
        }
        for loss in agents.losses() {
            self.found[plan_numbers[loss.agent]].lost_reason = Some(loss.reason.clone());
        }
        agents.dismiss();
    }

    fn ask_hosts(&mut self, agents: &mut Agents, plan_numbers: &[usize]) -> Result<(), OrderError> {
        let plan = &self.options.plan;
        let dir_name = format!("{RUN_DIR_PREFIX}{}", self.options.suffix);
        let order = |agent: usize, log_in: bool| {
            let mut mounts = plan
                .clients
                .get(plan_numbers[agent])
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
        let living = agents.living();
        // A wrong password is tried by one client, not by all.
        let alone = match plan.driver.password().is_some_and(Secret::is_given) {
            true => living.len().min(1),
            false => 0,
        };
        let (first, others) = living.split_at(alone);
        let found = &mut self.found;
        let mut log_in = true;
        let mut asked = Ok(());
        for group in [first, others] {
            if group.is_empty() || asked.is_err() {
                continue;
            }
            let mut take = |_: Nanos, event: AgentEvent<'_>| {
                if let AgentEvent::Answer(agent, Report::Inspected(facts)) = event
                    && let InspectFacts::Host(facts) = *facts
                {
                    found[plan_numbers[agent]].facts = Some(*facts);
                }
            };
            let order = |agent: usize| order(agent, log_in);
            asked = agents.order(group, &order, INSPECT_MAX, OnLost::Continue, &mut take);
            let facts = group
                .iter()
                .filter_map(|at| found[plan_numbers[*at]].facts.as_ref());
            let mut exports = facts.flat_map(|f| &f.servers).flat_map(|s| &s.exports);
            log_in = alone == 0 || exports.any(|e| e.writable.is_ok());
        }
        for agent in &living {
            found[plan_numbers[*agent]].clock = agents.clock(*agent);
        }
        asked
    }

    /// Reports an error of the prime that is not the loss of an agent.
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
fn route_of(
    client: &SshClient,
    host: &HostPlan,
    ip: filermark_model::plan::IpChoice,
    stop: &StopFlag,
) -> ClientRoute {
    let mut route = ClientRoute::default();
    if stop.is_raised() {
        return route;
    }
    match host.launcher {
        LauncherKind::Ssh => {
            let destination = probe::ssh::destination(client, host);
            if destination.jump.is_none() {
                route.name = Some(names::lookup(&destination.host_name, ip));
            }
            route.destination = Some(destination);
            route.ssh = Some(probe::ssh::answer(client, host, stop));
        }
        LauncherKind::Connect(_) => {
            route.name = Some(names::lookup(crate::launch::ssh::bare(&host.client), ip));
        }
        LauncherKind::Local | LauncherKind::Slurm | LauncherKind::Accept => {}
    }
    route
}

#[cfg(test)]
mod tests;
