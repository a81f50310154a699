//! Sizes of the files of a tree: a pure function of seed, bucket and number.

use filermark_model::bucket::Buckets;
use filermark_model::composite::Component;
use filermark_model::dist::normal_offset;
use filermark_model::rng::{hash3, unit_interval};
use filermark_model::{Bucket, SizeDistribution};

/// The golden ratio's fraction: spreads quantiles evenly over consecutive files.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The sizes of one tree.
#[derive(Clone, Debug)]
pub struct FileSizes {
    seed: u64,
    count: u64,
    mean_bytes: u64,
    uniform: bool,
    table: Option<SizeDistribution>,
    with_data: Buckets,
}

impl FileSizes {
    /// Sizes of a component's files.
    pub fn new(component: &Component, seed: u64) -> Self {
        Self {
            seed,
            count: component.files_per_bucket().max(1),
            mean_bytes: component.file_bytes,
            uniform: component.workload.attributes.uniform_size_dist,
            table: component.file_sizes.clone(),
            with_data: component.data_buckets(),
        }
    }

    /// Files per bucket.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the files of a bucket hold data from INIT on.
    pub fn holds_data(&self, bucket: Bucket) -> bool {
        self.with_data.contains(bucket)
    }

    /// The mean size.
    pub fn mean_bytes(&self) -> u64 {
        self.mean_bytes
    }

    /// The size that a file is made with. Normally distributed sizes come in pairs
    /// symmetric to the mean, so that the sum of a bucket is exactly that of the
    /// data set's definition.
    pub fn created(&self, bucket: Bucket, number: u64) -> u64 {
        if !self.holds_data(bucket) {
            return 0;
        }
        if let Some(table) = &self.table {
            let start = unit_interval(hash3(self.seed, u64::from(bucket.number()), u64::MAX));
            return table.quantile((start + number as f64 * GOLDEN).fract()).0;
        }
        let alone = number == self.count - 1 && self.count % 2 == 1;
        if self.uniform || alone {
            return self.mean_bytes;
        }
        let hash = hash3(self.seed, u64::from(bucket.number()), number / 2);
        let off = normal_offset(self.mean_bytes, hash);
        let off = if number.is_multiple_of(2) { off } else { -off };
        self.mean_bytes.saturating_add_signed(off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(count: u64, uniform: bool) -> FileSizes {
        FileSizes {
            seed: 7,
            count,
            mean_bytes: 16384,
            uniform,
            table: None,
            with_data: Buckets::with_data(),
        }
    }

    #[test]
    fn the_sum_of_a_bucket_is_exact_and_sizes_spread() {
        let read = Bucket::new(2).unwrap();
        for count in [1, 2, 999, 1000] {
            for uniform in [true, false] {
                let s = sizes(count, uniform);
                let sum: u64 = (0..count).map(|n| s.created(read, n)).sum();
                assert_eq!(sum, count * 16384, "{count} {uniform}");
            }
        }
        let s = sizes(1000, false);
        let mean = 16384.0;
        let var: f64 = (0..1000)
            .map(|n| (s.created(read, n) as f64 - mean).powi(2))
            .sum::<f64>()
            / 1000.0;
        let share = var.sqrt() / mean;
        assert!((0.22..0.28).contains(&share), "{share}");
        assert_eq!(s.created(Bucket::MKDIR, 0), 0);
    }
}
