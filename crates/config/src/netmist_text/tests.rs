mod random;

use super::*;
use filermark_model::Op;
use filermark_model::WorkloadObject;

fn shipped(name: &str) -> WorkloadObject {
    Registry::shipped().workload(name).unwrap().clone()
}

#[test]
fn an_export_has_the_lines_of_the_manual() {
    let text = export([&shipped("METADATA")]);
    let lines: Vec<&str> = text.lines().collect();
    // 1 name, 22 operations, 2 x 16 slots x 3, 10 attributes.
    assert_eq!(lines.len(), 1 + 22 + 96 + 10);
    let at = |i: usize, want: &[&str]| assert_eq!(&lines[i..i + want.len()], want);
    at(
        0,
        &[
            "Workload name METADATA",
            "Percent read 10",
            "Percent read file 0",
        ],
    );
    at(4, &["Percent rand read 8", "Percent write 7"]);
    at(
        21,
        &[
            "Percent statfs 1",
            "Percent pathconf 0",
            "Read elem 0 xfer min size 1",
        ],
    );
    at(
        38,
        &[
            "Read elem 5 xfer min size 4097",
            "Read elem 5 xfer max size 8191",
        ],
    );
    at(
        70,
        &[
            "Read elem 15 xfer percent 0",
            "Write elem 0 xfer min size 1",
        ],
    );
    at(
        119,
        &[
            "Percent write commit 33",
            "Percent direct 0",
            "Percent osync 0",
            "Percent geometric 10",
            "Percent compress 0",
            "Background 0",
            "Sharemode 0",
            "Uniform size dist 0",
            "Rand dist behavior 0",
            "FS Type POSIX",
        ],
    );
}

/// Also writes them to the folder of FILERMARK_FUZZ_SEEDS, for ci/fuzz.
#[test]
fn the_shipped_ones_survive_an_export_and_import() {
    let registry = Registry::shipped();
    if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
        let folder = std::path::Path::new(&corpus).join("netmist_text");
        std::fs::create_dir_all(&folder).expect("create the corpus folder");
        for w in registry.workloads() {
            std::fs::write(folder.join(&w.name), export([w])).expect("write a seed");
        }
    }
    let text = export(registry.workloads());
    let again = parse("all", &text).unwrap();
    assert!(again.iter().eq(registry.workloads()));
    assert_eq!(export(&again), text);
    // Our own lines are written only where they differ from the default.
    let count = |line: &str| text.lines().filter(|l| l.starts_with(line)).count();
    assert_eq!(count("Hot spot"), 3);
    assert_eq!(count("Random align"), 2);
    assert_eq!(count("Percent dedupe"), 2);
    assert_eq!(count("Sequential read size 1048576"), 1);
    assert_eq!(count("Random read limit 20"), 1);
    assert_eq!(count("No attribute cache 1"), 2);
    assert_eq!(count("Percent rmdir"), 1);
    assert_eq!(count("Percent custom"), 0);
    assert_eq!(count("Title"), 0);
}

#[test]
fn blanks_case_comments_and_missing_lines_do_not_matter() {
    let text = "# mine\r\n\n   workload NAME  Mine_1\r\n\tPERCENT  Read 40.5\nPercent custom2 9.5\n\
         percent UNLINK2 50\nread elem 1 XFER min size 10\nread elem 1 xfer max size 20\n\
         read elem 1 xfer percent 100\nWrite elem 0 xfer percent 100\n\
         Write elem 0 xfer min size 1\nWrite elem 0 xfer max size 1\nfs type posix\n\
         Title   Two  words \nbackground 1\n";
    let got = parse("f", text).unwrap();
    let [w] = got.as_slice() else {
        panic!("{}", got.len());
    };
    assert_eq!(
        (w.name.as_str(), w.title.as_str()),
        ("Mine_1", "Two  words")
    );
    assert_eq!(w.mix.percent(Op::Read), 40.5);
    assert_eq!(w.mix.percent(Op::Unlink2), 50.0);
    assert_eq!(w.mix.percent(Op::Custom2), 9.5);
    assert_eq!(w.read_transfers.slots().len(), 2);
    assert_eq!(w.read_transfers.slots()[0].percent, 0.0);
    assert!(w.attributes.background && !w.attributes.sharemode);
    assert_eq!(w.attributes.write_commit_pcnt, 0.0);
    assert_eq!(w.attributes.random_align_bytes, 4096);
}

/// The errors in the shipped VDI after a change of its text.
fn errors_of(from: &str, to: &str) -> Vec<String> {
    let text = export([&shipped("VDI")]);
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    match parse("w", &changed) {
        Ok(objects) => panic!("{to}: taken: {}", export(&objects)),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn mistakes_are_reported_with_line_and_expectation() {
    let cases = [
        (
            "Percent read 5\n",
            "Percent read 4\n",
            "w:1:1: workload VDI: operation mix: total 99 percent, not 100; correct the 'Percent'",
        ),
        (
            "Percent read 5\n",
            "Percent read many\n",
            "w:2:14: 'many' is not a number from 0 to 100; write a number from 0 to 100",
        ),
        (
            "Percent read 5\n",
            "Percent read -5\n",
            "w:2:14: '-5' is not a number from",
        ),
        (
            "Percent read 5\n",
            "Percent read 1e1\n",
            "w:2:14: '1e1' is not",
        ),
        (
            "Percent read 5\n",
            "Percent read inf\n",
            "w:2:14: 'inf' is not",
        ),
        (
            "Percent read 5\n",
            "Percent read\n",
            "w:2:1: 'Percent read' has no value;",
        ),
        (
            "Percent mmap read 0",
            "Percent mmap raed 0",
            "w:4:1: 'Percent mmap raed 0' is not a line of a workload; did you mean 'Percent mmap read'?",
        ),
        (
            "Read elem 15 xfer percent 0",
            "Read elem 16 xfer percent 0",
            "w:71:11: '16' is not a slot; slots have the numbers 0 to 15",
        ),
        (
            "Read elem 15 xfer percent 0",
            "Read elem 15 xfer pct 0",
            "w:71:1: 'Read elem 15 xfer pct 0' is not a line of a workload; write 'Read elem N",
        ),
        (
            "Read elem 8 xfer percent 43",
            "Read elem 8 xfer percent 42.5",
            "w:1:1: workload VDI: read transfer sizes: total 99.5 percent, not 100; correct the 'Read elem N",
        ),
        (
            "Write elem 4 xfer min size 4096",
            "Write elem 4 xfer min size 4097",
            "w:1:1: workload VDI: write transfer sizes: slot 4: 4097 to 4096 bytes",
        ),
        (
            "Write elem 4 xfer min size 4096",
            "Write elem 4 xfer min size 4294967297",
            "w:84:28: '4294967297' is not a whole number from 0 to 67108864",
        ),
        (
            "Background 0",
            "Background 2",
            "w:125:12: '2' is not a whole number from 0 to 1",
        ),
        (
            "Rand dist behavior 0",
            "Rand dist behavior 1",
            "w:128:20: '1' is not 0, which is uniform",
        ),
        (
            "FS Type POSIX",
            "FS Type NFS",
            "w:129:9: 'NFS' is not POSIX; write POSIX",
        ),
        (
            "Percent direct 0",
            "Percent osync 0",
            "w:122:15: 'Percent osync' is in line 121 already; give every",
        ),
        (
            "FS Type POSIX",
            "Hot spot access percent 5",
            "w:1:1: workload VDI: its hot spot has no 'Hot spot area percent'; write all three",
        ),
        (
            "FS Type POSIX",
            "Random align 0",
            "w:129:14: '0' is not a whole number from 1 to 1048576",
        ),
        (
            "Workload name VDI\n",
            "",
            "w:1:1: this is before the first 'Workload name'; begin every",
        ),
        (
            "Workload name VDI\n",
            "Workload name ../V\n",
            "w:1:15: '../V' is not a name of a workload; use one word",
        ),
        (
            "Workload name VDI\n",
            "Workload name\n",
            "w:1:1: '' is not a name",
        ),
        (
            "FS Type POSIX\n",
            "FS Type POSIX\nWorkload name vdi\n",
            "w:130:15: workload vdi is in the file already",
        ),
    ];
    for (from, to, want) in cases {
        let got = errors_of(from, to);
        assert!(got[0].starts_with(want), "{to}: {got:?}");
    }
}

#[test]
fn all_mistakes_are_reported_in_order_up_to_a_limit() {
    let text = "Workload name A\nPercent read 1\nWorkload name B\nPercent raed 1\nBackground 7\n\
         Workload name A_2\n";
    let errors = parse("w", text).unwrap_err();
    let lines: Vec<String> = errors.iter().map(|e| e.location.to_string()).collect();
    // A and A_2 have neither a complete mix nor tables; B has two bad lines, one of them in
    // its mix, and no tables.
    assert_eq!(
        lines,
        [
            "w:1:1", "w:1:1", "w:1:1", "w:3:1", "w:3:1", "w:4:1", "w:5:12", "w:6:1", "w:6:1",
            "w:6:1"
        ]
    );
    let errors = parse("w", &"nonsense 1\n".repeat(100_000)).unwrap_err();
    assert_eq!(errors.len(), 51);
    assert_eq!(
        errors[50].to_string(),
        "w: not read further after 50 mistakes"
    );
    let names: String = (0..2000).map(|n| format!("Workload name W{n}\n")).collect();
    assert!(parse("w", &names).unwrap_err().len() == 51);
    let errors = parse("w", "\n# nothing\n").unwrap_err();
    assert!(
        errors[0]
            .to_string()
            .starts_with("w:1:1: there is no 'Workload name'")
    );
}

/// A wrong line of the mix, a slot of the reads and a total of the writes are independent:
/// all are reported, but no total of a part that has a wrong line.
#[test]
fn all_mistakes_are_reported_at_once() {
    let text = export([&shipped("VDI")]);
    let changed = text
        .replacen("Percent read 5\n", "Percent raed 5\n", 1)
        .replacen(
            "Read elem 6 xfer max size 8192",
            "Read elem 6 xfer max size 8191",
            1,
        )
        .replacen(
            "Read elem 8 xfer percent 43",
            "Read elem 8 xfer percent 430",
            1,
        )
        .replacen(
            "Write elem 6 xfer percent 45",
            "Write elem 6 xfer percent 44",
            1,
        )
        .replacen("Percent compress 30", "Percent compress 300", 1);
    let errors = parse("w", &changed).expect_err("five mistakes");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let with = |what: &str| errors.iter().filter(|t| t.contains(what)).count();
    assert_eq!(with("'Percent raed 5' is not a line"), 1, "{errors:#?}");
    assert_eq!(with("'430' is not a number"), 1, "{errors:#?}");
    assert_eq!(
        with("write transfer sizes: total 99 percent"),
        1,
        "{errors:#?}"
    );
    assert_eq!(with("'300' is not a number"), 1, "{errors:#?}");
    assert_eq!(errors.len(), 4, "{errors:#?}");
    // All invalid slots are reported.
    let changed = text
        .replacen(
            "Read elem 6 xfer max size 8192",
            "Read elem 6 xfer max size 8191",
            1,
        )
        .replacen(
            "Read elem 8 xfer min size 16384",
            "Read elem 8 xfer min size 16385",
            1,
        );
    let errors = parse("w", &changed).expect_err("two slots");
    assert_eq!(errors.len(), 2, "{errors:#?}");
}
