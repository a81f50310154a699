//! RPC-with-TLS (RFC 9289): the call that asks for it, the files of a plan, advice.
//!
//! Protected are the connections to the NFS program. Portmapper and MOUNT are called in the clear, as
//! kernel clients do it.

use crate::client::{Program, TlsOptions, nfs_program};
use filermark_model::plan::{NfsPlan, Transport};
use filermark_onc::record::{OpenRecord, whole_record};
use filermark_onc::rpc::{CallHeader, OpaqueAuth, ReplyBody, ReplyHeader};
use filermark_onc::xdr::{self, Decode, Decoder};
use filermark_tls::{Answer, ClientFiles, ClientTls, FileError, Greeting, TlsError};

/// The name of the protocol in ALPN (RFC 9289 section 5.2). It is offered; servers may ignore it.
const ALPN: &[u8] = b"sunrpc";
/// The transaction id of the call. It is the only call in the clear on its connection.
const XID: u32 = 0x5354_4c53;
/// The longest reply to it, in bytes.
const REPLY_MAX: usize = 1 << 10;

/// The TLS options of a plan for the server of this name; `None`: in the clear.
pub(crate) fn options(plan: &NfsPlan, host: &str) -> Option<TlsOptions> {
    let tls = plan.tls.as_ref()?;
    if plan.transport != Transport::Tcp {
        return None;
    }
    let own = tls.own.as_ref();
    Some(TlsOptions {
        files: ClientFiles {
            authorities: tls.authorities.clone().into(),
            own: own.map(|own| (own.certificate.clone().into(), own.key.clone().into())),
        },
        name: tls.server_name.clone().unwrap_or_else(|| host.to_owned()),
    })
}

/// TLS of a plan for connections to the server of this name; `None`: in the clear.
pub(crate) fn of_plan(plan: &NfsPlan, host: &str) -> Result<Option<ClientTls>, FileError> {
    let options = options(plan, host);
    let read = options.map(|options| read(&options, nfs_program(plan.version)));
    read.transpose()
}

/// Reads the files, for connections to this program.
pub(crate) fn read(options: &TlsOptions, program: Program) -> Result<ClientTls, FileError> {
    let greeting = Greeting {
        bytes: call(program),
        judge,
    };
    options.files.read(&options.name, ALPN, greeting)
}

/// The NULL call with the flavor AUTH_TLS (RFC 9289 section 4.1).
fn call(program: Program) -> Vec<u8> {
    let mut out = Vec::new();
    let record = OpenRecord::begin(&mut out);
    let header = CallHeader {
        xid: XID,
        prog: program.prog,
        vers: program.vers,
        proc: 0,
        cred: OpaqueAuth::TLS,
        verf: OpaqueAuth::NONE,
    };
    xdr::append(&mut out, &header);
    record.finish(&mut out);
    out
}

/// Judges what the server has sent so far.
fn judge(came: &[u8]) -> Answer {
    let found = match whole_record(came, REPLY_MAX) {
        Ok(Some(found)) => found,
        Ok(None) => return Answer::Incomplete,
        Err(error) => return Answer::No(error.to_string()),
    };
    let length = came.len() - found.rest.len();
    let mut d = Decoder::new(found.record);
    let header = match ReplyHeader::decode(&mut d) {
        Ok(header) if header.xid == XID => header,
        Ok(_) => return Answer::No("it answered another call".to_owned()),
        Err(error) => return Answer::No(format!("its answer to AUTH_TLS is invalid: {error}")),
    };
    if let Err(refusal) = header.check() {
        return Answer::No(format!("it refused the call with AUTH_TLS: {refusal}"));
    }
    match header.body {
        ReplyBody::Accepted { verf, .. } if verf == OpaqueAuth::STARTTLS => Answer::Yes(length),
        _ => Answer::No("its answer to AUTH_TLS has no STARTTLS".to_owned()),
    }
}

/// What to do about an error of TLS.
pub(crate) const fn advice(error: &TlsError) -> &'static str {
    match error {
        TlsError::NotOffered(_) => {
            "enable TLS on the server (Linux: tlshd runs, and the export has xprtsec=tls or mtls), or set TLS=off"
        }
        TlsError::Untrusted => {
            "put the certificate of the authority that signed it into the file of TLS_CA on every client"
        }
        TlsError::AuthorityAsServer => {
            "give the server a certificate that an authority has signed, and the authority's certificate to TLS_CA"
        }
        TlsError::Expired => "renew the server's certificate, and check the clock of this client",
        TlsError::NotValidYet => "check the clock of this client and the dates of the certificate",
        TlsError::OtherName { .. } => {
            "use a name of the certificate in MNT_POINTS, or give it with TLS_NAME; names are taken from subjectAltName alone"
        }
        TlsError::Certificate(_) => "check the server's certificate (openssl x509 -text)",
        TlsError::ClientCertificateRequired => {
            "set TLS=mtls, with TLS_CERT and TLS_KEY of a certificate that the server trusts"
        }
        TlsError::ClientCertificateRefused(_) => {
            "check that the server trusts the authority that signed TLS_CERT, and that it has not expired"
        }
        TlsError::NothingInCommon(_) => {
            "enable TLS 1.3 on the server with AES-GCM or ChaCha20-Poly1305"
        }
        TlsError::Alert(_) | TlsError::Broken(_) => {
            "see the server's log (Linux: that of tlshd); the server may be overloaded or not use TLS here"
        }
    }
}

/// What to do about a file that cannot be used.
pub(crate) const fn file_advice(error: &FileError) -> &'static str {
    match error {
        FileError::Read { .. } | FileError::Content { .. } => {
            "TLS_CA, TLS_CERT and TLS_KEY are files of every client: put them there, readable by the user that runs Filermark"
        }
        FileError::Name { .. } => "give the name in the server's certificate with TLS_NAME",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::rpc::{AcceptStat, AuthStat, RejectStat};

    fn reply(xid: u32, body: ReplyBody<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let record = OpenRecord::begin(&mut out);
        xdr::append(&mut out, &ReplyHeader { xid, body });
        record.finish(&mut out);
        out
    }

    fn accepted(verf: OpaqueAuth<'_>) -> ReplyBody<'_> {
        let stat = AcceptStat::Success;
        ReplyBody::Accepted { verf, stat }
    }

    #[test]
    fn the_call_is_as_the_rfc_has_it() {
        let program = Program {
            prog: 100_003,
            vers: 4,
        };
        let words: Vec<u32> = call(program)
            .chunks(4)
            .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(
            words,
            [0x8000_0028, XID, 0, 2, 100_003, 4, 0, 7, 0, 0, 0],
            "mark, xid, CALL, RPC 2, program, version, NULL, AUTH_TLS, AUTH_NONE"
        );
    }

    #[test]
    fn only_starttls_is_a_yes_and_nothing_behind_it_is_lost() {
        let mut yes = reply(XID, accepted(OpaqueAuth::STARTTLS));
        assert_eq!(judge(&yes), Answer::Yes(yes.len()));
        for cut in 0..yes.len() {
            assert_eq!(judge(&yes[..cut]), Answer::Incomplete, "{cut}");
        }
        let length = yes.len();
        yes.push(7);
        assert_eq!(judge(&yes), Answer::Yes(length));
        let denied = ReplyBody::Denied(RejectStat::AuthError(AuthStat::BadCred));
        for (no, word) in [
            (reply(XID, accepted(OpaqueAuth::NONE)), "no STARTTLS"),
            (reply(XID, denied), "refused"),
            (
                reply(XID + 1, accepted(OpaqueAuth::STARTTLS)),
                "another call",
            ),
            (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "limit"),
            (vec![0x80, 0, 0, 2, 1, 2], "invalid"),
        ] {
            let got = judge(&no);
            assert!(
                matches!(&got, Answer::No(why) if why.contains(word)),
                "{word}: {got:?}"
            );
        }
    }
}
