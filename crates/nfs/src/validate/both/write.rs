//! WRITE.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::Outcome;
use filermark_driver_kit::checks::pattern;

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
