//! The random streams of a run.
//!
//! One seed in the plan; every proc's stream derives from it. The generator is
//! xoshiro256++ (Blackman and Vigna, public domain), seeded by splitmix64, and
//! the draws that decide a workload are written out here, because a seed must
//! mean the same run for years whatever a library changes.

/// Mixes a 64-bit value well enough that neighbours share nothing (splitmix64's
/// finaliser): the pure function behind "the same for the same seed and index".
pub const fn mix64(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The value that [`mix64`] makes this of.
pub const fn unmix64(mixed: u64) -> u64 {
    let mut z = mixed ^ (mixed >> 31) ^ (mixed >> 62);
    z = z.wrapping_mul(0x3196_42b2_d24d_8ec3);
    z ^= (z >> 27) ^ (z >> 54);
    z = z.wrapping_mul(0x96de_1b17_3f11_9089);
    z ^= (z >> 30) ^ (z >> 60);
    z.wrapping_sub(0x9e37_79b9_7f4a_7c15)
}

/// A number from a seed and up to two indices; pure.
pub const fn hash3(seed: u64, a: u64, b: u64) -> u64 {
    mix64(mix64(mix64(seed) ^ a).wrapping_add(b))
}

/// Turns 64 random bits into a number in [0, 1).
pub const fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream number `stream` of the run with this `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let base = hash3(seed, stream, 0x66_69_6c_65);
        let state = std::array::from_fn(|i| mix64(base.wrapping_add(i as u64)));
        Self { state }
    }

    /// The next 64 bits (xoshiro256++).
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit_interval(self.next_u64())
    }

    /// Uniform in 0..n (Lemire's multiply, without the rejection step: the bias
    /// is below n / 2^64). Zero for `n` = 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True in `percent` of 100 draws.
    #[inline]
    pub fn percent(&mut self, percent: f64) -> bool {
        self.unit() * 100.0 < percent
    }

    /// Exponential with mean 1: the gaps of a Poisson process.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_seed_and_number() {
        let draw = |seed, stream| Rng::new(seed, stream).next_u64();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
        // The value is part of the promise: a change here changes every run.
        assert_eq!(mix64(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn unmixing_inverts_mixing() {
        let mut rng = Rng::new(1, 1);
        for value in (0..1_000).map(|_| rng.next_u64()).chain([0, 1, u64::MAX]) {
            assert_eq!(unmix64(mix64(value)), value);
            assert_eq!(mix64(unmix64(value)), value);
        }
    }

    #[test]
    fn draws_are_in_range_and_centred() {
        let mut rng = Rng::new(7, 0);
        let n = 100_000;
        let mean_below = (0..n).map(|_| rng.below(10) as f64).sum::<f64>() / f64::from(n);
        let mean_exp = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean_below - 4.5).abs() < 0.05, "{mean_below}");
        assert!((mean_exp - 1.0).abs() < 0.02, "{mean_exp}");
        assert_eq!(rng.below(0), 0);
    }
}
