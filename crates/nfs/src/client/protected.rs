//! Protected calls of the blocking client (RFC 2203): the context is established with the first call, and
//! again when the server does not know it any more.

use super::{ClientError, RpcClient};
use crate::security::{GssContext, Handshake, HandshakeStep, KerberosOptions, SecurityError};
use filermark_engine::driver::StopFlag;
use filermark_engine::interrupt_guard;
use filermark_onc::rpc::peek_xid;
use std::time::Duration;

/// How often a call is sent in a new context because the server has lost the one before.
pub(super) const NEW_CONTEXTS: u32 = 2;
/// How often another context is begun because the server has closed the connection instead of answering.
const CLOSED_MAX: u32 = 2;
/// The longest wait for the end of a context.
const END_LIMIT: Duration = Duration::from_secs(1);

impl RpcClient {
    fn insecure(&self, error: SecurityError) -> ClientError {
        ClientError::Kerberos {
            address: self.address,
            error: Box::new(error),
        }
    }

    /// The context, established if there is none. `None`: calls are not protected.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub(super) fn secured(&mut self) -> Result<Option<&mut GssContext>, ClientError> {
        let is_used_up = |known: &GssContext| known.window.is_used_up();
        match &self.options.kerberos {
            None => return Ok(None),
            Some(_) if self.gss.as_deref().is_some_and(|known| !is_used_up(known)) => {}
            Some(options) => {
                let options = options.clone();
                self.gss = Some(self.establish(options)?);
            }
        }
        Ok(self.gss.as_deref_mut())
    }

    /// Establishes a context, for use by another client.
    ///
    /// # Errors
    /// Every [`ClientError`]. [`ClientError::Stopped`] also without [`KerberosOptions`].
    pub(crate) fn new_context(&mut self) -> Result<Box<GssContext>, ClientError> {
        match self.options.kerberos.clone() {
            Some(options) => self.establish(options),
            None => Err(ClientError::Stopped),
        }
    }

    /// Linux drops a call and closes its connection while the program that checks its ticket is slow to answer:
    /// another context is begun then, since a ticket's message must not be sent twice.
    fn establish(&mut self, options: KerberosOptions) -> Result<Box<GssContext>, ClientError> {
        let mut closed_count = 0;
        loop {
            match self.establish_once(options.clone()) {
                Err(ClientError::Closed { .. }) if closed_count < CLOSED_MAX => closed_count += 1,
                established => return established,
            }
        }
    }

    fn establish_once(&mut self, options: KerberosOptions) -> Result<Box<GssContext>, ClientError> {
        let begun = interrupt_guard::run_interruptible(move || Handshake::begin(options));
        let begun = begun.ok_or(ClientError::Stopped)?;
        let mut handshake = begun.map_err(|error| self.insecure(error))?;
        loop {
            self.xid = self.xid.wrapping_add(1);
            let xid = self.xid;
            let mut call = Vec::new();
            handshake.next_call(self.program.prog, self.program.vers, xid, &mut call);
            self.send(&call)?;
            self.receive()?;
            match peek_xid(&self.reply) {
                Some(got) if got != xid => return Err(self.wrong_xid(xid, got)),
                _ => {}
            }
            match handshake.reply(&self.reply) {
                Ok(HandshakeStep::Call(next)) => handshake = *next,
                Ok(HandshakeStep::Established(context)) => return Ok(context),
                Err(error) => return Err(self.insecure(error)),
            }
        }
    }

    /// The call as it is sent, and its number; as it is if calls are not protected.
    pub(super) fn protect(&mut self, call: &[u8]) -> Result<(Vec<u8>, u32), ClientError> {
        let mut wire = call.to_vec();
        let protected = match self.secured()? {
            Some(context) => context.protect(&mut wire, 0),
            None => return Ok((wire, 0)),
        };
        match protected {
            Ok(number) => Ok((wire, number)),
            Err(error) => {
                // The library refuses a context that has expired: the next one may do.
                self.gss = None;
                Err(self.insecure(error))
            }
        }
    }

    /// Takes the protection from the reply in `self.reply` to the call of this number.
    pub(super) fn unprotect(&mut self, number: u32) -> Result<(), ClientError> {
        let Some(context) = &mut self.gss else {
            return Ok(());
        };
        context.window.release(number);
        let mut plain = Vec::new();
        let opened = context.open(number, &self.reply, &mut plain);
        match opened.map(|_| ()) {
            Ok(()) => {}
            Err(error) => return Err(self.insecure(error)),
        }
        if !plain.is_empty() {
            self.reply = plain;
        }
        Ok(())
    }

    /// Ends the context on the server. What fails is of no consequence: servers drop contexts with their
    /// tickets.
    fn end_context(&mut self) {
        let Some(mut context) = self.gss.take().filter(|_| self.link.is_some()) else {
            return;
        };
        // Also when the task is to end.
        let never = StopFlag::new();
        let _guard = interrupt_guard::interrupt_on(&never);
        self.limit(END_LIMIT);
        self.destroy(&mut context);
    }

    /// Ends a context on the server with RPCSEC_GSS_DESTROY; returns whether the server has answered.
    pub(crate) fn destroy(&mut self, context: &mut GssContext) -> bool {
        self.build(self.program, 0, |_| ());
        let mut wire = std::mem::take(&mut self.call);
        let sent = match context.protect_last(&mut wire) {
            Ok(_) => self.send(&wire).and_then(|()| self.receive()),
            Err(error) => Err(self.insecure(error)),
        };
        if let Err(error) = &sent {
            tracing::debug!(target: "filermark_nfs::rpc", %error, "RPCSEC_GSS_DESTROY failed");
        }
        sent.is_ok()
    }
}

impl Drop for RpcClient {
    fn drop(&mut self) {
        self.end_context();
    }
}
