//! Several connections of one session (SMB_CHANNELS) against smbd: binding, lost channels,
//! servers that refuse them.

use super::rig::{ShardFixture, file, plan, samba};
use filermark_engine::driver::*;
use filermark_engine::session_action::{HandleId, OpenFor, SessionAction};
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_testbed::{Direction, ProxiedMessage, ProxyAction, Samba, SambaOptions, SmbProxy};
use std::collections::BTreeMap;
use std::time::Duration;

const SIZE: u64 = 1 << 20;
const HANDLE: HandleId = HandleId(0);
/// Commands of SMB2 (MS-SMB2 2.2.1).
const SESSION_SETUP: u8 = 1;
const CREATE: u8 = 5;
const READ: u8 = 8;
const WRITE: u8 = 9;

fn read(at: u64) -> SessionAction {
    SessionAction::Read {
        handle: HANDLE,
        file: 1,
        offset: at * 4096,
        length: 4096,
    }
}

fn write(at: u64) -> SessionAction {
    SessionAction::Write {
        handle: HANDLE,
        file: 1,
        offset: at * 4096,
        length: 4096,
    }
}

fn channels(samba: &Samba, count: u32) -> SmbPlan {
    // On a busy host smbd takes seconds to pass a connection to the process of its session.
    SmbPlan {
        channels: count,
        connect_timeout_ms: 120_000,
        reply_timeout_ms: 120_000,
        ..plan(samba, Dialect::V311)
    }
}

fn multichannel() -> SambaOptions {
    SambaOptions::default().with("server multi channel support", "yes")
}

/// A file, open to be read and written.
fn with_file(plan: SmbPlan) -> ShardFixture {
    let mut rig = ShardFixture::ready(plan);
    rig.fill(1, SIZE);
    rig.open_file(1, 0, OpenFor::Update);
    rig.counters();
    rig
}

fn all_good(rig: &mut ShardFixture, actions: impl Iterator<Item = SessionAction>) {
    let queued: Vec<_> = actions
        .map(|action| rig.submit(0, Action::Session(action)).expect("queued"))
        .collect();
    let mut done = rig.wait(queued.len());
    assert!(
        done.iter()
            .all(|c| c.outcome.status == Status::Ok && c.outcome.physical == 1),
        "{done:?}"
    );
    done.sort_unstable_by_key(|c| c.token);
    let tokens: Vec<_> = done.iter().map(|c| c.token).collect();
    assert_eq!(tokens, queued, "each ends once");
}

fn of(counters: &BTreeMap<String, u64>, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or_default()
}

fn calls(counters: &BTreeMap<String, u64>, count: u32) -> Vec<u64> {
    let each = (1..=count).map(|n| of(counters, &format!("channel_{n}_calls")));
    each.collect()
}

/// Reads until every channel has had calls again.
fn until_all_are_up(rig: &mut ShardFixture, count: u32) {
    for _ in 0..6_000 {
        all_good(rig, (0..16).map(read));
        if calls(&rig.counters(), count).iter().all(|n| *n > 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a channel does not come back");
}

fn pass(passing: &ProxiedMessage<'_>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(passing.message.to_vec())]
}

fn command(passing: &ProxiedMessage<'_>) -> u8 {
    passing.message.get(12).copied().unwrap_or(0xff)
}

/// Whether it is the answer to this command. One that says only that it takes longer (STATUS_PENDING) is not:
/// a server on a busy host has such ones (MS-SMB2 3.3.4.2).
fn is_answer(passing: &ProxiedMessage<'_>, wanted: u8) -> bool {
    let is_interim = passing.message.get(8..12) == Some(&0x103u32.to_le_bytes());
    passing.way == Direction::ToClient && command(passing) == wanted && !is_interim
}

fn through(mut plan: SmbPlan, proxy: &SmbProxy) -> SmbPlan {
    plan.port = proxy.address().port();
    plan
}

/// Ends the connection of the reply to this command with this number, from 1.
fn cutting(server: std::net::SocketAddr, wanted: u8, after: usize) -> SmbProxy {
    let mut seen = 0;
    let proxy = SmbProxy::start(server, move |passing| {
        if is_answer(passing, wanted) {
            seen += 1;
            if seen == after {
                return vec![ProxyAction::Close];
            }
        }
        pass(passing)
    });
    proxy.expect("a proxy")
}

#[test]
#[ignore = "on a busy host smbd 4.17 sometimes loses the first request of a further channel, which it passes to another process"]
fn calls_go_over_all_channels_of_a_session_however_it_is_protected() {
    let Some(samba) = samba(multichannel()) else {
        return;
    };
    let protections = [
        (Dialect::V300, Signing::AesCmac, Encryption::Off),
        (Dialect::V302, Signing::Auto, Encryption::Aes128Ccm),
        (Dialect::V311, Signing::Auto, Encryption::Auto),
        (Dialect::V311, Signing::AesGmac, Encryption::Off),
        (Dialect::V311, Signing::HmacSha256, Encryption::Off),
        (Dialect::V311, Signing::Auto, Encryption::Aes256Gcm),
    ];
    for (dialect, signing, encryption) in protections {
        samba.sandbox().run(|| {
            let mut plan = channels(&samba, 4);
            (plan.dialects, plan.signing, plan.encryption) =
                ((dialect, dialect), signing, encryption);
            let mut rig = with_file(plan);
            all_good(&mut rig, (0..32).map(read).chain((0..32).map(write)));
            let counters = rig.counters();
            assert_eq!(calls(&counters, 4), [16; 4], "{counters:?}");
            let bytes = (1..=4).map(|n| of(&counters, &format!("channel_{n}_bytes")));
            assert_eq!(bytes.sum::<u64>(), 64 * 4096);
            for bad in ["bad_replies", "bad_signatures", "reconnects"] {
                assert_eq!(of(&counters, bad), 0, "{counters:?}");
            }
        });
    }
}

#[test]
fn calls_of_a_lost_channel_are_sent_again_on_another_one_and_counted_once() {
    let Some(samba) = samba(multichannel()) else {
        return;
    };
    for (lost, action) in [(READ, read as fn(u64) -> SessionAction), (WRITE, write)] {
        samba.sandbox().run(|| {
            // Of the filling of the file there is one WRITE.
            let proxy = cutting(samba.address(), lost, if lost == READ { 20 } else { 21 });
            let mut rig = with_file(through(channels(&samba, 3), &proxy));
            all_good(&mut rig, (0..48).map(action));
            let counters = rig.counters();
            assert_eq!(of(&counters, "channel_failovers"), 1, "{counters:?}");
            assert!(of(&counters, "replayed_calls") > 0, "{counters:?}");
            assert!(of(&counters, "replay_us") > 0, "{counters:?}");
            assert_eq!(of(&counters, "unreplayed_calls"), 0, "{counters:?}");
            assert_eq!(calls(&counters, 3).iter().sum::<u64>(), 48);
            let kind = if lost == READ { "READ" } else { "WRITE" };
            assert_eq!(of(&counters, kind), 48, "{counters:?}");
            until_all_are_up(&mut rig, 3);
            // The file has stayed open, and what was written is there.
            all_good(&mut rig, (0..48).map(read));
            assert_eq!(of(&rig.counters(), "verify_errors"), 0);
        });
    }
}

#[test]
fn a_call_that_cannot_be_sent_twice_fails_with_its_channel() {
    let Some(samba) = samba(multichannel()) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut opened = 0;
        let mut cut = false;
        let proxy = SmbProxy::start(samba.address(), move |passing| {
            let is_open = is_answer(passing, CREATE);
            opened += usize::from(is_open);
            // Two directories, the file of `fill`, and its opening.
            if opened == 5 && !cut {
                cut = true;
                return vec![ProxyAction::Close];
            }
            pass(passing)
        });
        let proxy = proxy.expect("a proxy");
        let mut rig = with_file(through(channels(&samba, 2), &proxy));
        let open = SessionAction::Open {
            place: file(1),
            handle: HandleId(1),
            how: OpenFor::Read,
        };
        assert_eq!(rig.session(open).status, Status::Disconnected);
        assert_eq!(of(&rig.counters(), "unreplayed_calls"), 1);
        rig.good(read(0));
        rig.good(open);
    });
}

#[test]
fn a_call_waits_while_the_server_works_on_the_one_of_the_lost_channel() {
    let Some(samba) = samba(multichannel()) else {
        return;
    };
    samba.sandbox().run(|| {
        // The first WRITE of 4096 bytes is cut, the answer to the next one is
        // STATUS_FILE_NOT_AVAILABLE.
        let mut writes = 0;
        let proxy = SmbProxy::start(samba.address(), move |passing| {
            let mut message = passing.message.to_vec();
            if is_answer(passing, WRITE) {
                writes += 1;
                match writes {
                    2 => return vec![ProxyAction::Close],
                    3 => message[8..12].copy_from_slice(&0xC000_0467u32.to_le_bytes()),
                    _ => {}
                }
            }
            vec![ProxyAction::Send(message)]
        });
        let proxy = proxy.expect("a proxy");
        let mut rig = with_file(through(channels(&samba, 2), &proxy));
        all_good(&mut rig, std::iter::once(write(1)));
        let counters = rig.counters();
        assert_eq!(of(&counters, "replay_waits"), 1, "{counters:?}");
        assert_eq!(of(&counters, "WRITE"), 1, "{counters:?}");
    });
}

#[test]
fn with_the_last_channel_the_open_files_are_lost() {
    let Some(samba) = samba(multichannel()) else {
        return;
    };
    samba.sandbox().run(|| {
        let proxy = SmbProxy::start(samba.address(), pass).expect("a proxy");
        let mut rig = with_file(through(channels(&samba, 3), &proxy));
        proxy.cut();
        let lost = rig.session(read(1));
        assert!(
            matches!(lost.status, Status::Disconnected | Status::Refused(_)),
            "{lost:?}"
        );
        for _ in 0..100 {
            let open = SessionAction::Open {
                place: file(1),
                handle: HANDLE,
                how: OpenFor::Update,
            };
            if rig.session(open).status == Status::Ok {
                return until_all_are_up(&mut rig, 3);
            }
        }
        panic!("no session any more");
    });
}

#[test]
fn a_server_without_multichannel_is_refused_or_used_with_one_connection() {
    let off = SambaOptions::default().with("server multi channel support", "no");
    let Some(samba) = samba(off) else {
        return;
    };
    samba.sandbox().run(|| {
        let refused = ShardFixture::open(channels(&samba, 3), 1).map(|_| ());
        let text = refused.expect_err("no session").to_string();
        assert!(
            text.contains("multichannel") && text.contains("SMB_CHANNELS"),
            "{text}"
        );
        let mut plan = channels(&samba, 3);
        plan.fewer_channels = true;
        let mut rig = ShardFixture::ready(plan);
        rig.fill(1, SIZE);
        rig.open_file(1, 0, OpenFor::Update);
        all_good(&mut rig, (0..9).map(read));
        let counters = rig.counters();
        assert_eq!(of(&counters, "channels_refused"), 2, "{counters:?}");
        assert_eq!(calls(&counters, 3)[1..], [0, 0], "{counters:?}");
        assert!(rig.shard.transfer_bytes().0 > 0);
    });
}

#[test]
fn a_refused_binding_is_a_sentence_or_a_channel_less() {
    let Some(samba) = samba(multichannel()) else {
        return;
    };
    for fewer in [false, true] {
        samba.sandbox().run(|| {
            // The second connection is refused in its second step.
            let proxy = SmbProxy::start(samba.address(), |passing| {
                let mut message = passing.message.to_vec();
                let is_last = passing.connection == 1
                    && passing.way == Direction::ToClient
                    && command(passing) == SESSION_SETUP
                    && passing.nth == 2;
                if is_last {
                    message[8..12].copy_from_slice(&0xC000_00D0u32.to_le_bytes());
                }
                vec![ProxyAction::Send(message)]
            });
            let proxy = proxy.expect("a proxy");
            let mut plan = through(channels(&samba, 3), &proxy);
            plan.fewer_channels = fewer;
            let opened = ShardFixture::open(plan, 1);
            let Ok(mut rig) = opened else {
                let text = opened.map(|_| ()).expect_err("refused").to_string();
                assert!(!fewer && text.contains("SMB_CHANNELS_FEWER=on"), "{text}");
                return;
            };
            assert!(fewer);
            assert_eq!(rig.session(SessionAction::Echo).status, Status::Ok);
            rig.good(SessionAction::Echo);
            let counters = rig.counters();
            assert_eq!(of(&counters, "channels_refused"), 1, "{counters:?}");
            assert_eq!(calls(&counters, 3).iter().sum::<u64>(), 2);
        });
    }
}
