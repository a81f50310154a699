use super::*;
use crate::files::{logs_so_far, proc_log_files, without_notice};
use crate::testing::composite::composite_record;

fn logs(dir: &Path) -> SettledLogs {
    SettledLogs::new(LogPaths {
        dir: dir.into(),
        log_dir: dir.into(),
        heartbeat_log: Some(dir.join("beats")),
    })
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files are those of the whole record, without the last line.
fn assert_whole(record: &RunRecord, dir: &Path) {
    let procs = dir.join(proc_log_dir(&record.run.suffix));
    for (name, text) in proc_log_files(record).expect("names") {
        assert_eq!(read(procs.join(&name)), without_notice(&text), "{name}");
    }
    let (beats, text) = &logs_so_far(record).expect("names")[1];
    assert_eq!(read(dir.join(beats)), *text);
    assert_eq!(read(dir.join("beats")), *text);
}

/// The record up to `count` load points, with the lines of these.
fn so_far(whole: &RunRecord, count: usize) -> RunRecord {
    let mut record = whole.clone();
    record.end = None;
    record.points.truncate(count);
    let ended = |point: u32| record.points.iter().any(|p| p.load.number == point);
    let (phases, beats) = (&mut record.phases, &mut record.heartbeats);
    phases.retain(|p| ended(p.point));
    beats.retain(|b| ended(b.point));
    record
}

#[test]
fn a_load_point_adds_its_part_and_leaves_the_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = composite_record();
    let mut logs = logs(dir.path());
    let procs = dir.path().join(proc_log_dir(&whole.run.suffix));
    std::fs::create_dir(&procs).expect("a directory");
    let last = whole.run.plan.procs.len() - 1;
    let late = procs.join(format!("netmist_C{last}.{}.log", whole.run.suffix));
    std::fs::write(&late, "of an earlier run\n").expect("written");
    logs.add(&so_far(&whole, 1)).expect("written");
    assert_whole(&so_far(&whole, 1), dir.path());
    assert_eq!(read(late), "", "it has not taken part yet");
    // The settled part is not read again, and what follows it is overwritten.
    let first = procs.join(format!("netmist_C0.{}.log", whole.run.suffix));
    let before = read(first.clone());
    let marked = before.replacen('-', "X", 1);
    std::fs::write(&first, format!("{marked}{}", "grown\n".repeat(1_000))).expect("written");
    logs.add(&so_far(&whole, 2)).expect("written");
    assert!(read(first.clone()).starts_with(&marked));
    std::fs::write(&first, read(first.clone()).replacen('X', "-", 1)).expect("written");
    assert_whole(&so_far(&whole, 2), dir.path());
    // A load point that is measured again after a later one: all are written.
    let mut later = so_far(&whole, 3);
    later.points.remove(1);
    logs.add(&later).expect("written");
    assert_eq!(logs.points, [1, 3]);
    logs.add(&so_far(&whole, 3)).expect("written");
    assert_whole(&so_far(&whole, 3), dir.path());
}

#[test]
fn what_could_not_be_written_is_written_the_next_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = so_far(&composite_record(), 2);
    let mut logs = logs(dir.path());
    let procs = dir.path().join(proc_log_dir(&whole.run.suffix));
    std::fs::write(&procs, "a file").expect("written");
    assert!(logs.add(&whole).is_err());
    std::fs::remove_file(&procs).expect("removed");
    logs.add(&whole).expect("written");
    assert_whole(&whole, dir.path());
}
