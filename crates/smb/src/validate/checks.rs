//! The checks, by operation.

mod close;
mod compound;
mod data;
mod delete;
mod find;
mod lock;
mod lock_wait;
mod names;
mod notify;
mod open;
mod open_wrong;
mod oplock;
mod protect;
mod query;
mod rights;
mod rules;
mod security;
mod session;
mod set;
mod share;
mod write;

use crate::validate::suite::Check;

/// All of them.
pub(super) const TABLES: [&[Check]; 20] = [
    session::CHECKS,
    open::CHECKS,
    open_wrong::CHECKS,
    rights::CHECKS,
    share::CHECKS,
    close::CHECKS,
    data::CHECKS,
    write::CHECKS,
    lock::CHECKS,
    lock_wait::CHECKS,
    compound::CHECKS,
    query::CHECKS,
    security::CHECKS,
    set::CHECKS,
    delete::CHECKS,
    find::CHECKS,
    names::CHECKS,
    oplock::CHECKS,
    notify::CHECKS,
    protect::CHECKS,
];
