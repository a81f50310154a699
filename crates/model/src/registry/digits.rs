//! Tests: the shipped figures against the seed's, typed from its tables by hand.

use super::Registry;
use crate::op::Op;
use crate::workload::{HotSpot, WorkloadObject};

fn workload(name: &str) -> WorkloadObject {
    Registry::shipped().workload(name).unwrap().clone()
}

/// Operations with their shares; (slot, smallest, largest, share) of the slots that
/// have a share; attributes. Typed from the seed's appendix by hand.
type Slots = &'static [(usize, u32, u32, u32)];
struct Digits {
    name: &'static str,
    mix: &'static [(Op, u32)],
    read: Slots,
    write: Slots,
    commit_direct_geometric_compress: [u32; 4],
}

const DIGITS: &[Digits] = &[
    Digits {
        name: "SWBUILD",
        mix: &[
            (Op::ReadFile, 6),
            (Op::WriteFile, 7),
            (Op::Mkdir, 1),
            (Op::Create, 1),
            (Op::Unlink, 2),
            (Op::Access, 6),
            (Op::Stat, 70),
            (Op::Chmod, 5),
            (Op::Readdir, 2),
        ],
        read: &[
            (0, 1, 511, 1),
            (1, 512, 1023, 5),
            (2, 1024, 2047, 7),
            (3, 2048, 4095, 7),
            (5, 4096, 8191, 45),
            (7, 8192, 16383, 13),
            (9, 16384, 32767, 3),
            (10, 32768, 65535, 2),
            (13, 65536, 131072, 17),
        ],
        write: &[
            (0, 1, 511, 5),
            (1, 512, 1023, 3),
            (2, 1024, 2047, 10),
            (3, 2048, 4095, 15),
            (5, 4096, 8191, 14),
            (7, 8192, 16383, 7),
            (9, 16384, 32767, 6),
            (10, 32768, 65535, 4),
            (11, 65536, 131072, 36),
        ],
        commit_direct_geometric_compress: [33, 0, 10, 0],
    },
    Digits {
        name: "VDI",
        mix: &[
            (Op::Read, 5),
            (Op::ReadRandom, 35),
            (Op::Write, 5),
            (Op::WriteRandom, 55),
        ],
        read: &[
            (5, 4096, 8191, 10),
            (6, 8192, 8192, 2),
            (7, 8192, 16383, 2),
            (8, 16384, 16384, 43),
            (9, 16384, 32767, 2),
            (10, 32768, 32768, 33),
            (11, 65536, 65536, 5),
            (12, 98304, 98304, 3),
        ],
        write: &[
            (0, 1, 511, 2),
            (1, 512, 1023, 2),
            (2, 1024, 2047, 1),
            (3, 2048, 4095, 1),
            (4, 4096, 4096, 32),
            (5, 4096, 8191, 2),
            (6, 8192, 8192, 45),
            (7, 8192, 16383, 4),
            (8, 16384, 16384, 6),
            (9, 16384, 32767, 5),
        ],
        commit_direct_geometric_compress: [100, 0, 0, 30],
    },
    Digits {
        name: "DB_LOG",
        mix: &[(Op::Write, 80), (Op::WriteRandom, 20)],
        read: &[(6, 8192, 8192, 100)],
        write: &[
            (0, 512, 512, 5), // "512 511" in the seed
            (1, 1024, 1024, 5),
            (2, 1536, 1536, 5),
            (3, 2048, 2048, 5),
            (4, 2560, 2560, 5),
            (5, 3072, 3072, 5),
            (6, 3584, 3584, 5),
            (7, 4096, 4096, 5),
            (8, 4608, 4608, 5),
            (9, 5120, 5120, 5),
            (10, 8192, 8192, 10),
            (11, 12288, 12288, 10),
            (12, 16384, 16384, 10),
            (13, 20480, 20480, 10),
            (14, 24576, 24576, 10),
        ],
        commit_direct_geometric_compress: [100, 100, 2, 50],
    },
    Digits {
        name: "STREAM_VOD",
        mix: &[
            (Op::Read, 65),
            (Op::ReadRandom, 19),
            (Op::Write, 10),
            (Op::WriteRandom, 1),
            (Op::Mkdir, 1),
            (Op::Append, 1),
            (Op::Access, 1),
            (Op::Stat, 1),
            (Op::Readdir, 1),
        ],
        read: &[
            (11, 65536, 65536, 15),
            (12, 131072, 131072, 10),
            (13, 262144, 262144, 20),
            (14, 524288, 524288, 35),
            (15, 1048576, 1048576, 20),
        ],
        write: &[
            (10, 32768, 32768, 5),
            (11, 65536, 65536, 10),
            (12, 131072, 131072, 10),
            (13, 262144, 262144, 25),
            (14, 524288, 524288, 25),
            (15, 1048576, 1048576, 25),
        ],
        commit_direct_geometric_compress: [0, 0, 0, 0],
    },
    Digits {
        name: "METADATA",
        mix: &[
            (Op::Read, 10),
            (Op::ReadRandom, 8),
            (Op::Write, 7),
            (Op::WriteRandom, 2),
            (Op::Rmw, 1),
            (Op::Mkdir, 2),
            (Op::Create, 2),
            (Op::Unlink, 2),
            (Op::Append, 3),
            (Op::Locking, 6),
            (Op::Access, 24),
            (Op::Stat, 26),
            (Op::Chmod, 2),
            (Op::Readdir, 4),
            (Op::Statfs, 1),
        ],
        read: &[
            (0, 1, 511, 3),
            (1, 512, 1023, 1),
            (2, 1024, 2047, 2),
            (3, 2048, 4095, 1),
            (4, 4096, 4096, 16),
            (5, 4097, 8191, 6),
            (6, 8192, 8192, 36),
            (7, 8193, 16383, 7),
            (8, 16384, 16384, 7),
            (9, 16385, 32767, 2),
            (10, 32768, 32768, 9),
            (11, 65536, 65536, 4),
            (12, 98304, 98304, 3),
            (13, 131072, 131072, 2),
            (14, 262144, 262144, 1),
        ],
        write: &[
            (0, 1, 511, 13),
            (1, 512, 1023, 3),
            (2, 1024, 2047, 7),
            (3, 2048, 4095, 5),
            (4, 4096, 4096, 11),
            (5, 4097, 8191, 3),
            (6, 8192, 8192, 30),
            (7, 8193, 16383, 7),
            (8, 16384, 16384, 5),
            (9, 16385, 32767, 1),
            (10, 32768, 32768, 6),
            (11, 65536, 65536, 4),
            (12, 98304, 98304, 2),
            (13, 131072, 131072, 2),
            (14, 262144, 262144, 1),
        ],
        commit_direct_geometric_compress: [33, 0, 10, 0],
    },
];

#[test]
fn the_digits_are_the_seeds() {
    for d in DIGITS {
        let w = workload(d.name);
        assert_eq!(w.mix.shares().len(), d.mix.len(), "{}", d.name);
        for (op, percent) in d.mix {
            assert_eq!(w.mix.percent(*op), f64::from(*percent), "{} {op}", d.name);
        }
        for (table, want) in [(&w.read_transfers, d.read), (&w.write_transfers, d.write)] {
            let used = table.slots().iter().enumerate();
            let got: Vec<_> = used
                .filter(|(_, s)| s.percent > 0.0)
                .map(|(i, s)| (i, s.min_bytes, s.max_bytes, s.percent as u32))
                .collect();
            assert_eq!(got, want, "{}", d.name);
        }
        let a = &w.attributes;
        let got = [
            a.write_commit_pcnt,
            a.direct_pcnt,
            a.geometric_pcnt,
            a.compress_pcnt,
        ];
        let want = d.commit_direct_geometric_compress.map(f64::from);
        assert_eq!(got, want, "{}", d.name);
        assert!(!a.background && !a.sharemode && a.osync_pcnt == 0.0);
    }
}

#[test]
fn what_the_others_differ_in() {
    let table = workload("db_table");
    assert_eq!(table.mix.percent(Op::ReadRandom), 79.0);
    assert_eq!(table.read_transfers.slots()[15].percent, 1.0);
    assert_eq!(table.attributes.random_align_bytes, 8192);
    let spot = HotSpot {
        access_pcnt: 80.0,
        area_pcnt: 5.0,
        move_every_s: 10.0,
    };
    assert_eq!(table.attributes.hot_spot, Some(spot));
    assert_eq!(workload("VDA1").mix.percent(Op::Write), 100.0);
    assert_eq!(workload("VDA2").mix.percent(Op::ReadRandom), 86.0);
    assert_eq!(workload("VDA2").attributes.write_commit_pcnt, 66.0);
    // sources.md 3.6: 4217 KB/s of 9 op/s per stream.
    let kib_s = workload("VDA1").write_transfers.mean_bytes() * 9.0 / 1024.0;
    assert!((kib_s - 4217.0).abs() < 5.0, "{kib_s}");
    let backup = workload("BACKUP");
    assert_eq!(backup.read_transfers.slots()[8].percent, 37.0);
    assert_eq!(backup.write_transfers.slots()[8].percent, 35.0);
    let home = workload("HomeFolders");
    assert_eq!(home.name, "HOMEDIR");
    assert_eq!(home.mix.percent(Op::Copyfile), 10.0);
    let (userdef, metadata) = (workload("USERDEF"), workload("METADATA"));
    assert_eq!(userdef.mix, metadata.mix);
    assert_eq!(userdef.read_transfers, metadata.read_transfers);
    assert_eq!(userdef.write_transfers, metadata.write_transfers);
    assert_eq!(userdef.attributes, metadata.attributes);
}
