//! The numbers of refusals: NTSTATUS as it is, and our own.

use filermark_smbwire::status;

/// STATUS_OBJECT_NAME_COLLISION.
pub(crate) const OBJECT_NAME_COLLISION: u32 = 0xC000_0035;
/// STATUS_NETWORK_SESSION_EXPIRED.
pub(crate) const NETWORK_SESSION_EXPIRED: u32 = 0xC000_035C;
/// Nothing is open that the operation could be on: it was lost with its connection, or
/// the directory was never made. Customer-defined, by NTSTATUS's own rules (MS-ERREF 2.3).
pub(crate) const NO_HANDLE: u32 = 0xE000_0001;

/// The server grants fewer credits than the operation takes, and nothing is under way that
/// could bring more.
pub(crate) const NO_CREDITS: u32 = 0xE000_0002;

/// Whether a status says that the session or its tree is no more.
pub(crate) const fn ends_session(code: u32) -> bool {
    // USER_SESSION_DELETED, NETWORK_NAME_DELETED; SMB1's bad UID and TID (MS-CIFS 2.2.2.4).
    matches!(code, 0xC000_0203 | 0xC000_00C9 | 0x005B_0002 | 0x0005_0002)
}

/// A refusal's number in words.
pub(crate) fn text(code: u32) -> String {
    match code {
        NO_HANDLE => "no handle: what was open went with its connection".to_owned(),
        NO_CREDITS => "the server grants too few credits for the operation".to_owned(),
        _ => status::text(code),
    }
}

/// What to try, for refusals after which going on makes no sense.
pub(crate) fn fatal_advice(code: u32) -> Option<&'static str> {
    Some(match code {
        0xC000_007F => "make room on the share, or lower LOAD or FILESET_MB_PER_OP",
        0xC000_0044 => "raise the quota of USERNAME on the share",
        0xC000_00A2 => "export the share to be written to",
        0xC000_0022 => "give USERNAME the right to make, write and remove files on the share",
        0xC000_0257 => {
            "the path is in a DFS tree and elsewhere: name the share on the server that has it in MNT_POINTS"
        }
        0xC000_00CC => "see whether the share is still there",
        0xC000_00C9 => "see whether the share is still there: its tree is gone",
        _ => return None,
    })
}
