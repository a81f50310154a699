//! A server of the handshake that does what a test says. It is made of the specification
//! and of the crate's keys only: what the handshake sends is read byte by byte.

use filermark_model::smb::Dialect;
use filermark_smbwire::auth::{AuthError, Authenticator};
use filermark_smbwire::bytes::Put;
use filermark_smbwire::crypto::seal::TRANSFORM;
use filermark_smbwire::crypto::{Cipher, Keys, Opener, Preauth, Sealer, Signer, SigningAlgorithm};
use filermark_smbwire::frame::MARK;
use filermark_smbwire::smb2::header::flags;
use filermark_smbwire::smb2::{Command, Header};
use filermark_smbwire::status;

pub const SESSION: u64 = 0x4711;
pub const TREE: u32 = 12;

/// Proves nothing and has a key; the server takes its word.
pub struct Known(pub Option<Vec<u8>>);

impl Authenticator for Known {
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        match token {
            b"nonsense" => Err(AuthError::Token("nonsense")),
            _ => Ok(b"proof".to_vec()),
        }
    }
    fn session_key(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }
    fn is_anonymous(&self) -> bool {
        self.0.is_none()
    }
}

pub fn known() -> Box<dyn Authenticator> {
    Box::new(Known(Some((1..=32).collect())))
}

/// What the server is like. The default is a 3.1.1 one that requires nothing.
#[derive(Clone)]
pub struct Fake {
    pub revision: u16,
    pub security_mode: u16,
    pub capabilities: u32,
    pub limits: [u32; 3],
    pub cipher: Option<u16>,
    pub signing: Option<u16>,
    /// Number of the hash algorithm.
    pub hash: u16,
    pub session_flags: u16,
    pub share_flags: u32,
    pub share_type: u8,
    /// Credits that each reply grants.
    pub credits: u16,
    /// The status of a command's reply, where it is not the usual one.
    pub refuses: Option<(Command, u32)>,
    /// Sends STATUS_PENDING before each reply.
    pub pending: bool,
    /// Signs what a server signs.
    pub signs: bool,
    /// What it reports in the end to have negotiated.
    pub validated_revision: Option<u16>,
    pub preauth: Preauth,
    pub legs: u32,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            revision: 0x0311,
            security_mode: 1,
            capabilities: 0x46,
            limits: [1 << 20, 2 << 20, 3 << 20],
            cipher: Some(2),
            signing: Some(2),
            hash: 1,
            session_flags: 0,
            share_flags: 0,
            share_type: 1,
            credits: 10,
            refuses: None,
            pending: false,
            signs: true,
            validated_revision: None,
            preauth: Preauth::new(),
            legs: 0,
        }
    }
}

impl Fake {
    /// The replies to a frame, without their marks.
    pub fn answer(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let mut message = frame[MARK..].to_vec();
        let sealed = message[0] == 0xFD;
        if sealed {
            let cipher = self.used_cipher().expect("a cipher");
            let opener = Opener::new(cipher, &self.keys().client_to_server);
            message = opener.open(SESSION, &mut message).expect("sealed").to_vec();
        }
        let asked = Header::decode(&message).expect("a request");
        if let Command::Negotiate | Command::SessionSetup = asked.command {
            self.preauth.add(&message);
        }
        let (answer, body) = self.replied(&asked);
        let mut bytes = answer.to_bytes().to_vec();
        bytes.extend(body);
        self.protect(&asked, &answer, sealed, &mut bytes);
        if asked.command == Command::Negotiate || answer.status == status::MORE_PROCESSING_REQUIRED
        {
            self.preauth.add(&bytes);
        }
        let interim = Header {
            status: status::PENDING,
            flags: answer.flags | flags::ASYNC,
            async_id: 5,
            tree_id: 0,
            ..answer
        };
        let mut pending = interim.to_bytes().to_vec();
        pending.extend([9, 0, 0, 0, 0, 0, 0, 0, 0]);
        match self.pending {
            true => vec![pending, bytes],
            false => vec![bytes],
        }
    }

    /// Header and body of the reply.
    fn replied(&mut self, asked: &Header) -> (Header, Vec<u8>) {
        let mut body = Vec::new();
        let mut answer = Header {
            flags: flags::SERVER_TO_REDIR,
            credits: self.credits,
            session_id: SESSION,
            ..*asked
        };
        match asked.command {
            Command::Negotiate => {
                answer.session_id = 0;
                self.negotiate(&mut body);
            }
            Command::SessionSetup => {
                self.legs += 1;
                if self.legs == 1 {
                    answer.status = status::MORE_PROCESSING_REQUIRED;
                }
                body = vec![9, 0, self.session_flags as u8, 0, 72, 0, 5, 0];
                body.extend(b"token");
            }
            Command::TreeConnect => {
                answer.tree_id = TREE;
                body = vec![16, 0, self.share_type, 0];
                body.put_u32(self.share_flags);
                body.put_u32(0);
                body.put_u32(0x001F_01FF);
            }
            Command::Ioctl => self.validate(&mut body),
            other => panic!("{other:?} in a handshake"),
        }
        match self.refuses {
            Some((command, status)) if command == asked.command => {
                answer.status = status;
                (answer, vec![9, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            _ => (answer, body),
        }
    }

    /// Encrypts what answers an encrypted request, and signs what answers a signed one or
    /// ends the login.
    fn protect(&self, asked: &Header, answer: &Header, sealed: bool, bytes: &mut Vec<u8>) {
        let is_last_leg = asked.command == Command::SessionSetup && answer.status == 0;
        let is_signed = is_last_leg || asked.flags & flags::SIGNED != 0;
        let has_keys = self.session_flags & 3 == 0;
        if sealed {
            let cipher = self.used_cipher().expect("a cipher");
            bytes.splice(..0, [0; TRANSFORM]);
            Sealer::new(cipher, &self.keys().server_to_client).seal(SESSION, bytes);
        } else if self.signs && is_signed && has_keys {
            Signer::new(self.used_signing(), &self.keys().signing).sign(bytes);
        }
    }

    fn keys(&self) -> Keys {
        let key: Vec<u8> = (1..=32).collect();
        Keys::derive(self.dialect(), self.used_cipher(), &key, &self.preauth)
    }

    fn dialect(&self) -> Dialect {
        Dialect::from_revision(self.revision).unwrap_or(Dialect::V202)
    }

    fn used_cipher(&self) -> Option<Cipher> {
        match self.dialect() {
            Dialect::V311 => self.cipher.and_then(Cipher::from_number),
            Dialect::V300 | Dialect::V302 => Some(Cipher::Aes128Ccm),
            _ => None,
        }
    }

    fn used_signing(&self) -> SigningAlgorithm {
        match self.dialect() {
            Dialect::V311 => self
                .signing
                .and_then(SigningAlgorithm::from_number)
                .unwrap_or(SigningAlgorithm::AesCmac),
            Dialect::V300 | Dialect::V302 => SigningAlgorithm::AesCmac,
            _ => SigningAlgorithm::HmacSha256,
        }
    }

    fn negotiate(&self, body: &mut Vec<u8>) {
        let mut contexts = vec![(1, vec![1, 0, 0, 0, self.hash as u8, 0])];
        contexts.extend(self.cipher.map(|c| (2, vec![1, 0, c as u8, 0])));
        contexts.extend(self.signing.map(|s| (8, vec![1, 0, s as u8, 0])));
        body.put_u16(65);
        body.put_u16(self.security_mode);
        body.put_u16(self.revision);
        body.put_u16(contexts.len() as u16);
        body.extend([3; 16]);
        body.put_u32(self.capabilities);
        self.limits.iter().for_each(|limit| body.put_u32(*limit));
        body.put_u64(0);
        body.put_u64(0);
        body.put_u16(128);
        body.put_u16(5);
        body.put_u32(136);
        body.extend(b"hello\0\0\0");
        for (kind, data) in contexts {
            body.resize(body.len().next_multiple_of(8), 0);
            body.put_u16(kind);
            body.put_u16(data.len() as u16);
            body.put_u32(0);
            body.extend(data);
        }
    }

    fn validate(&self, body: &mut Vec<u8>) {
        body.put_u16(49);
        body.put_u16(0);
        body.put_u32(0x0014_0204);
        body.extend([0xFF; 16]);
        body.put_u64(0);
        body.put_u32(112);
        body.put_u32(24);
        body.put_u64(0);
        body.put_u32(self.capabilities);
        body.extend([3; 16]);
        body.put_u16(self.security_mode);
        body.put_u16(self.validated_revision.unwrap_or(self.revision));
    }
}
