//! What runs that died have left on servers and clients: found and removed by agents,
//! for `stop`.

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

/// What the identities of all runs of one plan under one suffix begin with.
pub fn run_id_front(suffix: &str, fingerprint: &str) -> String {
    format!("{suffix} {fingerprint} ")
}

/// Removes what runs with this suffix have left on the mount points of the plan's
/// clients. Only directories with our marker that name a run whose identity begins
/// with `run_id`, and in them only names of ours. For what is waited goes to `tell`.
pub fn sweep_leftovers(
    plan: &RunPlan,
    launch: &LaunchPlan,
    suffix: &str,
    run_id: &str,
    board: Box<dyn AgentLinks>,
    stop: StopFlag,
    tell: &mut dyn FnMut(&str),
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
        if lockout.wants_one() && who.len() > 1 {
            groups.push_front(who.split_off(1));
        }
        let done = agents.order(
            &who,
            &order,
            SWEEP_MAX,
            OnLost::Continue,
            &mut |_, heard| match heard {
                AgentEvent::Answer(at, Report::Cleaned { tasks, left_behind }) => {
                    lockout.add(at, &tasks);
                    all[at].removed_count = tasks.task_count;
                    all[at].left = left_behind;
                }
                AgentEvent::Report(_, Report::Waiting { sentence }) => tell(sentence),
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

/// Whether the user gets in: a wrong password is tried by one client, not by all, for
/// accounts are locked after a few.
enum LoginGuard {
    /// Nobody logs in, or somebody has got in.
    None,
    /// Nobody has tried.
    Untried,
    /// This client did not get in anywhere.
    Met(usize),
}

impl LoginGuard {
    fn of(plan: &RunPlan) -> Self {
        match plan.driver.password().is_some_and(Secret::is_given) {
            true => Self::Untried,
            false => Self::None,
        }
    }

    fn wants_one(&self) -> bool {
        matches!(self, Self::Untried)
    }

    fn add(&mut self, client: usize, tasks: &TaskTotals) {
        if self.wants_one() {
            *self = match tasks.failed_count > 0 && tasks.task_count == 0 {
                true => Self::Met(client),
                false => Self::None,
            };
        }
    }

    /// Why the others do not try.
    fn why(&self, launch: &LaunchPlan) -> Option<String> {
        let Self::Met(client) = self else {
            return None;
        };
        let name = launch.hosts.get(*client).map_or("", |h| h.client.as_str());
        Some(format!(
            "not tried: client {name} did not get in, and a wrong password that everybody tries locks the account"
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
