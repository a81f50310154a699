//! Authorities and certificates for tests, and a server's part of the handshake.

pub mod scripts;

use crate::{Channel, SCRATCH_MIN, ServerTls};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// An authority that signs certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    own: PathBuf,
}

/// The files of a certificate.
#[derive(Clone, Debug)]
pub struct CertifiedFiles {
    /// The certificate (PEM).
    pub certificate: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = (0..text.len().div_ceil(64))
        .map(|n| &text[n * 64..text.len().min(n * 64 + 64)])
        .collect();
    let body = lines.join("\n");
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

fn failed(error: rcgen::Error) -> io::Error {
    io::Error::other(error.to_string())
}

fn write_certificate(path: &Path, certificate: &Certificate) -> io::Result<()> {
    std::fs::write(path, pem("CERTIFICATE", certificate.der()))
}

impl Authority {
    /// An authority whose certificate is written to `DIR/NAME.pem`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(dir: &Path, name: &str) -> io::Result<Self> {
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let own = dir.join(format!("{name}.pem"));
        write_certificate(&own, &certificate)?;
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, own })
    }

    /// The file of its certificate.
    pub fn file(&self) -> &Path {
        &self.own
    }

    /// A certificate for these names (DNS or IP addresses), written to `DIR/FILE.pem` and
    /// `DIR/FILE.key` beside the authority's.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn sign(&self, file: &str, names: &[&str]) -> io::Result<CertifiedFiles> {
        self.sign_for(file, names, |_| ())
    }

    /// The same, which has expired.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn sign_expired(&self, file: &str, names: &[&str]) -> io::Result<CertifiedFiles> {
        self.sign_for(file, names, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    fn sign_for(
        &self,
        file: &str,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> io::Result<CertifiedFiles> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, file);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        change(&mut params);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let files = CertifiedFiles {
            certificate: self.own.with_file_name(format!("{file}.pem")),
            key: self.own.with_file_name(format!("{file}.key")),
        };
        write_certificate(&files.certificate, &certificate)?;
        std::fs::write(&files.key, pem("PRIVATE KEY", key.serialized_der()))?;
        Ok(files)
    }
}

/// Answers the request of a client, of which `request_len` bytes come, with `answer`, and completes the handshake
/// of the server.
///
/// # Errors
/// The connection or the handshake fails, or data comes with it.
pub fn accept(
    stream: &mut (impl Read + Write),
    tls: &ServerTls,
    request_len: usize,
    answer: &[u8],
) -> io::Result<Channel> {
    stream.read_exact(&mut vec![0; request_len])?;
    stream.write_all(answer)?;
    let mut channel = Channel::server(tls).map_err(io::Error::other)?;
    let (mut scratch, mut out) = (vec![0; SCRATCH_MIN], Vec::new());
    while !channel.is_open() {
        let at = channel.place(&mut scratch);
        let came = stream.read(&mut scratch[at..])?;
        if came == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let received = channel.receive(&mut scratch, at + came, None, &mut out);
        stream.write_all(&out)?;
        out.clear();
        if received.map_err(io::Error::other)? > 0 {
            return Err(io::Error::other("data came with the handshake"));
        }
    }
    Ok(channel)
}
