//! The identity of a side: the key that is derived from its secret, and the keys that it
//! accepts from peers (see `secure/mod.rs`).

use super::certificate;
use super::secret::{Secret, from_hex, to_hex};
use ring::hkdf;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, ServerConfig};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error as TlsError, SignatureScheme,
};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Separates these keys from other keys that may be derived from the same secret.
const SALT: &[u8] = b"filermark prime and agents, version 1";
/// The purpose of the derived key.
const KEY_LABEL: &[u8] = b"ed25519 identity";
/// Prefix of the 32 bytes of a public key (RFC 8410, section 4).
const KEY_INFO_HEAD: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// The public half of the key that is derived from a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Hex digits of its text.
    pub const DIGITS: usize = 64;

    /// Of this secret.
    ///
    /// # Errors
    /// The cryptographic library failed, for which no reason is known.
    pub fn of(secret: &Secret) -> Result<Self, String> {
        let seed = derive(secret).ok_or(NOT_DERIVED)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_slice());
        let pair = pair.map_err(|e| e.to_string())?;
        let key = pair.public_key().as_ref().try_into();
        key.map(Self).map_err(|_| NOT_DERIVED.into())
    }

    /// Parses hex.
    ///
    /// # Errors
    /// It is not valid.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let bytes = Some(text).filter(|text| text.len() == Self::DIGITS);
        let bytes = bytes.and_then(from_hex).and_then(|b| b.try_into().ok());
        bytes.map(Self).ok_or("has no key of 64 hex digits")
    }

    /// From a certificate; `None`: it has another kind of key.
    pub(super) fn shown_in(certificate: &CertificateDer<'_>) -> Option<Self> {
        let shown = ParsedCertificate::try_from(certificate).ok()?;
        let info = shown.subject_public_key_info();
        let key = info.as_ref().strip_prefix(&KEY_INFO_HEAD)?;
        key.try_into().ok().map(Self)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

const NOT_DERIVED: &str = "the key could not be derived";

/// The role of a side, whichever side connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRole {
    /// Gives the orders.
    Prime,
    /// Carries them out.
    Agent,
}

impl LinkRole {
    /// The protocol (ALPN) of connections that this side begins.
    fn protocol(self) -> Vec<u8> {
        match self {
            Self::Prime => b"filermark-prime/1".to_vec(),
            Self::Agent => b"filermark-agent/1".to_vec(),
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Prime => Self::Agent,
            Self::Agent => Self::Prime,
        }
    }
}

impl fmt::Display for LinkRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prime => "a prime",
            Self::Agent => "an agent",
        })
    }
}

/// The identity that is derived from a secret, for one side.
#[derive(Clone)]
pub struct Identity {
    side: LinkRole,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Identity {
    /// Derives key and certificate; accepts peers with one of these keys.
    ///
    /// # Errors
    /// The cryptographic library failed, for which no reason is known.
    pub fn new(
        secret: &Secret,
        side: LinkRole,
        peers: impl IntoIterator<Item = PublicKey>,
    ) -> Result<Self, String> {
        let seed = derive(secret).ok_or(NOT_DERIVED)?;
        let own = certificate::certified(&seed)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pin = Arc::new(KeyVerifier {
            peers: peers.into_iter().collect(),
            provider: provider.clone(),
        });
        let chain = vec![own.certificate];
        let key = || PrivateKeyDer::Pkcs8(own.key.clone_key());
        let versions = &[&rustls::version::TLS13];
        let words = |e: TlsError| e.to_string();

        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(words)?
            .dangerous()
            .with_custom_certificate_verifier(pin.clone())
            .with_client_auth_cert(chain.clone(), key())
            .map_err(words)?;
        client.alpn_protocols = vec![side.protocol()];
        client.enable_sni = false;
        client.resumption = Resumption::disabled();

        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(words)?
            .with_client_cert_verifier(pin)
            .with_single_cert(chain, key())
            .map_err(words)?;
        server.alpn_protocols = vec![side.other().protocol()];
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;

        Ok(Self {
            side,
            client: Arc::new(client),
            server: Arc::new(server),
        })
    }

    /// The role of this side.
    pub fn side(&self) -> LinkRole {
        self.side
    }

    pub(super) fn client(&self) -> Arc<ClientConfig> {
        self.client.clone()
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        self.server.clone()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:?})", self.side)
    }
}

/// HKDF-SHA256 (RFC 5869).
fn derive(secret: &Secret) -> Option<Zeroizing<[u8; 32]>> {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, SALT);
    let mut seed = Zeroizing::new([0; 32]);
    salt.extract(secret.bytes())
        .expand(&[KEY_LABEL], hkdf::HKDF_SHA256)
        .and_then(|key| key.fill(seed.as_mut_slice()))
        .ok()?;
    Some(seed)
}

/// Accepts a peer whose public key is one of these and who signs with it.
#[derive(Debug)]
struct KeyVerifier {
    peers: BTreeSet<PublicKey>,
    provider: Arc<CryptoProvider>,
}

impl KeyVerifier {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), TlsError> {
        // All are public: the comparison need not take constant time.
        match PublicKey::shown_in(shown) {
            Some(key) if self.peers.contains(&key) => Ok(()),
            _ => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    /// TLS 1.2 is not compiled in; if it ever is, its signatures are checked too.
    fn tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }
}

impl ServerCertVerifier for KeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        self.check(end_entity)
            .map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

impl ClientCertVerifier for KeyVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        self.check(end_entity)
            .map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::tests::wire::{LIMIT, Secrets, tcp_pair};
    use super::super::{SecureError, secure_client, secure_server};
    use super::*;

    #[test]
    fn the_key_depends_on_the_secret_only() {
        let secret = Secret::random().unwrap();
        assert_eq!(derive(&secret), derive(&secret.clone()));
        assert_ne!(derive(&secret), derive(&Secret::random().unwrap()));
    }

    /// A change locks out agents of other versions, which could then not even be informed of
    /// the version difference.
    #[test]
    fn the_derivation_does_not_change() {
        let secret =
            Secret::parse("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
                .unwrap();
        let seed: String = derive(&secret)
            .unwrap()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        // Computed with another implementation of HKDF.
        assert_eq!(
            seed,
            "0440bee3d2e174417453a20baa1b6d1432b2ad9b88768b52c87093cc89cbfc9f"
        );
    }

    /// An attacker that has seen the certificate, as every peer does, but has another key.
    fn forged_key(seen_secret: &Secret) -> Arc<rustls::sign::CertifiedKey> {
        let seen_secret = certificate::certified(&derive(seen_secret).unwrap()).unwrap();
        let own = certificate::certified(&[3; 32]).unwrap();
        let own = rustls::crypto::ring::sign::any_eddsa_type(&own.key);
        let shown = vec![seen_secret.certificate];
        Arc::new(rustls::sign::CertifiedKey::new(shown, own.unwrap()))
    }

    fn handshake(client: &Identity, server: &Identity) -> [Option<SecureError>; 2] {
        let (near, far) = tcp_pair();
        std::thread::scope(|scope| {
            let server = scope.spawn(|| secure_server(far, server, LIMIT).err());
            let client = secure_client(near, client, LIMIT).err();
            [client, server.join().unwrap()]
        })
    }

    /// The holder of one client's key.
    struct KeyHolder {
        secret: Secret,
    }

    impl KeyHolder {
        /// Acts as `side` towards the holder of this key.
        fn as_side(&self, side: LinkRole, target: PublicKey) -> Identity {
            Identity::new(&self.secret, side, [target]).unwrap()
        }
    }

    /// With one shared secret both of these succeeded.
    #[test]
    fn the_holder_of_a_clients_secret_cannot_act_as_prime() {
        let [prime, h1, h2] = [(); 3].map(|()| Secret::random().unwrap());
        let key = |secret| PublicKey::of(secret).unwrap();
        let agent = Identity::new(&h2, LinkRole::Agent, [key(&prime)]).unwrap();
        let holder = KeyHolder { secret: h1.clone() };
        // With an agent that listens, and with one that connects to its prime.
        let [_, agent_error] = handshake(&holder.as_side(LinkRole::Prime, key(&h2)), &agent);
        assert_eq!(agent_error, Some(SecureError::WrongKey));
        let [agent_error, _] = handshake(&agent, &holder.as_side(LinkRole::Prime, key(&h2)));
        assert_eq!(agent_error, Some(SecureError::WrongKey));
        // An agent cannot accept orders of another agent either, whatever its name.
        let own = KeyHolder { secret: h2.clone() };
        let [_, agent_error] = handshake(&own.as_side(LinkRole::Prime, key(&h2)), &agent);
        assert_eq!(agent_error, Some(SecureError::WrongKey));
        // The valid use: joining, with the key that the prime knows.
        let keys = [key(&h1), key(&h2)];
        let prime_side = Identity::new(&prime, LinkRole::Prime, keys).unwrap();
        let joins = holder.as_side(LinkRole::Agent, key(&prime));
        assert_eq!(handshake(&joins, &prime_side), [None, None]);
        // A client that was removed from the prime's list cannot join any more.
        let without = Identity::new(&prime, LinkRole::Prime, [key(&h2)]).unwrap();
        let [_, prime_error] = handshake(&joins, &without);
        assert_eq!(prime_error, Some(SecureError::WrongKey));
    }

    #[test]
    fn a_key_is_parsed_as_it_was_printed() {
        let secret = Secret::random().unwrap();
        let key = PublicKey::of(&secret).unwrap();
        assert_eq!(PublicKey::parse(&key.to_string()), Ok(key));
        let shown = certificate::certified(&derive(&secret).unwrap()).unwrap();
        assert_eq!(PublicKey::shown_in(&shown.certificate), Some(key));
        assert!(PublicKey::parse(&key.to_string()[1..]).is_err());
        assert_eq!(
            PublicKey::shown_in(&CertificateDer::from(vec![0x30, 0])),
            None
        );
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let secrets = Secrets::random();
        let (prime, agent) = secrets.identities();
        assert_eq!(handshake(&agent, &prime), [None, None]);

        let mut false_agent = agent.clone();
        let mut config = (*agent.client).clone();
        config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(
            forged_key(&secrets.agent),
        ));
        false_agent.client = Arc::new(config);
        let [_, error] = handshake(&false_agent, &prime);
        assert_eq!(error, Some(SecureError::WrongKey));

        let mut false_prime = prime.clone();
        let mut config = (*prime.server).clone();
        config.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(forged_key(
            &secrets.prime,
        )));
        false_prime.server = Arc::new(config);
        let [error, _] = handshake(&agent, &false_prime);
        assert_eq!(error, Some(SecureError::WrongKey));
    }

    /// A peer that accepts any prime and presents its own certificate with its key.
    #[test]
    fn another_certificate_is_refused() {
        let (prime, agent) = Secrets::random().identities();
        let (_, mut other_key) = Secrets::random().identities();
        let mut config = (*agent.client).clone();
        config.client_auth_cert_resolver = other_key.client.client_auth_cert_resolver.clone();
        other_key.client = Arc::new(config);
        let [_, error] = handshake(&other_key, &prime);
        assert_eq!(error, Some(SecureError::WrongKey));
    }

    #[test]
    fn a_missing_certificate_is_refused() {
        let (prime, mut no_certificate) = Secrets::random().identities();
        let mut config = (*no_certificate.client).clone();
        config.client_auth_cert_resolver = Arc::new(NoCertificate);
        no_certificate.client = Arc::new(config);
        let [_, error] = handshake(&no_certificate, &prime);
        assert_eq!(error, Some(SecureError::WrongKey));
    }

    #[derive(Debug)]
    struct NoCertificate;

    impl rustls::client::ResolvesClientCert for NoCertificate {
        fn resolve(
            &self,
            _: &[&[u8]],
            _: &[SignatureScheme],
        ) -> Option<Arc<rustls::sign::CertifiedKey>> {
            None
        }
        fn has_certs(&self) -> bool {
            false
        }
    }
}
