//! READ.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::{Outcome, pattern};

pub(in crate::validate) fn back<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let data = pattern(70_001, 3);
    let file = b.file_with(b"file", &data)?;
    for (offset, len) in [
        (0, 1),
        (1, 2),
        (511, 514),
        (4095, 4098),
        (8191, 33_333),
        (65_535, 4466),
        (0, 70_001),
    ] {
        let wanted = data.get(offset..offset + len).unwrap_or_default();
        b.contains(&file, V::Offset::from(offset as u32), wanted)?;
    }
    Ok(())
}
