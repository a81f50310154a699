//! The result on a terminal: a table, the peak, the ORT, the findings.

use crate::breakdown;
use crate::composite;
use crate::format::{count, ms, number, plural, rate};
use crate::heritage;
use crate::labels;
use crate::search;
use filermark_model::text::one_line;
use filermark_model::{Finding, NOT_A_SPEC_RESULT, PointStats, Severity};
use filermark_results::figures::plain;
use filermark_results::text::{load_points, severity_label};
use filermark_results::verdict::NextStep;
use filermark_results::{PointRecord, RunRecord};
use std::fmt::Write as _;

/// Narrowest supported terminal, in columns.
pub const WIDTH_MIN: usize = 60;

/// SGR codes of the terminal, or none.
pub struct Paint {
    pub on: bool,
}

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        match self.on {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
    pub fn good(&self, text: &str) -> String {
        self.with("32", text)
    }
    pub fn bad(&self, text: &str) -> String {
        self.with("31", text)
    }
    pub fn warn(&self, text: &str) -> String {
        self.with("33", text)
    }
    pub fn strong(&self, text: &str) -> String {
        self.with("1", text)
    }
    fn severity(&self, severity: Severity) -> String {
        let word = format!("{:<7}", severity_label(severity));
        match severity {
            Severity::Note => word,
            Severity::Warning => self.warn(&word),
            Severity::Invalid => self.bad(&word),
        }
    }
}

/// The summary, for a terminal `width` columns wide, with colour when `colour`.
pub fn summary(record: &RunRecord, colour: bool, width: usize) -> String {
    let (paint, width) = (Paint { on: colour }, width.max(WIDTH_MIN));
    let mut out = String::new();
    let search = search::table(record, &paint, |text, indent| {
        wrapped(text, width.saturating_sub(indent), indent)
    });
    if !search.is_empty() {
        let _ = writeln!(out, "{search}");
    }
    if !record.points.is_empty() || record.search.is_empty() {
        table(&mut out, record, &paint, width);
    }
    findings(&mut out, record, &paint, width);
    headline(&mut out, record, &paint, width);
    out
}

fn table(out: &mut String, record: &RunRecord, paint: &Paint, width: usize) {
    let unit = labels::unit(record);
    let load_head = unit.as_ref().map_or(String::new(), |u| format!(" {u:>8}"));
    let columns = FigureColumns::that_fit(record, load_head.len(), width);
    let head = format!(
        "{:>5}{load_head} {:>9} {}",
        "point",
        "requested",
        columns.join(&FIGURE_HEADS.map(str::to_owned))
    );
    let _ = writeln!(out, "{}", paint.strong(&head));
    for point in &record.points {
        let number = point.load.number;
        let load = match unit {
            Some(_) => format!(" {:>8}", plain(point.load.units)),
            None => String::new(),
        };
        let requested = labels::requested_text(record, point.load);
        match point.measured() {
            Some(stats) => {
                let verdict = point_label(point, paint);
                let _ = writeln!(
                    out,
                    "{number:>5}{load} {requested:>9} {} {verdict}",
                    columns.join(&figures(record, point, stats))
                );
            }
            None => {
                let reason = one_line(point.failure().unwrap_or_default());
                let indent = 24 + load.len();
                let text = wrapped(&reason, width.saturating_sub(indent), indent);
                let failed = paint.bad("FAILED");
                let _ = writeln!(out, "{number:>5}{load} {requested:>9} {failed}  {text}");
            }
        }
    }
    if record.points.is_empty() {
        out.push_str("no load point was measured\n");
    }
}

/// Heads of [`figures`], and their widths.
const FIGURE_HEADS: [&str; 7] = [
    "achieved", "", "MiB/s", "mean ms", "99% ms", "rsp 99%", "errors",
];
const FIGURE_WIDTHS: [usize; 7] = [9, 7, 7, 7, 7, 7, 6];
/// What a narrow terminal is spared, in this order: the share, and the response time.
const FIGURES_SPARED: [usize; 2] = [1, 5];
/// Columns of number and requested rate, with the blanks after them.
const FRONT_COLUMNS: usize = 5 + 1 + 9 + 1;

/// The columns of figures that fit the terminal; reports have all.
struct FigureColumns([bool; 7]);

impl FigureColumns {
    fn that_fit(record: &RunRecord, load_columns: usize, width: usize) -> Self {
        let words = record.points.iter().map(|p| p.word().len());
        let word = words.max().unwrap_or(0);
        let mut shown = [true; 7];
        for spared in FIGURES_SPARED {
            let all = FIGURE_WIDTHS
                .iter()
                .zip(shown)
                .filter(|(_, is_shown)| *is_shown);
            let figures: usize = all.map(|(columns, _)| columns + 1).sum();
            if FRONT_COLUMNS + load_columns + figures + word <= width {
                break;
            }
            shown[spared] = false;
        }
        Self(shown)
    }

    fn join(&self, cells: &[String; 7]) -> String {
        let all = cells.iter().zip(FIGURE_WIDTHS).zip(self.0);
        let shown = all.filter(|(_, is_shown)| *is_shown);
        let cells: Vec<String> = shown
            .map(|((cell, columns), _)| format!("{cell:>columns$}"))
            .collect();
        cells.join(" ")
    }
}

/// Achieved rate, share, bytes moved, mean, percentiles and errors.
fn figures(record: &RunRecord, point: &PointRecord, stats: &PointStats) -> [String; 7] {
    let achieved = stats.achieved_ops_per_sec();
    let (service, response) = (stats.service(), stats.response());
    [
        rate(achieved),
        format!(
            "{}%",
            labels::share_text(achieved, labels::requested(record, point.load))
        ),
        number(labels::mib_per_sec(stats), 1),
        ms(service.mean_ns()),
        ms(service.percentile_ns(99.0) as f64),
        response.percentile(99.0).text(ms),
        count(stats.error_count()),
    ]
}

fn findings(out: &mut String, record: &RunRecord, paint: &Paint, width: usize) {
    let of_run = record.run_findings().map(|f| (String::new(), f));
    let of_points = alike(record).into_iter().map(|(points, finding)| {
        let place = load_points(&points, Some(record.run.plan.points.len()));
        let place = match points.as_slice() {
            [] | [_] => format!("{place}: "),
            [first, ..] => format!("{place}; figures of load point {first}: "),
        };
        (place, finding)
    });
    let all: Vec<_> = of_run.chain(of_points).collect();
    if all.is_empty() {
        return;
    }
    out.push('\n');
    for (place, finding) in all {
        let text = format!("{place}{} [{}]", one_line(&finding.message), finding.rule);
        let severity = paint.severity(finding.severity);
        let _ = writeln!(
            out,
            "{severity} {}",
            wrapped(&text, width.saturating_sub(8), 8)
        );
    }
}

/// The findings of load points; findings of several points that differ only in the
/// figures are merged, with the points' numbers.
fn alike(record: &RunRecord) -> Vec<(Vec<u32>, &Finding)> {
    let mut groups: Vec<(Vec<u32>, &Finding)> = Vec::new();
    let words = |f: &Finding| {
        f.message
            .replace(|c: char| c.is_ascii_digit() || c == '.', "")
    };
    // Failed points are in the table already.
    for point in record.points.iter().filter(|p| p.measured().is_some()) {
        for finding in &point.findings {
            let same = groups.iter_mut().find(|(_, known)| {
                !finding.invalidates()
                    && (known.rule, known.severity) == (finding.rule, finding.severity)
                    && words(known) == words(finding)
            });
            match same {
                Some((points, _)) => points.push(point.load.number),
                None => groups.push((vec![point.load.number], finding)),
            }
        }
    }
    groups
}

fn headline(out: &mut String, record: &RunRecord, paint: &Paint, width: usize) {
    out.push('\n');
    if let Some(cut) = &record.cut {
        let _ = writeln!(out, "the record was cut: {}", one_line(cut));
    }
    let verdict = record.verdict();
    let word = match (verdict.is_valid(), verdict.is_qualified()) {
        (false, _) => paint.bad(verdict.label()),
        (true, true) => paint.warn(verdict.label()),
        (true, false) => paint.good(verdict.label()),
    };
    let result = heritage::result(record).map(|r| wrapped(&r, width.saturating_sub(2), 2));
    let (result, additional) = match heritage::is_headline(record) {
        true => (result, None),
        false => (None, result),
    };
    if let Some(result) = &result {
        let _ = writeln!(out, "{}", paint.strong(result));
    }
    match (record.peak(), record.ort_ms()) {
        (Some(peak), ort) => {
            let peak = peak_text(record, peak);
            let ort = ort.map_or_else(|| "-".into(), |ort| format!("{} ms", number(ort, 2)));
            let text = "overall response time";
            let plain = format!("peak {peak}   {text} {ort}   {}", verdict.label());
            // Too long for a line: one for each.
            let gap = match plain.chars().count() > width {
                true => "\n  ",
                false => "   ",
            };
            let ort = match record.is_curve() {
                true => format!("{gap}{text} {}", paint.strong(&ort)),
                false => String::new(),
            };
            let _ = writeln!(out, "peak {}{ort}{gap}{word}", paint.strong(&peak));
        }
        (None, _) => {
            let _ = writeln!(out, "no load point counts   {word}");
        }
    }
    for reason in verdict.reasons() {
        let _ = writeln!(
            out,
            "  - {}",
            wrapped(&one_line(reason), width.saturating_sub(4), 4)
        );
    }
    if let Some(step) = NextStep::of(record) {
        let text = wrapped(&step.text(), width.saturating_sub(4), 4);
        let _ = writeln!(out, "  - {text}");
    }
    if let Some(knee) = breakdown::knee_view(record).filter(|knee| knee.is_there) {
        let _ = writeln!(out, "{}", knee.text);
    }
    let headline = heritage::headline_text(record);
    let _ = writeln!(out, "{}", wrapped(&headline, width.saturating_sub(2), 2));
    if let Some(additional) = additional {
        let _ = writeln!(out, "{additional}");
    }
    if let Some(sentence) = heritage::description(record) {
        let sentence = wrapped(&sentence, width.saturating_sub(2), 2);
        let _ = writeln!(out, "{}", paint.warn(&sentence));
    }
    let notice = wrapped(NOT_A_SPEC_RESULT, width.saturating_sub(2), 2);
    let _ = writeln!(out, "{notice}");
}

/// A load point's verdict, in its colour.
fn point_label(point: &PointRecord, paint: &Paint) -> String {
    let word = point.word();
    match (point.is_valid(), word == "VALID") {
        (false, _) => paint.bad(word),
        (true, false) => paint.warn(word),
        (true, true) => paint.good(word),
    }
}

/// The peak in the unit of the load, with its rate and data rate.
fn peak_text(record: &RunRecord, peak: &PointRecord) -> String {
    match (composite::peak(record, peak), peak.measured()) {
        (Some((figure, unit, rates)), _) => format!("{figure} {unit}, {rates}"),
        (None, Some(stats)) => format!(
            "{} op/s, {}",
            rate(stats.achieved_ops_per_sec()),
            labels::mib_text(stats)
        ),
        (None, None) => "-".into(),
    }
}

/// The text broken between words into lines of at most `width` characters, the
/// later ones indented by `indent`.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let width = width.max(20);
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            let _ = write!(out, "\n{:indent$}", "");
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// The line on stderr when a load point of a run ends.
pub fn progress_line(record: &RunRecord, point: &PointRecord, colour: bool) -> String {
    let paint = Paint { on: colour };
    let total = record.run.plan.points.len();
    let head = format!("point {:>2} of {total}", point.load.number);
    let load = labels::load(record, point.load);
    let Some(stats) = point.measured() else {
        let reason = one_line(point.failure().unwrap_or_default());
        return format!("{head}: {load} {}: {reason}", paint.bad("FAILED"));
    };
    let service = stats.service();
    let wanted = match labels::requested(record, point.load) {
        Some(_) => "requested",
        None => "at full speed",
    };
    let mut line = format!(
        "{head}: {load} {wanted}, {} op/s achieved, mean {} ms, 99 % {} ms",
        rate(stats.achieved_ops_per_sec()),
        ms(service.mean_ns()),
        ms(service.percentile_ns(99.0) as f64),
    );
    let errors = stats.error_count();
    if errors > 0 {
        let _ = write!(
            line,
            ", {} {}",
            count(errors),
            plural(errors as usize, "error", "errors")
        );
    }
    let _ = write!(line, "  {}", point_label(point, &paint));
    if !point.is_valid() {
        let invalid = point.findings.iter().filter(|f| f.invalidates());
        let rules: Vec<_> = invalid.map(|f| f.rule.name()).collect();
        let _ = write!(line, " ({})", rules.join(", "));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn the_summary_is_as_it_was() {
        let text = summary(&testing::record(), false, 100);
        crate::html::golden("summary.txt", &text);
    }

    #[test]
    fn an_older_generation_is_shown_with_its_result() {
        let record = testing::heritage::heritage_record();
        let text = summary(&record, false, 100);
        crate::html::golden("summary_old.txt", &text);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "at the response limit: 928 op/s at 50 ms, overall response time 9.31 ms (interpolated",
            "After LADDIS, SFS 1.x (1993), NFS version 2.",
            "not comparable with its results",
        ] {
            assert!(words.contains(expected), "{text}");
        }
    }

    #[test]
    fn composites_are_shown_in_their_units() {
        let record = testing::composite::composite_record();
        let text = summary(&record, false, 100);
        crate::html::golden("summary_build.txt", &text);
        let line = progress_line(&record, &record.points[1], false);
        let start = "point  2 of 4: 2 BUILDs requested, 1,000 op/s achieved, mean ";
        assert!(line.starts_with(start), "{line}");
        let mut unlimited = record.clone();
        for point in &mut unlimited.points {
            point.load.requested.0 = 0.0;
        }
        let text = summary(&unlimited, false, 100);
        assert!(text.contains("  no limit "), "{text}");
        let line = progress_line(&unlimited, &unlimited.points[1], false);
        let start = "point  2 of 4: 2 BUILDs at full speed, 1,000 op/s achieved, mean ";
        assert!(line.starts_with(start), "{line}");
    }

    #[test]
    fn the_table_of_composites_fits_80_columns() {
        let record = testing::composite::composite_record();
        let text = summary(&record, false, 80);
        // A path is not broken.
        let is_broken = |l: &&str| l.split(' ').all(|word| word.chars().count() < 40);
        for line in text.lines().filter(is_broken) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let head = text.lines().next().unwrap();
        assert!(
            head.contains("99% ms") && head.ends_with("errors"),
            "{head}"
        );
        assert!(summary(&record, false, 100).contains("rsp 99%"));
    }

    #[test]
    fn lines_keep_to_the_terminals_width_and_colours_to_terminals() {
        let record = testing::record();
        let text = summary(&record, false, 80);
        assert!(!text.contains('\x1b'));
        for line in text.lines().filter(|l| *l != NOT_A_SPEC_RESULT) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(summary(&record, true, 80).contains("\x1b[31mINVALID\x1b[0m"));
    }

    #[test]
    fn hostile_names_cannot_reach_the_terminal() {
        let mut record = testing::record();
        record.points[0].findings = vec![filermark_model::Finding::new(
            filermark_model::Rule::Errors,
            Severity::Warning,
            "\x1b[2Jgone\nfake line",
        )];
        let text = summary(&record, false, 80);
        assert!(!text.contains('\x1b') && !text.contains("\nfake"), "{text}");
    }

    #[test]
    fn one_error_is_one_error() {
        let record = testing::record();
        let mut point = record.points[0].clone();
        for (errors, expected) in [(1, ", 1 error  "), (2, ", 2 errors  ")] {
            if let Some(stats) = &mut point.stats {
                stats.ops.iter_mut().for_each(|op| op.error_count = 0);
                stats.ops[0].error_count = errors;
            }
            let line = progress_line(&record, &point, false);
            assert!(line.contains(expected), "{line}");
        }
    }

    #[test]
    fn progress_is_one_line() {
        let record = testing::record();
        let lines: Vec<_> = record
            .points
            .iter()
            .map(|p| progress_line(&record, p, false))
            .collect();
        assert!(lines[0].ends_with("  VALID"), "{}", lines[0]);
        assert!(
            lines[10].ends_with("INVALID (response-limit)"),
            "{}",
            lines[10]
        );
        assert!(
            lines[11].contains("1,200 op/s FAILED: INIT on"),
            "{}",
            lines[11]
        );
        assert!(lines.iter().all(|l| !l.contains('\n')));
    }
}
