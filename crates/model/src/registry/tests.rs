mod file;

use super::*;
use crate::composite::DataSet;
use crate::op::Op;
use crate::plan::{MountPoint, ProcPlan};
use crate::rng::Rng;
use crate::transfer::{SLOTS_MAX, TransferTable};
use crate::units::OpsPerSec;
use file::EDA;

/// The eleven of the seed, in the order of the list.
const SEED: [&str; 11] = [
    "METADATA", "BACKUP", "HOMEDIR", "SWBUILD", "DB_TABLE", "DB_LOG", "VDA1", "VDA2", "VDS", "VDI",
    "USERDEF",
];

fn workload(name: &str) -> WorkloadObject {
    Registry::shipped().workload(name).unwrap().clone()
}

fn total(table: &TransferTable) -> f64 {
    table.slots().iter().map(|s| s.percent).sum()
}

#[test]
fn every_shipped_file_reads_and_totals_100() {
    let mut registry = Registry::default();
    for (file, text) in shipped::FILES {
        registry
            .take_toml(file, text)
            .unwrap_or_else(|e| panic!("{e:?}"));
    }
    assert_eq!(registry.workload_names()[..11], SEED);
    for w in registry.workloads() {
        w.check().unwrap();
        let mix: f64 = w.mix.shares().iter().map(|(_, p)| p).sum();
        assert_eq!(mix, 100.0, "{}", w.name);
        assert_eq!(total(&w.read_transfers), 100.0, "{}", w.name);
        assert_eq!(total(&w.write_transfers), 100.0, "{}", w.name);
        if SEED.contains(&w.name.as_str()) {
            assert_eq!(w.read_transfers.slots().len(), SLOTS_MAX, "{}", w.name);
            assert_eq!(w.write_transfers.slots().len(), SLOTS_MAX, "{}", w.name);
        }
    }
    for name in registry.composite_names() {
        let b = registry.composite(name).unwrap();
        let mix: f64 = b.mix.shares().iter().map(|(_, p)| p).sum();
        assert!((mix - 100.0).abs() < 1e-9, "{name}: {mix}");
        assert_eq!(b.composite().unwrap().mix(), b.mix);
        assert!(!b.title.is_empty());
    }
}

/// The data set of a benchmark at a load, with its procs spread over `clients`.
fn data_set(benchmark: &Benchmark, load: u32, clients: u32) -> DataSet {
    let work = benchmark.composite().unwrap();
    let mount = MountPoint {
        host: String::new(),
        path: "/mnt".into(),
    };
    let mut procs = Vec::new();
    for unit in 0..load {
        for (component, c) in (0u32..).zip(&work.components) {
            for i in 0..c.instances {
                procs.push(ProcPlan {
                    client: procs.len() as u32 % clients,
                    mount: mount.clone(),
                    component,
                    instance: unit * c.instances + i,
                    ops_per_sec: c.ops_per_proc.map(OpsPerSec),
                });
            }
        }
    }
    work.data_set(&procs, clients, false)
}

fn start_and_max_mib(benchmark: &Benchmark, load: u32) -> (u64, u64) {
    let set = data_set(benchmark, load, 1);
    (DataSet::mib(set.start_bytes), DataSet::mib(set.max_bytes))
}

#[test]
fn the_rows_of_section_3_7_come_out_exactly() {
    let mut registry = Registry::shipped();
    registry.take_toml("eda.toml", EDA).unwrap();
    let rows = [
        ("SWBUILD", 2, 8593, 9375),
        ("VDA", 9, 202_752, 221_184),
        ("EDA", 10, 110_515, 120_562),
        ("EDA", 100, 1_105_156, 1_205_625),
        ("EDA_BLENDED", 10, 110_515, 120_562),
        // "12 GB" and "24 GB" of slides E as binary gigabytes of 1000 and 1024 MiB.
        ("VDI", 1, 11_000, 12_000),
        ("DATABASE", 1, 22_528, 24_576),
        ("VDA_DRAFT", 1, 22_528, 24_576),
        // 3.5 GiB.
        ("GENOMICS", 1, 3_286, 3_584),
    ];
    for (name, load, start, max) in rows {
        let benchmark = registry.composite(name).unwrap();
        assert_eq!(
            start_and_max_mib(&benchmark, load),
            (start, max),
            "{name} {load}"
        );
    }
    let set = data_set(&registry.composite("SWBUILD").unwrap(), 2, 2);
    assert_eq!(set.client_bytes, set.start_bytes / 2);
}

#[test]
fn units_have_the_rates_of_section_3_5() {
    let registry = Registry::shipped();
    for (name, unit, procs, rate) in [
        ("SWBUILD", "BUILD", 5, Some(500.0)),
        ("VDA", "STREAM", 2, Some(10.0)),
        ("VDA_DRAFT", "STREAM", 2, Some(2.22)),
        ("VDI", "DESKTOP", 2, Some(200.0)),
        ("EDA_BLENDED", "JOB_SET", 5, Some(450.0)),
        ("GENOMICS", "JOB", 4, Some(1000.0)),
        ("AI_IMAGE", "AI_JOB", 4, Some(435.0)),
        ("METADATA", "PROC", 1, None),
        ("USERDEF", "PROC", 1, None),
    ] {
        let b = registry.composite(name).unwrap();
        let work = b.composite().unwrap();
        assert_eq!(b.unit, unit);
        assert_eq!(work.procs_per_unit(), procs, "{name}");
        assert_eq!(work.ops_per_unit(), rate, "{name}");
        let s = &b.standard;
        assert_eq!(
            (s.warmup_s, s.runtime_s, s.load_points_min),
            (300.0, 300.0, 10)
        );
        assert_eq!((s.achieved_pcnt_min, s.proc_pcnt_min), (95.0, 75.0));
        assert_eq!(
            (s.component_variance_pcnt_max, s.response_limit_ms),
            (5.0, 0.0)
        );
    }
    let experimental: Vec<_> = registry
        .composite_names()
        .into_iter()
        .filter(|n| registry.is_experimental(n))
        .collect();
    assert_eq!(
        experimental,
        ["DATABASE", "EDA_BLENDED", "GENOMICS", "AI_IMAGE"]
    );
    let vda = registry.composite("VDA").unwrap();
    assert!((vda.mix.percent(Op::Write) - 90.0).abs() < 1e-9);
    assert!((vda.mix.percent(Op::ReadRandom) - 8.6).abs() < 1e-9);
}

/// KiB/s per unit that the mix, the rates and the sizes give: (read, write).
fn throughput(benchmark: &Benchmark) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for c in &benchmark.composite().unwrap().components {
        let w = &c.workload;
        let per_percent = c.ops_per_proc.unwrap() * f64::from(c.instances) / 100.0 / 1024.0;
        let share = |ops: &[Op]| ops.iter().map(|op| w.mix.percent(*op)).sum::<f64>();
        let file = c.file_bytes as f64;
        sums.0 += per_percent
            * (share(&[Op::Read, Op::ReadRandom]) * w.read_transfers.mean_bytes()
                + share(&[Op::ReadFile]) * file);
        sums.1 += per_percent
            * (share(&[Op::Write, Op::WriteRandom]) * w.write_transfers.mean_bytes()
                + share(&[Op::WriteFile]) * file);
    }
    sums
}

#[test]
fn look_alikes_move_what_was_published() {
    let registry = Registry::shipped();
    let (read, write) = throughput(&registry.composite("EDA_BLENDED").unwrap());
    assert!((read / 3785.0 - 1.0).abs() < 0.01, "{read}");
    assert!((write / 3449.0 - 1.0).abs() < 0.01, "{write}");
    let (read, write) = throughput(&registry.composite("AI_IMAGE").unwrap());
    let per_op = (read + write) / 435.0;
    assert!((per_op / 224.8 - 1.0).abs() < 0.01, "{per_op}");
    let genomics = registry.composite("GENOMICS").unwrap();
    let sizes = &genomics.composite().unwrap().components[0].file_sizes;
    let rows = sizes.as_ref().unwrap().rows();
    let small: f64 = rows
        .iter()
        .filter(|r| r.kib < 128.0)
        .map(|r| r.percent)
        .sum();
    assert_eq!(small, 81.0);
    assert_eq!(rows.last().unwrap().kib, 102_400.0);
}

#[test]
fn unknown_names_get_the_nearest() {
    let registry = Registry::shipped();
    let error_of = |name: &str| registry.workload(name).unwrap_err().to_string();
    assert_eq!(
        error_of("SWBIULD"),
        "there is no workload 'SWBIULD'; did you mean SWBUILD?"
    );
    assert_eq!(
        error_of("homefolder"),
        "there is no workload 'homefolder'; did you mean HOMEFOLDERS?"
    );
    assert!(error_of("nothing_like_it").contains("known: METADATA, BACKUP, HOMEDIR, HOMEFOLDERS"));
    let e = registry.composite("GENOMIC\n").unwrap_err().to_string();
    assert_eq!(
        e,
        "there is no composite benchmark 'GENOMIC '; did you mean GENOMICS?"
    );
    assert_eq!(registry.composite("stream_vod").unwrap().name, "VDS");
    assert!(registry.composite("VDA1").is_err());
}

#[test]
fn a_workload_that_is_put_in_changes_its_composites() {
    let mut registry = Registry::shipped();
    let mut mine = workload("STREAM_VOD");
    mine.name = "Stream_VOD".into();
    mine.attributes.sharemode = true;
    registry.put_workload(mine);
    assert_eq!(registry.workload_names().len(), 18);
    let vds = registry.composite("VDS").unwrap();
    let used = &vds.composite().unwrap().components[0].workload;
    assert!(used.attributes.sharemode && used.name == "Stream_VOD");
    assert_eq!(registry.workload_aliases("vds"), ["VDS", "STREAM"]);
    let mut other = workload("VDI");
    other.name = "MINE".into();
    registry.put_workload(other);
    assert_eq!(registry.workload("mine").unwrap().name, "MINE");
    assert_eq!(registry.workload_names().len(), 19);
}

/// The reads of DATABASE by the prose of the seed: sequential ones have 1 MiB, random ones
/// 8 KiB, whatever the table of both says.
#[test]
fn sequential_and_random_reads_of_a_database_have_their_own_sizes() {
    let table = workload("DB_TABLE");
    let mut rng = Rng::new(1, 1);
    for _ in 0..2_000 {
        assert_eq!(table.read_length(Op::Read, &mut rng), 1 << 20);
        assert_eq!(table.read_length(Op::ReadRandom, &mut rng), 8192);
    }
    let mut plain = workload("VDI");
    let drawn: Vec<u32> = (0..50)
        .map(|_| plain.read_length(Op::Read, &mut rng))
        .collect();
    assert!(drawn.iter().any(|n| *n != drawn[0]), "by the table");
    plain.attributes.sequential_read_bytes = Some(0);
    plain.attributes.random_read_limit_ms = Some(0.0);
    assert_eq!(plain.faults().len(), 2);
    let limits = (
        table.attributes.random_read_limit_ms,
        table.attributes.no_attribute_cache,
    );
    assert_eq!(limits, (Some(20.0), true));
}

/// What a STREAM of VDA moves by manual N's tables, beside slides E's ten rows: the writes
/// agree, the reads do not. The page on workloads says so.
#[test]
fn what_a_stream_moves_is_as_on_the_page() {
    let registry = Registry::shipped();
    let vda = registry.composite("VDA").unwrap();
    let (mut read, mut written) = (0.0, 0.0);
    for c in &vda.composite().unwrap().components {
        let w = &c.workload;
        let share = |op| w.mix.percent(op) / 100.0 * c.ops_per_proc.unwrap();
        let (reads, writes) = (
            w.read_transfers.mean_bytes() / 1024.0,
            w.write_transfers.mean_bytes() / 1024.0,
        );
        read += (share(Op::Read) + share(Op::ReadRandom)) * reads + share(Op::Rmw) * writes;
        written += (share(Op::Write) + share(Op::Rmw)) * writes;
    }
    // E: streams, KB/s read, KB/s written.
    let rows = [
        (9, 3647.205, 37952.037),
        (18, 6817.453, 76208.708),
        (27, 10843.302, 113971.334),
        (36, 13859.482, 150586.112),
        (45, 17872.621, 190848.564),
        (54, 21335.173, 228062.214),
        (63, 24809.548, 266957.381),
        (72, 29162.061, 304120.009),
        (81, 31460.608, 341782.132),
        (90, 35670.615, 380536.346),
    ];
    let streams: i32 = rows.iter().map(|r| r.0).sum();
    let per_stream = |sum: f64| sum / f64::from(streams);
    let seen = (
        per_stream(rows.iter().map(|r| r.1).sum()),
        per_stream(rows.iter().map(|r| r.2).sum()),
    );
    let page = include_str!("../../../../docs/src/reference/workloads.md");
    let expected = [
        format!("{read:.1} KB/s read and {written:.1} written"),
        format!("{:.1} and {:.1} ({streams} STREAMs in all)", seen.0, seen.1),
    ];
    for expected in expected {
        assert!(page.contains(&expected), "{expected}");
    }
    assert!((written / seen.1 - 1.0).abs() < 0.002 && read / seen.0 > 1.07);
}
