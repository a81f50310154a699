//! Tests, a file for each subject.

mod hostile;
pub(super) mod wire;
