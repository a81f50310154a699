//! The clocks of the agents against the prime's.

use super::pending_order::is_event;
use super::slots::{AgentSlot, Agents, AgentsInput};
use super::types::OrderError;
use crate::clocks::ClockOffset;
use crate::frame;
use crate::message::Order;
use filermark_model::Nanos;
use filermark_model::launch::OnLost;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Requests for the clock, per agent.
const CLOCK_ROUNDS: u32 = 12;
/// Agents whose clocks are read in parallel: with more, waiting would add to the round trips.
const CLOCKS_AT_ONCE: usize = 32;
/// Longest wait for one reply with the clock.
const CLOCK_MAX: Nanos = Nanos::from_millis(500);

impl Agents {
    /// Reads the clock of every agent several times; the best reply counts.
    ///
    /// # Errors
    /// As [`Agents::order`].
    pub fn sync_clocks(&mut self, on_lost: OnLost) -> Result<(), OrderError> {
        let before = self.losses.len();
        for slot in &mut self.slots {
            slot.clock = None;
        }
        for group in self.living().chunks(CLOCKS_AT_ONCE) {
            for _ in 0..CLOCK_ROUNDS {
                if self.is_to_stop() {
                    return Err(OrderError::Stopped);
                }
                self.request_clocks(group);
            }
        }
        self.mark_lost_where(|s| s.clock.is_none(), "it did not reply with its clock");
        match self.losses.get(before..) {
            Some([]) | None => Ok(()),
            Some(lost) if on_lost == OnLost::End || self.living().is_empty() => {
                Err(OrderError::Lost(lost.to_vec()))
            }
            Some(_) => Ok(()),
        }
    }

    pub(super) fn request_clocks(&mut self, group: &[usize]) {
        for &at in group {
            let slot = &mut self.slots[at];
            if slot.is_lost {
                continue;
            }
            slot.seq = slot.seq.wrapping_add(1);
            slot.pending_clock_queries.clear();
            let frame = pack(&Order::Time { seq: slot.seq });
            slot.pending_clock_queries
                .push_back((slot.seq, self.links.now()));
            self.links.send(at, &frame);
        }
        let until = self.links.now() + CLOCK_MAX;
        let open = |slots: &[AgentSlot]| {
            group
                .iter()
                .any(|at| !slots[*at].is_lost && !slots[*at].pending_clock_queries.is_empty())
        };
        while open(&self.slots) && self.links.now() < until {
            if let Some((at, AgentsInput::Report(report))) = self.next(until)
                && !is_event(&report)
            {
                self.mark_lost(at, "protocol error: unexpected message".into());
            }
        }
    }

    pub(super) fn take_time(&mut self, at: usize, received: Nanos, seq: u32, reading: (u64, u64)) {
        // By the time of receipt, not by the current time.
        let own_unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let waited = self.links.now().since(received).0;
        let own_unix_ns = own_unix
            .map_or(0, |t| t.as_nanos() as u64)
            .saturating_sub(waited);
        let slot = &mut self.slots[at];
        let Some(place) = slot
            .pending_clock_queries
            .iter()
            .position(|(asked, _)| *asked == seq)
        else {
            return;
        };
        let Some((_, sent)) = slot.pending_clock_queries.remove(place) else {
            return;
        };
        let offset = ClockOffset::of(sent, received, reading.0, reading.1, own_unix_ns);
        slot.clock = Some(slot.clock.map_or(offset, |known| known.or_better(offset)));
    }
}

fn pack(order: &Order) -> Arc<[u8]> {
    // Only small ones; an empty frame would be an invalid message for the agent.
    frame::encode(order).unwrap_or_default().into()
}
