//! The role of a file in an archive, by its name and its content.

use crate::submission_file::looks_like_submission;
use filermark_results::output::{Origin, Output, OutputTable};
use filermark_results::{Role, outputs, parse_sfssum};
use serde::Deserialize;

/// The role of a file, if its name and its content determine it. The manifest is not used:
/// an attacker who forges figures also forges the manifest.
pub(crate) fn certain(name: &str, bytes: &[u8]) -> Option<Role> {
    let row = OutputTable(&[outputs::OUTPUTS]).of_name(name);
    if outputs::RECORD.is_name(name) || is_run_line(bytes) {
        return Some(Role::Record);
    }
    match row {
        Some(row) if row.role == Role::Log && is_of_command(name) => None,
        Some(row) if row.is_certain_by_name() => Some(row.role),
        _ if bytes.starts_with(CSV_HEADER.as_bytes()) => Some(Role::Table),
        _ if is_submission(bytes) => Some(Role::Submission),
        _ if is_summary(bytes) => Some(Role::Summary),
        _ => None,
    }
}

/// The likely role of a file, by the names of outputs and of `reports`. A CSV file may be
/// the user's own.
pub(crate) fn guess(name: &str, reports: &'static [Output]) -> Role {
    match by_name(name, reports) {
        Role::Table => Role::Other,
        role => role,
    }
}

/// The likely role of a file with this name, by the names that runs and submissions use.
pub fn role_of_name(name: &str) -> Role {
    by_name(name, &[])
}

fn by_name(name: &str, reports: &'static [Output]) -> Role {
    let rows = [outputs::OUTPUTS, filermark_submission::OUTPUTS, reports];
    let role = OutputTable(&rows).of_name(name).map(|row| row.role);
    let is_of_run = |role| {
        use Role::{ClientLog, Log, Record, Summary};
        matches!(role, Record | Summary | Log | ClientLog)
    };
    match role {
        Some(role) if is_of_run(role) => role,
        _ if is_rc(name) => Role::Rc,
        Some(role) => role,
        None if is_report(name) => Role::Report,
        None => Role::Other,
    }
}

/// Whether a name has the extension of a report.
fn is_report(name: &str) -> bool {
    let ends = [".html", ".txt", ".pdf", ".png", ".svg", ".summary", ".json"];
    ends.iter().any(|end| name.ends_with(end))
}

/// Whether files of this name and role are always made from a record.
pub(crate) fn is_made_of_record(name: &str, role: Role) -> bool {
    match role {
        Role::Log => !is_of_command(name),
        role => matches!(role, Role::Summary | Role::ClientLog | Role::Table),
    }
}

/// Whether another command than `run` writes files of this name.
fn is_of_command(name: &str) -> bool {
    let row = OutputTable(&[outputs::OUTPUTS]).of_name(name);
    row.is_some_and(|row| matches!(row.origin, Origin::Command(_)))
}

/// Whether an rc file may have this name.
fn is_rc(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.starts_with(RC_NAME) || base.ends_with(".rc") || base.ends_with("_rc")
}

/// The default name of the rc file.
pub(crate) const RC_NAME: &str = "sfs_rc";
/// The beginning of the table of a run.
pub(crate) const CSV_HEADER: &str = "point,requested_ops_per_s,achieved_ops_per_s,";
/// Maximum size of a summary, in bytes.
const SUMMARY_LEN_MAX: usize = 1 << 20;

/// Whether the first line that is not blank is that of a run record.
pub(crate) fn is_run_line(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct LineType {
        r#type: String,
    }
    let line = bytes.trim_ascii_start().split(|b| *b == b'\n').next();
    let line = line.filter(|line| line.starts_with(b"{"));
    line.and_then(|line| serde_json::from_slice::<LineType>(line).ok())
        .is_some_and(|kind| kind.r#type == "run")
}

/// Whether it is XML with the root element of a submission.
pub(crate) fn is_submission(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"<") && looks_like_submission(bytes)
}

/// Whether it can be parsed as a summary with load points.
pub(crate) fn is_summary(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|text| text.len() <= SUMMARY_LEN_MAX);
    text.is_some_and(|text| parse_sfssum(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_by_name() {
        let roles = [
            ("mine.run.jsonl", Role::Record),
            ("sfssum.mine", Role::Summary),
            ("sfssum.mine.txt", Role::Summary),
            ("sfslog.mine.txt", Role::Log),
            ("sfssum_mine.xml", Role::Summary),
            ("sfsc0001.mine", Role::ClientLog),
            ("client-logs.m/netmist_C0.m.log", Role::ClientLog),
            ("sfsres.mine", Role::Log),
            ("sfs_rc", Role::Rc),
            ("sfs_rc.csv", Role::Rc),
            ("sub.xml", Role::Submission),
            ("mine.csv", Role::Table),
            ("notes", Role::Other),
        ];
        for (name, role) in roles {
            assert_eq!(role_of_name(name), role, "{name}");
        }
        assert_eq!(guess("mine.html", crate::tests::REPORTS), Role::Report);
        assert_eq!(guess("mine.csv", crate::tests::REPORTS), Role::Other);
    }

    #[test]
    fn a_log_of_validate_is_not_made_from_a_record() {
        assert_eq!(certain("sfsval.mine", b""), None);
        assert_eq!(certain("sfslog.mine", b""), Some(Role::Log));
        assert!(!is_made_of_record("sfsval.mine", Role::Log));
        assert!(is_made_of_record("sfslog.mine", Role::Log));
    }
}
