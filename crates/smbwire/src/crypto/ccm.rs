//! AES-CCM as SMB uses it: nonces of 11 bytes, tags of 16 (NIST SP 800-38C, RFC 3610,
//! MS-SMB2 3.1.4.3).

use super::chain::{Aes, Block, encipher, xor, xor_start};
use super::same;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockSizeUser};

/// Flags of the first block: associated data, a tag of 16 bytes, lengths of 4 bytes.
const FIRST: u8 = 0x40 | ((16 - 2) / 2) << 3 | COUNTER;
/// Flags of a counter: 4 bytes of it.
const COUNTER: u8 = 4 - 1;
/// Associated data from this length on has a length field of another form.
const ASSOCIATED_END: usize = 0xff00;

/// A key of any length.
#[derive(Clone)]
pub(super) struct Ccm<C>(C);

impl<C: Aes> Ccm<C> {
    /// With this key.
    pub(super) const fn new(aes: C) -> Self {
        Self(aes)
    }

    /// Encrypts a message in place and gives its tag; `None`, and nothing is changed, if the
    /// message has 4 GiB or the associated data 65,280 bytes or more, or none.
    pub(super) fn seal(
        &self,
        nonce: &[u8; 11],
        associated: &[u8],
        message: &mut [u8],
    ) -> Option<[u8; 16]> {
        self.run::<true>(nonce, associated, message)
    }

    /// Decrypts a message in place. If its tag is wrong, the message is zeros.
    pub(super) fn open(
        &self,
        nonce: &[u8; 11],
        associated: &[u8],
        tag: &[u8; 16],
        message: &mut [u8],
    ) -> bool {
        let ours = self.run::<false>(nonce, associated, message);
        let right = ours.is_some_and(|ours| same(&ours, tag));
        if !right {
            message.fill(0);
        }
        right
    }

    fn run<const SEAL: bool>(
        &self,
        nonce: &[u8; 11],
        associated: &[u8],
        message: &mut [u8],
    ) -> Option<[u8; 16]> {
        let length = u32::try_from(message.len()).ok()?;
        let mut state = block(FIRST, nonce, length);
        self.0.encipher(&mut state);
        self.associate(&mut state, associated)?;
        let (blocks, rest) = message.as_chunks_mut();
        let next = 1 + blocks.len() as u32;
        self.0.encrypt_with_backend(Crypt::<SEAL> {
            nonce,
            state: &mut state,
            blocks,
        });
        if !rest.is_empty() {
            let mut stream = block(COUNTER, nonce, next);
            self.0.encipher(&mut stream);
            if SEAL {
                xor_start(&mut state, rest);
            }
            xor_start(rest, &stream);
            if !SEAL {
                xor_start(&mut state, rest);
            }
            self.0.encipher(&mut state);
        }
        let mut tag = block(COUNTER, nonce, 0);
        self.0.encipher(&mut tag);
        xor(&mut tag, &state);
        Some(tag)
    }

    /// Takes in the associated data, with its length before it.
    fn associate(&self, state: &mut Block, associated: &[u8]) -> Option<()> {
        let length = Some(associated.len()).filter(|l| (1..ASSOCIATED_END).contains(l))?;
        xor_start(state, &(length as u16).to_be_bytes());
        let (start, rest) = associated.split_at(length.min(14));
        xor_start(&mut state[2..], start);
        self.0.encipher(state);
        self.0.absorb(state, rest);
        Some(())
    }
}

/// Flags, nonce, and a length or a counter.
#[inline(always)]
fn block(flags: u8, nonce: &[u8; 11], number: u32) -> Block {
    let mut block = [flags; 16];
    block[1..12].copy_from_slice(nonce);
    block[12..].copy_from_slice(&number.to_be_bytes());
    block
}

/// Whole blocks of a message, counted from 1.
struct Crypt<'a, const SEAL: bool> {
    nonce: &'a [u8; 11],
    state: &'a mut Block,
    blocks: &'a mut [Block],
}

impl<const SEAL: bool> BlockSizeUser for Crypt<'_, SEAL> {
    type BlockSize = U16;
}

impl<const SEAL: bool> BlockCipherEncClosure for Crypt<'_, SEAL> {
    /// Block by block: the processor enciphers later counters while the chain waits. Several
    /// counters at once, which the backend offers, are slower: the chain stands still then.
    #[inline(always)] // Into the function of the backend that has AES's instructions.
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, aes: &B) {
        let mut state = *self.state;
        for (number, place) in (1..).zip(self.blocks) {
            let mut stream = block(COUNTER, self.nonce, number);
            encipher(aes, &mut stream);
            xor(&mut stream, place);
            // Of what was and what becomes of the block, the one that is not encrypted.
            xor(&mut state, if SEAL { place } else { &stream });
            *place = stream;
            encipher(aes, &mut state);
        }
        *self.state = state;
    }
}
