use super::*;

#[test]
fn patterns_match_as_in_a_shell() {
    for (pattern, name, wanted) in [
        ("*", "a", true),
        ("a*.jsonl", "a1.run.jsonl", true),
        ("a*.jsonl", "b1.run.jsonl", false),
        ("*a*b", "xaxbxb", true),
        ("a?", "a", false),
        ("a[1-3]", "a2", true),
        ("a[!1-3]", "a2", false),
        ("a[", "a[", true),
        ("[]]", "]", true),
        ("ä?", "äö", true),
        ("a*b", "a", false),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(name), "").expect("write");
        let found = expanded(&dir.path().join(pattern));
        assert_eq!(found.is_ok(), wanted, "{pattern} {name}: {found:?}");
    }
    // Many stars take no exponential time.
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("a".repeat(39)), "").expect("write");
    assert!(expanded(&dir.path().join("*a".repeat(40))).is_err());
    let error = expanded(&dir.path().join("b[")).expect_err("no pattern");
    assert!(error.contains("b[: not a pattern: "), "{error}");
}

#[test]
fn files_are_found_in_order_and_an_empty_pattern_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["b2", "b1", ".b3", "x[1]"] {
        std::fs::write(dir.path().join(name), "").expect("write");
    }
    let names = |pattern: &str| -> Result<Vec<String>, String> {
        let found = expanded(&dir.path().join(pattern))?;
        let name = |p: &PathBuf| {
            p.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        Ok(found.iter().map(name).collect())
    };
    assert_eq!(names("b*"), Ok(vec!["b1".into(), "b2".into()]));
    assert_eq!(names("x[1]"), Ok(vec!["x[1]".into()]));
    assert_eq!(names("none"), Ok(vec!["none".into()]));
    let error = names("c*").expect_err("no file");
    assert!(error.contains("c*: this pattern names no file"), "{error}");
}
