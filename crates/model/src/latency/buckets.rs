//! The buckets of the histogram: which latencies each of them counts. This is the arithmetic of
//! HdrHistogram for 1 ns to [`LATENCY_NS_MAX`] with three digits.

/// Longest latency that the histogram resolves, in nanoseconds; longer ones count as this.
pub const LATENCY_NS_MAX: u64 = 1_000_000_000_000;
/// Significant decimal digits of the histogram.
pub(super) const DIGITS: u8 = 3;
/// Buckets of the histogram.
pub(super) const BUCKET_COUNT: u32 = 31 * HALF;
/// Latencies below twice as many ns have a bucket each; from there on, each doubling has as many
/// buckets.
const HALF: u32 = 1 << HALF_BITS;
const HALF_BITS: u32 = 10;

/// The bucket of a latency; the last one for longer ones.
pub(super) fn bucket_of(ns: u64) -> u32 {
    let doublings = doublings(ns);
    let within = (ns >> doublings) as u32;
    let bucket = (doublings << HALF_BITS) + within;
    bucket.min(BUCKET_COUNT - 1)
}

/// The latency as which one is counted: the library counts one beyond all buckets as
/// [`LATENCY_NS_MAX`], which is in an earlier bucket than the last.
pub(super) const fn counted_ns(ns: u64) -> u64 {
    match ns > highest_ns(BUCKET_COUNT - 1) {
        true => LATENCY_NS_MAX,
        false => ns,
    }
}

/// The shortest latency of a bucket, in nanoseconds.
pub(super) const fn lowest_ns(bucket: u32) -> u64 {
    let doublings = bucket_doublings(bucket);
    ((bucket - (doublings << HALF_BITS)) as u64) << doublings
}

/// The longest latency of a bucket, in nanoseconds.
pub(super) const fn highest_ns(bucket: u32) -> u64 {
    lowest_ns(bucket) + (1 << bucket_doublings(bucket)) - 1
}

/// The shortest latency that is counted as this one.
pub(super) fn lowest_equivalent_ns(ns: u64) -> u64 {
    let doublings = doublings(ns);
    ns >> doublings << doublings
}

/// By how many bits the resolution of a latency is below 1 ns.
const fn doublings(ns: u64) -> u32 {
    (u64::BITS - HALF_BITS - 1) - (ns | (2 * HALF as u64 - 1)).leading_zeros()
}

const fn bucket_doublings(bucket: u32) -> u32 {
    (bucket >> HALF_BITS).saturating_sub(1)
}
