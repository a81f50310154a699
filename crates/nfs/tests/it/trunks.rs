//! One client with several connections (NCONNECT) against the embedded server, ganesha and the Linux kernel's
//! servers.

use crate::delegations::{Load, Other, create, keeping, read, write};
use crate::real4::{SERVER, plan_of};
use crate::support::{mount, plan, start};
use filermark_engine::name::{Name, NameKind};
use filermark_model::plan::{DelegationUse, NfsPlan};
use filermark_onc::nfs4::Operation;
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, Kernel, KernelSecurity, KernelServer, Sandbox, available};
use std::time::Duration;

const CONNS: u32 = 4;

fn trunk(plan: NfsPlan) -> NfsPlan {
    NfsPlan {
        nconnect: CONNS,
        ..keeping(plan)
    }
}

/// Files are created, written and read, which all connections take part in.
#[track_caller]
fn use_all(load: &mut Load) {
    for number in 0..2 * CONNS {
        load.succeed(create(number));
        load.succeed(write(number));
        load.succeed(read(number));
    }
    assert_eq!(load.count("connections"), u64::from(CONNS));
    for one in ["client_ids", "sessions"] {
        assert_eq!(load.counters[one], 1, "{one}");
    }
    for never in ["reconnects", "lost_sessions", "connect_failures"] {
        assert_eq!(load.counters.get(never), None, "{never}");
    }
}

#[test]
fn the_embedded_server_has_one_client_with_several_connections() {
    let (server, port) = start(ServerOptions::default());
    let mut load = Load::new(&trunk(plan(port)), &mount());
    let before = server.stats();
    use_all(&mut load);
    load.end();
    let stats = server.stats();
    let of = |operation| stats.of4(operation) - before.of4(operation);
    assert_eq!(
        before.of4(Operation::BindConnToSession),
        u64::from(CONNS) - 1
    );
    // The load has one, and the release of the directory another one.
    assert_eq!(
        of(Operation::DestroySession),
        of(Operation::DestroyClientid)
    );
    assert_eq!(
        stats.of4(Operation::DestroyClientid),
        stats.of4(Operation::CreateSession)
    );
}

#[test]
fn ganesha_has_one_client_with_several_connections() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, SERVER)) else {
        return;
    };
    let (plan, mount) = plan_of(ganesha.export());
    sandbox.run(|| {
        let plan = NfsPlan {
            delegations: DelegationUse::Refuse,
            ..trunk(plan)
        };
        let mut load = Load::new(&plan, &mount);
        use_all(&mut load);
        load.end();
    });
}

/// These servers list their clients, and recall what was granted over one of the connections.
#[test]
fn the_kernel_servers_have_one_client_with_several_connections() {
    for kernel in Kernel::present() {
        let Some(sandbox) = available(Sandbox::new()) else {
            return;
        };
        let security = KernelSecurity::default();
        let started = KernelServer::start_as(&sandbox, kernel, SERVER, security);
        let Some(mut server) = available(started) else {
            return;
        };
        let (plan, mount) = plan_of(server.export());
        let mut listed = |command| {
            let done = server.run(command, Duration::from_secs(60));
            done.expect("a shell").output.trim().to_owned()
        };
        let clients = "ls /proc/fs/nfsd/clients | wc -l";
        let of_port = "cat /proc/net/tcp /proc/net/tcp6 | grep -c ':0801 [0-9A-F]*:[0-9A-F]* 01 '";
        let counters = sandbox.run(|| {
            let refusing = plan.clone();
            let mut load = Load::new(&trunk(plan), &mount);
            use_all(&mut load);
            assert_eq!(listed(clients), "1", "{}", kernel.name());
            assert_eq!(listed(of_port), CONNS.to_string(), "{}", kernel.name());
            let mut other = Other::new(&refusing, &mount);
            other.writes(&mut load, Name::new(NameKind::Small, 0));
            drop(other);
            assert!(load.count("delegations_recalled") > 0);
            load.succeed(read(0));
            load.end()
        });
        assert_eq!(counters.get("delegations_revoked"), None);
        assert_eq!(listed(clients), "0", "{}", kernel.name());
    }
}
