//! What is to be done at a host, from what was found there; and why it could not be
//! done, from the words of its shell. Pure: fields in, sentences out.

use super::answer::HostAnswer;
use crate::launch::ssh::RemoteProgram;
use filermark_link::build::Program;

/// The kind of machine that a program runs on, as `uname` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPlatform {
    os: String,
    processor: String,
}

impl HostPlatform {
    pub(super) fn own() -> Self {
        let uname = rustix::system::uname();
        Self {
            os: uname.sysname().to_string_lossy().into_owned(),
            processor: uname.machine().to_string_lossy().into_owned(),
        }
    }
}

/// What is to be done at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstallAction {
    /// It has this very version.
    UpToDate,
    /// It lacks it.
    Send,
    /// It must not or cannot have it; one sentence.
    Refuse(String),
}

pub(super) fn judge(
    found: &HostAnswer,
    program: &Program,
    place: &RemoteProgram,
    own: &HostPlatform,
) -> InstallAction {
    let path = &place.shown;
    let there = HostPlatform {
        os: found.get("os").to_owned(),
        processor: found.get("machine").to_owned(),
    };
    if there != *own {
        return InstallAction::Refuse(format!(
            "the host is {} {}, this program is for {} {}; all hosts of a run, this one too, need the same kind of processor and system: leave it out of CLIENTS, or start from a host of its kind",
            there.os, there.processor, own.os, own.processor
        ));
    }
    let sum = found.get("sum");
    let is_same = found.sha256("sum") == Some(program.sha256.as_str());
    let elsewhere = "it stays as it is; name another place (EXEC_PATH)";
    match found.get("kind") {
        "missing" => InstallAction::Send,
        "file" if is_same && found.get("runs") == "yes" => InstallAction::UpToDate,
        "file" if found.get("link") == "yes" => InstallAction::Refuse(format!(
            "{path} is a symbolic link to something else than this version; {elsewhere}"
        )),
        "file" if found.get("ours") == "yes" => InstallAction::Send,
        "file" if sum.ends_with("Permission denied") => {
            InstallAction::Refuse(format!("{path} cannot be read there; {elsewhere}"))
        }
        "file" => InstallAction::Refuse(format!(
            "{path} is something else than Filermark (netmist, perhaps); {elsewhere}"
        )),
        "directory" => InstallAction::Refuse(format!(
            "{path} is a directory; name the file itself (EXEC_PATH={path}/filermark)"
        )),
        _ => InstallAction::Refuse(format!("{path} is no file; {elsewhere}")),
    }
}

/// Why a host could not take the program, from the step and the words of its shell.
pub(super) fn not_taken(step: &str, why: &str, path: &str) -> String {
    let next = if why.contains("No space left") || why.contains("quota") {
        "make room there, or name another place (EXEC_PATH)"
    } else if why.contains("Read-only") || why.contains("Permission denied") {
        "name a place that can be written (EXEC_PATH)"
    } else {
        match step {
            "sum" if why.starts_with("no tool") => {
                return "the host has neither sha256sum nor shasum nor openssl to check the program with; copy it by hand (scp)".into();
            }
            "sum" => {
                return format!("{path}: what arrived is not what was sent; try again");
            }
            "no directory" => {
                return format!(
                    "the directory {why} is missing there; make it, or correct EXEC_PATH"
                );
            }
            "run" => {
                "a file system mounted noexec (name another place, EXEC_PATH), or an older C library (use a build here that runs on all hosts)"
            }
            _ => "name another place (EXEC_PATH)",
        }
    };
    let step = match step {
        "directory" => "its directory cannot be made",
        "run" => "the program does not run there",
        "place" => "cannot be replaced",
        _ => "cannot be written",
    };
    format!("{path}: {step}: {why}; {next}")
}
