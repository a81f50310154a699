//! The checks of NFSv2 and MOUNT version 1, by procedure. Each is a function of a bench and
//! does not depend on another one. A check that version 3 also has has the same name there.

mod attributes;
mod auth;
mod create;
mod link;
mod lookup;
mod mount;
mod ops;
mod read;
mod readdir;
mod remove;
mod rename;
mod rpc;
mod statfs;
mod write;

use ops::Check;
pub(super) use ops::V2;

/// Every check, in the order in which they run.
pub(super) const TABLES: &[&[Check]] = &[
    rpc::CHECKS,
    auth::CHECKS,
    mount::CHECKS,
    attributes::CHECKS,
    lookup::CHECKS,
    read::CHECKS,
    write::CHECKS,
    create::CHECKS,
    remove::CHECKS,
    rename::CHECKS,
    link::CHECKS,
    readdir::CHECKS,
    statfs::CHECKS,
];
