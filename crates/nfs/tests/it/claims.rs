//! Claiming and releasing: what is ours goes, what is not stays.

use crate::proxy::lie_about;
use crate::support::{claim, mount, plan, start};
use filermark_driver_kit::claim::lease::SystemWatch;
use filermark_driver_kit::claim::{ClaimRole, RenewResult};
use filermark_driver_kit::driver::{ClaimReport, Driver, ReleaseScope};
use filermark_driver_kit::marker::owner_text;
use filermark_driver_kit::run_dirs::{claim_in, release_in};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::name::{MARKER, Name, NameKind};
use filermark_model::plan::NfsPlan;
use filermark_nfs::claim::MountedExport;
use filermark_nfs::client::{Nfs3Client, narrow};
use filermark_nfs::driver::NfsDriver;
use filermark_nfs::target::Target;
use filermark_onc::nfs3::{Createhow3, Fh, Procedure, Sattr3, StableHow};
use filermark_server::{RunningServer, ServerOptions};
use std::sync::Arc;

/// A server, and our own way into it.
struct TestExport {
    server: RunningServer,
    plan: NfsPlan,
    target: Arc<Target>,
    nfs: Nfs3Client,
}

fn claim_at(
    plan: &NfsPlan,
    target: &Arc<Target>,
    claim: &Claim,
) -> Result<(ClaimReport, Fh), DriverError> {
    let mut export = MountedExport::at(plan, target.clone());
    let (report, dir) = claim_in(&mut export, claim, false, &SystemWatch)?;
    Ok((report, narrow(&dir)))
}

fn release_at(
    plan: &NfsPlan,
    target: &Arc<Target>,
    claim: &Claim,
    scope: ReleaseScope,
) -> Result<ClaimReport, DriverError> {
    let mut export = MountedExport::at(plan, target.clone());
    release_in(&mut export, claim, scope, &SystemWatch)
}

impl TestExport {
    fn new(options: ServerOptions) -> Self {
        let (server, port) = start(options);
        let plan = plan(port);
        let target = Arc::new(Target::resolve(&mount(), &plan).expect("resolved"));
        Self {
            server,
            nfs: target.nfs_client(&plan),
            plan,
            target,
        }
    }

    fn find(&mut self, dir: &Fh, name: &[u8]) -> Option<Fh> {
        let found = self.nfs.lookup(dir, name).expect("an answer");
        found.ok().map(|found| found.object)
    }

    fn mkdir(&mut self, dir: &Fh, name: &[u8]) -> Fh {
        let made = self.nfs.mkdir(dir, name, Sattr3::mode(0o755));
        made.expect("an answer")
            .expect("made")
            .obj
            .expect("a handle")
    }

    fn file(&mut self, dir: &Fh, name: &[u8], data: &[u8]) -> Fh {
        let how = Createhow3::Unchecked(Sattr3::mode(0o644));
        let made = self
            .nfs
            .create(dir, name, how)
            .expect("an answer")
            .expect("made");
        let file = made.obj.expect("a handle");
        let wrote = self.nfs.write(&file, 0, StableHow::FileSync, data);
        assert_eq!(
            wrote.expect("an answer").expect("wrote").count as usize,
            data.len()
        );
        file
    }

    /// What a run leaves that was killed: procs, directories, files, links.
    fn leftovers(&mut self, dir: &Fh, files: u32) -> u64 {
        self.leftovers_of(&claim(), dir, files)
    }

    /// A directory with an owner file.
    fn own(&mut self, claim: &Claim, (dir, path): (&Fh, &str)) -> Fh {
        let name = path.rsplit('/').next().unwrap_or(path);
        let made = self.mkdir(dir, name.as_bytes());
        let path = format!("{}/{path}", claim.dir_name);
        let text = owner_text(&path, &claim.nonce());
        self.file(&made, MARKER.as_bytes(), text.as_bytes());
        made
    }

    fn leftovers_of(&mut self, claim: &Claim, dir: &Fh, files: u32) -> u64 {
        let proc_dir = self.own(claim, (dir, "p000000"));
        let io_dir = self.own(claim, (&proc_dir, "p000000/d0001"));
        for number in 0..files {
            self.file(&io_dir, name(NameKind::File, number).as_slice(), b"data");
        }
        self.mkdir(&proc_dir, name(NameKind::MadeDir, 2).as_slice());
        let link = name(NameKind::Symlink, 3);
        self.nfs
            .symlink(&proc_dir, &link, b"x")
            .expect("an answer")
            .expect("made");
        u64::from(files) + 4
    }
}

fn name(kind: NameKind, number: u32) -> Vec<u8> {
    Name::new(kind, number).text().as_bytes().to_vec()
}

#[test]
fn a_directory_is_made_marked_and_removed() {
    let mut place = TestExport::new(ServerOptions::default());
    let root = place.target.root3();
    let (report, dir) = claim_at(&place.plan, &place.target, &claim()).expect("claimed");
    assert_eq!((report.removed_count, report.not_ours.len()), (0, 0));
    assert_eq!(report.transfer_bytes, (1 << 20, 1 << 20));
    assert!(report.space.is_some_and(|space| space.free_bytes > 1 << 30));
    let marker = place.find(&dir, MARKER.as_bytes()).expect("a marker");
    let text = place
        .nfs
        .read(&marker, 0, 4096)
        .expect("an answer")
        .expect("read")
        .data;
    let text = String::from_utf8(text).expect("text");
    assert_eq!(text.lines().next(), Some("run-1"));
    assert!(text.contains("rm -r filermark.test"), "{text}");

    release_at(&place.plan, &place.target, &claim(), ReleaseScope::All).expect("released");
    assert_eq!(place.find(&root, b"filermark.test"), None);
    // Once more does no harm.
    release_at(&place.plan, &place.target, &claim(), ReleaseScope::All).expect("released");
}

#[test]
fn what_an_earlier_run_left_is_removed() {
    let mut place = TestExport::new(ServerOptions::default());
    let (_, dir) = claim_at(&place.plan, &place.target, &claim()).expect("claimed");
    let left = place.leftovers(&dir, 700);
    let later = Claim {
        run_id: "run-2".to_owned(),
        ..claim()
    };
    let (report, again) = claim_at(&place.plan, &place.target, &later).expect("claimed");
    assert_eq!((report.removed_count, report.not_ours), (left, vec![]));
    assert_eq!(dir, again);
    // The earlier run must not remove what is the later one's now.
    let error = release_at(&place.plan, &place.target, &claim(), ReleaseScope::All)
        .expect_err("not its own");
    assert!(
        error.to_string().contains("belongs to run run-2"),
        "{error}"
    );
    place.leftovers_of(&later, &dir, 3);
    let report =
        release_at(&place.plan, &place.target, &later, ReleaseScope::All).expect("released");
    assert_eq!((report.removed_count, report.not_ours), (7, vec![]));
    let root = place.target.root3();
    assert_eq!(place.find(&root, b"filermark.test"), None);
}

#[test]
fn a_connection_that_breaks_does_not_matter() {
    let options = ServerOptions {
        drop: "conn@50".parse().expect("drop"),
        ..ServerOptions::default()
    };
    let mut place = TestExport::new(options);
    // Its own calls are not sent again; the claim's are.
    let (_, dir) = claim_at(&place.plan, &place.target, &claim()).expect("claimed");
    place.plan.rpc_retries = 3;
    let target = place.target.clone();
    place.nfs = target.nfs_client(&place.plan);
    let left = place.leftovers(&dir, 200);
    let report =
        release_at(&place.plan, &place.target, &claim(), ReleaseScope::All).expect("released");
    // A removal whose answer was lost is not counted.
    assert!(report.removed_count <= left && report.removed_count > 100);
    let root = place.target.root3();
    assert_eq!(place.find(&root, b"filermark.test"), None);
}

#[test]
fn a_server_that_only_reports_removals_is_not_called_for_ever() {
    let mut place = TestExport::new(ServerOptions {
        errors: "REMOVE=NFS3ERR_IO".parse().expect("errors"),
        ..ServerOptions::default()
    });
    let (_, dir) = claim_at(&place.plan, &place.target, &claim()).expect("claimed");
    place.leftovers(&dir, 2);
    let forger = lie_about(place.target.nfs_address.port(), |procedure, _, results| {
        let (_, rest) = results.split_first_chunk::<4>()?;
        (procedure == Procedure::Remove).then(|| [&[0; 4], rest].concat())
    });
    let target = Arc::new(Target::resolve(&mount(), &plan(forger)).expect("resolved"));
    let error = claim_at(&place.plan, &target, &later_claim()).expect_err("never empty");
    assert!(
        error.to_string().contains("does not become empty"),
        "{error}"
    );
}

/// That of the next run of the same name.
fn later_claim() -> Claim {
    let mut claim = claim();
    claim.run_id.push('+');
    claim
}

#[test]
fn clients_of_one_run_meet_in_one_directory() {
    let mut place = TestExport::new(ServerOptions::default());
    let (_, dir) = claim_at(&place.plan, &place.target, &claim()).expect("claimed");
    place.leftovers(&dir, 5);
    let (report, _) = claim_at(&place.plan, &place.target, &claim()).expect("joined");
    assert_eq!(report.removed_count, 0);
    let root = place.target.root3();
    let leave =
        |place: &TestExport| release_at(&place.plan, &place.target, &claim(), ReleaseScope::Rest);
    leave(&place).expect("left");
    assert!(
        place.find(&dir, b"p000000").is_some(),
        "others may be at work there"
    );
    release_at(&place.plan, &place.target, &claim(), ReleaseScope::All).expect("released");
    assert_eq!(place.find(&root, b"filermark.test"), None);
    leave(&place).expect("nothing to do");
}

#[test]
fn foreign_names_are_left_and_reported() {
    let mut place = TestExport::new(ServerOptions::default());
    let (_, dir) = claim_at(&place.plan, &place.target, &claim()).expect("claimed");
    let left = place.leftovers(&dir, 5);
    let proc_dir = place.find(&dir, b"p000000").expect("left");
    place.file(&proc_dir, b"thesis.doc", b"years of work");
    // A name of ours that is something else is not ours either.
    place.mkdir(&proc_dir, b"f0000000009");
    place.file(&dir, b"m000077", b"no directory");
    let (report, _) = claim_at(&place.plan, &place.target, &later_claim()).expect("claimed");
    let mut foreign = report.not_ours;
    foreign.sort_unstable();
    assert_eq!(
        foreign,
        [
            "127.0.0.1:/export/filermark.test/m000077",
            "127.0.0.1:/export/filermark.test/p000000/f0000000009",
            "127.0.0.1:/export/filermark.test/p000000/thesis.doc",
        ]
    );
    assert_eq!(
        report.removed_count,
        left - 1,
        "all but the proc's directory"
    );
    let report = release_at(
        &place.plan,
        &place.target,
        &later_claim(),
        ReleaseScope::All,
    )
    .expect("released");
    assert_eq!(report.not_ours.len(), 3);
    assert!(place.find(&proc_dir, b"thesis.doc").is_some());
    assert!(
        place.find(&dir, MARKER.as_bytes()).is_some(),
        "still ours for the next run"
    );
}

#[test]
fn a_directory_without_our_marker_is_refused_unless_empty() {
    let mut place = TestExport::new(ServerOptions::default());
    let root = place.target.root3();
    let dir = place.mkdir(&root, b"filermark.test");
    place.file(&dir, b"f0000000001", b"looks like ours");
    let error = claim_at(&place.plan, &place.target, &claim()).expect_err("not ours");
    let text = error.to_string();
    for part in [
        "127.0.0.1:/export/filermark.test",
        "not empty (f0000000001)",
        "another suffix",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    place.file(&dir, MARKER.as_bytes(), b"another program's\n");
    let error = claim_at(&place.plan, &place.target, &claim()).expect_err("not ours");
    assert!(
        error.to_string().contains("was not written by Filermark"),
        "{error}"
    );
    let error =
        release_at(&place.plan, &place.target, &claim(), ReleaseScope::All).expect_err("not ours");
    assert!(error.to_string().contains("was not written by"), "{error}");
    for name in [&b"f0000000001"[..], MARKER.as_bytes()] {
        place
            .nfs
            .remove(&dir, name)
            .expect("an answer")
            .expect("removed");
    }
    claim_at(&place.plan, &place.target, &claim()).expect("an empty one may be taken");
}

#[test]
fn what_is_in_the_way_or_out_of_place_is_refused() {
    let mut place = TestExport::new(ServerOptions::default());
    let root = place.target.root3();
    place.file(&root, b"filermark.test", b"a file");
    let error = claim_at(&place.plan, &place.target, &claim()).expect_err("a file");
    assert!(error.to_string().contains("not a directory"), "{error}");
    for name in ["..", "elsewhere", "filermark.x/../.."] {
        let claim = Claim {
            dir_name: name.to_owned(),
            ..claim()
        };
        assert!(
            claim_at(&place.plan, &place.target, &claim).is_err(),
            "{name}"
        );
        assert!(
            release_at(&place.plan, &place.target, &claim, ReleaseScope::All).is_err(),
            "{name}"
        );
    }
}

#[test]
fn renewing_the_marker_mounts_nothing() {
    let place = TestExport::new(ServerOptions::default());
    let driver = NfsDriver::new(place.plan.clone());
    driver.claim(&mount(), &claim()).expect("claimed");
    let before = place.server.stats().mount;
    for _ in 0..3 {
        let renewed = driver.renew(&mount(), &claim(), ClaimRole::Own);
        assert_eq!(renewed, Ok(RenewResult::Done));
    }
    assert_eq!(place.server.stats().mount, before);
    driver
        .release(&mount(), &claim(), ReleaseScope::All)
        .expect("released");
    let gone = driver.renew(&mount(), &claim(), ClaimRole::Own);
    assert_eq!(gone, Ok(RenewResult::Missing));
}
