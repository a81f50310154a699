//! Which runs can be resumed.

use super::*;
use filermark_results::record::{PointRecord, PointStatus};
use filermark_results::testing::composite::composite_record;

/// The result of `continued` for a record with these load points and this end.
fn continue_run(points: &[PointRecord], end: Option<Outcome>) -> Result<RunRecord, String> {
    let record = composite_record();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.run.jsonl");
    let mut writer = RecordWriter::create(&path, false).expect("a record");
    let mut write = |line: Line| writer.write(&line).expect("written");
    write(Line::Run(Box::new(record.run.clone())));
    let lines = points.iter().cloned();
    lines.for_each(|point| write(Line::Point(Box::new(point))));
    let ended = record.end.clone().expect("an end");
    end.map(|outcome| End { outcome, ..ended })
        .into_iter()
        .for_each(|end| write(Line::End(end)));
    writer.keep().expect("kept");
    drop(writer);
    continued(&path, record.run.clone()).map(|(_, record)| record)
}

#[test]
fn a_run_that_is_complete_or_has_failed_meanwhile_does_not_go_on() {
    let mut good = composite_record().points;
    good.retain(|point| point.measured().is_some());
    let mut bad = good.clone();
    let reason = || "no answer".to_owned();
    if let Some(last) = bad.last_mut() {
        last.status = PointStatus::Failed { reason: reason() };
        last.stats = None;
    }
    let failed = || Outcome::Failed { reason: reason() };
    for (points, end, wanted) in [
        (&good, Some(Outcome::Complete), "this run is complete"),
        (&good, Some(failed()), "this run has failed"),
        (&bad, Some(Outcome::Interrupted), "this run has failed"),
        (&bad, None, "this run has failed"),
    ] {
        let error = continue_run(points, end).expect_err(wanted);
        assert!(error.contains(wanted), "{error}");
    }
    for end in [Some(Outcome::Interrupted), None] {
        let record = continue_run(&good, end).expect("it goes on");
        assert_eq!(record.restarts.len(), 1);
        assert_eq!(record.points.len(), good.len());
    }
}
