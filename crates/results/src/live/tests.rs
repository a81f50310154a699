use super::*;
use crate::files::{
    Rendering, proc_log_files, renderings, write_files_and_logs, write_files_so_far,
};
use crate::final_logs::SettledLogs;
use crate::output::OutputTable;
use crate::outputs::OUTPUTS;
use crate::testing::composite::composite_record;

/// A record replayed line by line, with its logs.
struct ReplayedRecord {
    dir: tempfile::TempDir,
    logs: LiveLogs,
    settled: SettledLogs,
    so_far: RunRecord,
}

impl ReplayedRecord {
    fn begin(whole: &RunRecord) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut so_far = RunRecord::new(whole.run.clone());
        so_far.environments.clone_from(&whole.environments);
        let places = LogPaths {
            dir: dir.path().into(),
            log_dir: dir.path().into(),
            heartbeat_log: Some(dir.path().join("beats")),
        };
        let logs = LiveLogs::new(so_far.clone(), &places).expect("logs");
        Self {
            settled: SettledLogs::new(places),
            dir,
            logs,
            so_far,
        }
    }

    fn line(&mut self, line: Line) {
        self.logs.take(RunEvent::Line(Box::new(line.clone())));
        self.so_far.push(line);
    }

    fn open(&mut self, phase: &PhaseRecord) {
        self.logs.take(RunEvent::Phase(OpenPhase {
            point: phase.point,
            phase: phase.phase,
            began: phase.began,
            since: Instant::now(),
            percents: Vec::new(),
        }));
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).expect(name)
    }
}

/// The logs get each line at its time, no line is removed, and at the end
/// they are the files of the whole record.
#[test]
fn logs_grow_and_end_as_the_files_of_the_record() {
    let mut whole = composite_record();
    let between = crate::record::Event {
        at: whole.points[0].ended.plus_seconds(0.25),
        host: "prime".into(),
        message: "between two load points".into(),
        rule: None,
    };
    whole.push(Line::Event(between.clone()));
    let suffix = whole.run.suffix.clone();
    let progress = format!("{}/netmist_C0.{suffix}.log", proc_log_dir(&suffix));
    let log = format!("sfslog.{suffix}.txt");
    let mut replayed = ReplayedRecord::begin(&whole);
    // Files of an earlier run are removed.
    std::fs::write(replayed.dir.path().join(&log), "old\n".repeat(1000)).expect("an old file");
    std::fs::write(replayed.dir.path().join(&progress), "old\n").expect("an old file");
    let mut before = (String::new(), String::new());
    for point in &whole.points {
        let number = point.load.number;
        replayed.logs.take(RunEvent::Point(number, point.began));
        for phase in whole.phases.iter().filter(|p| p.point == number) {
            replayed.open(phase);
            replayed.logs.write().expect("written");
            let is_run = phase.phase == Phase::Run;
            if is_run {
                let now = replayed.read(&progress);
                assert!(now.trim_end().ends_with("Starting run phase"), "{now}");
                assert!(replayed.read(&log).contains("Starting RUN phase"));
            }
            let of_phase = |b: &&crate::Heartbeat| b.point == number && b.phase == phase.phase;
            for beat in whole.heartbeats.iter().filter(of_phase) {
                replayed.line(Line::Heartbeat(beat.clone()));
                replayed.logs.write().expect("written");
                assert!(replayed.read("beats").trim_end().ends_with("Ops/sec"));
                assert_eq!(
                    replayed.read("beats"),
                    replayed.read(&format!("heartbeats_{suffix}.log"))
                );
            }
            replayed.line(Line::Phase(phase.clone()));
            replayed.logs.write().expect("written");
        }
        let scripts = whole.scripts.iter().filter(|s| s.point == number);
        scripts.for_each(|s| replayed.line(Line::Script(s.clone())));
        replayed.logs.write().expect("written");
        replayed.logs.pause();
        replayed.so_far.push(Line::Point(Box::new(point.clone())));
        let dir = replayed.dir.path();
        write_files_so_far(&replayed.so_far, dir, &mut replayed.settled).expect("written");
        let now = (replayed.read(&log), replayed.read(&progress));
        assert!(now.0.starts_with(&before.0), "{}", now.0);
        assert!(now.1.starts_with(&before.1), "{}", now.1);
        assert!(now.0.len() > before.0.len());
        let notice = filermark_model::NOT_A_SPEC_RESULT;
        assert!(!now.0.trim_end().ends_with(notice), "no end yet");
        before = now;
        if number == 1 {
            replayed.line(Line::Event(between.clone()));
            replayed.logs.write().expect("written");
            assert_eq!(replayed.read(&log), before.0, "with the next load point");
        }
    }
    // The files of the run as a whole.
    let dir = replayed.dir.path();
    write_files_and_logs(&whole, dir, dir).expect("written");
    let table = OutputTable(&[OUTPUTS]);
    for Rendering { name, text, .. } in renderings(&whole, table).expect("names") {
        assert_eq!(replayed.read(&name), text, "{name}");
    }
    for (name, text) in proc_log_files(&whole).expect("names") {
        assert_eq!(
            replayed.read(&format!("{}/{name}", proc_log_dir(&suffix))),
            text
        );
    }
}

/// A resumed run keeps the content of its logs; a new run keeps nothing of an
/// earlier run, also not of procs that come later.
#[test]
fn logs_of_a_resumed_run_continue_after_its_load_points() {
    let whole = composite_record();
    let suffix = whole.run.suffix.clone();
    let mut replayed = ReplayedRecord::begin(&whole);
    let dir = replayed.dir.path().to_owned();
    let last = whole.run.plan.procs.len() - 1;
    let late = format!("{}/netmist_C{last}.{suffix}.log", proc_log_dir(&suffix));
    std::fs::write(dir.join(&late), "of an earlier run\n").expect("written");
    let mut cut = whole.clone();
    (cut.end, cut.heartbeats, cut.phases) = (None, Vec::new(), Vec::new());
    cut.points.truncate(1);
    write_files_so_far(&cut, &dir, &mut replayed.settled).expect("written");
    let log = format!("sfslog.{suffix}.txt");
    let before = replayed.read(&log);
    let places = || LogPaths {
        dir: dir.clone(),
        log_dir: dir.clone(),
        heartbeat_log: None,
    };
    let mut logs = LiveLogs::new(cut.clone(), &places()).expect("logs");
    let point = &whole.points[1];
    logs.take(RunEvent::Point(point.load.number, point.began));
    logs.write().expect("written");
    let now = replayed.read(&log);
    let added = now.strip_prefix(&before).expect("it begins as it was");
    assert!(added.contains(&point.began.classical()), "{added}");
    let logs_of = |proc: u32, workload: &str| {
        let logs = proc_log_dir(&suffix);
        [
            format!("{logs}/client_{proc}.{suffix}"),
            format!("{logs}/Workload_{workload}_{proc}.{suffix}"),
            format!("{logs}/netmist_C{proc}.{suffix}.log"),
        ]
    };
    let beats = format!("heartbeats_{suffix}.log");
    let foreign = format!("{}/notes.{suffix}", proc_log_dir(&suffix));
    let stale = [logs_of(900, "OF_MINE"), logs_of(0, "SWBUILD_1")].concat();
    for name in stale.iter().chain([&late, &beats, &foreign]) {
        std::fs::write(dir.join(name), "of an earlier run\n").expect("written");
    }
    cut.points.clear();
    LiveLogs::new(cut, &places()).expect("logs");
    assert_eq!(replayed.read(&log), "");
    for name in stale.iter().chain([&late, &beats]) {
        assert!(!dir.join(name).exists(), "{name}");
    }
    assert!(dir.join(&foreign).exists(), "it is not one of these logs");
}
