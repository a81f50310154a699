//! What a file is opened for, as rights, disposition and options: the same numbers in
//! both protocols (MS-SMB2 2.2.13, MS-CIFS 2.2.4.64).

use super::files::OpenFor;
use filermark_smbwire::smb2::file::{access, disposition, options};

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
