//! `validate` with nothing but a mount point.

use crate::{filermark, talk};
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
        assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.lines().count(), 1, "one mount, told once: {said}");
        assert!(dir.path().join(format!("result/sfsval.{suffix}")).is_file());
    }
    // What the command line says still counts, and is still checked.
    let mounts = format!("MNT_POINTS={one}");
    let args = ["validate", "-o", &mounts, "-o", &port, "-o", "PROCS=0"];
    let output = filermark(dir.path(), &args);
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert!(talk(&output).contains("PROCS=0 is out of bounds"));
}
