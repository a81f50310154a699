//! `--historical[=FILE]`: the historical systems that are shown with a run, the built-in ones or
//! those of a file.

use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::read_limited;
use filermark_results::Historical;
use filermark_results::historical::BYTES_MAX;
use std::path::PathBuf;

/// The systems; `None`: the option was not given.
///
/// # Errors
/// The file cannot be read, or is not a table of systems.
pub fn read(option: &Option<Option<PathBuf>>) -> Result<Option<Historical>, CommandError> {
    let Some(file) = option else {
        return Ok(None);
    };
    let Some(file) = file else {
        return Historical::shipped().map(Some).map_err(CommandError::of);
    };
    let usage = |reason: String| CommandError::Usage(vec![reason]);
    let bytes = read_limited(file, BYTES_MAX).map_err(usage)?;
    let name = file.display().to_string();
    let text = String::from_utf8(bytes).map_err(|_| usage(format!("{name}: not UTF-8 text")))?;
    let systems = Historical::parse(&name, &text);
    systems.map(Some).map_err(|e| usage(e.to_string()))
}
