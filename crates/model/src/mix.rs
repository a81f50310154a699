//! The operation mix: how many percent of the logical operations are which.

use crate::op::Op;
use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// Percentages per operation. Zero entries are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "std::collections::BTreeMap<Op, f64>")]
#[serde(into = "std::collections::BTreeMap<Op, f64>")]
pub struct Mix {
    shares: Vec<(Op, f64)>,
}

/// Why a table of percentages is no mix.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum MixError {
    /// The percentages do not add up.
    #[error("the operation mix adds up to {0} percent, not 100")]
    Sum(f64),
    /// One of them is not a percentage.
    #[error("{0}: {1} is not a percentage between 0 and 100")]
    Share(Op, f64),
}

impl Mix {
    /// Checks and orders the shares.
    ///
    /// # Errors
    /// A share outside 0 to 100, or a sum that is not 100 within 0.001.
    pub fn new(shares: impl IntoIterator<Item = (Op, f64)>) -> Result<Self, MixError> {
        let mut shares: Vec<_> = shares.into_iter().filter(|(_, p)| *p != 0.0).collect();
        shares.sort_by_key(|(op, _)| *op);
        if let Some((op, p)) = shares.iter().find(|(_, p)| !(0.0..=100.0).contains(p)) {
            return Err(MixError::Share(*op, *p));
        }
        let sum: f64 = shares.iter().map(|(_, p)| p).sum();
        if (sum - 100.0).abs() > 1e-3 {
            return Err(MixError::Sum(sum));
        }
        Ok(Self { shares })
    }

    /// No operation at all.
    pub const fn none() -> Self {
        Self { shares: Vec::new() }
    }

    /// The operations with their percentages, in table order.
    pub fn shares(&self) -> &[(Op, f64)] {
        &self.shares
    }

    /// The percentage of one operation.
    pub fn percent(&self, op: Op) -> f64 {
        self.shares
            .iter()
            .find(|(o, _)| *o == op)
            .map_or(0.0, |(_, p)| *p)
    }

    /// A sampler for the hot path.
    pub fn sampler(&self) -> MixSampler {
        let mut upper = 0.0;
        let bounds = self
            .shares
            .iter()
            .map(|(op, p)| {
                upper += p / 100.0;
                ((upper * (1u64 << 32) as f64).round() as u64, *op)
            })
            .collect::<Vec<_>>();
        MixSampler { bounds }
    }
}

impl TryFrom<std::collections::BTreeMap<Op, f64>> for Mix {
    type Error = MixError;
    fn try_from(map: std::collections::BTreeMap<Op, f64>) -> Result<Self, MixError> {
        Self::new(map)
    }
}

impl From<Mix> for std::collections::BTreeMap<Op, f64> {
    fn from(mix: Mix) -> Self {
        mix.shares.into_iter().collect()
    }
}

/// Draws operations by their shares; no allocation, a handful of compares.
#[derive(Clone, Debug)]
pub struct MixSampler {
    bounds: Vec<(u64, Op)>,
}

impl MixSampler {
    /// One draw.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Op {
        self.at(rng.next_u64() >> 32)
    }

    /// The operation at a place of the whole, from 0 to below 2^32.
    #[inline]
    pub fn at(&self, at: u64) -> Op {
        for (bound, op) in &self.bounds {
            if at < *bound {
                return *op;
            }
        }
        self.bounds.last().map_or(Op::Null, |(_, op)| *op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_must_add_up() {
        assert_eq!(
            Mix::new([(Op::Read, 60.0), (Op::Write, 39.0)]),
            Err(MixError::Sum(99.0))
        );
        assert!(matches!(
            Mix::new([(Op::Read, 120.0), (Op::Write, -20.0)]),
            Err(MixError::Share(Op::Read, _))
        ));
    }

    #[test]
    fn draws_follow_the_shares() {
        let mix = Mix::new([(Op::Read, 18.0), (Op::Getattr, 81.0), (Op::Fsstat, 1.0)]).unwrap();
        let sampler = mix.sampler();
        let mut rng = Rng::new(3, 3);
        let mut counts = [0u32; Op::COUNT];
        for _ in 0..100_000 {
            counts[sampler.draw(&mut rng).index()] += 1;
        }
        for (op, percent) in mix.shares() {
            let got = f64::from(counts[op.index()]) / 1000.0;
            assert!((got - percent).abs() < 0.5, "{op}: {got} for {percent}");
        }
    }
}
