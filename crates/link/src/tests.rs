//! Tests, a file for each subject.

mod message;
mod space;
