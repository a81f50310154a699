//! LAYOUTS=use against the Linux kernel's server, which is its own data server (export option `pnfs`).

use crate::delegations::{Load, create, fill, read, write};
use crate::real4::plan_of;
use filermark_engine::driver::{Action, ObjectId, PROC_DIR};
use filermark_engine::name::{Name, NameKind};
use filermark_model::plan::{Connections, LayoutUse, NfsPlan, NfsVersion};
use filermark_testbed::{Kernel, KernelSecurity, KernelServer, Sandbox, ServerOptions, available};
use std::collections::BTreeMap;
use std::time::Duration;

/// Exports the directory again, with layouts.
const EXPORT: &str =
    "exportfs -o rw,no_root_squash,insecure,fsid=0,sync,no_subtree_check,pnfs '*:/srv/export'";
/// Places in the line `proc3` of `/proc/net/rpc/nfsd` (RFC 1813 section 3.3), and in `proc4ops` (RFC 7862
/// section 15, from operation 0 on).
const READ3: usize = 6;
const WRITE3: usize = 7;
const COMMIT3: usize = 21;
const COMMIT4: usize = 5;
const READ4: usize = 25;
const WRITE4: usize = 38;
const GETDEVICEINFO: usize = 47;
const LAYOUTGET: usize = 50;
const LAYOUTRETURN: usize = 51;

fn run(server: &mut KernelServer, script: &str) -> String {
    let done = server
        .run(script, Duration::from_secs(60))
        .expect("a shell");
    assert_eq!(done.status, 0, "{script}: {}", done.output);
    done.output
}

/// The counters of a line of `/proc/net/rpc/nfsd`; the first figure of the line is their number.
fn counts(server: &mut KernelServer, line: &str) -> Vec<u64> {
    let text = run(server, "cat /proc/net/rpc/nfsd");
    let found = text
        .lines()
        .find_map(|l| l.strip_prefix(line)?.strip_prefix(' '));
    let figures = found.expect("the line").split_whitespace().skip(1);
    figures
        .map(|figure| figure.parse().expect("a count"))
        .collect()
}

/// By how much these counters have grown.
fn grown(before: &[u64], now: &[u64], places: &[usize]) -> Vec<u64> {
    places.iter().map(|at| now[*at] - before[*at]).collect()
}

/// The figures of the counters with these names.
fn of(counters: &BTreeMap<String, u64>, names: &[&str]) -> Vec<u64> {
    let of = |name: &&str| counters.get(*name).copied().unwrap_or(0);
    names.iter().map(of).collect()
}

#[test]
fn the_kernel_server_serves_transfers_as_data_server() {
    if !Kernel::V612.is_present() {
        return;
    }
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions {
        nfs4: true,
        ..ServerOptions::default()
    };
    let security = KernelSecurity::default();
    let started = KernelServer::start_as(&sandbox, Kernel::V612, options, security);
    let Some(mut server) = available(started) else {
        return;
    };
    run(&mut server, EXPORT);
    for version in [NfsVersion::V41, NfsVersion::V42] {
        let (plan, mount) = plan_of(server.export());
        let plan = NfsPlan {
            version,
            layouts: LayoutUse::Use,
            connections: Connections::Shared(1),
            ..plan
        };
        let before3 = counts(&mut server, "proc3");
        let before4 = counts(&mut server, "proc4ops");
        let mut states = String::new();
        let counters = sandbox.run(|| {
            let mut load = Load::new(&plan, &mount);
            load.succeed(fill(0, 300_000));
            load.succeed(create(1));
            load.succeed(write(1));
            for _ in 0..5 {
                load.succeed(read(0));
                load.succeed(read(1));
                load.succeed(write(0));
            }
            load.succeed(Action::Rename {
                dir: PROC_DIR,
                name: Name::new(NameKind::Small, 1),
                object: ObjectId(2),
                new_name: Name::new(NameKind::Small, 5),
                new_object: ObjectId(2),
            });
            load.succeed(read(1));
            states = run(&mut server, "cat /proc/fs/nfsd/clients/*/states");
            load.end()
        });
        assert!(states.contains("type: layout"), "{states}");
        let now3 = counts(&mut server, "proc3");
        let now4 = counts(&mut server, "proc4ops");
        println!("{version:?}: {counters:?}");
        let transfers = [
            "data_server_reads",
            "data_server_writes",
            "data_server_commits",
        ];
        let ours = of(&counters, &transfers);
        assert_eq!(grown(&before3, &now3, &[READ3, WRITE3, COMMIT3]), ours);
        // All of them went there, but for those of the claim, which has no layouts.
        assert_eq!(of(&counters, &["READ", "WRITE", "COMMIT"]), ours);
        assert!(ours.iter().all(|count| *count > 0), "{ours:?}");
        let address = server.export().address;
        let port = server.export().nfs_port;
        let each = ["READ", "WRITE", "COMMIT"].map(|name| format!("{name} to {address}:{port}"));
        assert_eq!(of(&counters, &each.each_ref().map(String::as_str)), ours);
        let calls = [GETDEVICEINFO, LAYOUTGET, LAYOUTRETURN];
        let names = ["GETDEVICEINFO", "LAYOUTGET", "LAYOUTRETURN"];
        assert_eq!(grown(&before4, &now4, &calls), of(&counters, &names));
        assert_eq!(counters["GETDEVICEINFO"], 1);
        // Linux gives no layout for reading with that for writing.
        let granted = of(&counters, &["layouts_read", "layouts_write"]);
        assert_eq!(granted.iter().sum::<u64>(), counters["LAYOUTGET"]);
        assert!(granted.iter().all(|count| *count > 0), "{granted:?}");
        assert_eq!(counters["layouts_returned"], counters["LAYOUTRETURN"]);
        assert!(counters["checked_bytes"] > 0);
        for never in [
            "layouts_lost",
            "layouts_refused",
            "layouts_unusable",
            "data_servers_gone",
            "data_server_errors",
            "verify_errors",
            "verifier_changes",
            "lost_writes",
            "rewrites",
            "refused_closes",
        ] {
            assert_eq!(counters.get(never), None, "{never}: {counters:?}");
        }
        let transfers4 = grown(&before4, &now4, &[READ4, WRITE4, COMMIT4]);
        // The marker of the claim is written, and read to renew and to remove it.
        assert!(transfers4.iter().sum::<u64>() < 10, "{transfers4:?}");
        assert_eq!(run(&mut server, "ls /proc/fs/nfsd/clients").trim(), "");
        // What the load has left.
        run(&mut server, "rm -r filermark.test");
    }
}

/// The same server without the option has no layouts: transfers go to it as without LAYOUTS.
#[test]
fn the_kernel_server_without_layouts_serves_transfers_itself() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions {
        nfs4: true,
        ..ServerOptions::default()
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, options)) else {
        return;
    };
    let (plan, mount) = plan_of(server.export());
    let plan = NfsPlan {
        layouts: LayoutUse::Use,
        ..plan
    };
    let counters = sandbox.run(|| {
        let mut load = Load::new(&plan, &mount);
        load.succeed(fill(0, 100_000));
        load.succeed(read(0));
        load.succeed(write(0));
        load.end()
    });
    let names = ["LAYOUTGET", "data_server_reads", "data_server_writes"];
    assert_eq!(of(&counters, &names), [0; 3]);
    // One for the file that is filled, one for the same file when it is opened again.
    assert_eq!(counters["layouts_refused"], 2);
    assert_eq!(run(&mut server, "ls /proc/fs/nfsd/clients").trim(), "");
}
