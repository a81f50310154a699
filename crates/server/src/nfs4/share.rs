//! Share reservations (RFC 8881 section 9.7).

/// What an open allows itself and denies to others: bits of `filermark_onc::nfs4::share`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) access: u32,
    pub(crate) deny: u32,
}

impl Share {
    /// Whether these two opens of different owners exclude each other.
    pub(crate) const fn conflicts(self, other: Share) -> bool {
        self.access & other.deny != 0 || self.deny & other.access != 0
    }

    /// Both together, as of an owner that opens a second time.
    pub(crate) const fn union(self, other: Share) -> Share {
        Share {
            access: self.access | other.access,
            deny: self.deny | other.deny,
        }
    }

    /// Whether all of this is in `other`.
    pub(crate) const fn is_within(self, other: Share) -> bool {
        self.access & !other.access == 0 && self.deny & !other.deny == 0
    }
}
