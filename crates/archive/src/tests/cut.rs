//! Records of runs that were cut or resumed, and their logs.

use crate::tests::{faults, gathered, lines_of};
use crate::verify::{CheckStatus, Options, verify};
use crate::{Bundle, CollectOptions};
use filermark_results::files::write_files_so_far;
use filermark_results::final_logs::SettledLogs;
use filermark_results::live::LogPaths;
use filermark_results::reader::read_from;
use filermark_results::record::Outcome;
use filermark_results::testing::{self, composite::composite_lines};
use filermark_results::{Line, MountFacts, Role, RunRecord};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The record of a composite run that was killed after its last load point, and its lines.
fn killed_record() -> (RunRecord, String) {
    let mut lines = composite_lines();
    let is_point = |line: &Line| matches!(line, Line::Point(_));
    let last = lines.iter().rposition(is_point).expect("a load point");
    lines.truncate(last + 1);
    let json = |line: &Line| serde_json::to_string(line).unwrap() + "\n";
    let text: String = lines.iter().map(json).collect();
    let record = read_from(text.as_bytes(), Path::new("test")).unwrap();
    (record, text)
}

/// A folder with the files of a killed run.
fn killed(record: &RunRecord, lines: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut logs = SettledLogs::new(LogPaths {
        dir: dir.path().into(),
        log_dir: dir.path().into(),
        heartbeat_log: None,
    });
    write_files_so_far(record, dir.path(), &mut logs).unwrap();
    let path = dir.path().join(format!("{}.run.jsonl", record.run.suffix));
    fs::write(path, lines).unwrap();
    dir
}

/// The first check that `verify` makes on a file or a folder: status and text.
fn first_check(dir: &TempDir, record: &RunRecord, about: &str) -> (CheckStatus, String) {
    let name = format!("{}.run.jsonl", record.run.suffix);
    let bundle = gathered(dir, &name, &CollectOptions::default())
        .unwrap()
        .bundle;
    let verification = verify(&bundle, &Options::default());
    let found = verification
        .checks
        .iter()
        .find(|check| check.about == about);
    let check = found.unwrap_or_else(|| panic!("no check of {about}: {:?}", verification.checks));
    (check.state, check.text.clone())
}

#[test]
fn logs_of_a_cut_run_are_checked_as_far_as_load_points_have_ended() {
    let (record, lines) = killed_record();
    assert!(record.points.len() >= 2);
    let suffix = record.run.suffix.clone();
    let (log, procs) = (
        format!("sfslog.{suffix}.txt"),
        format!("client-logs.{suffix}"),
    );
    let one = format!("{procs}/netmist_C0.{suffix}.log");
    let dir = killed(&record, &lines);
    assert_eq!(first_check(&dir, &record, &log).0, CheckStatus::Ok);
    let add = |name: &str, before: &str, after: &str| {
        let text = fs::read_to_string(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name), format!("{before}{text}{after}")).unwrap();
        text
    };
    for (name, about) in [(&log, &log), (&one, &procs)] {
        // What was written while the run went on cannot be made again from the record.
        let text = add(name, "", "more\n");
        let (state, words) = first_check(&dir, &record, about);
        assert_eq!(state, CheckStatus::Skip, "{name}: {words}");
        assert!(words.contains("what follows is not checked"), "{words}");
        // The lines before it can.
        add(name, "forged\n", "");
        let (state, words) = first_check(&dir, &record, about);
        assert_eq!(state, CheckStatus::Fail, "{name}: {words}");
        fs::write(dir.path().join(name), text).unwrap();
    }
    add(&one, "", "more\n");
    fs::remove_file(dir.path().join(format!("{procs}/netmist_C1.{suffix}.log"))).unwrap();
    let (state, words) = first_check(&dir, &record, &procs);
    assert_eq!(state, CheckStatus::Fail, "{words}");
    assert!(words.contains("is missing"), "{words}");
}

#[test]
fn a_log_of_a_run_without_a_load_point_is_not_checked() {
    let (mut record, _) = killed_record();
    record.points.clear();
    let suffix = record.run.suffix.clone();
    let dir = killed(&record, &lines_of(&record));
    let log = format!("sfslog.{suffix}.txt");
    fs::write(dir.path().join(&log), "anything\n").unwrap();
    let (state, words) = first_check(&dir, &record, &log);
    assert_eq!(state, CheckStatus::Skip, "{words}");
    assert!(words.starts_with("not checked: the run was cut"), "{words}");
}

/// What `verify` finds wrong with a resumed run whose second part `change` has changed.
fn faults_of_resumed_run(change: impl Fn(&mut RunRecord)) -> String {
    let mut first = testing::record();
    let mut other = first.environments[0].clone();
    other.host = "client-z".into();
    first.environments.push(other);
    for (at, host) in first.environments.iter_mut().enumerate() {
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        host.mounts = vec![MountFacts {
            mount: format!("/mnt/{at}"),
            facts: vec![fact("file system", "nfs4"), fact("mount options", "rw")],
        }];
    }
    let mut second = first.clone();
    change(&mut second);
    first.points.truncate(2);
    second.points.drain(..2);
    if let Some(end) = &mut first.end {
        end.outcome = Outcome::Interrupted;
    }
    let text = lines_of(&first) + &lines_of(&second);
    let mut bundle = Bundle::new();
    bundle.add("mine.run.jsonl", text, Role::Record).unwrap();
    faults(&verify(&bundle, &Options::default()))
}

#[test]
fn a_run_that_was_resumed_on_other_hosts_is_found() {
    let words = "was resumed on other hosts";
    let found = faults_of_resumed_run(|_| {});
    assert!(!found.contains(words), "{found}");
    let found = faults_of_resumed_run(|second| {
        second.environments[0].mounts[0].facts[1].1 = "rw,sync".into()
    });
    assert!(
        found.contains(&format!("{words} than it was started on: "))
            && found.contains("the mount options is \"rw,sync\", was \"rw\""),
        "{found}"
    );
    let found = faults_of_resumed_run(|second| second.environments[0].memory_bytes /= 2);
    assert!(
        found.contains(words) && found.contains("of memory, had"),
        "{found}"
    );
    let found = faults_of_resumed_run(|second| {
        second.environments.pop();
        let again = second.environments[0].clone();
        second.environments.push(again);
    });
    assert!(found.contains("more clients run on it"), "{found}");
}
