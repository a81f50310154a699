//! The content of a report of a submission, section by section.

use super::fragment::{fragment_html, fragment_text};
use super::images::Image;
use super::table::text_table;
use crate::format::{number, rate};
use crate::options::Edition;
use crate::svg::escape;
use filermark_results::{Curve, CurvePoint};
use filermark_submission::{Document, Element, Kind, Node, Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// Columns of the text report.
pub(super) const TEXT_WIDTH: usize = 78;

/// The input of a report in addition to the submission.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Its readers.
    pub edition: Edition,
    /// The diagrams, by file name. A missing one is reported as missing.
    pub images: BTreeMap<String, Image>,
    /// The time of the report, as shown; empty: not shown.
    pub generated: String,
    /// Remarks of the caller, e.g. on run records that could not be read.
    pub remarks: Vec<String>,
    /// The detailed sections of each result's record, as HTML; by the result's number.
    pub details: BTreeMap<usize, String>,
    /// Where a result differs from that of its record, for people; by the result's number.
    pub contradictions: BTreeMap<usize, Vec<String>>,
}

/// A section: a heading and its content.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub id: String,
    pub title: &'static str,
    pub blocks: Vec<Block>,
}

/// A block under a heading; exactly one of the parts is filled in, and the others
/// are empty, as templates require it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Block {
    pub title: String,
    pub facts: Vec<Fact>,
    pub table: Option<Table>,
    pub html: String,
    pub images: Vec<Diagram>,
    /// All of it as text.
    pub text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Fact {
    pub label: String,
    pub html: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Diagram {
    pub title: String,
    pub file: String,
    /// The picture; empty: it is missing.
    pub address: String,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Table {
    pub heads: Vec<Head>,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Head {
    pub title: String,
    pub is_number: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Cell {
    pub html: String,
    #[serde(skip)]
    pub source: String,
    pub is_number: bool,
}

impl Cell {
    /// A finished text, not a fragment.
    pub fn plain(text: &str, is_number: bool) -> Self {
        let source = text.replace('&', "&amp;").replace('<', "&lt;");
        Self {
            html: escape(text),
            source,
            is_number,
        }
    }
}

/// A result, as its headline and table.
#[derive(Debug, Serialize)]
pub(super) struct ResultView {
    pub number: usize,
    pub benchmark: String,
    pub title: String,
    pub version: String,
    pub metric: String,
    pub peak: String,
    pub ort: String,
    pub verdict: String,
    pub verdict_class: &'static str,
    pub table: Table,
    pub table_text: String,
    pub chart: String,
    pub narrow_chart: String,
    pub method: &'static str,
    pub reasons: Vec<String>,
    /// The reasons as text, each a paragraph.
    pub reasons_text: String,
    /// Remarks on the run: not standard, and so on.
    pub remarks: Vec<String>,
    pub remarks_text: String,
    /// Differences from the figures of the run record.
    pub contradictions: Vec<String>,
    pub contradictions_text: String,
    /// The suffix of the run.
    pub suffix: String,
    pub details: String,
}

/// The sections after the results, in the order of the form.
pub(super) fn sections(document: &Document, extras: &Extras) -> Vec<Section> {
    let root = document.root();
    let mut sections: Vec<Section> = Vec::new();
    for name in ["productInfo", "testInfo"] {
        for child in root.get(name).map_or(&[][..], Element::children) {
            push_section(&mut sections, child, extras);
        }
    }
    let mut last = vec!["otherReportNotes", "resultCompliance"];
    if extras.edition == Edition::Reviewer {
        last.push("submissionInfo");
    }
    for child in last.into_iter().filter_map(|name| root.get(name)) {
        push_section(&mut sections, child, extras);
    }
    sections
}

/// Notes on what is above them (`memoryNotes` after `memory`) are not a section of their
/// own.
fn push_section(sections: &mut Vec<Section>, element: &Element, extras: &Extras) {
    let node = element.node();
    if node.is_optional && element.is_blank() {
        return;
    }
    let stem = node.name.strip_suffix("Notes");
    let above_id = sections.last().map_or("", |s| s.id.as_str());
    let is_note = stem.is_some_and(|stem| above_id.starts_with(stem));
    if let (true, Some(above)) = (is_note, sections.last_mut()) {
        above.blocks.push(prose(node.title, element.text()));
        return;
    }
    sections.push(Section {
        id: node.name.to_owned(),
        title: node.title,
        blocks: blocks(element, extras),
    });
}

/// The blocks of a node and all below it.
fn blocks(element: &Element, extras: &Extras) -> Vec<Block> {
    let node = element.node();
    match node.kind {
        Kind::Field(_) => vec![prose("", element.text())],
        Kind::List(item, _) if item.name == "diagram" => vec![diagrams(element, extras)],
        Kind::List(item, _) => vec![listing("", element, item)],
        Kind::Group(_) => {
            let mut found = Vec::new();
            let facts = facts(element);
            if !facts.facts.is_empty() {
                found.push(facts);
            }
            for child in element.children() {
                let node = child.node();
                let is_fact = matches!(node.kind, Kind::Field(f) if f.value != Value::FreeForm);
                if is_fact || (node.is_optional && child.is_blank()) {
                    continue;
                }
                match node.kind {
                    Kind::Field(_) => {
                        let is_alone = node.title == element.node().title;
                        found.push(prose(if is_alone { "" } else { node.title }, child.text()));
                    }
                    Kind::List(item, _) => {
                        let is_alone = node.title == element.node().title;
                        found.push(listing(if is_alone { "" } else { node.title }, child, item));
                    }
                    Kind::Group(_) => found.extend(blocks(child, extras)),
                }
            }
            found
        }
    }
}

/// The single values of a group, one under the other.
fn facts(element: &Element) -> Block {
    let mut block = Block::default();
    for child in element.children() {
        let node = child.node();
        let Some(field) = node.field().filter(|f| f.value != Value::FreeForm) else {
            continue;
        };
        if node.is_optional && child.is_blank() {
            continue;
        }
        let shown = shown(child.text(), field.value);
        block
            .text
            .push_str(&format!("{:<30}  {shown}\n", node.title));
        block.facts.push(Fact {
            label: node.title.to_owned(),
            html: or_missing(escape(&shown)),
        });
    }
    block
}

fn prose(title: &str, source: &str) -> Block {
    let lines = fragment_text(source, TEXT_WIDTH);
    Block {
        title: title.to_owned(),
        html: or_missing(fragment_html(source)),
        text: format!("{}\n", lines.join("\n")),
        ..Block::default()
    }
}

fn or_missing(html: String) -> String {
    match html.is_empty() {
        true => "<em class=\"missing\">not stated</em>".into(),
        false => html,
    }
}

const fn is_number(value: Value) -> bool {
    matches!(value, Value::Count | Value::Number)
}

/// A figure with thousands separators; everything else as it was typed.
fn shown(text: &str, value: Value) -> String {
    match (is_number(value), text.parse::<f64>()) {
        (true, Ok(figure)) => {
            let decimals = text.split_once('.').map_or(0, |(_, d)| d.len().min(3));
            number(figure, decimals)
        }
        _ => text.to_owned(),
    }
}

/// A list as a table: a column for each field of its items, those that are empty in
/// every row left out.
fn listing(title: &str, list: &Element, item: &'static Node) -> Block {
    let mut table = Table::default();
    let rows: Vec<&Element> = list.items().collect();
    let is_used =
        |node: &Node| !node.is_optional || rows.iter().any(|row| !row.value(node.name).is_empty());
    let columns: Vec<&Node> = item.children().iter().filter(|n| is_used(n)).collect();
    let is_memory = item.name == "memoryItem";
    let is_counted = item.name == "bomItem" || item.name == "processingElement";
    let head = |title: &str, is_number| Head {
        title: title.to_owned(),
        is_number,
    };
    if is_counted {
        table.heads.push(head("No", true));
    }
    for node in &columns {
        let value = node.field().map(|f| f.value);
        table
            .heads
            .push(head(node.title, value.is_some_and(is_number)));
    }
    for (at, row) in (1..).zip(&rows) {
        let mut cells = Vec::new();
        if is_counted {
            cells.push(Cell::plain(&at.to_string(), true));
        }
        cells.extend(columns.iter().map(|node| cell(row, node)));
        table.rows.push(cells);
    }
    if is_memory {
        add_memory_total(&mut table, &rows);
    }
    if rows.is_empty() {
        return prose(title, "");
    }
    let text = text_table(&table, TEXT_WIDTH);
    Block {
        title: title.to_owned(),
        table: Some(table),
        text,
        ..Block::default()
    }
}

fn cell(row: &Element, node: &Node) -> Cell {
    let text = row.value(node.name);
    match node.field().map(|f| f.value) {
        Some(Value::FreeForm) => Cell {
            html: fragment_html(text),
            source: text.to_owned(),
            is_number: false,
        },
        Some(value) => Cell::plain(&shown(text, value), is_number(value)),
        None => Cell::plain("", false),
    }
}

/// The product of size and number per row, and the sum over the rows.
fn add_memory_total(table: &mut Table, rows: &[&Element]) {
    table.heads.push(Head {
        title: "Total, GiB".into(),
        is_number: true,
    });
    let mut sum = 0.0;
    for (cells, row) in table.rows.iter_mut().zip(rows) {
        let figure = |name: &str| row.value(name).parse::<f64>().unwrap_or(0.0);
        let total = figure("sizeGib") * figure("quantity");
        sum += total;
        cells.push(Cell::plain(&rate(total), true));
    }
    let mut last: Vec<Cell> = table.heads.iter().map(|_| Cell::plain("", false)).collect();
    if let Some(first) = last.first_mut() {
        *first = Cell::plain("Grand total", false);
    }
    if let Some(end) = last.last_mut() {
        *end = Cell::plain(&rate(sum), true);
    }
    table.rows.push(last);
}

/// Most pictures of a page.
const DIAGRAMS_MAX: usize = 20;

fn diagrams(list: &Element, extras: &Extras) -> Block {
    let mut block = Block::default();
    let mut shown: Vec<&str> = Vec::new();
    for item in list.items() {
        let (title, file) = (item.value("name"), item.value("file"));
        // A picture that is named twice is shown once.
        if shown.contains(&file) || shown.len() >= DIAGRAMS_MAX {
            continue;
        }
        shown.push(file);
        block.text.push_str(&format!("{title}: {file}\n"));
        let image = extras.images.get(file);
        block.images.push(Diagram {
            title: title.to_owned(),
            file: file.to_owned(),
            address: image.map_or(String::new(), Image::data_uri),
        });
    }
    block
}

/// The results' tables and headlines.
pub(super) fn results(document: &Document, extras: &Extras) -> Vec<ResultView> {
    let results = document.results();
    let contradictions = |at: usize| extras.contradictions.get(&at).cloned().unwrap_or_default();
    let views = (1..).zip(&results).map(|(at, (result, curve))| {
        let peak = curve.peak_value();
        let table = points_table(curve);
        let chart = |is_wide| {
            let chart = super::page::chart(curve, is_wide);
            chart.replace("\"plain-curve", &format!("\"result{at}-curve")).replace(" plain-curve", &format!(" result{at}-curve"))
        };
        ResultView {
            number: at,
            benchmark: curve.benchmark.clone(),
            title: result.value("title").to_owned(),
            version: result.value("benchmarkVersion").to_owned(),
            metric: curve.metric.clone(),
            peak: peak.map_or("none".into(), |peak| match curve.is_classical() {
                true => rate(peak),
                false => number_short(peak),
            }),
            ort: curve.ort_ms().map_or("none".into(), |ms| number(ms, 2)),
            verdict: verdict(result, curve).to_owned(),
            verdict_class: match verdict(result, curve) {
                "VALID" => "valid",
                "INVALID" => "invalid",
                word if word.contains("VALID") => "qualified",
                _ => "unknown",
            },
            table_text: text_table(&table, TEXT_WIDTH),
            table,
            chart: chart(true),
            narrow_chart: chart(false),
            method: match curve.ort_method.name() {
                "2008" => "the area under the curve from the origin to the peak, divided by the peak",
                _ => "the area under the curve from the first load point to the peak, divided by the distance between them",
            },
            reasons_text: reasons_text("", &reasons(curve)),
            remarks_text: reasons_text("", &remarks(result)),
            remarks: remarks(result),
            contradictions_text: reasons_text("CONTRADICTION: ", &contradictions(at)),
            contradictions: contradictions(at),
            suffix: result.value("runFiles.suffix").to_owned(),
            reasons: reasons(curve),
            details: extras.details.get(&at).cloned().unwrap_or_default(),
        }
    });
    views.collect()
}

/// The verdict that the result claims; INVALID where no load point counts.
fn verdict<'a>(result: &'a Element, curve: &Curve) -> &'a str {
    match curve.valid_points().next() {
        None => "INVALID",
        Some(_) => result.value("verdict"),
    }
}

fn number_short(figure: f64) -> String {
    filermark_results::figures::plain(figure)
}

fn reasons(curve: &Curve) -> Vec<String> {
    let bad = curve.points.iter().filter(|p| !p.is_valid);
    let texts = bad.map(|p| {
        let load = number_short(p.load);
        match p.reason.is_empty() {
            true => format!("{load} {}: does not count", curve.metric),
            false => format!("{load} {}: {}", curve.metric, p.reason),
        }
    });
    texts.collect()
}

/// The run's remarks, one line each.
fn remarks(result: &Element) -> Vec<String> {
    let lines = result.value("remarks").lines();
    lines
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Each as a paragraph, the first line two columns to the left.
fn reasons_text(before: &str, reasons: &[String]) -> String {
    let source: String = reasons
        .iter()
        .map(|r| format!("<li>{before}{}", escape(r).replace("&#39;", "'")))
        .collect();
    let lines = fragment_text(&format!("<ul>{source}</ul>"), TEXT_WIDTH);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A column of the table of load points: its head, and what it shows of a point.
type Column = (&'static str, fn(&CurvePoint) -> Option<String>);

/// The columns of every result, then those that only some files have.
const COLUMNS: &[Column] = &[
    ("Throughput, op/s", |p| Some(rate(p.achieved))),
    ("Mean service time, ms", |p| Some(number(p.mean_ms, 3))),
    ("99 % of service times, ms", |p| {
        p.service_ms_p99.map(|ms| number(ms, 3))
    }),
    ("99 % of response times, ms", |p| {
        p.response_p99().map(|f| f.text(|ms| number(ms, 3)))
    }),
    ("Total, KiB/s", |p| {
        p.total_kib_per_sec.map(|k| number(k, 0))
    }),
    ("Errors", |p| p.error_count.map(|n| n.to_string())),
];

fn points_table(curve: &Curve) -> Table {
    let mut table = Table::default();
    let load = match curve.is_classical() {
        true => "Requested, op/s".to_owned(),
        false => curve.metric.clone(),
    };
    let head = |title: &str, is_number| Head {
        title: title.to_owned(),
        is_number,
    };
    table.heads.push(head(&load, true));
    let used: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, of)| curve.points.iter().any(|p| of(p).is_some()))
        .collect();
    table
        .heads
        .extend(used.iter().map(|(title, _)| head(title, true)));
    table.heads.push(head("Counts", false));
    for point in &curve.points {
        let load = match curve.is_classical() {
            true => rate(point.load),
            false => number_short(point.load),
        };
        let mut cells = vec![Cell::plain(&load, true)];
        cells.extend(
            used.iter()
                .map(|(_, of)| Cell::plain(&of(point).unwrap_or_default(), true)),
        );
        cells.push(Cell::plain(
            if point.is_valid { "yes" } else { "NO" },
            false,
        ));
        table.rows.push(cells);
    }
    table
}
