//! `validate`, against the embedded server and those of other projects.

use crate::client_hosts::Field;
use crate::load_guard::beside_others;
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, KernelServer, Sandbox, available};
use serde_json::Value;
use std::collections::BTreeSet;

/// The checks of the one mount point that have this verdict.
fn with_verdict<'j>(json: &'j Value, verdict: &str) -> Vec<&'j Value> {
    let checks = json["mounts"][0]["checks"].as_array().expect("checks");
    checks.iter().filter(|c| c["verdict"] == verdict).collect()
}

/// Prints the checks that a server did not pass or that were skipped, for readers of the log.
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
fn the_results_are_printed_where_their_file_cannot_be_written() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).command("validate").arg("--json");
    // A directory of the file's name.
    std::fs::create_dir_all(sweep.result("sfsval.s")).expect("a directory");
    let ended = sweep.fail(1);
    assert!(with_verdict(&ended.json(), "pass").len() >= 22);
    ended.assert_sentence(&["sfsval.s: cannot write", "choose another directory (-d"]);
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
fn a_server_that_is_not_there_is_reported() {
    let _turn = beside_others();
    // In a separate network no other process gets the port meanwhile.
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

/// The mounts of the JSON form, each with its client and whether it passed.
fn by_client(json: &Value) -> Vec<(&str, bool)> {
    let mounts = json["mounts"].as_array().expect("mounts").iter();
    mounts
        .map(|m| {
            let client = m["client"].as_str().expect("its client");
            (client, m["success"].as_bool().expect("a verdict"))
        })
        .collect()
}

#[test]
fn each_client_with_a_mount_point_is_validated_from_its_own_host() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let sweep = field.sweep("h1 h2").command("validate");
    let ended = sweep.run();
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    for client in ["h1", "h2"] {
        let words = format!(" on client {client}: ");
        assert!(ended.stdout.contains(&words), "{}", ended.stdout);
        assert!(ended.stderr.contains(&words), "{}", ended.stderr);
        assert!(
            ended
                .file("sfsval")
                .contains(&format!("On client {client}\n"))
        );
    }
    field.assert_clean();
    // A client that cannot be reached is a failure, and the others are still validated.
    let sweep = field.sweep("h1 absent").command("validate").arg("--json");
    let ended = sweep.set("START_TIMEOUT", 15).run();
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    let json = ended.json();
    assert_eq!(by_client(&json), [("h1", true)]);
    let failure = json["trouble"].as_str().unwrap_or_default();
    assert!(failure.contains("client absent"), "{json}");
    assert!(
        ended
            .file("sfsval")
            .contains("not validated: client absent")
    );
    field.assert_clean();
}

#[test]
fn a_client_on_this_host_is_validated_by_an_agent_and_without_clients_there_is_none() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).command("validate").arg("--json");
    for (clients, named) in [(None, "localhost"), (Some("localhost"), "localhost")] {
        let sweep = match clients {
            Some(clients) => sweep.elsewhere().set("CLIENTS", clients),
            None => sweep.elsewhere().unset("CLIENTS"),
        };
        let ended = sweep.run();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert_eq!(by_client(&ended.json()), [(named, true)]);
        let is_by_agent = ended.stderr.contains("on client localhost");
        assert_eq!(is_by_agent, clients.is_some(), "{}", ended.stderr);
        assert_empty(&server);
    }
    // Level 1 and a server that fails.
    let errors = "READLINK=NFS3ERR_IO".parse().expect("errors");
    let server = serve(ServerOptions {
        errors,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server).set("CLIENTS", "localhost");
    let first = sweep.command("validate").arg("--level").arg("1").fail(1);
    assert!(first.stderr.contains("FAIL  READLINK"), "{}", first.stderr);
    assert_empty(&server);
}

/// ganesha's file system in memory is incomplete: it keeps only the first MiB of a file, does not
/// rename over a file, and crashes when one of two names of a file is removed. (ganesha 4.3; its
/// results were checked.)
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
        ended.assert_sanitized();
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
