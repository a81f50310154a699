//! What the library hands out, released when it goes: names, tickets, exchanges.

use super::calls::{Buffer, BufferSet, Functions, Handle, Oid};
use super::{Failure, Filled, KERBEROS, Library};
use std::ptr::{null, null_mut};
use std::time::Duration;

/// GSS_S_CONTINUE_NEEDED.
const CONTINUE: u32 = 1;
/// GSS_C_MUTUAL_FLAG, GSS_C_REPLAY_FLAG, GSS_C_SEQUENCE_FLAG, GSS_C_CONF_FLAG, GSS_C_INTEG_FLAG.
const MUTUAL: u32 = 0x02;
const REPLAY: u32 = 0x04;
const SEQUENCE: u32 = 0x08;
const CONFIDENTIALITY: u32 = 0x10;
const INTEGRITY: u32 = 0x20;
/// GSS_C_INDEFINITE: without a limit.
pub(super) const INDEFINITE: u32 = u32::MAX;
/// 1.2.840.113554.1.2.2.5.5: asks a context for its key.
static SESSION_KEY: [u8; 11] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2, 5, 5];
/// A name that the library has understood.
#[derive(Debug)]
pub struct Name(pub(super) Handle, pub(super) Library);

/// The tickets of a user.
#[derive(Debug)]
pub struct Credential(pub(super) Handle, pub(super) Library);

/// An exchange, and the keys that come of it; how long these are valid, in seconds.
#[derive(Debug)]
pub struct Context(
    pub(super) Handle,
    pub(super) Library,
    pub(super) ContextUse,
    pub(super) u32,
);

/// What a context is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextUse {
    /// A login: messages come in order, once.
    Login,
    /// RPCSEC_GSS: messages are protected, and come in any order (RFC 2203 section 5.2.2).
    Rpc,
}

impl ContextUse {
    const fn flags(self) -> u32 {
        match self {
            Self::Login => MUTUAL | REPLAY | SEQUENCE | INTEGRITY,
            Self::Rpc => MUTUAL | CONFIDENTIALITY | INTEGRITY,
        }
    }
}

// SAFETY: the library's names never change and its credentials have locks of their own
// (MIT's "Thread safety" in its documentation for application developers): both are
// used by several threads at once.
unsafe impl Send for Name {}
// SAFETY: as above.
unsafe impl Sync for Name {}
// SAFETY: as above.
unsafe impl Send for Credential {}
// SAFETY: as above.
unsafe impl Sync for Credential {}
// SAFETY: a context is bound to no thread; it is used by one at a time, for whatever
// changes it takes `&mut`.
unsafe impl Send for Context {}

impl Drop for Name {
    fn drop(&mut self) {
        // SAFETY: the handle is the library's or null, and is not used again.
        unsafe { self.1.0.release_name(&mut 0, &mut self.0) };
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        // SAFETY: the handle is the library's or null, and is not used again.
        unsafe { self.1.0.release_cred(&mut 0, &mut self.0) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the handle is the library's, and is not used again.
            unsafe { self.1.0.delete_sec_context(&mut 0, &mut self.0, null_mut()) };
        }
    }
}

impl Credential {
    /// Makes sure that there are tickets: asks the KDC where they are still to come.
    ///
    /// # Errors
    /// There are none, or no KDC.
    pub fn check(&self) -> Result<(), Failure> {
        // SAFETY: the handle is the library's; where nothing is asked for null is taken.
        let asked = |f: &Functions, minor: &mut u32| unsafe {
            let (name, time, usage) = (null_mut(), &mut 0, null_mut());
            f.inquire_cred(minor, self.0, name, time, usage, null_mut())
        };
        self.1.call(asked).map(drop)
    }
}

impl Context {
    /// Takes a token (empty at first), gives the next one (perhaps empty), and says
    /// whether all is proved.
    ///
    /// # Errors
    /// No ticket for the service, or the other side did not prove itself.
    pub fn step(
        &mut self,
        credential: &Credential,
        target: &Name,
        token: &[u8],
    ) -> Result<(Vec<u8>, bool), Failure> {
        let kerberos = Oid::of(&KERBEROS);
        let theirs = Buffer::of(token);
        let mut ours = Filled::new(self.1);
        let flags = self.2.flags();
        let (context, lifetime) = (&mut self.0, &mut self.3);
        // SAFETY: the handles are the library's or null, and what is pointed to lives
        // beyond the call.
        let major = self.1.call(|f, minor| unsafe {
            f.init_sec_context(
                minor,
                credential.0,
                context,
                target.0,
                &kerberos,
                flags,
                0,
                null(),
                &theirs,
                null_mut(),
                &mut ours.0,
                null_mut(),
                lifetime,
            )
        })?;
        Ok((ours.bytes().to_vec(), major & CONTINUE == 0))
    }

    /// How long it was valid when it was established: as long as the ticket (RFC 2743 section 2.2.1). `None`: it
    /// has no limit.
    pub const fn lifetime(&self) -> Option<Duration> {
        match self.3 {
            INDEFINITE => None,
            seconds => Some(Duration::from_secs(seconds as u64)),
        }
    }

    /// The session's key.
    ///
    /// # Errors
    /// There is none.
    pub fn session_key(&self) -> Result<Vec<u8>, Failure> {
        let asked = Oid::of(&SESSION_KEY);
        let mut set: *mut BufferSet = null_mut();
        // SAFETY: the context is a proved one of the library's.
        self.1.call(|f, minor| unsafe {
            f.inquire_sec_context_by_oid(minor, self.0, &asked, &mut set)
        })?;
        // SAFETY: the library gave a set, or null; its first buffer is the key.
        let key = unsafe { set.as_ref().and_then(|s| s.first()).map(<[u8]>::to_vec) };
        // SAFETY: the set is the library's, and is not used again.
        unsafe { self.1.0.release_buffer_set(&mut 0, &mut set) };
        key.filter(|key| !key.is_empty())
            .ok_or_else(|| Failure::new("there is no key for the session"))
    }

    /// The signature of data (a MIC token, RFC 4121 section 4.2.6.1).
    ///
    /// # Errors
    /// The context is not complete or has expired.
    pub fn sign(&mut self, data: &[u8]) -> Result<Filled, Failure> {
        let data = Buffer::of(data);
        let mut mic = Filled::new(self.1);
        // SAFETY: the context is the library's; what is pointed to lives beyond the call.
        self.1
            .call(|f, minor| unsafe { f.get_mic(minor, self.0, 0, &data, &mut mic.0) })?;
        Ok(mic)
    }

    /// Encrypted and signed data (a Wrap token, RFC 4121 section 4.2.6.2).
    ///
    /// # Errors
    /// The context is not complete or has expired, or it does not encrypt.
    pub fn wrap(&mut self, data: &[u8]) -> Result<Filled, Failure> {
        let data = Buffer::of(data);
        let mut wrapped = Filled::new(self.1);
        let mut is_confidential = 0;
        // SAFETY: as above.
        self.1.call(|f, minor| unsafe {
            let out = &mut wrapped.0;
            f.wrap(minor, self.0, 1, 0, &data, &mut is_confidential, out)
        })?;
        match is_confidential {
            0 => Err(Failure::new("the context does not encrypt")),
            _ => Ok(wrapped),
        }
    }

    /// The data in an encrypted and signed message.
    ///
    /// # Errors
    /// The signature is wrong, the message is not encrypted, or the context is not complete.
    pub fn unwrap(&mut self, wrapped: &[u8]) -> Result<Filled, Failure> {
        let wrapped = Buffer::of(wrapped);
        let mut data = Filled::new(self.1);
        let mut is_confidential = 0;
        // SAFETY: as above.
        self.1.call(|f, minor| unsafe {
            let out = &mut data.0;
            f.unwrap(
                minor,
                self.0,
                &wrapped,
                out,
                &mut is_confidential,
                null_mut(),
            )
        })?;
        match is_confidential {
            0 => Err(Failure::new("the message is not encrypted")),
            _ => Ok(data),
        }
    }

    /// Checks the server's signature.
    ///
    /// # Errors
    /// It is not that of the data.
    pub fn verify(&mut self, data: &[u8], mic: &[u8]) -> Result<(), Failure> {
        let (data, mic) = (Buffer::of(data), Buffer::of(mic));
        // SAFETY: as above.
        let verified = |f: &Functions, minor: &mut u32| unsafe {
            f.verify_mic(minor, self.0, &data, &mic, null_mut())
        };
        self.1.call(verified).map(drop)
    }
}
