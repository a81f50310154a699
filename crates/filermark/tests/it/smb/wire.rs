//! The messages on the wire, from Wireshark's dissectors: every message is well-formed, and their
//! number and times are those of the record.

use super::{ProtocolCase, readable, samba, sweep};
use crate::load_guard::{alone, beside_others, when_quiet};
use crate::sweep::Ended;
use crate::wire::between_pauses;
use filermark_model::Op;
use filermark_testbed::{Capture, Pcap, Samba, SmbProxy, available};
use std::collections::BTreeMap;
use std::time::Duration;

/// Messages of each kind of call, by protocol.
fn messages(case: ProtocolCase, kind: &str) -> &'static [&'static str] {
    match (case, kind) {
        (_, "ECHO") => &["ECHO"],
        (_, "CLOSE") => &["CLOSE"],
        (_, "FLUSH") => &["FLUSH"],
        (ProtocolCase::Smb1, "OPEN") => &["NT_CREATE_ANDX"],
        (ProtocolCase::Smb1, "READ") => &["READ_ANDX"],
        (ProtocolCase::Smb1, "WRITE") => &["WRITE_ANDX"],
        (ProtocolCase::Smb1, "LOCK") => &["LOCKING_ANDX"],
        (ProtocolCase::Smb1, "QUERY_FILE") => &["TRANS2_QUERY_FILE_INFORMATION"],
        (ProtocolCase::Smb1, "QUERY_SECURITY") => &["NT_TRANSACT_QUERY_SECURITY_DESC"],
        (ProtocolCase::Smb1, "SET_TIMES" | "SET_SIZE" | "SET_DELETE") => {
            &["TRANS2_SET_FILE_INFORMATION"]
        }
        (ProtocolCase::Smb1, "QUERY_PATH") => &["TRANS2_QUERY_PATH_INFORMATION"],
        (ProtocolCase::Smb1, "QUERY_FS") => &["TRANS2_QUERY_FS_INFORMATION"],
        (ProtocolCase::Smb1, "FIND") => &["TRANS2_FIND_FIRST2"],
        (ProtocolCase::Smb1, "MAKE_DIR") => &["CREATE_DIRECTORY"],
        (ProtocolCase::Smb1, "REMOVE_FILE") => &["DELETE"],
        (ProtocolCase::Smb1, "REMOVE_DIR") => &["DELETE_DIRECTORY"],
        (_, "OPEN") => &["CREATE"],
        (_, "READ") => &["READ"],
        (_, "WRITE") => &["WRITE"],
        (_, "LOCK") => &["LOCK"],
        (_, "QUERY_FILE" | "QUERY_SECURITY") => &["QUERY_INFO"],
        (_, "SET_TIMES" | "SET_SIZE" | "SET_DELETE") => &["SET_INFO"],
        (_, "QUERY_PATH" | "QUERY_FS") => &["CREATE", "QUERY_INFO", "CLOSE"],
        (_, "FIND") => &["CREATE", "QUERY_DIRECTORY", "CLOSE"],
        (_, "MAKE_DIR" | "REMOVE_FILE" | "REMOVE_DIR") => &["CREATE", "CLOSE"],
        _ => &[],
    }
}

/// The record's counts of messages at its one point, by name.
fn counted(ended: &Ended, case: ProtocolCase) -> BTreeMap<String, u64> {
    let stats = ended.point(1).stats.expect("figures");
    let mut counts = BTreeMap::new();
    for (kind, count) in &stats.counters {
        for name in messages(case, kind) {
            *counts.entry((*name).to_owned()).or_insert(0) += count;
        }
    }
    counts
}

#[test]
fn tshark_finds_every_message_of_a_run_well_formed_and_counted() {
    let _turn = beside_others();
    let Some(samba) = samba(readable()) else {
        return;
    };
    for case in ProtocolCase::ALL {
        let capture = Capture::start_smb(samba.sandbox(), samba.interface(), &[samba.port()]);
        let Some(capture) = available(capture) else {
            return;
        };
        // KEEP: RUN is then the last phase with calls.
        let ended = sweep(&samba, Samba::DATA, case)
            .set("LOAD", 300)
            .set("PROCS", 6)
            .set("RUNTIME", 4)
            // dumpcap must not miss a packet while INIT is at full speed.
            .set("FILESET_MB_PER_OP", 0.005)
            .set("INIT_WINDOW", 2)
            .set("KEEP", "on")
            .succeed();
        let pcap = capture.stop().expect("the capture ends");
        let odd = (pcap.malformed().expect("tshark"), pcap.dropped());
        assert_eq!(odd, (0, 0), "{case:?}");
        let ours = counted(&ended, case);
        // The server gets no calls for a tenth of a second between INIT and RUN; after RUN the
        // marker is written a last time over a separate connection.
        let theirs = between_pauses(&frames(&pcap), |frame| frame == "NEGOTIATE");
        let found = theirs.iter().find(|frames| commands(frames) == ours);
        let found = found.unwrap_or_else(|| panic!("{case:?}: {ours:?}\nnot in {theirs:?}"));
        assert_physical(&ended, case, found);
        clear(&samba);
    }
}

/// The requests of a capture: the time and the commands of each frame.
fn frames(pcap: &Pcap) -> Vec<(f64, Vec<String>)> {
    let packets = pcap.smb_frames().expect("tshark").into_iter();
    let joined = |frames: Vec<Vec<String>>| frames.iter().map(|f| f.join("+")).collect();
    packets.map(|(time, of)| (time, joined(of))).collect()
}

/// The commands in frames, each one of a compound separately.
fn commands(frames: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (frame, count) in frames {
        for command in frame.split('+') {
            *counts.entry(command.to_owned()).or_insert(0) += count;
        }
    }
    counts
}

/// The frames of an operation.
fn frame_of(case: ProtocolCase, op: Op) -> &'static str {
    match (case, op) {
        (_, Op::Echo) => "ECHO",
        (_, Op::Close) => "CLOSE",
        (_, Op::Flush) => "FLUSH",
        (ProtocolCase::Smb1, Op::Open) => "NT_CREATE_ANDX",
        (ProtocolCase::Smb1, Op::Read) => "READ_ANDX",
        (ProtocolCase::Smb1, Op::Write) => "WRITE_ANDX",
        (ProtocolCase::Smb1, Op::Lock) => "LOCKING_ANDX",
        (ProtocolCase::Smb1, Op::QueryFile) => "TRANS2_QUERY_FILE_INFORMATION",
        (ProtocolCase::Smb1, Op::QueryPath) => "TRANS2_QUERY_PATH_INFORMATION",
        (ProtocolCase::Smb1, Op::QueryFs) => "TRANS2_QUERY_FS_INFORMATION",
        (ProtocolCase::Smb1, Op::QuerySecurity) => "NT_TRANSACT_QUERY_SECURITY_DESC",
        (ProtocolCase::Smb1, Op::SetFile) => "TRANS2_SET_FILE_INFORMATION",
        (ProtocolCase::Smb1, Op::Find) => "TRANS2_FIND_FIRST2",
        (_, Op::Open) => "CREATE",
        (_, Op::Read) => "READ",
        (_, Op::Write) => "WRITE",
        (_, Op::Lock) => "LOCK",
        (_, Op::QueryFile | Op::QuerySecurity) => "QUERY_INFO",
        (_, Op::QueryPath | Op::QueryFs) => "CREATE+QUERY_INFO+CLOSE",
        (_, Op::SetFile) => "SET_INFO",
        (_, Op::Find) => "CREATE+QUERY_DIRECTORY+CLOSE",
        (_, other) => panic!("{other} is not in the mix"),
    }
}

/// Logical and physical operations of the table in sfslog, by name.
fn table(sfslog: &str) -> BTreeMap<&str, (u64, u64)> {
    let row = |line: &'_ str| -> Option<(u64, u64)> {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, target, actual, logical, physical, ..] = columns[..] else {
            return None;
        };
        let are_shares = target.ends_with('%') && actual.ends_with('%');
        let counts = (logical.parse().ok()?, physical.parse().ok()?);
        are_shares.then_some(counts)
    };
    let lines = sfslog.lines();
    lines
        .filter_map(|line| Some((line.split_whitespace().next()?, row(line)?)))
        .collect()
}

/// The physical operations of sfslog are the frames on the wire, for each kind. Only those that
/// began in RUN and did not end in it (`late_count`, `open_count`) have frames that are not counted.
fn assert_physical(ended: &Ended, case: ProtocolCase, frames: &BTreeMap<String, u64>) {
    let (sfslog, record) = (ended.file("sfslog"), ended.record());
    let (table, protocol) = (table(&sfslog), record.run.plan.benchmark.protocol);
    let stats = record.points[0].measured().expect("measured");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    // By the frame: physical operations, and how many did not end in RUN.
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for op in &stats.ops {
        let name: String = protocol.op_name(op.op).to_uppercase();
        let name = &name[..name.len().min(30)];
        let (logical, physical) = table.get(name).copied().unwrap_or_default();
        assert_eq!(logical, op.success_count, "{case:?} {name}:\n{sfslog}");
        let sum = kinds.entry(frame_of(case, op.op)).or_default();
        *sum = (sum.0 + physical, sum.1 + op.late_count + op.open_count);
    }
    let total: u64 = kinds.values().map(|(physical, _)| physical).sum();
    let line = format!("OPERATIONS: {total}\n");
    assert!(sfslog.contains(&line), "{case:?}: {line} in:\n{sfslog}");
    assert!(kinds.len() >= 10, "{kinds:?}");
    for (kind, (physical, late)) in kinds {
        let sent = frames.get(kind).copied().unwrap_or(0);
        println!("{case:?} {kind}: {physical} in sfslog, {sent} on the wire, {late} late");
        let is_one = !kind.starts_with("READ") && !kind.starts_with("WRITE");
        match late {
            _ if is_one => assert_eq!(physical + late, sent, "{case:?} {kind}"),
            0 => assert_eq!(physical, sent, "{case:?} {kind}"),
            // Transfers may take several frames.
            late => assert!(physical + late <= sent, "{case:?} {kind}"),
        }
    }
}

/// Removes a kept file set.
fn clear(samba: &Samba) {
    for entry in std::fs::read_dir(samba.files(Samba::DATA))
        .expect("list")
        .flatten()
    {
        std::fs::remove_dir_all(entry.path()).expect("remove what was kept");
    }
}

/// The record's mean service times compared with those between the packets: within 5 us or 5 %. A
/// proxy delays replies, so that 5 % are more than the wake-up of a sleeping thread.
#[test]
fn alone_tshark_measures_the_same_service_times() {
    let _turn = alone();
    let Some(samba) = samba(readable()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        when_quiet(|| {
            let Some(times) = service_times(&samba, case) else {
                return Ok(());
            };
            let near =
                |(ours, theirs): &(f64, f64)| (ours - theirs).abs() <= (0.05 * theirs).max(5.0);
            match times.iter().all(near) {
                true => Ok(()),
                false => Err(format!("record and capture in us: {times:?}")),
            }
        });
    }
}

/// Mean service times in us, of the record and of the capture of the same run.
fn service_times(samba: &Samba, case: ProtocolCase) -> Option<Vec<(f64, f64)>> {
    let (sandbox, server) = (samba.sandbox(), samba.address());
    let delay = Duration::from_millis(7);
    let proxy = sandbox.run(|| SmbProxy::delaying(server, delay).expect("a proxy"));
    let port = proxy.address().port();
    let capture = available(Capture::start_smb(sandbox, samba.interface(), &[port]))?;
    let ended = sweep(samba, Samba::DATA, case)
        .set("SMB_PORT", port)
        // tshark does not read longer messages on ports other than 445.
        .set("BLOCK_SIZE", 64)
        .set("LOAD", 300)
        .set("PROCS", 6)
        .set("RUNTIME", 4)
        .set("FILESET_MB_PER_OP", 0.01)
        .set("KEEP", "on")
        .succeed();
    let pcap = capture.stop().expect("the capture ends");
    clear(samba);
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let times = pcap.smb_times().expect("tshark");
    let stats = ended.point(1).stats.expect("figures");
    // One message each, and many more calls than in INIT.
    let ops: &[(Op, &str)] = match case {
        ProtocolCase::Smb1 => &[
            (Op::QueryFile, "TRANS2_QUERY_FILE_INFORMATION"),
            (Op::QueryPath, "TRANS2_QUERY_PATH_INFORMATION"),
            (Op::Find, "TRANS2_FIND_FIRST2"),
        ],
        _ => &[(Op::Find, "QUERY_DIRECTORY"), (Op::SetFile, "SET_INFO")],
    };
    let both = ops.iter().map(|(op, name)| {
        let ours = stats.op(*op).expect("in the mix").service.mean_ns() / 1e3;
        let theirs = times.iter().find(|row| row.name == *name);
        let theirs = theirs.expect("tshark has it").mean_us;
        println!("{op}: {ours:.1} us, tshark {theirs:.1} us");
        (ours, theirs)
    });
    Some(both.collect())
}
