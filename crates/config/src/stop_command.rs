//! The command that removes what a run leaves behind.

use crate::rc::{Assignment, may_be_secret};
use crate::sources::Sources;
use filermark_model::text::shell_quote;

/// Parameters for the place of the results, or in the command already.
const NOT_NEEDED: [&str; 2] = ["SUFFIX", "WORK_DIR"];

/// `filermark stop` with the rc file, the suffix and what the command line set, without
/// secrets.
pub(crate) fn stop_command(sources: &Sources, suffix: &str) -> String {
    let mut command = String::from("filermark stop");
    if let Some(rc) = &sources.rc {
        command.push_str(&format!(" -r {}", shell_quote(&rc.name)));
    }
    push_options(&mut command, sources);
    command.push_str(&format!(" -s {}", shell_quote(suffix)));
    command
}

/// `filermark netmist` with the flags of the run and `-k`.
pub(crate) fn netmist_stop_command<'a>(
    flags: impl Iterator<Item = &'a str>,
    sources: &Sources,
    suffix: &str,
) -> String {
    let mut command = String::from("filermark netmist -k");
    for word in flags {
        command.push_str(&format!(" {}", shell_quote(word)));
    }
    push_options(&mut command, sources);
    command.push_str(&format!(" --suffix {}", shell_quote(suffix)));
    command
}

/// The options of the command line, as far as they are needed and may be shown.
fn push_options(command: &mut String, sources: &Sources) {
    let is_needed = |o: &&Assignment| {
        let name = o.name.to_uppercase();
        !NOT_NEEDED.contains(&name.as_str()) && !may_be_secret(&o.name)
    };
    for option in sources.overrides.iter().filter(is_needed) {
        let text = format!("{}={}", option.name, option.value);
        command.push_str(&format!(" -o {}", shell_quote(&text)));
    }
}
