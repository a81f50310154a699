//! When replies do not come: how long they are waited for, and what follows.
//!
//! Over streams every call has the same time for its reply. When that is over on a connection,
//! the connection is given up, since it may have lost the reply. What becomes of its calls
//! depends on the protocol ([`OnLoss`]): all calls under way there count a try and go again on
//! a new connection, where those end whose tries are used up; or they end. A connection that
//! breaks is made again without a try being counted, since the time runs on anyway.
//!
//! Over datagrams every call has a time-out of its own, which may grow with each try; what is
//! not answered goes again alone, with the same id.

use super::calls::CallBase;
use super::protocol::{OnLoss, WireProtocol};
use super::settings::SocketSettings;
use super::state::LoopState;
use filermark_engine::driver::Status;
use filermark_model::Nanos;

/// How long replies are waited for after the wish to stop.
const STOPPING_TIMEOUT: Nanos = Nanos::from_secs(2);

/// When the reply to this call is late: soon once the run is to stop.
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

/// Datagrams: when nothing is waited for any more after the wish to stop.
fn stop_limit<T>(call: &CallBase, state: &LoopState<T>) -> Nanos {
    call.first.max(state.stopping_at) + STOPPING_TIMEOUT
}

/// When something is to be done though nothing arrives.
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

/// What follows for a stream from a late reply to the call in `slot`: whether the connection,
/// if it is up, is to be given up.
pub(super) fn late_on_stream<P: WireProtocol>(
    core: &mut P,
    slot: u32,
    is_up: bool,
    settings: &SocketSettings,
) -> bool {
    let now = core.state().now;
    match P::ON_LOSS {
        OnLoss::SendAgain => count_tries(core, slot, is_up, settings),
        // Its time begins when it can be sent.
        OnLoss::Fail if !is_up => core.calls_mut().renew(slot, now),
        OnLoss::Fail if !core.calls().get(slot).is_encoded() => {
            core.fail_call(slot, Status::TimedOut);
            return false;
        }
        OnLoss::Fail => {}
    }
    is_up
}

/// Counts a try for every call of a late call's connection; ends those that had enough.
fn count_tries<P: WireProtocol>(core: &mut P, slot: u32, is_up: bool, settings: &SocketSettings) {
    let enough = match core.state().stop.is_raised() {
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
        if call.tries > enough {
            core.fail_call(slot, status);
        } else {
            core.calls_mut().renew(slot, now);
        }
    }
}

/// Datagrams: the late call goes again, or ends with `status` if it had enough.
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
    calls.again(slot, settings.waits.after(stage), now);
}
