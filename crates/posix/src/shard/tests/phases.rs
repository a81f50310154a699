use super::*;
use filermark_driver_kit::marker::owner_text;
use filermark_engine::name::MARKER;

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("dir");
    let mut names: Vec<String> = entries
        .map(|e| e.expect("entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != MARKER)
        .collect();
    names.sort();
    names
}

#[test]
fn a_tree_is_made_and_made_again_without_harm() {
    let mut bench = Bench::new();
    let tree = bench.run_dir().join("CL0_TEST");
    assert_eq!(names_in(&tree), ["d0000"]);
    assert_eq!(names_in(&tree.join("d0000")).len(), 24);
    for dir in ["CL0_TEST", "CL0_TEST/d0000", "CL0_TEST/d0000/b07"] {
        let owner = std::fs::read_to_string(bench.run_dir().join(dir).join(MARKER));
        let path = format!("{}/{dir}", claim().dir_name);
        assert_eq!(
            owner.expect("owner file"),
            owner_text(&path, &claim().nonce())
        );
    }
    let file = file_in(0, 0);
    bench.fill(file, 10);
    for action in [FileAction::MakeTree, FileAction::MakeDirs { dir: 0 }] {
        bench.good(action);
    }
    assert!(bench.path(file).exists());
}

#[test]
fn files_of_the_right_size_and_contents_are_reused_if_wanted() {
    for checking in [VerifyLevel::Sample, VerifyLevel::All] {
        let mut bench = Bench::on(disk(), PosixPlan::default(), checking, &["CL0_TEST"]);
        let file = file_in(0, 0);
        let path = bench.path(file);
        let mut fill = |size, reuse| {
            let content = content(file);
            bench.good(FileAction::Fill {
                file,
                content,
                size,
                reuse,
            })
        };
        let size = || std::fs::metadata(&path).expect("file").len();
        // A file of another owner is made again, whatever its size.
        std::fs::write(&path, [7; 3_000]).expect("file");
        assert_eq!(fill(3_000, true).written_bytes, 3_000);
        assert_eq!(fill(3_000, true).written_bytes, 0);
        assert_eq!(fill(2_999, true).written_bytes, 2_999);
        assert_eq!(size(), 2_999);
        assert_eq!(fill(2_999, false).written_bytes, 2_999);
        let large = 2 * 1024 * 1024 + 77;
        let outcome = fill(large, true);
        assert_eq!((outcome.written_bytes, outcome.physical), (large, 4));
        assert_eq!(size(), large);
        assert!(is_of(file, &std::fs::read(&path).expect("file")));
        let reused = bench.counters().get("reused_files").copied();
        assert_eq!(reused, Some(1));
    }
}

#[test]
fn a_fill_ends_when_all_is_to_end() {
    let mut bench = Bench::new();
    bench.stop.raise();
    let fill = FileAction::Fill {
        file: file_in(0, 0),
        content: 0,
        size: 1 << 30,
        reuse: false,
    };
    assert_eq!(bench.bad(fill), "ECANCELED");
}

#[test]
fn removal_takes_what_is_ours_and_leaves_the_rest() {
    let mut bench = Bench::new();
    bench.good(FileAction::MakeDirs { dir: 1 });
    for bucket in [0, 7, 8, 23] {
        for (kind, number) in [(FileKind::File, 0), (FileKind::Renamed, 9)] {
            let file = file_in(bucket, number);
            bench.fill(FileRef { kind, ..file }, 10);
        }
    }
    let made = FileRef {
        kind: FileKind::MadeDir,
        ..file_in(7, 1)
    };
    bench.good(FileAction::Mkdir { file: made });
    let theirs = bench.bucket_path(Bucket::UNLINK).join("thesis.tex");
    std::fs::write(&theirs, b"years").expect("file");
    bench.good(FileAction::RemoveDirs { dir: 0 });
    assert_eq!(std::fs::read(&theirs).expect("left"), b"years");
    let tree = bench.run_dir().join("CL0_TEST");
    assert_eq!(names_in(&tree.join("d0000")), ["b08"]);
    // Another proc still uses the tree: no error.
    bench.good(FileAction::RemoveTree);
    assert!(tree.exists());
    std::fs::remove_file(&theirs).expect("removed");
    for dir in [0, 1, 2] {
        let outcome = bench.act(FileAction::RemoveDirs { dir });
        assert_eq!(outcome.status, Status::Ok);
    }
    for _ in 0..2 {
        bench.good(FileAction::RemoveTree);
        assert!(!tree.exists());
    }
    assert_eq!(
        bench.act(FileAction::RemoveDirs { dir: 0 }).status,
        Status::Ok
    );
    // And it can begin anew.
    bench.good(FileAction::MakeTree);
    bench.good(FileAction::MakeDirs { dir: 0 });
    bench.fill(file_in(0, 0), 10);
}

#[test]
fn transfers_follow_the_workloads() {
    let bench = Bench::new();
    assert_eq!(bench.shard.transfer_bytes(), (5_000, 7_000));
}
