//! The end of a run: the run's directories are removed, with the files that lost clients
//! left in them, as far as other clients reach them.

use super::state::{MARGIN, Run};
use crate::stop_if::StopConditions;
use filermark_engine::engine::CLEANUP_SILENCE_S_MAX;
use filermark_link::agents::{Agents, OrderError, REMOVE_MAX, STOP_MAX};
use filermark_link::message::{Leftover, Order};
use filermark_link::start_batches::start_batches;
use filermark_model::launch::OnLost;
use filermark_model::plan::{MountPoint, Target};
use filermark_model::{Finding, Nanos, Rule, RunPlan, Severity};
use std::collections::BTreeSet;

/// Time limit for a client that ends by itself to remove what it made.
const FINAL_CLEANUP_MAX: Nanos = Nanos::from_secs(60);

/// The most places that a message names; it gives the number of the others.
const PLACES_SHOWN: usize = 4;

/// The message about a leftover, with what the user can do.
fn leftover_text(left: &Leftover, stop_command: &str) -> String {
    let sentence = &left.sentence;
    match left.is_not_ours {
        // The sentence itself says what to do.
        true => format!("left behind: {sentence}"),
        false => format!("left behind: {sentence}; `{stop_command}` removes what is this run's"),
    }
}

/// The run's directory on every mount point of the selected clients.
fn kept_places(plan: &RunPlan, is_selected: impl Fn(usize) -> bool, dir: &str) -> String {
    let clients = plan.clients.iter().enumerate();
    let selected = clients.filter(|(at, _)| is_selected(*at));
    let mounts: BTreeSet<&MountPoint> = selected.flat_map(|(_, c)| &c.mounts).collect();
    let shown = mounts.iter().take(PLACES_SHOWN).map(|m| m.below(dir));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match mounts.len().saturating_sub(PLACES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more mount points"),
    }
}

impl Run<'_> {
    /// Cleans up, whatever the outcome of the run; returns findings about what remains.
    pub fn clean_up_at_the_end(&mut self, agents: &mut Agents, has_failed: bool) -> Vec<Finding> {
        if self.options.plan.fileset.keep {
            // A run that was refused has made no file set. The files there may be those of
            // another run, which the command would remove.
            return self.is_prepared.then(|| self.kept()).into_iter().collect();
        }
        // A request to stop that was handled before must not end the cleanup.
        agents.begin_removal();
        // A run that was refused has made directories at most; they are removed without a phase.
        let is_gone = self.is_prepared && self.clean_up_files(agents, has_failed);
        let limit = match is_gone && self.has_steps() {
            true => FINAL_CLEANUP_MAX,
            false => self.cleanup_limit() + MARGIN,
        };
        let mut left = self.release(agents, limit);
        left.sort();
        left.dedup();
        left.into_iter()
            .map(|left| {
                let message = leftover_text(&left, &self.options.stop_command);
                // With its rule, so that a resumed run keeps the finding.
                self.push_event("prime", message.clone(), Some(Rule::LeftBehind));
                Finding::new(Rule::LeftBehind, Severity::Warning, message)
            })
            .collect()
    }

    /// CLEANUP at the end: each agent removes the files of its own procs. Returns whether a server
    /// does not answer.
    fn clean_up_files(&mut self, agents: &mut Agents, has_failed: bool) -> bool {
        if let Some(sentence) = self.waits_for(has_failed) {
            self.remark("prime", sentence);
        }
        let done = self.clean_up(agents, None);
        if let Err(e) = &done {
            tracing::debug!(target: "filermark_clients", "CLEANUP: {e}");
        }
        matches!(
            done,
            Err(OrderError::Silent { .. } | OrderError::Failed { .. })
        )
    }

    /// The finding about what a run with KEEP=on leaves, with the command that removes it.
    fn kept(&self) -> Finding {
        let options = &self.options;
        let places = kept_places(
            &options.plan,
            |at| self.free.contains_key(&at),
            &self.dir_name(),
        );
        let command = &options.stop_command;
        let message =
            format!("KEEP=on: the file set stays in {places}; `{command} --force` removes it");
        Finding::new(Rule::LeftBehind, Severity::Note, message)
    }

    /// The message about what CLEANUP may have to wait for, after a stop or a failure.
    fn waits_for(&self, has_failed: bool) -> Option<String> {
        let command = &self.options.stop_command;
        if self.options.stop.is_raised() {
            let seconds = (REMOVE_MAX + STOP_MAX).0 / 1_000_000_000;
            return Some(format!(
                "CLEANUP: removes the files of this run within {seconds} s; Ctrl-C exits at once, then `{command}` removes the rest"
            ));
        }
        has_failed.then(|| {
            // The files are removed first, the directories in a second step.
            let batches = start_batches(&self.options.plan).len() as u64;
            let seconds = |limit: Nanos| limit.0 / 1_000_000_000;
            let limit = match self.has_steps() {
                true => u64::from(CLEANUP_SILENCE_S_MAX) + batches * seconds(FINAL_CLEANUP_MAX),
                false => (1 + batches) * seconds(self.cleanup_limit() + MARGIN),
            };
            let minutes = (limit + seconds(FINAL_CLEANUP_MAX)).div_ceil(60);
            format!(
                "CLEANUP: removes the files of this run; if the server does not answer, it ends after {minutes} min, or a minute after Ctrl-C"
            )
        })
    }

    /// All agents remove the run's directories; returns what remains.
    fn release(&mut self, agents: &mut Agents, limit: Nanos) -> Vec<Leftover> {
        let (mut left, mut removed_count) = (Vec::new(), 0);
        let living: BTreeSet<usize> = agents.living().into_iter().collect();
        let mut orphans = self.orphans(&living);
        for batch in start_batches(&self.options.plan) {
            let who: Vec<usize> = batch.into_iter().filter(|at| living.contains(at)).collect();
            if who.is_empty() {
                continue;
            }
            let orphans = std::mem::take(&mut orphans);
            let order = |_| Order::Release {
                orphans: orphans.clone(),
            };
            let mut guard = StopConditions::default();
            match self.order_tasks(agents, &who, &order, limit, OnLost::Continue, &mut guard) {
                Ok(done) => {
                    removed_count += done.task_count();
                    left.extend(done.leftovers);
                }
                Err(e) => {
                    let places = kept_places(&self.options.plan, |_| true, &self.dir_name());
                    left.push(Leftover::ours(format!("{places}: {e}")));
                }
            }
        }
        let limit = match self.options.stop.is_raised() {
            true => STOP_MAX,
            false => FINAL_CLEANUP_MAX,
        };
        agents.await_leaving(limit);
        self.report_losses(agents);
        left.extend(self.unreached(agents, removed_count));
        left
    }

    /// Mount points of lost clients that the other clients do not use, but can reach over the
    /// network.
    fn orphans(&self, living: &BTreeSet<usize>) -> Vec<MountPoint> {
        if self.options.plan.driver.facts().target != Target::Server {
            return Vec::new();
        }
        let clients = || self.options.plan.clients.iter().enumerate();
        let reached: BTreeSet<&MountPoint> = clients()
            .filter(|(at, _)| living.contains(at))
            .flat_map(|(_, c)| &c.mounts)
            .collect();
        let lost = clients().filter(|(at, _)| !living.contains(at));
        let all: BTreeSet<&MountPoint> = lost.flat_map(|(_, c)| &c.mounts).collect();
        all.difference(&reached).map(|m| (*m).clone()).collect()
    }

    /// Files of lost clients that no other client reaches.
    fn unreached(&self, agents: &Agents, removed_count: u64) -> Vec<Leftover> {
        let plan = &self.options.plan;
        let living = agents.living();
        let mut left = Vec::new();
        for loss in agents.losses() {
            if let Some(stays) = &loss.cleaned {
                left.extend(stays.iter().cloned());
                continue;
            }
            // Only one that was ready can have made anything.
            let (Some(free), Some(client)) =
                (self.free.get(&loss.agent), plan.clients.get(loss.agent))
            else {
                continue;
            };
            let places = client.mounts.iter().collect::<BTreeSet<_>>().into_iter();
            let place = |m: &MountPoint| {
                let (place, client) = (m.below(&self.dir_name()), &loss.client);
                Leftover::ours(format!(
                    "{place}: client {client} was lost before it had removed its files"
                ))
            };
            let reached = |mount: &MountPoint| match plan.driver.facts().target {
                Target::Nothing => true,
                Target::Server => !living.is_empty(),
                Target::Mounted => {
                    let seen = free.iter().find(|f| f.mounts.contains(mount));
                    let same = |at: &usize| {
                        let theirs = self.free.get(at).into_iter().flatten();
                        let is_it = |f: &&filermark_link::message::FreeSpace| {
                            Some(&f.file_system) == seen.map(|s| &s.file_system)
                        };
                        theirs.into_iter().any(|f| is_it(&f))
                    };
                    let alike = |at: &usize| {
                        let theirs = plan.clients.get(*at).into_iter().flat_map(|c| &c.mounts);
                        removed_count > 0 && theirs.into_iter().any(|m| m.path == mount.path)
                    };
                    living.iter().any(same) || living.iter().any(alike)
                }
            };
            left.extend(places.filter(|m| !reached(m)).map(place));
        }
        left
    }
}
