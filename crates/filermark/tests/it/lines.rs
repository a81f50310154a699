//! What a run prints on stderr: a line per second (`--lines`), nothing (`--quiet`), or the console
//! output of 2014.

use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use filermark_server::{Server, ServerOptions};

#[test]
fn a_quiet_run_prints_its_results_and_nothing_else() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("a server");
    let ended = Sweep::on(&server).arg("-q").run();
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.contains("achieved"), "{}", ended.stdout);
}

#[test]
fn a_quiet_run_prints_its_error() {
    let ended = Sweep::bare()
        .command("run")
        .arg("-q")
        .set("MNT_POINTS", "127.0.0.1:/export")
        .set("NFS_PORT", 1)
        .set("MOUNT_PORT", 1)
        .set("PROCS", 1)
        .set("LOAD", 10)
        .set("RUNTIME", 1)
        .run();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("filermark: "), "{}", ended.stderr);
}

#[test]
fn lines_and_quiet_exclude_each_other() {
    let ended = Sweep::bare().command("run").arg("-q").arg("--lines").run();
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("cannot be used with"),
        "{}",
        ended.stderr
    );
}

#[test]
fn slow_lines_print_one_line_for_each_second() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("a server");
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
        assert!(line.starts_with("[1/1] 48"), "{line}");
        assert!(line.chars().count() <= 100, "{line}");
    }
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
