//! Text files with the line ends of Windows, and with the mark that its editors put first.

use super::{LEAST, good};

/// A text as an editor on Windows stores it.
fn of_windows(text: &str) -> String {
    format!("\u{feff}{}", text.replace('\n', "\r\n"))
}

#[test]
fn an_rc_file_of_windows_is_read() {
    let rc = format!(
        "{LEAST}# a comment\nSUFFIX=mine\nEXEC_PATH='C:\\Program Files\\filermark.exe'\nLAUNCHER=ssh\n"
    );
    let (unix, windows) = (good(&rc, &[]), good(&of_windows(&rc), &[]));
    assert_eq!(unix.plan, windows.plan);
    assert_eq!(unix.launch, windows.launch);
    assert_eq!(unix.suffix, windows.suffix);
    let program = windows.launch.hosts[0].program.as_deref();
    assert_eq!(program, Some(r"C:\Program Files\filermark.exe"));
}

#[test]
fn a_token_file_of_windows_is_read() {
    let tokens =
        "# one client\nClientname=localhost Username=root Workdir=/tmp Workload=METADATA\n\n";
    let line = "netmist -g client_list -O 10 -l 10";
    let plan = |tokens: &str| {
        let plan = super::netmist::resolved(tokens, line).map(|resolved| resolved.plan);
        let plan = plan.expect("a plan");
        (plan.procs, plan.benchmark, plan.points)
    };
    assert_eq!(plan(tokens), plan(&of_windows(tokens)));
}
