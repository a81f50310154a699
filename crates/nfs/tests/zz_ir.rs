//! Instruction counts.
use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::*;
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::plan::{Connections, IpChoice, MountPoint, NfsPlan, Transport};
use filermark_nfs::NfsDriver;
use filermark_server::{EXPORT, Server, ServerOptions};
use std::sync::Arc;
const PROCS: u32 = 32;
#[test]
fn ir() {
    let udp = std::env::var_os("IR_UDP").is_some();
    let rounds: u32 = std::env::var("IR_ROUNDS").unwrap().parse().unwrap();
    let server = Server::start(ServerOptions { udp: true, threads: 1, ..ServerOptions::default() }).unwrap();
    let port = server.addrs()[0].port();
    let plan = NfsPlan {
        transport: if udp { Transport::Udp } else { Transport::Tcp },
        machine_name: "client".to_owned(),
        nfs_port: Some(port), mount_port: Some(port), portmap_port: port,
        ip: IpChoice::V4,
        connections: Connections::Shared(2),
        rpc_timeout_ms: 100_000, udp_timeout_ms: 100_000, rpc_retries: 1, connect_timeout_ms: 100_000,
        ..NfsPlan::default()
    };
    let mount = MountPoint { host: "127.0.0.1".to_owned(), path: EXPORT.to_owned() };
    let driver = NfsDriver::new(plan);
    let claim = Claim { dir_name: "filermark.ir".to_owned(), run_id: "ir".to_owned() };
    driver.claim(&mount, &claim).unwrap();
    let proc = |number| ProcSetup { number, mount: mount.clone(), tree: None };
    let setup = ShardSetup {
        shard: 0, shard_count: 1, clock: Clock::real(),
        data: Arc::new(DataSource::new(1, VerifyLevel::Sample)),
        procs: (0..PROCS).map(proc).collect(), claim: claim.clone(), stop: StopFlag::new(),
    };
    let mut shard = driver.open_shard(setup).unwrap();
    let mut done = Vec::with_capacity(64);
    let mut run = |shard: &mut dyn ShardDriver, make: &dyn Fn(u32) -> Action| {
        done.clear();
        for proc in 0..PROCS {
            let r = Request { token: proc, proc, action: make(proc) };
            assert!(matches!(shard.submit(&r), Submit::Queued));
        }
        while done.len() < PROCS as usize { shard.flush(); shard.poll(Nanos::MAX, &mut done).unwrap(); }
    };
    run(&mut *shard, &|p| Action::MakeProcDir { name: Name::new(NameKind::ProcDir, p) });
    for _ in 0..rounds { run(&mut *shard, &|_| Action::Getattr { object: PROC_DIR }); }
}
