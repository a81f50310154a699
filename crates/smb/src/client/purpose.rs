//! What a file is opened for, as rights, disposition and options: the same numbers in
//! both protocols (MS-SMB2 2.2.13, MS-CIFS 2.2.4.64).

use super::error::Failure;
use super::files::OpenFor;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options};
use filermark_smbwire::status;

/// Rights for looking at something.
pub(super) const ATTRIBUTES: u32 = access::READ_ATTRIBUTES | access::SYNCHRONIZE;
/// Rights for reading.
pub(super) const READ: u32 =
    ATTRIBUTES | access::READ_DATA | access::READ_EA | access::READ_CONTROL;
/// Rights for changing.
pub(super) const UPDATE: u32 =
    READ | access::WRITE_DATA | access::APPEND_DATA | access::WRITE_EA | access::WRITE_ATTRIBUTES;

/// Rights, disposition and options.
pub(super) const fn of(purpose: OpenFor) -> (u32, u32, u32) {
    use disposition::{OPEN, OVERWRITE_IF};
    let file = options::NON_DIRECTORY_FILE;
    match purpose {
        OpenFor::Attributes => (ATTRIBUTES, OPEN, 0),
        OpenFor::Read => (READ, OPEN, file),
        OpenFor::Update => (UPDATE, OPEN, file),
        OpenFor::Replace => (UPDATE, OVERWRITE_IF, file),
        // With directories these are the rights to add files and directories.
        OpenFor::MakeIn => (
            ATTRIBUTES | access::WRITE_DATA | access::APPEND_DATA,
            OPEN,
            options::DIRECTORY_FILE,
        ),
    }
}

/// Whether this reads or changes a file that is there: then it is to be that file itself,
/// not what a reparse point of its name leads to.
pub(super) const fn is_of_what_is_there(purpose: OpenFor) -> bool {
    matches!(purpose, OpenFor::Read | OpenFor::Update)
}

/// Whether something with these attributes must not be opened for this: a reparse point
/// of whatever kind (MS-FSCC 2.1.2.1 has its tags; there are others).
pub(super) const fn is_refused(purpose: OpenFor, attributes: u32) -> bool {
    is_of_what_is_there(purpose) && attributes & attributes::REPARSE_POINT != 0
}

/// Says so, in the words of a server that does not know its kind.
pub(super) const fn reparse_point(step: &'static str) -> Failure {
    Failure::Refused {
        step,
        status: status::IO_REPARSE_TAG_NOT_HANDLED,
    }
}
