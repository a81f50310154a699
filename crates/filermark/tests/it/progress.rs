//! How progress is shown without a terminal: a line per event, a line per second, or none; and
//! the console output of 2014 only on request.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_server::ServerOptions;

#[test]
fn slow_lines_print_one_line_for_each_second() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", 50)
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 4);
    let ended = sweep.arg("--lines").succeed();
    let lines = ended.stderr.lines();
    // The last second of WARMUP may be reported in RUN.
    let loaded = lines.filter(|line| line.contains(" of 48 op/s, "));
    let loaded: Vec<&str> = loaded.collect();
    assert_eq!(loaded.len(), 5, "{}", ended.stderr);
    for line in loaded {
        assert!(line.starts_with("[1/1] 48 op/s "), "{line}");
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn quiet_prints_results_and_no_progress() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let ended = Sweep::on(&server).set("LOAD", 50).arg("-q").succeed();
    assert!(
        ended.stdout.contains("not a SPEC result"),
        "{}",
        ended.stdout
    );
    for word in [
        "INIT", "RUN\n", "point  1", "record:", "report:", "files in",
    ] {
        assert!(!ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
    let failed = Sweep::bare().set("LOAD", 50).arg("-q").fail(2);
    assert!(
        failed.stderr.contains("PROCS is not set"),
        "{}",
        failed.stderr
    );
    let both = Sweep::on(&server).arg("-q").arg("--lines").fail(2);
    assert!(
        both.stderr.contains("cannot be used with"),
        "{}",
        both.stderr
    );
}

#[test]
fn the_console_of_2014_is_printed_only_on_request() {
    let _turn = beside_others();
    let sweep = Sweep::small_composite("METADATA");
    let data = sweep.dir().join("data");
    std::fs::create_dir(&data).expect("a directory");
    let sweep = sweep.set(
        "CLIENT_MOUNTPOINTS",
        format!("localhost:{}", data.display()),
    );
    let ended = sweep.succeed();
    assert!(ended.stderr.contains("[1/1] max RUN\n"), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("percent complete"),
        "{}",
        ended.stderr
    );
    // The file of the results has it in any case.
    let log = ended.path("sfslog.s.txt");
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains("Overall average latency"), "{log}");
    let asked = sweep.suffix("t").args("--console 2014").succeed();
    let text = &asked.stderr;
    assert!(text.contains("Run 100 percent complete"), "{text}");
    assert!(!text.contains("[1/1] max RUN\n"), "{text}");
}
