//! What runs that died have left on servers and clients: found and removed by agents,
//! for `stop`.

use crate::agents::{Agents, Heard, OrderError};
use crate::identity;
use crate::message::{Order, Report, Share};
use crate::switchboard::Switchboard;
use crate::waves::waves;

pub use crate::sweep::run_id_front;

use filermark_engine::driver::StopFlag;
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_model::launch::{LaunchPlan, OnLost};
use filermark_model::{Nanos, RunPlan};

/// Longest time for removing what a run left.
const SWEEP_MAX: Nanos = Nanos::from_secs(4 * 3600);

/// What was found on one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The client's name.
    pub client: String,
    /// Objects that were removed.
    pub removed_count: u64,
    /// What stays, and why; one sentence each.
    pub left: Vec<String>,
}

/// Removes what runs with this suffix have left on the mount points of the plan's
/// clients. Only directories with our marker that name a run whose identity begins
/// with `run_id`, and in them only names of ours.
pub fn sweep_leftovers(
    plan: &RunPlan,
    launch: &LaunchPlan,
    suffix: &str,
    run_id: &str,
    board: Box<dyn Switchboard>,
    stop: StopFlag,
) -> Vec<Swept> {
    let mut all: Vec<Swept> = launch.hosts.iter().map(nothing_on).collect();
    let mut agents = Agents::new(board, launch, identity::own_hello(), stop);
    if let Err(OrderError::Stopped) = agents.greet(launch.start_timeout, &mut |_, _| {}) {
        agents.dismiss();
        return all;
    }
    let order = |client: usize| {
        Order::Sweep(Share {
            plan: Box::new(plan.for_client(client)),
            client: client as u32,
            dir_name: format!("{RUN_DIR_PREFIX}{suffix}"),
            run_id: run_id.to_owned(),
        })
    };
    for wave in waves(plan) {
        let living = agents.living();
        let who: Vec<usize> = wave.into_iter().filter(|at| living.contains(at)).collect();
        if who.is_empty() {
            continue;
        }
        let done = agents.order(
            &who,
            &order,
            SWEEP_MAX,
            OnLost::Continue,
            &mut |_, heard| {
                if let Heard::Answer(at, Report::Cleaned { tasks, left_behind }) = heard {
                    all[at].removed_count = tasks.task_count;
                    all[at].left = left_behind;
                }
            },
        );
        if done == Err(OrderError::Stopped) {
            break;
        }
    }
    for loss in agents.losses() {
        all[loss.agent].left.push(loss.reason.clone());
    }
    agents.dismiss();
    all
}

fn nothing_on(host: &filermark_model::launch::HostPlan) -> Swept {
    Swept {
        client: host.client.clone(),
        removed_count: 0,
        left: Vec::new(),
    }
}
