//! How a context is established: tokens in calls of the NULL procedure (RFC 2203 section 5.2.2).

use super::context::GssContext;
use super::{KerberosOptions, SecurityError};
use filermark_gss::{Context, ContextUse, Credentials, Library, Name};
use filermark_model::secret::Secret;
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{
    AuthFlavor, CallHeader, GSS_S_COMPLETE, GSS_S_CONTINUE_NEEDED, GSS_VERSION, GssCred,
    GssInitArgs, GssInitRes, GssProc, OpaqueAuth, ReplyBody, ReplyHeader,
};
use filermark_onc::xdr::{self, Decode, Decoder};

/// Kerberos needs one exchange; this limits servers that never come to an end.
const EXCHANGES_MAX: u32 = 8;

/// A context that is being established.
#[derive(Debug)]
pub(crate) struct Handshake {
    options: KerberosOptions,
    credentials: Credentials,
    target: Name,
    context: Context,
    is_proved: bool,
    /// The server's name of the context.
    handle: Vec<u8>,
    token: Vec<u8>,
    exchanges: u32,
}

/// What follows a reply.
#[derive(Debug)]
pub(crate) enum HandshakeStep {
    /// Another call.
    Call(Box<Handshake>),
    /// The context is established.
    Established(Box<GssContext>),
}

impl Handshake {
    /// Gets the tickets for user and server. It may ask the KDC, and wait for it.
    ///
    /// # Errors
    /// There is no library or no ticket.
    pub(crate) fn begin(options: KerberosOptions) -> Result<Self, SecurityError> {
        let credentials = Credentials::obtain(&options.username, &options.realm, &Secret::NONE)?;
        let library = Library::open().map_err(SecurityError::NoLibrary)?;
        let server = options.server.clone();
        let refused = |failure| SecurityError::Server { server, failure };
        let target = library.service(&format!("nfs@{}", options.server));
        let target = target.map_err(refused.clone())?;
        let mut context = library.context(ContextUse::Rpc);
        let first = context.step(credentials.credential(), &target, &[]);
        let (token, is_proved) = first.map_err(refused)?;
        Ok(Self {
            options,
            credentials,
            target,
            context,
            is_proved,
            handle: Vec::new(),
            token,
            exchanges: 0,
        })
    }

    /// Appends the next call as a record.
    pub(crate) fn next_call(&self, prog: u32, vers: u32, xid: u32, out: &mut Vec<u8>) {
        let gss_proc = match self.exchanges {
            0 => GssProc::Init,
            _ => GssProc::ContinueInit,
        };
        let cred = GssCred {
            version: GSS_VERSION,
            gss_proc,
            seq_num: 0,
            service: self.options.service,
            handle: &self.handle,
        };
        let mut body = Vec::new();
        xdr::append(&mut body, &cred);
        let record = OpenRecord::begin(out);
        let header = CallHeader {
            xid,
            prog,
            vers,
            proc: 0,
            cred: OpaqueAuth {
                flavor: AuthFlavor::RpcsecGss,
                body: &body,
            },
            verf: OpaqueAuth::NONE,
        };
        xdr::append(out, &header);
        let args = GssInitArgs {
            gss_token: &self.token,
        };
        xdr::append(out, &args);
        record.finish(out);
    }

    /// Evaluates the reply to the last call.
    ///
    /// # Errors
    /// There will be no context.
    pub(crate) fn reply(mut self, record: &[u8]) -> Result<HandshakeStep, SecurityError> {
        self.exchanges += 1;
        let (header, results) = first_results(record)?;
        if !matches!(results.gss_major, GSS_S_COMPLETE | GSS_S_CONTINUE_NEEDED) {
            return Err(SecurityError::NotAccepted {
                server: self.options.server,
                major: results.gss_major,
                minor: results.gss_minor,
            });
        }
        self.handle = results.handle.to_vec();
        if !self.is_proved && !results.gss_token.is_empty() {
            let (credential, target) = (self.credentials.credential(), &self.target);
            let stepped = self.context.step(credential, target, results.gss_token);
            let stepped = stepped.map_err(|failure| SecurityError::Server {
                server: self.options.server.clone(),
                failure,
            })?;
            (self.token, self.is_proved) = stepped;
        }
        match (results.gss_major, self.is_proved) {
            (GSS_S_COMPLETE, true) => self.established(&header, results.seq_window),
            // The server has no more tokens, and this side needs one.
            (GSS_S_COMPLETE, false) => Err(SecurityError::Endless),
            _ if self.exchanges >= EXCHANGES_MAX => Err(SecurityError::Endless),
            _ => Ok(HandshakeStep::Call(Box::new(self))),
        }
    }

    /// The last reply is signed: the verifier is that of the window (RFC 2203 section 5.2.3.2).
    fn established(
        mut self,
        header: &ReplyHeader<'_>,
        window: u32,
    ) -> Result<HandshakeStep, SecurityError> {
        let ReplyBody::Accepted { verf, .. } = header.body else {
            return Err(SecurityError::Endless);
        };
        let checked = self.context.verify(&window.to_be_bytes(), verf.body);
        checked.map_err(|failure| SecurityError::Unprotected(failure.to_string()))?;
        let service = self.options.service;
        let context = GssContext::new(self.context, self.handle, service, window);
        Ok(HandshakeStep::Established(Box::new(context)))
    }
}

/// The results of a call that establishes a context. Servers without RPCSEC_GSS may answer it as the NULL
/// call that it also is: with success and no results.
fn first_results(record: &[u8]) -> Result<(ReplyHeader<'_>, GssInitRes<'_>), SecurityError> {
    let mut d = Decoder::new(record);
    let header = ReplyHeader::decode(&mut d).map_err(SecurityError::Malformed)?;
    header.check().map_err(SecurityError::NotOffered)?;
    if d.end().is_ok() {
        return Err(SecurityError::Ignored);
    }
    let results = xdr::finish(&mut d).map_err(SecurityError::Malformed)?;
    Ok((header, results))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::rpc::AcceptStat;

    #[test]
    fn a_reply_without_results_is_that_of_a_server_without_kerberos() {
        let reply = ReplyHeader::accepted(7, AcceptStat::Success);
        let mut record = Vec::new();
        xdr::append(&mut record, &reply);
        assert_eq!(first_results(&record).unwrap_err(), SecurityError::Ignored);
        record.extend([0; 4]);
        let error = first_results(&record).unwrap_err();
        assert!(matches!(error, SecurityError::Malformed(_)), "{error}");
    }
}
