//! SMB calls compared with smbtorture and smbclient, which make the same calls to the same smbd, in
//! turns.

use super::{FILE, RUN_DIR, Shard, plan};
use crate::children::children_ns;
use crate::cpu;
use crate::measured::{Measured, MeasuredOrReason};
use crate::turns::{Bars, Comparison, Contender, Turn, compare};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{HandleId, OpenFor, SessionAction};
use filermark_model::Secret;
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Auth, Dialect, Encryption, Signing};
use filermark_testbed::{Samba, SambaOptions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Seconds that smbtorture runs in a turn; and in the run that measures its start and log-in.
const SECONDS: u32 = 2;
const START_SECONDS: u32 = 1;
/// Three quarters of a call are system calls, which are the same on both sides.
const OF_TORTURE: Bars = Bars {
    cpu_at_most: Some(0.75),
    rate_at_least: Some(1.0),
};
const OF_CLIENT: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(1.0),
};
/// How a file is read: a name, Filermark's settings, an option of smbclient.
type Protection = (&'static str, Signing, Encryption, &'static str);
const PROTECTIONS: [Protection; 3] = [
    ("", Signing::Off, Encryption::Off, "off"),
    (", signed", Signing::Required, Encryption::Off, "sign"),
    (
        ", AES-128-GCM",
        Signing::Auto,
        Encryption::Aes128Gcm,
        "encrypt",
    ),
];
/// Calls of a turn of Filermark.
const CALLS: usize = 20_000;
/// Size of the file that is read.
const FILE_BYTES: u64 = 256 << 20;
/// READs under way at once.
const READS: usize = 4;

const HANDLE: HandleId = HandleId(0);
const OPEN: SessionAction = SessionAction::Open {
    place: FILE,
    handle: HANDLE,
    how: OpenFor::Update,
};

/// ECHO, CREATE and CLOSE, READ.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let samba = Samba::start(SambaOptions::default()).map_err(|e| e.to_string())?;
    let dir = samba.files(Samba::DATA).join(RUN_DIR);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let open_to_all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&dir, open_to_all).map_err(|e| e.to_string())?;
    samba.sandbox().run(|| all(&samba, rounds))
}

fn all(samba: &Samba, rounds: u32) -> MeasuredOrReason {
    let auth = Auth::Ntlm {
        username: Samba::USER.into(),
        domain: String::new(),
    };
    let plan = |dialect| {
        plan(
            samba.port(),
            dialect,
            auth.clone(),
            Secret::new(Samba::PASSWORD),
        )
    };
    let mut shard = Shard::open(plan(Dialect::V311), Samba::DATA, 1)?;
    prepare(&mut shard)?;
    let mut measured = Measured::default();
    for depth in [1, 64] {
        measured.add(echo(samba, &mut shard, depth, rounds)?);
    }
    measured.add(create_and_close(samba, &mut shard, rounds)?);
    drop(shard);
    for dialect in [Dialect::Nt1, Dialect::V311] {
        for protection in PROTECTIONS {
            // SMB1 has no encryption of its own.
            if dialect != Dialect::Nt1 || protection.2 == Encryption::Off {
                measured.add(reads(samba, plan(dialect), (dialect, protection), rounds)?);
            }
        }
    }
    Ok(measured)
}

fn echo(samba: &Samba, shard: &mut Shard, depth: usize, rounds: u32) -> Result<Comparison, String> {
    let test = "smb2.bench.echo";
    let start = torture(samba, test, depth, START_SECONDS)?;
    let contenders = vec![
        Contender::filermark(|| {
            Turn::measure(cpu::process_ns, || {
                shard.keep_up(SessionAction::Echo, depth, CALLS)?;
                Ok(CALLS as f64)
            })
        }),
        Contender::other("smbtorture", OF_TORTURE, || {
            Ok(torture(samba, test, depth, SECONDS)?.without(start))
        }),
    ];
    let of = format!("3.1.1 ECHO x {depth}");
    compare(&of, "op/s", rounds, contenders)
}

fn create_and_close(samba: &Samba, shard: &mut Shard, rounds: u32) -> Result<Comparison, String> {
    let test = "smb2.bench.path-contention-shared";
    let start = torture(samba, test, 1, START_SECONDS)?;
    let contenders = vec![
        Contender::filermark(|| {
            let count = CALLS / 10;
            Turn::measure(cpu::process_ns, || {
                for _ in 0..count {
                    shard.run(Action::Session(OPEN))?;
                    shard.run(Action::Session(SessionAction::Close { handle: HANDLE }))?;
                }
                Ok(2.0 * count as f64)
            })
        }),
        Contender::other("smbtorture", OF_TORTURE, || {
            Ok(torture(samba, test, 1, SECONDS)?.without(start))
        }),
    ];
    compare("3.1.1 CREATE and CLOSE", "op/s", rounds, contenders)
}

fn prepare(shard: &mut Shard) -> Result<(), String> {
    let name = Name::new(NameKind::ProcDir, 0);
    shard.run(Action::MakeProcDir { name })?;
    shard.run(Action::Fill {
        dir: PROC_DIR,
        name: Name::new(NameKind::File, 1),
        object: None,
        file: 1,
        size: FILE_BYTES,
    })
}

/// The file, read once by Filermark and once by smbclient.
fn reads(
    samba: &Samba,
    mut plan: SmbPlan,
    (dialect, (name, signing, encryption, protection)): (Dialect, Protection),
    rounds: u32,
) -> Result<Comparison, String> {
    // smbclient reads as much at once as the dialect allows, up to a MiB.
    let (length, size) = match dialect {
        Dialect::Nt1 => (64 << 10, "64 KiB"),
        _ => (1 << 20, "1 MiB"),
    };
    let count = (FILE_BYTES / u64::from(length)) as usize;
    (plan.signing, plan.encryption) = (signing, encryption);
    let mut shard = Shard::open(plan, Samba::DATA, 1)?;
    shard.run(Action::Session(OPEN))?;
    let client = |order: &str, count| smbclient(samba, (dialect, protection), order, count);
    let start = client("pwd", 0)?;
    let read = SessionAction::Read {
        handle: HANDLE,
        file: 1,
        offset: 0,
        length,
    };
    let contenders = vec![
        Contender::filermark(|| {
            Turn::measure(cpu::process_ns, || {
                shard.keep_up(read, READS, count)?;
                Ok(count as f64)
            })
        }),
        Contender::other("smbclient", OF_CLIENT, || {
            let order = format!("iosize {length}; get {RUN_DIR}\\p000000\\f0000000001 /dev/null");
            Ok(client(&order, count)?.without(start))
        }),
    ];
    compare(
        &format!("{dialect} READ {size}{name}"),
        "op/s",
        rounds,
        contenders,
    )
}

/// A run of smbtorture of this length, from its start to its end. It counts the calls.
fn torture(samba: &Samba, test: &str, depth: usize, seconds: u32) -> Result<Turn, String> {
    let mut command = samba.sandbox().command("smbtorture");
    command
        .arg(format!("//127.0.0.1/{}", Samba::DATA))
        .args(["-p", &samba.port().to_string(), "-s", "/dev/null"])
        .arg(format!("-U{}%{}", Samba::USER, Samba::PASSWORD))
        .args(["-m", "SMB3_11", test])
        .arg(format!("--option=torture:timelimit={seconds}"))
        .arg("--option=torture:nprocs=1")
        .arg(format!("--option=torture:qdepth={depth}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Turn::measure(children_ns, || {
        let output = command.output().map_err(|e| format!("smbtorture: {e}"))?;
        // Depending on its version it prints its figures to one or the other.
        let printed = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(calls(&printed) as f64),
            false => Err(format!("smbtorture failed: {printed}")),
        }
    })
}

/// The calls that smbtorture has counted: the sum of its lines, one per second.
fn calls(printed: &str) -> u64 {
    let numbers = printed.split("num/s=").skip(1);
    numbers
        .filter_map(|n| n.split(',').next()?.parse::<u64>().ok())
        .sum()
}

/// A run of smbclient, from its start to its end, counted as `count` operations. Over SMB2 and 3 it
/// may choose another size than that of `iosize`.
fn smbclient(
    samba: &Samba,
    (dialect, protection): (Dialect, &str),
    order: &str,
    count: usize,
) -> Result<Turn, String> {
    let name = match dialect {
        Dialect::Nt1 => "NT1",
        _ => "SMB3_11",
    };
    let mut command = samba.smbclient(Samba::DATA, name);
    command
        .arg(format!("--client-protection={protection}"))
        .args(["-c", order])
        .stdout(Stdio::null());
    Turn::measure(children_ns, || {
        let output = command.output().map_err(|e| format!("smbclient: {e}"))?;
        match output.status.success() {
            true => Ok(count as f64),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn the_lines_of_smbtorture_are_added_up() {
        let printed = "1: num/s=1200,avslat=0.8\n2: num/s=300,avslat=1\nnothing num/s=x,";
        assert_eq!(calls(printed), 1500);
    }
}
