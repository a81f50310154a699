//! Compares submissions with the records and summaries that they name.

use super::types::{CheckStatus, Run, Verification};
use crate::bundle::Bundle;
use crate::inputs::is_named;
use crate::submission_file::{looks_like_submission, parse_submission};
use filermark_model::text::one_line;
use filermark_results::{Curve, Role, parse_sfssum};
use filermark_submission::{Document, Element, curve_of};

/// Half of the last digit of a figure in a submission.
const TOLERANCE: f64 = 0.51e-6;

/// Returns the names of the submissions that were checked.
pub(super) fn check(
    bundle: &Bundle,
    runs: &[Run<'_>],
    verification: &mut Verification,
) -> Vec<String> {
    let mut checked = Vec::new();
    for (name, member) in bundle.members() {
        let is_xml = member.role == Role::Submission || name.ends_with(".xml");
        if !is_xml || !looks_like_submission(&member.bytes) {
            continue;
        }
        checked.push(name.to_owned());
        match parse_submission(&member.bytes) {
            Ok(document) => check_submission(bundle, runs, name, &document, verification),
            Err(why) => verification.push(
                CheckStatus::Fail,
                name,
                format!("is not a submission: {why}"),
            ),
        }
    }
    checked
}

fn check_submission(
    bundle: &Bundle,
    runs: &[Run<'_>],
    name: &str,
    document: &Document,
    verification: &mut Verification,
) {
    let results = document.root().get("results");
    let items: Vec<&Element> = results.into_iter().flat_map(Element::items).collect();
    if items.is_empty() {
        verification.push(CheckStatus::Skip, name, "has no results yet");
    }
    for (number, result) in (1..).zip(&items) {
        let about = match items.len() {
            1 => name.to_owned(),
            _ => format!("{name} result {number}"),
        };
        check_files(bundle, &about, result, verification);
        let own = |run: &&Run<'_>| is_named(run.name, result.value("runFiles.recordFile"));
        match runs.iter().find(own) {
            Some(run) => check_with_record(bundle, run, &about, result, verification),
            None => check_with_summary(bundle, &about, result, verification),
        }
    }
    check_parameters(runs, name, document, verification);
    check_diagrams(bundle, name, document, verification);
}

/// Checks the files that the result was made from, by the sums in the result.
fn check_files(bundle: &Bundle, about: &str, result: &Element, verification: &mut Verification) {
    for kind in ["record", "summary", "rc"] {
        let file = result.value(&format!("runFiles.{kind}File"));
        let sum = result.value(&format!("runFiles.{kind}Sha256"));
        if file.is_empty() {
            continue;
        }
        let there: Vec<_> = bundle
            .members()
            .filter(|(name, _)| is_named(name, file))
            .collect();
        if there.is_empty() {
            verification.push(
                CheckStatus::Skip,
                about,
                format!("{file}, which it was made from, is missing"),
            );
        } else if there.iter().any(|(_, member)| member.sha256() == sum) {
            verification.push(
                CheckStatus::Ok,
                about,
                format!("{file} is the file that it was made from"),
            );
        } else {
            let text = format!("{file} is not the file that it was made from: its SHA-256 differs");
            verification.push(CheckStatus::Fail, about, text);
        }
    }
}

fn check_with_record(
    bundle: &Bundle,
    run: &Run<'_>,
    about: &str,
    result: &Element,
    verification: &mut Verification,
) {
    let record = &run.record;
    let header = &record.run;
    let mut faults = Vec::new();
    let program = format!("{} {}", header.program, header.version);
    let texts = [
        ("verdict", record.verdict().label().to_owned()),
        (
            "benchmarkVersion",
            header.plan.benchmark.version.to_string(),
        ),
        ("runFiles.fingerprint", header.fingerprint.clone()),
        ("runFiles.suffix", header.suffix.clone()),
        ("runFiles.started", header.started.to_string()),
        ("runFiles.program", program),
    ];
    for (path, made) in texts {
        let stated = result.value(path);
        if stated != made {
            faults.push(format!(
                "{path} is \"{stated}\", but {} makes \"{made}\"",
                run.name
            ));
        }
    }
    let mut figures = differences(result, &Curve::of_record(record));
    // A submission may have been made from the summary, whose figures are rounded.
    if !figures.is_empty()
        && let Some(curve) = summary_curve(bundle, result)
        && differences(result, &curve).is_empty()
    {
        figures.clear();
    }
    faults.extend(figures);
    let good = format!(
        "its points, peak, overall response time and verdict are those of {}",
        run.name
    );
    verification.conclude(about, good, faults);
}

fn check_with_summary(
    bundle: &Bundle,
    about: &str,
    result: &Element,
    verification: &mut Verification,
) {
    match summary_curve(bundle, result) {
        Some(curve) => {
            let file = result.value("runFiles.summaryFile");
            let good = format!("its points, peak and overall response time are those of {file}");
            verification.conclude(about, good, differences(result, &curve));
        }
        None => {
            let text = "its record and its summary are missing: its figures are only compared with each other";
            verification.push(CheckStatus::Fail, about, text);
            let own = curve_of(result).map(|curve| differences(result, &curve));
            verification.conclude(
                about,
                "its points make its peak and overall response time",
                own.unwrap_or_default(),
            );
        }
    }
}

fn summary_curve(bundle: &Bundle, result: &Element) -> Option<Curve> {
    let file = result.value("runFiles.summaryFile");
    let (_, member) = bundle.members().find(|(name, _)| is_named(name, file))?;
    Some(parse_sfssum(member.text()?).ok()?.curve)
}

/// Figures of a result that differ from those of a curve.
fn differences(result: &Element, made: &Curve) -> Vec<String> {
    let mut faults = Vec::new();
    let Some(stated) = curve_of(result) else {
        return vec!["has no load points".into()];
    };
    let mut compare = |what: String, stated: Option<f64>, made: Option<f64>| {
        let same = match (stated, made) {
            (Some(stated), Some(made)) => {
                (stated - made).abs() <= TOLERANCE.max(made.abs() * 1e-12)
            }
            (None, None) => true,
            _ => false,
        };
        if !same {
            let text = |figure: Option<f64>| figure.map_or("nothing".into(), |f| f.to_string());
            faults.push(format!(
                "{what} is {}, but the files make {}",
                text(stated),
                text(made)
            ));
        }
    };
    let number = |path: &str| result.value(path).parse::<f64>().ok();
    compare(
        "peak".into(),
        number("peak"),
        Some(made.peak_value().unwrap_or(0.0)),
    );
    compare(
        "ortMs".into(),
        number("ortMs"),
        Some(made.ort_ms().unwrap_or(0.0)),
    );
    let counts = (stated.points.len() as f64, made.points.len() as f64);
    compare(
        "the number of load points".into(),
        Some(counts.0),
        Some(counts.1),
    );
    for (number, (stated, made)) in (1..).zip(stated.points.iter().zip(&made.points)) {
        let whole = |n: Option<u64>| n.map(|n| n as f64);
        let yes = |is: bool| Some(f64::from(u8::from(is)));
        let figures = [
            ("load", Some(stated.load), Some(made.load)),
            ("requested", stated.requested, made.requested),
            ("achieved", Some(stated.achieved), Some(made.achieved)),
            ("meanMs", Some(stated.mean_ms), Some(made.mean_ms)),
            ("p99Ms", stated.service_ms_p99, made.service_ms_p99),
            (
                "responseP99Ms",
                stated.response_ms_p99,
                made.response_p99_known(),
            ),
            ("opCount", whole(stated.op_count), whole(made.op_count)),
            (
                "errorCount",
                whole(stated.error_count),
                whole(made.error_count),
            ),
            ("seconds", stated.seconds, made.seconds),
            (
                "totalKibps",
                stated.total_kib_per_sec,
                made.total_kib_per_sec,
            ),
            ("readKibps", stated.read_kib_per_sec, made.read_kib_per_sec),
            (
                "writeKibps",
                stated.write_kib_per_sec,
                made.write_kib_per_sec,
            ),
            ("filesetKib", stated.fileset_kib, made.fileset_kib),
            (
                "clientCount",
                whole(stated.client_count),
                whole(made.client_count),
            ),
            (
                "procsPerClient",
                whole(stated.procs_per_client),
                whole(made.procs_per_client),
            ),
            ("isValid (1: yes)", yes(stated.is_valid), yes(made.is_valid)),
        ];
        for (name, stated, made) in figures {
            compare(
                format!("dataPoints.dataPoint[{number}].{name}"),
                stated,
                made,
            );
        }
    }
    for (name, stated, made) in [
        ("metric", &stated.metric, &made.metric),
        ("benchmark", &stated.benchmark, &made.benchmark),
        ("runFiles.protocol", &stated.protocol, &made.protocol),
    ] {
        if stated != made {
            faults.push(format!(
                "{name} is \"{stated}\", but the files make \"{made}\""
            ));
        }
    }
    if stated.ort_method != made.ort_method {
        faults.push("ortMethod is not that of the benchmark".into());
    }
    faults
}

/// Checks that the parameters in the submission are those of the first run.
fn check_parameters(
    runs: &[Run<'_>],
    name: &str,
    document: &Document,
    verification: &mut Verification,
) {
    let results = document.root().get("results");
    let first = results.and_then(|r| r.items().next());
    let file = first.map_or("", |r| r.value("runFiles.recordFile"));
    let Some(run) = runs.iter().find(|run| is_named(run.name, file)) else {
        return;
    };
    let list = ["testInfo", "benchmarkParameters", "rcParameters"]
        .iter()
        .try_fold(document.root(), |element, step| element.get(step));
    let stated = list.into_iter().flat_map(Element::items);
    let stated: Vec<(&str, &str)> = stated
        .map(|p| (p.value("name"), p.value("value")))
        .collect();
    let made = &run.record.run.plan.parameters;
    // A field of a submission has one line.
    let plain = |text: &str| one_line(text.trim());
    let same = stated.len() == made.len()
        && stated
            .iter()
            .zip(made)
            .all(|(s, m)| plain(s.0) == plain(&m.0) && plain(s.1) == plain(&m.1));
    let fault = || format!("rcParameters are not the parameters of {}", run.name);
    let faults = (!same).then(fault).into_iter().collect();
    verification.conclude(
        name,
        format!("its parameters are those of {}", run.name),
        faults,
    );
}

fn check_diagrams(
    bundle: &Bundle,
    name: &str,
    document: &Document,
    verification: &mut Verification,
) {
    let product = document.root().get("productInfo");
    let list = product.and_then(|p| p.get("configDiagrams"));
    for diagram in list.into_iter().flat_map(Element::items) {
        let file = diagram.value("file");
        if file.is_empty() {
            continue;
        }
        let there = bundle
            .members()
            .any(|(name, _)| name == file || is_named(name, file));
        match there {
            true => verification.push(
                CheckStatus::Ok,
                name,
                format!("the diagram {file} is there"),
            ),
            false => verification.push(
                CheckStatus::Fail,
                name,
                format!("the diagram {file} is missing"),
            ),
        }
    }
}
