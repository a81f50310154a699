use super::*;

fn is_match(pattern: &str, name: &str) -> bool {
    let of = |text: &str| text.chars().collect::<Vec<_>>();
    matches(&of(pattern), &of(name))
}

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
        ("**", "", true),
        ("a*b", "a", false),
    ] {
        assert_eq!(is_match(pattern, name), wanted, "{pattern} {name}");
    }
    // Many stars take no exponential time.
    assert!(!is_match(&"*a".repeat(40), &"a".repeat(39)));
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
