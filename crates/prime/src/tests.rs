//! Tests, a file for each subject.

mod clock;
mod handover;
mod heartbeats;
mod rejected_input;
