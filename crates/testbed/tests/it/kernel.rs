//! The Linux kernel's server and its client.

use crate::round_trip;
use filermark_testbed::{
    ClientOptions, Export, Fsal, Ganesha, Kernel, KernelClient, KernelSecurity, KernelServer,
    NfsVersion, Sandbox, ServerOptions, available,
};
use std::net::TcpStream;
use std::time::Duration;

const SCRIPT_LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_file_goes_to_the_kernel_server_and_comes_back() {
    let Some(server) = available(KernelServer::start()) else {
        return;
    };
    round_trip(server.sandbox(), server.export(), 5_000_000);
    let v6 = server
        .sandbox()
        .run(|| TcpStream::connect(server.export_v6().nfs()).map(|_| ()));
    assert!(v6.is_ok(), "{v6:?}");
}

#[test]
fn the_kernel_client_works_on_an_export() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(
        &sandbox,
        Fsal::Vfs,
        ServerOptions::default(),
    )) else {
        return;
    };
    let Some(mut client) = available(KernelClient::start(&sandbox, ganesha.export(), "")) else {
        return;
    };
    let first = client
        .run(
            "set -e\nmkdir -p a/b\necho hello >a/b/c\nmv a/b/c a/d\nln -s d a/e\ncat a/e\n\
             grep ' /mnt nfs ' /proc/mounts",
            SCRIPT_LIMIT,
        )
        .expect("the script runs");
    assert_eq!(first.status, 0, "{}", first.output);
    assert!(first.output.starts_with("hello\n"), "{}", first.output);
    assert!(first.output.contains("vers=3"), "{}", first.output);
    let files = ganesha.files().expect("a vfs export has files");
    let on_server = std::fs::read_to_string(files.join("a/d")).expect("the server's file");
    assert_eq!(on_server, "hello\n");

    let second = client
        .run("echo some >&2; printf 'no newline'; exit 7", SCRIPT_LIMIT)
        .expect("the script runs");
    assert_eq!(
        (second.status, second.output.as_str()),
        (7, "some\nno newline")
    );
}

#[test]
fn a_refused_mount_fails_with_the_kernel_s_message() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(
        &sandbox,
        Fsal::Mem,
        ServerOptions::default(),
    )) else {
        return;
    };
    let mut elsewhere = ganesha.export().clone();
    elsewhere.path = "/not-exported".into();
    let refused = KernelClient::start(&sandbox, &elsewhere, "").expect_err("no such export");
    assert!(refused.to_string().contains("/not-exported"), "{refused}");
}

#[test]
fn a_script_that_does_not_end_times_out() {
    let Some(server) = available(KernelServer::start()) else {
        return;
    };
    let Some(mut client) = available(KernelClient::start(
        server.sandbox(),
        server.export(),
        "rsize=8192",
    )) else {
        return;
    };
    let mounts = client
        .run("cat /proc/mounts", SCRIPT_LIMIT)
        .expect("the script runs");
    assert!(mounts.output.contains("rsize=8192"), "{}", mounts.output);
    let late = client
        .run("sleep 600", Duration::from_millis(300))
        .expect_err("too long");
    assert!(late.to_string().contains("timed out after"), "{late}");
}

/// A server that serves NFSv4, too.
const NFS4: ServerOptions = ServerOptions {
    read_only: false,
    space_mib: None,
    root_squash: false,
    nfs4: true,
    udp: false,
};

/// Mounts an export and writes, reads and lists there; returns the script's output.
fn use_mount(
    sandbox: &std::sync::Arc<Sandbox>,
    kernel: Kernel,
    export: &Export,
    version: NfsVersion,
) -> String {
    let options = ClientOptions {
        version,
        kernel,
        ..ClientOptions::default()
    };
    let mut client = KernelClient::start_with(sandbox, export, &options).expect("a client");
    let script = "set -e\ngrep ' /mnt ' /proc/mounts\nmkdir d\necho hello >d/f\nmv d/f d/g\n\
                  flock -w 10 d/g true\n                  cat d/g\nls d >/run/testbed/listing\nstat -c %u d/g\nrm -r d\n";
    let done = client.run(script, SCRIPT_LIMIT).expect("the script runs");
    assert_eq!(done.status, 0, "{}", done.output);
    let listing = std::fs::read_to_string(client.shared_file("listing"));
    assert_eq!(listing.expect("what the script left"), "g\n");
    assert!(done.output.ends_with("hello\n0\n"), "{}", done.output);
    done.output
}

#[test]
fn the_kernel_s_servers_serve_all_versions_and_count() {
    for kernel in Kernel::present() {
        assert_serves_and_counts(kernel);
    }
}

fn assert_serves_and_counts(kernel: Kernel) {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_as(
        &sandbox,
        kernel,
        NFS4,
        KernelSecurity::default(),
    )) else {
        return;
    };
    let export = server.export().clone();
    for (version, mounted, made) in [
        (NfsVersion::V3, "vers=3,", "MKDIR"),
        (NfsVersion::V4, "vers=4.0,", "OPEN"),
        (NfsVersion::V42, "vers=4.2,", "OPEN"),
    ] {
        let before = server.counts().expect("counters");
        let output = use_mount(&sandbox, kernel, &export, version);
        assert!(output.contains(mounted), "{output}");
        let counts = server.counts().expect("counters").since(&before);
        println!("{} {version:?}: {counts:?}", kernel.name());
        for name in [made, "WRITE", "RENAME", "REMOVE"] {
            assert!(counts.get(name) > 0, "{version:?} {name}: {counts:?}");
        }
        assert_eq!(counts.get("WRITE"), 1, "{counts:?}");
    }
    let release = server.run("uname -r", SCRIPT_LIMIT).expect("a release");
    let release = release.output;
    let begin = format!("{}.", kernel.name());
    assert!(release.starts_with(&begin), "{release}");
    let seen = server.run("ls -A", SCRIPT_LIMIT).expect("the script runs");
    assert_eq!((seen.status, seen.output.as_str()), (0, ""));
}

#[test]
fn ganesha_serves_version_4() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, NFS4)) else {
        return;
    };
    let output = use_mount(&sandbox, Kernel::V61, ganesha.export(), NfsVersion::V41);
    assert!(output.contains("vers=4.1,"), "{output}");
    let files = ganesha.files().expect("a vfs export has files");
    assert_eq!(std::fs::read_dir(files).expect("list").count(), 0);
}
