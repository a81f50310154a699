//! The numbers of refusals: NTSTATUS values, and those of the driver.

use filermark_smbwire::status;

/// STATUS_OBJECT_NAME_COLLISION.
pub(crate) const OBJECT_NAME_COLLISION: u32 = 0xC000_0035;
/// STATUS_NETWORK_SESSION_EXPIRED.
pub(crate) const NETWORK_SESSION_EXPIRED: u32 = 0xC000_035C;
/// The operation has no open file or directory: the file was lost with its connection, or the
/// directory was not created. A customer-defined NTSTATUS (MS-ERREF 2.3).
pub(crate) const NO_HANDLE: u32 = 0xE000_0001;

/// The server grants fewer credits than the operation needs, and no reply is awaited that
/// could grant more.
pub(crate) const NO_CREDITS: u32 = 0xE000_0002;

/// Whether a status means that the session or its tree has ended.
pub(crate) const fn ends_session(code: u32) -> bool {
    // USER_SESSION_DELETED, NETWORK_NAME_DELETED; SMB1's bad UID and TID (MS-CIFS 2.2.2.4).
    matches!(code, 0xC000_0203 | 0xC000_00C9 | 0x005B_0002 | 0x0005_0002)
}

/// The text for a refusal's number.
pub(crate) fn text(code: u32) -> String {
    match code {
        NO_HANDLE => "no handle: the open file was lost with its connection".to_owned(),
        NO_CREDITS => "the server grants too few credits for the operation".to_owned(),
        _ => status::text(code),
    }
}

/// What to do, for refusals that end the run.
pub(crate) fn fatal_advice(code: u32) -> Option<&'static str> {
    Some(match code {
        0xC000_007F => "free space on the share, or lower LOAD or FILESET_MB_PER_OP",
        0xC000_0044 => "raise the quota of USERNAME on the share",
        0xC000_00A2 => "make the share writable",
        0xC000_0022 => "give USERNAME the right to create, write and remove files on the share",
        0xC000_0257 => {
            "the path is in a DFS tree on another server: set MNT_POINTS to the share on that server"
        }
        0xC000_00CC => "check that the share still exists",
        0xC000_00C9 => "check that the share still exists: the server has closed its tree",
        _ => return None,
    })
}
