//! Calls under way.

use filermark_driver_kit::sockets::CallBase;
use filermark_onc::nfs3::Procedure;
use std::ops::{Deref, DerefMut};

/// A call under way.
#[derive(Clone, Debug)]
pub(crate) struct Call<E = ()> {
    base: CallBase,
    /// What only one variant has.
    pub(crate) own: E,
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

impl<E> Deref for Call<E> {
    type Target = CallBase;
    #[inline]
    fn deref(&self) -> &CallBase {
        &self.base
    }
}

impl<E> DerefMut for Call<E> {
    #[inline]
    fn deref_mut(&mut self) -> &mut CallBase {
        &mut self.base
    }
}

impl<E: Default> From<CallBase> for Call<E> {
    fn from(base: CallBase) -> Self {
        Self {
            base,
            own: E::default(),
            procedure: Procedure::Null,
            length: 0,
            offset: 0,
            waits: 0,
            rewrite: false,
            verf_number: 0,
        }
    }
}
