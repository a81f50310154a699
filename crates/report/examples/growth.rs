//! The picture of docs/src/reference/speed.md: how the cost of an operation grows with what there is
//! beside it.
//!
//! `filermark-bench growth --json | cargo run -p filermark-report --example growth > growth.svg`

use filermark_report::parts::{Anchor, Area, Scale, Svg, axes_at, legend, standalone};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

/// Number of something, and the cost of an operation beside so many of them.
type Points = Vec<(f64, f64)>;

/// The classes of the lines, in the order of the rows.
const CLASSES: [&str; 5] = ["q1", "q2", "q3", "q4", "q5"];

fn main() -> ExitCode {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    let rows = read.map_err(|e| format!("read standard input: {e}"));
    match rows.and_then(|_| rows_of(&text)) {
        Ok(rows) => {
            println!("{}", standalone(&picture(&rows)));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}: give it what `filermark-bench growth --json` prints");
            ExitCode::FAILURE
        }
    }
}

/// What the part `growth` measured: the points of each row.
fn rows_of(text: &str) -> Result<BTreeMap<String, Points>, String> {
    let all: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let parts = all["parts"].as_array().ok_or("no parts")?;
    let growth = parts.iter().find(|part| part["name"] == "growth");
    let figures = growth.and_then(|part| part["figures"].as_array());
    let mut rows: BTreeMap<String, Points> = BTreeMap::new();
    for figure in figures.ok_or("no figures of growth")? {
        let named = figure["name"]
            .as_str()
            .and_then(|name| name.split_once(": "));
        if let Some((what, count)) = named
            && let Ok(count) = count.parse()
            && let Some(cost) = figure["median"].as_f64()
        {
            rows.entry(what.to_owned()).or_default().push((count, cost));
        }
    }
    match rows.values().all(|points| points.len() >= 2) && !rows.is_empty() {
        true => Ok(rows),
        false => Err("a row has less than two numbers".into()),
    }
}

/// The cost as a multiple of that at the smallest number, over the number.
fn picture(rows: &BTreeMap<String, Points>) -> String {
    let (wide, high) = (760.0, 400.0);
    let area = Area {
        left: 52.0,
        top: 64.0,
        right: wide - 16.0,
        bottom: high - 52.0,
    };
    let relative = |points: &Points| -> Points {
        let first = points[0].1;
        points
            .iter()
            .map(|(at, cost)| (*at, cost / first))
            .collect()
    };
    let rows: Vec<(&str, Points)> = rows
        .iter()
        .map(|(what, points)| (what.as_str(), relative(points)))
        .collect();
    let all = || rows.iter().flat_map(|(_, points)| points.iter());
    let most = all().map(|point| point.1).fold(1.0, f64::max);
    let largest = all().map(|point| point.0).fold(10.0, f64::max);
    let x = Scale::log(1.0, largest, area.left, area.right);
    let y = Scale::linear(0.0, most, area.bottom, area.top);
    let title = "Cost of an operation over the number of procs, connections, files, clients and load points";
    let description =
        "Each line is the processor time of an operation, divided by that at the smallest number.";
    let mut svg = Svg::new("growth", wide, high, title, description);
    let names: Vec<String> = CLASSES
        .iter()
        .map(|class| format!("line {class}"))
        .collect();
    let entries: Vec<(&str, &str)> = names
        .iter()
        .zip(&rows)
        .map(|(class, (what, _))| (class.as_str(), *what))
        .collect();
    legend(
        &mut svg,
        &entries,
        (area.left, 22.0),
        area.right - area.left,
    );
    // One for each power of ten.
    let ticks = x.ticks(7);
    let titles = ("number", "cost, times that at the smallest number");
    axes_at(&mut svg, &area, (&x, &ticks), &y, titles);
    for (class, (_, points)) in names.iter().zip(&rows) {
        let line: Points = points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
        svg.polyline(class, &line);
        if let (Some(at), Some((_, grown))) = (line.last(), points.last()) {
            let label = (at.0 - 4.0, at.1 - 6.0);
            svg.text("tick", label, Anchor::End, &format!("{grown:.2}"));
        }
    }
    svg.finish()
}
