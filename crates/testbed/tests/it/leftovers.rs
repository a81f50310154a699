//! Nothing is left running after a test, however it ends.

use filermark_testbed::{
    Capture, Faulty, FaultyOptions, Fsal, Ganesha, Hosts, Kdc, KernelServer, Mounts, Samba,
    SambaOptions, Sandbox, ServerOptions, Slurm, available,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Set in the environment of the child process of the SIGKILL test.
const HOLD: &str = "FILERMARK_TESTBED_HOLD";

/// One fixture of each kind, in one sandbox.
struct Everything {
    sandbox: Arc<Sandbox>,
    _ganesha: Ganesha,
    _server: KernelServer,
    _capture: Capture,
    _samba: Samba,
    _kdc: Kdc,
    hosts: Hosts,
    _slurm: Slurm,
    faulty: Faulty,
}

impl Everything {
    /// The directory that holds the mounts and the files of the faulty file system.
    fn mounts_dir(&self) -> PathBuf {
        let dir = self.faulty.backing().parent();
        dir.expect("a parent").to_owned()
    }
}

fn everything() -> Option<Everything> {
    let sandbox = available(Sandbox::new())?;
    let options = ServerOptions::default();
    let mounts = available(Mounts::new())?;
    Some(Everything {
        faulty: available(Faulty::mount(&mounts, FaultyOptions::default()))?,
        _ganesha: available(Ganesha::start_in(&sandbox, Fsal::Vfs, options))?,
        _server: available(KernelServer::start_in(&sandbox, options))?,
        _capture: available(Capture::start(&sandbox, "lo", &[2049]))?,
        _samba: available(busy_samba(&sandbox))?,
        _kdc: available(Kdc::start_in(&sandbox))?,
        hosts: available(busy_hosts(&sandbox))?,
        _slurm: available(busy_slurm(&sandbox))?,
        sandbox,
    })
}

/// smbd with a connection whose child is stopped.
fn busy_samba(sandbox: &Arc<Sandbox>) -> filermark_testbed::Result<Samba> {
    let samba = Samba::start_in(sandbox, SambaOptions::default())?;
    let mut client = samba.smbclient(Samba::DATA, "SMB3_11");
    // It ends with the thread that starts it, or with the server.
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let client = client.as_mut().expect("start smbclient");
    let start = Instant::now();
    let session = loop {
        if let Some(session) = samba.status()?.sessions.first() {
            break session.pid;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no session");
        std::thread::sleep(Duration::from_millis(10));
    };
    samba.freeze_connection(session)?;
    client.kill().expect("kill smbclient");
    client.wait().expect("wait for smbclient");
    Ok(samba)
}

/// Two hosts, each with a background process; one is frozen.
fn busy_hosts(sandbox: &Arc<Sandbox>) -> filermark_testbed::Result<Hosts> {
    let hosts = Hosts::start(sandbox, 2)?;
    for host in ["h1", "h2"] {
        let background = "setsid sleep 1000 >/dev/null 2>&1 </dev/null &";
        let done = hosts
            .command("ssh")
            .args([host, background])
            .stdin(Stdio::null())
            .output();
        let done = done.expect("start ssh");
        assert!(done.status.success(), "{done:?}");
    }
    hosts.freeze("h2")?;
    Ok(hosts)
}

/// A cluster with a job that runs on both nodes.
fn busy_slurm(sandbox: &Arc<Sandbox>) -> filermark_testbed::Result<Slurm> {
    let slurm = Slurm::start(sandbox, 2)?;
    let job = ["-Q", "-N2", "-o/dev/null", "--wrap", "srun sleep 1000"];
    let done = slurm.command("sbatch").args(job).output();
    let done = done.expect("start sbatch");
    assert!(done.status.success(), "{done:?}");
    let start = Instant::now();
    let sleeps = |node| {
        let found = slurm.processes(node).expect("processes");
        found.iter().any(|process| process.name == "sleep")
    };
    while !(sleeps("n1") && sleeps("n2")) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the job does not run"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(slurm)
}

/// Processes in these network namespaces. Every process of a sandbox is in its
/// network, or in that of a host in it.
fn processes_in(networks: &[u64]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("list /proc").flatten() {
        let here = std::fs::metadata(entry.path().join("ns/net"));
        if here.is_ok_and(|namespace| networks.contains(&namespace.ino())) {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

/// References to these network namespaces. As long as they are there, no other namespace gets
/// one of the numbers, as those of tests that run at the same time would.
fn hold(networks: &[u64]) -> Vec<File> {
    let mut held: BTreeMap<u64, File> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").expect("list /proc").flatten() {
        let path = entry.path().join("ns/net");
        let id = std::fs::metadata(&path).map_or(0, |namespace| namespace.ino());
        if networks.contains(&id)
            && let Ok(file) = File::open(&path)
            && file.metadata().is_ok_and(|opened| opened.ino() == id)
        {
            held.insert(id, file);
        }
    }
    assert_eq!(held.len(), networks.len(), "a namespace has no process");
    held.into_values().collect()
}

/// Asserts that nothing is left of a sandbox within `limit`.
fn assert_gone(networks: &[u64], dir: &Path, limit: Duration) {
    let start = Instant::now();
    loop {
        let processes = processes_in(networks);
        let mounts = std::fs::read_to_string("/proc/mounts").expect("read the mounts");
        let name = dir.file_name().expect("a name").to_string_lossy();
        let mounted = mounts.contains(name.as_ref());
        if processes.is_empty() && !dir.exists() && !mounted {
            return;
        }
        assert!(
            start.elapsed() < limit,
            "left: {processes:?}; directory {}; mounted {mounted}",
            dir.exists()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_left_after_a_drop() {
    let Some(all) = everything() else {
        return;
    };
    let networks = all.hosts.network_ids().expect("networks");
    let _held = hold(&networks);
    let dir = all.sandbox.dir().to_owned();
    let mounts_dir = all.mounts_dir();
    assert!(mounts_dir.exists());
    let running = processes_in(&networks).len();
    assert!(
        running >= 30,
        "only {running} processes in a sandbox with all fixtures"
    );
    drop(all);
    assert_gone(&networks, &dir, Duration::ZERO);
    assert!(!mounts_dir.exists());
}

#[test]
fn nothing_is_left_after_a_panic() {
    let mut seen = None;
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let Some(all) = everything() else {
            return;
        };
        let networks = all.hosts.network_ids().expect("networks");
        let held = hold(&networks);
        seen = Some((networks, held, all.sandbox.dir().to_owned()));
        panic!("this panic is part of the test");
    }));
    let Some((networks, _held, dir)) = seen else {
        return;
    };
    assert!(outcome.is_err());
    assert_gone(&networks, &dir, Duration::ZERO);
}

#[test]
fn nothing_is_left_after_sigkill() {
    if available(Sandbox::new()).is_none() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("this test's path"))
        .args([
            "--exact",
            "leftovers::hold_everything",
            "--ignored",
            "--nocapture",
        ])
        .env(HOLD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start this test again");
    let output = child.stdout.take().expect("its output");
    let line = BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("holding ")?.1.to_owned()));
    let line = line.expect("the child holds a sandbox");
    let fields: Vec<&str> = line.split(' ').collect();
    let [networks, dir, mounts_dir] = fields[..] else {
        panic!("not three fields: {line}");
    };
    let networks = networks.split(',').map(|id| id.parse().expect("a number"));
    let (networks, dir) = (networks.collect::<Vec<u64>>(), PathBuf::from(dir));
    let _held = hold(&networks);
    let mounts_dir = Path::new(mounts_dir);
    assert!(processes_in(&networks).len() >= 30 && dir.exists() && mounts_dir.exists());
    child.kill().expect("kill it");
    child.wait().expect("wait for it");
    assert_gone(&networks, &dir, Duration::from_secs(10));
    let start = Instant::now();
    while mounts_dir.exists() {
        assert!(start.elapsed() < Duration::from_secs(10), "{mounts_dir:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Not a test: the process that [`nothing_is_left_after_sigkill`] kills.
#[test]
#[ignore = "started by nothing_is_left_after_sigkill"]
fn hold_everything() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let all = everything().expect("all fixtures");
    // Also a command of the test itself.
    let mut sleeper = all
        .sandbox
        .command("sleep")
        .arg("1000")
        .spawn()
        .expect("start sleep");
    let networks = all.hosts.network_ids().expect("networks");
    let networks: Vec<String> = networks.iter().map(u64::to_string).collect();
    println!(
        "holding {} {} {}",
        networks.join(","),
        all.sandbox.dir().display(),
        all.mounts_dir().display()
    );
    // Returns when the parent has ended.
    let _ = std::io::stdin().read_line(&mut String::new());
    sleeper.kill().expect("kill sleep");
    sleeper.wait().expect("wait for sleep");
}
