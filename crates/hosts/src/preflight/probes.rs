//! Whether clients that use the same path have the same file system: one creates a probe file,
//! the others search for it, and it is removed, by another client if necessary.

use super::inspect;
use super::judge::{ClientReport, ProbeResult};
use filermark_link::agents::{AgentEvent, Agents};
use filermark_link::facts::{InspectFacts, InspectRequest, Probe, ProbeOutcome};
use filermark_link::message::{Order, Report};
use filermark_model::Nanos;
use filermark_model::launch::OnLost;
use std::collections::{BTreeMap, BTreeSet};

/// How long one step may take: each file has a shorter limit.
const STEP_MAX: Nanos = Nanos::from_secs(120);
/// Directories that are compared; a plan may have more.
const DIRS_MAX: usize = 256;

/// A directory that several agents have.
struct SharedDir {
    probe: Probe,
    creator: usize,
    others: Vec<usize>,
    create_error: Option<String>,
    seen: BTreeMap<usize, ProbeOutcome>,
    left: Option<String>,
}

/// Compares the directories of mounted file systems that exist. `plan_numbers` has the clients'
/// numbers in the plan, by those of the agents.
pub(super) fn compare(
    agents: &mut Agents,
    plan_numbers: &[usize],
    found: &[ClientReport],
) -> Vec<ProbeResult> {
    let mut dirs = shared_dirs(&agents.living(), plan_numbers, found);
    if dirs.is_empty() {
        return Vec::new();
    }
    create(agents, &mut dirs);
    find(agents, &mut dirs);
    remove(agents, &mut dirs);
    let probe_result = |dir: SharedDir| ProbeResult {
        dir: dir.probe.dir,
        creator: plan_numbers[dir.creator],
        create_error: dir.create_error,
        seen: dir
            .seen
            .into_iter()
            .map(|(agent, o)| (plan_numbers[agent], o))
            .collect(),
        left: dir.left,
    };
    dirs.into_iter().map(probe_result).collect()
}

fn shared_dirs(living: &[usize], plan_numbers: &[usize], found: &[ClientReport]) -> Vec<SharedDir> {
    let mut have: BTreeMap<&str, Vec<(bool, usize)>> = BTreeMap::new();
    for agent in living {
        let facts = found
            .get(plan_numbers[*agent])
            .and_then(|f| f.facts.as_ref());
        for mount_info in facts.map_or(&[][..], |f| &f.mounts[..]) {
            let Ok(entry) = &mount_info.mounted else {
                continue;
            };
            if entry.unwritable.is_none() {
                let of = have.entry(&mount_info.mount.path).or_default();
                of.push((!entry.is_remote(), *agent));
            }
        }
    }
    let shared = have.into_iter().filter_map(|(dir, mut agents)| {
        // A client that has it over a network creates the file: its mount command helps the
        // others.
        agents.sort();
        let ((_, creator), others) = agents.split_first()?;
        (!others.is_empty()).then_some(())?;
        Some(SharedDir {
            probe: Probe::random(dir)?,
            creator: *creator,
            others: others.iter().map(|(_, agent)| *agent).collect(),
            create_error: None,
            seen: BTreeMap::new(),
            left: None,
        })
    });
    shared.take(DIRS_MAX).collect()
}

/// Sends each agent its probes in one order; returns the results by agent and probe.
fn step(
    agents: &mut Agents,
    tasks: &BTreeMap<usize, Vec<usize>>,
    request: impl Fn(&[usize]) -> Order,
) -> BTreeMap<(usize, usize), ProbeOutcome> {
    let mut outcomes = BTreeMap::new();
    let who: Vec<usize> = tasks.keys().copied().collect();
    if who.is_empty() {
        return outcomes;
    }
    let order = |agent: usize| request(&tasks[&agent]);
    let mut take = |_: Nanos, event: AgentEvent<'_>| {
        let AgentEvent::Answer(agent, Report::Inspected(facts)) = event else {
            return;
        };
        if let InspectFacts::Probes { outcomes: results } = *facts {
            let of = tasks.get(&agent).into_iter().flatten().copied();
            outcomes.extend(
                of.zip(results)
                    .map(|(dir, outcome)| ((agent, dir), outcome)),
            );
        }
    };
    // A lost agent has no outcome; it is among the agents' losses.
    let _ = agents.order(&who, &order, STEP_MAX, OnLost::Continue, &mut take);
    outcomes
}

fn group(pairs: impl Iterator<Item = (usize, usize)>) -> BTreeMap<usize, Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (agent, dir) in pairs {
        groups.entry(agent).or_default().push(dir);
    }
    groups
}

fn probes_of(dirs: &[SharedDir], which: &[usize]) -> Vec<Probe> {
    which.iter().map(|at| dirs[*at].probe.clone()).collect()
}

fn create(agents: &mut Agents, dirs: &mut [SharedDir]) {
    let tasks = group(dirs.iter().enumerate().map(|(at, dir)| (dir.creator, at)));
    let outcomes = step(agents, &tasks, |which| {
        inspect(InspectRequest::CreateProbes {
            probes: probes_of(dirs, which),
        })
    });
    for (at, dir) in dirs.iter_mut().enumerate() {
        dir.create_error = match outcomes.get(&(dir.creator, at)) {
            Some(ProbeOutcome::Done) => None,
            Some(ProbeOutcome::Failed { reason }) => Some(reason.clone()),
            Some(ProbeOutcome::Missing) | None => Some("its agent did not answer".into()),
        };
    }
}

fn find(agents: &mut Agents, dirs: &mut [SharedDir]) {
    let created = dirs
        .iter()
        .enumerate()
        .filter(|(_, d)| d.create_error.is_none());
    let pairs = created.flat_map(|(at, dir)| dir.others.iter().map(move |agent| (*agent, at)));
    let tasks = group(pairs);
    let outcomes = step(agents, &tasks, |which| {
        inspect(InspectRequest::FindProbes {
            probes: probes_of(dirs, which),
        })
    });
    for ((agent, at), outcome) in outcomes {
        dirs[at].seen.insert(agent, outcome);
    }
}

/// The creator removes its file; if it cannot, a client that found the file does.
fn remove(agents: &mut Agents, dirs: &mut [SharedDir]) {
    let mut open: BTreeSet<usize> = (0..dirs.len()).collect();
    for attempt in 0..2 {
        let living = agents.living();
        let remover = |dir: &SharedDir| {
            let finders = dir.seen.iter().filter(|(_, o)| **o == ProbeOutcome::Done);
            let mut candidates =
                std::iter::once(dir.creator).chain(finders.map(|(agent, _)| *agent));
            match attempt {
                0 => candidates.next(),
                _ => candidates.skip(1).find(|agent| living.contains(agent)),
            }
        };
        let pairs = open
            .iter()
            .filter_map(|at| Some((remover(&dirs[*at])?, *at)));
        let tasks = group(pairs.filter(|(agent, _)| living.contains(agent)));
        let outcomes = step(agents, &tasks, |which| {
            inspect(InspectRequest::RemoveProbes {
                probes: probes_of(dirs, which),
            })
        });
        for ((_, at), outcome) in outcomes {
            match outcome {
                ProbeOutcome::Failed { reason } => dirs[at].left = Some(reason),
                ProbeOutcome::Done | ProbeOutcome::Missing => {
                    dirs[at].left = None;
                    open.remove(&at);
                }
            }
        }
    }
    for at in open {
        let dir = &mut dirs[at];
        // A file that was not created need not be removed; an agent also removes its files when
        // it ends.
        if dir.create_error.is_none() && dir.left.is_none() {
            dir.left = Some("its client is lost".into());
        }
    }
}
