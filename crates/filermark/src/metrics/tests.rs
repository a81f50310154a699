//! The text of the metrics, from events.

use super::families::{FAMILIES, Kind};
use super::text::{Format, text};
use super::totals::Totals;
use crate::events::read_line;

/// Events of a run, as they are written.
const EVENTS: &str = include_str!("tests/events.jsonl");

fn totals() -> Totals {
    let mut totals = Totals::default();
    for line in EVENTS.lines() {
        let line = read_line(line).unwrap_or_else(|| panic!("no event: {line}"));
        totals.receive(&line.event);
    }
    totals
}

#[test]
fn events_become_counters_gauges_and_histograms() {
    let text = text(&totals(), Format::OpenMetrics);
    for wanted in [
        "# TYPE filermark_operations counter\nfilermark_operations_total 150\n",
        "filermark_errors_total 1\n",
        "# UNIT filermark_read_bytes bytes\nfilermark_read_bytes_total 6000\n",
        "filermark_run_info{suffix=\"a\\\"b\",benchmark=\"general-nfs3\",fingerprint=\"00\"} 1\n",
        "filermark_phase{phase=\"RUN\"} 1\n",
        "filermark_phase{phase=\"INIT\"} 0\n",
        "filermark_load_point 2\n",
        "filermark_load_points_ended_total{verdict=\"VALID, CACHED\"} 1\n",
        "filermark_clients_lost 1\n",
        "filermark_point_operations_total{operation=\"read\"} 90\n",
        "filermark_point_errors_total{operation=\"read\"} 1\n",
        "filermark_service_time_seconds_bucket{le=\"0.000002\"} 50\n",
        "filermark_service_time_seconds_bucket{le=\"0.000004\"} 150\n",
        "filermark_service_time_seconds_bucket{le=\"8.388608\"} 150\n",
        "filermark_service_time_seconds_bucket{le=\"+Inf\"} 150\n",
        "filermark_service_time_seconds_count 150\n",
        "filermark_service_time_seconds_sum 0.3\n",
        "# TYPE filermark_response_time_seconds histogram\n# UNIT filermark_response_time_seconds seconds\n",
        "filermark_response_time_seconds_bucket{group=\"reads\",le=\"0.00005\"} 0\n",
        "filermark_response_time_seconds_bucket{group=\"reads\",le=\"0.001\"} 30\n",
        "filermark_response_time_seconds_bucket{group=\"reads\",le=\"0.002\"} 119\n",
        "filermark_response_time_seconds_bucket{group=\"reads\",le=\"60.0\"} 139\n",
        "filermark_response_time_seconds_bucket{group=\"reads\",le=\"+Inf\"} 140\n",
        "filermark_response_time_seconds_count{group=\"reads\"} 140\n",
        "filermark_response_time_seconds_sum{group=\"reads\"} 0.35\n",
        "filermark_response_time_seconds_count{group=\"writes\"} 10\n",
        "filermark_response_time_seconds_count{group=\"lookups\"} 0\n",
        "filermark_start_delay_seconds 0.001\n",
        "filermark_requested_ops_per_second 200\n",
        "filermark_achieved_ops_per_second 50\n",
        "filermark_open_operations 3\n",
        "filermark_oldest_open_operation_seconds 1.5\n",
        "filermark_point_backlog_max 7\n",
        "filermark_point_lateness_p99_seconds 0.002\n",
        "filermark_objects_made_total 12\n",
        "filermark_power_watts{of=\"storage\"} 120.5\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    // Before the end there is no exit code.
    assert!(!text.contains("filermark_exit_code"), "{text}");
}

/// With KEEP no CLEANUP follows the last load point.
#[test]
fn after_its_end_a_load_point_is_not_the_present_one() {
    let mut totals = totals();
    let mut receive = |rest: &str| {
        let line = format!(r#"{{"at":"x","seq":12,{rest}}}"#);
        totals.receive(&read_line(&line).expect("an event").event);
        text(&totals, Format::OpenMetrics)
    };
    let run = r#""type":"phase_began","point":2,"phase":"RUN""#;
    for end in [
        r#""type":"point_ended","point":2,"name":"n","verdict":"FAILED","findings":[]"#,
        r#""type":"run_ended","outcome":"failed","exit_code":1,"wall_seconds":1.0"#,
    ] {
        let present = receive(run);
        assert!(present.contains("filermark_load_point 2\n"), "{present}");
        let text = receive(end);
        assert!(text.contains("filermark_load_point 0\n"), "{text}");
        assert!(text.contains("filermark_phase{phase=\"RUN\"} 0\n"));
        assert!(!text.contains("\nfilermark_requested_ops_per_second "));
    }
}

#[test]
fn a_step_of_a_search_is_no_load_point() {
    let mut totals = totals();
    let mut receive = |rest: &str| {
        let line = format!(r#"{{"at":"x","seq":12,{rest}}}"#);
        totals.receive(&read_line(&line).expect("an event").event);
        text(&totals, Format::OpenMetrics)
    };
    let step = receive(
        r#""type":"phase_began","point":10003,"phase":"RUN","search_step":3,"requested_ops_per_sec":40.0"#,
    );
    for wanted in [
        "filermark_load_point 0\n",
        "filermark_search_step 3\n",
        "filermark_requested_ops_per_second 40\n",
    ] {
        assert!(step.contains(wanted), "{wanted}\n{step}");
    }
    let planned = receive(r#""type":"points_planned","points":[]"#);
    assert!(planned.contains("filermark_search_step 0\n"), "{planned}");
    assert!(!planned.contains("filermark_requested_ops_per_second 40"));
}

#[test]
fn the_text_of_prometheus_has_the_names_of_the_samples() {
    let text = text(&totals(), Format::Prometheus);
    assert!(
        text.contains("# TYPE filermark_operations_total counter\n"),
        "{text}"
    );
    assert!(
        !text.contains("# EOF") && !text.contains("# UNIT"),
        "{text}"
    );
    let wanted = |accept| Format::for_accept(accept);
    assert_eq!(wanted(""), Format::OpenMetrics);
    assert_eq!(wanted("*/*"), Format::OpenMetrics);
    let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    assert_eq!(wanted(prometheus), Format::OpenMetrics);
    assert_eq!(wanted("text/plain"), Format::Prometheus);
}

#[test]
fn names_have_units_at_their_end_and_the_page_lists_all() {
    const PAGE: &str = include_str!("../../../../docs/src/howto/metrics.md");
    for family in FAMILIES {
        assert!(family.name.ends_with(family.unit), "{}", family.name);
        assert!(!family.name.ends_with("_total"), "{}", family.name);
        let (ending, kind) = match family.kind {
            Kind::Counter => ("_total", "counter"),
            Kind::Gauge => ("", "gauge"),
            Kind::Histogram => ("", "histogram"),
        };
        let row = format!("| `{}{ending}` | {kind} | {} |", family.name, family.help);
        assert!(
            PAGE.lines().any(|line| line == row),
            "the page lacks: {row}"
        );
    }
    let (_, table) = PAGE.split_once("## Metrics").expect("the table");
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| `filermark_"));
    assert_eq!(rows.count(), FAMILIES.len());
}
