//! Buffers on loan.

/// Lends buffers to connections that need one between turns of the loop, and
/// keeps a bounded amount of memory for the next time.
#[derive(Debug)]
pub struct BufferPool {
    free: Vec<Vec<u8>>,
    kept_bytes: usize,
    kept_bytes_max: usize,
}

impl BufferPool {
    /// A pool that keeps `kept_bytes_max` bytes of unused buffers at most; what is
    /// above goes back to the system.
    pub fn new(kept_bytes_max: usize) -> Self {
        Self {
            free: Vec::with_capacity(64),
            kept_bytes: 0,
            kept_bytes_max,
        }
    }

    /// An empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        let buffer = self.free.pop().unwrap_or_default();
        self.kept_bytes -= buffer.capacity();
        buffer
    }

    /// Gives a buffer back and leaves an empty one in its place.
    pub fn give_back(&mut self, buffer: &mut Vec<u8>) {
        let mut buffer = std::mem::take(buffer);
        let size = buffer.capacity();
        if size == 0 || self.kept_bytes + size > self.kept_bytes_max {
            return;
        }
        buffer.clear();
        self.kept_bytes += size;
        self.free.push(buffer);
    }

    /// Bytes of unused buffers.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_empty_and_within_the_bound() {
        let mut pool = BufferPool::new(100);
        let mut a = Vec::with_capacity(60);
        a.push(1);
        let mut b = Vec::with_capacity(60);
        b.push(2);
        pool.give_back(&mut a);
        pool.give_back(&mut b);
        assert_eq!((a.capacity(), b.capacity()), (0, 0));
        assert_eq!(pool.kept_bytes(), 60);
        let again = pool.take();
        assert!(again.is_empty() && again.capacity() == 60);
        assert_eq!(pool.kept_bytes(), 0);
        assert_eq!(pool.take().capacity(), 0);
    }
}
