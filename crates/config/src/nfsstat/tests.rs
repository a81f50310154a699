//! Tests of every layout, and of the errors for other texts.

use super::types::NAMES_MAX;
use super::*;
use filermark_model::Op;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/fixtures/nfsstat/", $name))
    };
}

fn statistics(text: &str) -> Statistics {
    read_statistics("s", text).unwrap_or_else(|e| panic!("{e}"))
}

fn error_of(text: &str) -> String {
    match read_statistics("s", text) {
        Ok(read) => panic!("{read:?}"),
        Err(e) => e.to_string(),
    }
}

fn calls(read: &Statistics, version: Version, name: &str) -> u64 {
    let counts = read.versions.get(&version);
    counts.and_then(|c| c.get(name)).copied().unwrap_or(0)
}

#[test]
fn linux_has_the_same_counts_in_every_layout() {
    let kernel = statistics(fixture!("linux-proc.txt"));
    assert_eq!(kernel.dialect, Dialect::Kernel);
    for (text, dialect, versions) in [
        (fixture!("linux-s.txt"), Dialect::Nfsstat, &Version::ALL[..]),
        (fixture!("linux-s-v.txt"), Dialect::Nfsstat, &Version::ALL),
        (fixture!("linux-both.txt"), Dialect::Nfsstat, &Version::ALL),
        (fixture!("linux-s-2.txt"), Dialect::Nfsstat, &[Version::V2]),
        (fixture!("linux-s-3.txt"), Dialect::Nfsstat, &[Version::V3]),
        (fixture!("linux-s-4.txt"), Dialect::Nfsstat, &[Version::V4]),
        (
            fixture!("linux-s-l.txt"),
            Dialect::NfsstatList,
            &Version::ALL,
        ),
    ] {
        let read = statistics(text);
        assert_eq!(read.dialect, dialect);
        assert_eq!(read.versions.keys().copied().collect::<Vec<_>>(), versions);
        for version in versions {
            let used = |s: &Statistics| {
                let counts = s.versions[version].iter().filter(|(_, calls)| **calls > 0);
                counts.map(|(n, c)| (n.clone(), *c)).collect::<Vec<_>>()
            };
            assert_eq!(used(&read), used(&kernel), "{version:?}");
        }
    }
    assert_eq!(calls(&kernel, Version::V3, "getattr"), 2_804_111);
    assert_eq!(calls(&kernel, Version::V4, "sequence"), 899_918);
    assert_eq!(calls(&kernel, Version::V4, "compound"), 900_000);
}

/// Each counter of version 4 is a COMPOUND, named by what it is for.
#[test]
fn clients_of_linux_have_the_same_counts_in_every_layout() {
    let kernel = statistics(fixture!("linux-proc-client.txt"));
    let table = statistics(fixture!("linux-c.txt"));
    let list = "nfs v4 client        read: 10\nnfs v4 client   open_noat: 5\n";
    let list = statistics(list);
    for read in [&kernel, &table, &list] {
        assert!(read.of_client, "{read:?}");
        assert_eq!(calls(read, Version::V4, "read"), 10);
    }
    for read in [&kernel, &table] {
        assert_eq!(calls(read, Version::V3, "getattr"), 100);
        assert_eq!(calls(read, Version::V4, "open"), 5);
        assert_eq!(calls(read, Version::V4, "open_confirm"), 5);
    }
    assert_eq!(calls(&list, Version::V4, "open_noattr"), 5);
    let of = |text: &str, op| {
        let mix = statistics(text).mix(Some(Version::V4), Op::NFS41).unwrap();
        let found = mix.shares.iter().find(|share| share.op == op);
        found.map_or(0, |share| share.calls)
    };
    let counts = "rpc 9 0 9\nproc4 28 0 40 10 0 9 0 3 0 9 5 1 0 0 0 7 0 7 8 6 4 2 5 1 0 2 1 0 3\n";
    let all = [
        (Op::Read, 40),
        (Op::Create, 4),
        (Op::Open, 5 + 3),
        (Op::Lock, 7),
        (Op::Lookup, 4 + 2),
        (Op::Symlink, 2),
        (Op::Mkdir, 1),
        (Op::Rmdir, 1),
        (Op::Fsstat, 3),
    ];
    for (op, calls) in all {
        assert_eq!(of(counts, op), calls, "{op}");
    }
    // What prints both is taken for the server's.
    assert!(!statistics(fixture!("linux-both.txt")).of_client);
    let server = statistics(fixture!("linux-proc.txt"));
    let error = server.since(&kernel).unwrap_err().to_string();
    assert!(error.contains("the other of a server"), "{error}");
}

/// A Linux client wrote 30 files, read them, made a directory and a symbolic link, and
/// removed them all, over version 4.2.
#[test]
fn what_a_real_client_did_over_version_4_is_found_again() {
    let read = statistics(fixture!("linux-kernel-4-proc.txt"));
    let mix = read.mix(Some(Version::V4), Op::NFS3).unwrap();
    let calls = |op: Op| {
        mix.shares
            .iter()
            .find(|s| s.op == op)
            .map_or(0, |s| s.calls)
    };
    assert_eq!((calls(Op::Create), calls(Op::Remove)), (30, 30));
    assert_eq!((calls(Op::Mkdir), calls(Op::Rmdir)), (2, 2));
    assert_eq!((calls(Op::Write), calls(Op::Rename)), (30, 1));
    assert_eq!(calls(Op::Lookup), 1 + 30);
    let of_version = |text| {
        statistics(text)
            .mix(Some(Version::V4), Op::NFS3)
            .unwrap()
            .shares
    };
    assert_eq!(of_version(fixture!("linux-kernel-4-s.txt")), mix.shares);
    assert_eq!(of_version(fixture!("linux-kernel-4-l.txt")), mix.shares);
}

/// For a run over version 4 the operations stay what they are; OPEN that creates a file is still one.
#[test]
fn operations_of_version_4_stay_what_they_are_for_a_run_over_it() {
    let calls = |mix: &MixOfCounts, op: Op| -> u128 {
        let found = mix.shares.iter().find(|s| s.op == op);
        found.map_or(0, |s| s.calls)
    };
    let kernel = statistics(fixture!("linux-kernel-4-proc.txt"));
    let mix = kernel.mix(Some(Version::V4), Op::NFS42).unwrap();
    assert_eq!((calls(&mix, Op::Create), calls(&mix, Op::Open)), (30, 30));
    assert_eq!(calls(&mix, Op::Lookup), 1);
    let mut numbers = [0; 76];
    for (number, calls) in [
        (4, 9),
        (12, 7),
        (14, 7),
        (18, 9),
        (25, 50),
        (53, 99),
        (60, 5),
        (68, 20),
        (72, 3),
    ] {
        numbers[number] = calls;
    }
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let text = format!("proc4 2 0 99\nproc4ops 76 {}\n", numbers.join(" "));
    let by_hand = statistics(&text);
    let of = |ops: &[Op]| by_hand.mix(None, ops).unwrap();
    let over42 = of(Op::NFS42);
    let wanted = [
        (Op::Open, 9),
        (Op::Lock, 7),
        (Op::Read, 50),
        (Op::Copy, 5),
        (Op::ReadPlus, 20),
        (Op::Getxattr, 3),
    ];
    for (op, count) in wanted {
        assert_eq!(calls(&over42, op), count, "{op}");
    }
    assert_eq!(over42.shares.len(), wanted.len());
    let over41 = of(Op::NFS41);
    assert_eq!(
        (calls(&over41, Op::Lock), calls(&over41, Op::Read)),
        (7, 70)
    );
    assert_eq!(calls(&over41, Op::Copy), 0);
    let over3 = of(Op::NFS3);
    assert_eq!((calls(&over3, Op::Lookup), calls(&over3, Op::Lock)), (9, 0));
}

#[test]
fn a_real_kernel_has_the_same_counts_in_every_layout() {
    let kernel = statistics(fixture!("linux-kernel-3-proc.txt")).mix(None, Op::NFS3);
    let kernel = kernel.unwrap();
    assert_eq!((kernel.version, kernel.counted), (Version::V3, 492));
    for text in [
        fixture!("linux-kernel-3-s.txt"),
        fixture!("linux-kernel-3-l.txt"),
    ] {
        let mix = statistics(text).mix(None, Op::NFS3).unwrap();
        assert_eq!(
            (mix.shares, mix.omitted),
            (kernel.shares.clone(), Vec::new())
        );
    }
}

#[test]
fn other_systems_are_read() {
    let sun = statistics(fixture!("sunos-s.txt"));
    assert_eq!(calls(&sun, Version::V2, "lookup"), 10_800);
    assert_eq!(calls(&sun, Version::V2, "fsstat"), 320);
    assert_eq!(sun.versions.len(), 1);

    let solaris = statistics(fixture!("solaris-s.txt"));
    assert_eq!(calls(&solaris, Version::V2, "getattr"), 80);
    assert_eq!(calls(&solaris, Version::V3, "getattr"), 14_120);
    assert_eq!(
        calls(&solaris, Version::V3, "setacl"),
        0,
        "another protocol"
    );
    let mix = solaris.mix(None, Op::NFS3).unwrap();
    assert_eq!((mix.version, mix.counted), (Version::V3, 52_310));
    assert_eq!(mix.others, [(Version::V2, 120)]);

    let bsd = statistics(fixture!("freebsd-s.txt"));
    assert_eq!(calls(&bsd, Version::V3, "readdirplus"), 1_030);
    assert_eq!(bsd.mix(None, Op::NFS3).unwrap().counted, 39_806);

    let metrics = statistics(fixture!("node-exporter.txt"));
    assert_eq!(metrics.dialect, Dialect::Metrics);
    assert_eq!(calls(&metrics, Version::V3, "getattr"), 2_804_111);
    assert_eq!(calls(&metrics, Version::V4, "access"), 1_098);
}

#[test]
fn ganesha_has_the_same_counts_in_every_layout() {
    let fast = statistics(fixture!("ganesha-fast.txt"));
    assert_eq!(calls(&fast, Version::V3, "create"), 1_290);
    assert_eq!(calls(&fast, Version::V3, "commit"), 1_168);
    assert_eq!(fast.versions.len(), 1, "MNT is another protocol");
    for text in [
        fixture!("ganesha-v3_full.txt"),
        fixture!("ganesha-fast.json"),
        fixture!("ganesha-v3_full.json"),
    ] {
        assert_eq!(statistics(text).versions, fast.versions);
    }
    for (text, words) in [
        (fixture!("ganesha-inode.txt"), "the figures of a cache"),
        (
            fixture!("ganesha-global.txt"),
            "no operation of NFS is counted here",
        ),
        (
            "No NFS activity, GANESHA RESPONSE STATUS: x",
            "is counted here",
        ),
        (
            "{\"status\": {}, \"NFSv3\": 6713}",
            "no operation of NFS is counted in this JSON",
        ),
        (
            "{\"NFSv3\": {\"READ\": -1}}",
            "the count of 'READ' is -1, and not",
        ),
        ("{\n\"NFSv3\": {", "s:2:1: this is not JSON"),
    ] {
        let error = error_of(text);
        assert!(
            error.contains(words) && error.contains("ganesha_stats") || error.contains("-1"),
            "{error}"
        );
    }
}

/// The same work as over the kernel's version 4.
#[test]
fn ganesha_counts_version_4_too() {
    let fast = statistics(fixture!("ganesha-v4-fast.txt"));
    let mix = fast.mix(None, Op::NFS3).unwrap();
    assert_eq!((mix.version, mix.compounds), (Version::V4, None));
    let calls = |op: Op| {
        mix.shares
            .iter()
            .find(|s| s.op == op)
            .map_or(0, |s| s.calls)
    };
    assert_eq!((calls(Op::Create), calls(Op::Remove)), (30, 30));
    assert_eq!((calls(Op::Write), calls(Op::Lookup)), (30, 35 + 30));
    for text in [
        fixture!("ganesha-v4_full.txt"),
        fixture!("ganesha-v4-fast.json"),
        fixture!("ganesha-v4_full.json"),
    ] {
        assert_eq!(statistics(text).versions, fast.versions);
    }
}

#[test]
fn plain_tables_are_read() {
    let json = statistics("{\"GETATTR\": 60, \"READ\": 40}\n");
    assert_eq!(calls(&json, Version::V3, "read"), 40);
    let read = statistics("# mine\nop count\nGETATTR 60\n read:\t40\nlookup = 3\n");
    assert_eq!(read.dialect, Dialect::Plain);
    assert_eq!(calls(&read, Version::V3, "getattr"), 60);
    assert_eq!(calls(&read, Version::V3, "lookup"), 3);
    assert_eq!(
        calls(&statistics("read 1\nroot 2\n"), Version::V2, "root"),
        2
    );
    assert_eq!(
        calls(&statistics("read 1\nopen 2\n"), Version::V4, "open"),
        2
    );
    assert_eq!(
        error_of("read 1\nreed 2\n"),
        "s:2:1: there is no operation 'reed'; did you mean read?"
    );
    assert!(error_of("read 1\nread write 2\n").starts_with("s:2:1: 'read write 2' is not an"));
    assert!(error_of("read 1\nwrite 2%\n").starts_with("s:2:1: '2%' is not a count"));
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let rows = |counts: &str| format!("Server nfs v3:\nnull getattr setattr lookup\n{counts}\n");
    for (text, want) in [
        (
            String::new(),
            "s: there is nothing in it; give what `nfsstat -s`",
        ),
        (
            "\nhello\n".into(),
            "s:2:1: 'hello' does not begin any known statistics",
        ),
        (
            "SFS MIXFILE VERSION 2\nread 100%".into(),
            "s:1:1: this is a mix file already",
        ),
        (rows("1 2 3"), "s:3:1: 3 counts below the 4 names of line 2"),
        (
            rows("1 2 3 4 5"),
            "s:3:1: 5 counts below the 4 names of line 2",
        ),
        (rows(""), "s:2:1: there are no counts below these names"),
        (
            rows("1 2 -3 4"),
            "s:3:1: -3 calls: a count below zero; the counter has overflowed",
        ),
        (
            rows("1 2 99999999999999999999 4"),
            "s:3:1: 99999999999999999999 calls are more than any counter holds",
        ),
        (rows("1 2 1.5 4"), "s:3:1: '1.5' is not a count"),
        (
            rows("1 2 3 4\n$ exit"),
            "s:4:1: '$ exit' is neither names nor counts",
        ),
        (
            rows("1 2 3 4\n") + &rows("2 3 4 5"),
            "s:7:1: null of version 3 has been counted in line 3 already; the file has two",
        ),
        (
            "Client Info:\nRPC Counts:\nGetattr Setattr Lookup Readlink\n1 2 3 4\n".into(),
            "s: these are statistics of a client, in a form that is not read",
        ),
        (
            "proc3 22 1 2\n".into(),
            "s:1:1: 'proc3 22 1 2' has 2 counts and declares 22",
        ),
        (
            format!("proc3 99 {}\n", "1 ".repeat(99)),
            "s:1:1: 99 counts; 22 at most are expected",
        ),
        ("proc3 22\n".into(), "s:1:1: 'proc3 22' has 0 counts"),
        (
            "Server rpc:\ncalls badcalls\n3 0\n".into(),
            "s: output of nfsstat -s without a count",
        ),
        (
            "node_nfsd_requests_total{method=\"Read\",proto=\"3\"} 1.5\n".into(),
            "s:1:1: 'node_nfsd_requests_total{",
        ),
    ] {
        let error = error_of(&text);
        assert!(error.starts_with(want), "{error}\nnot {want}");
    }
    let long = "x\n".repeat(LINES_MAX + 1);
    assert!(error_of(&long).starts_with("s: there are more than"));
    let many: String = (0..=NAMES_MAX)
        .map(|i| format!("nfs v3 server x{i}: 1\n"))
        .collect();
    assert!(error_of(&many).contains("more than 1000 operations"));
    let shown = error_of("\u{1b}[2J\u{202e}text\n");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn shares_add_up_and_rare_ones_are_named() {
    let mix = statistics(fixture!("linux-s-3.txt"))
        .mix(None, Op::NFS3)
        .unwrap();
    assert_eq!(mix.counted, 10_800_202);
    let of = |op| mix.shares.iter().find(|s| s.op == op).unwrap().thousandths;
    assert_eq!(of(Op::Getattr), 25_964);
    assert_eq!(of(Op::Link), 1);
    assert_eq!(
        mix.shares.iter().map(|s| s.thousandths).sum::<u32>(),
        100_000
    );
    let rare: Vec<Op> = mix.rare().map(|s| s.op).collect();
    assert_eq!(rare, [Op::Mknod]);
    // Thirds, and counters at their end.
    let max = u64::MAX;
    let text = format!("read {max}\nwrite {max}\nlookup {max}\n");
    let mix = statistics(&text).mix(None, Op::NFS3).unwrap();
    let shares: Vec<u32> = mix.shares.iter().map(|s| s.thousandths).collect();
    assert_eq!(shares, [33_334, 33_333, 33_333]);
}

#[test]
fn version_2_has_two_that_no_client_may_call() {
    let read = statistics("getattr 90\nroot 4\nwrcache 6\nread 0\n");
    let mix = read.mix(None, Op::NFS3).unwrap();
    assert_eq!(mix.version, Version::V2);
    assert_eq!(mix.shares.len(), 1);
    assert_eq!(
        mix.omitted_text().unwrap(),
        "10.000 % of what was counted: wrcache 6 (not used, RFC 1094, section 2.2.8), root 4 (obsolete, RFC \
         1094, section 2.2.4)"
    );
    let none = statistics("getattr 90\nroot 0\nwrcache 0\n");
    assert_eq!(none.mix(None, Op::NFS3).unwrap().omitted, []);
}

#[test]
fn operations_of_version_4_become_similar_ones() {
    let read = statistics(fixture!("linux-s.txt"));
    // Version 3 has more calls than there are COMPOUNDs.
    assert_eq!(read.mix(None, Op::NFS3).unwrap().version, Version::V3);
    let mix = read.mix(Some(Version::V4), Op::NFS3).unwrap();
    assert_eq!(mix.compounds, Some(900_000));
    let calls = |op: Op| {
        mix.shares
            .iter()
            .find(|s| s.op == op)
            .map_or(0, |s| s.calls)
    };
    // 111021 OPENs, 4012 REMOVEs, of these 330 of what CREATE made: 3682 files were made.
    assert_eq!(calls(Op::Create), 3_682);
    assert_eq!(calls(Op::Lookup), 210_433 + 111_021 - 3_682);
    assert_eq!((calls(Op::Mkdir), calls(Op::Rmdir)), (330, 330));
    assert_eq!(calls(Op::Remove), 3_682);
    assert_eq!((calls(Op::Readdirplus), calls(Op::Readdir)), (12_011, 0));
    let left: Vec<&str> = mix.omitted.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(left[..3], ["sequence", "putfh", "getfh"]);
    assert!(left.contains(&"close") && !left.contains(&"compound"));
    assert_eq!(mix.remarks.len(), 4, "{:?}", mix.remarks);
    let only = statistics("Server nfs v4:\nnull compound\n0 3\n");
    let e = only.mix(None, Op::NFS3).unwrap_err().to_string();
    assert!(e.contains("not only of COMPOUND"), "{e}");
    let e = only
        .mix(Some(Version::V2), Op::NFS3)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("no call of NFS version 2") && e.contains("version 4"),
        "{e}"
    );
}

#[test]
fn the_difference_of_two_snapshots_is_taken() {
    let later = statistics(fixture!("linux-s.txt"));
    let earlier = statistics(fixture!("linux-proc-earlier.txt"));
    let between = later.since(&earlier).unwrap();
    assert_eq!(calls(&between, Version::V3, "read"), 1_941_590 - 485_397);
    let e = earlier.since(&later).unwrap_err().to_string();
    assert!(e.contains("reset in between"), "{e}");
    // The counts of an idle minute.
    let none = later.since(&later).unwrap().mix(None, Op::NFS3);
    assert!(none.unwrap_err().to_string().contains("every count is 0"));
    let v2 = statistics("read 1\nroot 0\n");
    let v3 = statistics("read 1\ncommit 0\n");
    assert!(v2.since(&v3).unwrap_err().to_string().contains("in common"));
}

#[test]
fn the_mix_file_names_its_source() {
    let read = read_statistics("server.txt", fixture!("linux-s.txt")).unwrap();
    let made = read.mix(Some(Version::V4), Op::NFS3).unwrap();
    let text = mix_file(&made, Some("before.txt"));
    let golden = fixture!("linux-s.mix");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write("tests/fixtures/nfsstat/linux-s.mix", &text).unwrap();
    } else {
        assert_eq!(text, golden);
    }
    let protocol = filermark_model::benchmark::Protocol::Nfs3;
    let mix = crate::mixfile::parse_mixfile("m", &text, protocol).unwrap();
    assert_eq!(mix, made.mix().unwrap());
    let own = filermark_model::Benchmark::shipped("general-nfs3").unwrap();
    let differences = made.differences(&own.mix);
    let access = differences.iter().find(|d| d.op == Op::Access).unwrap();
    assert_eq!(access.other_share, 11.0);
    assert!(
        differences
            .iter()
            .any(|d| d.share == 0.0 && d.other_share > 0.0)
    );
}

#[test]
fn the_embedded_server_counts_both_versions() {
    let text = r#"{"GETATTR": 5, "READ": 5, "v2 GETATTR": 100, "v2 LOOKUP": 900}"#;
    let read = read_statistics("served.json", text).unwrap();
    let ops = filermark_model::Op::NFS3;
    let made = read.mix(None, ops).unwrap();
    assert_eq!((made.version, made.counted), (Version::V2, 1_000));
    assert_eq!(
        made.mix().unwrap().percent(filermark_model::Op::Lookup),
        90.0
    );
    let other = read.mix(Some(Version::V3), ops).unwrap();
    assert_eq!((other.version, other.counted), (Version::V3, 10));
    let alone = read_statistics("served.json", r#"{"v2 READ": 7}"#).unwrap();
    assert_eq!(alone.mix(None, ops).unwrap().version, Version::V2);
}

#[test]
fn a_mix_of_version_2_has_what_version_2_has() {
    let text = "getattr 1000\nroot 5\naccess 300\n";
    let read = read_statistics("table", text).unwrap();
    let made = read
        .mix(Some(Version::V2), filermark_model::Op::NFS3)
        .unwrap();
    let mix = made.mix().unwrap();
    assert_eq!(mix.percent(filermark_model::Op::Getattr), 100.0);
    assert!(
        made.omitted_text()
            .is_some_and(|words| words.contains("access"))
    );
}
