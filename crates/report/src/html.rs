//! The report as one self-contained HTML page: no network, no script, no
//! external font.

use crate::breakdown::{self, ClientRow, ClientsView, FindingRow, KneeView, PercentileRow};
use crate::charts::{
    self, BalanceOf, CHARTS, ChartWidth, client_charts, columns_for, groups_chart, heat_chart,
    op_charts, overlay_chart, phases_chart, procs_chart, series_chart, waiting_chart,
};
use crate::composite::{ScriptRow, script_rows};
use crate::heritage::{self, HistoricalView};
use crate::options::{Edition, ReportOptions};
use crate::search::{self, SearchRow};
use crate::setup::{self, ParameterRow};
use crate::templates::{TemplateError, Templates};
use crate::view::{self, FindingView, PhaseRow, PointRow, PointView};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::plan::Target;
use filermark_model::text::one_line;
use filermark_results::figures::is_composite;
use filermark_results::{Historical, PointRecord, RunRecord, definition_fingerprint};
use serde::Serialize;
use std::collections::BTreeMap;

/// How the overall response time of a classical benchmark is computed.
const ORT_TERM: &str = "The area under the mean service time over the achieved rate, from the origin to the peak, divided by the peak.";
/// The same term for composites.
const COMPOSITE_ORT_TERM: &str = "The area under the mean service time over the achieved rate, from the first load point to the peak, divided by the distance between them.";

/// A chart in several widths, of which the page shows one.
#[derive(Serialize)]
pub struct Chart {
    wide: String,
    narrow: String,
}

impl Chart {
    /// Draws it for a wide screen, `wide`, and for a phone; `None`: there is nothing to draw.
    pub fn of(wide: ChartWidth, draw: impl Fn(ChartWidth) -> Option<String>) -> Option<Self> {
        Some(Self {
            wide: draw(wide)?,
            narrow: draw(ChartWidth::Narrow)?,
        })
    }
}

/// A chart of the small multiples.
#[derive(Serialize)]
struct Series {
    number: u32,
    load: String,
    verdict: &'static str,
    svg: String,
}

#[derive(Serialize)]
struct Page<'a> {
    suffix: String,
    title: String,
    benchmark: String,
    started: String,
    servers: Vec<String>,
    verdict: &'static str,
    verdict_class: &'static str,
    reasons: Vec<String>,
    search: Vec<SearchRow>,
    search_unit: String,
    cut: Option<String>,
    figures: Vec<view::Figure>,
    /// The older generation that the benchmark is modelled on.
    generation: Option<String>,
    heritage: Vec<(&'static str, String)>,
    /// The throughput at the response limit, in a sentence.
    classical: Option<String>,
    historical: Option<HistoricalView>,
    /// The charts of [`CHARTS`], by their names in the template.
    #[serde(flatten)]
    charts: BTreeMap<&'static str, Option<Chart>>,
    proc_means: Option<Chart>,
    waiting: Option<Chart>,
    knee: Option<KneeView>,
    percentile_heads: Vec<(String, &'static str)>,
    percentile_rows: Vec<PercentileRow>,
    heats: Vec<Series>,
    op_charts: Vec<(&'static str, String)>,
    client_charts: Vec<(&'static str, String)>,
    client_heads: &'a [(&'a str, &'a str)],
    /// Which of them the errors are, from 1.
    client_errors_column: usize,
    few_clients: Vec<ClientRow>,
    clients: Vec<ClientsView>,
    unit: Option<String>,
    point_heads: &'a [(&'a str, &'a str)],
    points: Vec<PointRow>,
    findings: Vec<FindingView>,
    reviewer: bool,
    all_findings: Vec<FindingRow>,
    finding_heads: &'a [(&'a str, &'a str)],
    peak_number: Option<u32>,
    groups: Option<Chart>,
    overlay: Option<Chart>,
    series: Vec<Series>,
    op_heads: &'a [(&'a str, &'a str)],
    details: Vec<PointView>,
    phases: Option<Chart>,
    phase_rows: Vec<PhaseRow>,
    events: Vec<(String, String, String)>,
    scripts: Vec<ScriptRow>,
    environments: Vec<Vec<(&'static str, String)>>,
    mount_word: &'static str,
    mounts: Vec<(String, Vec<(String, String)>)>,
    parameters: Vec<ParameterRow>,
    plan_rows: Vec<(&'static str, String)>,
    fingerprint: String,
    definition_fingerprint: u32,
    ort_term: &'static str,
    program: String,
    notice: &'static str,
}

/// The report, laid out by the template `report.html`.
///
/// # Errors
/// The template cannot be rendered: a defect if it is a shipped one; for a user's
/// template the message names the line.
pub fn html(record: &RunRecord, options: &ReportOptions<'_>) -> Result<String, TemplateError> {
    let page = page(record, options.edition, options.historical);
    options.templates.render("report.html", &page)
}

/// The sections of the report alone, for another page with the same style
/// sheet; `prefix` before all names keeps those of several records apart.
///
/// # Errors
/// As those of [`html()`].
pub fn record_sections(
    record: &RunRecord,
    templates: &Templates,
    edition: Edition,
    prefix: &str,
) -> Result<String, TemplateError> {
    let html = templates.render("record.html", &page(record, edition, None))?;
    Ok(match prefix {
        "" => html,
        _ => with_prefix(&html, prefix),
    })
}

/// Puts `prefix` before every name that our markup defines or refers to.
fn with_prefix(html: &str, prefix: &str) -> String {
    const MARKS: [&str; 3] = [" id=\"", " href=\"#", " aria-labelledby=\""];
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((at, mark)) = MARKS
        .iter()
        .filter_map(|mark| Some((rest.find(mark)?, *mark)))
        .min()
    {
        let (before, behind) = rest.split_at(at + mark.len());
        out.push_str(before);
        let (names, behind) = behind.split_once('"').unwrap_or((behind, ""));
        let names: Vec<String> = names.split(' ').map(|n| format!("{prefix}{n}")).collect();
        out.push_str(&names.join(" "));
        out.push('"');
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn page(record: &RunRecord, edition: Edition, historical: Option<&Historical>) -> Page<'static> {
    let clients = breakdown::clients_views(record);
    let reviewer = edition == Edition::Reviewer;
    let run = &record.run;
    let verdict = record.verdict();
    let peak = record.peak();
    let peak_stats = peak.and_then(|p| p.measured());
    let mut servers: Vec<String> = run
        .plan
        .clients
        .iter()
        .flat_map(|c| &c.mounts)
        .map(|m| one_line(&m.to_string()))
        .collect();
    servers.sort();
    servers.dedup();
    Page {
        suffix: one_line(&run.suffix),
        title: one_line(&run.plan.benchmark.title),
        benchmark: filermark_results::text::benchmark(&run.plan),
        started: run.started.readable(),
        servers,
        verdict: verdict.label(),
        verdict_class: match &verdict {
            v if !v.is_valid() => "invalid",
            v if v.is_qualified() => "qualified",
            _ => "valid",
        },
        reasons: view::reasons(record),
        search: search::rows(record),
        search_unit: search::unit(record),
        cut: record.cut.as_deref().map(one_line),
        figures: view::figures(record),
        generation: heritage::generation(record),
        heritage: heritage::rows(record),
        classical: heritage::result(record),
        historical: historical.map(HistoricalView::of),
        charts: CHARTS
            .iter()
            .map(|chart| drawn(record, chart, historical))
            .collect(),
        proc_means: Chart::of(ChartWidth::Half, |fit| {
            procs_chart(record, BalanceOf::Mean, fit)
        }),
        waiting: Chart::of(ChartWidth::Half, |fit| waiting_chart(record, fit)),
        knee: breakdown::knee_view(record),
        percentile_heads: breakdown::percentile_heads(),
        percentile_rows: breakdown::percentile_rows(record),
        heats: all_heats(record),
        op_charts: peak_stats.map_or(Vec::new(), |s| op_charts(record, s)),
        client_charts: client_charts(record),
        client_heads: &breakdown::CLIENT_HEADS,
        client_errors_column: breakdown::CLIENT_ERRORS_COLUMN,
        few_clients: breakdown::few_clients(&clients),
        clients,
        unit: crate::labels::unit(record),
        point_heads: view::point_heads(record),
        points: view::point_rows(record),
        findings: view::findings(record),
        reviewer,
        all_findings: match edition {
            Edition::Public => Vec::new(),
            Edition::Reviewer => breakdown::all_findings(record),
        },
        finding_heads: &breakdown::FINDING_HEADS,
        peak_number: peak.map(|p| p.load.number),
        groups: peak_stats.and_then(|s| Chart::of(ChartWidth::Half, |fit| groups_chart(s, fit))),
        overlay: peak_stats.and_then(|s| Chart::of(ChartWidth::Half, |fit| overlay_chart(s, fit))),
        series: all_series(record),
        op_heads: &view::OP_HEADS,
        details: view::point_views(record),
        phases: Chart::of(ChartWidth::Wide, |fit| phases_chart(record, fit)),
        phase_rows: view::phase_rows(record),
        events: record
            .events
            .iter()
            .map(|e| (e.at.readable(), one_line(&e.host), one_line(&e.message)))
            .collect(),
        scripts: script_rows(record),
        environments: record.environments.iter().map(|e| e.rows()).collect(),
        mount_word: match run.plan.driver.facts().target {
            Target::Mounted => "File system",
            _ => "Server",
        },
        mounts: setup::mount_rows(record),
        parameters: setup::parameter_rows(record),
        plan_rows: setup::plan_rows(record),
        fingerprint: one_line(&run.fingerprint),
        definition_fingerprint: definition_fingerprint(&run.plan.benchmark).1,
        ort_term: match is_composite(record) {
            false => ORT_TERM,
            true => COMPOSITE_ORT_TERM,
        },
        program: one_line(&format!("{} {}", run.program, run.version)),
        notice: NOT_A_SPEC_RESULT,
    }
}

/// A chart of the table in the form of the page.
fn drawn(
    record: &RunRecord,
    chart: &charts::Chart,
    historical: Option<&Historical>,
) -> (&'static str, Option<Chart>) {
    let drawn = Chart::of(chart.page_width, |fit| {
        (chart.draw)(record, fit, historical)
    });
    (chart.page_name, drawn)
}

fn all_series(record: &RunRecord) -> Vec<Series> {
    let of = |p| Some(of_point(record, p, series_chart(p)?));
    record.points.iter().filter_map(of).collect()
}

/// The heat maps of all load points; with more maps each has fewer columns.
fn all_heats(record: &RunRecord) -> Vec<Series> {
    let columns = columns_for(record.points.len());
    let of = |p| {
        Some(of_point(
            record,
            p,
            heat_chart(p, ChartWidth::Multiple, columns)?,
        ))
    };
    record.points.iter().filter_map(of).collect()
}

fn of_point(record: &RunRecord, point: &PointRecord, svg: String) -> Series {
    Series {
        svg,
        number: point.load.number,
        load: crate::labels::load(record, point.load),
        verdict: point.word(),
    }
}

/// Compares with a file of `tests/golden`, or makes it with `UPDATE_GOLDEN=1`.
#[cfg(test)]
pub(crate) fn golden(name: &str, text: &str) {
    filermark_results::testing::golden(env!("CARGO_MANIFEST_DIR"), name, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_records_are_kept_apart() {
        let record = filermark_results::testing::record();
        let templates = Templates::builtin();
        let bare = record_sections(&record, &templates, Edition::Public, "").unwrap();
        let second = record_sections(&record, &templates, Edition::Public, "r2-").unwrap();
        let names = |html: &str, mark: &str| -> Vec<String> {
            let pieces = html.split(mark).skip(1);
            let values = pieces.filter_map(|p| Some(p.split_once('"')?.0.to_owned()));
            values
                .flat_map(|v| v.split(' ').map(str::to_owned).collect::<Vec<_>>())
                .collect()
        };
        for mark in [" id=\"", " aria-labelledby=\""] {
            let (bare, second) = (names(&bare, mark), names(&second, mark));
            assert!(!bare.is_empty());
            let prefixed: Vec<String> = bare.iter().map(|n| format!("r2-{n}")).collect();
            assert_eq!(second, prefixed);
        }
        let ids = names(&second, " id=\"");
        assert!(
            names(&second, " aria-labelledby=\"")
                .iter()
                .all(|n| ids.contains(n))
        );
    }

    fn html(record: &RunRecord) -> Result<String, TemplateError> {
        html_with_historical(record, None)
    }

    fn html_with_historical(
        record: &RunRecord,
        historical: Option<&Historical>,
    ) -> Result<String, TemplateError> {
        let templates = Templates::builtin();
        let options = ReportOptions {
            historical,
            ..ReportOptions::new(&templates)
        };
        super::html(record, &options)
    }
    use filermark_results::testing;

    /// Every opened tag must be closed in order.
    fn assert_well_formed(page: &str) {
        const VOID: [&str; 3] = ["meta", "br", "!doctype"];
        let mut open: Vec<&str> = Vec::new();
        let body = page.split_once("</style>").expect("a style sheet").1;
        for piece in body.split('<').skip(1) {
            let (tag, _) = piece.split_once('>').expect("every tag is closed");
            let name = tag.split([' ', '/']).find(|w| !w.is_empty()).unwrap_or("");
            if tag.starts_with('/') {
                if name == "head" || name == "html" {
                    continue; // opened before the style sheet
                }
                assert_eq!(open.pop(), Some(name), "at <{tag}>");
            } else if !tag.ends_with('/') && !VOID.contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "left open: {open:?}");
    }

    #[test]
    fn operations_of_smb_have_their_names_in_the_order_of_the_table() {
        use filermark_model::Op;
        use filermark_model::benchmark::Protocol;
        for protocol in [Protocol::Smb1, Protocol::Smb2] {
            let page = html(&testing::smb::smb_record(protocol)).unwrap();
            assert_well_formed(&page);
            let mut rest = page.as_str();
            for op in Op::SMB {
                let row = format!("class=\"text\">{}</th>", protocol.op_name(*op));
                let (_, after) = rest.split_once(&row).expect(&row);
                rest = after;
            }
        }
    }

    #[test]
    fn the_page_is_whole_and_self_contained() {
        let page = html(&testing::record()).unwrap();
        assert_well_formed(&page);
        for foreign in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        for needed in [
            NOT_A_SPEC_RESULT,
            "INVALID",
            "10 of 12 load points count",
            "no space left (NFS3ERR_NOSPC)",
            "not standard: RUNTIME=30",
            "1,000",
            "Service time",
        ] {
            assert!(page.contains(needed), "{needed}");
        }
        assert_eq!(page.matches("id=\"point-").count(), 11);
        // Of two clients at the three load points with errors.
        assert_eq!(page.matches("class=\"bad\"").count(), 6);
    }

    #[test]
    fn pages_of_older_generations_name_them_and_mark_historical_systems() {
        let record = testing::heritage::heritage_record();
        let shipped = Historical::shipped().unwrap();
        let page = html_with_historical(&record, Some(&shipped)).unwrap();
        assert_well_formed(&page);
        for needed in [
            "After LADDIS, SFS 1.x (1993), NFS version 2. It is modelled on that generation",
            "<dt>Limits</dt><dd>mean service time of 50 ms at most; 5 MiB",
            "<dt>Result at the response limit</dt><dd><span class=\"value\">928</span>",
            "NFSv2 over UDP, one socket per proc",
            "class=\"result-mark\"",
            "Historical, not comparable",
            "Sun Enterprise 6000</th>",
            "Sun Enterprise 3000, v3",
        ] {
            assert!(page.contains(needed), "{needed}");
        }
        // Five systems, on a wide screen and on a phone; no line connects them.
        assert_eq!(page.matches("class=\"historical\"").count(), 10);
        let bare = html(&record).unwrap();
        assert!(!bare.contains("id=\"historical\"") && bare.contains("id=\"heritage\""));
        let mut general = testing::record();
        general.points.truncate(5);
        let general = html(&general).unwrap();
        assert!(!general.contains("id=\"heritage\""));
        assert!(general.contains("≥ "), "a lower bound");
    }

    #[test]
    fn hostile_historical_systems_are_never_markup() {
        let mut shipped = Historical::shipped().unwrap();
        for system in &mut shipped.systems {
            system.name = "<script>\u{1b}".into();
            system.generation = "<script> version <script>".into();
            system.source = "<script>".into();
            system.ops_per_sec = 1e12;
            system.ort_ms = 1e-9;
        }
        shipped.title = "<script>".into();
        shipped.note = "<script>".into();
        let record = testing::record();
        let page = html_with_historical(&record, Some(&shipped)).unwrap();
        assert_well_formed(&page);
        assert!(!page.contains("<script"));
        let templates = Templates::builtin();
        let options = ReportOptions {
            historical: Some(&shipped),
            ..ReportOptions::new(&templates)
        };
        let text = crate::text(&record, &options);
        assert!(text.unwrap().contains("HISTORICAL SYSTEMS"));
    }

    #[test]
    fn pages_of_composites_are_whole_too() {
        let page = html(&testing::composite::composite_record()).unwrap();
        assert_well_formed(&page);
        for needed in [
            ">BUILDs<",
            "999.6 op/s",
            "SWBUILD: 5 procs per BUILD of 100 op/s, each with 5000 files of 16 KiB per bucket",
            "Band 3",
            "<small>80µs</small>",
            "netmist_power.sh Baseline",
            "there is no such file",
            "17,187 MiB at the start",
            "from the first load point to the peak",
        ] {
            assert!(page.contains(needed), "{needed}");
        }
        let page = html(&testing::composite::stream_record()).unwrap();
        assert_well_formed(&page);
        assert_eq!(page.matches(">VDA2</th>").count(), 2);
    }

    #[test]
    fn hostile_composites_are_never_markup_and_never_panic() {
        let mut record = testing::composite::composite_record();
        let filermark_model::benchmark::Work::Composite(work) = &mut record.run.plan.benchmark.work
        else {
            panic!("the builds are a composite");
        };
        work.components[0].workload.name = "<script>".into();
        record.run.plan.benchmark.unit = "<script>".into();
        record.scripts[0].script = "<script>".into();
        record.scripts[1].output = "<script>\x1b\n".into();
        for point in &mut record.points {
            point.load.units = f64::NAN;
            point.load.proc_count = u32::MAX;
            if let Some(stats) = &mut point.stats {
                stats.components[0].component = 7;
                stats.components[0].wanted_count = u64::MAX;
                stats.window_ns = 0;
            }
        }
        let page = html(&record).unwrap();
        assert_well_formed(&page);
        assert!(!page.contains("<script"));
        crate::summary(&record, true, 0);
        crate::json_summary(&record);
    }

    #[test]
    fn every_identifier_is_the_only_one() {
        let page = html(&testing::record()).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for piece in page.split(" id=\"").skip(1) {
            let id = piece.split('"').next().unwrap();
            assert!(seen.insert(id), "twice: {id}");
        }
        assert!(seen.len() > 20);
    }

    #[test]
    fn text_of_the_record_is_never_markup() {
        let mut record = testing::record();
        record.run.suffix = "<script>alert('suffix')</script>".into();
        record.run.fingerprint = "\"><script>".into();
        record.run.version = "<script>".into();
        record.environments[0].host = "<script>".into();
        record.run.plan.benchmark.title = "<script>".into();
        let page = html(&record).unwrap();
        assert!(!page.contains("<script"));
        assert!(page.contains("script"));
        assert_well_formed(&page);
    }

    #[test]
    fn an_empty_or_cut_record_still_gives_a_page() {
        let mut record = testing::record();
        record.points.clear();
        record.phases.clear();
        record.environments.clear();
        record.events.clear();
        record.run.plan.parameters.clear();
        record.end = None;
        record.cut = Some("line 7 was cut".into());
        let page = html(&record).unwrap();
        assert_well_formed(&page);
        assert!(page.contains("line 7 was cut") && page.contains("INVALID"));
    }

    /// A record may come from anywhere: invalid figures must not panic.
    #[test]
    fn invalid_figures_still_give_a_page() {
        let mut record = testing::record();
        record.points.truncate(2);
        let changes: [fn(&mut filermark_results::PointRecord); 6] = [
            |p| p.load.requested.0 = 0.0,
            |p| p.load.requested.0 = 1e300,
            |p| p.load.number = u32::MAX,
            |p| stats(p).window_ns = 0,
            |p| stats(p).intervals[0].second = i64::MAX,
            |p| {
                let stats = stats(p);
                stats.ops.clear();
                stats.procs.clear();
                stats.intervals.truncate(1);
                stats.intervals[0].second = i64::MIN;
            },
        ];
        for change in changes {
            let mut record = record.clone();
            record.points.iter_mut().for_each(change);
            assert_well_formed(&html(&record).unwrap());
            crate::summary(&record, true, 0);
            crate::json_summary(&record);
        }
    }

    fn stats(point: &mut filermark_results::PointRecord) -> &mut filermark_model::PointStats {
        point.stats.as_mut().unwrap()
    }
}
