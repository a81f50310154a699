//! Late replies: their timeouts, and what happens then.
//!
//! Over streams all calls have the same reply timeout. When it expires, the connection is
//! closed, since it may have lost the reply. Its calls depend on the protocol ([`OnLoss`]):
//! either each counts a try and is sent again on a new connection, or ends if it has no tries
//! left; or all of them end. When a connection breaks, no try is counted, since the timeout
//! goes on. While a connection is being set up, no try is counted either: the set-up has its own
//! limits. That ends when the connection was up several times without a reply: a server that sets up
//! connections and closes each of them would keep calls without a limit.
//!
//! Over datagrams every call has its own timeout, which may grow with each try; a call without
//! a reply is sent again alone, with the same id.

use super::calls::CallBase;
use super::protocol::{OnLoss, WireProtocol};
use super::settings::SocketSettings;
use super::state::LoopState;
use filermark_engine::driver::Status;
use filermark_model::Nanos;

/// How long to wait for replies after a request to stop.
const STOPPING_TIMEOUT: Nanos = Nanos::from_secs(2);

/// How far a connection is when a reply is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is none at present.
    Down,
    /// It is being made, or TLS or the protocol is being set up.
    SettingUp,
    Up,
}

/// When the timeout of this call expires; earlier once the run is to stop.
#[inline]
fn due_at<T>(call: &CallBase, state: &LoopState<T>, settings: &SocketSettings) -> Nanos {
    let wait = settings.waits.of(call.stage());
    match (state.stopping, settings.datagrams()) {
        (false, _) => call.since + wait,
        (true, false) => {
            let stop_limit = call.since.max(state.stopping_at) + STOPPING_TIMEOUT;
            (call.since + wait).min(stop_limit)
        }
        (true, true) => (call.since + wait).min(stop_limit(call, state)),
    }
}

/// Datagrams: when the wait ends after a request to stop.
fn stop_limit<T>(call: &CallBase, state: &LoopState<T>) -> Nanos {
    call.first.max(state.stopping_at) + STOPPING_TIMEOUT
}

/// When the next timer or timeout expires.
pub(super) fn next_wake<P: WireProtocol>(core: &P, settings: &SocketSettings) -> Nanos {
    let state = core.state();
    let replies = core.calls().oldest();
    let replies = replies.map(|(_, call)| due_at(call, state, settings));
    state.next_timer().min(replies.min().unwrap_or(Nanos::MAX))
}

/// A call whose reply is late.
pub(super) fn late_call<P: WireProtocol>(core: &P, settings: &SocketSettings) -> Option<u32> {
    let state = core.state();
    let mut oldest = core.calls().oldest();
    let late = oldest.find(|(_, call)| due_at(call, state, settings) <= state.now);
    late.map(|(slot, _)| slot)
}

/// Handles a late reply to the call in `slot` on a stream: returns whether the connection has
/// to be closed.
pub(super) fn late_on_stream<P: WireProtocol>(
    core: &mut P,
    slot: u32,
    progress: Progress,
    settings: &SocketSettings,
) -> bool {
    let (now, is_up) = (core.state().now, progress == Progress::Up);
    let is_stopping = core.state().stop.is_raised();
    match P::ON_LOSS {
        OnLoss::SendAgain if progress == Progress::SettingUp && !is_stopping => {
            core.calls_mut().renew(slot, now);
        }
        OnLoss::SendAgain => count_tries(core, slot, is_up, settings),
        // Its timeout begins when it can be sent.
        OnLoss::Fail if !is_up => core.calls_mut().renew(slot, now),
        OnLoss::Fail if !core.calls().get(slot).is_encoded() => {
            core.fail_call(slot, Status::TimedOut);
            return false;
        }
        OnLoss::Fail => {}
    }
    is_up
}

/// Counts a try for every call of a late call's connection; ends those that have no tries left.
fn count_tries<P: WireProtocol>(core: &mut P, slot: u32, is_up: bool, settings: &SocketSettings) {
    let tries_max = match core.state().stop.is_raised() {
        true => 0,
        false => settings.retries,
    };
    let status = match is_up {
        true => Status::TimedOut,
        false => Status::Disconnected,
    };
    let now = core.state().now;
    let mut next = core.calls().first(core.calls().get(slot).conn);
    while let Some(slot) = next {
        next = core.calls().after(slot);
        let call = core.calls_mut().get_mut(slot);
        call.tries += 1;
        if call.tries > tries_max {
            core.fail_call(slot, status);
        } else {
            core.calls_mut().renew(slot, now);
        }
    }
}

/// Datagrams: the late call is sent again, or ends with `status` if it has no tries left.
pub(super) fn late_datagram<P: WireProtocol>(
    core: &mut P,
    slot: u32,
    status: Status,
    settings: &SocketSettings,
) {
    let (state, call) = (core.state(), core.calls().get(slot));
    let (now, stage) = (state.now, call.stage());
    let too_late = state.stopping && stop_limit(call, state) <= now;
    if call.tries >= settings.retries || too_late {
        return core.fail_call(slot, status);
    }
    let calls = core.calls_mut();
    calls.get_mut(slot).tries += 1;
    calls.send_again(slot, settings.waits.after(stage), now);
}
