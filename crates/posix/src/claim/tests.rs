use super::*;
use crate::PosixDriver;
use crate::testing::{link_to_dir, link_to_file};
use filermark_driver_kit::driver::Driver;
use filermark_driver_kit::driver::ReleaseScope;
use filermark_driver_kit::marker::{marker_run, owner_text};
use filermark_engine::name::MARKER;
use filermark_model::plan::PosixPlan;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct TestDir {
    dir: TempDir,
    driver: PosixDriver,
    claim: Claim,
}

impl TestDir {
    fn with(plan: PosixPlan) -> Self {
        Self {
            dir: tempfile::tempdir().expect("dir"),
            driver: PosixDriver::new(plan),
            claim: Claim {
                dir_name: "filermark.test".to_owned(),
                run_id: "run-1".to_owned(),
            },
        }
    }

    fn new() -> Self {
        Self::with(PosixPlan::default())
    }

    fn mount(&self) -> MountPoint {
        mount_at(self.dir.path())
    }

    fn claim(&self) -> Result<ClaimReport, DriverError> {
        self.driver.claim(&self.mount(), &self.claim)
    }

    /// The next run of the same name comes.
    fn claim_later(&mut self) -> Result<ClaimReport, DriverError> {
        self.claim.run_id.push('+');
        self.claim()
    }

    fn release(&self) -> Result<ClaimReport, DriverError> {
        self.driver
            .release(&self.mount(), &self.claim, ReleaseScope::All)
    }

    /// How a path below the run directory is named in messages.
    fn place(&self, path: &str) -> String {
        format!("{}/filermark.test/{path}", self.mount())
    }

    fn run_dir(&self) -> PathBuf {
        self.dir.path().join("filermark.test")
    }

    /// Puts a file there, with the directories above it, which have owner files.
    fn put(&self, path: &str) -> PathBuf {
        if let Some((dir, _)) = path.rsplit_once('/') {
            self.own(dir);
        }
        let path = self.run_dir().join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("dirs");
        std::fs::write(&path, b"x").expect("file");
        path
    }

    /// Makes directories as INIT does.
    fn own(&self, path: &str) {
        let mut at = self.claim.dir_name.clone();
        for name in path.split('/') {
            at.push('/');
            at.push_str(name);
            let dir = self.dir.path().join(&at);
            std::fs::create_dir_all(&dir).expect("dirs");
            let made = name.starts_with('m');
            if !made && !dir.join(MARKER).exists() {
                let text = owner_text(&at, &self.claim.nonce());
                std::fs::write(dir.join(MARKER), text).expect("owner file");
            }
        }
    }
}

fn mount_at(path: &Path) -> MountPoint {
    MountPoint {
        host: "here".to_owned(),
        path: path.to_str().expect("path").to_owned(),
    }
}

#[test]
#[cfg_attr(feature = "portable", ignore = "facts about the mount are of Linux")]
fn a_directory_is_claimed_reported_and_released() {
    let ground = TestDir::new();
    let report = ground.claim().expect("claimed");
    let names: Vec<_> = std::fs::read_dir(ground.run_dir())
        .expect("dir")
        .map(|e| e.expect("entry").file_name())
        .collect();
    assert_eq!(names, [MARKER], "the probe leaves nothing");
    let marker = std::fs::read(ground.run_dir().join(MARKER)).expect("marker");
    assert_eq!(marker_run(&marker).as_deref(), Some("run-1"));
    assert!(report.space.is_some_and(|space| space.free_bytes > 0));
    for fact in [
        "file system",
        "source",
        "mount options",
        "block bytes",
        "total bytes",
    ] {
        let known = report
            .server_facts
            .iter()
            .any(|(n, v)| n == fact && !v.is_empty());
        assert!(known, "{fact}: {:?}", report.server_facts);
    }
    assert_eq!(report.removed_count, 0);
    ground.release().expect("released");
    assert!(!ground.run_dir().exists() && ground.dir.path().exists());
    ground.release().expect("again is fine");
}

#[test]
fn a_file_system_that_was_unmounted_is_an_error() {
    let ground = TestDir::new();
    ground.claim().expect("claimed");
    // Another directory is at the path: what a lazy unmount leaves.
    let aside = ground.dir.path().with_extension("aside");
    std::fs::rename(ground.dir.path(), &aside).expect("rename");
    std::fs::create_dir(ground.dir.path()).expect("an empty one");
    let error = ground.release().expect_err("not there").to_string();
    assert!(
        error.contains("unmounted") && error.contains("filermark.test"),
        "{error}"
    );
    // Mounted again in time, it is well.
    std::fs::remove_dir(ground.dir.path()).expect("remove");
    std::fs::rename(&aside, ground.dir.path()).expect("rename");
    ground.release().expect("released");
    assert!(!ground.run_dir().exists());
}

#[test]
fn leftovers_of_ours_go_and_foreign_names_stay() {
    let mut ground = TestDir::new();
    ground.claim().expect("claimed");
    for ours in [
        "CL0_VDA1/d0000/b00/f0000000",
        "CL0_VDA1/d0000/b18/r0000003",
        "SM_X/d0012/b17/c0000000",
        ".filermark-probe-77",
    ] {
        ground.put(ours);
    }
    ground.own("SM_X/d0012/b07/m0000001");
    let foreign = [
        "letter.txt",
        "CL0_VDA1/letter",
        "CL0_VDA1/d0000/d0000/f0000000",
        "CL0_VDA1/d0000/b00/f1",
        "SM_X/d0012/b07/m0000002/deep",
        "CL_VDA1/d0000/b00/f0000000",
        "p000000/f0000000",
    ]
    .map(|path| ground.put(path));
    let report = ground.claim_later().expect("claimed again");
    assert_eq!(
        report.not_ours.len(),
        foreign.len(),
        "{:?}",
        report.not_ours
    );
    assert!(report.not_ours.contains(&ground.place("CL0_VDA1/letter")));
    assert!(report.removed_count >= 7);
    let report = ground.release().expect("released");
    assert_eq!(
        report.not_ours.len(),
        foreign.len(),
        "{:?}",
        report.not_ours
    );
    for path in &foreign {
        assert!(path.exists(), "{}", path.display());
    }
    assert!(ground.run_dir().join(MARKER).exists());
    assert!(!ground.run_dir().join("SM_X/d0012/b17").exists());
}

#[test]
fn clients_of_one_run_meet_in_one_directory() {
    let ground = TestDir::new();
    ground.claim().expect("claimed");
    let file = ground.put("CL0_VDA1/d0000/b00/f0000000");
    let report = ground.claim().expect("joined");
    assert_eq!((report.removed_count, file.exists()), (0, true));
    // One that leaves takes nothing of the others'; the last takes the directory.
    let leave = || {
        ground
            .driver
            .release(&ground.mount(), &ground.claim, ReleaseScope::Rest)
    };
    leave().expect("left");
    assert!(file.exists() && ground.run_dir().join(MARKER).exists());
    std::fs::remove_dir_all(ground.run_dir().join("CL0_VDA1")).expect("removed");
    leave().expect("left");
    assert!(!ground.run_dir().exists());
    leave().expect("nothing to do");
}

/// Processes of several hosts may have one number, as those of threads here do.
#[test]
fn clients_of_one_run_look_at_a_directory_side_by_side() {
    let ground = TestDir::new();
    ground.claim().expect("claimed");
    let claims = || (0..50).try_for_each(|_| ground.claim().map(drop));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(claims)).collect();
        for thread in threads {
            thread
                .join()
                .expect("no panic")
                .expect("all of them are let in");
        }
    });
}

#[test]
fn what_is_kept_is_kept_if_wanted() {
    let plan = PosixPlan {
        reuse_kept: true,
        ..PosixPlan::default()
    };
    let mut ground = TestDir::with(plan);
    ground.claim().expect("claimed");
    let file = ground.put("CL0_VDA1/d0000/b00/f0000000");
    ground.put("letter");
    let report = ground.claim_later().expect("claimed again");
    assert!(file.exists());
    assert_eq!(report.not_ours, [ground.place("letter")]);
}

#[test]
fn what_is_not_ours_is_refused_and_left() {
    let ground = TestDir::new();
    let theirs = ground.put("theirs");
    let error = ground.claim().expect_err("refused").to_string();
    assert!(error.contains("not empty (theirs)"), "{error}");
    ground.put(MARKER);
    let error = ground.claim().expect_err("refused").to_string();
    assert!(error.contains("not written by Filermark"), "{error}");
    assert!(ground.release().is_err());
    assert!(theirs.exists());
    // A link to a marker is none.
    let ground = TestDir::new();
    ground.put("theirs");
    let elsewhere = TestDir::new();
    elsewhere.claim().expect("claimed");
    let marker = elsewhere.run_dir().join(MARKER);
    if link_to_file(&marker, &ground.run_dir().join(MARKER)) {
        assert!(ground.claim().is_err());
    }
}

#[test]
fn a_run_that_took_over_keeps_its_directory() {
    let mut ground = TestDir::new();
    ground.claim().expect("claimed");
    ground.claim.run_id = "run-2".to_owned();
    let error = ground.release().expect_err("refused").to_string();
    assert!(error.contains("belongs to run run-1"), "{error}");
    ground.claim().expect("taken over");
    ground.release().expect("released");
}

#[test]
fn links_are_not_followed_out() {
    let mut ground = TestDir::new();
    let outside = tempfile::tempdir().expect("dir");
    let theirs = outside.path().join("d0000/b00/f0000000");
    std::fs::create_dir_all(theirs.parent().expect("parent")).expect("dirs");
    std::fs::write(&theirs, b"x").expect("file");
    ground.claim().expect("claimed");
    if !link_to_dir(outside.path(), &ground.run_dir().join("CL0_A")) {
        return;
    }
    let report = ground.claim_later().expect("claimed");
    assert_eq!(
        report.not_ours,
        [ground.place("CL0_A (it is not a directory)")]
    );
    assert!(theirs.exists());
    // The run's directory itself.
    let ground = TestDir::new();
    assert!(link_to_dir(outside.path(), &ground.run_dir()));
    let error = ground.claim().expect_err("refused").to_string();
    assert!(error.contains("not a directory"), "{error}");
    assert!(ground.release().is_err());
    assert_eq!(std::fs::read_dir(outside.path()).expect("dir").count(), 1);
}

#[test]
fn a_mount_point_that_cannot_be_used_is_an_error_with_advice() {
    let ground = TestDir::new();
    let claim_at = |path: PathBuf| {
        let report = ground.driver.claim(&mount_at(&path), &ground.claim);
        report.expect_err("refused").to_string()
    };
    let missing = claim_at(ground.dir.path().join("none"));
    assert!(
        missing.contains("ENOENT") && missing.contains("mounted"),
        "{missing}"
    );
    let file = ground.dir.path().join("file");
    std::fs::write(&file, b"").expect("file");
    assert!(claim_at(file).contains("ENOTDIR"));
    #[cfg(target_os = "linux")]
    assert!(claim_at(PathBuf::from("/proc")).contains("make the run's directory"));
    let mut forged = TestDir::new();
    for name in ["filermark.a/../../x", "etc", "filermark.\0"] {
        forged.claim.dir_name = name.to_owned();
        assert!(forged.claim().is_err(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_directory_without_write_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    // Root may write everywhere but to /sys.
    let ground = TestDir::new();
    std::fs::set_permissions(ground.dir.path(), PermissionsExt::from_mode(0o555)).expect("mode");
    let place = match rustix::process::geteuid().is_root() {
        true => mount_at(Path::new("/sys")),
        false => ground.mount(),
    };
    let error = ground
        .driver
        .claim(&place, &ground.claim)
        .expect_err("refused");
    assert!(
        !error.reason.is_empty() && !error.advice.is_empty(),
        "{error}"
    );
}

#[test]
fn missing_functions_are_reported() {
    let shm = Path::new("/dev/shm");
    let ground = TestDir::new();
    let report = ground.claim().expect("claimed");
    // A disk's file system does it all.
    assert_eq!(report.lacking, Vec::<String>::new());
    if let Ok(dir) = tempfile::tempdir_in(shm) {
        let report = ground.driver.claim(&mount_at(dir.path()), &ground.claim);
        let lacking = report.expect("claimed").lacking;
        assert!(
            lacking.iter().all(|l| l.contains("O_DIRECT")),
            "{lacking:?}"
        );
    }
}
