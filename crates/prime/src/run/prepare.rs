//! The beginning of a run: all agents are connected, ready and of the same version, the
//! file set fits, and the record becomes that of this run.

use super::state::Run;
use super::types::Progress;
use crate::leftovers::run_id_front;
use crate::scripts;
use filermark_link::agents::{AgentEvent, Agents, OrderError};
use filermark_link::message::{ClientShare, FreeSpace, Order, Report};
use filermark_link::space;
use filermark_link::start_batches::start_batches;
use filermark_link::watched_space::not_monitored;
use filermark_model::launch::OnLost;
use filermark_model::{Nanos, Rule};
use filermark_results::hosts_changed;
use filermark_results::record::Line;
use std::collections::BTreeMap;

/// Longest time for connecting, mounting and removing leftovers.
const PREPARE_MAX: Nanos = Nanos::from_secs(900);

impl Run<'_> {
    pub fn wait_for_agents(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let limit = self.options.launch.start_timeout;
        agents.wait_hello(limit, &mut |living, all| {
            (self.options.observe)(Progress::Agents { living, all });
        })
    }

    pub fn prepare(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let dir_name = self.dir_name();
        let started = self.journal.record().run.started;
        let run_id = format!(
            "{}{started}",
            run_id_front(&self.options.suffix, &self.journal.record().run.fingerprint)
        );
        let plan = self.options.plan.clone();
        let order = |client: usize| {
            Order::Prepare(ClientShare {
                plan: Box::new(plan.for_client(client)),
                client: client as u32,
                dir_name: dir_name.clone(),
                run_id: run_id.clone(),
                password: None,
            })
        };
        for batch in start_batches(&plan) {
            let mut ready = BTreeMap::new();
            agents.order(
                &batch,
                &order,
                PREPARE_MAX,
                OnLost::End,
                &mut |_, event| match event {
                    AgentEvent::Answer(at, report) => {
                        ready.insert(at, report);
                    }
                    AgentEvent::Report(at, Report::Waiting { sentence }) => {
                        self.report_waiting(at, sentence.clone());
                    }
                    _ => {}
                },
            )?;
            for (at, report) in ready {
                self.take_ready(at, report);
            }
        }
        self.check_hosts()?;
        if let Some(message) = not_monitored(&plan, &self.free) {
            self.warn("prime", Rule::Lacking, message);
        }
        let free: Vec<_> = (0..plan.clients.len())
            .map(|at| self.free.get(&at).cloned().unwrap_or_default())
            .collect();
        self.check_space(&free)
    }

    /// Refuses to resume a run on other hosts than those that it was begun with.
    fn check_hosts(&self) -> Result<(), OrderError> {
        let Some(restart) = self.journal.record().restarts.last() else {
            return Ok(());
        };
        let changes = hosts_changed(&restart.environments, &self.journal.record().environments);
        if changes.is_empty() {
            return Ok(());
        }
        Err(OrderError::Failed {
            reason: format!(
                "the run cannot go on, since its hosts have changed: {}; undo that, or move {} away and measure all of it again",
                changes.join(", "),
                self.journal.path().display()
            ),
        })
    }

    fn take_ready(&mut self, at: usize, report: Report) {
        let Report::Ready {
            environment,
            remarks,
            free,
            lacking,
            ..
        } = report
        else {
            return;
        };
        let host = environment.host.clone();
        self.core_counts
            .insert(host.clone(), environment.core_count);
        (self.options.observe)(Progress::Host(&environment));
        self.journal.push(Line::Environment(*environment));
        for message in remarks {
            self.remark(&host, message);
        }
        for message in lacking {
            self.warn(&host, Rule::Lacking, message);
        }
        let own = space::of_own_mounts(&self.options.plan, at, free);
        self.free.insert(at, own);
    }

    /// Fails when the largest load point does not fit; warns when it may not fit.
    fn check_space(&mut self, free: &[Vec<FreeSpace>]) -> Result<(), OrderError> {
        let verdict = space::check(&self.options.plan, free);
        for message in verdict.warnings {
            self.warn("prime", Rule::Resources, message);
        }
        match verdict.refusal {
            Some(reason) => Err(OrderError::Failed { reason }),
            None => Ok(()),
        }
    }

    /// All agents are ready: from now on the record and the files are those of this run.
    pub fn begin_results(&mut self) -> Result<(), OrderError> {
        let kept = self.journal.keep();
        kept.map_err(|reason| OrderError::Failed { reason })?;
        let options = &self.options;
        let record = self.journal.record();
        let monitor = options.plan.monitor.as_ref();
        let calls = record.scripts.iter().filter_map(|script| script.call);
        let goes_on = !record.restarts.is_empty();
        let files = scripts::MonitorFiles {
            suffix: &options.suffix,
            dir: &options.dir,
            earlier_calls: goes_on.then(|| calls.max().unwrap_or(0)),
        };
        self.scripts.begin_monitor(monitor, files);
        self.journal.begin_live_logs();
        Ok(())
    }
}
