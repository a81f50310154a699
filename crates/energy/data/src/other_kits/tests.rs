use super::*;
use filermark_results::testing::composite::{composite_record, stream_record};
use filermark_results::{parse_sfssum, sfslog_txt::sfslog_txt, sfssum_txt::sfssum_txt};
use proptest::prelude::*;

/// The console output of the training (slides E), split into lines again, with the line that
/// begins a load point from sources.md 3.10.
const TRAINING: &str = include_str!("../../tests/fixtures/sfslog-training.txt");

fn read(text: &str, zone: &str) -> Result<MergedRun, OtherKitError> {
    let zone = Some(zone.parse().expect("a zone"));
    read_sfslog(Path::new("sfslog.txt"), text.as_bytes(), zone, "x")
}

fn times(point: &MergedPoint) -> Vec<String> {
    let one = |begin: &PhaseBegin| format!("{} {}", begin.phase, &begin.at.to_string()[11..19]);
    point.phases.iter().map(one).collect()
}

#[test]
fn the_trainings_log() {
    assert!(looks_like_sfslog(TRAINING.as_bytes()));
    let run = read(TRAINING, "America/Denver").expect("a log");
    assert_eq!(
        (run.benchmark.as_str(), run.load_unit.as_str()),
        ("swbuild", "BUILDS")
    );
    assert_eq!(run.points.len(), 1);
    let point = &run.points[0];
    assert_eq!(
        times(point),
        [
            "PRE 19:53:19",
            "INIT 19:53:28",
            "WARMUP 19:57:14",
            "RUN 20:02:14",
            "RUN_TAIL 20:06:45",
            "POST 20:07:14"
        ]
    );
    let (from, to) = point.measured().expect("it ran");
    assert_eq!(to.seconds_since(from), 300.0);
    assert_eq!(point.achieved_ops_per_s, Some(1000.032));
    assert_eq!(point.latency_ms_mean, Some(2.021));
    assert_eq!(point.client_mib_per_s, Some(8948.973 / 1024.0));
    assert_eq!((point.load, point.valid), (Some(2.0), None));
}

#[test]
fn a_console_log_without_its_beginning_begins_with_its_tests() {
    let cut = TRAINING.split_once(">>>").expect("there").1;
    let run = read(cut, "UTC").expect("a log");
    assert_eq!((run.benchmark.as_str(), run.points.len()), ("swbuild", 1));
    assert_eq!(times(&run.points[0])[0], "PRE 12:53:19");
}

/// Logs of Filermark are read with the same figures and all phases of all points.
#[test]
fn our_own_logs_are_read_back() {
    for record in [stream_record(), composite_record()] {
        let text = sfslog_txt(&record);
        assert!(looks_like_sfslog(text.as_bytes()));
        let mut run = read(&text, "UTC").expect("our log");
        let ended: Vec<_> = record
            .points
            .iter()
            .filter(|p| p.measured().is_some())
            .collect();
        assert!(run.points.len() >= ended.len() && !ended.is_empty());
        for ours in ended {
            let point = &run.points[ours.load.number as usize - 1];
            let achieved = ours.measured().expect("measured").achieved_ops_per_sec();
            assert!((point.achieved_ops_per_s.expect("a rate") - achieved).abs() < 0.001);
            assert_eq!(point.valid, Some(ours.is_valid()));
            assert!(point.measured().is_some(), "{point:?}");
        }
        let summary = parse_sfssum(&sfssum_txt(&record)).expect("our summary");
        let before = run.clone();
        add_sfssum(&mut run, &summary).expect("they belong together");
        for (a, b) in before.points.iter().zip(&run.points) {
            assert_eq!((a.valid, a.phases.len()), (b.valid, b.phases.len()));
        }
    }
}

#[test]
fn a_summary_adds_loads_and_verdicts() {
    let row = |achieved: &str, end: &str| {
        format!(
            "4 400.00 {achieved} 2.021 8948.973 7119.807 1829.166 300 4 62 3424 1 1 1 1 SWBUILD{end}\n"
        )
    };
    let mut run = read(&TRAINING.replace("BUILDS=2", ""), "UTC").expect("a log");
    assert_eq!((run.points[0].load, run.points[0].valid), (None, None));
    let summary = parse_sfssum(&row("1000.032", "")).expect("a row");
    add_sfssum(&mut run, &summary).expect("the same");
    assert_eq!(
        (run.points[0].load, run.points[0].valid),
        (Some(4.0), Some(true))
    );
    let summary = parse_sfssum(&row("1000.032", " INVALID_RUN")).expect("a row");
    add_sfssum(&mut run, &summary).expect("the same");
    assert_eq!(run.points[0].valid, Some(false));
    let other = parse_sfssum(&row("999.0", "")).expect("a row");
    let error = add_sfssum(&mut run, &other).expect_err("another run");
    assert!(error.to_string().contains("do not agree"), "{error}");
    assert_eq!(sfssum_names("sfslog.vda.txt"), ["sfssum.vda.txt"]);
    assert_eq!(
        sfssum_names("sfslog_vda.log"),
        ["sfssum_vda.txt", "sfssum_vda.log"]
    );
    assert!(sfssum_names("console.txt").is_empty());
}

#[test]
fn truncated_and_invalid_logs_are_reported_with_their_line() {
    // A log that ends in RUN has a load point without an end.
    let cut = TRAINING.split_once("Tests finished").expect("there").0;
    let run = read(cut, "UTC").expect("a cut log");
    assert_eq!((run.points.len(), run.points[0].run_ended), (1, None));
    let back = TRAINING.replace("13:02:14 2018 Starting RUN", "12:02:14 2018 Starting RUN");
    let no_time = TRAINING.replace("<<< Wed Feb 28 12:53:19 2018", "<<< (null)");
    let two =
        format!("{TRAINING}<<< Thu Mar 1 10:00:00 2018: Starting VDA run 1 of 1: STREAMS=2 >>>\n");
    let gap = TRAINING.replace("Wed Feb 28 12:", "Sun Mar 11 02:");
    for (text, what) in [
        (back.as_str(), "the time goes back"),
        (&no_time, "without its time"),
        (&two, "two benchmarks"),
        (&gap, "does not exist"),
        (
            "Tests finished: Wed Feb 28 12:53:19 2018\n",
            "before any load point",
        ),
        ("hello\n", "not a log of a run"),
        ("", "not a log of a run"),
        (&"x".repeat(LINE_LEN_MAX + 1), "longer than"),
    ] {
        let error = read(text, "America/Denver").expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    }
    let error = read_sfslog(Path::new("l"), TRAINING.as_bytes(), None, "x").expect_err("no zone");
    assert!(error.to_string().contains("--zone"), "{error}");
    let valid = TRAINING.replace("Public Finger Print", "INVALID_RUN");
    assert_eq!(
        read(&valid, "UTC").expect("a log").points[0].valid,
        Some(false)
    );
    for other in [
        "{\"type\":\"run\"}\n",
        "CNTR,10.0.0.248,2018\n",
        "Store No.,Date\n",
        "",
    ] {
        assert!(!looks_like_sfslog(other.as_bytes()), "{other}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        lines in prop::collection::vec((0..9_usize, "\\PC{0,30}"), 0..30)
    ) {
        const BEGIN: [&str; 9] = [
            "<<< ", "Starting tests: ", "Waiting to finish initialization. ", "Tests finished: ",
            "Overall ", "<<< Wed Feb 28 12:53:19 2018: Starting ", "Wed Feb 28 12:53:19 2018 Starting RUN phase",
            "Wed Feb 28 12:53:20 2018 Run 90 percent complete", "",
        ];
        let text: String = lines.iter().map(|(n, rest)| format!("{}{rest}\n", BEGIN[*n])).collect();
        let _ = looks_like_sfslog(text.as_bytes());
        let _ = read(&text, "UTC");
    }
}
