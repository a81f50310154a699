//! WRITE.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::{Outcome, pattern};

pub(in crate::validate) fn hole<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let data = pattern(100, 16);
    let file = b.file_with(b"file", &data)?;
    b.put(&file, V::Offset::from(100_000), &data)?;
    let size = b.facts(&file)?.size;
    b.equal("size", 100_100, size)?;
    b.begins_with(&file, &data)?;
    b.contains(&file, V::Offset::from(100), &vec![0; 99_900])?;
    b.contains(&file, V::Offset::from(100_000), &data)
}

pub(in crate::validate) fn overwrite<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let mut wanted = pattern(20_000, 14);
    let file = b.file_with(b"file", &wanted)?;
    for (offset, len) in [(0, 1), (4090, 20), (8191, 4097), (19_999, 1)] {
        let fresh = pattern(len, 15 + offset as u64);
        b.put(&file, V::Offset::from(offset as u32), &fresh)?;
        if let Some(range) = wanted.get_mut(offset..offset + len) {
            range.copy_from_slice(&fresh);
        }
    }
    b.begins_with(&file, &wanted)?;
    let size = b.facts(&file)?.size;
    b.equal("size", 20_000, size)
}
