//! What comes of comparing.

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct CheckOutcome {
    /// Nothing wrong was seen.
    pub good: bool,
    /// Bytes that were compared.
    pub bytes: u64,
}

/// What came of comparing bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct CompareOutcome {
    /// Nothing wrong was seen.
    pub good: bool,
    /// Bytes that were compared.
    pub bytes: u64,
    /// Bytes of which nothing can be said, right or wrong.
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

    /// The same and another comparison.
    pub fn add(&mut self, other: Self) {
        self.good &= other.good;
        self.bytes += other.bytes;
    }
}
