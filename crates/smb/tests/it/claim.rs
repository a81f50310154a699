//! Claims on Samba's shares: what is ours goes, what is not stays, and every refusal is
//! a sentence.

use super::rig::{plan, samba};
use filermark_driver_kit::driver::{ClaimReport, Driver, ReleaseScope};
use filermark_driver_kit::marker::{marker_run, marker_text, owner_text};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::name::MARKER;
use filermark_model::Secret;
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::smb::Dialect;
use filermark_smb::driver::SmbDriver;
use filermark_smb::login::LoginRefusals;
use filermark_smb::survey::survey;
use filermark_testbed::{Samba, SambaOptions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::time::Instant;

pub const DIALECTS: [Dialect; 3] = [Dialect::Nt1, Dialect::V202, Dialect::V311];

pub fn this_run() -> Claim {
    Claim {
        dir_name: "filermark.claimed".into(),
        run_id: "20260101-this".into(),
    }
}

fn mount(path: &str) -> MountPoint {
    MountPoint {
        host: "127.0.0.1".into(),
        path: format!(r"\{path}"),
    }
}

pub fn claim(plan: &SmbPlan, path: &str) -> Result<ClaimReport, DriverError> {
    SmbDriver::new(plan.clone()).claim(&mount(path), &this_run())
}

pub fn release(plan: &SmbPlan, path: &str) -> Result<ClaimReport, DriverError> {
    SmbDriver::new(plan.clone()).release(&mount(path), &this_run(), ReleaseScope::All)
}

/// Makes what a path below a directory says, for smbd's user to do with as it likes:
/// one with a slash at its end is a directory.
pub fn make(dir: &Path, path: &str, bytes: &[u8]) {
    let whole = dir.join(path);
    match path.ends_with('/') {
        true => std::fs::create_dir_all(&whole).expect("made"),
        false => std::fs::write(&whole, bytes).expect("written"),
    }
    std::fs::set_permissions(&whole, std::fs::Permissions::from_mode(0o777)).expect("open to all");
}

/// Makes a directory as INIT does.
pub fn own(run_dir: &Path, path: &str, claim: &Claim) {
    make(run_dir, &format!("{path}/"), b"");
    let whole = format!("{}/{path}", claim.dir_name);
    let text = owner_text(&whole, &claim.nonce());
    make(run_dir, &format!("{path}/{MARKER}"), text.as_bytes());
}

/// A directory that an earlier run of ours has left.
pub fn leave_behind(dir: &Path, files: usize) {
    make(dir, "filermark.claimed/", b"");
    let dir = dir.join("filermark.claimed");
    let old = Claim {
        run_id: "20250101-old".into(),
        ..this_run()
    };
    make(&dir, MARKER, marker_text(&old).as_bytes());
    for path in ["p000000", "p000000/d0000", "p000001"] {
        own(&dir, path, &old);
    }
    make(&dir, "p000001/m000004/", b"");
    make(&dir, "p000001/n000007", b"x");
    for number in 0..files {
        make(&dir, &format!("p000000/d0000/f{number:010}"), b"");
    }
}

fn run_in(dir: &Path) -> Option<String> {
    marker_run(&std::fs::read(dir.join("filermark.claimed").join(MARKER)).ok()?)
}

#[test]
fn a_directory_is_claimed_joined_and_given_back() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    for dialect in DIALECTS {
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            let report = claim(&plan, Samba::SECOND).expect("claimed");
            assert_eq!((report.removed_count, report.not_ours.len()), (0, 0));
            assert!(
                report.space.is_some_and(|space| space.free_bytes > 0),
                "{report:?}"
            );
            assert!(report.transfer_bytes.0 >= 4096, "{report:?}");
            let facts = &report.server_facts;
            assert!(
                facts.contains(&("dialect".into(), dialect.name().into())),
                "{facts:?}"
            );
            assert_eq!(run_in(&dir).as_deref(), Some("20260101-this"));
            own(&dir.join("filermark.claimed"), "p000000", &this_run());
            claim(&plan, Samba::SECOND).expect("joined");
            assert!(dir.join("filermark.claimed/p000000").exists());
            let driver = SmbDriver::new(plan.clone());
            let rest = driver.release(&mount(Samba::SECOND), &this_run(), ReleaseScope::Rest);
            assert_eq!(rest.expect("nothing done").removed_count, 0);
            let gone = release(&plan, Samba::SECOND).expect("given back");
            assert_eq!(gone.removed_count, 1);
            assert!(!dir.join("filermark.claimed").exists());
            release(&plan, Samba::SECOND).expect("gone already");
        });
    }
}

#[test]
fn leftovers_are_swept_many_at_a_time_and_foreign_names_stay() {
    const FILES: usize = 3000;
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    for dialect in DIALECTS {
        leave_behind(&dir, FILES);
        let run = dir.join("filermark.claimed");
        make(&run, "p000000/d0000/thesis.doc", b"years of work");
        make(&run, "p000000/d0000/F0000000001", b"in capitals");
        let hostile = "p000001/..\u{fffd}%2e: \u{1F600} \u{7f}";
        make(&run, hostile, b"");
        std::os::unix::fs::symlink("/etc", run.join("p000001/way out")).expect("a link");
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            let began = Instant::now();
            let report = claim(&plan, Samba::SECOND).expect("claimed");
            let took = began.elapsed();
            eprintln!("{dialect}: {FILES} leftovers in {took:?}");
            // Its capitals make it the same name to the server: whichever of both it
            // removed, the other gets an error.
            assert_eq!(
                report.removed_count,
                FILES as u64 + 2,
                "{:?}",
                report.not_ours
            );
            let foreign = report.not_ours.join("\n");
            assert!(
                foreign.contains(r"filermark.claimed\p000000\d0000\thesis.doc"),
                "{foreign}"
            );
            assert!(foreign.contains(r"F0000000001"), "{foreign}");
            assert_eq!(run_in(&dir).as_deref(), Some("20260101-this"));
            assert!(run.join("p000000/d0000/thesis.doc").exists());
            let released = release(&plan, Samba::SECOND).expect("given back as far as it goes");
            assert!(!released.not_ours.is_empty());
        });
        assert!(run.join(MARKER).exists(), "it stays with what is foreign");
        std::fs::remove_dir_all(&run).expect("removed");
    }
}

/// Smbd follows symbolic links by itself and shows them as plain directories.
#[test]
fn links_that_the_server_follows_are_not_entered() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    for dialect in DIALECTS {
        leave_behind(&dir, 2);
        let run = dir.join("filermark.claimed");
        for path in ["userdata/", "userdata/d0000/", "userdata/m000001/"] {
            make(&dir, path, b"");
        }
        let canaries = [
            "userdata/d0000/f0000000000",
            "userdata/f0000000001",
            "userdata/n000007",
        ];
        for canary in canaries {
            make(&dir, canary, b"years of work");
        }
        // A name of ours in our tree that is one more name of a foreign file: the name
        // goes, the file stays.
        let linked = run.join("p000000/d0000/f0000000009");
        std::fs::hard_link(dir.join(canaries[1]), linked).expect("a hard link");
        for (link, target) in [
            ("p000077", "../userdata"),
            ("p000001/d0003", "../../userdata/d0000"),
            ("p000000/d0000/f0000000077", "../../../userdata/n000007"),
            ("p000005", "p000000"),
        ] {
            std::os::unix::fs::symlink(target, run.join(link)).expect("a link");
        }
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            let report = claim(&plan, Samba::SECOND).expect("claimed");
            let foreign = report.not_ours.join("\n");
            for named in [r"claimed\p000077", r"p000001\d0003", r"claimed\p000005"] {
                assert!(foreign.contains(named), "{dialect}: {named} in {foreign}");
            }
            assert!(report.occupied.contains(&"p000077".to_owned()));
            let released = release(&plan, Samba::SECOND).expect("given back as far as it goes");
            assert!(!released.not_ours.is_empty());
            for link in ["p000077", "p000001/d0003", "p000005"] {
                let _ = std::fs::remove_file(run.join(link));
            }
            release(&plan, Samba::SECOND).expect("given back");
        });
        for canary in canaries {
            let bytes = std::fs::read(dir.join(canary)).expect("it is there");
            assert_eq!(bytes, b"years of work", "{dialect}: {canary}");
        }
        assert!(dir.join("userdata/m000001").exists());
        assert!(!run.exists(), "{dialect}: all that is ours is gone");
        std::fs::remove_dir_all(dir.join("userdata")).expect("removed");
    }
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    for dialect in DIALECTS {
        let plan = plan(&samba, dialect);
        let refused = |reason: &str| {
            samba.sandbox().run(|| {
                let error = claim(&plan, Samba::SECOND).expect_err("not ours");
                assert!(error.reason.contains(reason), "{error}");
                assert!(error.advice.contains("leaves it alone"), "{error}");
                release(&plan, Samba::SECOND).expect_err("not ours");
            });
        };
        make(&dir, "filermark.claimed", b"a file");
        refused("not a directory");
        std::fs::remove_file(dir.join("filermark.claimed")).expect("removed");
        make(&dir, "filermark.claimed/", b"");
        make(&dir, "filermark.claimed/diary", b"dear diary");
        refused("not empty (diary)");
        make(
            &dir,
            &format!("filermark.claimed/{MARKER}"),
            b"my own words",
        );
        refused("not written by Filermark");
        std::fs::remove_file(dir.join("filermark.claimed").join(MARKER)).expect("removed");
        make(&dir, &format!("filermark.claimed/{MARKER}/"), b"");
        refused("not written by Filermark");
        assert!(dir.join("filermark.claimed/diary").exists());
        std::fs::remove_dir_all(dir.join("filermark.claimed")).expect("removed");
        leave_behind(&dir, 3);
        samba.sandbox().run(|| {
            let error = release(&plan, Samba::SECOND).expect_err("another run's");
            assert!(
                error.reason.contains("belongs to run 20250101-old"),
                "{error}"
            );
            let early = Claim {
                run_id: "20250101-".into(),
                ..this_run()
            };
            let driver = SmbDriver::new(plan.clone());
            let swept = driver.release(&mount(Samba::SECOND), &early, ReleaseScope::Leftovers);
            assert_eq!(swept.expect("swept").removed_count, 8);
            assert!(!dir.join("filermark.claimed").exists());
        });
    }
}

#[test]
fn refusals_have_advice() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    make(&samba.files(Samba::DATA), "closed/", b"");
    let closed = samba.files(Samba::DATA).join("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).expect("closed");
    chown(&closed, Some(0), Some(0)).expect("root's");
    let filling = samba.files(Samba::SMALL).join("filling");
    for dialect in DIALECTS {
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            for (path, reason, advice) in [
                (Samba::READ_ONLY, "", "read-only"),
                (
                    r"data\closed",
                    "STATUS_ACCESS_DENIED",
                    "user alice has no permission",
                ),
                (r"data\missing", "NOT_FOUND", "no such directory"),
                ("nosuch", "BAD_NETWORK_NAME", "no share of this name"),
                (Samba::BOB, "ACCESS_DENIED", "has no access to this share"),
            ] {
                let error = claim(&plan, path).expect_err(path);
                assert!(error.reason.contains(reason), "{error}");
                assert!(error.advice.contains(advice), "{error}");
                assert!(
                    error.place.starts_with(&format!(r"\\127.0.0.1\{path}")),
                    "{error}"
                );
            }
            let error = release(&plan, "nosuch").expect_err("no share");
            assert!(error.advice.contains("stays"), "{error}");
        });
        // tmpfs makes directories while it has not got a page left.
        while std::fs::write(&filling, vec![1; 8 << 20]).is_ok() {}
        samba.sandbox().run(|| {
            let error = claim(&plan, Samba::SMALL).expect_err("full");
            assert!(error.reason.contains("STATUS_DISK_FULL"), "{error}");
            assert!(error.advice.contains("free some space"), "{error}");
        });
        std::fs::remove_file(&filling).expect("removed");
        assert!(
            !samba.files(Samba::SMALL).join("filermark.claimed").exists(),
            "undone"
        );
    }
}

/// Files that are still open when the directory is released.
#[test]
fn connections_that_have_just_ended_are_waited_for() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND).join("filermark.claimed");
    for dialect in [Dialect::Nt1, Dialect::V311] {
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            claim(&plan, Samba::SECOND).expect("claimed");
            own(&dir, "p000000", &this_run());
            own(&dir, "p000000/d0000", &this_run());
            make(&dir, "p000000/d0000/f0000000001", b"");
            let target = filermark_smb::target::Target::of(&mount(Samba::SECOND)).unwrap();
            let (mut client, _) =
                filermark_smb::client::Client::connect(&target, &plan, &LoginRefusals::default())
                    .expect("a session");
            let path = r"filermark.claimed\p000000\d0000\f0000000001";
            let update = filermark_smb::client::OpenFor::Update;
            client.files().open(path, update).expect("open");
            let ends = std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(700));
                drop(client);
            });
            let released = release(&plan, Samba::SECOND).expect("given back");
            assert_eq!(released.not_ours, [""; 0]);
            assert!(!dir.exists());
            ends.join().expect("ended");
        });
    }
}

#[test]
fn servers_are_looked_at_and_left_as_they_were() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for dialect in DIALECTS {
        let plan = plan(&samba, dialect);
        let mounts: Vec<MountPoint> = [Samba::DATA, Samba::READ_ONLY, "nosuch", r"data\missing"]
            .map(mount)
            .into();
        let before: Vec<_> = std::fs::read_dir(samba.files(Samba::DATA))
            .unwrap()
            .collect();
        let servers = samba
            .sandbox()
            .run(|| survey(&mounts, &plan, &LoginRefusals::default()));
        let after: Vec<_> = std::fs::read_dir(samba.files(Samba::DATA))
            .unwrap()
            .collect();
        assert_eq!(before.len(), after.len());
        let [server] = servers.as_slice() else {
            panic!("{servers:?}");
        };
        assert!(server.connected.is_ok(), "{server:?}");
        let shares: Vec<_> = server.shares.iter().map(|s| s.entered.as_ref()).collect();
        let [data, read_only, nosuch, missing] = shares.as_slice() else {
            panic!("{shares:?}");
        };
        let data = data.expect("it lets us in");
        assert!(data.writable && data.report.space.is_some(), "{data:?}");
        assert!(!read_only.expect("it lets us in").writable);
        let nosuch = nosuch.expect_err("none").to_string();
        assert!(nosuch.contains("no share of this name"), "{nosuch}");
        let missing = missing.expect_err("none").to_string();
        assert!(missing.contains("no such directory"), "{missing}");
    }
    let wrong = SmbPlan {
        password: Secret::new("wrong"),
        ..plan(&samba, Dialect::V311)
    };
    let before = samba.logons().len();
    samba.sandbox().run(|| {
        let mounts = [Samba::DATA, Samba::SECOND].map(mount);
        let servers = survey(&mounts, &wrong, &LoginRefusals::default());
        assert!(
            servers[0].shares.iter().all(|s| s.entered.is_err()),
            "{servers:?}"
        );
    });
    assert_eq!(samba.logons().len() - before, 1, "tried once");
}
