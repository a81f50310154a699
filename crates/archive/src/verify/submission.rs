//! Submissions against the records and summaries that they name.

use super::types::{CheckStatus, Run, Verification};
use crate::bundle::Bundle;
use crate::inputs::is_named;
use crate::submission_file::{looks_like_submission, parse_submission};
use filermark_model::text::one_line;
use filermark_results::{Curve, Role, parse_sfssum};
use filermark_submission::{Document, Element, curve_of};

/// Half of the last digit that a submission has of a figure.
const TOLERANCE: f64 = 0.51e-6;

/// Gives the names that were looked at.
pub(super) fn check(bundle: &Bundle, runs: &[Run<'_>], told: &mut Verification) -> Vec<String> {
    let mut checked = Vec::new();
    for (name, member) in bundle.members() {
        let is_xml = member.role == Role::Submission || name.ends_with(".xml");
        if !is_xml || !looks_like_submission(&member.bytes) {
            continue;
        }
        checked.push(name.to_owned());
        match parse_submission(&member.bytes) {
            Ok(document) => one(bundle, runs, name, &document, told),
            Err(why) => told.push(CheckStatus::Fail, name, format!("is no submission: {why}")),
        }
    }
    checked
}

fn one(
    bundle: &Bundle,
    runs: &[Run<'_>],
    name: &str,
    document: &Document,
    told: &mut Verification,
) {
    let results = document.root().get("results");
    let items: Vec<&Element> = results.into_iter().flat_map(Element::items).collect();
    if items.is_empty() {
        told.push(CheckStatus::Skip, name, "has no results yet");
    }
    for (number, result) in (1..).zip(&items) {
        let about = match items.len() {
            1 => name.to_owned(),
            _ => format!("{name} result {number}"),
        };
        files(bundle, &about, result, told);
        let own = |run: &&Run<'_>| is_named(run.name, result.value("runFiles.recordFile"));
        match runs.iter().find(own) {
            Some(run) => of_record(bundle, run, &about, result, told),
            None => of_summary(bundle, &about, result, told),
        }
    }
    parameters(runs, name, document, told);
    diagrams(bundle, name, document, told);
}

/// The files that the result was made from, by the sums that it gives.
fn files(bundle: &Bundle, about: &str, result: &Element, told: &mut Verification) {
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
            told.push(
                CheckStatus::Skip,
                about,
                format!("{file}, which it was made from, is not there"),
            );
        } else if there.iter().any(|(_, member)| member.sha256() == sum) {
            told.push(
                CheckStatus::Ok,
                about,
                format!("{file} is the file that it was made from"),
            );
        } else {
            let text =
                format!("{file} is not the file that it was made from: its SHA-256 is another");
            told.push(CheckStatus::Fail, about, text);
        }
    }
}

fn of_record(
    bundle: &Bundle,
    run: &Run<'_>,
    about: &str,
    result: &Element,
    told: &mut Verification,
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
        let said = result.value(path);
        if said != made {
            faults.push(format!(
                "{path} is \"{said}\", and {} makes \"{made}\"",
                run.name
            ));
        }
    }
    let mut figures = apart(result, &Curve::of_record(record));
    // A submission may have been made from the summary, whose figures are rounded.
    if !figures.is_empty()
        && let Some(curve) = summary_curve(bundle, result)
        && apart(result, &curve).is_empty()
    {
        figures.clear();
    }
    faults.extend(figures);
    let good = format!(
        "its points, peak, overall response time and verdict are those of {}",
        run.name
    );
    told.conclude(about, good, faults);
}

fn of_summary(bundle: &Bundle, about: &str, result: &Element, told: &mut Verification) {
    match summary_curve(bundle, result) {
        Some(curve) => {
            let file = result.value("runFiles.summaryFile");
            let good = format!("its points, peak and overall response time are those of {file}");
            told.conclude(about, good, apart(result, &curve));
        }
        None => {
            let text = "neither its record nor its summary is there: only compared with itself";
            told.push(CheckStatus::Fail, about, text);
            let own = curve_of(result).map(|curve| apart(result, &curve));
            told.conclude(
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

/// Where a result does not say what a curve makes.
fn apart(result: &Element, made: &Curve) -> Vec<String> {
    let mut faults = Vec::new();
    let Some(said) = curve_of(result) else {
        return vec!["has no load points".into()];
    };
    let mut tell = |what: String, said: Option<f64>, made: Option<f64>| {
        let same = match (said, made) {
            (Some(said), Some(made)) => (said - made).abs() <= TOLERANCE.max(made.abs() * 1e-12),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let text = |figure: Option<f64>| figure.map_or("nothing".into(), |f| f.to_string());
            faults.push(format!(
                "{what} is {}, and the files make {}",
                text(said),
                text(made)
            ));
        }
    };
    let number = |path: &str| result.value(path).parse::<f64>().ok();
    tell(
        "peak".into(),
        number("peak"),
        Some(made.peak_value().unwrap_or(0.0)),
    );
    tell(
        "ortMs".into(),
        number("ortMs"),
        Some(made.ort_ms().unwrap_or(0.0)),
    );
    let counts = (said.points.len() as f64, made.points.len() as f64);
    tell(
        "the number of load points".into(),
        Some(counts.0),
        Some(counts.1),
    );
    for (number, (said, made)) in (1..).zip(said.points.iter().zip(&made.points)) {
        let whole = |n: Option<u64>| n.map(|n| n as f64);
        let yes = |is: bool| Some(f64::from(u8::from(is)));
        let figures = [
            ("load", Some(said.load), Some(made.load)),
            ("requested", said.requested, made.requested),
            ("achieved", Some(said.achieved), Some(made.achieved)),
            ("meanMs", Some(said.mean_ms), Some(made.mean_ms)),
            ("p99Ms", said.service_ms_p99, made.service_ms_p99),
            (
                "responseP99Ms",
                said.response_ms_p99,
                made.response_p99_known(),
            ),
            ("opCount", whole(said.op_count), whole(made.op_count)),
            (
                "errorCount",
                whole(said.error_count),
                whole(made.error_count),
            ),
            ("seconds", said.seconds, made.seconds),
            ("totalKibps", said.total_kib_per_sec, made.total_kib_per_sec),
            ("readKibps", said.read_kib_per_sec, made.read_kib_per_sec),
            ("writeKibps", said.write_kib_per_sec, made.write_kib_per_sec),
            ("filesetKib", said.fileset_kib, made.fileset_kib),
            (
                "clientCount",
                whole(said.client_count),
                whole(made.client_count),
            ),
            (
                "procsPerClient",
                whole(said.procs_per_client),
                whole(made.procs_per_client),
            ),
            ("isValid (1: yes)", yes(said.is_valid), yes(made.is_valid)),
        ];
        for (name, said, made) in figures {
            tell(format!("dataPoints.dataPoint[{number}].{name}"), said, made);
        }
    }
    for (name, said, made) in [
        ("metric", &said.metric, &made.metric),
        ("benchmark", &said.benchmark, &made.benchmark),
        ("runFiles.protocol", &said.protocol, &made.protocol),
    ] {
        if said != made {
            faults.push(format!(
                "{name} is \"{said}\", and the files make \"{made}\""
            ));
        }
    }
    if said.ort_method != made.ort_method {
        faults.push("ortMethod is not the benchmark's".into());
    }
    faults
}

/// The parameters that it lists are those of the first run.
fn parameters(runs: &[Run<'_>], name: &str, document: &Document, told: &mut Verification) {
    let results = document.root().get("results");
    let first = results.and_then(|r| r.items().next());
    let file = first.map_or("", |r| r.value("runFiles.recordFile"));
    let Some(run) = runs.iter().find(|run| is_named(run.name, file)) else {
        return;
    };
    let list = ["testInfo", "benchmarkParameters", "rcParameters"]
        .iter()
        .try_fold(document.root(), |element, step| element.get(step));
    let said = list.into_iter().flat_map(Element::items);
    let said: Vec<(&str, &str)> = said.map(|p| (p.value("name"), p.value("value"))).collect();
    let made = &run.record.run.plan.parameters;
    // As a field has it.
    let plain = |text: &str| one_line(text.trim());
    let same = said.len() == made.len()
        && said
            .iter()
            .zip(made)
            .all(|(s, m)| plain(s.0) == plain(&m.0) && plain(s.1) == plain(&m.1));
    let fault = || format!("rcParameters are not the parameters of {}", run.name);
    let faults = (!same).then(fault).into_iter().collect();
    told.conclude(
        name,
        format!("its parameters are those of {}", run.name),
        faults,
    );
}

fn diagrams(bundle: &Bundle, name: &str, document: &Document, told: &mut Verification) {
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
            true => told.push(
                CheckStatus::Ok,
                name,
                format!("the diagram {file} is there"),
            ),
            false => told.push(
                CheckStatus::Fail,
                name,
                format!("the diagram {file} is missing"),
            ),
        }
    }
}
