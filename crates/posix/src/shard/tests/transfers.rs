use super::*;

fn read(file: FileRef, offset: u64, length: u32, io: Io) -> FileAction {
    let content = content(file);
    FileAction::Read {
        file,
        content,
        offset,
        length,
        io,
    }
}

fn write(file: FileRef, offset: u64, length: u32, io: Io) -> FileAction {
    let content = content(file);
    FileAction::Write {
        file,
        content,
        offset,
        length,
        io,
    }
}

/// Writes over a part of a file from outside.
fn spoil(path: &Path, bytes: &[u8], offset: u64) {
    use std::io::{Seek, SeekFrom, Write};
    let mut outside = std::fs::File::options()
        .write(true)
        .open(path)
        .expect("open");
    outside.seek(SeekFrom::Start(offset)).expect("place");
    outside.write_all(bytes).expect("spoilt");
}

fn every_io() -> impl Iterator<Item = Io> {
    (0..8).map(|n| io(n & 1 > 0, n & 2 > 0, n & 4 > 0))
}

fn benches() -> impl Iterator<Item = Bench> {
    let bench = |(depth, dir)| {
        let plan = PosixPlan::default();
        Bench::with_depth(depth, dir, plan, VerifyLevel::All, &["CL0_TEST"])
    };
    let all = DEPTHS
        .iter()
        .flat_map(|depth| both().into_iter().map(|dir| (*depth, dir)));
    all.map(bench)
}

#[test]
fn ranges_are_read_and_written_in_every_way() {
    for mut bench in benches() {
        let file = file_in(4, 0);
        bench.fill(file, 100_000);
        let path = bench.path(file);
        assert!(is_of(file, &std::fs::read(&path).expect("file")));
        for io in every_io() {
            for (offset, length) in [
                (0, 4096),
                (8192, 16384),
                (5, 200),
                (4095, 4098),
                (99_900, 100),
            ] {
                // What is written must come from us.
                let bytes = vec![0xee; length as usize];
                spoil(&path, &bytes, offset);
                let outcome = bench.act(read(file, offset, length, io));
                assert_eq!(outcome.status, Status::Corrupt, "{io:?} {offset} {length}");
                let outcome = bench.good(write(file, offset, length, io));
                assert_eq!(outcome.written_bytes, u64::from(length));
                let outcome = bench.good(read(file, offset, length, io));
                assert_eq!(outcome.read_bytes, u64::from(length));
            }
        }
        assert!(is_of(file, &std::fs::read(&path).expect("file")));
        let counters = bench.counters();
        assert_eq!(counters["verify_errors"], 40);
        assert!(counters["opens"] <= 4, "{counters:?}");
        assert_eq!(counters["fsyncs"], 20);
        // Two of five writes can bypass the cache; where the file system does not do
        // it, all of them and the reads fall back.
        let fell_back = counters["direct_fallbacks"];
        assert!([12, 12 + 8 + 40].contains(&fell_back), "{counters:?}");
    }
}

#[test]
fn writes_at_the_end_append() {
    let mut bench = Bench::new();
    let file = file_in(10, 2);
    bench.fill(file, 10);
    let all = Io::default();
    bench.good(write(file, 10, 5_000, all));
    bench.good(write(file, 5_010, 8_182, io(true, false, false)));
    let bytes = std::fs::read(bench.path(file)).expect("file");
    assert_eq!(bytes.len(), 13_192);
    assert!(is_of(file, &bytes));
    bench.good(FileAction::Truncate { file, size: 10 });
    assert_eq!(std::fs::metadata(bench.path(file)).expect("file").len(), 10);
}

#[test]
fn a_read_beyond_the_end_is_reported() {
    let plain = |checking| Bench::on(disk(), PosixPlan::default(), checking, &["CL0_TEST"]);
    let file = file_in(0, 0);
    for (io, checking) in [Io::default(), io(true, false, false)]
        .into_iter()
        .flat_map(|io| [(io, VerifyLevel::Sample), (io, VerifyLevel::All)])
    {
        let mut bench = plain(checking);
        bench.fill(file, 5_000);
        for (offset, wanted) in [(4_000, 1_000), (90_000, 0)] {
            let outcome = bench.act(read(file, offset, 4_096, io));
            assert_eq!(outcome.status, Status::Lost);
            assert_eq!((outcome.read_bytes, outcome.end), (wanted, true));
        }
        assert_eq!(bench.counters()["early_eofs"], 2);
    }
}

#[test]
fn reads_that_are_too_short_to_be_compared_are_counted() {
    for checking in [VerifyLevel::Sample, VerifyLevel::All] {
        let mut bench = Bench::on(disk(), PosixPlan::default(), checking, &["CL0_TEST"]);
        let file = file_in(0, 0);
        bench.fill(file, 5_000);
        let _ = bench.counters();
        bench.good(read(file, 4_201, 13, Io::default()));
        bench.good(read(file, 4_200, 64, Io::default()));
        let counters = bench.counters();
        assert_eq!(counters["undecided_bytes"], 13);
        assert_eq!(counters["checked_bytes"], 64);
    }
}

#[test]
fn whole_files_move_in_the_sizes_of_the_table() {
    for mut bench in benches() {
        let file = file_in(1, 7);
        bench.fill(file, 23_456);
        for io in every_io() {
            std::fs::write(bench.path(file), vec![1; 23_456]).expect("spoilt");
            let (content, size) = (content(file), 23_456);
            let seed = 3;
            let writing = FileAction::WriteFile {
                file,
                content,
                size,
                seed,
                io,
            };
            let outcome = bench.good(writing);
            assert_eq!((outcome.written_bytes, outcome.physical), (23_456, 4));
            let reading = FileAction::ReadFile {
                file,
                content,
                size,
                seed,
                io,
            };
            let outcome = bench.good(reading);
            assert_eq!((outcome.read_bytes, outcome.physical), (23_456, 5));
            let bytes = std::fs::read(bench.path(file)).expect("file");
            assert_eq!(bytes.len(), 23_456);
            assert!(is_of(file, &bytes));
        }
        // One fsync per file, not per transfer.
        assert_eq!(bench.counters()["fsyncs"], 4);
    }
}

#[test]
fn a_read_modify_write_reads_and_writes() {
    let mut bench = Bench::new();
    let file = file_in(6, 0);
    bench.fill(file, 10_000);
    for io in every_io() {
        for (offset, length) in [(4096, 4096), (7, 100), (9_000, 3_000)] {
            let content = content(file);
            // The third one begins before the end and goes beyond it.
            bench.good(FileAction::Truncate { file, size: 12_000 });
            bench.good(write(file, 0, 12_000, Io::default()));
            let outcome = bench.good(FileAction::Rmw {
                file,
                content,
                offset,
                length,
                io,
            });
            let length = u64::from(length);
            assert_eq!(
                (outcome.read_bytes, outcome.written_bytes),
                (length, length)
            );
        }
    }
    assert!(is_of(file, &std::fs::read(bench.path(file)).expect("file")));
    let mut bench = Bench::on(
        disk(),
        PosixPlan::default(),
        VerifyLevel::Sample,
        &["CL0_TEST"],
    );
    bench.fill(file, 1_000);
    // What is behind the end cannot be read, so nothing is written.
    let outcome = bench.act(FileAction::Rmw {
        file,
        content: content(file),
        offset: 500,
        length: 1_000,
        io: Io::default(),
    });
    assert_eq!(outcome.status, Status::Lost);
    assert_eq!((outcome.read_bytes, outcome.written_bytes), (500, 0));
    let len = std::fs::metadata(bench.path(file)).expect("file").len();
    assert_eq!(len, 1_000);
}

#[test]
fn mappings_read_and_write() {
    for mut bench in benches() {
        let file = file_in(15, 0);
        bench.fill(file, 50_000);
        for commit in [false, true] {
            for (offset, length) in [(0, 16), (4090, 20), (10_000, 30_000), (49_900, 100)] {
                let content = content(file);
                let mapped_read = FileAction::MmapRead {
                    file,
                    content,
                    offset,
                    length,
                };
                let mut bytes = std::fs::read(bench.path(file)).expect("file");
                let range = offset as usize..(offset + u64::from(length)) as usize;
                bytes[range].iter_mut().for_each(|byte| *byte ^= 1);
                std::fs::write(bench.path(file), &bytes).expect("spoilt");
                assert_eq!(bench.act(mapped_read).status, Status::Corrupt);
                let outcome = bench.good(FileAction::MmapWrite {
                    file,
                    content,
                    offset,
                    length,
                    commit,
                });
                assert_eq!(outcome.written_bytes, u64::from(length));
                let outcome = bench.good(mapped_read);
                assert_eq!(outcome.read_bytes, u64::from(length));
            }
        }
        assert!(is_of(file, &std::fs::read(bench.path(file)).expect("file")));
        assert_eq!(bench.counters()["fsyncs"], 4);
    }
}

/// Whatever writes, and however often: no sector is like another, and all are the file's.
#[test]
fn no_write_of_any_kind_repeats_a_sector() {
    for mut bench in benches() {
        let mut seen = std::collections::HashSet::new();
        let all = Io::default();
        for number in 0..4 {
            let file = file_in(15, number);
            bench.fill(file, 200_000);
            let path = bench.path(file);
            let look = || {
                let bytes = std::fs::read(&path).expect("file");
                assert!(is_of(file, &bytes));
                bytes
                    .chunks_exact(512)
                    .map(<[u8]>::to_vec)
                    .collect::<Vec<_>>()
            };
            let before = look();
            let content = content(file);
            let (offset, length) = (8_192, 40_960);
            bench.good(write(file, 0, 8_192, all));
            bench.good(write(file, 200_000, 30_000, all));
            bench.good(FileAction::MmapWrite {
                file,
                content,
                offset,
                length,
                commit: false,
            });
            bench.good(FileAction::Rmw {
                file,
                content,
                offset: 65_536,
                length: 16_384,
                io: all,
            });
            let after = look();
            let changed = after.iter().zip(&before).filter(|(a, b)| a != b).count();
            // Also the one in which the append began.
            assert!(changed >= (8_192 + 40_960 + 16_384) / 512, "{changed}");
            for sector in before.into_iter().chain(after.into_iter().skip(1)) {
                seen.insert(sector);
            }
        }
        // Of each file: what was filled, what was written over, what was appended.
        let filled = 4 * (200_000 / 512);
        let over = 4 * ((8_192 - 512 + 40_960 + 16_384) / 512);
        assert!(
            seen.len() >= filled + over + 4 * (30_000 / 512),
            "{}",
            seen.len()
        );
    }
}

#[test]
fn a_file_that_shrinks_below_a_mapping_is_an_error_and_no_signal() {
    for mut bench in benches() {
        let file = file_in(16, 0);
        bench.fill(file, 50_000);
        let (content, offset, length) = (content(file), 8_192, 20_000);
        let mapped = [
            FileAction::MmapRead {
                file,
                content,
                offset,
                length,
            },
            FileAction::MmapWrite {
                file,
                content,
                offset,
                length,
                commit: true,
            },
        ];
        for action in mapped {
            bench.good(action);
        }
        bench.good(FileAction::Truncate { file, size: 9_000 });
        // What had been written there is lost; writing there is refused.
        assert_eq!(bench.act(mapped[0]).status, Status::Lost);
        assert_eq!(bench.counters()["early_eofs"], 1);
        assert_eq!(bench.bad(mapped[1]), "EIO");
    }
}

#[test]
fn copies_are_copies() {
    let mut bench = Bench::new();
    let (from, to) = (file_in(17, 0), file_in(17, 1));
    let copy = FileRef {
        kind: FileKind::Copy,
        ..from
    };
    bench.fill(from, 33_333);
    bench.fill(to, 33_333);
    for to in [to, copy] {
        let outcome = bench.good(FileAction::Copy {
            from,
            to,
            size: 33_333,
            seed: 9,
        });
        let moved = (outcome.read_bytes, outcome.written_bytes, outcome.physical);
        assert_eq!(moved, (33_333, 33_333, 14));
        let bytes = std::fs::read(bench.path(to)).expect("copy");
        assert_eq!(bytes, std::fs::read(bench.path(from)).expect("file"));
    }
}

#[test]
fn without_fsync_nothing_is_synced() {
    let plan = PosixPlan {
        no_fsync: true,
        ..PosixPlan::default()
    };
    let mut bench = Bench::on(disk(), plan, VerifyLevel::All, &["CL0_TEST"]);
    let file = file_in(4, 0);
    bench.fill(file, 8_192);
    bench.good(write(file, 0, 4_096, io(false, false, true)));
    bench.good(FileAction::MmapWrite {
        file,
        content: content(file),
        offset: 0,
        length: 10,
        commit: true,
    });
    assert_eq!(bench.counters().get("fsyncs"), None);
}

#[test]
fn few_handles_are_enough_for_many_files() {
    let plan = PosixPlan {
        open_files_max: Some(2),
        ..PosixPlan::default()
    };
    let mut bench = Bench::on(disk(), plan, VerifyLevel::All, &["CL0_TEST"]);
    for number in 0..20 {
        bench.fill(file_in(4, number), 4_096);
    }
    for _ in 0..3 {
        for number in 0..20 {
            bench.good(read(file_in(4, number), 0, 4_096, Io::default()));
        }
    }
    assert_eq!(bench.counters()["opens"], 60);
}

#[test]
fn procs_of_one_shard_keep_to_their_trees() {
    let trees = ["CL0_TEST", "CL1_TEST"];
    let mut bench = Bench::on(disk(), PosixPlan::default(), VerifyLevel::All, &trees);
    let file = file_in(4, 0);
    for proc in 0..2 {
        let outcome = bench.good_as(
            proc,
            FileAction::Fill {
                file,
                content: u64::from(proc),
                size: 5_000,
                reuse: false,
            },
        );
        assert_eq!(outcome.written_bytes, 5_000);
    }
    for proc in [0, 1, 0, 1] {
        let read = FileAction::Read {
            file,
            content: u64::from(proc),
            offset: 0,
            length: 5_000,
            io: Io::default(),
        };
        bench.good_as(proc, read);
    }
    assert_eq!(bench.counters()["opens"], 2);
}
