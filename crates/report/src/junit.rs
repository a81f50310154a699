//! A run as JUnit XML: a test case for each load point and for each gate, as CI systems read it.

use crate::labels;
use crate::svg::escape;
use filermark_model::text::one_line;
use filermark_results::{PointRecord, RunRecord};
use std::fmt::Write as _;

/// A condition that was checked on the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// What was checked: `assert p99<5ms`.
    pub name: String,
    /// Why it failed; `None`: it passed.
    pub failure: Option<String>,
}

/// The XML document.
pub fn junit(record: &RunRecord, gates: &[Gate]) -> String {
    let points = record.points.iter().map(|point| Case {
        class: "load-points",
        name: format!(
            "load point {}: {}",
            point.load.number,
            labels::load(record, point.load)
        ),
        seconds: point.measured().map(|stats| stats.window_ns as f64 / 1e9),
        failure: failure(point),
    });
    let gates = gates.iter().map(|gate| Case {
        class: "gates",
        name: gate.name.clone(),
        seconds: None,
        failure: gate.failure.clone(),
    });
    let mut cases: Vec<Case> = points.chain(gates).collect();
    cases.extend(run_failure(record, &cases));
    document(record, &cases)
}

/// A test case.
struct Case {
    class: &'static str,
    name: String,
    seconds: Option<f64>,
    failure: Option<String>,
}

/// Why a load point does not count.
fn failure(point: &PointRecord) -> Option<String> {
    if point.is_valid() {
        return None;
    }
    let reasons = point.findings.iter().filter(|f| f.invalidates());
    let reasons: Vec<&str> = reasons.map(|f| f.message.as_str()).collect();
    Some(match reasons.is_empty() {
        true => point.failure().unwrap_or("not measured").to_owned(),
        false => reasons.join("; "),
    })
}

/// A case for a run that is not valid although each measured load point is: it was cut, or has
/// failed.
fn run_failure(record: &RunRecord, cases: &[Case]) -> Option<Case> {
    let verdict = record.verdict();
    let missing = verdict.counts().1.saturating_sub(record.points.len());
    let has_failed = cases.iter().any(|case| case.failure.is_some());
    if missing == 0 && (verdict.is_valid() || has_failed) {
        return None;
    }
    let reasons = verdict.reasons().join("; ");
    Some(Case {
        class: "load-points",
        name: "run".to_owned(),
        seconds: None,
        failure: Some(match missing {
            0 => reasons,
            n => format!("load points that were not measured: {n}; {reasons}"),
        }),
    })
}

fn document(record: &RunRecord, cases: &[Case]) -> String {
    let failed = cases.iter().filter(|case| case.failure.is_some()).count();
    let run = &record.run;
    let name = escape(&one_line(&format!(
        "filermark {} {}",
        run.plan.benchmark.name, run.suffix
    )));
    let seconds = record.end.as_ref().map_or(0.0, |end| end.wall_seconds);
    let counts = format!(
        "tests=\"{}\" failures=\"{failed}\" errors=\"0\"",
        cases.len()
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites {counts} time=\"{seconds:.3}\">\n\
         <testsuite name=\"{name}\" {counts} skipped=\"0\" timestamp=\"{}\" time=\"{seconds:.3}\">\n",
        run.started.to_string().get(..19).unwrap_or_default(),
    );
    for case in cases {
        let _ = write!(
            text,
            "<testcase classname=\"filermark.{}\" name=\"{}\" time=\"{:.3}\"",
            case.class,
            escape(&one_line(&case.name)),
            case.seconds.unwrap_or(0.0)
        );
        match &case.failure {
            None => text.push_str("/>\n"),
            Some(why) => {
                let why = escape(&one_line(why));
                let _ = writeln!(
                    text,
                    "><failure type=\"{}\" message=\"{why}\">{why}</failure></testcase>",
                    case.class
                );
            }
        }
    }
    let verdict = escape(&record.verdict().line());
    let _ = writeln!(
        text,
        "<system-out>{verdict}\n{}</system-out>\n</testsuite>\n</testsuites>",
        filermark_model::NOT_A_SPEC_RESULT
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn each_point_and_each_gate_is_a_case() {
        let record = testing::record();
        let gates = [
            Gate {
                name: "assert p99<5ms & \"more\"".into(),
                failure: Some("it was <9> ms".into()),
            },
            Gate {
                name: "fail-on invalid".into(),
                failure: None,
            },
        ];
        let xml = junit(&record, &gates);
        let cases = xml.matches("<testcase ").count();
        assert_eq!(cases, record.points.len() + 2);
        let failures = xml.matches("<failure ").count();
        assert!(xml.contains(&format!("tests=\"{cases}\" failures=\"{failures}\"")));
        assert!(
            xml.contains("assert p99&lt;5ms &amp; &quot;more&quot;"),
            "{xml}"
        );
        assert!(xml.contains("It is not a SPEC result"));
        assert_well_formed(&xml);
    }

    #[test]
    fn a_run_without_a_load_point_is_a_failed_case() {
        let mut record = testing::record();
        record.points.clear();
        let xml = junit(&record, &[]);
        assert!(xml.contains("tests=\"1\" failures=\"1\""), "{xml}");
        assert_well_formed(&xml);
    }

    #[test]
    fn a_cut_run_is_never_without_a_failure() {
        let mut record = testing::record();
        let valid = record.points.iter().position(PointRecord::is_valid);
        record.points = vec![record.points.swap_remove(valid.expect("one"))];
        record.end = None;
        let xml = junit(&record, &[]);
        assert!(
            xml.contains("load points that were not measured: "),
            "{xml}"
        );
        assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    }

    /// By xmllint; without it the test fails. A program of Windows cannot start it.
    fn assert_well_formed(xml: &str) {
        if cfg!(windows) {
            return;
        }
        let child = Command::new("xmllint")
            .args(["--noout", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("xmllint: Debian's libxml2-utils");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(xml.as_bytes()).expect("write");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}\n{xml}");
    }
}
