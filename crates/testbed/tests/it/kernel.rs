//! The Linux kernel's server and its client.

use crate::round_trip;
use filermark_testbed::{
    Fsal, Ganesha, KernelClient, KernelServer, Sandbox, ServerOptions, available,
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
fn a_mount_that_is_refused_is_told_with_the_kernel_s_words() {
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
fn a_script_that_does_not_end_is_given_up() {
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
    assert!(late.to_string().contains("not there after"), "{late}");
}
