//! The keys of a session, made of the key that the login gave (MS-SMB2 3.1.4.2,
//! SP800-108 in counter mode with HMAC-SHA256).

use super::{Cipher, Preauth};
use filermark_model::smb::Dialect;
use ring::hmac;

/// The keys of one session. They never leave the memory of the process.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Of signatures.
    pub signing: [u8; 16],
    /// Of what the client encrypts; the first [`Cipher::key_len`] bytes count.
    pub client_to_server: [u8; 32],
    /// Of what the server encrypts.
    pub server_to_client: [u8; 32],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// Label and context of a key; labels and fixed contexts end with a zero.
struct Purpose<'a> {
    label: &'a [u8],
    context: &'a [u8],
}

impl Keys {
    /// Derives them from the key of the login. Up to 2.1 that key itself signs, and nothing
    /// is encrypted; `preauth` counts for 3.1.1 only.
    pub fn derive(
        dialect: Dialect,
        cipher: Option<Cipher>,
        full: &[u8],
        preauth: &Preauth,
    ) -> Self {
        let short = session_key(full);
        if dialect < Dialect::V300 {
            return Self {
                signing: short,
                client_to_server: [0; 32],
                server_to_client: [0; 32],
            };
        }
        let length = cipher.map_or(16, Cipher::key_len);
        // Longer keys are made of all that the login gave.
        let from = if length == 32 { full } else { &short };
        let [signing, c2s, s2c] = purposes(dialect, preauth);
        let mut keys = Self {
            signing: [0; 16],
            client_to_server: [0; 32],
            server_to_client: [0; 32],
        };
        keys.signing
            .copy_from_slice(&kdf(&short, &signing, 16)[..16]);
        keys.client_to_server = kdf(from, &c2s, length);
        keys.server_to_client = kdf(from, &s2c, length);
        keys
    }
}

/// The first 16 bytes, with zeros where there are fewer (MS-SMB2 3.2.5.3).
fn session_key(full: &[u8]) -> [u8; 16] {
    let mut key = [0; 16];
    for (to, from) in key.iter_mut().zip(full) {
        *to = *from;
    }
    key
}

fn purposes(dialect: Dialect, preauth: &Preauth) -> [Purpose<'_>; 3] {
    if dialect < Dialect::V311 {
        return [
            (&b"SMB2AESCMAC\0"[..], &b"SmbSign\0"[..]),
            (b"SMB2AESCCM\0", b"ServerIn \0"),
            (b"SMB2AESCCM\0", b"ServerOut\0"),
        ]
        .map(|(label, context)| Purpose { label, context });
    }
    let context = preauth.value();
    [
        &b"SMBSigningKey\0"[..],
        b"SMBC2SCipherKey\0",
        b"SMBS2CCipherKey\0",
    ]
    .map(|label| Purpose { label, context })
}

/// `length` bytes (at most 32: one round of the counter), and zeros behind them.
fn kdf(key: &[u8], purpose: &Purpose<'_>, length: usize) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut mac = hmac::Context::with_key(&key);
    let bits = (length as u32) * 8;
    let parts: [&[u8]; 5] = [
        &1_u32.to_be_bytes(),
        purpose.label,
        &[0],
        purpose.context,
        &bits.to_be_bytes(),
    ];
    for part in parts {
        mac.update(part);
    }
    let mut out = [0; 32];
    for (to, from) in out.iter_mut().zip(mac.sign().as_ref()).take(length) {
        *to = *from;
    }
    out
}
