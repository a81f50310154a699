//! The checks, by procedure. Each is a function of a bench; none needs another.

mod attributes;
mod commit;
mod create;
mod link;
mod look;
mod names;
mod read;
mod readdir;
mod remove;
mod rename;
mod rpc;
mod server;
mod wcc;
mod write;

use super::{Check, bench, bench::Bench};

type Outcome = Result<(), bench::Stop>;

/// Every check, in the order in which they run.
pub(super) const TABLES: &[&[Check]] = &[
    rpc::CHECKS,
    attributes::CHECKS,
    look::CHECKS,
    read::CHECKS,
    write::CHECKS,
    create::CHECKS,
    remove::CHECKS,
    rename::CHECKS,
    link::CHECKS,
    readdir::CHECKS,
    server::CHECKS,
    commit::CHECKS,
    wcc::CHECKS,
    names::CHECKS,
];
