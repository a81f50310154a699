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
mod security;
mod session;
mod set;
mod share;
mod write;

use super::Check;

/// Where an operation is specified: for SMB1, for SMB2.
type Rule = (&'static str, &'static str);

const OPEN: Rule = ("MS-CIFS 2.2.4.64", "MS-SMB2 3.3.5.9, MS-FSA 2.1.5.1");
const CLOSE: Rule = ("MS-CIFS 2.2.4.5", "MS-SMB2 3.3.5.10");
const READ: Rule = ("MS-CIFS 2.2.4.42, MS-SMB 2.2.4.2", "MS-SMB2 3.3.5.12");
const WRITE: Rule = ("MS-CIFS 2.2.4.43, MS-SMB 2.2.4.3", "MS-SMB2 3.3.5.13");
const LOCK: Rule = ("MS-CIFS 2.2.4.32", "MS-SMB2 3.3.5.14");
const SET: Rule = ("MS-CIFS 2.2.6.9", "MS-SMB2 3.3.5.21");

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
