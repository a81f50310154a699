//! Processor time per operation beside smbtorture and smbclient, which do the same calls
//! on the same smbd, in turns.

use super::{FILE, RUN_DIR, Shard, plan};
use crate::cpu;
use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{HandleId, OpenFor, SessionAction};
use filermark_model::Secret;
use filermark_model::smb::{Auth, Dialect, Encryption, Signing};
use filermark_testbed::{Samba, SambaOptions};
use rustix::process::{Resource, getrlimit};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Seconds that smbtorture runs each time.
const SECONDS: u32 = 2;
/// Calls of a round of ours.
const CALLS: usize = 20_000;
/// Bytes of the file that is read, and of each READ.
const FILE_BYTES: u64 = 256 << 20;
const READ_BYTES: u32 = 64 << 10;

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
    // A child that is not waited for would keep its time to itself.
    let _ = getrlimit(Resource::Nofile);
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
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..rounds {
            theirs.push(torture(samba, "smb2.bench.echo", depth)?);
            ours.push(per_call(CALLS, || {
                shard.keep_up(SessionAction::Echo, depth, CALLS)
            })?);
        }
        figures.extend(pair(&format!("3.1.1 ECHO, {depth} at once"), ours, theirs));
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let test = "smb2.bench.path-contention-shared";
        theirs.push(torture(samba, test, 1)?);
        let count = CALLS / 10;
        ours.push(per_call(2 * count, || {
            for _ in 0..count {
                shard.run(Action::Session(OPEN))?;
                shard.run(Action::Session(SessionAction::Close { handle: HANDLE }))?;
            }
            Ok(())
        })?);
    }
    figures.extend(pair("3.1.1 CREATE and CLOSE in turns", ours, theirs));
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

/// The file read once by READs of 64 KiB: by smbclient, and by the driver plain, signed
/// and encrypted.
fn reads(
    samba: &Samba,
    plan: filermark_model::plan::SmbPlan,
    dialect: Dialect,
    rounds: u32,
) -> FiguresOrSkip {
    let count = (FILE_BYTES / u64::from(READ_BYTES)) as usize;
    let mut theirs = Vec::new();
    for _ in 0..rounds {
        theirs.push(smbclient(samba, dialect, count)?);
    }
    let mut figures = vec![Figure::new(
        format!("{dialect} READ 64 KiB: smbclient"),
        "us/op",
        theirs.clone(),
    )];
    let kinds = [
        ("plain", Signing::Off, Encryption::Off),
        ("signed", Signing::Required, Encryption::Off),
        ("AES-128-GCM", Signing::Auto, Encryption::Aes128Gcm),
    ];
    for (what, signing, encryption) in kinds {
        if dialect == Dialect::Nt1 && encryption != Encryption::Off {
            continue;
        }
        let mut plan = plan.clone();
        (plan.signing, plan.encryption) = (signing, encryption);
        let mut shard = Shard::open(plan, Samba::DATA, 1)?;
        shard.run(Action::Session(OPEN))?;
        let read = SessionAction::Read {
            handle: HANDLE,
            file: 1,
            offset: 0,
            length: READ_BYTES,
        };
        let mut ours = Vec::new();
        for _ in 0..rounds {
            ours.push(per_call(count, || shard.keep_up(read, 8, count))?);
        }
        let of = format!("{dialect} READ 64 KiB, {what}");
        match what {
            "plain" => figures.extend(pair(&of, ours, theirs.clone())),
            _ => figures.push(Figure::new(format!("{of}: ours"), "us/op", ours)),
        }
    }
    Ok(figures)
}

/// Ours, theirs and the ratio, which is to be half or less.
fn pair(of: &str, ours: Vec<f64>, theirs: Vec<f64>) -> Vec<Figure> {
    let ratios = ours.iter().zip(&theirs).map(|(a, b)| a / b).collect();
    vec![
        Figure::new(format!("{of}: ours"), "us/op", ours),
        Figure::new(format!("{of}: theirs"), "us/op", theirs),
        Figure::new(format!("{of}: ours / theirs"), "", ratios).bar(Bar::AtMost(0.5)),
    ]
}

/// Processor time of this process per call, in microseconds.
fn per_call(count: usize, work: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let before = cpu::process_ns();
    work()?;
    Ok((cpu::process_ns() - before) as f64 / 1e3 / count as f64)
}

/// smbtorture's time per call. What it takes to start and to log in is taken off: that of
/// a run without calls.
fn torture(samba: &Samba, test: &str, depth: usize) -> Result<f64, String> {
    let run = |seconds: u32| {
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
        let before = cpu::children_ns();
        let output = command.output().map_err(|e| format!("smbtorture: {e}"))?;
        let taken = cpu::children_ns() - before;
        // Its figures go to one or the other.
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok((taken, calls(&said))),
            false => Err(format!("smbtorture failed: {said}")),
        }
    };
    let (short, few) = run(1)?;
    let (long, many) = run(1 + SECONDS)?;
    let count = many.saturating_sub(few).max(1);
    Ok(long.saturating_sub(short) as f64 / 1e3 / count as f64)
}

/// The calls that smbtorture has counted: the sum of its seconds.
fn calls(said: &str) -> u64 {
    let numbers = said.split("num/s=").skip(1);
    numbers
        .filter_map(|n| n.split(',').next()?.parse::<u64>().ok())
        .sum()
}

/// smbclient's time per 64 KiB; whatever `iosize` says, it may ask for more at once over
/// SMB2 and 3, so that its calls are fewer. Its start is taken off.
fn smbclient(samba: &Samba, dialect: Dialect, count: usize) -> Result<f64, String> {
    let name = match dialect {
        Dialect::Nt1 => "NT1",
        _ => "SMB3_11",
    };
    let run = |order: &str| {
        let mut command = samba.smbclient(Samba::DATA, name);
        command.args(["-c", order]).stdout(Stdio::null());
        let before = cpu::children_ns();
        let output = command.output().map_err(|e| format!("smbclient: {e}"))?;
        let taken = cpu::children_ns() - before;
        match output.status.success() {
            true => Ok(taken),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let order = format!("iosize {READ_BYTES}; get {RUN_DIR}\\p000000\\f0000000001 /dev/null");
    let idle = run("pwd")?;
    let whole = run(&order)?;
    Ok(whole.saturating_sub(idle) as f64 / 1e3 / count as f64)
}
