//! The chain of AES blocks that CMAC and CCM share (CBC-MAC, NIST SP 800-38B and 800-38C).
//!
//! Each block waits for the one before it, so the latency of AES is the limit: 40 cycles for 16
//! bytes with a key of 128 bits. The crates `cmac` and `ccm` need about twice that: they keep
//! the state in memory, and `ccm` enciphers the counters in a pass of its own. Here the state
//! stays in a register, and the counters are enciphered in the time in which the chain waits.

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser,
};

/// 16 bytes.
pub(super) type Block = [u8; 16];

/// AES with a key of any length, for encryption.
pub(super) trait Aes: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> {
    /// Enciphers one block.
    fn encipher(&self, block: &mut Block) {
        self.encrypt_block(block.into());
    }

    /// Takes in data; the last block is filled up with zeros.
    fn absorb(&self, state: &mut Block, data: &[u8]) {
        let (blocks, rest) = data.as_chunks();
        self.encrypt_with_backend(Absorb { state, blocks });
        if !rest.is_empty() {
            xor_start(state, rest);
            self.encipher(state);
        }
    }
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Aes for C {}

/// `a` becomes the exclusive or of both.
#[inline(always)]
pub(super) fn xor(a: &mut Block, b: &Block) {
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= b;
    }
}

/// Enciphers one block, in a closure that has chosen AES's instructions.
#[inline(always)]
pub(super) fn encipher<B: BlockCipherEncBackend<BlockSize = U16>>(aes: &B, block: &mut Block) {
    let block: &mut Array<u8, U16> = block.into();
    aes.encrypt_block(block.into());
}

/// As [`xor`], where `b` may be shorter.
pub(super) fn xor_start(a: &mut [u8], b: &[u8]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= b;
    }
}

struct Absorb<'a> {
    state: &'a mut Block,
    blocks: &'a [Block],
}

impl BlockSizeUser for Absorb<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Absorb<'_> {
    #[inline(always)] // Into the function of the backend that has AES's instructions.
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, aes: &B) {
        let mut state = *self.state;
        for block in self.blocks {
            xor(&mut state, block);
            encipher(aes, &mut state);
        }
        *self.state = state;
    }
}
