use super::*;
use std::time::{Duration, Instant};

fn named(file: FileRef, kind: FileKind) -> FileRef {
    FileRef { kind, ..file }
}

#[test]
#[cfg_attr(
    feature = "portable",
    ignore = "Linux refuses fchmodat with AT_SYMLINK_NOFOLLOW"
)]
fn names_are_made_asked_about_changed_and_removed() {
    for dir in both() {
        let mut bench = Bench::on(dir, PosixPlan::default(), VerifyLevel::All, &["CL0_TEST"]);
        let file = file_in(8, 12);
        let path = bench.path(file);
        bench.good(FileAction::Create { file });
        assert_eq!(std::fs::metadata(&path).expect("made").len(), 0);
        assert_eq!(bench.bad(FileAction::Create { file }), "EEXIST");
        for asking in [
            FileAction::Stat { file },
            FileAction::Access { file },
            FileAction::Statfs { file },
            FileAction::Pathconf { file },
        ] {
            assert_eq!(bench.good(asking).physical, 1);
        }
        bench.good(FileAction::Chmod { file, mode: 0o640 });
        let permissions = std::fs::metadata(&path).expect("file").permissions();
        assert!(!permissions.readonly());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(permissions.mode() & 0o7777, 0o640);
        }
        let renamed = named(file, FileKind::Renamed);
        bench.good(FileAction::Rename {
            from: file,
            to: renamed,
        });
        assert!(!path.exists() && bench.path(renamed).exists());
        bench.good(FileAction::Unlink { file: renamed });
        assert!(!bench.path(renamed).exists());
        let made = named(file, FileKind::MadeDir);
        bench.good(FileAction::Mkdir { file: made });
        assert!(bench.path(made).is_dir());
        assert_eq!(bench.bad(FileAction::Mkdir { file: made }), "EEXIST");
        bench.good(FileAction::Rmdir { file: made });
        assert!(!bench.path(made).exists());
        for missing in [
            FileAction::Stat { file },
            FileAction::Access { file },
            FileAction::Chmod { file, mode: 0o600 },
            FileAction::Statfs { file },
            FileAction::Pathconf { file },
            FileAction::Unlink { file },
            FileAction::Rmdir { file: made },
            FileAction::Rename {
                from: file,
                to: renamed,
            },
        ] {
            assert_eq!(bench.bad(missing), "ENOENT", "{missing:?}");
        }
    }
}

#[test]
#[cfg_attr(feature = "portable", ignore = "calls of a listing are not known")]
fn a_listing_goes_to_the_end() {
    let mut bench = Bench::new();
    let bucket = Bucket::UNLINK;
    let list = FileAction::Readdir { dir: 0, bucket };
    let outcome = bench.good(list);
    assert!(outcome.end);
    assert_eq!(outcome.physical, 2, "the entries, then the end");
    for number in 0..3_000 {
        let file = file_in(bucket.number(), number);
        std::fs::write(bench.path(file), b"").expect("file");
    }
    // 32 bytes each in a buffer of 32 KiB; 88 bytes on Windows.
    let calls = if cfg!(windows) { 10 } else { 4 };
    assert_eq!(bench.good(list).physical, calls);
}

#[test]
fn names_that_stand_for_another_file_are_opened_anew() {
    let mut bench = Bench::new();
    let (a, b) = (file_in(18, 0), named(file_in(18, 0), FileKind::Renamed));
    let read = |file, content| FileAction::Read {
        file,
        content,
        offset: 0,
        length: 4_096,
        io: Io::default(),
    };
    bench.fill(a, 4_096);
    bench.good(read(a, content(a)));
    bench.good(FileAction::Rename { from: a, to: b });
    assert_eq!(bench.bad(read(a, content(a))), "ENOENT");
    bench.good(read(b, content(a)));
    bench.good(FileAction::Unlink { file: b });
    assert_eq!(bench.bad(read(b, content(a))), "ENOENT");
}

#[test]
#[cfg_attr(feature = "portable", ignore = "locks belong to the process")]
fn locks_wait_for_each_other() {
    for dir in both() {
        let mut bench = Bench::on(dir, PosixPlan::default(), VerifyLevel::All, &["CL0_TEST"]);
        let file = file_in(11, 0);
        bench.fill(file, 0);
        let lock = |exclusive| FileAction::Lock {
            file,
            offset: 100,
            length: 50,
            exclusive,
        };
        assert_eq!(bench.good(lock(true)).physical, 2);
        let outside = std::fs::File::options()
            .read(true)
            .write(true)
            .open(bench.path(file))
            .expect("open");
        // A lock of the whole file (flock) is another matter; use the same kind.
        let open = crate::sys::Dir::open_top(&bench.bucket_path(file.bucket)).expect("dir");
        let other = open
            .open_file(c"f0000000", crate::sys::OpenMode::default(), false)
            .expect("file");
        drop(outside);
        assert!(other.try_lock(120, 1, false).expect("lock"));
        // Readers share; a writer waits.
        bench.good(lock(false));
        assert_eq!(bench.counters().get("lock_waits"), None);
        let waiting = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            other.unlock(120, 1).expect("unlocked");
        });
        let outcome = bench.good(lock(true));
        assert!(outcome.done.since(outcome.sent).as_millis_f64() > 30.0);
        waiting.join().expect("joined");
        assert_eq!(bench.counters()["lock_waits"], 1);
    }
}

#[test]
#[cfg_attr(feature = "portable", ignore = "locks belong to the process")]
fn a_wait_for_a_lock_ends_when_all_is_to_end() {
    let mut bench = Bench::new();
    let file = file_in(11, 0);
    bench.fill(file, 0);
    let open = crate::sys::Dir::open_top(&bench.bucket_path(file.bucket)).expect("dir");
    let other = open
        .open_file(c"f0000000", crate::sys::OpenMode::default(), false)
        .expect("file");
    assert!(other.try_lock(0, 10, true).expect("lock"));
    bench.stop.raise();
    let from = Instant::now();
    let lock = FileAction::Lock {
        file,
        offset: 0,
        length: 1,
        exclusive: false,
    };
    assert_eq!(bench.bad(lock), "ETIMEDOUT");
    assert!(from.elapsed() < Duration::from_secs(1));
}

/// A bench whose first custom program has answered `ok 3 4` three times, and has no second one.
#[cfg(unix)]
fn asked_three_times(argv: Vec<String>) -> Bench {
    let plan = PosixPlan {
        custom: [argv, Vec::new()],
        ..PosixPlan::default()
    };
    let mut bench = Bench::on(disk(), plan, VerifyLevel::All, &["CL0_TEST"]);
    let file = file_in(21, 0);
    bench.fill(file, 1);
    for _ in 0..3 {
        let outcome = bench.good(FileAction::Custom { which: 0, file });
        assert_eq!((outcome.read_bytes, outcome.written_bytes), (3, 4));
    }
    assert_eq!(bench.counters()["custom_starts"], 1);
    assert_eq!(bench.bad(FileAction::Custom { which: 1, file }), "ENOSYS");
    bench
}

#[cfg(unix)]
#[test]
fn a_custom_program_is_asked() {
    asked_three_times(crate::testing::answering("ok 3 4"));
}

#[cfg(unix)]
#[test]
fn a_custom_program_is_asked_with_the_path_of_the_file() {
    let script =
        "while read -r op path; do [ -f \"$path\" ] && echo \"ok 3 4\" || echo error; done";
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let mut bench = asked_three_times(argv);
    let missing = file_in(21, 1);
    let text = bench.bad(FileAction::Custom {
        which: 0,
        file: missing,
    });
    assert!(text.contains("custom program"), "{text}");
}
