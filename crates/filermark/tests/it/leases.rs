//! Two runs of one suffix: the second is refused with the process, host and time of the first, also
//! from other result directories, other hosts and over other protocols; the directory of an ended
//! run is taken over.

use crate::foreign_files::{mount_space, seen_inside};
use crate::load_guard::beside_others;
use crate::second_client::{assert_empty, serve};
use crate::smb::ProtocolCase;
use crate::sweep::{Ended, Started, Sweep};
use filermark_model::Rule;
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, Samba, SambaOptions, available};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Runs a program as on another host: with its own process numbers and host name.
const ELSEWHERE: [&str; 8] = [
    "unshare",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "--uts",
    "sh",
    "-c",
];
const RENAMED: [&str; 2] = ["hostname frog && exec \"$@\"", "sh"];

fn on_another_host(sweep: &Sweep) -> Sweep {
    sweep
        .elsewhere()
        .through(ELSEWHERE.into_iter().chain(RENAMED))
}

fn suffix(of: &str) -> String {
    format!("lease-{of}-{}", std::process::id())
}

/// A run in RUN, which goes on until it is ended.
fn under_way(sweep: &Sweep) -> Started {
    let mut started = sweep.clone().set("RUNTIME", 300).start();
    started.wait_for("op/s RUN");
    started
}

#[track_caller]
fn assert_refused(ended: &Ended, host: &str) {
    let host = format!("on host {host}, since 20");
    ended.assert_sentence(&[
        "in use by run",
        "(process ",
        &host,
        "UTC",
        "another suffix (-s)",
    ]);
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.expect("a name").trim().to_owned()
}

#[test]
fn a_second_run_is_refused_here_and_on_another_host() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).suffix(&suffix("both"));
    let first = under_way(&sweep);
    // With another result directory.
    let kept = sweep.elsewhere().set("KEEP", "on").fail(1);
    assert_refused(&kept, &host_name());
    // The file set belongs to the first run: the message has no command that removes it.
    let end = kept.record().end.expect("an end");
    let warnings = end.findings.iter().find(|f| f.rule == Rule::LeftBehind);
    assert!(warnings.is_none(), "{warnings:?}");
    let output_text = format!("{}{}", kept.stdout, kept.stderr);
    assert!(!output_text.contains("filermark stop"), "{output_text}");
    let other = on_another_host(&sweep).fail(1);
    assert_refused(&other, &host_name());
    let waits = "its heartbeat is watched for 25 s";
    assert!(other.stderr.contains(waits), "{}", other.stderr);
    first.signal(Signal::INT);
    assert_eq!(first.wait().code, 130, "it was not disturbed");
    assert_empty(&server);
}

#[test]
fn slow_the_directory_of_a_run_that_died_on_another_host_is_taken_over() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).suffix(&suffix("died"));
    let first = under_way(&on_another_host(&sweep));
    // All processes of that host are killed.
    first.signal(Signal::KILL);
    first.wait();
    let next = sweep.succeed();
    for part in [
        "on host frog, since 20",
        "watched for 25 s",
        "leftovers of an earlier run",
    ] {
        assert!(next.stderr.contains(part), "{part} in {}", next.stderr);
    }
    assert_empty(&server);
}

#[test]
fn runs_over_nfs_and_smb_meet_in_one_directory() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let sandbox = ganesha.sandbox();
    let Some(samba) = available(Samba::start_in(sandbox, SambaOptions::default())) else {
        return;
    };
    // The share is the exported directory.
    let exported = ganesha.files().expect("a directory");
    std::fs::set_permissions(&exported, std::fs::Permissions::from_mode(0o777)).expect("chmod");
    let bound = Command::new("nsenter")
        .arg(format!(
            "--mount={}",
            mount_space("smbd", sandbox).display()
        ))
        .args(["--", "mount", "--bind"])
        .args([
            seen_inside(&exported),
            seen_inside(&samba.files(Samba::DATA)),
        ])
        .output()
        .expect("nsenter");
    assert!(bound.status.success(), "{bound:?}");
    let suffix = suffix("smb");
    let nfs = Sweep::inside(sandbox, ganesha.export()).suffix(&suffix);
    let smb = crate::smb::sweep(&samba, Samba::DATA, ProtocolCase::Smb311).suffix(&suffix);
    let ours = exported.join(format!("filermark.{suffix}"));

    let first = under_way(&nfs);
    assert_refused(&smb.elsewhere().fail(1), &host_name());
    first.signal(Signal::INT);
    assert_eq!(first.wait().code, 130);
    assert!(!ours.exists());

    let first = under_way(&smb);
    assert_refused(&nfs.elsewhere().fail(1), &host_name());
    first.signal(Signal::INT);
    assert_eq!(first.wait().code, 130);
    assert!(!ours.exists());
}
