//! Load points: from LOAD, INCR_LOAD and NUM_RUNS to rates that every proc can have.

use crate::error::{SourceLocation, quoted};
use crate::given::whole_number;
use crate::params::{self, LOAD_MAX, RUNS_MAX};
use crate::reading::{Reading, Reports};
use crate::search;
use filermark_model::benchmark::Standard;
use filermark_model::plan::LoadPoint;
use filermark_model::units::counted;
use filermark_model::{Finding, OpsPerSec, Rule, Severity};

/// Load points of a range without a count.
const RANGE_POINTS: u64 = 10;
/// The unit of load of classical benchmarks.
pub(crate) const OPS: &str = "op/s";

/// The requested loads in units of load (`op/s`, or a business metric), in order; empty
/// when one was wrong.
pub(crate) fn asked(r: &mut Reading<'_>, unit: &str) -> Vec<u64> {
    let values = r.values;
    let Some(given) = values.given(&params::LOAD) else {
        if values.is_bad(&params::LOAD) {
            return Vec::new();
        }
        let example = if unit == OPS { 100 } else { 1 };
        r.reports.refuse(
            SourceLocation::Missing,
            "LOAD is not set",
            format!(
                "give the load in {}, e.g. LOAD={example} INCR_LOAD={example} NUM_RUNS=10",
                plural(unit)
            ),
        );
        return Vec::new();
    };
    let mut loads = Vec::new();
    let before = r.reports.errors.len();
    let list = values.get(&params::LOAD);
    let words = list.iter().flat_map(|word| match is_grouped(word) {
        true => vec![word.as_str()],
        false => word.split(',').collect(),
    });
    for word in words.filter(|word| !word.is_empty()) {
        if let Some(range) = range(word, unit) {
            match range {
                Some(points) => loads.extend(points),
                None => r.reports.refuse(
                    given.location.clone(),
                    format!("range '{}' in LOAD is not valid", quoted(word)),
                    format!(
                        "write FIRST-LAST for {RANGE_POINTS} evenly spaced load points, or FIRST-LAST/COUNT with at least 2 and at most {RUNS_MAX}; LAST must be the larger one, and the points whole numbers that rise"
                    ),
                ),
            }
            continue;
        }
        match whole_number(word, unit) {
            Some(n) if (1..=LOAD_MAX).contains(&n) => loads.push(n),
            _ => r.reports.refuse(
                given.location.clone(),
                format!("load '{}' in LOAD is not valid", quoted(word)),
                match is_grouped(word) {
                    true => "write one number without the comma, or several with blanks".to_owned(),
                    false => format!(
                        "give whole numbers from 1 to {LOAD_MAX} {}, blanks between them",
                        plural(unit)
                    ),
                },
            ),
        }
    }
    if loads.len() as u64 > RUNS_MAX {
        r.reports.refuse(
            given.location.clone(),
            format!("LOAD lists {} load points", loads.len()),
            format!("{RUNS_MAX} is the most"),
        );
    }
    if r.reports.errors.len() > before
        || values.is_bad(&params::INCR_LOAD)
        || values.is_bad(&params::NUM_RUNS)
    {
        return Vec::new();
    }
    match (loads.as_slice(), values.get(&params::INCR_LOAD)) {
        ([first], Some(step)) => series(r, *first, step, unit),
        (_, step) => {
            unused(r, step.is_some());
            loads
        }
    }
}

/// Whether LOAD is the word `max`: no rate is requested.
pub(crate) fn is_max(r: &mut Reading<'_>) -> bool {
    let values = r.values;
    if !matches!(&values.get(&params::LOAD)[..], [word] if word.eq_ignore_ascii_case("max")) {
        return false;
    }
    unused(r, false);
    let text = "LOAD=max: no rate is requested, the procs make operations as fast as they are \
                answered; a standard run requests rates";
    r.reports
        .note(Rule::LoadPoints, Severity::Note, text.to_owned());
    true
}

/// Whether a word may be one number with thousands separators: `1,200`. As a list it would
/// be two load points far apart.
fn is_grouped(word: &str) -> bool {
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let mut parts = word.split(',');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    (1..=2).contains(&first.len())
        && digits(first)
        && rest.peek().is_some()
        && rest.all(|part| part.len() == 3 && digits(part))
}

/// The load points of a range: `100-1000` is ten, evenly spaced; `100-1000/5` is five. The
/// outer `None`: it is no range. The inner one: it is not valid.
fn range(word: &str, unit: &str) -> Option<Option<Vec<u64>>> {
    let (first, rest) = word.split_once('-')?;
    let (last, count) = match rest.split_once('/') {
        Some((last, count)) => (last, count.parse().ok()),
        None => (rest, Some(RANGE_POINTS)),
    };
    let (first, last) = (whole_number(first, unit)?, whole_number(last, unit)?);
    let is_valid = |count: &u64| {
        (2..=RUNS_MAX).contains(count) && first >= 1 && last <= LOAD_MAX && first < last
    };
    let Some(count) = count.filter(is_valid) else {
        return Some(None);
    };
    // At most 10^9 times 10^3.
    let points = (0..count).map(|nth| first + (last - first) * nth / (count - 1));
    let points: Vec<u64> = points.collect();
    let rises = points.windows(2).all(|pair| pair[0] < pair[1]);
    Some(rises.then_some(points))
}

/// The plural of the unit after a number other than 1.
pub(crate) fn plural(unit: &str) -> String {
    match unit {
        OPS => unit.to_owned(),
        _ => format!("{unit}s"),
    }
}

fn series(r: &mut Reading<'_>, first: u64, step: u64, unit: &str) -> Vec<u64> {
    let runs = r.values.get(&params::NUM_RUNS);
    let last = first.saturating_add(step.saturating_mul(runs.saturating_sub(1)));
    if last > LOAD_MAX {
        r.refuse(
            &params::INCR_LOAD,
            format!(
                "the last of {runs} load points would be {last} {}",
                plural(unit)
            ),
            format!("{LOAD_MAX} is the most: lower INCR_LOAD or NUM_RUNS"),
        );
        return Vec::new();
    }
    (0..runs).map(|i| first + step * i).collect()
}

pub(crate) fn unused(r: &mut Reading<'_>, has_step: bool) {
    let values = r.values;
    let why = if search::is_wanted(values) {
        "LOAD=search chooses the load points"
    } else if has_step {
        "LOAD lists the load points itself"
    } else if values.given(&params::INCR_LOAD).is_some() {
        "LOAD=max is one load point"
    } else {
        "INCR_LOAD is not set"
    };
    let given = [
        values.given(&params::INCR_LOAD),
        values.given(&params::NUM_RUNS),
    ];
    for given in given.into_iter().flatten() {
        let text = format!("{} is not used: {why}", given.shown());
        r.reports.note(Rule::LoadPoints, Severity::Note, text);
    }
}

/// Rounds the requested loads down to whole op/s per proc (manual M, section 3.3).
pub(crate) fn round(
    reports: &mut Reports,
    asked: &[u64],
    procs: u64,
    place: &SourceLocation,
) -> Vec<LoadPoint> {
    let mut points = Vec::new();
    for (i, &load) in asked.iter().enumerate() {
        let per_proc = load / procs.max(1);
        if per_proc == 0 {
            reports.refuse(
                place.clone(),
                format!("load {load} on {procs} procs is less than 1 op/s per proc"),
                format!(
                    "raise the load to {procs} or more, or lower PROCS to {load} or fewer in all"
                ),
            );
            continue;
        }
        points.push(LoadPoint {
            number: i as u32 + 1,
            entered: OpsPerSec(load as f64),
            requested: OpsPerSec((per_proc * procs) as f64),
            units: 0.0,
            proc_count: 0,
        });
    }
    points
}

/// Findings about the points: rounding, spacing, load per proc.
pub(crate) fn remarks(points: &[LoadPoint], procs: u64, standard: &Standard) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut note = |rule, text: String| findings.push(Finding::new(rule, Severity::Note, text));
    let changed: Vec<String> = points
        .iter()
        .filter(|p| p.entered != p.requested)
        .map(|p| format!("{} to {}", p.entered.0, p.requested.0))
        .collect();
    if !changed.is_empty() {
        let more = changed.len().saturating_sub(10);
        let mut list = changed.into_iter().take(10).collect::<Vec<_>>().join(", ");
        if more > 0 {
            list += &format!(" and {more} more");
        }
        note(
            Rule::LoadPoints,
            format!("rounded down to whole op/s for each of {procs} procs: {list}"),
        );
    }
    let asked: Vec<f64> = points.iter().map(|p| p.entered.0).collect();
    findings.extend(spread(&asked, standard));
    let rates = points.iter().map(|p| p.requested.0 / procs.max(1) as f64);
    let top = rates.clone().fold(0.0, f64::max);
    let bottom = rates.fold(f64::INFINITY, f64::min);
    let source = "the manual of the 2008 generation, PROCS";
    if top > standard.ops_per_proc_max {
        let text = format!(
            "{top} op/s per proc at the highest load; above {} use more procs",
            standard.ops_per_proc_max
        );
        let finding = Finding::new(Rule::ProcLoad, Severity::Note, text);
        findings.push(finding.with_limit(top, standard.ops_per_proc_max, source));
    }
    if bottom < standard.ops_per_proc_min {
        let text = format!(
            "{bottom} op/s per proc at the lowest load; below {} use fewer procs",
            standard.ops_per_proc_min
        );
        let finding = Finding::new(Rule::ProcLoad, Severity::Note, text);
        findings.push(finding.with_limit(bottom, standard.ops_per_proc_min, source));
    }
    findings
}

/// Fewer load points than a standard run has, or not evenly spaced ones.
pub(crate) fn spread(asked: &[f64], standard: &Standard) -> Vec<Finding> {
    let mut texts = Vec::new();
    let least = standard.load_points_min as usize;
    if asked.len() < least {
        let points = counted(asked.len() as u64, "load point");
        texts.push(format!("{points}; a standard run has {least} or more"));
    }
    texts.extend(spacing(asked));
    let note = |text| Finding::new(Rule::LoadPoints, Severity::Note, text);
    texts.into_iter().map(note).collect()
}

/// `None` where the loads are evenly spaced from the first on; else how they are spaced.
fn spacing(asked: &[f64]) -> Option<String> {
    if asked.windows(2).any(|w| w[1] <= w[0]) {
        return Some("the load points do not rise; a standard run's do, evenly".into());
    }
    let first = *asked.first()?;
    if asked.len() > 1 && asked.windows(2).any(|w| w[1] - w[0] != first) {
        return Some(format!(
            "the load points are not evenly spaced: {first} to begin with, then other steps"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::Benchmark;

    fn rounded(asked: &[u64], procs: u64) -> Vec<f64> {
        let mut reports = Reports::default();
        let points = round(&mut reports, asked, procs, &SourceLocation::Missing);
        assert_eq!(reports.errors, []);
        points.iter().map(|p| p.requested.0).collect()
    }

    #[test]
    fn a_thousands_separator_is_no_list() {
        for (word, grouped) in [
            ("1,200", true),
            ("12,000,000", true),
            ("100,200,400", false),
            ("1,2", false),
            ("1000", false),
            ("1,", false),
        ] {
            assert_eq!(is_grouped(word), grouped, "{word}");
        }
    }

    #[test]
    fn ranges_are_evenly_spaced_points() {
        let points = |word| range(word, OPS).map(|points| points.unwrap_or_default());
        let ten: Vec<u64> = (1..=10).map(|nth| nth * 100).collect();
        assert_eq!(points("100-1000"), Some(ten.clone()));
        assert_eq!(points("0.1k-1k"), Some(ten));
        assert_eq!(points("100-1000/4"), Some(vec![100, 400, 700, 1000]));
        for word in [
            "1000-100",
            "100-100",
            "0-10",
            "1-10/0",
            "1-10/1",
            "1-10/x",
            "1-3/5",
            "1-9/1001",
            "1-2000000000",
        ] {
            assert_eq!(points(word), Some(vec![]), "{word}");
        }
        for word in ["100", "x-y", "100-", "-100", "1-2-3"] {
            assert_eq!(points(word), None, "{word}");
        }
    }

    #[test]
    fn the_manuals_example_of_rounding() {
        // Manual M, section 3.3: 200/200/10 on 4 clients x 8 procs.
        let asked: Vec<u64> = (1..=10).map(|i| i * 200).collect();
        let want = [
            192.0, 384.0, 576.0, 800.0, 992.0, 1184.0, 1376.0, 1600.0, 1792.0, 1984.0,
        ];
        assert_eq!(rounded(&asked, 32), want);
        assert_eq!(rounded(&[100, 300, 700], 8), [96.0, 296.0, 696.0]);
    }

    #[test]
    fn max_is_one_point_without_a_rate() {
        let resolved = |options: &[(&str, &str)]| {
            let mut sources = crate::Sources::from_rc(None).unwrap();
            let common = [("DRIVER", "null"), ("PROCS", "4")];
            for (name, value) in common.iter().chain(options) {
                sources.set("test", name, value);
            }
            crate::resolve(&sources)
        };
        let plan = resolved(&[("LOAD", "max"), ("FILESET_MB", "64")])
            .unwrap()
            .plan;
        assert_eq!(plan.points, [LoadPoint::MAX]);
        assert_eq!(plan.rate_of_proc(0, plan.points[0]), None);
        let bytes = plan.io_bytes(plan.points[0].requested);
        assert!((32 << 20..128 << 20).contains(&bytes), "{bytes}");
        // Without LOAD=max the size follows from the load, and the plan is as before.
        let plan = resolved(&[("LOAD", "100")]).unwrap().plan;
        assert_eq!(plan.fileset.mib, 0);
        let ignored = resolved(&[("LOAD", "max"), ("INCR_LOAD", "5")])
            .unwrap()
            .plan;
        let mut notes = ignored.findings.iter().map(|f| &f.message);
        assert!(notes.any(|text| text.contains("INCR_LOAD=5 is not used: LOAD=max")));
        assert!(resolved(&[("LOAD", "max 100")]).is_err());
    }

    #[test]
    fn less_than_one_per_proc_is_impossible() {
        let mut reports = Reports::default();
        assert!(round(&mut reports, &[31], 32, &SourceLocation::Missing).is_empty());
        assert!(
            reports.errors[0]
                .message
                .contains("less than 1 op/s per proc")
        );
    }

    #[test]
    fn remarks_are_made_only_about_unusual_points() {
        let standard = Benchmark::shipped("general-nfs3").unwrap().standard;
        let messages = |asked: &[u64], procs| {
            let points = round(
                &mut Reports::default(),
                asked,
                procs,
                &SourceLocation::Missing,
            );
            let found = remarks(&points, procs, &standard);
            found.iter().map(|f| f.to_string()).collect::<Vec<_>>()
        };
        let even: Vec<u64> = (1..=10).map(|i| i * 80).collect();
        assert_eq!(messages(&even, 8), [""; 0]);
        assert!(messages(&[80, 160], 8)[0].contains("2 load points;"));
        assert!(messages(&[80], 8)[0].contains("1 load point;"));
        assert!(
            messages(&[80, 90], 8)
                .iter()
                .any(|s| s.contains("not evenly"))
        );
        assert!(
            messages(&[160, 80], 8)
                .iter()
                .any(|s| s.contains("do not rise"))
        );
        assert!(messages(&even, 2).iter().any(|s| s.contains("above 250")));
        assert!(messages(&even, 16).iter().any(|s| s.contains("below 10")));
        assert!(messages(&[81], 8)[0].contains("81 to 80"));
    }
}
