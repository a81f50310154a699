//! The message on an input file that the reader of a command refuses: the same for all
//! commands.

use filermark_archive::kind::{Wanted, refusal};
use filermark_cli_kit::exit::CommandError;
use std::fmt::Display;
use std::path::Path;

/// The kind of the file and what to give; if the file is of the right kind, what the reader
/// reports.
pub fn refused(path: &Path, wanted: &Wanted, why: impl Display) -> CommandError {
    let refusal = refusal(path, wanted);
    let message = refusal.map_or_else(|| why.to_string(), |refusal| refusal.to_string());
    CommandError::Usage(vec![message])
}
