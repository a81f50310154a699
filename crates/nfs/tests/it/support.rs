//! Plans, servers and claims for tests.

use filermark_engine::driver::Claim;
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_server::{EXPORT, RunningServer, Server, ServerOptions};

/// A plan for a server with one port for all programs.
pub fn plan(port: u16) -> NfsPlan {
    NfsPlan {
        uid: 500,
        gid: 100,
        machine_name: "test".to_owned(),
        nfs_port: Some(port),
        mount_port: Some(port),
        portmap_port: port,
        rpc_timeout_ms: 5_000,
        rpc_retries: 2,
        connect_timeout_ms: 2_000,
        jukebox_delay_ms: 5,
        jukebox_retries: 4,
        ..NfsPlan::default()
    }
}

pub fn start(options: ServerOptions) -> (RunningServer, u16) {
    let server = Server::start(options).expect("the embedded server starts");
    let port = server.addrs()[0].port();
    (server, port)
}

pub fn mount() -> MountPoint {
    MountPoint {
        host: "127.0.0.1".to_owned(),
        path: EXPORT.to_owned(),
    }
}

pub fn claim() -> Claim {
    Claim {
        dir_name: "filermark.test".to_owned(),
        run_id: "run-1".to_owned(),
    }
}
