//! Findings of plans about trial sizes, uniform access and too few clients.

use crate::{LEAST, bad, good, sources};
use filermark_config::{explain, resolve};
use filermark_model::fileset::FileSet;
use filermark_model::{Finding, LoadPoint, Rule, RunPlan, Severity};
use std::path::Path;

fn found(plan: &RunPlan, rule: Rule) -> Vec<&Finding> {
    plan.findings.iter().filter(|f| f.rule == rule).collect()
}

/// FILE_SIZE replaces the table of sizes; what it cannot hold is refused, and no sum overflows.
#[test]
fn files_over_the_wire_have_the_wanted_size() {
    let resolved = good(LEAST, &["FILE_SIZE=512k", "FILESET_MB_PER_OP=0.2"]);
    let classic = resolved.plan.benchmark.classic().expect("a classical one");
    assert_eq!(classic.file_sizes.mean_bytes(), 524_288.0);
    assert_eq!(classic.file_sizes.max().0, 524_288);
    let noted = found(&resolved.plan, Rule::NotStandard);
    assert!(
        noted.iter().any(|f| f.message.contains("FILE_SIZE=512k")),
        "{noted:?}"
    );
    for (options, words) in [
        (&["FILE_SIZE=64k"][..], "raise FILE_SIZE"),
        (&["FILE_SIZE=4g", "BENCHMARK=nfs2-1993"], "ends at 2 GiB"),
    ] {
        let errors = bad(Path::new("/nowhere"), LEAST, options);
        assert!(errors.iter().any(|e| e.contains(words)), "{errors:?}");
    }
    let huge = good(
        LEAST,
        &["FILE_SIZE=1024t", "PROCS=16384", "LOAD=20000", "NUM_RUNS=1"],
    );
    let point = huge.plan.points[0];
    assert_eq!(huge.plan.io_bytes(point.requested), u64::MAX);
}

/// The sizes that the rows of `plan` name are those that INIT makes, file by file.
#[test]
fn the_plan_adds_up_the_real_sizes() {
    let resolved = good(LEAST, &["FILESET_MB_PER_OP=0.2"]);
    let plan = &resolved.plan;
    let classic = plan.benchmark.classic().expect("a classical one");
    let set = FileSet::new(plan.seed, classic);
    for point in &plan.points {
        let count = plan.io_file_count(point.requested);
        let created: u64 = (0..count).map(|f| set.size_bytes(f)).sum();
        assert_eq!(plan.io_bytes(point.requested), created);
        let row = explain(&resolved, None);
        let size = filermark_model::Bytes(created).to_string();
        assert!(row.contains(&size), "{size}: {row}");
        // What is stated holds the files, and all that can be appended to them.
        let growth = plan.io_growth_bytes(point.requested);
        assert!(plan.io_space_bytes(point.requested) >= created + growth);
        assert!(plan.io_space_bytes(point.requested) >= created + created / 10);
    }
}

/// The accessed share of the bytes of a load point, in percent: file by file, and the last
/// file of a proc that has no accessed one.
fn accessed_pcnt(plan: &RunPlan, point: &LoadPoint) -> f64 {
    let classic = plan.benchmark.classic().expect("a classical one");
    let set = FileSet::new(plan.seed, classic);
    let count = plan.io_file_count(point.requested);
    let choice = set.choice(count);
    let (mut created, mut accessed) = (0, 0);
    for proc in 0..u64::from(plan.proc_count()).min(count) {
        let own: Vec<u64> = (proc..count).step_by(plan.proc_count() as usize).collect();
        let size = |file: &u64| set.size_bytes(*file);
        let mut used: Vec<u64> = own.clone();
        used.retain(|file| set.is_accessed(&choice, *file));
        if used.is_empty() {
            used.extend(own.last());
        }
        created += own.iter().map(size).sum::<u64>();
        accessed += used.iter().map(size).sum::<u64>();
    }
    100.0 * accessed as f64 / created as f64
}

#[test]
fn the_accessed_share_is_kept_from_a_hundred_files_on_or_has_a_finding() {
    let (mut kept, mut off_count) = (0, 0);
    for seed in 1..40 {
        // 102 files at 80 op/s, 1,024 at 800.
        let options = ["FILESET_MB_PER_OP=0.4".to_owned(), format!("SEED={seed}")];
        let plan = good(LEAST, &[&options[0], &options[1]]).plan;
        let off = |p: &LoadPoint| (accessed_pcnt(&plan, p) - 30.0).abs();
        for point in &plan.points {
            match off(point) <= 2.0 {
                true => kept += 1,
                false => off_count += 1,
            }
        }
        let worst = plan.points.iter().map(off).fold(0.0, f64::max);
        let findings = found(&plan, Rule::AccessedShare);
        assert_eq!(
            findings.len(),
            usize::from(worst > 2.0),
            "seed {seed}: {worst}"
        );
        for finding in findings {
            let value = finding.value.expect("a figure");
            assert!((value - worst).abs() < 1e-9, "{value} for {worst}");
            assert_eq!(
                (finding.limit, finding.severity),
                (Some(2.0), Severity::Note)
            );
        }
    }
    // A few sets of a hundred files cannot keep it.
    assert!(
        kept >= 380 && off_count <= 10,
        "{kept} kept, {off_count} off"
    );
    let few = good(LEAST, &["FILESET_MB_PER_OP=0.002", "LOAD=80"]).plan;
    assert_eq!(found(&few, Rule::AccessedShare).len(), 1);
    let cut = found(&few, Rule::CutReads);
    assert!(
        cut[0]
            .message
            .contains("longer than any accessed file of their proc")
    );
    let standard = good(LEAST, &[]).plan;
    for rule in [Rule::AccessedShare, Rule::CutReads] {
        assert_eq!(found(&standard, rule), [&few.findings[0]; 0], "{rule}");
    }
}

#[test]
fn a_mix_without_reads_has_no_cut_reads() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |mix: &str| {
        let text = format!("SFS MIXFILE VERSION 2\n{mix} 100%\n");
        std::fs::write(dir.path().join("mix"), text).unwrap();
        let options = ["FILESET_MB_PER_OP=0.002", "LOAD=80", "MIXFILE=mix"];
        resolve(&sources(dir.path(), LEAST, &options)).unwrap().plan
    };
    for (mix, share, cut) in [("getattr", 0, 0), ("write", 1, 0), ("read", 1, 1)] {
        let plan = plan(mix);
        assert_eq!(found(&plan, Rule::AccessedShare).len(), share, "{mix}");
        assert_eq!(found(&plan, Rule::CutReads).len(), cut, "{mix}");
    }
}

/// By the first files alone it would be 5.5 %.
#[test]
fn a_standard_run_with_many_procs_cuts_no_reads() {
    let many = good(LEAST, &["LOAD=160000", "PROCS=3200"]).plan;
    assert!(
        found(&many, Rule::CutReads).is_empty(),
        "{:?}",
        many.findings
    );
}

/// Manual M, section 3.3: the uniform access rule.
#[test]
fn procs_that_are_spread_unevenly_have_a_warning() {
    let warnings = |options: &[&str]| -> Vec<String> {
        let resolved = good(LEAST, options);
        let findings = found(&resolved.plan, Rule::UniformAccess);
        assert!(findings.iter().all(|f| f.severity == Severity::Warning));
        let text = explain(&resolved, None);
        assert_eq!(
            text.contains("not uniform, see the notes"),
            !findings.is_empty(),
            "{text}"
        );
        findings.iter().map(|f| f.message.clone()).collect()
    };
    let even = "MNT_POINTS=t:/1 t:/2 t:/3 t:/4 t:/1 t:/2 t:/3 t:/4";
    assert_eq!(warnings(&[even]), [""; 0]);
    let three = "MNT_POINTS=t:/1 t:/2 t:/3 t:/1 t:/2 t:/3 t:/1 t:/2";
    assert_eq!(
        warnings(&[three]),
        ["access is not uniform: in all 3 procs work on file system t:/2, 2 procs on t:/3"]
    );
    let text = explain(&good(LEAST, &[three]), None);
    let line = "Access      in all: 3 file systems with 2 to 3 procs each, 1 server or address with 8 procs";
    assert!(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(&line.split_whitespace().collect::<Vec<_>>().join(" ")),
        "{text}"
    );
    // Two clients with two procs each: the first sees only one of the file systems.
    let two = ["CLIENTS=c1 c2", "PROCS=2", "MNT_POINTS=t:/1 t:/1 t:/1 t:/4"];
    let text = warnings(&two).join("\n");
    for words in [
        "in all 3 procs work on file system t:/1, 1 proc on t:/4",
        "client c1 works on 1 of 2 file systems, client c2 on 2",
    ] {
        assert!(text.contains(words), "{text}");
    }
    // One client sees one of two servers.
    let servers = ["CLIENTS=c1 c2", "PROCS=2", "MNT_POINTS=a:/1 a:/2 a:/1 b:/2"];
    let text = warnings(&servers).join("\n");
    assert!(text.contains("client c1 works on 1 of 2 servers or addresses, client c2 on 2"));
    let shared = ["CLIENTS=c1 c2", "PROCS=2", "MNT_POINTS=a:/1 b:/1"];
    assert_eq!(warnings(&shared), [""; 0]);
}

/// Guide V: at least two NFS clients; its mix and its 50 ms are nfs2-1993's.
#[test]
fn the_older_generations_require_two_load_generators() {
    let one = good(LEAST, &["BENCHMARK=nfs2-1993"]);
    let findings = found(&one.plan, Rule::LoadGenerators);
    assert_eq!(
        (findings[0].value, findings[0].limit),
        (Some(1.0), Some(2.0))
    );
    assert!(explain(&one, None).contains("nfs2-1993 requires 2 load generators at least"));
    let two = good(LEAST, &["BENCHMARK=nfs2-1993", "CLIENTS=c1 c2"]);
    assert!(found(&two.plan, Rule::LoadGenerators).is_empty());
    assert!(found(&good(LEAST, &[]).plan, Rule::LoadGenerators).is_empty());
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = flat(explain(&one, None));
    assert!(text.contains("50 ms of the vendor's guide"), "{text}");
    assert!(
        text.contains("are those of this benchmark; nfs2-1997 has others"),
        "{text}"
    );
    let later = flat(explain(&good(LEAST, &["BENCHMARK=nfs2-1997"]), None));
    assert!(later.contains("are those of nfs2-1993"), "{later}");
}
