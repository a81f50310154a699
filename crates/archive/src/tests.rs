//! Archives of a synthetic run: packing, reading, and finding changes and forgeries.

mod cut;
mod forged;
mod gather;
mod hostile;
mod judged;
mod pages;
mod sums;
mod support;

pub(crate) use support::{RC, REPORTS, check, faults, folder, gathered, lines_of, record};
