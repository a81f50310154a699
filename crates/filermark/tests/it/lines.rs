//! What a run prints on stderr: a line per second (`--lines`), or nothing (`--quiet`).

use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use filermark_server::{Server, ServerOptions};

#[test]
fn each_second_has_one_readable_line() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("a server");
    let ended = Sweep::on(&server).set("RUNTIME", 3).arg("--lines").run();
    ended.assert_sanitized();
    let seconds: Vec<_> = ended
        .stderr
        .lines()
        .filter(|l| l.contains(" of 0:03: "))
        .collect();
    assert_eq!(seconds.len(), 3, "{}", ended.stderr);
    for line in seconds {
        assert!(line.starts_with("[1/1] 100 op/s RUN 0:0"), "{line}");
    }
    assert!(
        ended.stderr.contains("[1/1] 100 op/s INIT 0:0"),
        "{}",
        ended.stderr
    );
}

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
