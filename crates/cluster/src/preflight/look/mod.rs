//! Looking: what agents find on their hosts, and the prime from its own. Facts only;
//! nothing here says whether they are good. Everything has a limit, whatever cannot
//! be read stays unknown, and nothing fails for it.

mod firewall;
mod mounts;
pub(super) mod names;
pub(super) mod prime;
mod probe;
mod processes;
mod servers;
mod shares;
pub(super) mod ssh;
mod system;

pub(crate) use probe::Laid;

use crate::agent::validate::check_here;
use crate::facts::ValidationFacts;
use crate::facts::{HostFacts, InspectFacts, InspectRequest, OwnName};
use crate::identity::own_hello;
use crate::space::Seen;
use filermark_engine::driver::{Claim, StopFlag};
use filermark_model::plan::{DriverPlan, IpChoice, MountPoint};
use filermark_results::Environment;
use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Things that are looked at side by side.
const SIDE_BY_SIDE: usize = 16;
/// How long all mounts or servers together may take.
const ALL_MAX: Duration = Duration::from_secs(60);

/// Carries out what the prime asks of this agent. `laid` are the probe files that
/// this agent has to remove again.
pub(crate) fn inspect(request: InspectRequest, laid: &mut Laid, stop: &StopFlag) -> InspectFacts {
    let outcomes = match request {
        InspectRequest::Host {
            driver,
            mounts,
            dir_name,
            log_in,
            password: _,
        } => return InspectFacts::Host(Box::new(host(&driver, &mounts, &dir_name, log_in))),
        InspectRequest::Validate {
            driver,
            mount,
            dir_name,
            run_id,
            first_only,
            password: _,
        } => {
            let claim = Claim { dir_name, run_id };
            let checked = check_here(&driver, &mount, &claim, first_only, stop, &mut |_| {});
            return InspectFacts::Validated(match checked {
                Ok(validation) => ValidationFacts::Done(validation),
                Err(why) => ValidationFacts::Failed(why),
            });
        }
        InspectRequest::LayProbes { probes } => laid.lay(probes),
        InspectRequest::FindProbes { probes } => probe::find(&probes, stop),
        InspectRequest::RemoveProbes { probes } => laid.remove(probes),
    };
    InspectFacts::Probes { outcomes }
}

fn host(driver: &DriverPlan, mounts: &[MountPoint], dir_name: &str, log_in: bool) -> HostFacts {
    // First, for the rest makes load itself.
    let load = processes::look();
    let hello = own_hello();
    let mut seen = Seen::by(driver);
    let (mut found_mounts, mut servers) = (Vec::new(), Vec::new());
    match driver {
        DriverPlan::Posix(_) => {
            found_mounts = mounts::look(mounts, &hello.host, &mut seen, driver, dir_name);
        }
        DriverPlan::Nfs(plan) => servers = servers::look(mounts, plan, &hello.host, &mut seen),
        DriverPlan::Smb(plan) => {
            servers = shares::look(mounts, plan, log_in, &hello.host, &mut seen);
        }
        DriverPlan::Null => {}
    }
    HostFacts {
        environment: Environment::collect(env!("CARGO_PKG_VERSION")),
        addresses: names::own_addresses(),
        own_name: own_name(&hello.host),
        hello: Some(hello),
        memory_available_bytes: system::memory_available_bytes(),
        limits: system::limits(),
        program: std::env::current_exe()
            .ok()
            .map(|path| path.display().to_string()),
        low_ports: system::low_ports(),
        sysctls: system::sysctls(),
        governors: system::governors(),
        nic_mbps: system::nic_mbps(),
        firewall: firewall::look(),
        load,
        selinux_enforcing: system::selinux_enforcing(),
        mounts: found_mounts,
        servers,
        free: seen.into_free(),
    }
}

fn own_name(name: &str) -> OwnName {
    let addresses = names::forward(name, IpChoice::Any).unwrap_or_default();
    OwnName {
        addresses: addresses.iter().map(ToString::to_string).collect(),
        loopback_line: names::loopback_line(&names::hosts_file(), name),
    }
}

/// Works on things side by side, on threads that are left to themselves where they
/// take too long; `None` for what was not ready in time. In the order of the things.
pub(super) fn each_within<I: Send + 'static, T: Send + 'static>(
    items: Vec<I>,
    limit: Duration,
    work: impl Fn(I) -> T + Send + Sync + 'static,
) -> Vec<Option<T>> {
    let count = items.len();
    let queue: VecDeque<(usize, I)> = items.into_iter().enumerate().collect();
    let (queue, work) = (Arc::new(Mutex::new(queue)), Arc::new(work));
    let (sender, done) = channel();
    for _ in 0..SIDE_BY_SIDE.min(count) {
        let (queue, work, sender) = (queue.clone(), work.clone(), sender.clone());
        let body = move || {
            while let Some((at, item)) = next(&queue) {
                if sender.send((at, work(item))).is_err() {
                    return;
                }
            }
        };
        // Without this thread the others do its part.
        let _ = std::thread::Builder::new().name("look".into()).spawn(body);
    }
    drop(sender);
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let until = Instant::now() + limit;
    while let Ok((at, result)) = done.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        results[at] = Some(result);
    }
    // What nobody has begun by now is not to be begun any more.
    queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    results
}

fn next<I>(queue: &Mutex<VecDeque<I>>) -> Option<I> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

/// A small file of the system's, its first line; `None`: it cannot be read or is empty.
fn line_of(path: impl AsRef<std::path::Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::LoadFacts;

    #[test]
    fn what_takes_too_long_is_left() {
        let began = Instant::now();
        let results = each_within(vec![1u64, 30_000, 3], Duration::from_millis(300), |ms| {
            std::thread::sleep(Duration::from_millis(ms));
            ms
        });
        assert_eq!(results, [Some(1), None, Some(3)]);
        assert!(began.elapsed() < Duration::from_secs(10));
        let many = each_within((0..100).collect(), Duration::from_secs(10), |n: u32| n + 1);
        assert_eq!(many, (1..=100).map(Some).collect::<Vec<_>>());
        assert!(each_within(Vec::<u8>::new(), Duration::ZERO, |n| n).is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_host_is_looked_at() {
        let mut facts = host(&DriverPlan::Null, &[], "filermark.x", true);
        // Shares of a core come back but for their last digit.
        facts.load = LoadFacts::default();
        assert_eq!(facts.hello, Some(own_hello()));
        assert!(facts.memory_available_bytes.is_some_and(|m| m > 1 << 20));
        assert!(facts.environment.core_count > 0);
        assert!(facts.mounts.is_empty() && facts.servers.is_empty() && facts.free.is_empty());
        let json = serde_json::to_string(&facts).expect("facts travel");
        assert_eq!(
            serde_json::from_str::<HostFacts>(&json).expect("back"),
            facts
        );
    }
}
