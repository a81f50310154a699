use super::*;
use crate::files::{proc_log_files, renderings, write_files_and_logs, write_files_so_far};
use crate::testing::composite::composite_record;

/// A record told line by line, with the logs beside it.
struct Told {
    dir: tempfile::TempDir,
    logs: LiveLogs,
    so_far: RunRecord,
}

impl Told {
    fn begin(whole: &RunRecord) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut so_far = RunRecord::new(whole.run.clone());
        so_far.environments.clone_from(&whole.environments);
        let places = LivePlaces {
            dir: dir.path().into(),
            log_dir: dir.path().into(),
            heartbeat_log: Some(dir.path().join("beats")),
        };
        let logs = LiveLogs::new(so_far.clone(), &places).expect("logs");
        Self { dir, logs, so_far }
    }

    fn line(&mut self, line: Line) {
        self.logs.hear(News::Line(Box::new(line.clone())));
        self.so_far.push(line);
    }

    fn open(&mut self, phase: &PhaseRecord) {
        self.logs.hear(News::Phase(OpenPhase {
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

/// The logs have each line when it comes, nothing of them is taken back, and at the end
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
    let mut told = Told::begin(&whole);
    // What an earlier run has left goes.
    std::fs::write(told.dir.path().join(&log), "old\n".repeat(1000)).expect("an old file");
    std::fs::write(told.dir.path().join(&progress), "old\n").expect("an old file");
    let mut before = (String::new(), String::new());
    for point in &whole.points {
        let number = point.load.number;
        told.logs.hear(News::Point(number, point.began));
        for phase in whole.phases.iter().filter(|p| p.point == number) {
            told.open(phase);
            told.logs.show().expect("written");
            let is_run = phase.phase == Phase::Run;
            if is_run {
                let now = told.read(&progress);
                assert!(now.trim_end().ends_with("Starting run phase"), "{now}");
                assert!(told.read(&log).contains("Starting RUN phase"));
            }
            let of_phase = |b: &&crate::Heartbeat| b.point == number && b.phase == phase.phase;
            for beat in whole.heartbeats.iter().filter(of_phase) {
                told.line(Line::Heartbeat(beat.clone()));
                told.logs.show().expect("written");
                assert!(told.read("beats").trim_end().ends_with("Ops/sec"));
                assert_eq!(
                    told.read("beats"),
                    told.read(&format!("heartbeats_{suffix}.log"))
                );
            }
            told.line(Line::Phase(phase.clone()));
            told.logs.show().expect("written");
        }
        let scripts = whole.scripts.iter().filter(|s| s.point == number);
        scripts.for_each(|s| told.line(Line::Script(s.clone())));
        told.logs.show().expect("written");
        told.logs.rest();
        told.so_far.push(Line::Point(Box::new(point.clone())));
        let dir = told.dir.path();
        write_files_so_far(&told.so_far, dir, dir).expect("written");
        let now = (told.read(&log), told.read(&progress));
        assert!(now.0.starts_with(&before.0), "{}", now.0);
        assert!(now.1.starts_with(&before.1), "{}", now.1);
        assert!(now.0.len() > before.0.len());
        let notice = filermark_model::NOT_A_SPEC_RESULT;
        assert!(!now.0.trim_end().ends_with(notice), "no end yet");
        before = now;
        if number == 1 {
            told.line(Line::Event(between.clone()));
            told.logs.show().expect("written");
            assert_eq!(told.read(&log), before.0, "with the next load point");
        }
    }
    // What is told of the run as a whole.
    let dir = told.dir.path();
    write_files_and_logs(&whole, dir, dir).expect("written");
    for (name, text) in renderings(&whole).expect("names") {
        assert_eq!(told.read(&name), text, "{name}");
    }
    for (name, text) in proc_log_files(&whole).expect("names") {
        assert_eq!(
            told.read(&format!("{}/{name}", proc_log_dir(&suffix))),
            text
        );
    }
}

#[test]
fn a_file_goes_on_where_it_is_and_is_cut_back_where_it_is_wrong() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("log");
    let mut file = LiveFile::new(path.clone());
    let text = || std::fs::read_to_string(&path).expect("the file");
    file.show("a\n").expect("written");
    let open = std::fs::File::open(&path).expect("the file");
    file.show("a\nb\n").expect("written");
    assert_eq!(open.metadata().expect("there").len(), 4, "the same file");
    file.show("a\nc\nd\n").expect("written");
    assert_eq!(text(), "a\nc\nd\n");
    file.settle();
    file.show("e\n").expect("written");
    assert_eq!(text(), "a\nc\nd\ne\n");
    complete(&path, "a\nc\nd\ne\nf\n").expect("written");
    assert_eq!(open.metadata().expect("there").len(), 10, "the same file");
    complete(&path, "z\n").expect("written");
    assert_eq!(text(), "z\n");
    complete(&dir.path().join("new"), "y\n").expect("written");
    let error = LiveFile::new(dir.path().join("none/log")).show("a\n");
    assert!(
        error
            .expect_err("no folder")
            .to_string()
            .contains("none/log")
    );
    assert!(LiveFile::new("/dev/full".into()).show("a\n").is_err());
    LiveFile::new("/dev/null".into())
        .show("a\n")
        .expect("taken");
}
