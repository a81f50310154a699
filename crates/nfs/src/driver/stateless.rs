//! Versions 2 and 3 on the loop of the driver kit: records over TCP, where lost calls are
//! retransmitted on the next connection; datagrams over UDP, where a NULL call checks that a
//! server answers.

use super::calls::Call;
use super::core::Core;
use super::reply::JUKEBOX_DELAY_MAX;
use super::request::is_in_v2;
use super::status::{NOT_IN_V2, NOT_IN_VERSION};
use super::variant::{Stateless, Variant};
use filermark_driver_kit::sockets::{Event, Received, probe_xid};
use filermark_engine::driver::Action;
use filermark_model::plan::{NfsPlan, NfsVersion};
use filermark_model::{Nanos, NfsOp};
use filermark_net::FrameProgress;
use filermark_onc::rpc::{ReplyHeader, peek_xid};
use filermark_onc::xdr::{Decode, Decoder};

/// Offset of the message type, and its value in a reply (RFC 5531 section 9).
const KIND_AT: usize = 4;
const REPLY: u32 = 1;

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnState {
    /// UDP: the xid of the NULL call.
    probe: u32,
    /// The NULL call has not been answered yet.
    is_probing: bool,
    /// The event of the messages of the current read so far.
    event: Event,
}

impl Variant for Stateless {
    type Call = ();
    type Conn = ConnState;

    fn program_version(plan: &NfsPlan) -> u32 {
        plan.version.number()
    }

    fn refusal(core: &Core, op: NfsOp, action: Action) -> Option<u32> {
        if op.op().nfs4_number().is_some() {
            return Some(NOT_IN_VERSION);
        }
        let is_refused = core.settings.version == NfsVersion::V2 && !is_in_v2(op, action);
        is_refused.then_some(NOT_IN_V2)
    }

    fn connected(core: &mut Core, conn: u32, state: &mut ConnState) -> Event {
        if !core.settings.datagrams {
            return Event::Up;
        }
        // Servers cache replies by xid and port: an earlier run may have used the same port.
        state.probe = probe_xid(conn ^ core.state.clock.now().0 as u32);
        state.is_probing = true;
        Event::Send
    }

    fn closed(_core: &mut Core, _conn: u32, state: &mut ConnState) {
        state.event = Event::Nothing;
    }

    fn own_bytes(core: &mut Core, state: &mut ConnState, out: &mut Vec<u8>) {
        if state.is_probing {
            // NULL is procedure 0 of every version of every program.
            core.template.begin(out, state.probe, 0).finish(out);
        }
    }

    #[inline]
    fn encode_next(core: &mut Core, conn: u32, out: &mut Vec<u8>) -> bool {
        let next = core.calls.next_to_encode(conn);
        next.map(|slot| core.encode(slot, out)).is_some()
    }

    #[inline]
    fn count_call(core: &mut Core, slot: u32) {
        core.counters.call(core.calls.get(slot).procedure);
    }

    #[inline]
    fn receive(
        core: &mut Core,
        conn: u32,
        state: &mut ConnState,
        bytes: &[u8],
        at: Nanos,
    ) -> Received {
        if core.settings.datagrams {
            return core.receive_datagram(conn, state, bytes, at);
        }
        let (progress, event) = core.receive_records(conn, bytes, |core, record| {
            core.reply(conn, record, at);
            Event::Replies
        })?;
        state.event = event;
        Ok(progress)
    }

    #[inline]
    fn after_read(_core: &mut Core, _conn: u32, state: &mut ConnState) -> Event {
        std::mem::take(&mut state.event)
    }

    #[inline]
    fn is_repeated(call: &Call) -> bool {
        call.retransmitted
    }

    /// The wait doubles.
    fn delay(core: &Core, waits: u16) -> Option<Nanos> {
        if waits >= core.settings.jukebox_retries {
            return None;
        }
        let factor = 1u64.checked_shl(waits.into()).unwrap_or(u64::MAX);
        let delay = Nanos(core.settings.jukebox_delay.0.saturating_mul(factor));
        Some(delay.min(JUKEBOX_DELAY_MAX))
    }

    fn connect_advice(core: &Core) -> &'static str {
        match core.settings.datagrams {
            false => {
                "check that the server runs and how many connections it and this client allow \
                 (ulimit -n; RESVPORT allows 512 at most); CONNECTIONS=N lets procs share"
            }
            true => {
                "check that the server serves NFS over UDP (many are built without it) and that \
                 no firewall blocks it; or set TCP=on"
            }
        }
    }
}

impl Core {
    fn receive_datagram(
        &mut self,
        conn: u32,
        state: &mut ConnState,
        message: &[u8],
        at: Nanos,
    ) -> Received {
        if !is_reply(message) {
            return Err("the message is not a reply".into());
        }
        let is_of_probe = peek_xid(message) == Some(state.probe);
        match (is_of_probe, state.is_probing) {
            (true, true) => state.event = probe_answered(message),
            (false, false) => self.reply(conn, message, at),
            // A second reply to the NULL call, or a reply to a call of an earlier run.
            (true, false) | (false, true) => {}
        }
        state.is_probing &= !matches!(state.event, Event::Up);
        Ok(FrameProgress {
            consumed: message.len(),
            wanted: 0,
        })
    }
}

/// The event of a reply to the NULL call.
fn probe_answered(message: &[u8]) -> Event {
    let header = ReplyHeader::decode(&mut Decoder::new(message));
    match header.map(|header| header.check()) {
        Ok(Ok(())) => Event::Up,
        Ok(Err(refusal)) => Event::Refused(refusal.to_string()),
        Err(error) => Event::Refused(error.to_string()),
    }
}

fn is_reply(message: &[u8]) -> bool {
    let kind = message.get(KIND_AT..).and_then(<[u8]>::first_chunk);
    kind.is_some_and(|kind| u32::from_be_bytes(*kind) == REPLY)
}
