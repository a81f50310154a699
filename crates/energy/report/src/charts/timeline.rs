//! Power, traffic, throughput and climate of one run in panels on one time axis, with phases
//! shaded and events marked.

use super::axis::{span, y_axis};
use super::downsample::{Value, stretches};
use crate::labels;
use crate::names::{self, RunNames};
use filermark_energy_data::log::EnergyPhase;
use filermark_energy_data::reduce::{PhaseSpan, Series, SeriesKind, WorkloadReduction};
use filermark_report::parts::{Anchor, Svg};
use filermark_report::parts::{Area, ChartWidth, legend};
use filermark_report::parts::{Scale, tick_label};
use filermark_results::Timestamp;

/// Most lines of one panel; the workbook has all.
const LINES_MAX: usize = 8;
/// Most events that are marked; the list below has all.
const EVENTS_MAX: usize = 60;
/// Units of a drawing for each column of thinned values.
const COLUMN_WIDTH: f64 = 2.0;
/// Where a panel's legend begins, from its left: the unit is before it.
const LEGEND_LEFT: f64 = 64.0;
/// The label of the time before the first load point.
const AT_REST: &str = "at rest";
/// Narrower phases are not shaded.
const BAND_WIDTH_MIN: f64 = 0.4;

/// One panel of the chart.
struct Panel<'a> {
    run: &'a WorkloadReduction,
    unit: &'a str,
    series: Vec<&'a Series>,
    left_out: usize,
    height: f64,
}

/// Whether a line is a part of another one's sum.
pub const fn is_part(kind: SeriesKind) -> bool {
    matches!(kind, SeriesKind::Meter | SeriesKind::Interface)
}

/// The lines of the run that are drawn: a single part is the sum.
pub fn drawn(run: &WorkloadReduction) -> Vec<&Series> {
    let of = |kind| run.series.iter().filter(move |s| s.kind == kind).count();
    let is_doubled = |s: &Series| match s.kind {
        SeriesKind::Meter => of(SeriesKind::Meter) == 1 && of(SeriesKind::Power) > 0,
        SeriesKind::Interface => of(SeriesKind::Interface) == 1 && of(SeriesKind::Traffic) > 0,
        _ => false,
    };
    let has_values = |s: &Series| s.values.iter().any(|(_, v)| v.is_some_and(f64::is_finite));
    let series = run.series.iter();
    series.filter(|s| has_values(s) && !is_doubled(s)).collect()
}

fn panels<'a>(run: &'a WorkloadReduction, all: &[&'a Series], fit: ChartWidth) -> Vec<Panel<'a>> {
    use SeriesKind as K;
    let tall = if fit == ChartWidth::Narrow {
        110.0
    } else {
        130.0
    };
    // Parts have a panel of their own, so that small changes of a sum stay visible.
    let kinds: [(&[K], &str, f64); 6] = [
        (&[K::Power], "W", tall),
        (&[K::Meter], "W", 80.0),
        (&[K::Traffic, K::Throughput], "MiB/s", tall),
        (&[K::Interface], "MiB/s", 80.0),
        (&[K::Temperature], "°C", 66.0),
        (&[K::Humidity], "%", 66.0),
    ];
    let panel = |(kinds, unit, height): (&[K], &'a str, f64)| {
        let mut series: Vec<&Series> = Vec::new();
        for kind in kinds {
            series.extend(all.iter().copied().filter(|s| s.kind == *kind));
        }
        let left_out = series.len().saturating_sub(LINES_MAX);
        series.truncate(LINES_MAX);
        Panel {
            run,
            unit,
            series,
            left_out,
            height,
        }
    };
    let panels = kinds.into_iter().map(panel);
    panels.filter(|p| !p.series.is_empty()).collect()
}

/// The first and the last time of phases and series.
pub fn times(run: &WorkloadReduction, all: &[&Series]) -> Option<(f64, f64)> {
    let ends = |s: &Series| [s.values.first(), s.values.last()].map(|v| v.map(|v| v.0));
    let of_series = all.iter().flat_map(|s| ends(s)).flatten();
    let of_phases = run.phases.iter().flat_map(|p| [p.began, p.ended]);
    span(of_series.chain(of_phases).map(Timestamp::unix_seconds)).filter(|(a, b)| b > a)
}

/// A unit of time for an axis of this length: its seconds and its name.
pub const fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s <= 180.0 => (1.0, "seconds"),
        s if s <= 3.0 * 3_600.0 => (60.0, "minutes"),
        _ => (3_600.0, "hours"),
    }
}

/// The chart; `place` is that of the run in the reduction. `None` where there is no series.
pub fn timeline_chart(
    run: &WorkloadReduction,
    called: &RunNames,
    place: usize,
    fit: ChartWidth,
) -> Option<String> {
    let all = drawn(run);
    let panels = panels(run, &all, fit);
    let (from, to) = times(run, &all)?;
    if panels.is_empty() {
        return None;
    }
    let width = fit.width();
    let (left, right) = (58.0, width - 16.0);
    let gaps = panels
        .iter()
        .map(|p| p.height + legend_height(p, fit) + 22.0);
    let height = 24.0 + gaps.sum::<f64>() + 44.0;
    let (unit_s, unit) = time_unit(to - from);
    let x = Scale::exact(0.0, (to - from) / unit_s, left, right);
    let began = Timestamp::from_unix_seconds(from).readable();
    let mut title = format!("Power and traffic of {} over time", called.title);
    if run.simulated {
        title = format!("{title}, {}", labels::SIMULATED);
    }
    let mut svg = Svg::new(
        &format!("timeline-{place}-{}", fit.as_str()),
        width,
        height,
        &title,
        &format!(
            "Panels on one time axis, in {unit} since {began}. The figures are in the table below."
        ),
    );
    let at = |seconds: f64| x.at((seconds - from) / unit_s);
    let axis = TimeAxis {
        at: &at,
        left,
        right,
        span: (from, to),
    };
    let bottom = height - 44.0;
    bands(&mut svg, run, &axis, bottom);
    let mut top = 24.0;
    for panel in &panels {
        top += legend_height(panel, fit) + 22.0;
        draw_panel(&mut svg, panel, &axis, &x, top, fit);
        top += panel.height;
    }
    events(&mut svg, run, &axis, bottom);
    for value in x.ticks(((right - left) / 54.0) as usize) {
        let label = (x.at(value), bottom + 18.0);
        svg.text("tick", label, Anchor::Middle, &tick_label(value));
    }
    let below = format!("{unit} since {began}");
    svg.text("axis-title", (right, bottom + 38.0), Anchor::End, &below);
    Some(svg.finish())
}

/// The time axis that panels share.
struct TimeAxis<'a> {
    at: &'a dyn Fn(f64) -> f64,
    left: f64,
    right: f64,
    span: (f64, f64),
}

/// The width of a panel's legend, after the unit.
fn legend_width(left: f64, right: f64) -> f64 {
    right - left - LEGEND_LEFT
}

/// Lines that the legend of a panel takes, in units; as [`legend`] will lay it out.
fn legend_height(panel: &Panel<'_>, fit: ChartWidth) -> f64 {
    let mut scratch = Svg::new("", 0.0, 0.0, "", "");
    let entries = legend_entries(panel);
    let named: Vec<_> = entries
        .iter()
        .map(|(c, l)| (c.as_str(), l.as_str()))
        .collect();
    legend(
        &mut scratch,
        &named,
        (58.0, 0.0),
        legend_width(58.0, fit.width() - 16.0),
    )
}

/// Class and name of each line: sums in full colour, their parts thin.
fn legend_entries(panel: &Panel<'_>) -> Vec<(String, String)> {
    const SUMS: [&str; 4] = ["c0", "c2", "c1", "c3"];
    const PARTS: [&str; 4] = ["c1", "c3", "q5", "q2"];
    let (mut sums, mut parts) = (0, 0);
    let class = |s: &&Series| match is_part(s.kind) {
        false => {
            sums += 1;
            format!("line {}", SUMS[(sums - 1) % SUMS.len()])
        }
        true => {
            parts += 1;
            format!("line part {}", PARTS[(parts - 1) % PARTS.len()])
        }
    };
    let classes: Vec<String> = panel.series.iter().map(class).collect();
    let labels = panel.series.iter();
    let labels = labels.map(|s| names::source(panel.run, &s.label));
    let mut entries: Vec<(String, String)> = classes.into_iter().zip(labels).collect();
    if panel.left_out > 0 {
        let more = format!("and {} more, not drawn", panel.left_out);
        entries.push(("key-none".into(), more));
    }
    entries
}

fn draw_panel(
    svg: &mut Svg,
    panel: &Panel<'_>,
    axis: &TimeAxis<'_>,
    x: &Scale,
    top: f64,
    fit: ChartWidth,
) {
    let area = Area {
        left: axis.left,
        top,
        right: axis.right,
        bottom: top + panel.height,
    };
    let entries = legend_entries(panel);
    let named: Vec<_> = entries
        .iter()
        .map(|(c, l)| (c.as_str(), l.as_str()))
        .collect();
    let height = legend_height(panel, fit);
    legend(
        svg,
        &named,
        (axis.left + LEGEND_LEFT, top - height + 8.0),
        legend_width(axis.left, axis.right),
    );
    let values = panel.series.iter().flat_map(|s| s.values.iter());
    let Some((low, high)) = span(values.filter_map(|(_, v)| *v)) else {
        return;
    };
    let (y, note) = y_axis(low, high, &area);
    for value in y.ticks(((panel.height / 32.0) as usize).max(3)) {
        let at = y.at(value);
        svg.line("grid", (area.left, at), (area.right, at));
        svg.text(
            "tick",
            (area.left - 8.0, at + 4.0),
            Anchor::End,
            &tick_label(value),
        );
    }
    for value in x.ticks(area.x_tick_count()) {
        svg.line(
            "grid faint",
            (x.at(value), area.top),
            (x.at(value), area.bottom),
        );
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    let unit = format!("{}{note}", panel.unit);
    svg.text("axis-title", (2.0, top - 10.0), Anchor::Start, &unit);
    for (series, (class, _)) in panel.series.iter().zip(&entries) {
        draw_series(svg, series, class, axis, &y);
    }
}

fn draw_series(svg: &mut Svg, series: &Series, class: &str, axis: &TimeAxis<'_>, y: &Scale) {
    let values: Vec<Value> = series
        .values
        .iter()
        .map(|(at, v)| (at.unix_seconds(), *v))
        .collect();
    let columns = ((axis.right - axis.left) / COLUMN_WIDTH) as usize;
    for stretch in stretches(&values, axis.span.0, axis.span.1, columns) {
        let points: Vec<_> = stretch
            .iter()
            .map(|(at, v)| ((axis.at)(*at), y.at(*v)))
            .collect();
        match points.as_slice() {
            // A value between two gaps is not visible as a line.
            [(px, py)] => svg.line(class, (px - 1.0, *py), (px + 1.0, *py)),
            _ => svg.polyline(class, &points),
        }
    }
}

/// Shades the idle time, INIT, WARMUP and RUN, and numbers the load points above.
fn bands(svg: &mut Svg, run: &WorkloadReduction, axis: &TimeAxis<'_>, bottom: f64) {
    let mut numbered_to = f64::NEG_INFINITY;
    let at_rest = at_rest(run, axis.span.0);
    for phase in at_rest.iter().chain(&run.phases) {
        let Some(class) = band_class(phase.phase) else {
            continue;
        };
        let from = (axis.at)(phase.began.unix_seconds());
        let to = (axis.at)(phase.ended.unix_seconds());
        if to - from >= BAND_WIDTH_MIN {
            svg.rect(
                class,
                (from, 24.0),
                (to - from, bottom - 24.0),
                &tooltip(phase),
            );
        }
        let label = match phase.phase {
            EnergyPhase::PreTest => AT_REST.to_owned(),
            EnergyPhase::Run => phase.point.to_string(),
            _ => continue,
        };
        let wide = 8.0 * label.len() as f64 + 6.0;
        // A label that is wider than its phase would cover load; the legend has it.
        if phase.phase == EnergyPhase::PreTest && to - from < wide {
            continue;
        }
        let middle = (from + to) / 2.0;
        if middle - wide / 2.0 >= numbered_to {
            svg.text("band-label", (middle, 18.0), Anchor::Middle, &label);
            numbered_to = middle + wide / 2.0;
        }
    }
    svg.text("tick", (2.0, 18.0), Anchor::Start, "point");
}

/// The time before the first load point, where it has power. Merged logs have only the
/// phases of runs, so the log may lack it.
fn at_rest(run: &WorkloadReduction, from: f64) -> Option<PhaseSpan> {
    run.idle?;
    let ended = run.phases.iter().map(|p| p.began).min()?;
    let began = Timestamp::from_unix_seconds(from);
    (began < ended).then_some(PhaseSpan {
        point: 0,
        phase: EnergyPhase::PreTest,
        began,
        ended,
    })
}

const fn band_class(phase: EnergyPhase) -> Option<&'static str> {
    match phase {
        EnergyPhase::PreTest => Some("band band-rest"),
        EnergyPhase::Init => Some("band band-init"),
        EnergyPhase::Warmup => Some("band band-warmup"),
        EnergyPhase::Run => Some("band band-run"),
        EnergyPhase::RunTail => Some("band band-tail"),
        EnergyPhase::Pre | EnergyPhase::Post => None,
    }
}

fn tooltip(phase: &PhaseSpan) -> String {
    let seconds = phase.ended.seconds_since(phase.began);
    let began = phase.began.readable();
    let what = match phase.phase {
        EnergyPhase::PreTest => AT_REST.to_owned(),
        other => format!("load point {}, {other}", phase.point),
    };
    format!("{what}: {began}, {seconds:.0} s")
}

fn events(svg: &mut Svg, run: &WorkloadReduction, axis: &TimeAxis<'_>, bottom: f64) {
    for (at, message) in run.events.iter().take(EVENTS_MAX) {
        let seconds = at.unix_seconds();
        if seconds < axis.span.0 || seconds > axis.span.1 {
            continue;
        }
        let x = (axis.at)(seconds);
        svg.line("event", (x, 24.0), (x, bottom));
        let title = format!(
            "{}: {}",
            at.readable(),
            filermark_results::text::one_line(message)
        );
        svg.circle("event-mark", (x, 27.0), 4.0, &title);
    }
}
