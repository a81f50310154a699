//! The file handles of a proc, in compact form: there can be millions.

use filermark_engine::driver::ObjectId;
use filermark_onc::nfs4::{FHSIZE4, FileHandle4};

/// Handles by object number.
///
/// All are in one block of memory. Its stride is that of the longest handle, so that a file
/// takes its handle and one byte for the length.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    stride: usize,
    /// Per object: length + 1 (0: none), then `stride` bytes.
    slots: Vec<u8>,
}

impl Handles {
    /// The handle of an object.
    #[inline]
    pub(crate) fn get(&self, object: ObjectId) -> Option<FileHandle4<'_>> {
        let slot = self.slot_bytes();
        let start = (object.0 as usize).checked_mul(slot)?;
        let (len, bytes) = self.slots.get(start..start + slot)?.split_first()?;
        let len = usize::from(*len).checked_sub(1)?;
        FileHandle4::new(bytes.get(..len)?)
    }

    /// Sets the handle of an object.
    pub(crate) fn set(&mut self, object: ObjectId, handle: &[u8]) {
        let handle = &handle[..handle.len().min(FHSIZE4)];
        if handle.len() > self.stride {
            self.widen(handle.len());
        }
        let slot = self.slot_bytes();
        let start = object.0 as usize * slot;
        if self.slots.len() < start + slot {
            self.grow(start + slot);
        }
        let place = &mut self.slots[start..start + slot];
        place[0] = handle.len() as u8 + 1;
        place[1..=handle.len()].copy_from_slice(handle);
    }

    /// Removes the handle of an object.
    pub(crate) fn clear(&mut self, object: ObjectId) {
        let start = object.0 as usize * self.slot_bytes();
        if let Some(len) = self.slots.get_mut(start) {
            *len = 0;
        }
    }

    /// Removes all handles from this object on and frees their memory.
    pub(crate) fn forget(&mut self, from: ObjectId) {
        self.slots.truncate(from.0 as usize * self.slot_bytes());
        self.slots.shrink_to_fit();
    }

    /// Bytes of memory in use.
    #[cfg(test)]
    fn memory_bytes(&self) -> usize {
        self.slots.capacity()
    }

    fn slot_bytes(&self) -> usize {
        self.stride + 1
    }

    /// Grows in small steps: doubling could waste half of the memory, and the kernel moves
    /// large blocks without a copy.
    fn grow(&mut self, len: usize) {
        let capacity = self.slots.capacity();
        if len > capacity {
            let wanted = len.max(capacity + capacity / 32);
            self.slots.reserve_exact(wanted - self.slots.len());
        }
        self.slots.resize(len, 0);
    }

    fn widen(&mut self, stride: usize) {
        let (old, new) = (self.slot_bytes(), stride + 1);
        let count = self.slots.len() / old;
        let mut slots = vec![0; count * new];
        for (from, to) in self
            .slots
            .chunks_exact(old)
            .zip(slots.chunks_exact_mut(new))
        {
            to[..old].copy_from_slice(from);
        }
        self.slots = slots;
        self.stride = stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(handles: &Handles, object: u32) -> Option<&[u8]> {
        handles.get(ObjectId(object)).map(|h| h.as_bytes())
    }

    #[test]
    fn handles_of_any_length_are_kept() {
        let mut handles = Handles::default();
        assert_eq!(get(&handles, 0), None);
        assert_eq!(get(&handles, u32::MAX), None);
        handles.set(ObjectId(2), b"");
        assert_eq!(get(&handles, 2), Some(&b""[..]));
        assert_eq!(get(&handles, 1), None);
        handles.set(ObjectId(0), b"dir");
        handles.set(ObjectId(5), &[7; 64]);
        handles.set(ObjectId(3), &[8; 28]);
        handles.set(ObjectId(5), &[9; 63]);
        assert_eq!(get(&handles, 0), Some(&b"dir"[..]));
        assert_eq!(get(&handles, 2), Some(&b""[..]));
        assert_eq!(get(&handles, 3), Some(&[8; 28][..]));
        assert_eq!(get(&handles, 4), None);
        assert_eq!(get(&handles, 5), Some(&[9; 63][..]));
        handles.clear(ObjectId(5));
        assert_eq!(get(&handles, 5), None);
        handles.set(ObjectId(5), &[1]);
        handles.forget(ObjectId(3));
        assert_eq!(get(&handles, 3), None);
        assert_eq!(get(&handles, 5), None);
        assert_eq!(get(&handles, 2), Some(&b""[..]));
    }

    #[test]
    fn a_file_takes_little_more_memory_than_its_handle() {
        let mut handles = Handles::default();
        for n in 0..100_000 {
            handles.set(ObjectId(n), &[1; 36]);
        }
        let per_file = handles.memory_bytes() as f64 / 100_000.0;
        assert!(per_file < 37.0 * 1.04, "{per_file} bytes per file");
    }
}
