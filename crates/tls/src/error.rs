//! Why there is no TLS.

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use std::io;
use std::path::PathBuf;

/// Why a connection is not, or no longer, protected by TLS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The peer does not go on with TLS.
    #[error("the server does not offer TLS: {0}")]
    NotOffered(String),
    /// No trust anchor has signed the server's certificate.
    #[error("the server's certificate is not signed by an authority that is trusted")]
    Untrusted,
    /// The server's certificate is a trust anchor itself.
    #[error("the server presents the certificate of an authority as its own")]
    AuthorityAsServer,
    /// It is not valid any more.
    #[error("the server's certificate has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the server's certificate is not valid yet")]
    NotValidYet,
    /// It is for other names.
    #[error(
        "the server's certificate is not for {expected}{}",
        presented_text(presented)
    )]
    OtherName {
        /// The name that was asked for.
        expected: String,
        /// The names in the certificate.
        presented: Vec<String>,
    },
    /// Anything else about the server's certificate.
    #[error("the server's certificate cannot be used: {0}")]
    Certificate(String),
    /// The server requires a certificate of the client.
    #[error("the server requires a certificate of the client")]
    ClientCertificateRequired,
    /// The server has refused the client's certificate.
    #[error("the server has refused the client's certificate (alert {0})")]
    ClientCertificateRefused(String),
    /// The peers have no version, cipher suite or key exchange in common.
    #[error("client and server have no protocol version or cipher suite in common: {0}")]
    NothingInCommon(String),
    /// The peer has ended the connection with an alert.
    #[error("the server has ended the TLS session (alert {0})")]
    Alert(String),
    /// The bytes are not TLS, or were changed on the way.
    #[error("the TLS session is broken: {0}")]
    Broken(String),
}

fn presented_text(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(", but for {}", names.join(", ")),
    }
}

impl TlsError {
    /// Whether another connection would fail in the same way.
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Broken(_) | Self::Alert(_))
    }

    fn alert(alert: AlertDescription) -> Self {
        let name = || format!("{alert:?}");
        match alert {
            AlertDescription::CertificateRequired => Self::ClientCertificateRequired,
            AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied => Self::ClientCertificateRefused(name()),
            AlertDescription::HandshakeFailure
            | AlertDescription::ProtocolVersion
            | AlertDescription::InsufficientSecurity
            | AlertDescription::NoApplicationProtocol => Self::NothingInCommon(name()),
            _ => Self::Alert(name()),
        }
    }

    fn certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer => Self::Untrusted,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::NotValidYet
            }
            CertificateError::NotValidForNameContext {
                expected,
                presented,
            } => Self::OtherName {
                expected: expected.to_str().into_owned(),
                presented: presented.iter().map(|name| plain_name(name)).collect(),
            },
            // webpki does not export the type of this error.
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => Self::AuthorityAsServer,
            other => Self::Certificate(other.to_string()),
        }
    }
}

/// `DnsName("server")` as `server`.
fn plain_name(name: &str) -> String {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    let inner = inner.unwrap_or(name);
    inner.trim_matches('"').to_owned()
}

impl From<Error> for TlsError {
    fn from(error: Error) -> Self {
        match &error {
            Error::AlertReceived(alert) => Self::alert(*alert),
            Error::InvalidCertificate(error) => Self::certificate(error),
            Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => {
                Self::NothingInCommon("the server does not have TLS 1.3".to_owned())
            }
            Error::PeerIncompatible(what) => Self::NothingInCommon(format!("{what:?}")),
            _ => Self::Broken(error.to_string()),
        }
    }
}

/// Why a file of certificates or keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {}: {}", path.display(), without_number(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It has not what it should have.
    #[error("{} {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, as the end of a sentence.
        what: String,
    },
    /// The name of the server is no name.
    #[error("'{name}' is neither a DNS name nor an IP address, so no certificate can be for it")]
    Name {
        /// The name.
        name: String,
    },
}

/// The system's error without its number.
fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error ").next().unwrap_or_default();
    words.to_owned()
}
