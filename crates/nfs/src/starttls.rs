//! RPC-with-TLS (RFC 9289): the files of a plan, advice.
//!
//! Protected are the connections to the NFS program. Portmapper and MOUNT are called in the clear, as
//! kernel clients do it.

use crate::client::{TlsOptions, nfs_program};
use filermark_model::plan::{NfsPlan, Transport};
use filermark_tls::{ClientFiles, ClientTls, FileError, TlsError};

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
    let program = nfs_program(plan.version);
    let read = options.map(|options| options.read(program.prog, program.vers));
    read.transpose()
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
        FileError::Read { .. } => {
            "TLS_CA, TLS_CERT and TLS_KEY are files of every client: put them there, readable by the user that runs Filermark"
        }
        FileError::Content { .. } => {
            "give PEM files: TLS_CA certificates of authorities, TLS_CERT that of the client, TLS_KEY its key"
        }
        FileError::Name { .. } => "give the name in the server's certificate with TLS_NAME",
    }
}
