//! AES-128-CMAC (NIST SP 800-38B, RFC 4493).

use super::chain::{Aes, Block, xor, xor_start};
use aes::Aes128Enc;
use aes::cipher::KeyInit;

/// What a carry out of a block adds when it is doubled.
const CARRY: u128 = 0x87;

/// A key, and what the last block of a message is changed by.
#[derive(Clone)]
pub(super) struct Cmac {
    aes: Aes128Enc,
    /// For a last block of 16 bytes: K1 of RFC 4493.
    full: Block,
    /// For a shorter one: K2.
    short: Block,
}

impl Cmac {
    /// With this key.
    pub(super) fn new(key: &[u8; 16]) -> Self {
        let aes = Aes128Enc::new(key.into());
        let mut zero = [0; 16];
        aes.encipher(&mut zero);
        let full = doubled(zero);
        let short = doubled(full);
        Self { aes, full, short }
    }

    /// The tag of a message.
    pub(super) fn tag(&self, message: &[u8]) -> [u8; 16] {
        let last = match message.len() % 16 {
            0 => message.len().min(16),
            rest => rest,
        };
        let (blocks, last) = message.split_at(message.len() - last);
        let mut state = [0; 16];
        self.aes.absorb(&mut state, blocks);
        xor_start(&mut state, last);
        if last.len() == 16 {
            xor(&mut state, &self.full);
        } else {
            xor_start(&mut state[last.len()..], &[0x80]);
            xor(&mut state, &self.short);
        }
        self.aes.encipher(&mut state);
        state
    }
}

/// Twice a block in the field of CMAC (RFC 4493 section 2.3).
const fn doubled(block: Block) -> Block {
    let number = u128::from_be_bytes(block);
    let carry = CARRY * (number >> 127);
    ((number << 1) ^ carry).to_be_bytes()
}
