//! Files that runs have left on servers and clients because they were killed: agents find
//! and remove them, for `stop`.

use filermark_link::agents::{AgentEvent, Agents, OrderError};
use filermark_link::identity;
use filermark_link::links::AgentLinks;
pub use filermark_link::message::Leftover;
use filermark_link::message::{ClientShare, Order, Report, TaskTotals};
use filermark_link::start_batches::start_batches;

use filermark_engine::driver::StopFlag;
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_model::launch::{LaunchPlan, OnLost};
use filermark_model::secret::Secret;
use filermark_model::{Nanos, RunPlan};
use std::collections::VecDeque;

/// Longest time for removing what a run left.
const SWEEP_MAX: Nanos = Nanos::from_secs(4 * 3600);

/// What was found on one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupReport {
    /// The client's name.
    pub client: String,
    /// Objects that were removed.
    pub removed_count: u64,
    /// What stays, and why.
    pub left: Vec<Leftover>,
}

/// The common beginning of the run IDs of one plan under one suffix.
pub fn run_id_front(suffix: &str, fingerprint: &str) -> String {
    format!("{suffix} {fingerprint} ")
}

/// Removes what runs with this suffix have left on the mount points of the plan's
/// clients: only directories with our marker of a run whose ID begins with `run_id`, and
/// in them only names of ours. Messages about waits go to `report_wait`.
pub fn sweep_leftovers(
    plan: &RunPlan,
    launch: &LaunchPlan,
    suffix: &str,
    run_id: &str,
    board: Box<dyn AgentLinks>,
    stop: StopFlag,
    report_wait: &mut dyn FnMut(&str),
) -> Vec<CleanupReport> {
    let mut all: Vec<CleanupReport> = launch.hosts.iter().map(nothing_on).collect();
    let mut agents = Agents::new(board, launch, identity::own_hello(), stop);
    if let Err(OrderError::Stopped) = agents.wait_hello(launch.start_timeout, &mut |_, _| {}) {
        agents.dismiss();
        return all;
    }
    let order = |client: usize| {
        Order::Sweep(ClientShare {
            plan: Box::new(plan.for_client(client)),
            client: client as u32,
            dir_name: format!("{RUN_DIR_PREFIX}{suffix}"),
            run_id: run_id.to_owned(),
            password: None,
        })
    };
    let mut lockout = LoginGuard::of(plan);
    let mut groups: VecDeque<Vec<usize>> = start_batches(plan).into();
    while let Some(batch) = groups.pop_front() {
        let living = agents.living();
        let mut who: Vec<usize> = batch.into_iter().filter(|at| living.contains(at)).collect();
        if who.is_empty() {
            continue;
        }
        if let Some(why) = lockout.why(launch) {
            who.iter()
                .for_each(|at| all[*at].left.push(Leftover::ours(why.clone())));
            continue;
        }
        if lockout.allows_one_only() && who.len() > 1 {
            groups.push_front(who.split_off(1));
        }
        let done = agents.order(
            &who,
            &order,
            SWEEP_MAX,
            OnLost::Continue,
            &mut |_, event| match event {
                AgentEvent::Answer(at, Report::Cleaned { tasks, left_behind }) => {
                    lockout.add(at, &tasks);
                    all[at].removed_count = tasks.task_count;
                    all[at].left = left_behind;
                }
                AgentEvent::Report(_, Report::Waiting { sentence }) => report_wait(sentence),
                _ => {}
            },
        );
        if done == Err(OrderError::Stopped) {
            break;
        }
    }
    for loss in agents.losses() {
        all[loss.agent]
            .left
            .push(Leftover::ours(loss.reason.clone()));
    }
    agents.dismiss();
    all
}

/// Whether the user can log in. Only one client tries a wrong password, since servers
/// lock accounts after a few failures.
enum LoginGuard {
    /// No login is needed, or one has succeeded.
    None,
    /// No client has tried.
    Untried,
    /// All logins of this client failed.
    Refused(usize),
}

impl LoginGuard {
    fn of(plan: &RunPlan) -> Self {
        match plan.driver.password().is_some_and(Secret::is_given) {
            true => Self::Untried,
            false => Self::None,
        }
    }

    fn allows_one_only(&self) -> bool {
        matches!(self, Self::Untried)
    }

    fn add(&mut self, client: usize, tasks: &TaskTotals) {
        if self.allows_one_only() {
            *self = match tasks.failed_count > 0 && tasks.task_count == 0 {
                true => Self::Refused(client),
                false => Self::None,
            };
        }
    }

    /// Why the other clients do not try.
    fn why(&self, launch: &LaunchPlan) -> Option<String> {
        let Self::Refused(client) = self else {
            return None;
        };
        let name = launch.hosts.get(*client).map_or("", |h| h.client.as_str());
        Some(format!(
            "not tried: client {name} could not log in, and the server may lock the account if all clients try a wrong password"
        ))
    }
}

fn nothing_on(host: &filermark_model::launch::HostPlan) -> CleanupReport {
    CleanupReport {
        client: host.client.clone(),
        removed_count: 0,
        left: Vec::new(),
    }
}
