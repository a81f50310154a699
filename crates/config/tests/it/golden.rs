//! Texts that are kept as files: shipped ones, and messages to look at.
//!
//! `UPDATE_GOLDEN=1 cargo test -p filermark-config` writes them again.

use crate::{LEAST, bad, good, sources};
use filermark_config::{
    RcFile, Resolved, Sources, explain, help_parameter, help_params, reference_markdown, resolve,
    template_rc, template_rc_of,
};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn equal(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not what is made now; look at the difference, then UPDATE_GOLDEN=1",
        path.display()
    );
}

pub fn golden(name: &str, text: &str) {
    equal(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(name),
        text,
    );
}

#[test]
fn the_reference_page_is_made_from_the_table() {
    equal(
        &root().join("docs/src/reference/parameters.md"),
        &reference_markdown(),
    );
}

#[test]
fn the_page_on_netmist_is_made_from_the_flags() {
    equal(
        &root().join("docs/src/reference/netmist.md"),
        &filermark_config::netmist::netmist_markdown(),
    );
}

#[test]
fn the_template_is_the_example_and_resolves() {
    equal(&root().join("examples/sfs_rc"), &template_rc());
    let resolved = good(&template_rc(), &[]);
    assert_eq!(resolved.plan.points.len(), 10);
    // What is commented out has the value shown: uncommented, the run is the same.
    let all: String = template_rc().lines().filter_map(uncommented).collect();
    let all = good(&all, &[]);
    assert!(all.plan.parameters.len() > resolved.plan.parameters.len() + 30);
    assert_same_run(all, resolved);
}

#[test]
fn a_composite_has_its_template_too() {
    let text = template_rc_of("swbuild").unwrap();
    equal(&root().join("examples/sfs_rc_swbuild"), &text);
    let resolved = good(&text, &[]);
    assert_eq!(resolved.plan.benchmark.name, "SWBUILD");
    assert_eq!(resolved.plan.points.len(), 10);
    let all: String = text.lines().filter_map(uncommented).collect();
    let mut all = good(&all, &[]);
    assert!(all.plan.parameters.len() > resolved.plan.parameters.len() + 20);
    // PIT_PORT without PIT_SERVER is worth a note.
    all.plan
        .findings
        .retain(|f| !f.message.contains("PIT_PORT"));
    assert_same_run(all, resolved);
    assert!(template_rc_of("SWBIULD").unwrap_err().contains("SWBUILD"));
}

#[test]
fn smb_has_its_templates_too() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("smb.password"), "geheim\n").unwrap();
    for (name, protocol, file) in [
        ("general-smb1", "cifs", "sfs_cifs_rc"),
        ("general-smb2", "smb", "sfs_smb_rc"),
    ] {
        let text = template_rc_of(name).unwrap();
        assert_eq!(template_rc_of(protocol).unwrap(), text);
        equal(&root().join("examples").join(file), &text);
        let resolved = resolve(&sources(dir.path(), &text, &[])).unwrap();
        assert_eq!(resolved.plan.benchmark.name, name);
        assert_eq!(resolved.plan.points.len(), 10);
        let all: String = text.lines().filter_map(uncommented).collect();
        let all = resolve(&sources(dir.path(), &all, &[])).unwrap();
        assert!(all.plan.parameters.len() > resolved.plan.parameters.len() + 30);
        assert_same_run(all, resolved);
    }
}

#[test]
fn the_older_generations_have_their_templates_too() {
    for (name, file) in [
        ("nfs2-1993", "sfs_rc_1993"),
        ("nfs2-1997", "sfs_rc_1997_v2"),
        ("nfs3-1997", "sfs_rc_1997_v3"),
        ("nfs3-2001", "sfs_rc_2001"),
    ] {
        let text = template_rc_of(name).unwrap();
        equal(&root().join("examples").join(file), &text);
        let resolved = good(&text, &[]);
        assert_eq!(resolved.plan.benchmark.name, name);
        let loads: Vec<_> = resolved.plan.points.iter().map(|p| p.requested.0).collect();
        assert_eq!(loads.len(), 10);
        // As asked for: nothing is rounded.
        assert_eq!((loads[0], loads[9]), (80.0, 800.0));
        let all: String = text.lines().filter_map(uncommented).collect();
        let all = good(&all, &[]);
        assert!(all.plan.parameters.len() > resolved.plan.parameters.len() + 30);
        assert_same_run(all, resolved);
        // Either transport is standard.
        let udp = good(&text, &["TCP=off"]);
        let found = udp.plan.findings.iter();
        assert!(
            !found.clone().any(|f| f.message.contains("not standard")),
            "{name}"
        );
    }
    let unknown = template_rc_of("nonsense").unwrap_err();
    assert!(unknown.contains("nfs2-1993, "), "{unknown}");
    assert!(unknown.contains("SWBUILD"), "{unknown}");
    let error = |name| template_rc_of(name).unwrap_err();
    assert!(error("laddis").ends_with("did you mean nfs2-1993?"));
    assert!(error("nfs2-2997").ends_with("did you mean nfs2-1997?"));
}

/// The run is the same; only the parameters that are given differ, and the text of the file.
#[track_caller]
fn assert_same_run(mut all: Resolved, brief: Resolved) {
    all.plan.parameters.clone_from(&brief.plan.parameters);
    assert_ne!(all.inputs, brief.inputs);
    all.inputs.clone_from(&brief.inputs);
    assert_eq!(all, brief);
}

/// A line of a template with the commented value in effect; examples are left out.
fn uncommented(line: &str) -> Option<String> {
    if line.contains("# e.g.") {
        return None;
    }
    Some(match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_uppercase()) => format!("{rest}\n"),
        _ => format!("{line}\n"),
    })
}

#[test]
fn the_shipped_examples_are_read() {
    let rc = RcFile::read(&root().join("examples/sfs_rc")).unwrap();
    let mut sources = Sources::from_rc(None).unwrap();
    sources.rc = Some(rc);
    for option in [
        "MIXFILE=getattr.mix",
        "BLOCK_FILE=blocks",
        "PRIME_MON_SCRIPT=./sfs_ext_mon",
    ] {
        sources.set_option(option).unwrap();
    }
    let plan = resolve(&sources).unwrap().plan;
    assert!(plan.monitor.unwrap().script.ends_with("sfs_ext_mon"));
}

#[test]
fn the_messages_of_a_really_bad_rc_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = std::fs::read_to_string(folder.join("bad_rc")).unwrap();
    let messages = bad(
        Path::new("/nowhere"),
        &text,
        &["RUNTIME=abc", "VERIFY=maybe"],
    );
    golden("bad_rc.messages", &format!("{}\n", messages.join("\n")));
}

#[test]
fn the_texts_for_the_terminal() {
    golden("params.txt", &help_params());
    golden(
        "params_mnt_points.txt",
        &help_parameter("MNT_POINTS").unwrap(),
    );
    golden("plan.txt", &explain(&good(LEAST, &[]), None));
    let smb = "FS_PROTOCOL=smb\nUSERNAME=me\nPASSWORD=geheim\nDOMAIN=LAB\nPROCS=8\nLOAD=80\n\
               MNT_POINTS=\\\\srv\\share\nSMB_SIGNING=aes-gmac\n";
    golden("plan_smb.txt", &explain(&good(smb, &[]), None));
    let options = [
        "RUNTIME=5",
        "WARMUP_TIME=1",
        "LOAD=100 300 700",
        "FILESET_MB_PER_OP=1",
        "REUSE=off",
        "CONNECTIONS=2",
        "BLOCK_SIZE=32",
        "MNT_POINTS=a:/1 a:/1 [::1]:/2 a:/1",
        "PROCS=4",
    ];
    golden("plan_changed.txt", &explain(&good(LEAST, &options), None));
}

/// The plans of the 2014 generation's benchmarks, as a user sees them.
#[test]
fn the_plans_of_composites() {
    let mounts = "CLIENT_MOUNTPOINTS=localhost:/mnt/a localhost:/mnt/b";
    for name in ["SWBUILD", "VDA", "VDI", "DATABASE"] {
        let rc = format!("BENCHMARK={name}\nLOAD=2\nINCR_LOAD=2\nNUM_RUNS=10\n");
        let file = format!("plan_{}.txt", name.to_lowercase());
        golden(&file, &explain(&good(&rc, &[mounts]), None));
    }
    let options = [
        mounts,
        "FILE_SIZE=4k",
        "OPRATE_MULTIPLIER=0.5",
        "UNLINK_FILES=1",
        "PROCS=3",
    ];
    let rc = "BENCHMARK=SWBUILD\nLOAD=100\n";
    golden(
        "plan_swbuild_changed.txt",
        &explain(&good(rc, &options), None),
    );
}

/// The lines of `plan` about the load points' file sets.
fn fileset_lines(options: &[&str]) -> Vec<String> {
    let text = explain(&good(LEAST, options), None);
    let points = text.lines().skip_while(|line| !line.starts_with("point"));
    let points = points.skip(1).take_while(|line| !line.is_empty());
    points
        .map(|line| {
            line.split_whitespace()
                .skip(4)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn a_reused_file_set_is_shown_not_to_shrink() {
    let up = fileset_lines(&["LOAD=80 160"]);
    assert_eq!(up, fileset_lines(&["LOAD=\"80 160\""]), "as in an rc file");
    let down = fileset_lines(&["LOAD=80 160 80"]);
    assert_ne!(up[0], up[1]);
    assert_eq!(down[..2], up[..2]);
    // The larger set exists, the smaller one is used.
    let columns = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (large, small, both) = (columns(&up[1]), columns(&up[0]), columns(&down[2]));
    assert_eq!(both[..3], large[..3]);
    assert_eq!(both[3..], small[3..]);
    assert!(down[3].contains("shrinks"), "{down:?}");
    assert_eq!((up.len(), down.len()), (2, 4));
    let anew = fileset_lines(&["LOAD=80 160 80", "REUSE=off"]);
    assert_eq!(anew, [&up[0], &up[1], &up[0]].map(String::clone));
}

#[test]
fn files_other_than_the_io_files_are_counted() {
    let files = |options: &[&str]| -> u64 {
        let text = explain(&good(LEAST, options), None);
        let line = text.lines().find(|l| l.starts_with("Space")).unwrap();
        let (_, rest) = line.split_once("), ").unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    let counts = [
        "NUM_RUNS=1",
        "DIR_COUNT=2",
        "SYMLINK_COUNT=3",
        "FILE_COUNT=4",
    ];
    let more = [
        "NUM_RUNS=1",
        "DIR_COUNT=2",
        "SYMLINK_COUNT=3",
        "FILE_COUNT=40",
    ];
    let io = good(LEAST, &counts)
        .plan
        .io_file_count(filermark_model::OpsPerSec(80.0));
    // Per proc: its own directory, and half of at least 16 names that are created and removed.
    assert_eq!(files(&counts) - io, 8 * (1 + 2 + 3 + 4 + 8));
    assert_eq!(files(&more) - io, 8 * (1 + 2 + 3 + 40 + 20));
}
