use super::*;

#[test]
fn kinds_are_recognized_by_content() {
    let sfssum =
        "    100      100      0.5       3000     30 NFS3 T 4    12363776    2 10  2  2 2008\n";
    let cases: [(&[u8], FileKind); 29] = [
        (b"", FileKind::Empty),
        (b" \n\n", FileKind::Empty),
        (b"{\"type\":\"run\",\"schema\":1}\n", FileKind::Record),
        (b"{\"schema\":1,\"type\":\"run\"}\n", FileKind::Record),
        // The first line of a record may be longer than what is read.
        (b"{\"type\":\"run\",\"plan\":{\"a\":", FileKind::Record),
        (b"{\"type\":\"energy\",\"schema\":1}\n", FileKind::EnergyLog),
        (b"{\"a\":1}\n", FileKind::Json),
        (b"<!DOCTYPE html><html></html>", FileKind::Html),
        (b"\xef\xbb\xbf\n <HTML lang=\"en\">", FileKind::Html),
        (
            b"<?xml version=\"1.0\"?>\n<filermarkSubmission version=\"1\"/>",
            FileKind::Submission,
        ),
        (
            b"<?xml version=\"1.0\"?>\n<filermark version=\"0.2.0\">",
            FileKind::SummaryXml,
        ),
        (b"<?xml version=\"1.0\"?>\n<benchmarks/>", FileKind::Xml),
        (b"PK\x03\x04\x14\x00", FileKind::Zip),
        (b"\x89PNG\r\n\x1a\n\x00\x00", FileKind::Binary),
        (b"\xff\xfe\x00", FileKind::Binary),
        (b"plain\x00text", FileKind::Binary),
        (sfssum.as_bytes(), FileKind::Summary),
        (b"SFS MIXFILE VERSION 2\ngetattr 60%\n", FileKind::Mix),
        (b"CIFS MIXFILE VERSION 2\n", FileKind::Mix),
        (
            b"point,requested_ops_per_s,achieved_ops_per_s,x\n1,2,3,4\n",
            FileKind::Csv,
        ),
        (b"a,b,c\n1,2,3\n", FileKind::Csv),
        (b"mnt_points=h:/a,h:/b,h:/c\n", FileKind::Text),
        (b"# mine\n\nLOAD=100\n", FileKind::Rc),
        (b"export MNT_POINTS = \"a:/b\"\n", FileKind::Rc),
        (
            b"drives = 24\n[[meter]]\nname = \"a\"\n",
            FileKind::EnergySetup,
        ),
        (b"[[benchmark]]\nname = \"A\"\n", FileKind::Definitions),
        (b"read 4 40%\n", FileKind::Text),
        (b"# only a comment\n", FileKind::Text),
        ("Grüße, und mehr\n".as_bytes(), FileKind::Text),
    ];
    for (head, kind) in cases {
        let shown = String::from_utf8_lossy(head);
        assert_eq!(FileKind::of_bytes(head), kind, "{shown}");
    }
    // The last character is cut.
    assert_eq!(FileKind::of_bytes(b"text \xc3"), FileKind::Text);
}

#[test]
fn a_refusal_names_the_kind_and_what_to_give() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let of = |name: &str, wanted| refusal(&at(name), wanted).unwrap().to_string();
    fs::write(at("mine.html"), "<!doctype html>").unwrap();
    assert!(
        of("mine.html", &RECORDS)
            .ends_with("mine.html: this is an HTML report; give a run record (SUFFIX.run.jsonl)")
    );
    fs::write(at("mine.run.jsonl"), "{\"type\":\"run\"}\n").unwrap();
    fs::write(at("sfs_rc"), "LOAD=1\n").unwrap();
    for name in ["mine.html", "none.run.jsonl"] {
        let end = format!("for example {}", at("mine.run.jsonl").display());
        assert!(of(name, &RECORDS).ends_with(&end), "{name}");
    }
    let end = format!("for example -r {}", at("sfs_rc").display());
    assert!(of("mine.run.jsonl", &RC_FILES).ends_with(&end));
    assert!(of("mine.html", &TO_IMPORT).ends_with("(benchmarks.xml)"));
    fs::write(at("mine.zip"), "PK\x03\x04").unwrap();
    assert!(of("mine.zip", &RECORDS).contains("`unzip`"));
    assert!(refusal(&at("mine.zip"), &TO_VERIFY).is_none());
    assert!(refusal(&at("mine.run.jsonl"), &RECORDS).is_none());
    let of_dir = refusal(dir.path(), &RECORDS).unwrap().to_string();
    assert!(
        of_dir.contains("this is a directory; give a run record"),
        "{of_dir}"
    );
    assert!(of_dir.contains("mine.run.jsonl"), "{of_dir}");
}

#[test]
fn the_record_of_a_file_is_found_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("mine.1.run.jsonl");
    fs::write(&record, "").unwrap();
    for name in [
        "mine.1.html",
        "sfssum.mine.1",
        "sfssum.mine.1.txt",
        "mine.1.csv",
        "sfssum_mine.1.xml",
    ] {
        let found = record_of(&dir.path().join(name));
        assert_eq!(found.as_deref(), Some(record.as_path()), "{name}");
    }
    assert_eq!(record_of(&dir.path().join("other.html")), None);
}
