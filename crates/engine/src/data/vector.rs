//! Whole sectors, with the processor's wider registers where it has them (AVX2 takes half
//! the time of baseline x86-64). The only unsafe code of this module.
#![allow(unsafe_code)]

use super::check::SectorPart;
use super::compared::CheckOutcome;
use super::sector::{FileKey, Pool, SECTOR};

/// Writes consecutive sectors of a file, from sector `first` on.
#[inline]
pub(super) fn write(
    file: FileKey,
    pool: &Pool,
    first: u64,
    generation: u64,
    out: &mut [[u8; SECTOR]],
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only requirement of the function.
        return unsafe { write_avx2(file, pool, first, generation, out) };
    }
    write_any(file, pool, first, generation, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn write_avx2(file: FileKey, pool: &Pool, first: u64, generation: u64, out: &mut [[u8; SECTOR]]) {
    write_any(file, pool, first, generation, out);
}

#[inline(always)]
fn write_any(file: FileKey, pool: &Pool, first: u64, generation: u64, out: &mut [[u8; SECTOR]]) {
    for (number, out) in (first..).zip(out) {
        file.sector(pool, number).write(generation, out);
    }
}

/// Whether all bytes of a part of a sector are of one accepted generation.
#[inline]
pub(super) fn check_whole(
    part: &SectorPart<'_>,
    accepts: &mut impl FnMut(u64) -> bool,
) -> Option<CheckOutcome> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only requirement of the function.
        return unsafe { check_whole_avx2(part, accepts) };
    }
    part.check_whole(accepts)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn check_whole_avx2(
    part: &SectorPart<'_>,
    accepts: &mut impl FnMut(u64) -> bool,
) -> Option<CheckOutcome> {
    part.check_whole(accepts)
}

#[cfg(test)]
mod tests {
    use super::super::sector::RunKey;
    use super::*;

    #[test]
    fn wide_registers_make_the_same_sectors() {
        let (pool, file) = (Pool::new(1), RunKey::new(2).file(3));
        let (mut wide, mut any) = ([[0; SECTOR]; 9], [[1; SECTOR]; 9]);
        write(file, &pool, 5, 7, &mut wide);
        write_any(file, &pool, 5, 7, &mut any);
        assert_eq!(wide, any);
    }
}
