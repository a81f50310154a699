//! The call that asks for TLS (RFC 9289 section 4.1), and what its answer means.

use filermark_onc::record::{OpenRecord, whole_record};
use filermark_onc::rpc::{CallHeader, OpaqueAuth, RejectStat, ReplyBody, ReplyHeader, RpcRefusal};
use filermark_onc::xdr::{self, Decode, Decoder};
use filermark_tls::{Answer, ClientFiles, ClientTls, FileError, StartRequest};

/// The name of the protocol in ALPN (RFC 9289 section 5.2). It is offered; servers may ignore it.
const ALPN: &[u8] = b"sunrpc";
/// The transaction id of the call. It is the only call in the clear on its connection.
const XID: u32 = 0x5354_4c53;
/// The longest reply to it, in bytes.
const REPLY_MAX: usize = 1 << 10;

/// How the connections of a client are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The files, on this host.
    pub files: ClientFiles,
    /// The name that the server's certificate must have.
    pub name: String,
}

impl TlsOptions {
    /// Reads the files, for connections to this version of a program.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(&self, prog: u32, vers: u32) -> Result<ClientTls, FileError> {
        let request = StartRequest {
            bytes: call(prog, vers),
            judge,
        };
        self.files.read(&self.name, ALPN, request)
    }
}

/// The NULL call with the flavor AUTH_TLS (RFC 9289 section 4.1).
fn call(prog: u32, vers: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let record = OpenRecord::begin(&mut out);
    let header = CallHeader {
        xid: XID,
        prog,
        vers,
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
        return Answer::No(format!("it answers AUTH_TLS with {}", name(refusal)));
    }
    match header.body {
        ReplyBody::Accepted { verf, .. } if verf == OpaqueAuth::STARTTLS => Answer::Yes(length),
        _ => Answer::No("its answer to AUTH_TLS has no STARTTLS".to_owned()),
    }
}

/// The name of a refusal. What it means for other calls explains nothing here.
const fn name(refusal: RpcRefusal) -> &'static str {
    match refusal {
        RpcRefusal::Accepted(stat) => stat.name(),
        RpcRefusal::Denied(RejectStat::RpcMismatch { .. }) => "RPC_MISMATCH",
        RpcRefusal::Denied(RejectStat::AuthError(stat)) => stat.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::rpc::{AcceptStat, AuthStat};

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
        let words: Vec<u32> = call(100_003, 4)
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
            (reply(XID, denied), "AUTH_BADCRED"),
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
