//! System calls counted by strace.

use filermark_testbed::{Mounts, Strace, available};

#[test]
fn calls_are_counted_by_name_and_path() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(strace) = available(Strace::new(&dir.path().join("trace"))) else {
        return;
    };
    let work = dir.path().join("work");
    let script = "mkdir \"$1\" && (mkdir \"$1/a\" & mkdir \"$1/b\" & wait) && rmdir \"$1/a\" && ! rmdir \"$1/x\" && mkdir \"$2\"";
    let status = strace
        .command("%file", "sh")
        .args(["-c", script, "sh"])
        .args([&work, &dir.path().join("other")])
        .status()
        .expect("start strace");
    assert!(status.success());
    let counts = strace.counts("/work").expect("a trace");
    assert_eq!(counts.get("mkdir"), Some(&3), "{counts:?}");
    assert_eq!(counts.get("rmdir"), Some(&2), "{counts:?}");
    let calls = strace.calls().expect("a trace");
    let failed: Vec<_> = calls
        .iter()
        .filter(|call| call.name == "rmdir" && call.failed())
        .collect();
    assert!(
        matches!(&failed[..], [call] if call.args.contains("/x")),
        "{failed:?}"
    );
}

#[test]
fn descriptors_have_their_path_and_it_works_in_a_mount_namespace() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let place = mounts.tmpfs(4).expect("a tmpfs");
    let trace = mounts.plain().expect("a directory").path().join("trace");
    let Some(strace) = available(Strace::new(&trace)) else {
        return;
    };
    let status = mounts
        .command("strace")
        .args(strace.args("write,fsync"))
        .args([
            "dd",
            "if=/dev/zero",
            "bs=1000",
            "count=7",
            "conv=fsync",
            "status=none",
        ])
        .arg(format!("of={}", place.path().join("f").display()))
        .status()
        .expect("start strace");
    assert!(status.success());
    let counts = strace
        .counts(&place.path().display().to_string())
        .expect("a trace");
    let counts: Vec<_> = counts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    // dd writes to its standard output, which is the file.
    assert_eq!(counts, [("fsync", 1), ("write", 7)]);
}
