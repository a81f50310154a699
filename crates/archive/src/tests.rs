//! Archives of a synthetic run: packed, read back, forged in every way.

mod forged;
mod hostile;
mod judged;
mod pages;
mod sums;
mod support;

pub(crate) use support::{RC, REPORTS, check, faults, folder, gathered, lines_of, record};
