//! A whole run against canned replies.

use crate::{filermark, stderr_text};
use filermark_model::plan::NfsVersion;
use filermark_nfs::client::{MountClient, Nfs3Client, RpcOptions};
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::rpc::AuthSys;
use filermark_server::{EXPORT, Procedure, Server, ServerOptions};
use serde_json::Value;

#[test]
fn a_run_claims_measures_and_cleans_up() {
    let options = ServerOptions {
        null: true,
        ..ServerOptions::default()
    };
    let server = Server::start(options).expect("server");
    let address = server.addrs()[0];
    let mount = format!("MNT_POINTS=nfs://{address}{EXPORT}");
    let port = format!("MOUNT_PORT={}", address.port());
    let dir = tempfile::tempdir().expect("directory");
    let mut args = vec!["run", "--json", "-s", "null", "-o", &mount, "-o", &port];
    for option in [
        "LOAD=200 400",
        "PROCS=4",
        "WARMUP_TIME=0.5",
        "RUNTIME=2",
        "FILESET_MB_PER_OP=0.1",
        "STALL_PCNT_MAX=100",
    ] {
        args.extend(["-o", option]);
    }
    let output = filermark(dir.path(), &args);
    // Canned replies have other data than was written: no point counts.
    assert_eq!(output.status.code(), Some(4), "{}", stderr_text(&output));

    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let points = result["points"].as_array().expect("points");
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!(point["error_count"], 0, "{point}");
        assert!(point["success_count"].as_u64() > Some(200), "{point}");
        // All operations of the mix were done, the canned ones too.
        assert!(point["ops"].as_array().map(Vec::len) >= Some(12), "{point}");
    }
    let left = result["findings"].to_string();
    assert!(!left.contains("left-behind"), "{left}");
    let stats = server.stats();
    assert_eq!(stats.of(Procedure::Mkdir), stats.of(Procedure::Rmdir));

    let cred = AuthSys::new(0, b"test", 0, 0, &[]).to_body();
    let rpc = RpcOptions::default;
    let root = MountClient::new(NfsVersion::V3, address, cred.clone(), rpc()).mnt(EXPORT);
    let root = root.expect("MNT").expect("mounted").root;
    let found = Nfs3Client::new(address, cred, rpc()).lookup(&root, b"filermark.null");
    let status = found.expect("LOOKUP").map_err(|failed| failed.status);
    assert_eq!(status.err(), Some(Nfsstat3::Noent));
}
