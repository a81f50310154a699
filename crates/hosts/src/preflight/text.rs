//! The output as text: one line for each check, and a summary.

use super::check::{Check, CheckStatus, Findings};
use filermark_model::units::counted;
use std::fmt::Write;

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// All lines, each ending with a line feed.
pub fn text(findings: &Findings, colour: bool) -> String {
    let widest = |of: fn(&Check) -> usize| findings.checks.iter().map(of).max().unwrap_or(0);
    let host = widest(|c| c.host.chars().count());
    let what = widest(|c| c.what.chars().count());
    let mut out = String::new();
    for check in &findings.checks {
        let verdict = format!("{:<4}", check.verdict);
        let verdict = match (colour, check.verdict) {
            (false, _) => verdict,
            (true, CheckStatus::Ok) => format!("{GREEN}{verdict}{PLAIN}"),
            (true, CheckStatus::Warning) => format!("{YELLOW}{verdict}{PLAIN}"),
            (true, CheckStatus::Failure) => format!("{RED}{verdict}{PLAIN}"),
        };
        let sentence = one_line(check);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{verdict}  {:<host$}  {:<what$}  {sentence}",
            check.host, check.what
        );
    }
    out + &summary(findings)
}

/// The message, and the command if the message does not contain it.
fn one_line(check: &Check) -> String {
    // Both are sanitized already (`Findings`).
    let words = check.sentence.split_whitespace();
    let sentence = words.collect::<Vec<_>>().join(" ");
    match &check.command {
        Some(command) if !check.sentence.contains(&format!("`{command}`")) => {
            format!("{sentence}; fix: `{command}`")
        }
        _ => sentence,
    }
}

fn summary(findings: &Findings) -> String {
    let count = |verdict| findings.count(verdict) as u64;
    let stopped = match findings.stopped {
        true => "; stopped before all checks were done",
        false => "",
    };
    format!(
        "\n{}, {}: {} ok, {}, {}{stopped}\n",
        counted(findings.host_count as u64, "client"),
        counted(findings.checks.len() as u64, "check"),
        count(CheckStatus::Ok),
        counted(count(CheckStatus::Warning), "warning"),
        counted(count(CheckStatus::Failure), "failure"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Findings {
        let checks = vec![
            Check::ok("h2", "ssh", "answers without a password (12 ms)"),
            Check::failure("h2", "name", "is\nnot\x1bknown").fix("fix it"),
            Check::warning("h10", "files", "say `ulimit -n 9`").fix_as_stated(),
        ];
        Findings::new(checks, &["h2".into(), "h10".into()], false)
    }

    #[test]
    fn each_check_is_a_line() {
        let expected = "\
ok    h2   ssh    answers without a password (12 ms)
FAIL  h2   name   is not�known; fix: `fix it`
warn  h10  files  say `ulimit -n 9`

2 clients, 3 checks: 1 ok, 1 warning, 1 failure
";
        assert_eq!(text(&findings(), false), expected);
        let coloured = text(&findings(), true);
        assert!(coloured.contains("\x1b[1;31mFAIL\x1b[0m  h2 "));
        let bare = [GREEN, YELLOW, RED, PLAIN]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(bare, expected);
    }
}
