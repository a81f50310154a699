use super::*;
use crate::testing::{link_to_dir, link_to_file};
use filermark_engine::driver::ObjectId;

fn stat(file: FileRef) -> FileAction {
    FileAction::Stat { file }
}

fn read(file: FileRef) -> FileAction {
    FileAction::Read {
        file,
        content: content(file),
        offset: 0,
        length: 10,
        io: Io::default(),
    }
}

#[test]
fn a_link_in_place_of_a_bucket_is_not_followed() {
    let mut bench = Bench::new();
    let outside = disk();
    let theirs = outside.path().join("f0000000");
    std::fs::write(&theirs, b"0123456789").expect("file");
    let file = file_in(8, 0);
    std::fs::remove_dir_all(bench.bucket_path(file.bucket)).expect("bucket");
    if !link_to_dir(outside.path(), &bench.bucket_path(file.bucket)) {
        return;
    }
    for action in [
        stat(file),
        read(file),
        FileAction::Unlink { file },
        FileAction::Chmod { file, mode: 0o777 },
        FileAction::Create {
            file: file_in(8, 1),
        },
        FileAction::Fill {
            file,
            content: 0,
            size: 0,
            reuse: false,
        },
        FileAction::Readdir {
            dir: 0,
            bucket: file.bucket,
        },
    ] {
        assert_eq!(bench.bad(action), "ENOTDIR", "{action:?}");
    }
    assert_eq!(bench.bad(FileAction::MakeDirs { dir: 0 }), "ENOTDIR");
    bench.act(FileAction::RemoveDirs { dir: 0 });
    assert_eq!(std::fs::read(&theirs).expect("left"), b"0123456789");
    assert_eq!(std::fs::read_dir(outside.path()).expect("dir").count(), 1);
}

#[test]
fn a_link_in_place_of_a_file_is_not_followed() {
    let mut bench = Bench::new();
    let outside = disk();
    let theirs = outside.path().join("theirs");
    std::fs::write(&theirs, b"0123456789").expect("file");
    let file = file_in(0, 0);
    if !link_to_file(&theirs, &bench.path(file)) {
        return;
    }
    for action in [
        read(file),
        FileAction::Fill {
            file,
            content: 0,
            size: 3,
            reuse: false,
        },
        FileAction::Truncate { file, size: 0 },
    ] {
        assert_eq!(bench.bad(action), "ELOOP", "{action:?}");
    }
    bench.act(FileAction::Chmod { file, mode: 0o777 });
    bench.good(FileAction::RemoveDirs { dir: 0 });
    assert_eq!(std::fs::read(&theirs).expect("left"), b"0123456789");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let theirs = std::fs::metadata(&theirs).expect("left");
        assert_eq!(theirs.permissions().mode() & 0o777, 0o644);
    }
}

/// Windows has none in directories.
#[cfg(unix)]
#[test]
fn a_special_file_does_not_hold_us() {
    let mut bench = Bench::new();
    let file = file_in(0, 0);
    let path = bench.path(file);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    assert_eq!(bench.bad(read(file)), "ESPIPE");
}

#[test]
fn a_run_directory_that_is_gone_has_its_own_error() {
    let mut bench = Bench::new();
    let file = file_in(0, 0);
    bench.fill(file, 10);
    assert_eq!(bench.bad(stat(file_in(0, 1))), "ENOENT");
    let away = bench.dir.path().join("away");
    std::fs::rename(bench.run_dir(), &away).expect("moved");
    assert_eq!(
        bench.bad(stat(file_in(0, 1))),
        "the run's directory is gone"
    );
    let Status::Refused(code) = bench.act(stat(file_in(0, 1))).status else {
        panic!("not refused");
    };
    assert!(
        bench
            .driver
            .fatal_advice(code)
            .is_some_and(|a| a.contains("unmounted"))
    );
}

#[test]
fn numbers_without_a_name_are_refused() {
    let mut bench = Bench::new();
    let huge = FileRef {
        file: 10_000_000,
        ..file_in(0, 0)
    };
    let far = FileRef {
        dir: 10_000,
        ..file_in(0, 0)
    };
    for file in [huge, far] {
        for action in [stat(file), read(file), FileAction::Unlink { file }] {
            assert_eq!(bench.bad(action), "EINVAL", "{action:?}");
        }
    }
    assert_eq!(bench.bad(FileAction::MakeDirs { dir: 10_000 }), "EINVAL");
    let unknown = submit(bench.shard.as_mut(), 99, stat(file_in(0, 0)));
    assert!(matches!(unknown.status, Status::Refused(_)));
}

#[test]
fn actions_of_other_drivers_are_refused() {
    let mut bench = Bench::new();
    let request = Request {
        token: 1,
        proc: 0,
        action: Action::Getattr {
            object: ObjectId(0),
        },
    };
    let Submit::Done(outcome) = bench.shard.submit(&request) else {
        panic!("not done");
    };
    assert_eq!(outcome.status, Status::Refused(crate::sys::Errno::NOSYS.0));
}

#[test]
fn a_second_shard_sees_the_same_files() {
    let mut bench = Bench::new();
    let file = file_in(0, 0);
    bench.fill(file, 10);
    let mut second = bench.second_shard();
    assert_eq!(submit(second.as_mut(), 0, read(file)).status, Status::Ok);
}

#[test]
fn a_shard_without_trees_is_refused() {
    let bench = Bench::new();
    let mut setup = bench.setup.clone();
    setup.procs[0].tree = None;
    let error = bench.driver.open_shard(setup).err().expect("refused");
    assert!(error.to_string().contains("workload objects"), "{error}");
    let mut setup = bench.setup.clone();
    setup.claim.dir_name = "filermark.other".to_owned();
    let error = bench.driver.open_shard(setup).err().expect("refused");
    assert!(error.to_string().contains("ENOENT"), "{error}");
}
