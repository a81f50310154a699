//! NFSv4.1 against ganesha. Skipped where the machine cannot run it (see `filermark-testbed`).

use crate::delegations::{Load, Other, create, keeping, read, write};
use crate::support::{claim, plan};
use filermark_driver_kit::claim::{ClaimRole, RenewResult};
use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_driver_kit::survey::Survey;
use filermark_engine::driver::StopFlag;
use filermark_engine::name::{Name, NameKind};
use filermark_model::plan::{DriverPlan, MountPoint, NfsPlan, NfsVersion};
use filermark_nfs::NfsDriver;
use filermark_nfs::client::{FileClient, Removal};
use filermark_nfs::target::Target;
use filermark_nfs::validate::{Level, validate};
use filermark_onc::nfs3::{Ftype3, Nfsstat3, Sattr3, Verf};
use filermark_testbed::{
    Capture, Export, Fsal, Ganesha, Kernel, KernelSecurity, KernelServer, Pcap, Sandbox,
    ServerOptions, available,
};
use std::time::Duration;

pub const SERVER: ServerOptions = ServerOptions {
    read_only: false,
    space_mib: None,
    root_squash: false,
    nfs4: true,
    udp: false,
};

fn ganesha() -> Option<Ganesha> {
    let sandbox = available(Sandbox::new())?;
    available(Ganesha::start_in(&sandbox, Fsal::Vfs, SERVER))
}

fn plan_for(ganesha: &Ganesha) -> (NfsPlan, MountPoint) {
    plan_of(ganesha.export())
}

pub fn plan_of(export: &Export) -> (NfsPlan, MountPoint) {
    let plan = NfsPlan {
        version: NfsVersion::V41,
        uid: 0,
        gid: 0,
        nfs_port: Some(export.nfs_port),
        mount_port: None,
        portmap_port: 111,
        rpc_timeout_ms: 60_000,
        connect_timeout_ms: 10_000,
        ..plan(0)
    };
    let mount = MountPoint {
        host: export.address.to_string(),
        path: export.path_v4.clone().expect("version 4"),
    };
    (plan, mount)
}

/// How many calls have this operation.
fn calls_with(pcap: &Pcap, operation: u32) -> usize {
    let filter = format!("rpc.msgtyp == 0 && nfs.opcode == {operation}");
    let lines = pcap.tshark(&["-Y", &filter, "-T", "fields", "-e", "rpc.xid"]);
    lines.expect("tshark").lines().count()
}

const CLOSE: u32 = 4;
const OPEN: u32 = 18;
const EXCHANGE_ID: u32 = 42;
const DESTROY_SESSION: u32 = 44;
const DESTROY_CLIENTID: u32 = 57;

#[test]
fn a_directory_is_claimed_renewed_and_released_and_nothing_is_left() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let sandbox = ganesha.sandbox();
    let (plan, mount) = plan_for(&ganesha);
    let ports = [
        plan.nfs_port.expect("a port"),
        111,
        ganesha.export().mount_port,
    ];
    let Some(capture) = available(Capture::start(sandbox, ganesha.interface(), &ports)) else {
        return;
    };
    let files = ganesha.files().expect("files");
    let names = || std::fs::read_dir(&files).expect("list").count();
    sandbox.run(|| {
        let driver = NfsDriver::new(plan.clone());
        let report = driver.claim(&mount, &claim()).expect("claimed");
        assert!(report.space.is_some());
        let fact = |name: &str| {
            let found = report.server_facts.iter().find(|(n, _)| n == name);
            found.map(|(_, value)| value.clone())
        };
        assert_eq!(fact("lease").as_deref(), Some("60 s"));
        assert_eq!(fact("slots").as_deref(), Some("64"));
        assert_eq!(fact("mount address"), None);
        assert!(fact("supported attributes").is_some());
        let renewed = driver.renew(&mount, &claim(), ClaimRole::Own);
        assert_eq!(renewed, Ok(RenewResult::Done));
    });
    assert_eq!(names(), 1);
    sandbox.run(|| {
        let driver = NfsDriver::new(plan.clone());
        let released = driver.release(&mount, &claim(), ReleaseScope::All);
        assert_eq!(released.expect("released").not_ours, [""; 0]);
    });
    assert_eq!(names(), 0);
    let pcap = capture.stop().expect("captured");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let clients = calls_with(&pcap, EXCHANGE_ID);
    assert!(clients >= 3, "{clients}");
    assert_eq!(calls_with(&pcap, DESTROY_SESSION), clients);
    assert_eq!(calls_with(&pcap, DESTROY_CLIENTID), clients);
    let opens = calls_with(&pcap, OPEN);
    assert!(opens > 0);
    assert_eq!(calls_with(&pcap, CLOSE), opens);
    // Neither portmapper nor MOUNT.
    let others = ["-Y", "rpc.msgtyp == 0 && !(rpc.program == 100003)"];
    assert_eq!(pcap.tshark(&others).expect("tshark"), "");
}

#[test]
fn what_an_earlier_run_left_is_removed() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    let files = ganesha.files().expect("files");
    let (first, second) = ganesha.sandbox().run(|| {
        let driver = NfsDriver::new(plan.clone());
        driver.claim(&mount, &claim()).expect("claimed");
        let dir = files.join("filermark.test");
        let foreign = dir.join("not-ours");
        std::fs::write(&foreign, "x").expect("write");
        let first = driver.release(&mount, &claim(), ReleaseScope::All);
        std::fs::remove_file(&foreign).expect("remove");
        (first, driver.release(&mount, &claim(), ReleaseScope::All))
    });
    let first = first.expect("released");
    assert!(first.not_ours.iter().any(|name| name.contains("not-ours")));
    second.expect("released");
}

#[test]
fn operations_do_what_those_of_version_3_do() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    ganesha.sandbox().run(|| {
        let target = Target::resolve(&mount, &plan).expect("resolved");
        let mut nfs = target.file_client(&plan);
        let root = target.root;
        let mode = |mode| Sattr3 {
            mode: Some(mode),
            ..Sattr3::default()
        };
        let dir = nfs.mkdir(&root, b"dir", mode(0o750)).unwrap().unwrap();
        let dir = dir.object.expect("a handle");
        let is = nfs.getattr(&dir).unwrap().unwrap();
        assert_eq!((is.ftype, is.mode), (Ftype3::Dir, 0o750));
        let again = nfs.mkdir(&root, b"dir", mode(0o750)).unwrap();
        assert_eq!(again.unwrap_err().status, Nfsstat3::Exist);

        let file = nfs.create(&dir, b"file", mode(0o640)).unwrap().unwrap();
        let file = file.object.expect("a handle");
        let data: Vec<u8> = (0..10_000u32).map(|at| at as u8).collect();
        assert_eq!(nfs.write(&file, 0, &data).unwrap().unwrap(), 10_000);
        let read = nfs.read(&file, 5_000, 9_000).unwrap().unwrap();
        assert_eq!((read.data.as_slice(), read.eof), (&data[5_000..], true));
        // Made again with a size of 0: the data is gone, as with CREATE of version 3.
        let empty = Sattr3 {
            size: Some(0),
            ..mode(0o640)
        };
        nfs.create(&dir, b"file", empty).unwrap().unwrap();
        assert_eq!(nfs.getattr(&file).unwrap().unwrap().size, 0);

        // REMOVE is for files, RMDIR for directories.
        let status = |reply: Result<_, _>| {
            let reply: Result<Result<(), filermark_onc::nfs3::Failed<()>>, _> = reply;
            reply.unwrap().err().map(|failed| failed.status)
        };
        let wrong = status(nfs.remove(Removal::File, &root, b"dir"));
        assert_eq!(wrong, Some(Nfsstat3::Isdir));
        let wrong = status(nfs.remove(Removal::Dir, &dir, b"file"));
        assert_eq!(wrong, Some(Nfsstat3::Notdir));
        let full = status(nfs.remove(Removal::Dir, &root, b"dir"));
        assert_eq!(full, Some(Nfsstat3::Notempty));

        let FileClient::V4(v4) = &mut nfs else {
            panic!("another version");
        };
        v4.rename((&dir, b"file"), (&root, b"moved"))
            .unwrap()
            .unwrap();
        v4.setattr(&file, &mode(0o600)).unwrap().unwrap();
        assert_eq!(v4.getattr(&file).unwrap().unwrap().mode, 0o600);
        assert_eq!(status(nfs.remove(Removal::File, &root, b"moved")), None);
        assert_eq!(status(nfs.remove(Removal::Dir, &root, b"dir")), None);
        let gone = nfs.lookup(&root, b"dir").unwrap().unwrap_err();
        assert_eq!(gone.status, Nfsstat3::Noent);
    });
}

#[test]
fn listings_go_on_and_many_names_are_removed() {
    const COUNT: usize = 300;
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    let files = ganesha.files().expect("files");
    ganesha.sandbox().run(|| {
        let target = Target::resolve(&mount, &plan).expect("resolved");
        let mut nfs = target.file_client(&plan);
        let dir = nfs.mkdir(&target.root, b"many", Sattr3::mode(0o755));
        let dir = dir.unwrap().unwrap().object.expect("a handle");
        let name = |number: usize| format!("a-name-of-some-length-{number:05}");
        for number in 0..COUNT {
            std::fs::write(files.join("many").join(name(number)), "").expect("write");
        }
        let (mut from, mut parts, mut names) = ((0, Verf::default()), 0, Vec::new());
        loop {
            let part = nfs.readdir(&dir, from, 4096).unwrap().unwrap();
            parts += 1;
            names.extend(part.entries.iter().map(|entry| entry.name.clone()));
            match part.entries.last() {
                Some(last) if !part.eof => from = (last.cookie, part.cookieverf),
                _ => break,
            }
        }
        names.sort();
        let expected: Vec<_> = (0..COUNT).map(|n| name(n).into_bytes()).collect();
        assert_eq!(names, expected);
        assert!(parts > 1, "{parts}");
        let mut names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        names.push(b"missing");
        let mut statuses = vec![None; names.len()];
        let each = |number: usize, status| statuses[number] = Some(status);
        nfs.remove_many(Removal::File, &dir, &names, each)
            .expect("removed");
        assert_eq!(statuses[COUNT], Some(Nfsstat3::Noent));
        assert!(statuses[..COUNT].iter().all(|is| *is == Some(Nfsstat3::Ok)));
    });
    let left = std::fs::read_dir(files.join("many")).expect("list").count();
    assert_eq!(left, 0);
}

#[test]
fn a_wrong_path_is_explained() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    let files = ganesha.files().expect("files");
    std::fs::write(files.join("a-file"), "x").expect("write");
    let sentence = |path: &str| {
        let mount = MountPoint {
            path: path.to_owned(),
            ..mount.clone()
        };
        let outcome = ganesha.sandbox().run(|| Target::resolve(&mount, &plan));
        outcome.expect_err("refused").to_string()
    };
    let text = sentence("/exprot");
    assert!(
        text.contains(
            "/ on the server has no 'exprot' (NFS4ERR_NOENT); did you mean export? / has export"
        ),
        "{text}"
    );
    let text = sentence("/export/a-file");
    assert!(
        text.contains("/export/a-file on the server is not a directory"),
        "{text}"
    );
}

/// What `preflight` shows: the NFS port alone, and what the server states about itself.
#[test]
fn a_survey_creates_nothing() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    let plan = DriverPlan::Nfs(plan);
    let what = Survey {
        mounts: std::slice::from_ref(&mount),
        dir_name: "filermark.test",
        log_in: false,
        unwritable: |_| None,
    };
    let found = ganesha
        .sandbox()
        .run(|| (filermark_nfs::DRIVER.survey)(&plan, &what));
    let found = found.expect("a survey of NFS");
    let [server] = found.servers.as_slice() else {
        panic!("{found:?}");
    };
    let names: Vec<&str> = server.services.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["nfs"]);
    assert_eq!(server.exports[0].writable, Ok(true));
    let facts = &found.reports[0].report.server_facts;
    for wanted in ["lease", "slots", "ca_maxoperations", "rsize", "wsize"] {
        assert!(facts.iter().any(|(name, _)| name == wanted), "{facts:?}");
    }
    let files = ganesha.files().expect("files");
    assert_eq!(std::fs::read_dir(files).expect("list").count(), 0);
}

#[test]
fn a_read_only_export_is_explained() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions {
        read_only: true,
        ..SERVER
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options)) else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    let outcome = sandbox.run(|| NfsDriver::new(plan.clone()).claim(&mount, &claim()));
    let text = outcome.expect_err("refused").to_string();
    assert!(
        text.contains("NFS4ERR_ROFS to MKDIR; the export is read-only"),
        "{text}"
    );
}

/// The checks of `validate` against a server; the ids of those that failed.
fn failed_checks(sandbox: &Sandbox, plan: &NfsPlan, mount: &MountPoint) -> Vec<&'static str> {
    let stop = StopFlag::new();
    let report = sandbox
        .run(|| validate(plan, mount, &claim(), Level::All, &stop, &mut |_| {}))
        .expect("validation runs");
    println!("{}", report.render_text());
    assert_eq!((&report.leftovers, &report.not_ours), (&None, &vec![]));
    let failed = report.results.iter().filter(|result| result.is_failure());
    failed.map(|result| result.id).collect()
}

/// What ganesha 4.3 does that RFC 8881 does not allow. The server of Linux passes these checks.
const GANESHA_FAILS: [&str; 6] = [
    // DESTROY_CLIENTID looks at sessions alone, and succeeds with files open (section 18.50.3).
    "destroy_clientid.state",
    // WRITE succeeds after OPEN_DOWNGRADE to reading (section 18.18.3).
    "downgrade.access",
    // CLOSE with a stateid that is not known is taken for one that is sent again, and succeeds.
    "close.closed",
    // A stateid is accepted from a client that it was not given to (section 8.2.4).
    "stateid.other_client",
    // State and sessions of a client that has restarted stay until the lease ends
    // (sections 18.35.4 and 18.36.4).
    "recovery.opens",
    "recovery.sessions",
];

/// What the servers of Linux 6.1 and 6.12 do that RFC 8881 does not allow: they execute RENEW (section 17).
const KERNEL_FAILS: [&str; 1] = ["compound.removed"];

#[test]
fn ganesha_is_validated() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = plan_for(&ganesha);
    let failed = failed_checks(ganesha.sandbox(), &plan, &mount);
    assert_eq!(failed, GANESHA_FAILS);
    let files = ganesha.files().expect("files");
    assert_eq!(std::fs::read_dir(files).expect("list").count(), 0);
}

/// Files belong to the anonymous user or to one without rights beside its own, and the checks find nothing
/// else.
#[test]
fn a_server_that_squashes_root_is_validated() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions {
        root_squash: true,
        ..SERVER
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, options)) else {
        return;
    };
    let (plan, mount) = plan_of(server.export());
    let writable = format!("chmod 777 {}", server.export().path);
    let changed = server.run(&writable, Duration::from_secs(60));
    assert_eq!(changed.expect("a shell").status, 0);
    for uid in [0, 1000] {
        let plan = NfsPlan {
            uid,
            gid: uid,
            ..plan.clone()
        };
        let failed = failed_checks(&sandbox, &plan, &mount);
        assert_eq!(failed, KERNEL_FAILS, "uid {uid}");
    }
}

#[test]
fn the_kernel_servers_are_validated() {
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
        let failed = failed_checks(&sandbox, &plan, &mount);
        assert_eq!(failed, KERNEL_FAILS, "{}", kernel.name());
        let listed = "cat /proc/fs/nfsd/clients/*/info 2>/dev/null; ls /proc/fs/nfsd/clients";
        let clients = server
            .run(listed, Duration::from_secs(60))
            .expect("a shell");
        assert_eq!((clients.status, clients.output.trim()), (0, ""));
    }
}

/// What these servers do with minor version 2 that RFC 7862 does not allow, in addition to the failures of version
/// 4.1.
const GANESHA_FAILS_42: &[&str] = &[
    // READ_PLUS returns no data (section 15.10.3).
    "read_plus.back",
    "read_plus.hole",
    "read_plus.eof",
    "read_plus.past_end",
];
const KERNEL_FAILS_42: &[&str] = &[
    // The data behind a hole is zeros (section 15.10.3).
    "read_plus.hole",
    // COPY of a range that ends behind the source copies a part (section 15.2.3).
    "copy.past_end",
];

/// The plan with NFS_VERSION=4.2.
fn with_minor2((plan, mount): (NfsPlan, MountPoint)) -> (NfsPlan, MountPoint) {
    let version = NfsVersion::V42;
    (NfsPlan { version, ..plan }, mount)
}

#[test]
fn ganesha_is_validated_over_version_42() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = with_minor2(plan_for(&ganesha));
    let failed = failed_checks(ganesha.sandbox(), &plan, &mount);
    assert_eq!(failed, [&GANESHA_FAILS[..], GANESHA_FAILS_42].concat());
}

#[test]
fn the_kernel_server_is_validated_over_version_42() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(server) = available(KernelServer::start_in(&sandbox, SERVER)) else {
        return;
    };
    let (plan, mount) = with_minor2(plan_of(server.export()));
    let failed = failed_checks(&sandbox, &plan, &mount);
    assert_eq!(failed, [&KERNEL_FAILS[..], KERNEL_FAILS_42].concat());
}

/// What these servers do over version 4.0 that RFC 7530 does not allow.
const GANESHA_FAILS_40: &[&str] = &[
    // Any verifier confirms a client ID (section 16.34.5).
    "setclientid_confirm.verifier",
    // As over version 4.1.
    "downgrade.access",
    "close.closed",
];
const KERNEL_FAILS_40: &[&str] = &[];

fn with_minor0((plan, mount): (NfsPlan, MountPoint)) -> (NfsPlan, MountPoint) {
    let version = NfsVersion::V40;
    (NfsPlan { version, ..plan }, mount)
}

#[test]
fn ganesha_is_validated_over_version_40() {
    let Some(ganesha) = ganesha() else {
        return;
    };
    let (plan, mount) = with_minor0(plan_for(&ganesha));
    let failed = failed_checks(ganesha.sandbox(), &plan, &mount);
    assert_eq!(failed, GANESHA_FAILS_40);
}

#[test]
fn the_kernel_servers_are_validated_over_version_40() {
    for kernel in Kernel::present() {
        let Some(sandbox) = available(Sandbox::new()) else {
            return;
        };
        let security = KernelSecurity::default();
        let started = KernelServer::start_as(&sandbox, kernel, SERVER, security);
        let Some(mut server) = available(started) else {
            return;
        };
        let (plan, mount) = with_minor0(plan_of(server.export()));
        let failed = failed_checks(&sandbox, &plan, &mount);
        assert_eq!(failed, KERNEL_FAILS_40, "{}", kernel.name());
        // The client IDs stay, and nothing is open or locked under them.
        // Linux 6.12 also lists what is closed.
        let listed = "cat /proc/fs/nfsd/clients/*/states 2>/dev/null | grep -v ', closed,' || true";
        let states = server.run(listed, Duration::from_secs(60));
        assert_eq!(states.expect("a shell").output.trim(), "");
    }
}

/// knfsd of Linux 6.1 grants delegations for reading. It lists what clients have.
#[test]
fn the_kernel_server_s_delegations_are_used_recalled_and_returned() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, SERVER)) else {
        return;
    };
    let (plan, mount) = plan_of(server.export());
    let refusing = plan.clone();
    let plan = keeping(plan);
    let ports = [plan.nfs_port.expect("a port")];
    let capture = available(Capture::start(&sandbox, server.interface(), &ports));
    let states = "cat /proc/fs/nfsd/clients/*/states 2>/dev/null";
    let limit = Duration::from_secs(60);
    let mut listed = || server.run(states, limit).expect("a shell").output;
    let counters = sandbox.run(|| {
        let mut load = Load::new(&plan, &mount);
        // A file that was closed counts as open for writing until the server's cache drops it: it is the
        // OPENs that create a file that get a delegation at once.
        for number in 0..3 {
            load.succeed(create(number));
            load.succeed(write(number));
            load.succeed(read(number));
        }
        let text = listed();
        assert!(text.contains("type: deleg"), "{text}{:?}", load.counters);
        let mut other = Other::new(&refusing, &mount);
        other.writes(&mut load, Name::new(NameKind::Small, 0));
        assert!(load.count("delegations_recalled") > 0);
        load.succeed(read(0));
        load.succeed(write(1));
        drop(other);
        load.end()
    });
    assert_eq!(
        counters["delegations_returned"],
        counters["delegations_read"]
    );
    assert_eq!(counters.get("delegations_revoked"), None);
    assert_eq!(listed().trim(), "");
    if let Some(capture) = capture {
        let pcap = capture.stop().expect("the capture ends");
        assert_eq!(pcap.malformed().expect("tshark"), 0);
    }
}
