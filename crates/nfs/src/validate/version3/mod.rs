//! The checks of NFSv3, by procedure. Each is a function of a bench; none needs another.

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
mod words;
mod write;

use super::{bench, check};
pub(super) use words::V3;

type Outcome = Result<(), bench::Stop>;
type Bench<'a> = bench::Bench<'a, V3>;
type Check = check::Check<V3>;

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
