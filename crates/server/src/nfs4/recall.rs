//! What a client is called for: a delegation is recalled, or a copy has ended.

use super::offloads::Offload;
use crate::memfs::FileId;
use filermark_onc::nfs4::{Clientid4, Sessionid4, Stateid4};

/// The OPEN that granted a delegation, or the COPY: its reply may be on the way still when the client is called
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

/// What a callback says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Notice {
    Recall(Recall),
    Offload(Offload),
}

impl Notice {
    pub(crate) const fn clientid(&self) -> Clientid4 {
        match self {
            Self::Recall(recall) => recall.clientid,
            Self::Offload(offload) => offload.clientid,
        }
    }

    /// What it is about.
    pub(crate) const fn stateid(&self) -> &Stateid4 {
        match self {
            Self::Recall(recall) => &recall.stateid,
            Self::Offload(offload) => &offload.stateid,
        }
    }

    /// The call that the client has to know first.
    pub(crate) const fn call(&self) -> &GrantingCall {
        match self {
            Self::Recall(recall) => &recall.call,
            Self::Offload(offload) => &offload.call,
        }
    }
}
