//! The buffers of a shard: whole pages, as transfers past the cache want them.

/// What it is aligned to, in bytes; no file system asks for more.
pub(crate) const ALIGN: usize = 4096;

/// Grows to the largest transfer, and stays.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// `len` bytes from an aligned address; what they hold is left over from the
    /// last time.
    pub(crate) fn get(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() < len + ALIGN {
            // Zeroed by the system page by page, when they are first used.
            self.bytes = vec![0; len + ALIGN];
        }
        let from = self.bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        &mut self.bytes[from..from + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_keeps_what_it_held() {
        let mut buffer = Buffer::default();
        for len in [1, 10_000, 5, 1 << 20] {
            let bytes = buffer.get(len);
            assert_eq!(bytes.len(), len);
            assert_eq!(bytes.as_ptr() as usize % ALIGN, 0);
        }
        buffer.get(100).fill(7);
        assert!(buffer.get(50).iter().all(|b| *b == 7));
    }
}
