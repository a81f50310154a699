//! The figures of the agents for a load point: whether they are plausible, and what they
//! add up to.

use super::state::Run;
use super::watch::PhaseWatch;
use crate::clock_verdict;
use crate::report_bounds::{
    implausible, implausible_lengths, implausible_reads, implausible_stalls,
};
use filermark_link::agents::Agents;
use filermark_link::client_reads::attributed;
use filermark_link::message::{ClockCheck, Report};
use filermark_model::stall::{ProcessRole, ProcessStalls};
use filermark_model::{Finding, Nanos, Rule, Severity};
use filermark_results::record::ClientSummary;
use filermark_results::start::{ClientStart, StartRecord};

/// If starts may be farther apart than this, there is a warning.
const SPREAD_MAX: Nanos = Nanos::from_millis(20);

impl Run<'_> {
    /// Adds the figures of one client at once: those of a thousand clients would not fit into
    /// memory.
    pub fn take_in(&mut self, watch: &mut PhaseWatch, agent: usize, report: Report) {
        let Report::Measured {
            mut stats,
            clock,
            late_ns,
            warmup_ns,
            runtime_ns,
            run_late_ns,
            stalls,
            reads,
        } = report
        else {
            return;
        };
        let plan = &self.options.plan;
        let name = plan.clients.get(agent).map_or("", |c| &c.name);
        let (warmup, runtime) = (Nanos(warmup_ns), Nanos(runtime_ns));
        if let Some(what) = implausible_lengths(plan, warmup, runtime)
            .or_else(|| implausible(plan, agent, &stats, runtime))
            .or_else(|| implausible_stalls(plan, &stalls))
            .or_else(|| implausible_reads(plan, agent, &reads))
        {
            watch.invalid_message.get_or_insert(format!(
                "client {name}: its figures are not plausible ({what}); check that it has the same version"
            ));
            return;
        }
        watch.measured.noticed.extend(late_run(
            name,
            (warmup, watch.warmup.length()),
            (runtime, watch.run_length.length()),
            Nanos(run_late_ns),
        ));
        let reads = attributed(plan, agent, &stats, reads);
        let summary = ClientSummary::of(agent as u32 + 1, name, &stats);
        let measured = &mut watch.measured;
        let place = measured
            .clients
            .partition_point(|c| c.client < summary.client);
        measured.clients.insert(place, summary);
        measured.procs.append(&mut stats.procs);
        measured.proc_ops.append(&mut stats.proc_ops);
        match measured.stats.window_ns {
            0 => measured.stats = *stats,
            _ => measured.stats.merge(&stats),
        }
        let host = name.to_owned();
        measured.stalls.push(ProcessStalls {
            role: ProcessRole::Agent,
            host,
            stalls,
        });
        measured.reads.extend(reads);
        watch.late.push((agent, Nanos(late_ns)));
        watch.checks.extend(clock.map(|check| (agent, check)));
    }

    /// How far apart the clients may have begun: from the two clocks with the largest errors
    /// and the latest client.
    pub fn note_start(&mut self, watch: &mut PhaseWatch, agents: &Agents) {
        let plan = &self.options.plan;
        let mut clients = Vec::new();
        watch.late.sort();
        for (agent, late) in &watch.late {
            let Some(clock) = agents.clock(*agent) else {
                continue;
            };
            clients.push(ClientStart {
                client: plan
                    .clients
                    .get(*agent)
                    .map_or_else(String::new, |c| c.name.clone()),
                offset_ns: clock.offset_ns,
                error_ns: clock.error_ns,
                unix_offset_ns: clock.unix_offset_ns,
                late_ns: late.0,
            });
        }
        let start = StartRecord::of(clients);
        let message = start.describe();
        if start.spread_ns > SPREAD_MAX.0 {
            let finding = Finding::new(Rule::ClientStart, Severity::Warning, message.clone());
            watch.measured.noticed.push(finding.with_limit(
                start.spread_ns as f64 / 1e6,
                SPREAD_MAX.0 as f64 / 1e6,
                "Filermark",
            ));
        }
        if watch.late.len() > 1 {
            self.remark("prime", message);
        }
        watch.measured.start = Some(start);
    }

    pub fn judge_clock(&mut self, client: usize, check: &ClockCheck) -> Option<Finding> {
        let service = self.options.plan.clock_service.clone()?;
        let host = self.options.plan.clients.get(client)?.name.clone();
        let (message, finding) = clock_verdict::judge(check, &service);
        self.remark(&host, message);
        finding
    }
}

/// A client whose RUN differed from that of the others: its WARMUP or its RUN had another
/// length than the prime has ordered, or it received that order too late.
fn late_run(
    name: &str,
    warmup: (Nanos, Nanos),
    runtime: (Nanos, Nanos),
    late: Nanos,
) -> Option<Finding> {
    let seconds = |(had, wanted): (Nanos, Nanos)| (had.as_secs_f64(), wanted.as_secs_f64());
    let what = match (warmup.0 == warmup.1, runtime.0 == runtime.1, late.0) {
        (false, ..) => {
            let (had, wanted) = seconds(warmup);
            format!("its RUN began after {had} s of WARMUP, that of the others after {wanted} s")
        }
        (true, false, _) => {
            let (had, wanted) = seconds(runtime);
            format!("its RUN took {had} s, that of the others {wanted} s")
        }
        (true, true, 0) => return None,
        (true, true, _) => format!(
            "it received the order to begin or end RUN {:.3} s too late",
            late.as_secs_f64()
        ),
    };
    let message = format!(
        "client {name}: {what}; check whether its network or its host stalled, or set phases of fixed length (WARMUP_TIME; netmist: --exact-time)"
    );
    Some(Finding::new(Rule::ClientStart, Severity::Invalid, message))
}
