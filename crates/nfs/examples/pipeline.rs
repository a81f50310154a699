//! Measures the driver's hot path by itself, without the engine around it,
//! against a server that answers at once.
//!
//!     cargo run --release -p filermark-nfs --example pipeline [SECONDS [CASE]]
//!
//! CASE is WORK:CONNECTIONSxIN_FLIGHT, e.g. getattr:1x32. The server runs on one
//! thread of this process; the CPU time is that of the driver's thread alone.

use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Claim, LoadDriver, PROC_DIR, ProcSetup, Request, ShardDriver, ShardSetup, Status,
    StopFlag, Submit,
};
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::plan::{IpChoice, MountPoint, NfsPlan};
use filermark_nfs::NfsDriver;
use filermark_server::{Server, ServerOptions};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn plan(port: u16) -> NfsPlan {
    NfsPlan {
        machine_name: "client".to_owned(),
        nfs_port: Some(port),
        mount_port: Some(port),
        portmap_port: port,
        ip: IpChoice::V4,
        rpc_timeout_ms: 10_000,
        rpc_retries: 3,
        connect_timeout_ms: 5_000,
        jukebox_retries: 3,
        ..NfsPlan::default()
    }
}

fn open(procs: u32) -> Result<(Box<dyn ShardDriver>, impl Drop), Box<dyn Error>> {
    let server = Server::start(ServerOptions {
        null: true,
        threads: 1,
        ..ServerOptions::default()
    })?;
    let port = server.addrs()[0].port();
    let mount = MountPoint {
        host: "127.0.0.1".to_owned(),
        path: "/export".to_owned(),
    };
    let claim = Claim {
        dir_name: "filermark.pipeline".to_owned(),
        run_id: "pipeline".to_owned(),
    };
    let setup = ShardSetup {
        shard: 0,
        shard_count: 1,
        clock: Clock::real(),
        data: Arc::new(DataSource::new(1, VerifyLevel::Nothing)),
        procs: (0..procs)
            .map(|number| ProcSetup {
                number,
                mount: mount.clone(),
                tree: None,
            })
            .collect(),
        claim: claim.clone(),
        stop: StopFlag::new(),
    };
    let driver = NfsDriver::new(plan(port));
    driver.claim(&mount, &claim)?;
    let mut shard = driver.open_shard(setup)?;
    for proc in 0..procs {
        let name = Name::new(NameKind::ProcDir, proc);
        shard.submit(&Request {
            token: proc,
            proc,
            action: Action::MakeProcDir { name },
        });
    }
    let mut done = Vec::new();
    while done.len() < procs as usize {
        shard.flush();
        shard.poll(Nanos::MAX, &mut done)?;
    }
    Ok((shard, server))
}

/// What is done again and again.
#[derive(Clone, Copy)]
enum Work {
    Getattr,
    Read64k,
    Write64k,
    /// Makes a file and fills it with 1 MiB, as INIT does.
    Fill1m,
}

impl Work {
    const ALL: [(&'static str, Self); 4] = [
        ("getattr", Self::Getattr),
        ("read64k", Self::Read64k),
        ("write64k", Self::Write64k),
        ("fill1m", Self::Fill1m),
    ];

    fn action(self, token: u32) -> Action {
        let object = PROC_DIR;
        let (file, offset, length) = (u64::from(token), 0, 64 << 10);
        match self {
            Self::Getattr => Action::Getattr { object },
            Self::Read64k => Action::Read {
                object,
                file,
                offset,
                length,
            },
            Self::Write64k => Action::Write {
                object,
                file,
                offset,
                length,
            },
            Self::Fill1m => Action::Fill {
                dir: PROC_DIR,
                name: Name::new(NameKind::File, token),
                object: None,
                file,
                size: 1 << 20,
            },
        }
    }
}

type Case = (&'static str, Work, u32, u32);

fn parse(case: &str) -> Option<Case> {
    let (work, size) = case.split_once(':')?;
    let (name, work) = Work::ALL.into_iter().find(|(name, _)| *name == work)?;
    let (procs, depth) = size.split_once('x')?;
    Some((name, work, procs.parse().ok()?, depth.parse().ok()?))
}

struct Figures {
    ops: u64,
    bytes: u64,
    wall: Duration,
    cpu: Duration,
    turns: u64,
}

/// Keeps `depth` operations of each proc in flight.
fn measure((_, work, procs, depth): Case, time: Duration) -> Result<Figures, Box<dyn Error>> {
    let (mut shard, _server) = open(procs)?;
    let request = |token| Request {
        token,
        proc: token % procs,
        action: work.action(token),
    };
    let mut done = Vec::new();
    let submit = |shard: &mut dyn ShardDriver, token| match shard.submit(&request(token)) {
        Submit::Queued => Ok(()),
        other => Err(format!("{other:?}")),
    };
    for token in 0..procs * depth {
        submit(&mut *shard, token)?;
    }
    let (mut ops, mut turns, mut bytes) = (0u64, 0u64, 0u64);
    let warm = Instant::now() + Duration::from_millis(300);
    let mut start = Instant::now();
    let mut cpu = thread_cpu();
    let mut warming = true;
    loop {
        shard.flush();
        done.clear();
        shard.poll(Nanos::MAX, &mut done)?;
        turns += 1;
        ops += done.len() as u64;
        for completion in &done {
            if completion.outcome.status != Status::Ok {
                return Err(format!("{completion:?}").into());
            }
            let outcome = &completion.outcome;
            bytes += outcome.read_bytes + outcome.written_bytes;
            submit(&mut *shard, completion.token)?;
        }
        if turns % 64 == 0 {
            let now = Instant::now();
            if warming && now >= warm {
                (warming, start, cpu) = (false, now, thread_cpu());
                (ops, turns, bytes) = (0, 0, 0);
            } else if !warming && now - start >= time {
                return Ok(Figures {
                    ops,
                    bytes,
                    wall: now - start,
                    cpu: thread_cpu() - cpu,
                    turns,
                });
            }
        }
    }
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

const DEFAULT: [&str; 9] = [
    "getattr:1x1",
    "getattr:1x32",
    "getattr:1x256",
    "getattr:32x1",
    "getattr:256x1",
    "getattr:1000x1",
    "read64k:1x8",
    "write64k:1x8",
    "fill1m:1x8",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let seconds: f64 = args.next().map_or(Ok(3.0), |a| a.parse())?;
    let time = Duration::from_secs_f64(seconds);
    let cases = match args.next() {
        Some(case) => vec![parse(&case).ok_or("CASE is like getattr:1x32")?],
        None => DEFAULT.iter().filter_map(|case| parse(case)).collect(),
    };
    println!("One driver thread, one server thread that answers at once");
    println!("    work  connections  in flight each      op/s  CPU us/op  ops/turn    MB/s");
    for case in cases {
        let f = measure(case, time)?;
        let (name, _, procs, depth) = case;
        let seconds = f.wall.as_secs_f64();
        println!(
            "{name:>8}  {procs:>11}  {depth:>14}  {:>8.0}  {:>9.2}  {:>8.1}  {:>6.0}",
            f.ops as f64 / seconds,
            f.cpu.as_secs_f64() * 1e6 / f.ops as f64,
            f.ops as f64 / f.turns as f64,
            f.bytes as f64 / 1e6 / seconds,
        );
    }
    Ok(())
}
