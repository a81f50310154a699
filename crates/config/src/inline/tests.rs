use super::*;
use crate::definitions::{shipped_registry, take_definitions};

fn faults(text: &str) -> Vec<(usize, String)> {
    let faults = InlineWorkload::parse(text).expect_err(text);
    let shown = |f: InlineFault| (f.column, format!("{}; {}", f.message, f.hint));
    faults.into_iter().map(shown).collect()
}

/// The line means what a definition file with the same figures means.
#[test]
fn a_line_is_a_definition() {
    let line = "read_random=70, write_random=30%,size=4k-64k,write_size=8k,direct,fsync=5,\
                files=2,dirs=3,file_size=32m,procs=4,depth=16,rate=250";
    let toml = InlineWorkload::parse(line).expect("a workload").to_toml();
    let mut registry = shipped_registry();
    take_definitions(&mut registry, "inline", &toml).expect("a definition file");
    let benchmark = registry.composite(INLINE_NAME).expect("the benchmark");
    let part = &benchmark.composite().expect("a composite").components[0];
    assert_eq!((part.dir_count, part.files_per_dir), (3, 2));
    assert_eq!((part.instances, part.ops_per_proc), (4, Some(250.0)));
    assert_eq!(part.file_bytes, 32 << 20);
    let workload = &part.workload;
    assert_eq!(workload.mix.percent(Op::ReadRandom), 70.0);
    assert_eq!(workload.attributes.direct_pcnt, 100.0);
    assert_eq!(workload.attributes.write_commit_pcnt, 5.0);
    assert_eq!(workload.attributes.osync_pcnt, 0.0);
    assert_eq!(workload.attributes.depth, 16);
    let slot = workload.write_transfers.slots()[0];
    assert_eq!((slot.min_bytes, slot.max_bytes), (8 << 10, 8 << 10));
    assert_eq!(workload.read_transfers.max_bytes(), 64 << 10);
}

#[test]
fn an_operation_without_a_share_has_the_rest() {
    let read = |line| InlineWorkload::parse(line).expect(line).mix;
    assert_eq!(read("read"), BTreeMap::from([(Op::Read, 100.0)]));
    let both = BTreeMap::from([(Op::Stat, 12.5), (Op::Create, 87.5)]);
    assert_eq!(read("STAT=12.5,create"), both);
}

#[test]
fn faults_have_their_column_and_a_hint() {
    let of = |text| faults(text).remove(0);
    for (text, column, want) in [
        ("read=50, raed_random=50", 10, "did you mean read_random?"),
        ("randread=100", 1, "write read_random=PERCENT"),
        ("read,bs=4k", 6, "write size=4k"),
        ("read,iodepth=16", 6, "write depth=N"),
        ("read,size=4x", 6, "'4x' is no amount of data for size"),
        ("read,size", 6, "'' is no amount of data"),
        ("read,size=64k-4k", 6, "the first size is the larger one"),
        ("read,size=128m", 6, "from 1 byte to 64.0 MiB"),
        ("read,size=0", 6, "is no amount of data"),
        ("read,procs=0", 6, "from 1 to 10000"),
        ("read,procs=1.5", 6, "procs is not a whole number"),
        ("read,procs", 6, "procs has no value"),
        ("read,depth=0", 6, "from 1 to 1024"),
        ("read,depth=1025", 6, "from 1 to 1024"),
        ("read,rate=nan", 6, "'nan' is no number for rate"),
        ("read,rate=inf", 6, "is no number"),
        ("read,direct=101", 6, "from 0 to 100"),
        ("read,read=5", 6, "read is given twice"),
        ("read,write", 6, "read and write have no share"),
        ("commit=100", 1, "there is no operation or setting 'commit'"),
        ("zzzzzzzzzzzz", 1, "settings: size, read_size"),
        ("=5", 1, "there is no operation or setting ''"),
        ("", 0, "there is no operation in it"),
        (",,", 0, "there is no operation in it"),
        ("size=4k", 0, "such as read_random=70"),
        ("read=60,write=30", 0, "the operations total 90 percent"),
        (
            "read=60,write=60,stat",
            0,
            "the operations total 120 percent",
        ),
        (
            "read,size=1m,file_size=4k",
            0,
            "is larger than a file, 4.0 KiB",
        ),
        ("ä=1", 1, "there is no operation"),
    ] {
        let (at, got) = of(text);
        assert_eq!(at, column, "{text}: {got}");
        assert!(got.contains(want), "{text}: {got}");
    }
    assert_eq!(faults("raed=1,size=x,wirte=2").len(), 3);
    assert!(
        faults(&"read,".repeat(2000))[0]
            .1
            .contains("longer than 4096")
    );
}
