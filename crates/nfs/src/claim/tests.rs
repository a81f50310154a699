use super::*;

#[test]
fn markers_are_recognised_and_other_files_are_not() {
    let claim = Claim {
        dir_name: "filermark.mine".to_owned(),
        run_id: "20260101-abc".to_owned(),
    };
    let text = marker_text(&claim);
    assert_eq!(marker_run(text.as_bytes()).as_deref(), Some("20260101-abc"));
    assert!(text.contains("rm -r filermark.mine"));
    for foreign in [&b""[..], b"20260101-abc\n", b"\xff\xfe\n", b"x\ny\n"] {
        assert_eq!(marker_run(foreign), None, "{foreign:?}");
    }
}
