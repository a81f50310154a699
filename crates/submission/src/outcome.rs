//! Results in a document: written, read, and checked for contradictions.

use crate::document::{Document, Element};
use crate::fill::RunFiles;
use filermark_model::text::one_line;
use filermark_model::{Rule, Severity};
use filermark_results::{Curve, CurvePoint, OrtMethod, RunRecord};

/// A figure for the document: short, but with enough digits that values computed from it do
/// not change.
fn figure(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shown(value: Option<f64>) -> String {
    value.map_or(String::new(), figure)
}

/// Writes the result of a run into a `result`.
pub(crate) fn put_result(result: &mut Element, run: &RunFiles<'_>) {
    let curve = run.curve;
    result.put("benchmark", curve.benchmark.as_str());
    if let Some(record) = run.record {
        let benchmark = &record.run.plan.benchmark;
        result.put("title", one_line(&benchmark.title));
        result.put("benchmarkVersion", benchmark.version.to_string());
    }
    result.put("metric", curve.metric.as_str());
    result.put("peak", figure(curve.peak_value().unwrap_or(0.0)));
    result.put("ortMs", figure(curve.ort_ms().unwrap_or(0.0)));
    result.put("ortMethod", curve.ort_method.name());
    result.put("verdict", verdict(run));
    result.put("remarks", run.record.map_or(String::new(), remarks));
    put_points(result, curve);
    if let Some(files) = result.get_mut("runFiles") {
        files.put("protocol", curve.protocol.as_str());
        files.put("summaryFile", run.summary_file.name.as_str());
        files.put("summarySha256", run.summary_file.sha256.as_str());
        files.put("rcFile", run.rc_file.name.as_str());
        files.put("rcSha256", run.rc_file.sha256.as_str());
        if let (Some(record), Some(file)) = (run.record, run.record_file) {
            let header = &record.run;
            files.put("suffix", header.suffix.as_str());
            files.put("started", header.started.to_string());
            files.put("program", format!("{} {}", header.program, header.version));
            files.put("fingerprint", header.fingerprint.as_str());
            files.put("recordFile", file.name.as_str());
            files.put("recordSha256", file.sha256.as_str());
        }
    }
}

/// The remarks of a benchmark of an older generation, and its result.
fn of_older_generation(record: &RunRecord) -> Vec<String> {
    let rows = record.run.plan.benchmark.heritage_rows();
    if rows.is_empty() {
        return Vec::new();
    }
    let rows = rows
        .into_iter()
        .map(|(name, words)| format!("{name}: {}", one_line(&words)));
    rows.chain(filermark_results::classical::line(record))
        .collect()
}

/// The warnings of the rules: those of the run, then each kind of its load points once.
fn remarks(record: &RunRecord) -> String {
    let of_points = record.points.iter().flat_map(|point| {
        let findings = point.findings.iter();
        findings.map(move |f| (Some(point.load.number), f))
    });
    let all = record.run_findings().map(|f| (None, f)).chain(of_points);
    let mut lines = of_older_generation(record);
    let mut reported: Vec<Rule> = Vec::new();
    for (point, finding) in all.filter(|(_, f)| f.severity == Severity::Warning) {
        let words = one_line(&finding.message);
        match point {
            None => lines.push(words),
            // Only the first load point: the record has all of them.
            Some(_) if reported.contains(&finding.rule) => {}
            Some(number) => {
                reported.push(finding.rule);
                lines.push(format!(
                    "load point {number} (the first of this kind): {words}"
                ));
            }
        }
    }
    lines.join("\n")
}

fn verdict(run: &RunFiles<'_>) -> &'static str {
    if let Some(record) = run.record {
        return record.verdict().label();
    }
    run.verdict
}

fn put_points(result: &mut Element, curve: &Curve) {
    let Some(list) = result.get_mut("dataPoints") else {
        return;
    };
    let Some(item) = list.node().children().first() else {
        return;
    };
    let whole = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let points = curve.points.iter().map(|p| {
        let mut point = Element::blank(item);
        point.put("load", figure(p.load));
        point.put("requested", shown(p.requested));
        point.put("achieved", figure(p.achieved));
        point.put("meanMs", figure(p.mean_ms));
        point.put("p99Ms", shown(p.service_ms_p99));
        point.put("responseP99Ms", shown(p.response_p99_known()));
        point.put("opCount", whole(p.op_count));
        point.put("errorCount", whole(p.error_count));
        point.put("seconds", shown(p.seconds));
        point.put("totalKibps", shown(p.total_kib_per_sec));
        point.put("readKibps", shown(p.read_kib_per_sec));
        point.put("writeKibps", shown(p.write_kib_per_sec));
        point.put("filesetKib", shown(p.fileset_kib));
        point.put("clientCount", whole(p.client_count));
        point.put("procsPerClient", whole(p.procs_per_client));
        point.put("isValid", if p.is_valid { "yes" } else { "no" });
        point.put("reason", p.reason.as_str());
        point
    });
    list.set_items(points.collect());
}

/// The curve of a `result`; `None` if it is blank.
pub fn curve_of(result: &Element) -> Option<Curve> {
    if result.is_blank() {
        return None;
    }
    let points: Vec<_> = result.get("dataPoints")?.items().map(point_of).collect();
    Some(Curve {
        benchmark: result.value("benchmark").to_owned(),
        metric: result.value("metric").to_owned(),
        protocol: result.value("runFiles.protocol").to_owned(),
        ort_method: match result.value("ortMethod") {
            "2020" => OrtMethod::FromFirst,
            _ => OrtMethod::FromOrigin,
        },
        has_ort: points.len() > 1 || !has_zero_ort(result),
        points,
    })
}

/// The ORT of a result that has none, such as that of a search without a sweep.
fn has_zero_ort(result: &Element) -> bool {
    result.value("ortMs").parse() == Ok(0.0)
}

fn point_of(point: &Element) -> CurvePoint {
    let figure = |name: &str| point.value(name).parse::<f64>().ok();
    let whole = |name: &str| point.value(name).parse::<u64>().ok();
    CurvePoint {
        load: figure("load").unwrap_or(0.0),
        requested: figure("requested"),
        achieved: figure("achieved").unwrap_or(0.0),
        mean_ms: figure("meanMs").unwrap_or(0.0),
        service_ms_p99: figure("p99Ms"),
        response_ms_p99: figure("responseP99Ms"),
        response_ms_p99_at_least: false,
        op_count: whole("opCount"),
        error_count: whole("errorCount"),
        seconds: figure("seconds"),
        total_kib_per_sec: figure("totalKibps"),
        read_kib_per_sec: figure("readKibps"),
        write_kib_per_sec: figure("writeKibps"),
        fileset_kib: figure("filesetKib"),
        client_count: whole("clientCount"),
        procs_per_client: whole("procsPerClient"),
        ip_version: None,
        is_valid: point.value("isValid") == "yes",
        reason: point.value("reason").to_owned(),
    }
}

impl Document {
    /// The results that are in it, each with its curve.
    pub fn results(&self) -> Vec<(&Element, Curve)> {
        let results = self.root().get("results");
        let items = results.into_iter().flat_map(Element::items);
        items
            .filter_map(|item| Some((item, curve_of(item)?)))
            .collect()
    }
}

impl Document {
    /// The files of the diagrams, each once, in their order.
    pub fn diagram_files(&self) -> Vec<&str> {
        let product = self.root().get("productInfo");
        let list = product.and_then(|p| p.get("configDiagrams"));
        let mut files: Vec<&str> = Vec::new();
        for item in list.into_iter().flat_map(Element::items) {
            let file = item.value("file");
            if !file.is_empty() && !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }
}

/// Differences between a result and its run record, as messages.
pub fn differences(result: &Element, record: &RunRecord) -> Vec<String> {
    let mut found = Vec::new();
    let curve = Curve::of_record(record);
    let Some(stated) = curve_of(result) else {
        return found;
    };
    let mut compare = |what: &str, stated: String, made: String| {
        if stated != made {
            found.push(format!(
                "{what}: {stated} in the submission, {made} in the run record"
            ));
        }
    };
    let verdict = record.verdict();
    compare(
        "verdict",
        result.value("verdict").to_owned(),
        verdict.label().to_owned(),
    );
    compare(
        "fingerprint",
        result.value("runFiles.fingerprint").to_owned(),
        record.run.fingerprint.clone(),
    );
    compare(
        "number of load points",
        stated.points.len().to_string(),
        curve.points.len().to_string(),
    );
    for (number, (stated, made)) in (1..).zip(stated.points.iter().zip(&curve.points)) {
        for (what, stated, made) in [
            ("load", stated.load, made.load),
            ("throughput", stated.achieved, made.achieved),
            ("mean service time", stated.mean_ms, made.mean_ms),
        ] {
            compare(
                &format!("{what} of load point {number}"),
                figure(stated),
                figure(made),
            );
        }
        let word = |is_valid| if is_valid { "counts" } else { "does not count" };
        compare(
            &format!("load point {number}"),
            word(stated.is_valid).into(),
            word(made.is_valid).into(),
        );
    }
    found
}

/// Why load points contradict a verdict. PARTLY VALID is of documents of Filermark 0.1.
fn contradiction(verdict: &str, curve: &Curve) -> Option<String> {
    let (valid, all) = (curve.valid_points().count(), curve.points.len());
    let count = || format!("{valid} of {all} load points count");
    match verdict {
        "" | "INVALID" | "UNKNOWN" => None,
        _ if valid == 0 => Some(count()),
        "PARTLY VALID" => None,
        _ => {
            let highest = curve.valid_points().map(|p| p.load).fold(0.0, f64::max);
            let mut others = curve.points.iter().filter(|p| !p.is_valid);
            let below = others.find(|p| p.load < highest)?;
            Some(format!(
                "the load point of {} does not count, though a higher one does",
                figure(below.load)
            ))
        }
    }
}

/// Results whose verdict, peak or ORT contradicts their load points: path and reason.
pub(crate) fn contradictions(document: &Document) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let results = document.root().get("results");
    for (number, result) in (1..).zip(results.map_or(&[][..], Element::children)) {
        let Some(curve) = curve_of(result) else {
            continue;
        };
        let verdict = result.value("verdict");
        if let Some(why) = contradiction(verdict, &curve) {
            let path = format!("results.result[{number}].verdict");
            found.push((path, format!("{verdict}, but {why}")));
        }
        let made = [
            ("peak", curve.peak_value(), 0.5),
            ("ortMs", curve.ort_ms(), 0.005),
        ];
        for (name, made, tolerance) in made {
            let Ok(stated) = result.value(name).parse::<f64>() else {
                continue;
            };
            let made = made.unwrap_or(0.0);
            if (stated - made).abs() > tolerance {
                found.push((
                    format!("results.result[{number}].{name}"),
                    format!(
                        "{stated} is not what the load points make: {}",
                        figure(made)
                    ),
                ));
            }
        }
    }
    found
}
