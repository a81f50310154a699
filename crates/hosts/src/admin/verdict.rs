//! Decides what to do on a host from the fields of its answer, and explains from the output of
//! its shell why it could not be done. Pure: fields in, messages out.

use super::answer::HostAnswer;
use crate::launch::ssh::RemoteProgram;
use filermark_link::build::Program;

/// What to do on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstallAction {
    /// It has this version.
    UpToDate,
    /// It lacks it.
    Send,
    /// It must not or cannot have it; a message.
    Refuse(String),
}

pub(super) fn judge(found: &HostAnswer, program: &Program, place: &RemoteProgram) -> InstallAction {
    let path = &place.shown;
    let sum = found.get("sum");
    let is_same = found.sha256("sum") == Some(program.sha256.as_str());
    let advice = "it was not changed; set EXEC_PATH to another path";
    match found.get("kind") {
        "missing" => InstallAction::Send,
        "file" if is_same && found.get("runs") == "yes" => InstallAction::UpToDate,
        "file" if found.get("link") == "yes" => InstallAction::Refuse(format!(
            "{path} is a symbolic link to a file other than this version; {advice}"
        )),
        "file" if found.get("ours") == "yes" => InstallAction::Send,
        "file" if sum.ends_with("Permission denied") => {
            InstallAction::Refuse(format!("{path} cannot be read there; {advice}"))
        }
        "file" => InstallAction::Refuse(format!(
            "{path} is not Filermark (possibly netmist); {advice}"
        )),
        "directory" => InstallAction::Refuse(format!(
            "{path} is a directory; set EXEC_PATH to the file ({path}/filermark)"
        )),
        _ => InstallAction::Refuse(format!("{path} is not a regular file; {advice}")),
    }
}

/// Why a host could not store the program, from the step and the output of its shell.
pub(super) fn not_taken(step: &str, why: &str, path: &str) -> String {
    let next = if why.contains("No space left") || why.contains("quota") {
        "free space there, or set EXEC_PATH to another path"
    } else if why.contains("Read-only") || why.contains("Permission denied") {
        "set EXEC_PATH to a path that is writable"
    } else {
        match step {
            "sum" if why.starts_with("no tool") => {
                return "the host has neither sha256sum nor shasum nor openssl to check the program; copy it by hand (scp)".into();
            }
            "sum" => {
                return format!(
                    "{path}: the received file has another checksum than the sent one; try again"
                );
            }
            "no directory" => {
                return format!(
                    "the directory {why} is missing there; create it, or correct EXEC_PATH"
                );
            }
            "run" => {
                "possible causes: a file system mounted noexec (set EXEC_PATH to another path), or an older C library (use a build that runs on all hosts)"
            }
            _ => "set EXEC_PATH to another path",
        }
    };
    let step = match step {
        "directory" => "its directory cannot be created",
        "run" => "the program does not run there",
        "place" => "cannot be replaced",
        _ => "cannot be written",
    };
    format!("{path}: {step}: {why}; {next}")
}
