//! The row of submissions in the table of outputs.

use filermark_results::Role;
use filermark_results::output::{Make, Origin, Output};

/// The rows of the files that this crate makes.
pub const OUTPUTS: &[Output] = &[Output {
    pattern: "{suffix}.xml",
    role: Role::Submission,
    media_type: "application/xml",
    origin: Origin::Command("subedit"),
    make: Make::Elsewhere,
    about: "a submission",
    readers: "people, programs",
}];
