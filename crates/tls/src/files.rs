//! Certificates and keys from PEM files.

use super::channel::StartRequest;
use super::error::FileError;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file of certificates or keys, in bytes: the trust anchors of a system are a fifth of it.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFiles {
    /// Certificates of the authorities that are trusted (PEM).
    pub authorities: PathBuf,
    /// The client's certificate with its chain, and its private key (PEM).
    pub own: Option<(PathBuf, PathBuf)>,
}

/// The files of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// The server's certificate with its chain (PEM).
    pub certificate: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
    /// Certificates of the authorities that sign those of clients (PEM); without it no client is
    /// asked for a certificate.
    pub client_authorities: Option<PathBuf>,
    /// Clients without a certificate are served too.
    pub client_optional: bool,
}

/// What the connections of a client to one server need.
#[derive(Clone, Debug)]
pub struct ClientTls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
    pub(crate) request: StartRequest,
}

/// What the connections of a server need.
#[derive(Clone, Debug)]
pub struct ServerTls {
    pub(crate) config: Arc<ServerConfig>,
}

impl ClientFiles {
    /// Reads the files, for connections to the server of this name (DNS or an IP address) that begin
    /// with `request`; `protocol` is offered by ALPN (RFC 7301).
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(
        &self,
        name: &str,
        protocol: &[u8],
        request: StartRequest,
    ) -> Result<ClientTls, FileError> {
        let name = ServerName::try_from(name.to_owned()).map_err(|_| FileError::Name {
            name: name.to_owned(),
        })?;
        let roots = authorities(&self.authorities)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| content(&self.authorities, format!("is of no use: {error}")))?
            .with_root_certificates(roots);
        let mut config = match &self.own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| not_a_pair(certificate, key, &error))?,
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        config.resumption = Resumption::disabled();
        // Records are sealed and opened by this crate.
        config.enable_secret_extraction = true;
        Ok(ClientTls {
            config: Arc::new(config),
            name,
            request,
        })
    }
}

impl ClientTls {
    /// The name that the server's certificate must have.
    pub fn server_name(&self) -> String {
        self.name.to_str().into_owned()
    }
}

impl ServerFiles {
    /// Reads the files; `protocol` is selected by ALPN where a client offers it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(&self, protocol: &[u8]) -> Result<ServerTls, FileError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |error: &dyn std::fmt::Display| {
            let path = self.client_authorities.as_ref();
            let path = path.unwrap_or(&self.certificate);
            content(path, format!("cannot be used: {error}"))
        };
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?;
        let builder = match &self.client_authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(authorities(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier = match self.client_optional {
                    true => verifier.allow_unauthenticated(),
                    false => verifier,
                };
                let verifier = verifier.build().map_err(|error| unusable(&error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(certificates(&self.certificate)?, private_key(&self.key)?)
            .map_err(|error| not_a_pair(&self.certificate, &self.key, &error))?;
        config.alpn_protocols = vec![protocol.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.enable_secret_extraction = true;
        Ok(ServerTls {
            config: Arc::new(config),
        })
    }
}

fn content(path: &Path, what: impl Into<String>) -> FileError {
    FileError::Content {
        path: path.to_owned(),
        what: what.into(),
    }
}

fn not_a_pair(certificate: &Path, key: &Path, error: &rustls::Error) -> FileError {
    let key = key.display();
    let what = match error {
        rustls::Error::InconsistentKeys(_) => {
            format!("is not the certificate of the private key {key}")
        }
        _ => format!("and the private key {key} cannot be used together: {error}"),
    };
    content(certificate, what)
}

/// The whole of a file; no more of it than is reasonable.
fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let done = File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .and_then(|_| match bytes.len() as u64 > FILE_BYTES_MAX {
            true => Err(io::Error::other("it is longer than 1 MiB")),
            false => Ok(()),
        });
    done.map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(bytes)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let bytes = read(path)?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| content(path, format!("is no PEM file: {error}")))?;
    match found.is_empty() {
        true => Err(content(path, "has no certificate (PEM, BEGIN CERTIFICATE)")),
        false => Ok(found),
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, FileError> {
    let mut store = RootCertStore::empty();
    // Collections of systems have old certificates that are no trust anchors.
    let (added, _ignored) = store.add_parsable_certificates(certificates(path)?);
    match added {
        0 => Err(content(
            path,
            "has no certificate that can be a trust anchor",
        )),
        _ => Ok(store),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let bytes = read(path)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        content(
            path,
            "has no private key that can be read (PEM, BEGIN PRIVATE KEY, without a passphrase)",
        )
    })
}

#[cfg(test)]
mod tests;
