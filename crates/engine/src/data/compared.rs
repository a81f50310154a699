//! The results of comparisons.

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct CheckOutcome {
    /// No difference was found.
    pub good: bool,
    /// Bytes that were compared.
    pub bytes: u64,
}

/// The result of comparing bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct CompareOutcome {
    /// No difference was found.
    pub good: bool,
    /// Bytes that were compared.
    pub bytes: u64,
    /// Bytes that cannot be decided, right or wrong.
    pub undecided_bytes: u64,
}

impl CompareOutcome {
    /// Nothing was to be compared.
    pub const NOTHING: Self = Self {
        good: true,
        bytes: 0,
        undecided_bytes: 0,
    };
}

impl CheckOutcome {
    /// Nothing was compared.
    pub const NOTHING: Self = Self {
        good: true,
        bytes: 0,
    };

    /// Adds another comparison.
    pub fn add(&mut self, other: Self) {
        self.good &= other.good;
        self.bytes += other.bytes;
    }
}
