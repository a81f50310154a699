//! Tests, a file for each subject.

mod hostile;
mod wire;
