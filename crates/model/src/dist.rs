//! Discrete size distributions: file sizes and transfer sizes.

use crate::rng::{Rng, hash3, unit_interval};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Standard deviation of normally distributed file sizes, as a share of the mean `[own]`.
const SIGMA: f64 = 0.25;
/// Farther from the mean than this many deviations no size lies.
const SIGMAS_MAX: f64 = 3.0;

/// How far a normally distributed file size lies from its mean, by a random number.
pub fn normal_offset(mean_bytes: u64, hash: u64) -> i64 {
    let sigmas = normal(hash).clamp(-SIGMAS_MAX, SIGMAS_MAX);
    (sigmas * SIGMA * mean_bytes as f64) as i64
}

/// A normally distributed figure out of a hash (Box and Muller).
fn normal(hash: u64) -> f64 {
    let u = unit_interval(hash).max(1e-12);
    let v = unit_interval(hash3(hash, 1, 2));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// One row: a size and how many percent of the draws have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    /// The size in binary kilobytes; fractions are allowed.
    pub kib: f64,
    /// Its share in percent.
    pub percent: f64,
}

impl SizeShare {
    /// The size in whole bytes.
    pub fn bytes(self) -> u64 {
        (self.kib * 1024.0).round() as u64
    }
}

/// A table of sizes and percentages that add up to 100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<SizeShare>", into = "Vec<SizeShare>")]
pub struct SizeDistribution {
    rows: Vec<SizeShare>,
}

/// Why a table is no distribution.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum DistError {
    /// The percentages do not add up.
    #[error("the size distribution adds up to {0} percent, not 100")]
    Sum(f64),
    /// A size or share makes no sense, or the sizes do not rise.
    #[error("row {0} of the size distribution: sizes must rise from above 0, shares lie in 0..100")]
    Row(usize),
}

impl SizeDistribution {
    /// Checks the rows: sizes rising, shares adding up to 100 within 0.001.
    ///
    /// # Errors
    /// The first row that is wrong, or the sum.
    pub fn new(rows: Vec<SizeShare>) -> Result<Self, DistError> {
        let mut last_kib = 0.0;
        for (i, row) in rows.iter().enumerate() {
            let size_ok = row.kib > last_kib && row.kib <= (1u64 << 40) as f64;
            if !size_ok || !(0.0..=100.0).contains(&row.percent) {
                return Err(DistError::Row(i + 1));
            }
            last_kib = row.kib;
        }
        let sum: f64 = rows.iter().map(|r| r.percent).sum();
        if (sum - 100.0).abs() > 1e-3 {
            return Err(DistError::Sum(sum));
        }
        Ok(Self { rows })
    }

    /// One size for all; at least 1 byte.
    pub fn fixed(bytes: u64) -> Self {
        let row = SizeShare {
            kib: bytes.max(1) as f64 / 1024.0,
            percent: 100.0,
        };
        Self { rows: vec![row] }
    }

    /// The rows, sizes rising.
    pub fn rows(&self) -> &[SizeShare] {
        &self.rows
    }

    /// The size at a quantile `u` in [0, 1).
    pub fn quantile(&self, u: f64) -> Bytes {
        let mut upper = 0.0;
        for row in &self.rows {
            upper += row.percent / 100.0;
            if u < upper {
                return Bytes(row.bytes());
            }
        }
        self.max()
    }

    /// One draw.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Bytes {
        self.quantile(rng.unit())
    }

    /// The expected size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.rows
            .iter()
            .map(|r| r.bytes() as f64 * r.percent / 100.0)
            .sum()
    }

    /// The largest size.
    pub fn max(&self) -> Bytes {
        Bytes(self.rows.last().map_or(0, |r| r.bytes()))
    }

    /// How many physical transfers of at most `block` bytes one draw takes, on average.
    pub fn mean_transfers(&self, block: Bytes) -> f64 {
        let block = block.0.max(1);
        self.rows
            .iter()
            .map(|r| r.bytes().div_ceil(block) as f64 * r.percent / 100.0)
            .sum()
    }
}

impl TryFrom<Vec<SizeShare>> for SizeDistribution {
    type Error = DistError;
    fn try_from(rows: Vec<SizeShare>) -> Result<Self, DistError> {
        Self::new(rows)
    }
}

impl From<SizeDistribution> for Vec<SizeShare> {
    fn from(dist: SizeDistribution) -> Self {
        dist.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(f64, f64)]) -> Result<SizeDistribution, DistError> {
        SizeDistribution::new(
            rows.iter()
                .map(|&(kib, percent)| SizeShare { kib, percent })
                .collect(),
        )
    }

    #[test]
    fn mean_quantiles_and_transfers() {
        let d = table(&[(1.0, 50.0), (64.0, 40.0), (256.0, 10.0)]).unwrap();
        assert_eq!(d.mean_bytes(), 1024.0 * (0.5 + 25.6 + 25.6));
        assert_eq!(d.quantile(0.0), Bytes::from_kib(1));
        assert_eq!(d.quantile(0.5), Bytes::from_kib(64));
        assert_eq!(d.quantile(0.9999), Bytes::from_kib(256));
        assert!((d.mean_transfers(Bytes::from_kib(64)) - 1.3).abs() < 1e-9);
    }

    #[test]
    fn bad_tables_are_refused() {
        assert_eq!(table(&[(1.0, 99.0)]), Err(DistError::Sum(99.0)));
        assert_eq!(table(&[(2.0, 50.0), (1.0, 50.0)]), Err(DistError::Row(2)));
        assert_eq!(table(&[(f64::NAN, 100.0)]), Err(DistError::Row(1)));
    }
}
