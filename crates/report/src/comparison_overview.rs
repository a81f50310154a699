//! A comparison on one screen: the runs, the verdict, the figures that decide.

use crate::comparison::{judgement, role, value, verdict};
use crate::format::number;
use crate::summary::{Paint, WIDTH_MIN, wrapped};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::compare::{Against, Comparison, Difference, Kind, RunFacts};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Lines of a screen.
const LINES: usize = 24;
/// Rows of runs, where there are more.
const RUNS_SHOWN: usize = 7;
/// Sides after the base whose verdicts are shown, where there are more.
const SIDES_SHOWN: usize = 5;
/// Width of the screen that is not exceeded.
const WIDTH: usize = 80;
/// Repeats that are not used, where there are more.
const ASIDE_SHOWN: usize = 2;
/// The figures in the order of their weight.
const ORDER: [Kind; 6] = [
    Kind::ServiceMean,
    Kind::AchievedRate,
    Kind::HighestRate,
    Kind::Ort,
    Kind::ResponseMean,
    Kind::ServiceP99,
];

/// The comparison on one screen of at most 24 lines and 80 columns, with colour when `colour`.
pub fn comparison_overview(comparison: &Comparison, colour: bool, width: usize) -> String {
    let paint = Paint { on: colour };
    let width = width.clamp(WIDTH_MIN, WIDTH);
    let table = runs(comparison, &paint, width);
    let shown = comparison.against.iter().take(SIDES_SHOWN);
    let others = comparison.against.len();
    let mut sides: Vec<Vec<String>> = shown.map(|a| head(a, others, &paint, width)).collect();
    let mut end = Vec::new();
    if comparison.forced {
        end.push(paint.warn("FORCED: the work differs; differences may come from the work"));
    }
    if let more @ 1.. = comparison.against.len().saturating_sub(SIDES_SHOWN) {
        end.push(format!("and {more} more sides"));
    }
    end.push("--details shows each load point and operation, -f json everything".to_owned());
    end.extend(split(&wrapped(NOT_A_SPEC_RESULT, width, 0)));
    if let ([against], [side]) = (comparison.against.as_slice(), sides.as_mut_slice()) {
        let invalid = invalid(comparison, 1, &paint, width).len();
        let used = table.len() + invalid + side.len() + end.len();
        // A blank line, and the head of the table.
        let rows = LINES.saturating_sub(used + 2);
        side.splice(0..0, figures(&against.sweep, rows, &paint));
    }
    let used = table.len() + sides.iter().map(Vec::len).sum::<usize>() + end.len();
    let mut lines = table;
    let most = LINES.saturating_sub(used).max(1);
    lines.extend(invalid(comparison, most, &paint, width));
    lines.extend(sides.into_iter().flatten());
    lines.extend(end);
    lines.iter().fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "{}", line.trim_end());
        out
    })
}

fn split(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        false => text.to_owned(),
        true => {
            let start: String = text.chars().take(most.saturating_sub(3)).collect();
            format!("{start}...")
        }
    }
}

/// The first lines of a text that is broken at the width; the last one shows that there is more.
fn first_lines(text: &str, most: usize, width: usize, indent: usize) -> Vec<String> {
    let all = split(&wrapped(text, width.saturating_sub(indent), indent));
    let mut shown: Vec<String> = all.iter().take(most).cloned().collect();
    if let Some(last) = shown.last_mut().filter(|_| all.len() > most) {
        let start: String = last.chars().take(width.saturating_sub(4)).collect();
        *last = format!("{start} ...");
    }
    shown
}

/// The table of the runs.
fn runs(comparison: &Comparison, paint: &Paint, width: usize) -> Vec<String> {
    let mut rows: Vec<(String, &RunFacts)> = Vec::new();
    for (at, side) in comparison.sides.iter().enumerate() {
        let role = role(at, comparison);
        rows.extend(side.runs.iter().map(|run| (role.clone(), run)));
    }
    let of = |count: &dyn Fn(&(String, &RunFacts)) -> usize| rows.iter().map(count).max();
    let verdict = of(&|r| r.1.verdict.len()).unwrap_or(0).max(7);
    let side = of(&|r| r.0.len()).unwrap_or(0).max(4);
    let protocols: BTreeSet<&str> = rows.iter().map(|r| r.1.protocol.as_str()).collect();
    // Of one width, so that there is no column where they are equal.
    let protocol = match protocols.len() {
        0 | 1 => 0,
        _ => of(&|r| r.1.protocol.len() + 1).unwrap_or(0).max(9),
    };
    // The time takes 16, the peak 9, ORT 7, and blanks.
    let taken = side + protocol + verdict + 16 + 9 + 7 + 5;
    let name = width.saturating_sub(taken).max(8);
    let longest = of(&|r| run_name(r.1).chars().count()).unwrap_or(0);
    let name = name.min(longest.max(8));
    let head = format!(
        "{:<side$} {:<name$} {:<protocol$.protocol$}{:<16} {:<verdict$} {:>9} {:>7}",
        "side", "run", "protocol", "started (UTC)", "verdict", "peak op/s", "ORT ms"
    );
    let mut lines = vec![paint.strong(&head)];
    let most = match rows.len() > RUNS_SHOWN {
        true => RUNS_SHOWN - 1,
        false => RUNS_SHOWN,
    };
    for (role, run) in rows.iter().take(most) {
        let started: String = run.started.readable().chars().take(16).collect();
        let figure = |value: Option<f64>, decimals| {
            value.map_or("-".to_owned(), |value| number(value, decimals))
        };
        lines.push(format!(
            "{role:<side$} {:<name$} {:<protocol$.protocol$}{started:<16} {:<verdict$} {:>9} {:>7}",
            cut(&run_name(run), name),
            run.protocol,
            run.verdict,
            figure(run.peak_ops_per_sec, 0),
            figure(run.ort_ms, 2)
        ));
    }
    if let more @ 1.. = rows.len().saturating_sub(most) {
        lines.push(format!("and {more} more runs"));
    }
    lines
}

/// Why runs are INVALID, a line each, at most so many lines.
fn invalid(comparison: &Comparison, most: usize, paint: &Paint, width: usize) -> Vec<String> {
    let runs = comparison.sides.iter().flat_map(|side| &side.runs);
    let all: Vec<&RunFacts> = runs.filter(|run| !run.invalid.is_empty()).collect();
    let shown = match all.len() > most {
        true => most.saturating_sub(1),
        false => most,
    };
    let line = |run: &&RunFacts| {
        let text = format!("{} is INVALID: {}", run_name(run), run.invalid.join("; "));
        paint.bad(&cut(&text, width))
    };
    let mut lines: Vec<String> = all.iter().take(shown).map(line).collect();
    if let more @ 1.. = all.len().saturating_sub(shown) {
        let runs = match shown {
            0 => "runs are",
            _ => "more runs are",
        };
        lines.push(paint.bad(&format!("{more} {runs} INVALID: --details has the reasons")));
    }
    lines
}

/// The name of its file as it was given, with the suffix where that is another.
fn run_name(run: &RunFacts) -> String {
    match &run.file {
        None => run.suffix.clone(),
        Some(file) if *file == run.suffix => file.clone(),
        Some(file) => format!("{file} ({})", run.suffix),
    }
}

/// The verdict on a side of so many, the strongest reasons, what was not used, and what can be detected.
fn head(against: &Against, sides: usize, paint: &Paint, width: usize) -> Vec<String> {
    let brief = sides > 1;
    let mut lines = Vec::new();
    let name = match brief {
        true => format!("{}: ", cut(&against.name, 30)),
        false => {
            lines.push(String::new());
            "verdict: ".to_owned()
        }
    };
    lines.push(format!("{name}{}", verdict(against.verdict, paint)));
    let reasons = if brief { 1 } else { 3 };
    for reason in against.reasons.iter().take(reasons) {
        let most = if sides > 2 { 1 } else { 2 };
        let text = format!("- {reason}");
        let mut shown = first_lines(&text, most, width.saturating_sub(2), 4);
        if let Some(first) = shown.first_mut() {
            *first = format!("  {first}");
        }
        lines.extend(shown);
    }
    if brief {
        return lines;
    }
    for aside in against.set_aside.iter().take(ASIDE_SHOWN) {
        let text = cut(&aside.short(), width.saturating_sub(10));
        lines.push(format!("{} {text}", paint.warn("not used:")));
    }
    if let more @ 1.. = against.set_aside.len().saturating_sub(ASIDE_SHOWN) {
        lines.push(format!("and {more} more that are not used"));
    }
    if let Some(sensitivity) = &against.sensitivity {
        let text = match sensitivity.remark() {
            Some(remark) => remark,
            None => sensitivity.text(),
        };
        lines.extend(first_lines(&text, 3, width, 0));
    }
    lines
}

/// The figures over the sweep, at most so many.
fn figures(sweep: &[Difference], most: usize, paint: &Paint) -> Vec<String> {
    if sweep.is_empty() || most == 0 {
        return Vec::new();
    }
    let head = format!(
        "{:<22} {:>9} {:>9}      {:<28}",
        "over the sweep", "base", "new", "change (95 % interval)"
    );
    let mut lines = vec![String::new(), paint.strong(head.trim_end())];
    let ordered = ORDER
        .iter()
        .filter_map(|kind| sweep.iter().find(|d| d.kind == *kind));
    for row in ordered.take(most) {
        let verdict = match row.verdict.label() {
            "no difference shown" => "-".to_owned(),
            _ => judgement(row.verdict, paint),
        };
        lines.push(format!(
            "{:<22} {:>9} {:>9} {:>4} {:<25} {verdict}",
            row.kind.words(),
            value(row, row.before),
            value(row, row.after),
            row.unit,
            cut(&row.text(), 25),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::{groups, records};
    use filermark_results::compare::{Group, Options, compare};

    fn fits(text: &str) {
        assert!(text.lines().count() <= LINES, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn the_overview_is_as_it_was() {
        let records = records();
        let mut comparison = compare(&groups(&records), &Options::default()).unwrap();
        comparison.sides[0].runs[0].file = Some("one".into());
        comparison.sides[1].runs[0].file = Some("a_file_with_a_rather_long_name".into());
        let text = comparison_overview(&comparison, false, 200);
        fits(&text);
        crate::html::golden("comparison_overview.txt", &text);
        crate::html::golden(
            "comparison.csv",
            &crate::comparison_csv::comparison_csv(&comparison),
        );
        assert!(comparison_overview(&comparison, true, 80).contains("\x1b[31mslower"));
    }

    #[test]
    fn versions_are_named_where_they_differ_and_why_runs_are_invalid() {
        let records = records();
        let sides: Vec<Group<'_>> = ["v3", "v4.1", "v4.2"]
            .into_iter()
            .zip(&records)
            .map(|(name, record)| Group {
                name: name.into(),
                records: vec![record],
            })
            .collect();
        let mut comparison = compare(&sides, &Options::default()).unwrap();
        let equal = comparison_overview(&comparison, false, 80);
        assert!(
            !equal.contains("protocol") && !equal.contains("INVALID:"),
            "{equal}"
        );
        comparison.forced = true;
        comparison.sides[1].runs[0].protocol = "NFSv4.1".into();
        for side in &mut comparison.sides[..2] {
            side.runs[0].verdict = "INVALID";
            side.runs[0].invalid = vec!["load point 4 does not count (generator-stalled)".into()];
        }
        let text = comparison_overview(&comparison, false, 80);
        fits(&text);
        for expected in [
            "side  run      protocol started (UTC)",
            "base  one      NFSv3    2026",
            "new 1 two      NFSv4.1  2026",
            "one is INVALID: load point 4 does not count (generator-stalled)\ntwo is INVALID: load",
        ] {
            assert!(text.contains(expected), "{text}");
        }
        assert_eq!(text.matches("FORCED").count(), 1, "{text}");
        for side in &mut comparison.sides {
            side.runs[0].invalid = vec!["a long reason ".repeat(50)];
            side.runs = vec![side.runs[0].clone(); 20];
        }
        let text = comparison_overview(&comparison, false, 80);
        fits(&text);
        assert!(
            text.contains(" INVALID: --details has the reasons"),
            "{text}"
        );
    }

    #[test]
    fn many_runs_and_sides_fit_on_a_screen() {
        let records = records();
        let one = Group {
            name: "x".repeat(200),
            records: vec![&records[0]],
        };
        let sides = vec![one; 12];
        let comparison = compare(&sides, &Options::default()).unwrap();
        fits(&comparison_overview(&comparison, false, 80));
        let mut three = compare(&sides[..3], &Options::default()).unwrap();
        for against in &mut three.against {
            against.reasons = vec!["a reason with its figures; ".repeat(4) + "its end"];
        }
        let text = comparison_overview(&three, false, 80);
        fits(&text);
        assert_eq!(text.matches("its end").count(), 2, "{text}");
        let mut two = compare(&groups(&records), &Options::default()).unwrap();
        let run = two.sides[1].runs[0].clone();
        two.sides[1].runs = vec![run; 50];
        two.against[0].reasons = vec!["a long reason ".repeat(50); 50];
        let text = comparison_overview(&two, false, 40);
        fits(&text);
        assert!(text.contains("and 46 more runs"), "{text}");
    }
}
