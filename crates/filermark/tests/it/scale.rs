//! Ten thousand procs on one machine.

use crate::load_guard::{alone, when_quiet};
use crate::sweep::{Started, Sweep};
use rustix::process::Signal;

/// The most memory that a process ever had, in bytes.
fn memory_max(process: &Started) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Runs this number of procs at low load against a server that answers at once; returns the
/// program's peak memory.
fn memory_of(procs: u32, port: u16) -> Result<u64, String> {
    let sweep = Sweep::at(([127, 0, 0, 1], port).into())
        .set("PROCS", procs)
        .set("LOAD", 10_000)
        .set("RUNTIME", 2)
        .set("WARMUP_TIME", 1)
        .set("FILESET_MB_PER_OP", 0.001)
        .set("DIR_COUNT", 1)
        .set("FILE_COUNT", 1)
        .set("SYMLINK_COUNT", 1);
    let mut most = 0;
    let ended = sweep
        .start()
        .wait_watching(|started| most = memory_max(started).max(most));
    assert!(ended.is_complete(), "{}", ended.stderr);
    let point = ended.point(1);
    let stats = point.measured().expect("measured");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    assert_eq!(stats.procs.len(), procs as usize);
    let achieved = stats.achieved_ops_per_sec();
    println!(
        "{procs} procs: {achieved:.0} op/s, {:.1} MiB",
        most as f64 / f64::from(1 << 20)
    );
    match achieved > 9_000.0 {
        true => Ok(most),
        false => Err(format!("{achieved} op/s of 10,000")),
    }
}

#[test]
fn alone_ten_thousand_procs_take_little_memory() {
    let _turn = alone();
    // Both ends of 10,000 connections may exceed the open files of one process.
    let serve = Sweep::bare()
        .command("serve")
        .arg("--null")
        .arg("--listen")
        .arg("127.0.0.1:0");
    let mut server = serve.start();
    server.wait_for("mount -t nfs");
    let output_text = server.stderr();
    let port = output_text
        .split("port=")
        .nth(1)
        .and_then(|rest| rest.split(',').next()?.parse().ok());
    let port = port.expect("a port");
    when_quiet(|| {
        let (few, many) = (memory_of(100, port)?, memory_of(10_000, port)?);
        let each = many.saturating_sub(few) / 9_900;
        println!("{} KiB per proc", each as f64 / 1024.0);
        assert!(each <= 64 << 10, "{each} bytes per proc");
        Ok(())
    });
    server.signal(Signal::INT);
    assert_eq!(server.wait().code, 0);
}
