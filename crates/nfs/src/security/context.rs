//! A context: protects the records of calls and checks those of replies (RFC 2203 section 5.3).

use super::{SecurityError, SequenceWindow};
use filermark_gss::{Context, Failure};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{
    AcceptStat, AuthFlavor, AuthStat, CallHeader, GSS_VERSION, GssCred, GssIntegData, GssPrivData,
    GssProc, GssService, OpaqueAuth, RejectStat, ReplyBody, ReplyHeader,
};
use filermark_onc::xdr::{self, Decode, Decoder, Encode, Encoder};
use std::time::Duration;

/// Bytes of a record mark.
const MARK_BYTES: usize = 4;
/// Bytes of a call's header before the credential: xid, kind, RPC version, program, version, procedure.
const HEAD_BYTES: usize = 24;
/// Bytes of a sequence number.
const NUMBER_BYTES: usize = 4;
/// Bytes of a credential beside the handle.
const CRED_BYTES: usize = 20;

/// An established context with a server.
#[derive(Debug)]
pub(crate) struct GssContext {
    context: Context,
    lifetime: Option<Duration>,
    /// The server's name of it.
    handle: Vec<u8>,
    service: GssService,
    /// The numbers of its calls.
    pub(crate) window: SequenceWindow,
    /// The arguments of the call that is protected, behind its number.
    body: Vec<u8>,
}

impl GssContext {
    pub(super) fn new(context: Context, handle: Vec<u8>, service: GssService, window: u32) -> Self {
        Self {
            lifetime: context.lifetime(),
            context,
            handle,
            service,
            window: SequenceWindow::new(window),
            body: Vec::new(),
        }
    }

    /// How long it was valid when it was established; `None`: it has no limit.
    pub(crate) const fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }

    /// Sets that.
    #[cfg(test)]
    pub(crate) const fn live_for(&mut self, lifetime: Duration) {
        self.lifetime = Some(lifetime);
    }

    /// One that was not established, with the next sequence number.
    #[cfg(test)]
    pub(crate) fn for_tests(next: u32) -> Result<Self, filermark_gss::NoLibrary> {
        let library = filermark_gss::Library::open()?;
        let context = library.context(filermark_gss::ContextUse::Rpc);
        let mut new = Self::new(context, Vec::new(), GssService::None, 8);
        new.window.begin_at(next);
        Ok(new)
    }

    /// Protects the call that is a record of one fragment from `start` to the end of `out`, whatever
    /// credential it has. Returns its sequence number.
    ///
    /// # Errors
    /// What the library says; the record is damaged then.
    pub(crate) fn protect(
        &mut self,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<u32, SecurityError> {
        self.protect_as(GssProc::Data, out, start)
    }

    /// Turns a call of the NULL procedure into the one that ends the context.
    ///
    /// # Errors
    /// As [`GssContext::protect`].
    pub(crate) fn protect_last(&mut self, out: &mut Vec<u8>) -> Result<u32, SecurityError> {
        self.protect_as(GssProc::Destroy, out, 0)
    }

    fn protect_as(
        &mut self,
        gss_proc: GssProc,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<u32, SecurityError> {
        let mut d = Decoder::new(out.get(start + MARK_BYTES..).unwrap_or_default());
        CallHeader::decode(&mut d)
            .map_err(|_| SecurityError::Library(Failure::new("the call has no header")))?;
        let number = self.window.take();
        self.body.clear();
        self.body.extend_from_slice(&number.to_be_bytes());
        self.body.extend_from_slice(d.rest());
        out.truncate(start + MARK_BYTES + HEAD_BYTES);
        let protected = self.append_rest(gss_proc, number, out, start);
        match protected {
            Ok(()) => Ok(number),
            Err(failure) => {
                self.window.release(number);
                Err(SecurityError::Library(failure))
            }
        }
    }

    /// Appends credential, verifier and protected arguments, and completes the record.
    fn append_rest(
        &mut self,
        gss_proc: GssProc,
        number: u32,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), Failure> {
        let cred = GssCred {
            version: GSS_VERSION,
            gss_proc,
            seq_num: number,
            service: self.service,
            handle: &self.handle,
        };
        let mut e = Encoder::new(out);
        e.put(&AuthFlavor::RpcsecGss);
        e.u32((CRED_BYTES + self.handle.len().next_multiple_of(4)) as u32);
        e.put(&cred);
        let mic = self
            .context
            .sign(out.get(start + MARK_BYTES..).unwrap_or_default())?;
        let mut e = Encoder::new(out);
        e.put(&OpaqueAuth::gss_verf(mic.bytes()));
        match self.service {
            GssService::None => out.extend_from_slice(&self.body[NUMBER_BYTES..]),
            GssService::Integrity => {
                let checksum = self.context.sign(&self.body)?;
                let protected = GssIntegData {
                    databody_integ: &self.body,
                    checksum: checksum.bytes(),
                };
                protected.encode(&mut e);
            }
            GssService::Privacy => {
                let wrapped = self.context.wrap(&self.body)?;
                let protected = GssPrivData {
                    databody_priv: wrapped.bytes(),
                };
                protected.encode(&mut e);
            }
        }
        OpenRecord::at(start).finish(out);
        Ok(())
    }

    /// Checks the reply to the call of this number, and gives it back without its protection, in
    /// `plain` where that is not as it is. Denials have no protection, and servers refuse what they do not
    /// have (PROC_UNAVAIL) with or without a verifier.
    ///
    /// # Errors
    /// It is not protected as it must be.
    pub(crate) fn open<'r>(
        &mut self,
        number: u32,
        record: &'r [u8],
        plain: &'r mut Vec<u8>,
    ) -> Result<&'r [u8], SecurityError> {
        let mut d = Decoder::new(record);
        let header = ReplyHeader::decode(&mut d).map_err(SecurityError::Malformed)?;
        let ReplyBody::Accepted { verf, stat } = header.body else {
            return Ok(record);
        };
        if verf.flavor == AuthFlavor::None && stat != AcceptStat::Success {
            return Ok(record);
        }
        if verf.flavor != AuthFlavor::RpcsecGss {
            let text = format!("its verifier is {}", verf.flavor);
            return Err(SecurityError::Unprotected(text));
        }
        self.check(&number.to_be_bytes(), verf.body)?;
        if stat != AcceptStat::Success || self.service == GssService::None {
            return Ok(record);
        }
        plain.clear();
        ReplyHeader::encode_success(plain, header.xid);
        match self.service {
            GssService::None => {}
            GssService::Integrity => {
                let data: GssIntegData<'_> =
                    xdr::finish(&mut d).map_err(SecurityError::Malformed)?;
                self.check(data.databody_integ, data.checksum)?;
                append_results(number, data.databody_integ, plain)?;
            }
            GssService::Privacy => {
                let data: GssPrivData<'_> =
                    xdr::finish(&mut d).map_err(SecurityError::Malformed)?;
                let body = self.context.unwrap(data.databody_priv);
                let body = body.map_err(|why| SecurityError::Unprotected(why.to_string()))?;
                append_results(number, body.bytes(), plain)?;
            }
        }
        Ok(plain)
    }

    fn check(&mut self, data: &[u8], mic: &[u8]) -> Result<(), SecurityError> {
        let checked = self.context.verify(data, mic);
        checked.map_err(|why| SecurityError::Unprotected(why.to_string()))
    }
}

/// Appends the results behind the sequence number in a protected body.
fn append_results(number: u32, body: &[u8], plain: &mut Vec<u8>) -> Result<(), SecurityError> {
    match body.split_first_chunk::<NUMBER_BYTES>() {
        Some((first, results)) if u32::from_be_bytes(*first) == number => {
            plain.extend_from_slice(results);
            Ok(())
        }
        _ => {
            let text = "its body has the number of another call";
            Err(SecurityError::Unprotected(text.to_owned()))
        }
    }
}

/// Whether a reply says that the server does not know the context, or that it has expired.
pub(crate) fn lost_context(record: &[u8]) -> Option<AuthStat> {
    let header = ReplyHeader::decode(&mut Decoder::new(record)).ok()?;
    match header.body {
        ReplyBody::Denied(RejectStat::AuthError(
            stat @ (AuthStat::GssCredProblem | AuthStat::GssCtxProblem),
        )) => Some(stat),
        _ => None,
    }
}
