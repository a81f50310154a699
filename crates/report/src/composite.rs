//! Parts of the report that only composites have: their components, the latency bands,
//! scripts, and the plan in their terms.

use crate::format::{count, ms, number, rate};
use crate::labels;
use filermark_model::composite::{CompositeWork, DataSet};
use filermark_model::stats::ComponentStats;
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{Latency, PointStats};
use filermark_results::bands::bands;
use filermark_results::figures::{Throughput, is_background, units};
use filermark_results::{PointRecord, RunRecord};

/// The heads of a table of components, after the component: (head, unit).
pub const COMPONENT_HEADS: [(&str, &str); 9] = [
    ("procs", ""),
    ("wanted", "op/s"),
    ("achieved", "op/s"),
    ("target", "%"),
    ("actual", "%"),
    ("mean", "ms"),
    ("99\u{a0}%", "ms"),
    ("read", "MiB/s"),
    ("written", "MiB/s"),
];

/// A row of a table of components.
#[derive(serde::Serialize)]
pub struct ComponentRow {
    pub name: String,
    pub background: bool,
    pub cells: Vec<String>,
}

/// A latency band.
#[derive(serde::Serialize)]
pub struct BandView {
    pub number: usize,
    pub entries: Vec<BandEntryView>,
}

/// An entry of a band.
#[derive(serde::Serialize)]
pub struct BandEntryView {
    pub label: String,
    pub count: String,
    /// Whether nothing is in it.
    pub is_empty: bool,
    /// Of all latencies, in whole percent, rounded up: the width of its bar.
    pub percent: u32,
}

/// One call of a script.
#[derive(serde::Serialize)]
pub struct ScriptRow {
    pub at: String,
    pub call: String,
    pub status: String,
    pub is_ok: bool,
    pub output: Vec<String>,
}

/// One component's figures at a load point.
pub struct ComponentFigures {
    pub name: String,
    pub background: bool,
    pub proc_count: u32,
    /// `None`: no limit.
    pub wanted_ops_per_sec: Option<f64>,
    pub achieved_ops_per_sec: f64,
    /// Of the operations of all components that count; `None` for others, and if one has no
    /// rate.
    pub target_pcnt: Option<f64>,
    /// The achieved share, `None` as for the target.
    pub actual_pcnt: Option<f64>,
    pub service: Latency,
    pub moved: Throughput,
}

/// The components of a measured point.
pub fn components(record: &RunRecord, stats: &PointStats) -> Vec<ComponentFigures> {
    let plan = &record.run.plan;
    let work = plan.benchmark.composite();
    let counts = |c: &&ComponentStats| !is_background(plan, c.component);
    let sum = |of: fn(&ComponentStats) -> u64| {
        let all = stats.components.iter().filter(counts).map(of);
        all.fold(0, u64::saturating_add) as f64
    };
    let (wanted, done) = (sum(|c| c.wanted_count), sum(ComponentStats::success_count));
    let rated = stats
        .components
        .iter()
        .filter(counts)
        .all(|c| c.wanted_count > 0);
    let seconds = (stats.window_ns as f64 / 1e9).max(1e-9);
    let of = |c: &ComponentStats| {
        let background = is_background(plan, c.component);
        let named = work.and_then(|w| w.components.get(c.component as usize));
        let own = PointStats {
            window_ns: stats.window_ns,
            ops: c.ops.clone(),
            ..PointStats::default()
        };
        let success = c.success_count() as f64;
        ComponentFigures {
            name: named.map_or(format!("component {}", c.component), |n| {
                one_line(&n.workload.name)
            }),
            background,
            proc_count: c.proc_count,
            wanted_ops_per_sec: (c.wanted_count > 0).then(|| c.wanted_count as f64 / seconds),
            achieved_ops_per_sec: success / seconds,
            target_pcnt: (rated && !background)
                .then(|| 100.0 * c.wanted_count as f64 / wanted.max(1.0)),
            actual_pcnt: (!background).then(|| 100.0 * success / done.max(1.0)),
            service: own.service(),
            moved: Throughput::of(&own),
        }
    };
    stats.components.iter().map(of).collect()
}

/// The table of components.
pub fn component_rows(record: &RunRecord, stats: &PointStats) -> Vec<ComponentRow> {
    let dash = || "–".to_owned();
    let percent = |p: Option<f64>| p.map_or_else(dash, |p| number(p, 2));
    let mib = |kib: f64| number(kib / 1024.0, 1);
    let row = |c: ComponentFigures| ComponentRow {
        cells: vec![
            count(u64::from(c.proc_count)),
            c.wanted_ops_per_sec.map_or("no limit".into(), rate),
            rate(c.achieved_ops_per_sec),
            percent(c.target_pcnt),
            percent(c.actual_pcnt),
            ms(c.service.mean_ns()),
            ms(c.service.percentile_ns(99.0) as f64),
            mib(c.moved.read),
            mib(c.moved.write),
        ],
        name: c.name,
        background: c.background,
    };
    components(record, stats).into_iter().map(row).collect()
}

/// The bands of a measured point, up to the last that is not empty.
pub fn band_views(stats: &PointStats) -> Vec<BandView> {
    let service = stats.service();
    let total = service.count().max(1) as f64;
    let entry = |e: filermark_results::bands::BandEntry| BandEntryView {
        percent: (100.0 * e.count as f64 / total).ceil() as u32,
        count: count(e.count),
        is_empty: e.count == 0,
        label: e.label.replace('u', "µ"),
    };
    let mut all: Vec<BandView> = (1..)
        .zip(bands(&service))
        .map(|(number, entries)| BandView {
            number,
            entries: entries.into_iter().map(entry).collect(),
        })
        .collect();
    while all
        .last()
        .is_some_and(|b| b.entries.iter().all(|e| e.is_empty))
    {
        all.pop();
    }
    all
}

/// The calls of scripts.
pub fn script_rows(record: &RunRecord) -> Vec<ScriptRow> {
    let row = |s: &filermark_results::ScriptRecord| ScriptRow {
        at: s.at.readable(),
        call: one_line(&format!("{} {}", s.script, s.argument)),
        status: one_line(&s.status.to_string()),
        is_ok: s.status.is_ok(),
        output: s.output.lines().map(one_line).collect(),
    };
    record.scripts.iter().map(row).collect()
}

/// The peak in the business metric: (figure, unit, note); `None` if the loads are plain
/// rates.
pub fn peak(record: &RunRecord, point: &PointRecord) -> Option<(String, String, String)> {
    let stats = point.measured()?;
    let unit = labels::unit(record)?;
    let text = units(point.load.units, &unit);
    let (figure, unit) = text.split_once(' ')?;
    let moved = Throughput::of(stats).total() / 1024.0;
    let note = format!(
        "{} op/s, {} MiB/s",
        number(stats.achieved_ops_per_sec(), 1),
        number(moved, 1)
    );
    Some((figure.into(), unit.into(), note))
}

/// The plan's rows for a composite.
pub fn plan_rows(record: &RunRecord, work: &CompositeWork) -> Vec<(&'static str, String)> {
    let plan = &record.run.plan;
    let unit = one_line(&plan.benchmark.unit);
    let largest = plan.points.iter().max_by_key(|p| plan.proc_count_at(**p));
    let mut rows = Vec::new();
    for c in &work.components {
        let speed = c.ops_per_proc.map_or("without a rate limit".into(), |r| {
            format!("of {} op/s", number_plain(r))
        });
        let background = match c.workload.attributes.background {
            true => "; background: not in the result",
            false => "",
        };
        let text = format!(
            "{}: {} per {unit} {speed}, each with {} of {} KiB per bucket{background}",
            one_line(&c.workload.name),
            counted(u64::from(c.instances), "proc"),
            counted(c.files_per_bucket(), "file"),
            c.file_bytes / 1024,
        );
        rows.push(("Component", text));
    }
    if let Some(load) = largest {
        let set = plan.data_set(*load);
        let text = format!(
            "{} MiB at the start, up to {} MiB, at the largest load ({})",
            count(DataSet::mib(set.start_bytes)),
            count(DataSet::mib(set.max_bytes)),
            labels::load(record, *load),
        );
        rows.push(("Data set", text));
    }
    rows
}

fn number_plain(figure: f64) -> String {
    filermark_results::figures::plain(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::benchmark::Work;
    use filermark_results::testing::composite::{composite_record, stream_record};

    #[test]
    fn shares_are_of_what_counts() {
        let mut record = stream_record();
        let stats = record.points[0].measured().unwrap().clone();
        let all = components(&record, &stats);
        assert_eq!(
            (all[0].name.as_str(), all[1].name.as_str()),
            ("VDA1", "VDA2")
        );
        assert_eq!(all[0].target_pcnt, Some(90.0));
        let actual: f64 = all.iter().filter_map(|c| c.actual_pcnt).sum();
        assert!((actual - 100.0).abs() < 1e-9);
        assert!(all[0].moved.read == 0.0 && all[1].moved.read > 0.0);
        let Work::Composite(work) = &mut record.run.plan.benchmark.work else {
            panic!("the streams are a composite");
        };
        work.components[1].workload.attributes.background = true;
        let all = components(&record, &stats);
        assert_eq!(
            (all[0].actual_pcnt, all[1].actual_pcnt),
            (Some(100.0), None)
        );
        assert!(all[1].background);
        assert_eq!(component_rows(&record, &stats)[1].cells[4], "–");
    }

    #[test]
    fn the_peak_is_in_units() {
        let record = composite_record();
        let (figure, unit, note) = peak(&record, record.peak().unwrap()).unwrap();
        assert_eq!((figure.as_str(), unit.as_str()), ("2", "BUILDs"));
        assert!(note.starts_with("999.6 op/s, "), "{note}");
    }
}
