//! Hashes, keys and signatures of NTLMv2 (MS-NLMP 3.3.2, 3.4.4, 3.4.5).

use crate::bytes::Put;
use hmac::digest::KeyInit as _;
use hmac::{Hmac, Mac};
use md4::Md4;
use md5::{Digest, Md5};
use rc4::{Rc4, StreamCipher};
use zeroize::Zeroizing;

/// A key, and nearly everything else here.
pub type Key = [u8; 16];

/// HMAC-MD5 over pieces.
pub fn hmac_md5(key: &[u8], pieces: &[&[u8]]) -> Key {
    // HMAC takes keys of any length; the other arm is never reached.
    let Ok(mut mac) = Hmac::<Md5>::new_from_slice(key) else {
        return Key::default();
    };
    for piece in pieces {
        mac.update(piece);
    }
    mac.finalize().into_bytes().into()
}

fn md5(pieces: &[&[u8]]) -> Key {
    let mut hash = Md5::new();
    for piece in pieces {
        hash.update(piece);
    }
    hash.finalize().into()
}

/// RC4 with a key of 16 bytes.
pub(super) fn rc4(key: &Key, data: &mut [u8]) {
    // The length is one that RC4 takes.
    if let Ok(mut cipher) = <Rc4 as rc4::KeyInit>::new_from_slice(key) {
        cipher.apply_keystream(data);
    }
}

/// NTOWFv2: what the server knows of the password, bound to user and domain.
pub fn ntowf_v2(password: &str, user: &str, domain: &str) -> Zeroizing<Key> {
    // Capacity for all of it: a buffer that grows leaves copies in memory.
    let mut text = Zeroizing::new(Vec::with_capacity(password.len() * 2));
    text.put_utf16(password);
    let nt: Zeroizing<Key> = Zeroizing::new(Md4::digest(&*text).into());
    let mut names = Vec::new();
    for c in user.chars() {
        names.put_utf16(upper(c).encode_utf8(&mut [0; 4]));
    }
    names.put_utf16(domain);
    Zeroizing::new(hmac_md5(&*nt, &[&names]))
}

/// Windows' capitals are one for one: `ß` stays what it is.
fn upper(c: char) -> char {
    let mut capitals = c.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// The answers to a challenge.
pub struct Answers {
    /// NtChallengeResponse.
    pub nt: Vec<u8>,
    /// LmChallengeResponse.
    pub lm: [u8; 24],
    /// SessionBaseKey, which NTLMv2 takes as KeyExchangeKey.
    pub base_key: Key,
}

/// NTLMv2_RESPONSE and LMv2_RESPONSE (3.3.2).
pub fn answers(ntowf: &Key, server: &[u8; 8], client: &[u8; 8], time: u64, av: &[u8]) -> Answers {
    let mut temp = vec![1, 1, 0, 0, 0, 0, 0, 0];
    temp.put_u64(time);
    temp.extend_from_slice(client);
    temp.put_u32(0);
    temp.extend_from_slice(av);
    temp.put_u32(0);
    let proof = hmac_md5(ntowf, &[server, &temp]);
    let mut lm = [0; 24];
    let lm_proof = hmac_md5(ntowf, &[server, client]);
    for (to, from) in lm.iter_mut().zip(lm_proof.iter().chain(client)) {
        *to = *from;
    }
    let mut nt = proof.to_vec();
    nt.extend_from_slice(&temp);
    Answers {
        nt,
        lm,
        base_key: hmac_md5(ntowf, &[&proof]),
    }
}

/// A random session key as it goes over the wire.
pub fn exchanged(base_key: &Key, exported: &Key) -> Key {
    let mut key = *exported;
    rc4(base_key, &mut key);
    key
}

/// Who signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// We.
    Client,
    /// They.
    Server,
}

/// Signs a message that is the first one of its side (3.4.4.2); `exchange`: with a key
/// of its own that was exchanged.
pub fn sign_first(exported: &Key, side: Side, exchange: bool, data: &[u8]) -> [u8; 16] {
    let (sign, seal): (&[u8], &[u8]) = match side {
        Side::Client => (
            b"session key to client-to-server signing key magic constant\0",
            b"session key to client-to-server sealing key magic constant\0",
        ),
        Side::Server => (
            b"session key to server-to-client signing key magic constant\0",
            b"session key to server-to-client sealing key magic constant\0",
        ),
    };
    let sign = md5(&[exported, sign]);
    let seal = md5(&[exported, seal]);
    let mac = hmac_md5(&sign, &[&[0; 4], data]);
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&mac[..8]);
    if exchange {
        rc4(&seal, &mut checksum);
    }
    let mut signature = [0; 16];
    signature[0] = 1;
    signature[4..12].copy_from_slice(&checksum);
    signature
}
