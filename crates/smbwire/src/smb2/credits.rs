//! Message ids and credits (MS-SMB2 3.2.4.1.2, 3.2.4.1.5, 3.2.4.1.6).

/// Bytes that one credit pays for.
pub const CREDIT_BYTES: u32 = 65_536;

/// How many credits a request takes that carries or asks for so many bytes.
#[inline]
pub const fn credit_charge(bytes: u32) -> u16 {
    let charge = bytes.saturating_sub(1) / CREDIT_BYTES + 1;
    if charge > u16::MAX as u32 {
        u16::MAX
    } else {
        charge as u16
    }
}

/// What a connection may still send: credits in hand, and the next message id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    /// Credits in hand: granted and not used.
    pub available: u32,
    /// The message id of the next request.
    pub next_message_id: u64,
}

impl Credits {
    /// Of a connection that has just been made (MS-SMB2 3.2.4.1.2).
    pub const NEW: Self = Self {
        available: 1,
        next_message_id: 0,
    };

    /// The message id of a request with this charge; `None` where there are too few credits.
    /// A charge of 0 takes one credit (SMB 2.0.2).
    #[inline]
    pub fn take(&mut self, charge: u16) -> Option<u64> {
        let charge = charge.max(1);
        self.available = self.available.checked_sub(u32::from(charge))?;
        let id = self.next_message_id;
        self.next_message_id = id.wrapping_add(u64::from(charge));
        Some(id)
    }

    /// Adds what a response grants.
    #[inline]
    pub fn grant(&mut self, granted: u16) {
        self.available = self.available.saturating_add(u32::from(granted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_pays_for_64_kib() {
        let charges = [0, 1, 65_536, 65_537, 1 << 20, 8 << 20, u32::MAX].map(credit_charge);
        assert_eq!(charges, [1, 1, 1, 2, 16, 128, u16::MAX]);
    }

    #[test]
    fn ids_go_up_by_the_charge_and_never_beyond_the_credits() {
        let mut credits = Credits::NEW;
        assert_eq!(credits.take(0), Some(0));
        assert_eq!(credits.take(1), None, "all spent");
        credits.grant(17);
        assert_eq!(credits.take(16), Some(1));
        assert_eq!(credits.take(2), None, "one left");
        assert_eq!((credits.take(1), credits.next_message_id), (Some(17), 18));
    }
}
