//! The console output of a composite run on stderr: that of netmist (manual N and slides E). The
//! texts come from [`filermark_results::console`].
//!
//! This module does not read a clock and does not print: [`Console::on_progress`] returns the text.

use filermark_model::{LoadPoint, RunPlan};
use filermark_prime::Progress;
use filermark_results::bands::band_lines;
use filermark_results::record::PointRecord;
use filermark_results::{Environment, Phase, RunRecord, Timestamp, console};

/// The console of one composite run.
pub struct Console {
    plan: RunPlan,
    dir: String,
    /// Whether to show the latency bands (`-N`).
    bands: bool,
    /// The client hosts that are ready.
    hosts: Vec<Environment>,
    begun: bool,
}

impl Console {
    /// The console of this plan, whose results go to `dir`; `None`: it is not a composite.
    pub fn new(plan: &RunPlan, dir: &str, bands: bool) -> Option<Self> {
        plan.benchmark.composite()?;
        Some(Self {
            plan: plan.clone(),
            dir: dir.into(),
            bands,
            hosts: Vec::new(),
            begun: false,
        })
    }

    /// The lines to print now; empty: none.
    pub fn on_progress(&mut self, progress: &Progress<'_>, now: Timestamp) -> String {
        match progress {
            Progress::PhaseBegan { point, phase, .. } => self.phase(*point, *phase, now),
            Progress::Percent {
                point,
                phase,
                percent,
            } => {
                let client = self.plan.proc_count_at(*point).saturating_sub(1);
                console::percent_complete(now, *phase, *percent, client)
            }
            Progress::Host(environment) => {
                self.hosts.push((*environment).clone());
                String::new()
            }
            Progress::Heartbeat(beat) => console::last_heartbeat(beat),
            Progress::PointEnded(record, point) => self.point(record, point, now),
            Progress::SearchEnded(plan) => {
                self.plan = (*plan).clone();
                String::new()
            }
            Progress::Script(script) if !script.status.is_ok() => format!(
                "        {} {} {}: {}\n",
                now.classical(),
                script.script,
                script.argument,
                script.status
            ),
            _ => String::new(),
        }
    }

    fn phase(&mut self, point: Option<LoadPoint>, phase: Phase, now: Timestamp) -> String {
        match (phase, point) {
            (Phase::Init, Some(point)) => {
                let first = !std::mem::replace(&mut self.begun, true);
                let banner =
                    first.then(|| console::banner(env!("CARGO_PKG_VERSION"), &self.plan.benchmark));
                [
                    banner.unwrap_or_default(),
                    console::new_load_point(now, &self.plan, point),
                    console::plan_block(&self.plan, point, &self.hosts, Some(&self.dir)),
                    console::starting_tests(now),
                    console::launching(&self.plan, point),
                    console::waiting_for_init(now),
                ]
                .concat()
            }
            (Phase::Warmup, _) => [
                console::init_finished(now),
                console::testing_begins(now),
                console::phase_begins(now, phase),
            ]
            .concat(),
            (Phase::Cleanup, _) => format!("        Removing files: {}\n", now.classical()),
            _ => console::phase_begins(now, phase),
        }
    }

    fn point(&self, record: &RunRecord, point: &PointRecord, now: Timestamp) -> String {
        let Some(stats) = point.measured() else {
            return String::new();
        };
        let is_run = |p: &&filermark_results::PhaseRecord| {
            p.point == point.load.number && p.phase == Phase::Run
        };
        let run = record.phases.iter().rev().find(is_run);
        let mut text = console::tests_finished(run.map_or(now, |p| p.ended));
        let mut overall = console::overall_block(&self.plan.benchmark, stats);
        if !self.bands
            && let Some(bands) = overall.find(&band_lines(&stats.service()))
        {
            overall.truncate(bands);
        }
        text.push_str(&overall);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing::composite::composite_record;

    const SECONDS: f64 = 1_795_253_400.0;

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_unix_seconds(SECONDS + f64::from(seconds))
    }

    fn began(point: Option<LoadPoint>, phase: Phase) -> Progress<'static> {
        Progress::PhaseBegan {
            point,
            phase,
            expected: None,
        }
    }

    /// The first load point of a software build, as the console shows it.
    fn rendered(bands: bool) -> String {
        let record = composite_record();
        let mut plan = record.run.plan.clone();
        plan.procs.truncate(5);
        let mut console = Console::new(&plan, "result", bands).expect("a composite");
        let point = plan.points[0];
        let percent = |phase, percent| Progress::Percent {
            point,
            phase,
            percent,
        };
        let steps = [
            (0, Progress::Host(&record.environments[0])),
            (0, began(Some(point), Phase::Init)),
            (
                1,
                Progress::Tasks {
                    task_count: 7,
                    bytes: 9,
                },
            ),
            (20, began(Some(point), Phase::Warmup)),
            (30, percent(Phase::Warmup, 50)),
            (40, began(Some(point), Phase::Run)),
            (46, percent(Phase::Run, 10)),
            (60, Progress::Heartbeat(&record.heartbeats[0])),
            (100, Progress::PointEnded(&record, &record.points[0])),
            (101, began(None, Phase::Cleanup)),
        ];
        let print =
            |(seconds, progress): (u32, Progress<'_>)| console.on_progress(&progress, at(seconds));
        steps.into_iter().map(print).collect()
    }

    #[test]
    fn the_console_is_as_it_was() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/console.txt");
        let output = rendered(true).replace(env!("CARGO_PKG_VERSION"), "VERSION");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &output).expect("the golden file is written");
        }
        let golden = std::fs::read_to_string(path).expect("the golden file");
        assert_eq!(
            output, golden,
            "if that is meant: UPDATE_GOLDEN=1 cargo test"
        );
    }

    #[test]
    fn bands_are_reported_when_requested() {
        let (with, without) = (rendered(true), rendered(false));
        assert!(with.contains("Band 1:") && !without.contains("Band 1:"));
        assert!(without.contains("Overall average latency"));
        let removing = without.lines().last().expect("a last line");
        assert!(removing.contains("Removing files"), "{removing}");
    }

    #[test]
    fn the_memory_of_the_clients_is_that_of_the_hosts_where_none_is_given() {
        let record = composite_record();
        let mut plan = record.run.plan.clone();
        plan.parameters.retain(|(name, _)| name != "CLIENT_MEM");
        let mut console = Console::new(&plan, "result", false).expect("a composite");
        for host in &record.environments {
            console.on_progress(&Progress::Host(host), at(0));
        }
        let mebibytes = record.environments.iter().map(|e| e.memory_bytes >> 20);
        let line = format!(
            "    Clients have a total of {} MiBytes of memory\n",
            mebibytes.sum::<u64>()
        );
        let text = console.on_progress(&began(Some(plan.points[0]), Phase::Init), at(0));
        assert!(text.contains(&line), "{line}{text}");
    }

    #[test]
    fn other_benchmarks_have_a_progress_output_of_their_own() {
        let plan = filermark_results::testing::plan();
        assert!(Console::new(&plan, "result", true).is_none());
    }
}
