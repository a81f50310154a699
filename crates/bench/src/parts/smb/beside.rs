//! Processor time per operation beside smbtorture and smbclient, which do the same calls
//! on the same smbd, in turns.

use super::{FILE, RUN_DIR, Shard, plan};
use crate::children::children_ns;
use crate::cpu;
use crate::figure::FiguresOrSkip;
use crate::turns::{Bars, Contender, Turn, compare};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{HandleId, OpenFor, SessionAction};
use filermark_model::Secret;
use filermark_model::smb::{Auth, Dialect, Encryption, Signing};
use filermark_testbed::{Samba, SambaOptions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Seconds that smbtorture runs in a turn; and to see what its start and log-in take.
const SECONDS: u32 = 2;
const START_SECONDS: u32 = 1;
/// Three quarters of the time of a call is the kernel's, which both wait for.
const OF_TORTURE: Bars = Bars {
    cpu_at_most: Some(0.75),
    rate_at_least: Some(1.0),
};
const OF_CLIENT: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(1.0),
};
/// How the file is read.
const KINDS: [(&str, Signing, Encryption); 3] = [
    ("filermark", Signing::Off, Encryption::Off),
    ("filermark, signed", Signing::Required, Encryption::Off),
    (
        "filermark, AES-128-GCM",
        Signing::Auto,
        Encryption::Aes128Gcm,
    ),
];
/// Calls of a round of ours.
const CALLS: usize = 20_000;
/// Bytes of the file that is read.
const FILE_BYTES: u64 = 256 << 20;
/// READs under way at once.
const READS: usize = 4;

const HANDLE: HandleId = HandleId(0);
const OPEN: SessionAction = SessionAction::Open {
    place: FILE,
    handle: HANDLE,
    how: OpenFor::Update,
};

/// See the module.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let samba = Samba::start(SambaOptions::default()).map_err(|e| e.to_string())?;
    let dir = samba.files(Samba::DATA).join(RUN_DIR);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let open_to_all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&dir, open_to_all).map_err(|e| e.to_string())?;
    samba.sandbox().run(|| all(&samba, rounds))
}

fn all(samba: &Samba, rounds: u32) -> FiguresOrSkip {
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
    let mut figures = Vec::new();
    for depth in [1, 64] {
        let test = "smb2.bench.echo";
        let start = torture(samba, test, depth, START_SECONDS)?;
        let contenders = vec![
            Contender::own("filermark", || {
                Turn::measure(cpu::process_ns, || {
                    shard.keep_up(SessionAction::Echo, depth, CALLS)?;
                    Ok(CALLS as f64)
                })
            }),
            Contender::other("smbtorture", OF_TORTURE, || {
                Ok(torture(samba, test, depth, SECONDS)?.without(start))
            }),
        ];
        let of = format!("3.1.1 ECHO, {depth} at once");
        figures.extend(compare(&of, "op/s", rounds, contenders)?);
    }
    let test = "smb2.bench.path-contention-shared";
    let start = torture(samba, test, 1, START_SECONDS)?;
    let contenders = vec![
        Contender::own("filermark", || {
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
    let of = "3.1.1 CREATE and CLOSE in turns";
    figures.extend(compare(of, "op/s", rounds, contenders)?);
    drop(shard);
    for dialect in [Dialect::Nt1, Dialect::V311] {
        figures.extend(reads(samba, plan(dialect), dialect, rounds)?);
    }
    Ok(figures)
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

/// The file read once: by smbclient, and by the driver plain, signed
/// and encrypted.
fn reads(
    samba: &Samba,
    plan: filermark_model::plan::SmbPlan,
    dialect: Dialect,
    rounds: u32,
) -> FiguresOrSkip {
    // smbclient asks for as much at once as the dialect allows, up to a MiB.
    let (length, name) = match dialect {
        Dialect::Nt1 => (64 << 10, "64 KiB"),
        _ => (1 << 20, "1 MiB"),
    };
    let count = (FILE_BYTES / u64::from(length)) as usize;
    let mut shards = KINDS
        .into_iter()
        .filter(|(_, _, encryption)| dialect != Dialect::Nt1 || *encryption == Encryption::Off)
        .map(|(what, signing, encryption)| {
            let mut plan = plan.clone();
            (plan.signing, plan.encryption) = (signing, encryption);
            let mut shard = Shard::open(plan, Samba::DATA, 1)?;
            shard.run(Action::Session(OPEN))?;
            Ok((what, shard))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let idle = smbclient(samba, dialect, "pwd", 0)?;
    let read = SessionAction::Read {
        handle: HANDLE,
        file: 1,
        offset: 0,
        length,
    };
    let ours = shards.iter_mut().map(|(what, shard)| {
        Contender::own(what, move || {
            Turn::measure(cpu::process_ns, || {
                shard.keep_up(read, READS, count)?;
                Ok(count as f64)
            })
        })
    });
    let mut contenders: Vec<_> = ours.collect();
    contenders.push(Contender::other("smbclient", OF_CLIENT, || {
        let order = format!("iosize {length}; get {RUN_DIR}\\p000000\\f0000000001 /dev/null");
        Ok(smbclient(samba, dialect, &order, count)?.without(idle))
    }));
    compare(
        &format!("{dialect} READ {name}"),
        "op/s",
        rounds,
        contenders,
    )
}

/// A run of smbtorture of so many seconds, from its start to its end. The calls are those that
/// it counts.
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
        // Its figures go to one or the other.
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(calls(&said) as f64),
            false => Err(format!("smbtorture failed: {said}")),
        }
    })
}

/// The calls that smbtorture has counted: the sum of its seconds.
fn calls(said: &str) -> u64 {
    let numbers = said.split("num/s=").skip(1);
    numbers
        .filter_map(|n| n.split(',').next()?.parse::<u64>().ok())
        .sum()
}

/// A run of smbclient, from its start to its end, counted as `count` operations. Whatever
/// `iosize` says, it may choose another size over SMB2 and 3.
fn smbclient(samba: &Samba, dialect: Dialect, order: &str, count: usize) -> Result<Turn, String> {
    let name = match dialect {
        Dialect::Nt1 => "NT1",
        _ => "SMB3_11",
    };
    let mut command = samba.smbclient(Samba::DATA, name);
    command.args(["-c", order]).stdout(Stdio::null());
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
    fn smbtorture_s_seconds_are_added_up() {
        let said = "1: num/s=1200,avslat=0.8\n2: num/s=300,avslat=1\nnothing num/s=x,";
        assert_eq!(calls(said), 1500);
    }
}
