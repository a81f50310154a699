//! Runs side by side, for the terminal and for programs.

use crate::format::number;
use crate::heritage;
use crate::summary::{Paint, WIDTH_MIN, wrapped};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::Historical;
use filermark_results::compare::{
    Against, Comparison, Difference, FieldChange, Judgement, Overall, PointDifference, RunFacts,
    SideFacts, Work,
};
use std::fmt::Write as _;

/// Fields of a list that the terminal shows.
const FIELDS_SHOWN: usize = 20;
/// Widest name in front of a table's figures.
const NAME_WIDTH: usize = 24;

/// The comparison as JSON, as `crates/results/schema/comparison-v1.json` describes it.
pub fn comparison_json(comparison: &Comparison) -> serde_json::Value {
    serde_json::to_value(comparison).unwrap_or_default()
}

/// The comparison for a terminal `width` columns wide, with colour when `colour`.
pub fn comparison_text(comparison: &Comparison, colour: bool, width: usize) -> String {
    let (paint, width) = (Paint { on: colour }, width.max(WIDTH_MIN));
    let mut out = String::new();
    for (i, side) in comparison.sides.iter().enumerate() {
        let head = format!("{:<8} {}", role(i, comparison), side_text(side));
        let _ = writeln!(out, "{}", wrapped_keeping(&head, width, 9));
        for result in side.runs.iter().filter_map(|r| r.classical) {
            let ort = number(result.ort_ms, 2);
            let text = format!("{}; overall response time {ort} ms", result.short());
            let _ = writeln!(
                out,
                "{:9}{}",
                "",
                wrapped(&text, width.saturating_sub(9), 9)
            );
        }
    }
    if let Some(historical) = &comparison.historical {
        historical_text(&mut out, historical, &paint, width);
    }
    for against in &comparison.against {
        against_text(&mut out, against, &paint, width);
    }
    out.push('\n');
    if !comparison.against.is_empty() {
        let method = method_text(comparison);
        let _ = writeln!(out, "{}", wrapped(&method, width, 0));
    }
    let _ = writeln!(out, "{NOT_A_SPEC_RESULT}");
    out
}

/// What a side is called in all forms of a comparison, by its place.
pub fn role(place: usize, comparison: &Comparison) -> String {
    match (place, comparison.sides.len()) {
        (0, 1) => "run".to_owned(),
        (0, _) => "base".to_owned(),
        (_, 2) => "new".to_owned(),
        (place, _) => format!("new {place}"),
    }
}

/// The historical systems as a table, with its notice.
fn historical_text(out: &mut String, historical: &Historical, paint: &Paint, width: usize) {
    let _ = writeln!(out, "\n{}", wrapped(&historical.title, width, 0));
    let notice = wrapped(historical.notice, width, 0);
    let _ = writeln!(out, "{}", paint.warn(&notice));
    let head = format!(
        "{:<NAME_WIDTH$} {:<32} {:>4} {:>10} {:>7}",
        "historical system", "generation", "CPUs", "peak op/s", "ORT ms"
    );
    let _ = writeln!(out, "{}", paint.strong(head.trim_end()));
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    for system in &historical.systems {
        let cells = heritage::cells(system);
        let _ = writeln!(
            out,
            "{:<NAME_WIDTH$} {:<32} {:>4} {:>10} {:>7}",
            cut(&system.name, NAME_WIDTH),
            cut(&cells[0], 32),
            cells[1],
            cells[2],
            cells[3]
        );
    }
    let sources = format!("Sources: {}.", historical.sources().join("; "));
    for text in [historical.note.as_str(), &sources] {
        if !text.is_empty() {
            let _ = writeln!(out, "{}", wrapped(text, width, 0));
        }
    }
}

/// A side, in a sentence.
fn side_text(side: &SideFacts) -> String {
    let run = |r: &RunFacts| format!("{} of {}, {}", r.suffix, r.started.readable(), r.verdict);
    let runs: Vec<String> = side.runs.iter().map(run).collect();
    let first = side.runs.first();
    let benchmark = first.map_or("", |r| r.benchmark.as_str());
    format!("{}: {benchmark}; {}", side.name, runs.join("; "))
}

/// The method of the intervals and of the verdict.
pub fn method_text(comparison: &Comparison) -> String {
    let repeated = comparison.sides.iter().any(|s| s.runs.len() > 1);
    let between = match repeated {
        true => "measured from the repeats and an initial assumption",
        false => "which is assumed",
    };
    format!(
        "The intervals contain the true change in {} of 100 cases (Student's t on logarithms). They are computed from block means over the seconds of each run, the scatter over the load points, and the spread between runs on one server ({} % standard deviation), {between}; they are wider if the wake-up delays of the clients differ. A difference is shown if chance causes it in less than 5 of 100 comparisons, over all tests of a table (Holm), and it matters from {} % on.",
        comparison.confidence_pcnt, comparison.spread_pcnt, comparison.threshold_pcnt
    )
}

fn against_text(out: &mut String, against: &Against, paint: &Paint, width: usize) {
    let title = format!("{} against the base", against.name);
    let _ = writeln!(out, "\n{}", paint.strong(&title));
    let _ = writeln!(out, "{}", wrapped(&work_text(against), width, 0));
    fields(out, &against.other_work, width);
    if against.work != Work::Same {
        fields(out, &against.places, width);
    }
    if !against.setup.is_empty() {
        out.push_str("the set-up differs:\n");
        fields(out, &against.setup, width);
    }
    for remark in &against.remarks {
        let remark = wrapped(remark, width.saturating_sub(5), 5);
        let _ = writeln!(out, "{} {remark}", paint.warn("note"));
    }
    table(
        out,
        "over the sweep",
        &against.sweep,
        |d| d.kind.words(),
        paint,
    );
    for point in &against.points {
        point_table(out, point, paint, width);
    }
    if !against.ops.is_empty() {
        let rows: Vec<Difference> = against.ops.iter().map(|o| o.service.clone()).collect();
        let mut names = against.ops.iter().map(|o| o.name.as_str());
        let title = "mean service time per operation";
        table(out, title, &rows, |_| names.next().unwrap_or(""), paint);
    }
    let _ = writeln!(out, "\nverdict: {}", verdict(against.verdict, paint));
    for reason in &against.reasons {
        let reason = wrapped(reason, width.saturating_sub(4), 4);
        let _ = writeln!(out, "  - {reason}");
    }
}

/// Whether the work was the same, in a sentence.
pub fn work_text(against: &Against) -> String {
    match against.work {
        Work::Same => "the same work: the plans are equal".into(),
        Work::SameElsewhere => "the same work elsewhere: only places differ".into(),
        Work::Different => "FORCED: the work differs, so differences may come from the work; only what can be matched is compared".into(),
    }
}

fn fields(out: &mut String, fields: &[FieldChange], width: usize) {
    for field in fields.iter().take(FIELDS_SHOWN) {
        let text = format!("{}: {} -> {}", field.name, field.before, field.after);
        let _ = writeln!(out, "  {}", wrapped(&text, width.saturating_sub(2), 4));
    }
    if let more @ 1.. = fields.len().saturating_sub(FIELDS_SHOWN) {
        let _ = writeln!(out, "  and {more} more");
    }
}

/// What else there is to say of a point without figures: the verdict if it counts on one side
/// only, and that its RUN is too short.
pub fn validity_text(point: &PointDifference) -> String {
    let verdict = match point.standing_verdict {
        Judgement::NoDifferenceShown => String::new(),
        judgement => format!(", {}", judgement.label()),
    };
    let short = if point.is_too_short {
        ", RUN is too short"
    } else {
        ""
    };
    format!("{verdict}{short}")
}

fn point_table(out: &mut String, point: &PointDifference, paint: &Paint, width: usize) {
    let held = if point.held_by_pacing {
        ", rate held by pacing"
    } else {
        ""
    };
    let title = format!("load point {}, {}{held}", point.number, point.load);
    if point.figures.is_empty() {
        let text = format!(
            "{title}: no figures to compare: {} before, {} after{}",
            point.before.text(),
            point.after.text(),
            validity_text(point)
        );
        let _ = writeln!(out, "\n{}", wrapped(&text, width, 2));
        return;
    }
    table(out, &title, &point.figures, |d| d.kind.words(), paint);
}

fn table<'a>(
    out: &mut String,
    title: &str,
    rows: &'a [Difference],
    mut name: impl FnMut(&'a Difference) -> &'a str,
    paint: &Paint,
) {
    if rows.is_empty() {
        return;
    }
    let fits = title.chars().count() <= NAME_WIDTH;
    let (above, left) = if fits { ("", title) } else { (title, "") };
    out.push('\n');
    if !above.is_empty() {
        let _ = writeln!(out, "{}", paint.strong(above));
    }
    let head = format!(
        "{left:<NAME_WIDTH$} {:>10} {:>10}       change (95 % interval)",
        "base", "new"
    );
    let _ = writeln!(out, "{}", paint.strong(&head));
    for row in rows {
        let name: String = name(row).chars().take(NAME_WIDTH).collect();
        let text = row.text();
        let _ = writeln!(
            out,
            "{name:<NAME_WIDTH$} {:>10} {:>10} {:>5} {text:<26} {}",
            value(row, row.before),
            value(row, row.after),
            row.unit,
            judgement(row.verdict, paint)
        );
    }
}

/// A figure in its unit, with about three digits.
pub fn value(row: &Difference, value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    number(
        value,
        if row.kind.is_rate() {
            decimals.min(1)
        } else {
            decimals
        },
    )
}

pub(crate) fn judgement(judgement: Judgement, paint: &Paint) -> String {
    match judgement {
        Judgement::Faster => paint.good(judgement.label()),
        Judgement::Slower => paint.bad(judgement.label()),
        Judgement::NoDifferenceShown => "-".into(),
    }
}

pub(crate) fn verdict(verdict: Overall, paint: &Paint) -> String {
    match verdict {
        Overall::Faster => paint.good(verdict.text()),
        Overall::Slower => paint.bad(verdict.text()),
        Overall::Mixed | Overall::NothingToCompare => paint.warn(verdict.text()),
        Overall::NoDifferenceShown => paint.strong(verdict.text()),
    }
}

/// As [`wrapped`], with the leading blanks kept.
fn wrapped_keeping(text: &str, width: usize, indent: usize) -> String {
    let start: String = text.chars().take(indent).collect();
    let rest: String = text.chars().skip(indent).collect();
    format!(
        "{start}{}",
        wrapped(&rest, width.saturating_sub(indent), indent)
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use filermark_model::Severity;
    use filermark_results::RunRecord;
    use filermark_results::compare::{Group, Options, compare};
    use filermark_results::testing::compare::Simulated;

    /// Two repeats of a server and one run of a slower one with a lower peak.
    pub fn records() -> Vec<RunRecord> {
        let server = Simulated {
            seconds: 8,
            point_count: 4,
            missed: Severity::Invalid,
            ..Simulated::default()
        };
        let slow = Simulated {
            service_us: 900.0,
            capacity: 160.0,
            ..server
        };
        vec![
            server.run("one", 1),
            server.run("two", 2),
            slow.run("slow", 3),
        ]
    }

    pub fn groups(records: &[RunRecord]) -> Vec<Group<'_>> {
        vec![
            Group {
                name: "<base>".into(),
                records: records[..2].iter().collect(),
            },
            Group {
                name: "slow".into(),
                records: records[2..].iter().collect(),
            },
        ]
    }

    #[test]
    fn the_text_is_as_it_was() {
        let records = records();
        let comparison = compare(&groups(&records), &Options::default()).unwrap();
        let text = comparison_text(&comparison, false, 100);
        for line in text.lines().filter(|l| *l != NOT_A_SPEC_RESULT) {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert!(
            text.contains("verdict: slower") && !text.contains('\x1b'),
            "{text}"
        );
        assert!(comparison_text(&comparison, true, 100).contains("\x1b[31mslower"));
        crate::html::golden("comparison.txt", &text);
    }

    #[test]
    fn a_single_run_is_shown_with_historical_systems() {
        let records = records();
        let one = vec![Group {
            name: "one".into(),
            records: vec![&records[0]],
        }];
        let options = Options {
            alone: true,
            ..Options::default()
        };
        assert!(compare(&one, &Options::default()).is_err());
        let mut comparison = compare(&one, &options).unwrap();
        comparison.historical = Historical::shipped().ok();
        let text = comparison_text(&comparison, false, 100);
        crate::html::golden("comparison_historical.txt", &text);
        let json = comparison_json(&comparison);
        assert_eq!(json["historical"]["systems"][2]["ops_per_sec"], 25639.0);
        assert_eq!(json["against"], serde_json::json!([]));
        let templates = crate::templates::Templates::builtin();
        let page = crate::comparison_html::comparison_html(&comparison, &one, &templates);
        let page = page.unwrap();
        for needed in [
            "Historical, not comparable",
            "class=\"historical\"",
            "logarithmic",
        ] {
            assert!(page.contains(needed), "{needed}");
        }
        assert!(!page.contains("id=\"verdicts\"") && !page.contains("id=\"method\""));
    }

    #[test]
    fn failed_points_are_reported() {
        let mut records = records();
        records.truncate(2);
        records[1].points.truncate(1);
        let sides: Vec<Group<'_>> = records
            .iter()
            .map(|r| Group {
                name: r.run.suffix.clone(),
                records: vec![r],
            })
            .collect();
        let comparison = compare(&sides, &Options::default()).unwrap();
        let text = comparison_text(&comparison, false, 100);
        for expected in [
            "load point 2, 100 op/s: no figures to compare: valid before, not measured after, slower",
            "verdict: slower\n  - load points 2–4 count before and not after, slower: not measured",
        ] {
            assert!(text.contains(expected), "{text}");
        }
        let json = comparison_json(&comparison);
        let points = &json["against"][0]["points"];
        assert_eq!(points[0]["standing_verdict"], "no_difference_shown");
        assert_eq!(points[3]["standing_verdict"], "slower");
        let templates = crate::templates::Templates::builtin();
        let page =
            crate::comparison_html::comparison_html(&comparison, &sides, &templates).unwrap();
        for expected in [
            "not measured after, slower</span>",
            "<li>load points 2–4 count before and not after, slower",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
    }

    #[test]
    fn forced_comparisons_are_marked() {
        let mut records = records();
        records[2].run.plan.phases.runtime.0 *= 2;
        records[2].run.fingerprint = "other".into();
        let options = Options {
            force: true,
            ..Options::default()
        };
        let comparison = compare(&groups(&records), &options).unwrap();
        let text = comparison_text(&comparison, false, 80);
        assert!(
            text.contains("FORCED") && text.contains("RUNTIME: 8 s -> 16 s"),
            "{text}"
        );
        assert_eq!(comparison_json(&comparison)["forced"], true);
    }
}
