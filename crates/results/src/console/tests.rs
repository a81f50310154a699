use super::*;
use crate::testing::composite::{composite_record, stream_record};

/// The text's lines, blanks squeezed.
fn squeezed(text: &str) -> Vec<String> {
    text.lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn at() -> Timestamp {
    Timestamp::from_unix_seconds(1_519_822_399.0)
}

/// Slides E, SWBUILD with LOAD 2: two clients of 1g and 10 procs.
#[test]
fn the_plan_block_gives_the_seeds_figures() {
    let record = composite_record();
    let plan = &record.run.plan;
    let text = plan_block(plan, plan.points[1], &[], Some("/results\x1b[2J"));
    assert_eq!(
        squeezed(&text),
        [
            "Test run time = 30 seconds, Warmup = 10 seconds.",
            "Request Op_rate = 1000 ops/second",
            "Running 10 copies of the test on 2 clients",
            "Results directory: /results\u{fffd}[2J",
            "Clients have a total of 2048 MiBytes of memory",
            "Clients have 204 MiBytes of memory size per process",
            "Clients each have 5 processes",
            "Adjustable aggregate data set value set to 1024 MiBytes",
            "Each process file size = 16 kbytes",
            "Client data set size = 4296 MiBytes",
            "Total starting data set size = 8593 MiBytes",
            "Total initial file space = 8593 MiBytes",
            "Total max file space = 9375 MiBytes",
        ]
    );
}

#[test]
fn memory_comes_from_the_hosts_without_a_parameter() {
    let mut record = composite_record();
    record.run.plan.parameters.clear();
    let plan = &record.run.plan;
    let text = plan_block(plan, plan.points[0], &record.environments, None);
    assert!(text.contains("a total of 32768 MiBytes"), "{text}");
    let text = plan_block(plan, plan.points[0], &[], None);
    assert!(!text.contains("memory") && !text.contains("Adjustable"));
    record.run.plan.points[0].requested.0 = 0.0;
    let plan = &record.run.plan;
    assert!(!plan_block(plan, plan.points[0], &[], None).contains("Op_rate"));
}

#[test]
fn sizes_read_as_netmist_writes_them() {
    let mut record = composite_record();
    let mut bytes = |value: &str| {
        record.run.plan.parameters = vec![("CLIENT_MEM".into(), value.into())];
        parameter_bytes(&record.run.plan, "CLIENT_MEM")
    };
    assert_eq!(bytes("1g"), Some(1 << 30));
    assert_eq!(bytes("512M"), Some(512 << 20));
    assert_eq!(bytes(" 2t "), Some(2 << 40));
    assert_eq!(bytes("64MiB"), Some(64 << 20));
    for bad in ["", "64", "g", "1x", "-1g", "9999999999g", "1 ü"] {
        assert_eq!(bytes(bad), None, "{bad}");
    }
}

#[test]
fn procs_are_listed_with_host_workload_and_path() {
    let record = stream_record();
    let plan = &record.run.plan;
    let lines = squeezed(&launching(plan, plan.points[0]));
    assert_eq!(lines.len(), 19);
    assert_eq!(lines[0], "Launching 18 processes.");
    assert_eq!(
        lines[2],
        "Starting test client: 1 Host: node1 Workload: VDA2 Location: /mnt/test"
    );
}

#[test]
fn the_lines_of_the_phases_are_the_seeds() {
    let record = stream_record();
    let plan = &record.run.plan;
    assert_eq!(
        new_load_point(at(), plan, plan.points[1]),
        "<<< Wed Feb 28 12:53:19 2018: Starting VDA run 2 of 2: STREAMs=18 >>>\n"
    );
    let texts = [
        starting_tests(at()),
        waiting_for_init(at()),
        init_finished(at()),
        phase_begins(at(), Phase::Warmup),
        phase_begins(at(), Phase::Run),
        percent_complete(at(), Phase::Warmup, 10, 9),
        percent_complete(at(), Phase::Run, 90, 9),
        heartbeat(at(), Phase::Run, 9, 99.905),
        tests_finished(at()),
        phase_begins(at(), Phase::Init),
    ];
    let lines: Vec<String> = texts.iter().flat_map(|t| squeezed(t)).collect();
    assert_eq!(
        lines,
        [
            "Starting tests: Wed Feb 28 12:53:19 2018",
            "Waiting to finish initialization. Wed Feb 28 12:53:19 2018",
            "Initialization finished: Wed Feb 28 12:53:19 2018",
            "Wed Feb 28 12:53:19 2018 Starting WARM phase",
            "Wed Feb 28 12:53:19 2018 Starting RUN phase",
            "Wed Feb 28 12:53:19 2018 Warm-up 10 percent complete from client 9",
            "Wed Feb 28 12:53:19 2018 Run 90 percent complete from client 9",
            "Wed Feb 28 12:53:19 2018 Run Heartbeat Client 9: 99.905 Ops/sec",
            "Tests finished: Wed Feb 28 12:53:19 2018",
        ]
    );
}

#[test]
fn consoles_show_the_last_procs_heartbeat_and_logs_all() {
    let record = stream_record();
    let beat = &record.heartbeats[0];
    assert_eq!(all_heartbeats(beat).lines().count(), 18);
    let last = last_heartbeat(beat);
    assert!(last.contains("Warm-up Heartbeat Client 17: "), "{last}");
    assert!(all_heartbeats(beat).ends_with(&last));
    let none = Heartbeat {
        ops_per_sec: Vec::new(),
        ..beat.clone()
    };
    assert_eq!(last_heartbeat(&none), "");
}

#[test]
fn the_overall_block_adds_up() {
    let record = stream_record();
    let stats = record.points[0].measured().unwrap();
    let text = overall_block(&record.run.plan.benchmark, stats);
    let figure = |what: &str| -> f64 {
        let line = text.lines().find(|l| l.contains(what)).unwrap();
        let mut words = line.split_whitespace().rev();
        words.nth(1).unwrap().parse().unwrap()
    };
    let (read, write) = (figure("Read throughput"), figure("Write throughput"));
    assert!((figure("Overall throughput") - read - write).abs() < 0.002);
    assert!((figure("Overall Ops/sec") / 90.0 - 1.0).abs() < 0.01);
    let print = short_fingerprint(&record.run.plan.benchmark);
    let line = format!("Public Finger Print {print}");
    assert!(squeezed(&text).contains(&line), "{text}");
    assert_eq!(text.lines().filter(|l| l.contains("Band ")).count(), 9);
}
