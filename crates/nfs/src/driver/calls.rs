//! Calls under way.

use filermark_driver_kit::extends;
use filermark_driver_kit::sockets::CallBase;
use filermark_onc::nfs3::Procedure;

/// A call under way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    base: CallBase,
    pub(crate) procedure: Procedure,
    /// Length of the transfer, in bytes.
    pub(crate) length: u32,
    /// Offset of the transfer, in bytes; READDIR: the cookie.
    pub(crate) offset: u64,
    /// Waits for NFS3ERR_JUKEBOX so far.
    pub(crate) waits: u16,
    /// It sends data again because the verifier changed.
    pub(crate) rewrite: bool,
    /// WRITE, COMMIT: the number of the verifier that was known when it began.
    pub(crate) verf_number: u32,
}

extends!(Call, CallBase);

impl From<CallBase> for Call {
    fn from(base: CallBase) -> Self {
        Self {
            base,
            procedure: Procedure::Null,
            length: 0,
            offset: 0,
            waits: 0,
            rewrite: false,
            verf_number: 0,
        }
    }
}
