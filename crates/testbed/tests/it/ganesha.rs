//! nfs-ganesha, with both of its file systems.

use crate::{libnfs, round_trip, try_libnfs};
use filermark_testbed::{Capture, Fsal, Ganesha, Sandbox, ServerOptions, available};
use std::net::TcpStream;

#[test]
fn a_file_goes_to_the_vfs_export_and_comes_back() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    round_trip(ganesha.sandbox(), ganesha.export(), 5_000_000);
    let files = ganesha.files().expect("a vfs export has files");
    let on_server = std::fs::metadata(files.join("file")).expect("the server's file");
    assert_eq!(on_server.len(), 5_000_000);
    assert!(ganesha.log().contains("NFS SERVER INITIALIZED"));
}

#[test]
fn a_file_goes_to_the_memory_export_and_comes_back() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    assert_eq!(ganesha.files(), None);
    // ganesha keeps only the first MiB of a file in memory.
    round_trip(ganesha.sandbox(), ganesha.export(), 1_000_000);
}

#[test]
fn the_ports_are_registered_and_both_address_families_answer() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    let export = ganesha.export();
    let table = libnfs(ganesha.sandbox(), "rpcinfo", &["-p", "127.0.0.1"]);
    let table = String::from_utf8_lossy(&table).into_owned();
    let has = |program: &str, port: u16| {
        table.lines().any(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            columns.get(..4) == Some(&[program, "3", "tcp", &port.to_string()])
        })
    };
    assert!(has("100003", export.nfs_port), "{table}");
    assert!(has("100005", export.mount_port), "{table}");
    let reached = ganesha.sandbox().run(|| {
        [export.nfs(), export.mount(), ganesha.export_v6().nfs()]
            .map(|address| TcpStream::connect(address).map(|_| ()))
    });
    assert!(reached.iter().all(Result::is_ok), "{reached:?}");
}

#[test]
fn a_read_only_export_and_a_full_disk_refuse_a_file() {
    let full = ServerOptions {
        space_mib: Some(2),
        ..ServerOptions::default()
    };
    let read_only = ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    };
    // NFS3ERR_NOSPC and NFS3ERR_ROFS (RFC 1813, section 2.6).
    for (options, size, refusal) in [(full, 4 << 20, 28), (read_only, 1, 30)] {
        let Some(sandbox) = available(Sandbox::new()) else {
            return;
        };
        let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options)) else {
            return;
        };
        let port = ganesha.export().nfs_port;
        let Some(capture) = available(Capture::start(&sandbox, ganesha.interface(), &[port]))
        else {
            return;
        };
        let source = sandbox.dir().join("source");
        std::fs::write(&source, vec![7; size]).expect("write the source");
        let url = ganesha.export().libnfs_url("/file");
        let output = try_libnfs(&sandbox, "nfs-cp", &[&source.display().to_string(), &url]);
        assert!(!output.status.success(), "the copy was not refused");
        let pcap = capture.stop().expect("the capture ends");
        let filter = format!("nfs.status=={refusal}");
        let replies = pcap.tshark(&["-Y", &filter]).expect("tshark");
        assert!(!replies.is_empty(), "no reply has status {refusal}");
    }
}

#[test]
fn over_udp_it_registers_and_answers_if_configured() {
    let options = ServerOptions {
        udp: true,
        ..ServerOptions::default()
    };
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Mem, options)) else {
        return;
    };
    for program in ["nfs", "mountd"] {
        let args = ["-T", "udp", "127.0.0.1", program, "3"];
        let output = libnfs(ganesha.sandbox(), "rpcinfo", &args);
        let output = String::from_utf8_lossy(&output).into_owned();
        assert!(output.contains("ready and waiting"), "{output}");
    }
}
