//! Runs that are killed at a random moment, and the next command with their suffix: no foreign files
//! are changed, all files of ours that remain are named, and no process outlives its run for long.
//!
//! `FILERMARK_TRIALS=200` makes 200 trials per target (otherwise 5), `FILERMARK_TRIAL_SEED=N` draws
//! others. Every trial is printed with its parameters; `ci/full` runs many.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::smb::{ProtocolCase, samba};
use crate::sweep::{Ended, Started, Sweep};
use crate::targets::{TargetDir, Tree};
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, Mounts, Samba, SambaOptions, available};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Trials per target without FILERMARK_TRIALS.
const TRIALS: u64 = 5;
/// How long a process may outlive its run, for its clean-up.
const ORPHAN_MAX: Duration = Duration::from_secs(100);
/// Prefix of the paths of a run's directory.
const OURS: &str = "filermark.";

/// A random generator (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Prime,
    Agent,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Run,
    Stop,
    StopForce,
}

/// The parameters of one trial.
#[derive(Debug)]
struct Plan {
    /// The run is killed this long after one of these words on stderr; empty: after the start.
    words: &'static [&'static str],
    after_ms: u64,
    signal: Signal,
    victim: Victim,
    /// Whether foreign files are put into the run's directory.
    foreign: bool,
    next: Next,
    /// Whether the next command starts before all processes of the run have ended.
    at_once: bool,
}

impl Plan {
    fn draw(draw: &mut Draw) -> Plan {
        const MOMENTS: [(&[&str], u64); 4] = [
            (&[], 1500),
            (&["op/s INIT", "Starting INIT"], 40),
            (&["op/s RUN", "Starting RUN"], 900),
            (&["CLEANUP"], 40),
        ];
        let (words, most_ms) = draw.of(&MOMENTS);
        Plan {
            words,
            after_ms: draw.below(most_ms),
            signal: draw.of(&[Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP]),
            victim: draw.of(&[Victim::Prime, Victim::Agent, Victim::Both]),
            foreign: draw.below(2) == 0,
            next: draw.of(&[Next::Run, Next::Stop, Next::StopForce]),
            at_once: draw.below(2) == 0,
        }
    }
}

/// A process: its number, and when it began, since numbers are reused.
type Process = (u32, u64);

/// Every process and its parent.
fn processes() -> BTreeMap<Process, u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let of = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name, in parentheses, may contain any characters.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(17)?.parse().ok()?;
        (state != "Z").then_some(((pid, began), parent))
    };
    entries.filter_map(of).collect()
}

/// Adds the processes that descend from these.
fn add_descendants(known: &mut BTreeSet<Process>) {
    let all = processes();
    loop {
        let below = |parent: &u32| known.iter().any(|(pid, _)| pid == parent);
        let found: Vec<Process> = all
            .iter()
            .filter(|(process, parent)| below(parent) && !known.contains(*process))
            .map(|(process, _)| *process)
            .collect();
        if found.is_empty() {
            return;
        }
        known.extend(found);
    }
}

fn alive(known: &BTreeSet<Process>) -> Vec<Process> {
    let all = processes();
    known
        .iter()
        .filter(|process| all.contains_key(process))
        .copied()
        .collect()
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

/// Waits for the moment, and kills the run; returns all of its processes.
fn kill(started: &mut Started, plan: &Plan) -> BTreeSet<Process> {
    let prime = started.pid();
    let own = processes().into_keys().find(|(pid, _)| *pid == prime);
    let mut known: BTreeSet<Process> = own.into_iter().collect();
    let mut left_ms = plan.after_ms;
    let mut met = plan.words.is_empty();
    while !started.has_ended() && (!met || left_ms > 0) {
        add_descendants(&mut known);
        met = met
            || plan
                .words
                .iter()
                .any(|word| started.stderr().contains(word));
        let step_ms = if met { left_ms.min(10) } else { 1 };
        std::thread::sleep(Duration::from_millis(step_ms));
        left_ms -= if met { step_ms } else { 0 };
    }
    add_descendants(&mut known);
    let agents = known
        .iter()
        .map(|(pid, _)| *pid)
        .filter(|pid| *pid != prime);
    let agents: Vec<u32> = agents.collect();
    if plan.victim != Victim::Prime {
        agents.iter().for_each(|pid| send(*pid, plan.signal));
    }
    if plan.victim != Victim::Agent || agents.is_empty() {
        send(prime, plan.signal);
    }
    known
}

/// Waits until all of them have ended.
fn ended(known: &BTreeSet<Process>) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let alive = alive(known);
        if alive.is_empty() {
            return Ok(());
        }
        if began.elapsed() > ORPHAN_MAX {
            return Err(format!("{alive:?} outlive their run"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Puts foreign files and links into the rest of the run's directory, at its top and deeper;
/// returns them by path.
fn plant_inside(place: &TargetDir, ours: &str) -> Result<Tree, String> {
    let tree = place.tree();
    let is_dir = |path: &String| {
        tree.keys()
            .any(|other| other.starts_with(&format!("{path}/")))
    };
    let dirs = tree
        .keys()
        .filter(|path| path.starts_with(ours) && is_dir(path));
    let mut planted = Vec::new();
    for dir in dirs.take(3) {
        let file = format!("{dir}/foreign");
        if place.plant(&file) {
            planted.push(file);
        }
        let link = format!("{dir}/foreign-link");
        if place.plant_link(&link, "foreign-dir") {
            planted.push(link);
        }
    }
    let tree = place.tree();
    let found = |path: String| match tree.get(&path) {
        Some(what) => Ok((path, what.clone())),
        None => Err(format!("{path} is gone as soon as it was put there")),
    };
    planted.into_iter().map(found).collect()
}

fn next(sweep: &Sweep, next: Next) -> Ended {
    match next {
        // The directory of the first one has a record, which is never overwritten.
        Next::Run => sweep.elsewhere().run(),
        Next::Stop => sweep.clone().command("stop").run(),
        Next::StopForce => sweep.clone().command("stop").arg("--force").run(),
    }
}

/// Runs one trial; returns the errors.
fn trial(place: &TargetDir, sweep: &Sweep, plan: &Plan) -> Result<(), String> {
    let ours = format!("{OURS}{}", sweep.name());
    let outside = |tree: Tree| -> Tree {
        let others = tree.into_iter();
        others.filter(|(path, _)| !path.starts_with(OURS)).collect()
    };
    let before = outside(place.tree());
    let mut started = sweep.start();
    let known = kill(&mut started, plan);
    let first = started.wait();
    if !plan.at_once {
        ended(&known)?;
    }
    let planted = match plan.foreign {
        true => plant_inside(place, &ours)?,
        false => Tree::new(),
    };
    let second = next(sweep, plan.next);
    ended(&known)?;
    let own = |tree: &Tree| -> Vec<String> {
        let own = tree.keys().filter(|path| path.starts_with(&ours));
        own.cloned().collect()
    };
    // An agent that was cleaning up may have disturbed the second run.
    let last = match plan.at_once {
        true => next(sweep, plan.next),
        false => second,
    };
    let output_text = format!("{}{}", last.stdout, last.stderr);
    let output_text = output_text.replace('\\', "/");
    let tree = place.tree();
    let left = own(&tree);
    let report = || format!("first:\n{}\nthen:\n{output_text}", first.stderr);
    for (path, what) in &planted {
        // Bytes, size and time, or the target of a link.
        let now = tree.get(path).map_or("gone", String::as_str);
        if now != what {
            return Err(format!("{path} was {what} and is {now}\n{}", report()));
        }
        if !output_text.contains(&ours) {
            return Err(format!("{path} stays and is not named\n{}", report()));
        }
    }
    if planted.is_empty() && !(left.is_empty() && last.is_complete()) {
        let count = left.len();
        let code = last.code;
        return Err(format!(
            "{count} objects are left, exit code {code}\n{}",
            report()
        ));
    }
    let after = outside(tree);
    match after == before {
        true => Ok(()),
        false => Err(format!("before {before:?}\nafter {after:?}\n{}", report())),
    }
}

/// Runs the requested number of trials; panics with all errors.
#[track_caller]
fn trials(target: &str, place: &TargetDir, sweep: impl Fn() -> Sweep) {
    let number = |name: &str, default| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let count = number("FILERMARK_TRIALS", TRIALS);
    let seed = number("FILERMARK_TRIAL_SEED", 1);
    place.plant("foreign-file");
    place.plant_dir("foreign-dir");
    place.plant("foreign-dir/foreign-file");
    let mut wrong = Vec::new();
    for nth in 0..count {
        let of_target = target
            .bytes()
            .fold(nth, |sum, byte| sum * 31 + u64::from(byte));
        let plan = Plan::draw(&mut Draw(seed << 32 ^ of_target));
        // `stop` ends all processes of a suffix on this host: no other process may have it.
        let sweep = sweep().suffix(&format!("{target}{nth}-{}", std::process::id()));
        let why = trial(place, &sweep, &plan).err();
        let what = format!("{target} {nth} (seed {seed}): {plan:?}");
        println!("{what}: {}", if why.is_none() { "ok" } else { "WRONG" });
        wrong.extend(why.map(|why| format!("{what}: {why}")));
    }
    println!("{target}: {} of {count} trials went wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Large enough for kills in INIT and CLEANUP.
fn larger(sweep: Sweep) -> Sweep {
    sweep.set("FILE_COUNT", 100).set("LOAD", 60)
}

#[test]
fn slow_nfs_in_the_embedded_server() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        delay: "CREATE=1ms,REMOVE=1ms".parse().expect("a delay"),
        ..ServerOptions::default()
    });
    let address = server.addrs()[0];
    let place = TargetDir::Export(Box::new(server));
    trials("embedded", &place, || larger(Sweep::at(address)));
}

#[test]
fn nfs_in_ganesha() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let place = TargetDir::Directory(ganesha.files().expect("a directory"));
    trials("ganesha", &place, || {
        larger(Sweep::inside(ganesha.sandbox(), ganesha.export()))
    });
}

#[test]
fn smb_in_samba() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let place = TargetDir::Directory(samba.files(Samba::DATA));
    trials("samba", &place, || {
        crate::smb::sweep(&samba, Samba::DATA, ProtocolCase::Smb311).set("FILE_COUNT", 100)
    });
}

#[test]
fn posix() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let place = TargetDir::Directory(dir.host().to_owned());
    trials("posix", &place, || {
        Sweep::composite("SWBUILD", &mounts, dir.path()).set("RUNTIME", 1)
    });
}
