use super::rc::written;
use super::*;
use crate::definitions::shipped_registry;
use proptest::prelude::*;

fn made(text: &str) -> ConvertedFile {
    match import("old", text).unwrap() {
        ImportOutcome::Made(made) => made,
        ImportOutcome::AsItIs(how) => panic!("{how}"),
    }
}

/// By the facts of the 2014 kit (docs/src/howto/from-older-tools.md).
const EDA: &str = include_str!("../../tests/fixtures/benchmarks.xml");

#[test]
fn xml_definitions_become_a_definition_file_with_the_same_figures() {
    let made = made(EDA);
    assert_eq!(made.form, ConvertedFormat::Definitions(vec!["EDA".into()]));
    let mut registry = shipped_registry();
    registry.take_toml("new", &made.text).unwrap();
    let benchmark = registry.composite("EDA").unwrap();
    assert_eq!(benchmark.unit, "JOB_SET");
    assert_eq!(benchmark.standard.runtime_s, 300.0);
    assert_eq!(benchmark.standard.proc_pcnt_min, 75.0);
    assert_eq!(benchmark.standard.achieved_pcnt_min, 95.0);
    assert_eq!(benchmark.standard.component_variance_pcnt_max, 5.0);
    let parts = &benchmark.composite().unwrap().components;
    let figures: Vec<_> = parts
        .iter()
        .map(|c| {
            let name = c.workload.name.as_str();
            let dirs = (c.dir_count, c.files_per_dir);
            (name, c.instances, c.ops_per_proc, dirs, c.file_bytes)
        })
        .collect();
    assert_eq!(
        figures,
        [
            ("EDA_FRONTEND", 3, Some(100.0), (10, 10), 16 << 10),
            ("EDA_BACKEND", 2, Some(75.0), (5, 10), 10 << 20),
        ]
    );
    let notes = made.notes.join("\n");
    for part in [
        "old:18: SHARING_MODE=1 has no place in a definition; in the rc file: SHARING_MODE=1",
        "old:21: COOKIES=... has no equivalent",
        "old:25: threshold 'luck' is not known",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
        assert!(made.text.contains(part), "{part}: {}", made.text);
    }
}

#[test]
fn what_the_xml_does_not_have_is_named() {
    let text = "<benchmark><name>A-B</name><workload name='EDA_BACKEND'/>\
                <workload><name>MINE</name><override_parm><name>FILE_SIZE</name>\
                <value>4096</value></override_parm></workload></benchmark>";
    let made = made(text);
    let notes = made.notes.join("\n");
    for part in [
        "A_B has no business_metric; its unit is UNIT",
        "EDA_BACKEND has no instances; 1 is taken",
        "EDA_BACKEND has no oprate; its procs run as fast as they can",
        "EDA_BACKEND has no FILE_SIZE; the shipped one is taken",
        "workload MINE does not ship with Filermark; define it",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(made.text.contains("file_kib = 4\n"), "{}", made.text);
    assert!(made.unusable[0].contains("MINE"), "{:?}", made.unusable);
}

#[test]
fn what_cannot_be_converted_is_refused_with_the_reason() {
    for (text, want) in [
        ("", "old: the file is empty"),
        ("hello", "old: this is of no known kind"),
        ("<a><b></a>", "old:1:1: this is not well-formed XML"),
        (
            "<a><benchmark name='x'>",
            "old:1:1: the file ends too early",
        ),
        ("<!DOCTYPE x><a/>", "old:1:1: a document type declaration"),
        ("<a>\n&x;</a>", "old:2:1: the entity &x; is not known"),
        ("<a>&#1114112;</a>", "is not known"),
        ("<specSFS4_0Info/>", "subedit"),
        ("<html/>", "no <benchmark> in it"),
        ("<benchmark/>", "a benchmark without a name"),
        ("<benchmark name='x'/>", "benchmark x has no workload"),
        (
            "<benchmark name='x'><workload name='Y'/></benchmark>",
            "workload Y has no FILE_SIZE",
        ),
        (
            "Benchmark_name: SWBUILD\n",
            "YAML definition of the 2020 kind",
        ),
    ] {
        let message = import("old", text).unwrap_err().to_string();
        assert!(message.contains(want), "{text}: {message}");
    }
    let deep = "<a>".repeat(40);
    assert!(
        import("old", &deep)
            .unwrap_err()
            .to_string()
            .contains("levels")
    );
}

#[test]
fn what_needs_no_conversion_is_answered_with_the_option() {
    for (text, want) in [
        ("SFS MIXFILE VERSION 2\n", "MIXFILE=old"),
        ("# mine\nWorkload name X\n", "WORKLOAD_FILE=old"),
        ("[[workload]]\n", "-b old"),
    ] {
        match import("old", text).unwrap() {
            ImportOutcome::AsItIs(how) => assert!(how.contains(want), "{how}"),
            ImportOutcome::Made(made) => panic!("{made:?}"),
        }
    }
}

/// The lines of an imported rc file that are no comments.
fn lines(text: &str) -> Vec<String> {
    let made = made(text);
    assert_eq!(made.form, ConvertedFormat::Rc);
    let lines = made
        .text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[test]
fn rc_files_of_every_generation_are_taken_over() {
    let of_2008 = "LOAD=\"100 200\"\nNUM_PROCS=4\nMNT_POINTS=\"a:/x\n b:/y\"\nSFS_DIR=src\n\
                   FS_PROTOCOL=nfs\nDUMP=\nBLOCK_SIZE=32\n";
    assert_eq!(
        lines(of_2008),
        [
            "LOAD=\"100 200\"",
            "PROCS=4",
            "MNT_POINTS=\"a:/x b:/y\"",
            "FS_PROTOCOL=nfs",
            "BLOCK_SIZE=32",
        ]
    );
    let of_2014 = "BENCHMARK=EDA\nCLIENT_MOUNTPOINTS= c1:/a c2:/a\nUSER=me\nPASSWORD=geheim\n\
                   LATENCY_GRAPH=1\n";
    assert_eq!(
        lines(of_2014),
        [
            "BENCHMARK=EDA_BLENDED",
            "CLIENT_MOUNTPOINTS=\"c1:/a c2:/a\"",
            "USER=me",
        ]
    );
    let of_2020 = "BENCHMARK=GENOMICS\nCLIENT_MOUNTPOINTS=\nUNIX_CLIENT_MOUNTPOINTS=c1:/a\n\
                   UNIX_USER=me\nPDSM_MODE=1\nWINDOWS_USER=x\n";
    assert_eq!(
        lines(of_2020),
        ["BENCHMARK=GENOMICS", "CLIENT_MOUNTPOINTS=c1:/a", "USER=me"]
    );
    let notes = made(of_2020).notes;
    let about = notes
        .iter()
        .filter(|note| note.contains("UNIX_CLIENT_MOUNTPOINTS"));
    assert_eq!(about.count(), 1, "{notes:?}");
    let both = "UNIX_CLIENT_MOUNTPOINTS=c1:/a\nWINDOWS_CLIENT_MOUNTPOINTS='w1:\\\\s\\b w2:D:\\c'\n";
    assert_eq!(
        lines(both),
        ["CLIENT_MOUNTPOINTS='c1:/a w1:\\\\s\\b w2:D:\\c'"]
    );
    let older = "LOAD=100\nNFS_VERSION=2\nRSH=/bin/rsh\nRCP=rcp\nFROB=1\n";
    assert_eq!(
        lines(older),
        ["BENCHMARK=nfs2-1997", "LOAD=100", "NFS_VERSION=2"]
    );
}

#[test]
fn what_an_rc_file_loses_has_a_note_with_its_line_and_no_password() {
    let made = made("LOAD=1\nRSH=rsh\nFROB=1\nPASSWORD='my geheim'\nRUNTIME=x\nX Y\nLOAD=2\n");
    let notes = made.notes.join("\n");
    for part in [
        "old:2:1: RSH=rsh is left out. No effect: clients are reached by ssh",
        "old:3:1: FROB is not known here, and left out",
        "old:7:1: replaces an earlier LOAD",
        "old:4:1: PASSWORD is not copied",
        "old:5:1: RUNTIME=x is not a number, and is left out",
        "old:6:1: 'X Y' has no '='",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let all = format!("{made:?}");
    assert!(!all.contains("geheim"), "{all}");
    assert!(made.text.contains("\nLOAD=2\n") && !made.text.contains("\nLOAD=1\n"));
}

proptest! {
    #[test]
    fn a_written_value_is_read_back_as_it_was(value in "[ -~]{0,40}") {
        let text = format!("A={}", written(&value));
        let rc = crate::rc::parse_rc("rc", &text);
        prop_assert_eq!(&rc.errors, &[], "{}", text);
        prop_assert_eq!(&rc.assignments[0].value, &value, "{}", text);
    }

    #[test]
    fn no_text_makes_import_panic(text in any::<String>(), xml in "(<(benchmark|workload|/benchmark|a name='x')>|[a-z&;]{0,5}|\n){0,40}") {
        let _ = import("old", &text);
        let _ = import("old", &xml);
        let _ = import("old", &format!("A={text}"));
    }
}

#[test]
fn figures_of_xml_are_checked_and_secrets_not_copied() {
    let text = "<benchmark name='A' business_metric='AS'><workload name='EDA_BACKEND'>\
                <oprate>1&#48;</oprate><instances>1.5</instances></workload>\
                <override_parm name='RUNTIME' value='5m'/>\
                <override_parm name='PASSWORD'>geheim</override_parm>\
                <override_parm name='TOKEN'>geheim</override_parm>\
                <threshold type='global oprate'>0.95</threshold></benchmark>\
                <benchmark name='B' business_metric='&#66;S'><workload name='EDA_BACKEND'/></benchmark>";
    let made = made(text);
    assert_eq!(made.unusable, Vec::<String>::new());
    let notes = made.notes.join("\n");
    for part in [
        "instances='1.5' is not a whole number from 1 on, and left out",
        "PASSWORD is not copied",
        "TOKEN=... has no equivalent",
        "threshold 'global oprate' of 0.95 is taken as percent; check it",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let mut registry = shipped_registry();
    registry.take_toml("new", &made.text).unwrap();
    let a = registry.composite("A").unwrap();
    assert_eq!(a.standard.runtime_s, 300.0);
    let parts = &a.composite().unwrap().components;
    assert_eq!((parts[0].instances, parts[0].ops_per_proc), (1, Some(10.0)));
    assert_eq!(registry.composite("B").unwrap().unit, "B");
    assert!(!format!("{made:?}").contains("geheim"));
    let secret = super::import("old", "LOAD=1\nSMB_PASS=geheim\nTOKEN=geheim\n");
    assert!(!format!("{secret:?}").contains("geheim"));
}

#[test]
fn blanks_of_arguments_are_kept() {
    assert_eq!(
        lines("LOAD=1\nWORK_DIR=\"a   b\"\nUNIX_USER=me\nRSH=r\n"),
        [
            "BENCHMARK=nfs3-2001",
            "LOAD=1",
            "WORK_DIR=\"a   b\"",
            "USER=me"
        ]
    );
}

/// Time and the number of notes are limited, however often a file repeats something.
#[test]
fn a_large_file_gives_no_more_than_its_share_of_notes() {
    let overrides = "<override_parm name='FILE_SIZE'>x</override_parm>".repeat(2000);
    let workloads = "<workload name='EDA_BACKEND'/>".repeat(2000);
    let text =
        format!("<benchmark name='A' business_metric='AS'>{overrides}{workloads}</benchmark>");
    assert!(made(&text).notes.len() <= 1001);
    let many = "<benchmark name='A'><workload name='EDA_BACKEND'/></benchmark>".repeat(1001);
    let error = super::import("old", &many).unwrap_err().to_string();
    assert!(error.contains("1000 are the most"), "{error}");
}
