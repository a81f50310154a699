//! `validate`, against the embedded server and those that nobody here wrote.

use crate::peek::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use crate::turns::beside_others;
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, KernelServer, Sandbox, available};
use serde_json::Value;
use std::collections::BTreeSet;

/// The checks of the one mount point that have this verdict.
fn with_verdict<'j>(json: &'j Value, verdict: &str) -> Vec<&'j Value> {
    let checks = json["mounts"][0]["checks"].as_array().expect("checks");
    checks.iter().filter(|c| c["verdict"] == verdict).collect()
}

/// Prints what a server did not pass or was not asked, for who reads the log.
fn show(name: &str, json: &Value) {
    println!("{name}: {} passed", with_verdict(json, "pass").len());
    for check in with_verdict(json, "fail")
        .iter()
        .chain(&with_verdict(json, "skipped"))
    {
        println!(
            "{name}: {} {} {}: {}",
            check["verdict"], check["procedure"], check["title"], check["detail"]
        );
    }
}

fn level_2(sweep: Sweep) -> Ended {
    sweep.command("validate").arg("--json").run()
}

#[test]
fn the_embedded_server_passes_and_is_left_as_it_was() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let ended = level_2(Sweep::on(&server));
    let json = ended.json();
    show("embedded", &json);
    assert!(ended.is_complete(), "{}", ended.stderr);
    assert!(with_verdict(&json, "fail").is_empty());
    assert!(
        with_verdict(&json, "pass").len() >= 22,
        "one per procedure at least"
    );
    assert!(ended.file("sfsval").contains("127.0.0.1:/export"));
    let asked = server.stats().nfs;
    assert!(
        asked.iter().all(|count| *count > 0),
        "a procedure was not tried: {asked:?}"
    );
    assert_empty(&server);
}

#[test]
fn the_first_failure_ends_level_1_and_both_have_exit_code_1() {
    let _turn = beside_others();
    let errors = "READLINK=NFS3ERR_IO,FSSTAT=NFS3ERR_IO"
        .parse()
        .expect("faults");
    let server = serve(ServerOptions {
        errors,
        ..ServerOptions::default()
    });
    let all = level_2(Sweep::on(&server));
    assert_eq!(all.code, 1, "{}", all.stderr);
    let json = all.json();
    let failed = with_verdict(&json, "fail");
    assert!(failed.len() >= 2, "{failed:?}");
    assert!(
        all.file("sfsval").contains("NFS3ERR_IO"),
        "{}",
        all.file("sfsval")
    );
    assert_empty(&server);
    let first = Sweep::on(&server)
        .command("validate")
        .arg("-v")
        .arg("1")
        .arg("--json")
        .run();
    assert_eq!(first.code, 1, "{}", first.stderr);
    assert_eq!(with_verdict(&first.json(), "fail").len(), 1);
    assert_empty(&server);
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let _turn = beside_others();
    // In a network of its own nobody else gets the port meanwhile.
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server = sandbox.run(|| serve(ServerOptions::default()));
    let sweep = Sweep::on(&server)
        .in_network_of(&sandbox)
        .command("validate");
    server.stop();
    sweep
        .fail(1)
        .assert_sentence(&["127.0.0.1", "mount /export", "refused"]);
}

/// ganesha's file system in memory is a sketch: it keeps the first MiB of a file
/// only, does not rename over a file, and goes down when one of two names of a file
/// is removed. (ganesha 4.3; what validate says of it has been looked at.)
const MEM_FAILS: [&str; 6] = ["SETATTR", "READ", "WRITE", "RMDIR", "RENAME", "LINK"];

#[test]
fn ganesha_and_the_kernel_s_server_are_validated() {
    let _turn = beside_others();
    for fsal in [Fsal::Vfs, Fsal::Mem] {
        let Some(ganesha) = available(Ganesha::start(fsal)) else {
            return;
        };
        let ended = level_2(Sweep::inside(ganesha.sandbox(), ganesha.export()));
        let json = ended.json();
        show(&format!("ganesha {fsal:?}"), &json);
        ended.assert_tame();
        let failed = with_verdict(&json, "fail");
        let failed: BTreeSet<&str> = failed
            .iter()
            .filter_map(|c| c["procedure"].as_str())
            .collect();
        let known: BTreeSet<&str> = match fsal {
            Fsal::Vfs => BTreeSet::new(),
            Fsal::Mem => MEM_FAILS.into(),
        };
        assert!(failed.is_subset(&known), "{failed:?}");
        assert_eq!(
            ended.code,
            i32::from(!failed.is_empty()),
            "{}",
            ended.stderr
        );
        if let Some(files) = ganesha.files() {
            let left = std::fs::read_dir(files).expect("list").count();
            assert_eq!(left, 0, "left on the server");
        }
    }
    let Some(kernel) = available(KernelServer::start()) else {
        return;
    };
    let ended = level_2(Sweep::inside(kernel.sandbox(), kernel.export()));
    show("the kernel's nfsd", &ended.json());
    assert!(ended.is_complete(), "{}", ended.stderr);
}
