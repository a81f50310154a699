//! `validate` with only a mount point.

use crate::second_client::assert_empty;
use crate::{filermark, stderr_text};
use filermark_server::{EXPORT, Server, ServerOptions};

#[test]
fn a_mount_point_is_all_that_it_needs() {
    let server = Server::start(ServerOptions::default()).expect("server");
    let address = server.addrs()[0];
    let port = format!("MOUNT_PORT={}", address.port());
    let dir = tempfile::tempdir().expect("directory");
    let one = format!("nfs://{address}{EXPORT}");
    for (suffix, mounts) in [("one", one.clone()), ("two", format!("{one} {one}"))] {
        let mounts = format!("MNT_POINTS={mounts}");
        let args = ["validate", "-s", suffix, "-o", &mounts, "-o", &port];
        let output = filermark(dir.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
        let output_text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            output_text.lines().count(),
            1,
            "one mount, reported once: {output_text}"
        );
        assert!(dir.path().join(format!("result/sfsval.{suffix}")).is_file());
    }
    // Other options still count, and are checked.
    let mounts = format!("MNT_POINTS={one}");
    let args = ["validate", "-o", &mounts, "-o", &port, "-o", "PROCS=0"];
    let output = filermark(dir.path(), &args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("PROCS=0 is out of bounds"));
}

/// The embedded server with canned replies has no version 4.
#[test]
fn a_server_without_version_4_1_is_not_validated_over_it() {
    let server = Server::start(ServerOptions {
        null: true,
        ..ServerOptions::default()
    });
    let server = server.expect("server");
    let address = server.addrs()[0];
    let mounts = format!("MNT_POINTS=nfs://{address}{EXPORT}");
    let dir = tempfile::tempdir().expect("directory");
    let args = ["validate", "-o", &mounts, "-o", "NFS_VERSION=4.1"];
    let output = filermark(dir.path(), &args);
    assert_eq!(output.status.code(), Some(1), "{}", stderr_text(&output));
    let text = stderr_text(&output);
    assert!(
        text.contains("the server does not offer NFSv4.1; it offers NFSv2, NFSv3"),
        "{text}"
    );
}

/// NFS_VERSION or the benchmark determines the version that is checked, TCP the transport.
#[test]
fn the_plan_s_version_is_what_is_validated() {
    let server = Server::start(ServerOptions::default()).expect("server");
    let address = server.addrs()[0];
    let mounts = format!("MNT_POINTS=nfs://{address}{EXPORT}");
    let port = format!("MOUNT_PORT={}", address.port());
    let dir = tempfile::tempdir().expect("directory");
    for (options, protocol, check) in [
        (&["NFS_VERSION=2"][..], "NFSv2", "writecache.void"),
        (&["BENCHMARK=nfs2-1997"], "NFSv2", "mnt.not_exported"),
        (
            &["NFS_VERSION=2", "TCP=off"],
            "NFSv2",
            "write.largest_offset",
        ),
        (&["TCP=off"], "NFSv3", "commit.verifier"),
        (&[], "NFSv3", "commit.verifier"),
    ] {
        let mut args = vec!["validate", "--json", "-s", "v", "-o", &mounts, "-o", &port];
        options
            .iter()
            .for_each(|option| args.extend(["-o", option]));
        let output = filermark(dir.path(), &args);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{options:?}: {}",
            stderr_text(&output)
        );
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let report = &json["mounts"][0];
        assert_eq!(report["protocol"], protocol, "{options:?}");
        let checks = report["checks"].as_array().expect("checks");
        assert!(
            checks
                .iter()
                .any(|c| c["id"] == check && c["verdict"] == "pass"),
            "{options:?}: {check}"
        );
        let file = std::fs::read_to_string(dir.path().join("result/sfsval.v")).expect("sfsval");
        let title = format!("{protocol} protocol validation of");
        assert!(file.contains(&title), "{file}");
        assert!(
            stderr_text(&output).contains(&format!(": {protocol}")),
            "{}",
            stderr_text(&output)
        );
    }
    let stats = server.stats();
    let mut asked = stats.nfs.iter().chain(&stats.nfs2).chain(&stats.mount);
    assert!(asked.all(|count| *count > 0), "{stats:?}");
    assert_empty(&server);
}
