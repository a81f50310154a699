//! Tests, a file for each subject.

mod driver;
mod golden;
mod record;
mod schema;
mod seed;
