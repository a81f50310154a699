//! Transfer sizes in slots: ranges of sizes with percentages, as the netmist
//! workloads have them (manual N, section 11).

use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// Slots of a table (manual N, appendix: 0 to 15).
pub const SLOTS_MAX: usize = 16;
/// The largest transfer that a table may ask for: a buffer per proc has its size.
pub const TRANSFER_BYTES_MAX: u32 = 64 << 20;

/// One slot: sizes from `min_bytes` to `max_bytes`, all alike likely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferSlot {
    /// The smallest size, in bytes.
    pub min_bytes: u32,
    /// The largest size, in bytes.
    pub max_bytes: u32,
    /// Its share of the transfers, in percent.
    pub percent: f64,
}

/// Up to sixteen slots whose shares total 100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<TransferSlot>", into = "Vec<TransferSlot>")]
pub struct TransferTable {
    slots: Vec<TransferSlot>,
}

/// Why slots are no table.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum TransferError {
    /// The percentages do not add up.
    #[error("total {0} percent, not 100")]
    Sum(f64),
    /// A slot makes no sense.
    #[error(
        "slot {slot}: {min_bytes} to {max_bytes} bytes, {percent} percent: sizes go from 1 to 67108864, the smaller one first, shares from 0 to 100"
    )]
    Slot {
        /// Its number, from 0.
        slot: usize,
        /// As given.
        min_bytes: u32,
        /// As given.
        max_bytes: u32,
        /// As given.
        percent: f64,
    },
    /// More than sixteen, or none.
    #[error("{0} slots; there are 1 to 16")]
    Count(usize),
}

impl TransferTable {
    /// Checks the slots. One with a share of 0 is kept, whatever its sizes are:
    /// tables have such lines, and an export gives them back.
    ///
    /// # Errors
    /// The first slot that makes no sense, or the total.
    pub fn new(slots: Vec<TransferSlot>) -> Result<Self, TransferError> {
        if slots.is_empty() || slots.len() > SLOTS_MAX {
            return Err(TransferError::Count(slots.len()));
        }
        if let Some(fault) = Self::slot_faults(&slots).into_iter().next() {
            return Err(fault);
        }
        let sum: f64 = slots.iter().map(|s| s.percent).sum();
        if (sum - 100.0).abs() > 1e-3 {
            return Err(TransferError::Sum(sum));
        }
        Ok(Self { slots })
    }

    /// All slots that make no sense.
    pub fn slot_faults(slots: &[TransferSlot]) -> Vec<TransferError> {
        let fault = |(slot, s): (usize, &TransferSlot)| {
            let sizes =
                s.min_bytes >= 1 && s.min_bytes <= s.max_bytes && s.max_bytes <= TRANSFER_BYTES_MAX;
            let share = (0.0..=100.0).contains(&s.percent);
            (!share || (s.percent > 0.0 && !sizes)).then_some(TransferError::Slot {
                slot,
                min_bytes: s.min_bytes,
                max_bytes: s.max_bytes,
                percent: s.percent,
            })
        };
        slots.iter().enumerate().filter_map(fault).collect()
    }

    /// All transfers of one size.
    pub fn fixed(bytes: u32) -> Self {
        let bytes = bytes.clamp(1, TRANSFER_BYTES_MAX);
        Self {
            slots: vec![TransferSlot {
                min_bytes: bytes,
                max_bytes: bytes,
                percent: 100.0,
            }],
        }
    }

    /// The slots in the order of the table.
    pub fn slots(&self) -> &[TransferSlot] {
        &self.slots
    }

    /// The expected size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let mean = |s: &TransferSlot| (f64::from(s.min_bytes) + f64::from(s.max_bytes)) / 2.0;
        self.used().map(|s| mean(s) * s.percent / 100.0).sum()
    }

    /// The largest size that can be drawn, in bytes.
    pub fn max_bytes(&self) -> u32 {
        self.used().map(|s| s.max_bytes).max().unwrap_or(1)
    }

    /// A size that can be drawn and is not a multiple of `block` bytes, if there is one.
    pub fn odd_size(&self, block: u32) -> Option<u32> {
        let odd = |slot: &TransferSlot| match slot.min_bytes.is_multiple_of(block) {
            false => Some(slot.min_bytes),
            true => (slot.max_bytes > slot.min_bytes).then_some(slot.min_bytes + 1),
        };
        self.used().find_map(odd)
    }

    /// One draw, in bytes: at most sixteen compares, no allocation.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        let mut left = rng.unit() * 100.0;
        let mut last = &self.slots[0];
        for slot in &self.slots {
            if slot.percent <= 0.0 {
                continue;
            }
            last = slot;
            left -= slot.percent;
            if left < 0.0 {
                break;
            }
        }
        let span = u64::from(last.max_bytes - last.min_bytes) + 1;
        last.min_bytes + rng.below(span) as u32
    }

    fn used(&self) -> impl Iterator<Item = &TransferSlot> {
        self.slots.iter().filter(|s| s.percent > 0.0)
    }
}

impl TryFrom<Vec<TransferSlot>> for TransferTable {
    type Error = TransferError;
    fn try_from(slots: Vec<TransferSlot>) -> Result<Self, TransferError> {
        Self::new(slots)
    }
}

impl From<TransferTable> for Vec<TransferSlot> {
    fn from(table: TransferTable) -> Self {
        table.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(min_bytes: u32, max_bytes: u32, percent: f64) -> TransferSlot {
        TransferSlot {
            min_bytes,
            max_bytes,
            percent,
        }
    }

    #[test]
    fn draws_follow_the_shares_and_stay_in_their_slots() {
        let table = TransferTable::new(vec![
            slot(1, 511, 25.0),
            slot(512, 511, 0.0),
            slot(8192, 8192, 75.0),
        ])
        .unwrap();
        let mut rng = Rng::new(1, 1);
        let mut small = 0;
        for _ in 0..40_000 {
            match table.draw(&mut rng) {
                1..=511 => small += 1,
                8192 => {}
                other => panic!("{other}"),
            }
        }
        assert!((f64::from(small) / 400.0 - 25.0).abs() < 1.0, "{small}");
        assert_eq!(table.max_bytes(), 8192);
        assert_eq!(table.mean_bytes(), 256.0 * 0.25 + 8192.0 * 0.75);
    }

    #[test]
    fn bad_tables_are_refused() {
        assert_eq!(TransferTable::new(vec![]), Err(TransferError::Count(0)));
        assert_eq!(
            TransferTable::new(vec![slot(1, 2, 99.0)]),
            Err(TransferError::Sum(99.0))
        );
        for bad in [
            slot(0, 1, 100.0),
            slot(3, 2, 100.0),
            slot(1, u32::MAX, 100.0),
        ] {
            assert!(matches!(
                TransferTable::new(vec![bad]),
                Err(TransferError::Slot { slot: 0, .. })
            ));
        }
        assert!(TransferTable::new(vec![slot(1, 2, f64::NAN)]).is_err());
    }
}
