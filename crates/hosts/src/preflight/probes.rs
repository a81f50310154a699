//! Whether clients that name a directory alike see the same one: one lays a probe
//! file, the others look for it, and it is removed again, by another one if need be.

use super::inspect;
use super::judge::{ClientReport, ProbeResult};
use filermark_link::agents::{Agents, Heard};
use filermark_link::facts::{InspectFacts, InspectRequest, Probe, ProbeOutcome};
use filermark_link::message::{Order, Report};
use filermark_model::Nanos;
use filermark_model::launch::OnLost;
use std::collections::{BTreeMap, BTreeSet};

/// How long one step may take: each file has a limit of its own below this.
const STEP_MAX: Nanos = Nanos::from_secs(120);
/// Directories that are compared: the first ones of a plan with very many.
const DIRS_MAX: usize = 256;

/// A directory that several agents have.
struct SharedDir {
    probe: Probe,
    layer: usize,
    others: Vec<usize>,
    unlaid: Option<String>,
    seen: BTreeMap<usize, ProbeOutcome>,
    left: Option<String>,
}

/// Compares the directories of mounted file systems that were found to be there.
/// `whom` has the clients' numbers in the plan by those of the agents.
pub(super) fn compare(
    agents: &mut Agents,
    whom: &[usize],
    found: &[ClientReport],
) -> Vec<ProbeResult> {
    let mut dirs = shared_dirs(&agents.living(), whom, found);
    if dirs.is_empty() {
        return Vec::new();
    }
    lay(agents, &mut dirs);
    find(agents, &mut dirs);
    remove(agents, &mut dirs);
    let sighting = |dir: SharedDir| ProbeResult {
        dir: dir.probe.dir,
        layer: whom[dir.layer],
        unlaid: dir.unlaid,
        seen: dir
            .seen
            .into_iter()
            .map(|(agent, o)| (whom[agent], o))
            .collect(),
        left: dir.left,
    };
    dirs.into_iter().map(sighting).collect()
}

fn shared_dirs(living: &[usize], whom: &[usize], found: &[ClientReport]) -> Vec<SharedDir> {
    let mut have: BTreeMap<&str, Vec<(bool, usize)>> = BTreeMap::new();
    for agent in living {
        let facts = found.get(whom[*agent]).and_then(|f| f.facts.as_ref());
        for look in facts.map_or(&[][..], |f| &f.mounts[..]) {
            let Ok(there) = &look.mounted else { continue };
            if there.unwritable.is_none() {
                let of = have.entry(&look.mount.path).or_default();
                of.push((!there.is_remote(), *agent));
            }
        }
    }
    let shared = have.into_iter().filter_map(|(dir, mut agents)| {
        // Who has it over a network shows the others what they lack.
        agents.sort();
        let ((_, layer), others) = agents.split_first()?;
        (!others.is_empty()).then_some(())?;
        Some(SharedDir {
            probe: Probe::random(dir)?,
            layer: *layer,
            others: others.iter().map(|(_, agent)| *agent).collect(),
            unlaid: None,
            seen: BTreeMap::new(),
            left: None,
        })
    });
    shared.take(DIRS_MAX).collect()
}

/// Gives each agent its probes in one order; what came of them, by agent and probe.
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
    let mut take = |_: Nanos, heard: Heard<'_>| {
        let Heard::Answer(agent, Report::Inspected(facts)) = heard else {
            return;
        };
        if let InspectFacts::Probes { outcomes: came } = *facts {
            let of = tasks.get(&agent).into_iter().flatten().copied();
            outcomes.extend(of.zip(came).map(|(dir, outcome)| ((agent, dir), outcome)));
        }
    };
    // Whoever is lost has no outcome, and is among the agents' losses.
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

fn lay(agents: &mut Agents, dirs: &mut [SharedDir]) {
    let tasks = group(dirs.iter().enumerate().map(|(at, dir)| (dir.layer, at)));
    let outcomes = step(agents, &tasks, |which| {
        inspect(InspectRequest::LayProbes {
            probes: probes_of(dirs, which),
        })
    });
    for (at, dir) in dirs.iter_mut().enumerate() {
        dir.unlaid = match outcomes.get(&(dir.layer, at)) {
            Some(ProbeOutcome::Done) => None,
            Some(ProbeOutcome::Failed { reason }) => Some(reason.clone()),
            Some(ProbeOutcome::Missing) | None => Some("its agent did not answer".into()),
        };
    }
}

fn find(agents: &mut Agents, dirs: &mut [SharedDir]) {
    let laid = dirs.iter().enumerate().filter(|(_, d)| d.unlaid.is_none());
    let pairs = laid.flat_map(|(at, dir)| dir.others.iter().map(move |agent| (*agent, at)));
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

/// The layer removes its own; where it cannot, somebody who sees the file does.
fn remove(agents: &mut Agents, dirs: &mut [SharedDir]) {
    let mut open: BTreeSet<usize> = (0..dirs.len()).collect();
    for attempt in 0..2 {
        let living = agents.living();
        let remover = |dir: &SharedDir| {
            let seers = dir.seen.iter().filter(|(_, o)| **o == ProbeOutcome::Done);
            let mut able = std::iter::once(dir.layer).chain(seers.map(|(agent, _)| *agent));
            match attempt {
                0 => able.next(),
                _ => able.skip(1).find(|agent| living.contains(agent)),
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
        // Where nothing was laid there is nothing to miss; an agent that is told to
        // end removes what it has left, too.
        if dir.unlaid.is_none() && dir.left.is_none() {
            dir.left = Some("its client is lost".into());
        }
    }
}
