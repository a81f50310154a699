//! Sweeps that succeed.

use super::{
    ProtocolCase, assert_empty, assert_measured, assert_secret, assert_sound, samba, sweep,
};
use crate::load_guard::{alone, beside_others};
use filermark_testbed::{Kdc, KernelSmbClient, Samba, SambaOptions, Sandbox, SmbGuests, available};
use std::time::Duration;

/// Time limit of a script on the kernel's client.
const LIMIT: Duration = Duration::from_secs(60);

/// The rows of the classical CIFS table (manual M, section 4.4), shortened as there.
const CIFS_ROWS: [&str; 13] = [
    "ECHO",
    "LOCKING_ANDX",
    "NT_TRANSACT_QUERY_SECURITY_DES",
    "READ_ANDX",
    "TRANS2_QUERY_FS_INFORMATION",
    "TRANS2_QUERY_FILE_INFORMATION",
    "TRANS2_QUERY_PATH_INFORMATION",
    "TRANS2_SET_FILE_INFORMATION",
    "TRANS2_FIND_FIRST2",
    "WRITE_ANDX",
    "NT_CREATE_ANDX",
    "CLOSE",
    "FLUSH",
];

/// The corresponding rows over SMB 2 and 3.
const SMB2_ROWS: [&str; 13] = [
    "ECHO",
    "LOCK",
    "QUERY_INFO_SECURITY",
    "READ",
    "QUERY_INFO_FILESYSTEM",
    "QUERY_INFO_FILE",
    "QUERY_INFO_PATH",
    "SET_INFO_FILE",
    "QUERY_DIRECTORY",
    "WRITE",
    "CREATE",
    "CLOSE",
    "FLUSH",
];

/// Three load points of a few seconds, on SMB1, 2.0.2 and 3.1.1; the report has the
/// table of operations, and nothing is left behind.
#[test]
fn alone_samba_is_measured_on_old_and_new_dialects() {
    let _turn = alone();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in ProtocolCase::ALL {
        let sweep = sweep(&samba, Samba::DATA, case)
            .set("LOAD", "100 200 300")
            .set("PROCS", 10)
            .set("WARMUP_TIME", 1)
            .set("RUNTIME", 3);
        let ended = assert_measured(&sweep);
        assert_secret(&ended);
        assert_empty(&samba, Samba::DATA);
        let log = ended.file("sfslog");
        let rows: Vec<&str> = log.lines().filter_map(|l| l.split(' ').next()).collect();
        let table = match case {
            ProtocolCase::Smb1 => CIFS_ROWS,
            _ => SMB2_ROWS,
        };
        let in_order: Vec<&str> = rows.into_iter().filter(|row| table.contains(row)).collect();
        assert!(in_order.starts_with(&table), "{in_order:?}: {log}");
        let column = match case {
            ProtocolCase::Smb1 => "CIFS",
            _ => "SMB2",
        };
        assert!(
            ended.file("sfssum").contains(column),
            "{}",
            ended.file("sfssum")
        );
    }
    // One successful login for each connection.
    let logons = samba.logons();
    assert!(logons.iter().all(|logon| logon.succeeded()), "{logons:?}");
}

/// DEBUG flags 4, 10 and 13 of the seed's table 3 also work with SMB.
#[test]
fn debug_flags_log_calls_failures_and_matching_files() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        let sweep = sweep(&samba, Samba::DATA, case)
            .set("LOAD", 200)
            .set("PROCS", 2)
            .set("DEBUG", "4,10,13");
        let ended = sweep.succeed();
        let lines = |target: &str, words: &str| {
            let lines = ended.stderr.lines().filter(|l| l.contains(target));
            lines.filter(|l| l.contains(words)).count()
        };
        let sent = lines("filermark_smb::rpc", "sent");
        let answered = lines("filermark_smb::rpc", "frames=1");
        let physical = ended.point(1).stats.expect("figures").physical_count();
        assert!(
            sent >= answered && answered as u64 >= physical,
            "{case:?}: {sent} {answered}"
        );
        assert!(physical > 0);
        assert!(
            lines("filermark_engine::fit", "proc=0") > 0,
            "{}",
            ended.stderr
        );
        assert_eq!(lines("filermark_engine::fit", "proc=1"), 0);
        assert_empty(&samba, Samba::DATA);
    }
}

/// With VERIFY, over shared connections with several calls each under way.
#[test]
fn alone_what_samba_keeps_is_right() {
    let _turn = alone();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        let sweep = sweep(&samba, Samba::DATA, case)
            .set("LOAD", 300)
            .set("PROCS", 10)
            .set("RUNTIME", 3)
            .set("VERIFY", "on")
            .set("CONNECTIONS", 2)
            .set("BIOD_MAX_READS", 8)
            .set("BIOD_MAX_WRITES", 8)
            .set("BLOCK_SIZE", 8);
        let ended = assert_measured(&sweep);
        let stats = ended.point(1).stats.expect("figures");
        assert_eq!(stats.transfer_bytes, (8192, 8192));
        assert!(
            stats.physical_count() > stats.success_count(),
            "transfers were split"
        );
        assert_empty(&samba, Samba::DATA);
    }
}

#[test]
fn two_shares_over_ipv6_are_measured() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let share = |name: &str| format!("//[::1]/{name}");
    let both = [share(Samba::DATA), share(Samba::SECOND)].join(" ");
    let ended = sweep(&samba, Samba::DATA, ProtocolCase::Smb311)
        .set("MNT_POINTS", both)
        .set("PROCS", 2)
        .succeed();
    assert_sound(&ended);
    for share in [Samba::DATA, Samba::SECOND] {
        assert_empty(&samba, share);
    }
    let logons = samba.logons();
    assert!(
        logons.iter().all(|logon| logon.client.starts_with("ipv6:")),
        "{logons:?}"
    );
}

#[test]
fn guest_and_anonymous_sessions_are_measured() {
    let _turn = beside_others();
    let options = SambaOptions {
        guests: SmbGuests::UnknownUsers,
        ..SambaOptions::default()
    };
    let Some(samba) = samba(options) else {
        return;
    };
    for who in ["guest", "anonymous"] {
        let ended = sweep(&samba, Samba::GUEST, ProtocolCase::Smb311)
            .set("SMB_AUTH", who)
            .unset("USERNAME")
            .unset("DOMAIN")
            .succeed();
        assert_sound(&ended);
        assert_empty(&samba, Samba::GUEST);
    }
}

/// Checks that the kernel's client finds the same files and bytes in a kept file set as on the
/// server.
#[test]
fn the_kernel_s_client_sees_what_was_written() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let ended = sweep(&samba, Samba::DATA, ProtocolCase::Smb311)
        .set("KEEP", "on")
        .succeed();
    assert_sound(&ended);
    let client = KernelSmbClient::start(&samba, Samba::DATA, "3.1.1", "seal");
    let Some(mut client) = available(client) else {
        return;
    };
    let list = "find . -type f -exec cksum {} + | LC_ALL=C sort";
    let theirs = client.run(list, LIMIT).expect("run a script");
    assert_eq!(theirs.status, 0, "{}", theirs.output);
    let ours = std::process::Command::new("sh")
        .args(["-c", list])
        .current_dir(samba.files(Samba::DATA))
        .output()
        .expect("start a shell");
    let ours = String::from_utf8_lossy(&ours.stdout).into_owned();
    assert!(ours.lines().count() > 20, "{ours}");
    assert_eq!(theirs.output, ours);
}

#[test]
fn a_ticket_instead_of_a_password() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(kdc) = available(Kdc::start_in(&sandbox)) else {
        return;
    };
    let samba = Samba::start_kerberos(&kdc, SambaOptions::default());
    let Some(samba) = available(samba) else {
        return;
    };
    let cache = kdc.log_in(Samba::USER, Samba::PASSWORD).expect("a ticket");
    let (name, value) = kdc.environment();
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        let ended = sweep(&samba, Samba::DATA, case)
            .set("MNT_POINTS", r"\\localhost\data")
            .set("SMB_AUTH", "kerberos")
            .unset("USERNAME")
            .unset("DOMAIN")
            .env(super::PASSWORD, "")
            .env(name, value.clone())
            .env("KRB5CCNAME", cache.clone())
            .succeed();
        assert_sound(&ended);
        assert_empty(&samba, Samba::DATA);
    }
    let logons = samba.logons();
    assert!(
        !logons.is_empty() && logons.iter().all(|logon| logon.method == "krb5"),
        "{logons:?}"
    );
}
