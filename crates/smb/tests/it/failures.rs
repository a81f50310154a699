//! Lost connections, late replies, expired sessions, refused users, servers that make no
//! sense.

use super::rig::{ShardFixture, file, plan, samba};
use filermark_engine::driver::*;
use filermark_engine::session_action::{HandleId, OpenFor, SessionAction};
use filermark_model::Secret;
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Auth, Dialect, Encryption, Signing};
use filermark_testbed::{Direction, FakeSmb, ProxiedMessage, ProxyAction, SambaOptions, SmbProxy};
use std::time::{Duration, Instant};

const SIZE: u64 = 1 << 20;
const HANDLE: HandleId = HandleId(0);

fn read(at: u64) -> SessionAction {
    SessionAction::Read {
        handle: HANDLE,
        file: 1,
        offset: at * 4096,
        length: 4096,
    }
}

/// A plan for what listens at `port` instead of the server itself.
fn through(mut plan: SmbPlan, port: u16) -> SmbPlan {
    plan.port = port;
    plan
}

fn pass(passing: &ProxiedMessage<'_>) -> Vec<ProxyAction> {
    vec![ProxyAction::Send(passing.message.to_vec())]
}

/// A file, open to be read.
fn with_file(plan: SmbPlan) -> ShardFixture {
    let mut rig = ShardFixture::ready(plan);
    rig.fill(1, SIZE);
    rig.open_file(1, 0, OpenFor::Read);
    rig
}

#[test]
fn a_cut_connection_takes_with_it_what_was_open_and_is_made_anew() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for dialect in [Dialect::Nt1, Dialect::V311] {
        samba.sandbox().run(|| {
            let proxy = SmbProxy::start(samba.address(), pass).expect("a proxy");
            let mut rig = with_file(through(plan(&samba, dialect), proxy.address().port()));
            rig.good(read(0));
            proxy.cut();
            // The next one meets the end of the connection, or finds the file lost with it.
            let lost = rig.session(read(1));
            assert!(
                matches!(lost.status, Status::Disconnected | Status::Refused(_)),
                "{lost:?}"
            );
            let handle = HANDLE;
            let gone = rig.session(SessionAction::Close { handle });
            assert!(matches!(gone.status, Status::Refused(_)), "{gone:?}");
            rig.open_file(1, 0, OpenFor::Read);
            rig.good(read(2));
            assert_eq!(rig.counters().get("reconnects"), Some(&1));
        });
    }
}

#[test]
fn many_compounds_under_way_end_once_each_when_the_connection_is_cut() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let proxy = SmbProxy::delaying(samba.address(), Duration::from_millis(50));
        let proxy = proxy.expect("a proxy");
        let mut rig = with_file(through(plan(&samba, Dialect::V311), proxy.address().port()));
        let action = SessionAction::QueryPath { place: file(1) };
        let tokens: Vec<_> = (0..20)
            .map(|_| rig.submit(0, Action::Session(action)).expect("queued"))
            .collect();
        rig.shard.flush();
        proxy.cut();
        let mut done: Vec<_> = rig.wait(20).iter().map(|c| c.token).collect();
        done.sort_unstable();
        assert_eq!(done, tokens);
    });
}

#[test]
fn a_reply_that_does_not_come_ends_the_connection() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        // The first reply to a READ (command 8) is lost.
        let mut lost = false;
        let proxy = SmbProxy::start(samba.address(), move |passing| {
            let is_read = passing.message.get(12) == Some(&8);
            if passing.way == Direction::ToClient && is_read && !lost {
                lost = true;
                return Vec::new();
            }
            pass(passing)
        });
        let proxy = proxy.expect("a proxy");
        let mut plan = through(plan(&samba, Dialect::V311), proxy.address().port());
        plan.reply_timeout_ms = 700;
        let mut rig = with_file(plan);
        let began = Instant::now();
        assert_eq!(rig.session(read(0)).status, Status::TimedOut);
        let took = began.elapsed();
        assert!(
            took > Duration::from_millis(700) && took < Duration::from_secs(3),
            "{took:?}"
        );
        rig.open_file(1, 0, OpenFor::Read);
        rig.good(read(0));
        assert_eq!(rig.counters().get("timeouts"), Some(&1));
    });
}

/// STATUS_NETWORK_SESSION_EXPIRED: the user is proved anew on the same connection, files
/// stay open, and the only effect is a longer response time.
#[test]
fn an_expired_session_is_renewed() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut left = 3;
        let proxy = SmbProxy::start(samba.address(), move |passing| {
            let is_read = passing.message.get(12) == Some(&8);
            let mut message = passing.message.to_vec();
            if passing.way == Direction::ToClient && is_read && left > 0 {
                left -= 1;
                message[8..12].copy_from_slice(&0xC000_035Cu32.to_le_bytes());
            }
            vec![ProxyAction::Send(message)]
        });
        let proxy = proxy.expect("a proxy");
        let mut rig = with_file(through(plan(&samba, Dialect::V311), proxy.address().port()));
        let tokens: Vec<_> = (0..10)
            .map(|at| rig.submit(0, Action::Session(read(at))).expect("queued"))
            .collect();
        let done = rig.wait(tokens.len());
        assert!(
            done.iter().all(|c| c.outcome.status == Status::Ok),
            "{done:?}"
        );
        let counters = rig.counters();
        assert_eq!(counters.get("session_renewals"), Some(&1), "{counters:?}");
        assert_eq!(counters.get("reconnects"), None, "{counters:?}");
        let logons = samba.logons();
        assert_eq!(
            logons.iter().filter(|l| l.succeeded()).count(),
            2,
            "{logons:?}"
        );
    });
}

/// Hundreds of procs with a wrong password are one attempt: accounts are locked after a few.
#[test]
fn a_wrong_password_is_tried_once() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for dialect in [Dialect::Nt1, Dialect::V311] {
        samba.sandbox().run(|| {
            let before = samba.logons().len();
            let mut plan = plan(&samba, dialect);
            plan.password = Secret::new("Not-this-1");
            let error = ShardFixture::open(plan, 200)
                .err()
                .expect("refused")
                .to_string();
            assert!(error.contains("STATUS_LOGON_FAILURE"), "{error}");
            assert!(
                error.contains("PASSWORD") && !error.contains("Not-this-1"),
                "{error}"
            );
            let tried = &samba.logons()[before..];
            assert_eq!(tried.len(), 1, "{tried:?}");
        });
    }
}

#[test]
fn refusals_have_a_reason_and_advice() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    type Change = fn(&mut SmbPlan);
    let cases: [(Change, &str); 4] = [
        (
            |p| p.signing = Signing::AesGmac,
            // 2.1 has no GMAC.
            "AES",
        ),
        (|p| p.encryption = Encryption::Required, "ncrypt"),
        (|p| p.auth = Auth::Anonymous, "ACCESS_DENIED"),
        (|p| p.auth = Auth::Guest, "LOGON_FAILURE"),
    ];
    for (change, word) in cases {
        samba.sandbox().run(|| {
            let mut plan = plan(&samba, Dialect::V210);
            change(&mut plan);
            let error = ShardFixture::open(plan, 1).err().expect(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        });
    }
}

#[test]
fn servers_that_make_no_sense_are_refused_and_not_waited_for() {
    let noise: [&[u8]; 4] = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[0, 0xff, 0xff, 0xff, 0xfe],
        &[0, 0, 0, 4, 1, 2, 3, 4],
        &[0, 0, 0, 0],
    ];
    for bytes in noise {
        let bytes = bytes.to_vec();
        let server = FakeSmb::start(move |_| vec![ProxyAction::Raw(bytes.clone())]);
        let port = server.as_ref().expect("a server").address().port();
        for dialect in [Dialect::Nt1, Dialect::V311] {
            let plan = SmbPlan {
                port,
                connect_timeout_ms: 1_000,
                reply_timeout_ms: 1_000,
                ..anonymous(dialect)
            };
            let began = Instant::now();
            assert!(ShardFixture::open(plan, 2).is_err());
            assert!(began.elapsed() < Duration::from_secs(10));
        }
    }
    let silent = FakeSmb::silent().expect("a server");
    let plan = SmbPlan {
        port: silent.address().port(),
        connect_timeout_ms: 500,
        reply_timeout_ms: 500,
        ..anonymous(Dialect::V311)
    };
    let error = ShardFixture::open(plan, 1)
        .err()
        .expect("silence")
        .to_string();
    assert!(error.contains("timed out"), "{error}");
}

/// Settings that no server is needed for.
fn anonymous(dialect: Dialect) -> SmbPlan {
    SmbPlan {
        channels: 1,
        fewer_channels: false,
        dialects: (dialect, dialect),
        signing: Signing::Auto,
        encryption: Encryption::Auto,
        auth: Auth::Anonymous,
        password: Secret::NONE,
        port: 445,
        ip: filermark_model::plan::IpChoice::V4,
        block_size_max: None,
        biod_max_reads: 2,
        biod_max_writes: 2,
        connections: filermark_model::plan::Connections::PerProc,
        reply_timeout_ms: 5_000,
        connect_timeout_ms: 5_000,
    }
}

/// Whatever protects the messages, what smbstatus says is what was asked for.
#[test]
fn signing_and_ciphers_are_as_asked_for() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let (none, off) = ("-", Encryption::Off);
    let cases = [
        (Dialect::V202, Signing::Required, off, "HMAC-SHA256", none),
        (Dialect::V210, Signing::HmacSha256, off, "HMAC-SHA256", none),
        (Dialect::V300, Signing::AesCmac, off, "AES-128-CMAC", none),
        (Dialect::V311, Signing::AesGmac, off, "AES-128-GMAC", none),
        (Dialect::V311, Signing::AesCmac, off, "AES-128-CMAC", none),
        (
            Dialect::V300,
            Signing::Auto,
            Encryption::Aes128Ccm,
            none,
            "AES-128-CCM",
        ),
        (
            Dialect::V311,
            Signing::Auto,
            Encryption::Aes128Gcm,
            none,
            "AES-128-GCM",
        ),
        (
            Dialect::V311,
            Signing::Auto,
            Encryption::Aes256Ccm,
            none,
            "AES-256-CCM",
        ),
        (
            Dialect::V311,
            Signing::Auto,
            Encryption::Aes256Gcm,
            none,
            "AES-256-GCM",
        ),
    ];
    for (dialect, signing, encryption, signed, sealed) in cases {
        samba.sandbox().run(|| {
            let mut plan = plan(&samba, dialect);
            (plan.signing, plan.encryption) = (signing, encryption);
            let mut rig = with_file(plan);
            rig.good(read(0));
            let status = samba.status().expect("smbstatus");
            let session = &status.sessions[0];
            let of = format!("{dialect} {signing:?} {encryption:?}: {session:?}");
            for (wanted, is) in [(signed, &session.signing), (sealed, &session.encryption)] {
                let is_so = wanted == none || (is.cipher == wanted && !is.degree.is_empty());
                assert!(is_so, "{wanted}: {of}");
            }
        });
    }
}

/// A call that waits for its turn when the connection is cut is never sent on what the
/// same number means on the next one.
#[test]
fn calls_on_lost_files_are_not_sent_on_the_next_connection() {
    let Some(samba) = samba(SambaOptions::default().with("max mux", 2)) else {
        return;
    };
    samba.sandbox().run(|| {
        let proxy = SmbProxy::delaying(samba.address(), Duration::from_millis(30));
        let proxy = proxy.expect("a proxy");
        let mut rig = with_file(through(plan(&samba, Dialect::Nt1), proxy.address().port()));
        for at in 0..20 {
            rig.submit(0, Action::Session(read(at))).expect("queued");
        }
        rig.shard.flush();
        proxy.cut();
        let open = SessionAction::Open {
            place: file(1),
            handle: HandleId(1),
            how: OpenFor::Read,
        };
        rig.submit(0, Action::Session(open)).expect("queued");
        let done = rig.wait(21);
        let worked = done.iter().filter(|c| c.outcome.status == Status::Ok);
        let tokens: Vec<_> = worked.map(|c| c.token).collect();
        assert_eq!(tokens.len(), 1, "only the open: {done:?}");
    });
}

/// A server that grants a handful of credits: large transfers are made smaller, nothing hangs.
#[test]
fn few_credits_make_transfers_small() {
    let Some(samba) = samba(SambaOptions::default().with("smb2 max credits", 4)) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut rig = with_file(plan(&samba, Dialect::V311));
        let whole = SessionAction::Read {
            handle: HANDLE,
            file: 1,
            offset: 0,
            length: SIZE as u32,
        };
        assert_eq!(rig.good(whole).read_bytes, SIZE);
        rig.good(SessionAction::QueryPath { place: file(1) });
        for at in 0..40 {
            rig.submit(0, Action::Session(read(at))).expect("queued");
        }
        assert!(rig.wait(40).iter().all(|c| c.outcome.status == Status::Ok));
        assert!(rig.counters().contains_key("credit_waits"));
    });
}

/// The server ends the session (an administrator did, or it moved): the connection is made
/// anew, with SMB1 also when the session has expired.
#[test]
fn a_session_that_is_gone_is_made_anew() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let cases = [
        // Where the command is, READ's, where the status is, what it says.
        (Dialect::V311, 12, 8u8, 8, 0xC000_0203u32),
        (Dialect::V311, 12, 8, 8, 0xC000_00C9),
        (Dialect::Nt1, 4, 0x2E, 5, 0xC000_035C),
        (Dialect::Nt1, 4, 0x2E, 5, 0x005B_0002),
    ];
    for (dialect, command_at, command, status_at, status) in cases {
        samba.sandbox().run(|| {
            let mut done = false;
            let proxy = SmbProxy::start(samba.address(), move |passing| {
                let mut message = passing.message.to_vec();
                let is_read = message.get(command_at) == Some(&command);
                if passing.way == Direction::ToClient && is_read && !done {
                    done = true;
                    message[status_at..status_at + 4].copy_from_slice(&status.to_le_bytes());
                }
                vec![ProxyAction::Send(message)]
            });
            let proxy = proxy.expect("a proxy");
            let mut rig = with_file(through(plan(&samba, dialect), proxy.address().port()));
            let lost = rig.session(read(0));
            assert_eq!(lost.status, Status::Disconnected, "{status:#x}");
            rig.open_file(1, 0, OpenFor::Read);
            rig.good(read(0));
            assert_eq!(rig.counters().get("reconnects"), Some(&1));
        });
    }
}
