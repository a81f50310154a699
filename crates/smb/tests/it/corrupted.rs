//! Servers that do wrong: Samba behind a proxy that changes what passes. The validator has
//! to find exactly that.

use super::rig::{mount, plan, samba};
use super::validation::{claim, run};
use filermark_engine::driver::StopFlag;
use filermark_model::smb::Dialect;
use filermark_smb::login::LoginRefusals;
use filermark_smb::validate::{CheckResult, Level, Report, validate};
use filermark_testbed::{Direction, ProxiedMessage, ProxyAction, Samba, SambaOptions, SmbProxy};
use std::collections::{BTreeMap, BTreeSet};

/// A request as the proxy keeps it for its reply, and those that are under way with it.
type Asked = BTreeMap<u64, Vec<u8>>;
/// What becomes of a message, besides what was changed in it.
enum MessageOutcome {
    Goes,
    Lost,
    Twice,
}
/// Changes a request.
type ToServer = fn(&mut [u8]) -> MessageOutcome;
/// Changes the reply to a request, while so many are under way.
type ToClient = fn(&[u8], &mut [u8], usize) -> MessageOutcome;

fn u16_at(message: &[u8], at: usize) -> u64 {
    let bytes = message.get(at..at + 2).unwrap_or(&[0, 0]);
    u64::from(u16::from_le_bytes(bytes.try_into().unwrap()))
}

fn u32_at(message: &[u8], at: usize) -> u64 {
    u16_at(message, at) | u16_at(message, at + 2) << 16
}

fn u64_at(message: &[u8], at: usize) -> u64 {
    u32_at(message, at) | u32_at(message, at + 4) << 32
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn place_of(message: &[u8], part: &[u8]) -> Option<usize> {
    message
        .windows(part.len())
        .position(|window| window == part)
}

/// What names a request among those of a connection.
fn id_of(message: &[u8]) -> u64 {
    match message.first() {
        Some(0xFF) => u16_at(message, 30),
        _ => u64_at(message, 24),
    }
}

/// Samba behind a proxy with these changes.
fn proxy(samba: &Samba, to_server: ToServer, to_client: ToClient) -> SmbProxy {
    let mut asked: BTreeMap<usize, Asked> = BTreeMap::new();
    let script = move |passing: &ProxiedMessage<'_>| {
        let asked = asked.entry(passing.connection).or_default();
        let mut message = passing.message.to_vec();
        let id = id_of(&message);
        let outcome = if passing.way == Direction::ToServer {
            asked.insert(id, message.clone());
            to_server(&mut message)
        } else {
            let under_way = asked.len();
            let request = match u32_at(&message, 8) {
                // A promise is no reply (SMB2).
                0x103 => asked.get(&id).cloned(),
                _ => asked.remove(&id),
            };
            to_client(&request.unwrap_or_default(), &mut message, under_way)
        };
        match outcome {
            MessageOutcome::Goes => vec![ProxyAction::Send(message)],
            MessageOutcome::Lost => Vec::new(),
            MessageOutcome::Twice => vec![
                ProxyAction::Send(message.clone()),
                ProxyAction::Send(message),
            ],
        }
    };
    SmbProxy::start(samba.address(), script).expect("a proxy")
}

fn failed(report: &Report) -> BTreeSet<&'static str> {
    let failed = report.results.iter().filter(|r| r.is_failure());
    failed.map(|r| r.id).collect()
}

/// Commands of SMB2 that are spoilt.
mod two {
    pub(super) const CREATE: u64 = 5;
    pub(super) const CLOSE: u64 = 6;
    pub(super) const READ: u64 = 8;
    pub(super) const WRITE: u64 = 9;
    pub(super) const LOCK: u64 = 10;
    pub(super) const CANCEL: u64 = 12;
    pub(super) const ECHO: u64 = 13;
    pub(super) const QUERY_DIRECTORY: u64 = 14;
    pub(super) const QUERY_INFO: u64 = 16;
    pub(super) const SET_INFO: u64 = 17;
    pub(super) const OPLOCK_BREAK: u64 = 18;
}

fn set_status(message: &mut [u8], at: usize, status: u32) {
    message[at..at + 4].copy_from_slice(&status.to_le_bytes());
}

/// Drops what is to be written, forgets times, takes nothing back.
fn spoil_request_two(message: &mut [u8]) -> MessageOutcome {
    match u16_at(message, 12) {
        two::CANCEL => return MessageOutcome::Lost,
        two::WRITE if u32_at(message, 64 + 4) == 10_007 => {
            let from = u16_at(message, 64 + 2) as usize;
            message[from..].fill(0);
        }
        // FileBasicInformation: the time of the last write.
        two::SET_INFO if message[64 + 3] == 4 => message[96 + 16..96 + 24].fill(0),
        _ => {}
    }
    MessageOutcome::Goes
}

fn spoil_reply_two(request: &[u8], message: &mut [u8], under_way: usize) -> MessageOutcome {
    let status = u32_at(message, 8);
    let is_alone = u32_at(message, 20) == 0 && u32_at(request, 20) == 0;
    match u16_at(message, 12) {
        two::CREATE
            if is_alone
                && status == 0xC000_0034
                && place_of(request, &utf16(r"\nothing")).is_some() =>
        {
            set_status(message, 8, 0xC000_003A);
        }
        two::CLOSE if status == 0xC000_0128 => set_status(message, 8, 0xC000_0022),
        two::READ if u32_at(request, 64 + 4) == 33_333 => *message.last_mut().unwrap() ^= 1,
        two::LOCK if u64_at(request, 64 + 24) == 199 => set_status(message, 8, 0),
        two::ECHO if under_way > 10 => return MessageOutcome::Twice,
        two::QUERY_DIRECTORY if u32_at(request, 64 + 28) == 4096 => {
            if let Some(at) = place_of(message, &utf16("entry-0207")) {
                message[at..at + 20].copy_from_slice(&utf16("entry-0206"));
            }
        }
        // The revision of a security descriptor of which all parts were asked for.
        two::QUERY_INFO
            if status == 0 && request.get(64 + 2) == Some(&3) && u32_at(request, 64 + 16) == 7 =>
        {
            message[72] = 9;
        }
        // The break of a lease that has everything.
        two::OPLOCK_BREAK if u16_at(message, 64) == 44 && u32_at(message, 64 + 24) == 7 => {
            return MessageOutcome::Lost;
        }
        _ => {}
    }
    MessageOutcome::Goes
}

#[test]
fn wrong_answers_of_smb2_are_found_and_nothing_else() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let proxy = proxy(&samba, spoil_request_two, spoil_reply_two);
        let mut plan = plan(&samba, Dialect::V210);
        plan.port = proxy.address().port();
        plan.reply_timeout_ms = 2_000;
        let report = run(&plan);
        let wanted = BTreeSet::from([
            "close.twice",
            "close.unknown",
            "echo.many",
            "find.all_once",
            "lease.write",
            "lock.cancel",
            "lock.conflict",
            "notify.cancel",
            "open.missing",
            "query_security.sound",
            "read.back",
            "set_file.times",
            "set_file.times_left",
            "write.many",
        ]);
        assert_eq!(failed(&report), wanted);
        assert_eq!((&report.cut_short, &report.leftovers), (&None, &None));
        assert!(!samba.files(Samba::DATA).join("filermark.validate").exists());
    });
}

/// What `lock.waits_for_close` comes to where the server loses the wake-ups of so many closes.
fn waits_for_close(samba: &Samba, losses: usize) -> CheckResult {
    let mut waits = 0;
    let proxy = SmbProxy::start(samba.address(), move |passing| {
        const ASYNC: u64 = 2;
        const EXCLUSIVE: u64 = 2;
        let message = passing.message;
        let is_lock = u16_at(message, 12) == two::LOCK;
        if passing.way == Direction::ToServer {
            // An exclusive one that does not fail at once.
            waits += usize::from(is_lock && u32_at(message, 64 + 40) == EXCLUSIVE);
        }
        let is_grant = is_lock && u32_at(message, 8) == 0 && u32_at(message, 16) & ASYNC != 0;
        // The first two are those of the checks before.
        match passing.way == Direction::ToClient && is_grant && (3..3 + losses).contains(&waits) {
            true => Vec::new(),
            false => vec![ProxyAction::Send(message.to_vec())],
        }
    });
    let proxy = proxy.expect("a proxy");
    let mut plan = plan(samba, Dialect::V210);
    plan.port = proxy.address().port();
    plan.reply_timeout_ms = 1_000;
    let report = run(&plan);
    assert_eq!(report.cut_short, None);
    let mut results = report.results.into_iter();
    let result = results.find(|r| r.id == "lock.waits_for_close");
    result.expect("a result of the check")
}

#[test]
fn a_lost_wake_up_is_a_note_and_none_at_all_is_a_failure() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let once = waits_for_close(&samba, 1);
        assert!(!once.is_failure(), "{}", once.render_text());
        let [note] = once.notes.as_slice() else {
            panic!("{}", once.render_text());
        };
        assert!(note.contains("lost a wake-up"), "{note}");
        let never = waits_for_close(&samba, usize::MAX - 3);
        assert!(never.is_failure(), "{}", never.render_text());
    });
}

/// Commands of SMB1 that are spoilt.
mod one {
    pub(super) const LOCKING: u8 = 0x24;
    pub(super) const ECHO: u8 = 0x2B;
    pub(super) const READ: u8 = 0x2E;
    pub(super) const WRITE: u8 = 0x2F;
    pub(super) const TRANS2: u8 = 0x32;
    pub(super) const CREATE: u8 = 0xA2;
    pub(super) const CANCEL: u8 = 0xA4;
}

fn spoil_request_one(message: &mut [u8]) -> MessageOutcome {
    match message[4] {
        one::CANCEL => return MessageOutcome::Lost,
        one::WRITE if u16_at(message, 33 + 20) == 10_007 => message[64..].fill(0),
        _ => {}
    }
    MessageOutcome::Goes
}

fn spoil_reply_one(request: &[u8], message: &mut [u8], under_way: usize) -> MessageOutcome {
    let status = u32_at(message, 5);
    match message[4] {
        one::CREATE if status == 0xC000_0034 => set_status(message, 5, 0xC000_003A),
        one::READ if u16_at(request, 33 + 10) == 33_333 => *message.last_mut().unwrap() ^= 1,
        // The range's offset is behind pid and padding.
        one::LOCKING if status != 0 && u32_at(request, 51 + 8) == 199 => {
            set_status(message, 5, 0);
        }
        one::ECHO if under_way > 10 => return MessageOutcome::Twice,
        one::TRANS2 if u16_at(request, 33 + 6) == 4096 => {
            if let Some(at) = place_of(message, &utf16("entry-0207")) {
                message[at..at + 20].copy_from_slice(&utf16("entry-0206"));
            }
        }
        _ => {}
    }
    MessageOutcome::Goes
}

#[test]
fn wrong_answers_of_smb1_are_found_and_nothing_else() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let proxy = proxy(&samba, spoil_request_one, spoil_reply_one);
        let mut plan = plan(&samba, Dialect::Nt1);
        plan.port = proxy.address().port();
        plan.reply_timeout_ms = 2_000;
        let report = run(&plan);
        let wanted = BTreeSet::from([
            "echo.many",
            "find.all_once",
            "lock.cancel",
            "lock.conflict",
            "notify.cancel",
            "open.missing",
            "open.overwrite",
            "read.back",
            "write.many",
        ]);
        assert_eq!(failed(&report), wanted);
        assert_eq!((&report.cut_short, &report.leftovers), (&None, &None));
        assert!(!samba.files(Samba::DATA).join("filermark.validate").exists());
    });
}

#[test]
fn level_1_ends_with_the_first_failure() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let proxy = proxy(&samba, |_| MessageOutcome::Goes, spoil_reply_two);
        let mut plan = plan(&samba, Dialect::V210);
        plan.dialects.1 = Dialect::V300;
        plan.port = proxy.address().port();
        let (stop, mut sink) = (StopFlag::new(), |_: &CheckResult| {});
        let report = validate(
            &plan,
            &mount(),
            &claim(),
            Level::First,
            &stop,
            &LoginRefusals::default(),
            &mut sink,
        );
        let report = report.expect("a share to claim");
        assert_eq!(failed(&report).len(), 1);
        assert!(report.results.last().is_some_and(CheckResult::is_failure));
        assert!(report.summary().contains("level 1"), "{}", report.summary());
        assert!(!samba.files(Samba::DATA).join("filermark.validate").exists());
    });
}

#[test]
fn a_wish_to_stop_ends_it_after_the_check_and_leaves_nothing() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let stop = StopFlag::new();
        let mut count = 0;
        let mut sink = |_: &CheckResult| {
            count += 1;
            if count == 5 {
                stop.raise();
            }
        };
        let mut plan = plan(&samba, Dialect::V300);
        plan.dialects.1 = Dialect::V311;
        let report = validate(
            &plan,
            &mount(),
            &claim(),
            Level::All,
            &stop,
            &LoginRefusals::default(),
            &mut sink,
        );
        let report = report.expect("a share to claim");
        assert_eq!(report.results.len(), 5);
        assert_eq!(report.cut_short.as_deref(), Some("on request"));
        assert!(!report.is_success());
        assert!(!samba.files(Samba::DATA).join("filermark.validate").exists());
    });
}

/// The server goes away for good in the middle: the report shows since when, and what stays.
#[test]
fn a_server_that_goes_away_cuts_it_short() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut is_gone = false;
        let proxy = SmbProxy::start(samba.address(), move |passing| {
            is_gone |= place_of(passing.message, &utf16(r"\new")).is_some();
            match is_gone {
                true => vec![ProxyAction::Close],
                false => vec![ProxyAction::Send(passing.message.to_vec())],
            }
        });
        let proxy = proxy.expect("a proxy");
        let mut plan = plan(&samba, Dialect::V302);
        plan.dialects.1 = Dialect::V311;
        plan.port = proxy.address().port();
        plan.reply_timeout_ms = 1_000;
        plan.connect_timeout_ms = 1_000;
        let report = run(&plan);
        assert_eq!(failed(&report), BTreeSet::from(["open.create"]));
        let why = report.cut_short.clone().unwrap_or_default();
        assert!(
            why.contains("3.0.2") && why.contains("open.create"),
            "{why}"
        );
        let left = report.leftovers.clone().unwrap_or_default();
        assert!(left.contains("filermark.validate stays"), "{left}");
        assert!(!report.is_success());
        let tried: BTreeSet<_> = report.results.iter().filter_map(|r| r.dialect).collect();
        assert_eq!(tried, BTreeSet::from(["3.0.2"]));
    });
}

#[test]
fn dialects_that_the_server_has_not_got_are_skipped() {
    let Some(samba) = samba(SambaOptions {
        dialects: ("SMB2_10", "SMB3_00"),
        ..SambaOptions::default()
    }) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut plan = plan(&samba, Dialect::V300);
        plan.dialects.1 = Dialect::V311;
        let stop = StopFlag::new();
        let mut texts = Vec::new();
        let mut sink = |result: &CheckResult| {
            if result.id == "session.made" {
                texts.push(result.render_text());
            }
        };
        let report = validate(
            &plan,
            &mount(),
            &claim(),
            Level::All,
            &stop,
            &LoginRefusals::default(),
            &mut sink,
        );
        let report = report.expect("a share to claim");
        assert!(report.is_success(), "{}", report.summary());
        assert!(texts[0].starts_with("pass  3.0 "), "{texts:?}");
        for text in &texts[1..] {
            assert!(text.starts_with("skip  3."), "{texts:?}");
            assert!(text.contains("it offers 2.1 and 3.0"), "{texts:?}");
        }
        assert_eq!(texts.len(), 3);
    });
}
