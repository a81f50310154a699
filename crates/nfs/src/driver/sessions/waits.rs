//! The calls that wait until a file is open or closed, or until a call about its layouts has ended.

use super::compounds::StateCall;
use super::opening::Prepared;
use super::opens::OpenState;
use super::state::{Sessions, Waiter};
use crate::driver::core::Core;

impl Core<Sessions> {
    /// Has a call wait until the file is looked at again. The wait for another operation's call that was sent is
    /// service time, too.
    pub(super) fn wait_for(&mut self, slot: u32, proc: u32, key: u32) -> Prepared {
        let call = self.calls.get(slot);
        let (xid, op, now) = (call.xid, call.op, self.state.now);
        let file = self.own.opens[proc as usize].get(key);
        if file.is_some_and(|file| file.is_sent || file.turn.is_some()) {
            self.ops.get_mut(op).stamp_sent(now);
        }
        self.stop_using(slot);
        let call = self.calls.get(slot);
        if !call.on_wire && !call.own.is_repeated {
            // The OPEN or CLOSE may need the slot.
            self.drop_slot(slot);
        }
        self.calls.park(slot);
        self.own.waiting.push(Waiter { proc, key, xid });
        Prepared::Parked
    }

    pub(super) fn next_waiter(&mut self, proc: u32, key: u32) -> Option<u32> {
        loop {
            let mut waiting = self.own.waiting.iter();
            let at = waiting.position(|w| w.proc == proc && w.key == key)?;
            let waiter = self.own.waiting.swap_remove(at);
            let slot = self.calls.find(waiter.xid);
            if let Some(slot) = slot.filter(|slot| self.calls.get(*slot).parked) {
                return Some(slot);
            }
        }
    }

    /// The calls that wait for this file can be looked at again.
    pub(super) fn wake(&mut self, proc: u32, key: u32) {
        let now = self.state.now;
        while let Some(slot) = self.next_waiter(proc, key) {
            self.calls.unpark(slot, now);
            self.queue_first(slot);
            let opens = &mut self.own.opens[proc as usize];
            if let Some(file) = opens.find(key)
                && matches!(file.state, OpenState::Open(_))
            {
                // It is not closed before this call has used it.
                file.users += 1;
                self.calls.get_mut(slot).own.used = Some(key);
            }
        }
    }

    /// The file that calls wait for, if this call is one that they wait for.
    fn waited_for(&self, slot: u32) -> Option<(u32, u32)> {
        let call = self.calls.get(slot);
        match call.own.kind? {
            StateCall::Open(key) | StateCall::Confirm(key) => {
                Some((self.ops.get(call.op).proc, key))
            }
            StateCall::Close(place) | StateCall::CloseReturning(place, _) => {
                self.own.closing(place).map(|c| (c.proc, c.key))
            }
            StateCall::Layoutget(place, _)
            | StateCall::CommitLayout(place)
            | StateCall::ReturnLayout(place, _) => {
                let of = self.own.closing(place)?;
                let opens = &self.own.opens[of.proc as usize];
                Some((of.proc, opens.with_layout(of.layout?)?))
            }
            _ => None,
        }
    }

    /// A call that others wait for is sent: the service time of their operations begins.
    pub(super) fn state_call_sent(&mut self, slot: u32) {
        let place = self.waited_for(slot);
        let Some((proc, key)) = place else {
            return;
        };
        let now = self.state.now;
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.is_sent = true;
        }
        for waiter in &self.own.waiting {
            if (waiter.proc, waiter.key) == (proc, key)
                && let Some(slot) = self.calls.find(waiter.xid)
            {
                let op = self.calls.get(slot).op;
                self.ops.get_mut(op).stamp_sent(now);
            }
        }
    }
}
