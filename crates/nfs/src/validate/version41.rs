//! The checks of NFSv4.0, NFSv4.1 and NFSv4.2, by what they are about. Each is a function of a bench and does not depend
//! on another one. Every check has a client of its own, whose state ends with the check.

mod attributes;
mod client;
mod compound;
mod exchange;
mod io;
mod lock;
mod locking;
mod minor0;
mod minor2;
mod names;
mod numbers;
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

use filermark_model::plan::MinorVersion;
use ops::Check;
pub(super) use ops::V41;

/// The checks of version 4.1, in the order in which they run.
const TABLES: &[&[Check]] = &[
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

/// Those of version 4.0: without sessions. Of these tables it has the checks that do not begin with version 4.1.
const TABLES40: &[&[Check]] = &[
    compound::CHECKS,
    minor0::CLIENTS,
    minor0::OWNERS,
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
];

/// Those of a minor version.
pub(super) fn tables(minor: MinorVersion) -> Vec<&'static [Check]> {
    match minor {
        MinorVersion::V0 => TABLES40.to_vec(),
        MinorVersion::V1 => TABLES.to_vec(),
        MinorVersion::V2 => [TABLES, minor2::TABLES].concat(),
    }
}
