//! The clocks of the agents against the prime's.

use super::round::is_event;
use super::seats::{AgentSlot, Agents, AgentsInput};
use super::types::OrderError;
use crate::clocks::ClockOffset;
use crate::frame;
use crate::message::Order;
use filermark_model::Nanos;
use filermark_model::launch::OnLost;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Questions for the clock, per agent.
const CLOCK_ROUNDS: u32 = 12;
/// Agents that are asked for their clocks side by side: more would wait for each
/// other, which counts as way.
const CLOCKS_AT_ONCE: usize = 32;
/// Longest wait for one answer about the clock.
const CLOCK_MAX: Nanos = Nanos::from_millis(500);

impl Agents {
    /// Asks every agent for its clock, several times; the best answers count.
    ///
    /// # Errors
    /// As [`Agents::order`].
    pub fn sync_clocks(&mut self, on_lost: OnLost) -> Result<(), OrderError> {
        let before = self.losses.len();
        for seat in &mut self.seats {
            seat.clock = None;
        }
        for group in self.living().chunks(CLOCKS_AT_ONCE) {
            for _ in 0..CLOCK_ROUNDS {
                if self.is_to_stop() {
                    return Err(OrderError::Stopped);
                }
                self.ask_clocks(group);
            }
        }
        self.mark_lost_where(
            |s| s.clock.is_none(),
            "it does not answer what its clock says",
        );
        match self.losses.get(before..) {
            Some([]) | None => Ok(()),
            Some(lost) if on_lost == OnLost::End || self.living().is_empty() => {
                Err(OrderError::Lost(lost.to_vec()))
            }
            Some(_) => Ok(()),
        }
    }

    pub(super) fn ask_clocks(&mut self, group: &[usize]) {
        for &at in group {
            let seat = &mut self.seats[at];
            if seat.is_lost {
                continue;
            }
            seat.seq = seat.seq.wrapping_add(1);
            seat.pending_clock_queries.clear();
            let frame = pack(&Order::Time { seq: seat.seq });
            seat.pending_clock_queries
                .push_back((seat.seq, self.board.now()));
            self.board.send(at, &frame);
        }
        let until = self.board.now() + CLOCK_MAX;
        let open = |seats: &[AgentSlot]| {
            group
                .iter()
                .any(|at| !seats[*at].is_lost && !seats[*at].pending_clock_queries.is_empty())
        };
        while open(&self.seats) && self.board.now() < until {
            if let Some((at, AgentsInput::Report(report))) = self.next(until)
                && !is_event(&report)
            {
                self.mark_lost(at, "it spoke out of turn".into());
            }
        }
    }

    pub(super) fn take_time(&mut self, at: usize, heard: Nanos, seq: u32, said: (u64, u64)) {
        // Of the moment when it was heard, not of this one, when it is looked at.
        let own_unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let waited = self.board.now().since(heard).0;
        let own_unix_ns = own_unix
            .map_or(0, |t| t.as_nanos() as u64)
            .saturating_sub(waited);
        let seat = &mut self.seats[at];
        let Some(place) = seat
            .pending_clock_queries
            .iter()
            .position(|(asked, _)| *asked == seq)
        else {
            return;
        };
        let Some((_, sent)) = seat.pending_clock_queries.remove(place) else {
            return;
        };
        let offset = ClockOffset::of(sent, heard, said.0, said.1, own_unix_ns);
        seat.clock = Some(seat.clock.map_or(offset, |known| known.or_better(offset)));
    }
}

fn pack(order: &Order) -> Arc<[u8]> {
    // Only small ones; an empty frame would be told as nonsense by the agent.
    frame::encode(order).unwrap_or_default().into()
}
