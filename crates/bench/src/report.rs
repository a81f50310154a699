//! Prints what was measured: as text, as JSON, and as the Markdown of docs/src/reference/speed.md.

use crate::figure::{Figure, Verdict};
use crate::measured::{Measured, MeasuredOrReason};
use crate::parts::Part;
use crate::turns::ComparisonRow;
use filermark_results::Environment;
use serde_json::{Value, json};

/// How the results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Text,
    /// One JSON document.
    Json,
    /// Tables in Markdown.
    Markdown,
}

/// Collects the results of all parts and prints them, those of a part at once if the format
/// allows it.
pub struct Report {
    format: Format,
    environment: Environment,
    rounds: u32,
    documents: Vec<Value>,
}

impl Report {
    /// Prints the environment.
    pub fn begin(format: Format, environment: Environment, rounds: u32) -> Self {
        let rows = environment.rows();
        match format {
            Format::Text => {
                println!("Filermark measured by itself");
                for (name, value) in rows {
                    println!("  {name:<20} {value}");
                }
            }
            Format::Markdown => {
                println!("| Environment | |\n|---|---|");
                for (name, value) in rows {
                    println!("| {name} | {} |", cell(&value));
                }
                println!("| rounds | {rounds} |");
            }
            Format::Json => {}
        }
        Self {
            format,
            environment,
            rounds,
            documents: Vec::new(),
        }
    }

    /// Prints the result of a part, and how many seconds it took.
    pub fn part(&mut self, part: &Part, measured: &MeasuredOrReason, seconds: f64) {
        let (name, about) = (part.name, part.about);
        match (self.format, measured) {
            (Format::Json, _) => self.documents.push(document(part, measured, seconds)),
            (Format::Text, Ok(measured)) => {
                println!("\n{name}: {about} ({seconds:.1} s)");
                print!("{}", table(&measured.all_figures()));
            }
            (Format::Text, Err(reason)) => {
                println!("\n{name}: {about} ({seconds:.1} s)\n  not measured: {reason}");
            }
            (Format::Markdown, Ok(measured)) => {
                print!("\n### `{name}`: {about}\n{}", markdown(measured));
            }
            (Format::Markdown, Err(reason)) => {
                println!("\n### `{name}`: {about}\n\nNot measured: {}", cell(reason));
            }
        }
    }

    /// Prints the end, and how many seconds all parts took.
    pub fn end(self, seconds: f64) {
        match self.format {
            Format::Text => println!("\n{seconds:.0} s in total"),
            Format::Markdown => println!("\nThe whole run took {seconds:.0} s."),
            Format::Json => {
                let all = json!({
                    "environment": self.environment,
                    "rounds": self.rounds,
                    "seconds": seconds,
                    "parts": self.documents,
                });
                println!("{all:#}");
            }
        }
    }
}

fn document(part: &Part, measured: &MeasuredOrReason, seconds: f64) -> Value {
    let (figures, reason) = match measured {
        Ok(measured) => {
            let figures = measured.all_figures();
            (figures.iter().map(Figure::to_json).collect(), None)
        }
        Err(reason) => (Vec::new(), Some(reason)),
    };
    json!({
        "name": part.name,
        "about": part.about,
        "seconds": seconds,
        "figures": figures,
        "not_measured": reason,
    })
}

/// Figures as a text table.
fn table(figures: &[Figure]) -> String {
    let head = ["figure", "median", "spread", "unit", "bar", ""].map(String::from);
    let cells = |figure: &Figure| {
        [
            figure.name.clone(),
            figure.median_text(),
            figure.spread_text(),
            figure.unit.into(),
            figure.bar_text(),
            figure.verdict().text().into(),
        ]
    };
    let rows: Vec<_> = std::iter::once(head)
        .chain(figures.iter().map(cells))
        .collect();
    let widths: Vec<usize> = (0..6)
        .map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::from("  ");
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let is_number = column == 1 || column == 2;
            line += &if is_number {
                format!("{pad}{cell}  ")
            } else {
                format!("{cell}{pad}  ")
            };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// The tables of a part: one line per comparison, one line per figure.
fn markdown(measured: &Measured) -> String {
    let mut out = String::new();
    if !measured.comparisons.is_empty() {
        out += "\n| Work | Compared with | Filermark | Other | Ratio of processor time | Ratio of rate | |\n\
                |---|---|---|---|---|---|---|\n";
    }
    for comparison in &measured.comparisons {
        for row in comparison.rows() {
            out += &comparison_row(&comparison.of, &row);
        }
    }
    if !measured.figures.is_empty() {
        out += "\n| Figure | Median | Spread | Bar | |\n|---|---|---|---|---|\n";
    }
    for figure in &measured.figures {
        out += &format!(
            "| {} | {} | {} | {} | {} |\n",
            cell(&figure.name),
            with_unit(figure),
            figure.spread_text(),
            figure.bar_text(),
            figure.verdict().text()
        );
    }
    out
}

fn comparison_row(of: &str, row: &ComparisonRow) -> String {
    let side =
        |(rate, cpu): &(Figure, Figure)| format!("{}, {} us", with_unit(rate), cpu.median_text());
    let ratio = |figure: &Figure| {
        let mut text = figure.median_text();
        if let spread = figure.spread_text()
            && !spread.is_empty()
        {
            text += &format!(" ({spread})");
        }
        if let bar = figure.bar_text()
            && !bar.is_empty()
        {
            text += &format!("; bar {bar}");
        }
        text
    };
    let (cpu, rate) = &row.ratios;
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        cell(of),
        row.name,
        side(&row.ours),
        side(&row.other),
        ratio(cpu),
        ratio(rate),
        verdicts(cpu.verdict(), rate.verdict())
    )
}

fn verdicts(cpu: Verdict, rate: Verdict) -> String {
    match (cpu, rate) {
        (cpu, rate) if cpu == rate => cpu.text().to_owned(),
        (cpu, Verdict::Informational) => cpu.text().to_owned(),
        (Verdict::Informational, rate) => rate.text().to_owned(),
        (cpu, rate) => format!("time {}, rate {}", cpu.text(), rate.text()),
    }
}

fn with_unit(figure: &Figure) -> String {
    let text = format!("{} {}", figure.median_text(), figure.unit);
    text.trim_end().to_owned()
}

/// Escapes text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Bar;
    use crate::turns::{Bars, Contender, Turn, compare};

    #[test]
    fn a_text_table_has_aligned_columns() {
        let f = Figure::new("x", "us", vec![3.0, 9.0, 4.0]).bar(Bar::AtMost(5.0));
        let shown = table(&[f, Figure::new("y", "s", vec![1.0])]);
        assert_eq!(
            shown,
            "  figure  median          spread  unit  bar\n\
             \x20 x        4.000  3.000 to 9.000  us    <= 5  reached\n\
             \x20 y        1.000                  s\n"
        );
    }

    #[test]
    fn markdown_has_a_line_per_comparison_and_per_figure() {
        let turn = |ops| {
            Ok(Turn {
                ops,
                seconds: 1.0,
                cpu_ns: 1e6,
            })
        };
        let bars = Bars {
            cpu_at_most: Some(1.5),
            rate_at_least: Some(0.75),
        };
        let contenders = vec![
            Contender::filermark(|| turn(500.0)),
            Contender::other("bare loop", bars, || turn(1000.0)),
        ];
        let mut measured = Measured::default();
        measured.add(compare("GETATTR", "op/s", 2, contenders).expect("compared"));
        measured.add(Figure::new("a | b", "KiB", vec![2.0]).bar(Bar::AtMost(64.0)));
        assert_eq!(
            markdown(&measured),
            "\n| Work | Compared with | Filermark | Other | Ratio of processor time | Ratio of rate | |\n\
             |---|---|---|---|---|---|---|\n\
             | GETATTR | bare loop | 500.0 op/s, 2.000 us | 1 000 op/s, 1.000 us | 2.000 (2.000 to 2.000); \
             bar <= 1.5 | 0.500 (0.500 to 0.500); bar >= 0.75 | short |\n\
             \n| Figure | Median | Spread | Bar | |\n|---|---|---|---|---|\n\
             | a \\| b | 2.000 KiB |  | <= 64 | reached |\n"
        );
    }

    #[test]
    fn equal_verdicts_are_one_word() {
        use Verdict::{AtBest, Informational, Reached, Short};
        assert_eq!(verdicts(Reached, Reached), "reached");
        assert_eq!(verdicts(Short, Informational), "short");
        assert_eq!(verdicts(Informational, Informational), "");
        assert_eq!(verdicts(AtBest, Short), "time at best, rate short");
    }
}
