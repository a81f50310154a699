//! The checks of NFSv3, by procedure. Each is a function of a bench and does not depend on
//! another one.

mod attributes;
mod commit;
mod create;
mod link;
mod lookup;
mod names;
mod ops;
mod read;
mod readdir;
mod remove;
mod rename;
mod rpc;
mod server;
mod wcc;
mod write;

use ops::Check;
pub(super) use ops::V3;

/// Every check, in the order in which they run.
pub(super) const TABLES: &[&[Check]] = &[
    rpc::CHECKS,
    attributes::CHECKS,
    lookup::CHECKS,
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
