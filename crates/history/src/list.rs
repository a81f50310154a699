//! The list of runs, as a table and as JSON.

use crate::entry::Entry;
use filermark_model::text::{one_line, sanitize};
use filermark_results::figures;
use serde_json::Value;
use std::fmt::Write as _;

/// Columns of the table, apart from the verdict: heading and width; figures are right-aligned.
const COLUMNS: [(&str, usize, bool); 5] = [
    ("started (UTC)", 16, false),
    ("suffix", 14, false),
    ("benchmark", 14, false),
    ("peak", 12, true),
    ("ORT ms", 7, true),
];

/// A run as JSON: `crates/history/schema/list-v1.json`.
pub fn entry_json(entry: &Entry) -> Value {
    // Strings, numbers and lists always become JSON; a figure is never NaN.
    serde_json::to_value(entry).unwrap_or_default()
}

/// The table, without colours, at most `width` columns wide; tags and notes are below their run.
pub fn list_text(entries: &[Entry], width: usize) -> String {
    let mut out = String::new();
    let heads: Vec<String> = COLUMNS.iter().map(|(head, ..)| (*head).into()).collect();
    row(&mut out, &heads, "verdict", width);
    for entry in entries {
        let started = entry.started.to_string();
        let started = started.get(..16).unwrap_or(&started).replace('T', " ");
        let peak = match (entry.peak_units, entry.peak_ops_per_sec) {
            (Some(units), _) => figures::units(units, &entry.unit),
            (None, Some(rate)) => format!("{rate:.0} op/s"),
            (None, None) => "-".to_owned(),
        };
        let ort = entry
            .ort_ms
            .map_or("-".to_owned(), |ort| format!("{ort:.2}"));
        let cells = [
            started,
            one_line(&entry.suffix),
            one_line(&entry.benchmark),
            one_line(&peak),
            ort,
        ];
        let tags: Vec<&str> = entry.tags.iter().map(String::as_str).collect();
        let mut more = Vec::new();
        // What limits a verdict is never cut off.
        let fits = columns_width() + entry.verdict.chars().count() <= width;
        match entry.verdict.split_once(", ").filter(|_| !fits) {
            Some((word, qualifiers)) => {
                row(&mut out, &cells, &format!("{word},"), width);
                more.push(qualifiers.to_owned());
            }
            None => row(&mut out, &cells, &entry.verdict, width),
        }
        if !tags.is_empty() {
            more.push(format!("tags: {}", tags.join(", ")));
        }
        more.extend(entry.note.as_ref().map(|note| format!("note: {note}")));
        for line in more {
            let line = one_line(&line);
            let _ = writeln!(
                out,
                "    {}",
                sanitize(&line, width.saturating_sub(7).max(1))
            );
        }
    }
    out
}

/// The width of the columns before the verdict.
fn columns_width() -> usize {
    COLUMNS.iter().map(|(_, width, _)| width + 1).sum()
}

fn row(out: &mut String, cells: &[String], last: &str, width: usize) {
    let mut line = String::new();
    for ((_, columns, is_right), cell) in COLUMNS.iter().zip(cells) {
        let cell: String = match cell.chars().count() > *columns {
            true => cell.chars().take(columns - 1).chain(['~']).collect(),
            false => cell.clone(),
        };
        let _ = match is_right {
            true => write!(line, "{cell:>columns$} "),
            false => write!(line, "{cell:<columns$} "),
        };
    }
    line.push_str(last);
    let line: String = line.chars().take(width).collect();
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::Tags;
    use filermark_results::testing;
    use std::path::Path;

    #[test]
    fn the_table_fits_and_the_json_matches_its_schema() {
        let tags = Tags {
            tags: ["before".to_owned()].into(),
            note: Some("n".repeat(200)),
        };
        let mut record = testing::record();
        record.run.suffix = "a_very_long_suffix".into();
        let classic = Entry::of(Path::new("a.run.jsonl"), &record, tags);
        let composite = testing::composite::composite_record();
        let composite = Entry::of(Path::new("b.run.jsonl"), &composite, Tags::default());
        let schema = include_str!("../schema/list-v1.json");
        for entry in [&classic, &composite] {
            crate::entry::check_schema(schema, &entry_json(entry));
        }
        let text = list_text(&[classic, composite], 80);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("a_very_long_s~"), "{text}");
        let mut cached = Entry::of(Path::new("c.run.jsonl"), &record, Tags::default());
        cached.verdict = "VALID, NOT STANDARD, CACHED".into();
        let narrow = list_text(std::slice::from_ref(&cached), 80);
        assert!(
            narrow.contains(" VALID,\n    NOT STANDARD, CACHED\n"),
            "{narrow}"
        );
        let wide = list_text(&[cached], 120);
        assert!(wide.contains(" VALID, NOT STANDARD, CACHED\n"), "{wide}");
        assert!(text.contains("    tags: before\n"), "{text}");
        assert!(text.contains("2 BUILDs"), "{text}");
    }
}
