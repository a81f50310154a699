//! What a recall has to name.

use crate::memfs::FileId;
use filermark_onc::nfs4::{Clientid4, Sessionid4, Stateid4};

/// The OPEN that granted a delegation: its reply may be on the way still when the delegation is recalled
/// (RFC 8881 section 2.10.6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GrantingCall {
    pub(crate) session: Sessionid4,
    pub(crate) slotid: u32,
    pub(crate) sequenceid: u32,
}

/// A delegation that is to be recalled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recall {
    pub(crate) clientid: Clientid4,
    pub(crate) stateid: Stateid4,
    pub(crate) file: FileId,
    pub(crate) call: GrantingCall,
}
