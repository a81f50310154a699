//! The checks of NFSv4.1 and NFSv4.2, by what they are about. Each is a function of a bench and does not depend
//! on another one. Every check has a client of its own, whose state ends with the check.

mod attributes;
mod client;
mod compound;
mod exchange;
mod io;
mod lock;
mod locking;
mod minor2;
mod names;
mod objects;
mod open;
mod ops;
mod raw;
mod readdir;
mod recovery;
mod rename;
mod retry;
mod security;
mod session;
mod share;
#[cfg(test)]
mod tests;

use ops::Check;
pub(super) use ops::V41;

/// Every check, in the order in which they run.
pub(super) const TABLES: &[&[Check]] = &[
    compound::CHECKS,
    exchange::CHECKS,
    session::CHECKS,
    retry::CHECKS,
    attributes::CHECKS,
    names::CHECKS,
    objects::CHECKS,
    rename::CHECKS,
    open::CHECKS,
    share::CHECKS,
    lock::CHECKS,
    io::CHECKS,
    readdir::CHECKS,
    security::CHECKS,
    recovery::CHECKS,
];

/// Those of version 4.2: the same with minor version 2, and those of what only it has.
pub(super) fn tables42() -> Vec<&'static [Check]> {
    [TABLES, minor2::TABLES].concat()
}
