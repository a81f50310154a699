//! How the procs of a classical run spread over file systems and servers: the uniform access
//! rule (manual M, section 3.3).
//!
//! MNT_POINTS names hosts and paths. A host is a server, or one address (a network interface)
//! of a server: it does not show which hosts are one server.

use crate::finding::{Finding, Rule, Severity};
use crate::plan::{MountPoint, RunPlan};
use crate::units::counted;
use std::collections::BTreeMap;

const SOURCE: &str = "manual M, section 3.3: the uniform access rule";

/// Procs by what they work on.
type Counts = BTreeMap<String, u64>;

/// The spread of a run's procs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Of all clients together, by file system (`host:/path`).
    pub file_systems: Counts,
    /// The same, by host of MNT_POINTS.
    pub hosts: Counts,
    /// Per client its name and both of the same.
    pub clients: Vec<(String, Counts, Counts)>,
}

impl Access {
    /// Of a plan; `None`: it has no mount points that are shared out so.
    pub fn of(plan: &RunPlan) -> Option<Self> {
        plan.benchmark.classic()?;
        let clients = plan.clients.iter().map(|client| {
            let by = |key: fn(&MountPoint) -> String| count(client.mounts.iter().map(key));
            let (file_systems, hosts) = (by(|m| m.to_string()), by(|m| m.host.clone()));
            (client.name.clone(), file_systems, hosts)
        });
        let clients: Vec<_> = clients.collect();
        let sum = |of: fn(&(String, Counts, Counts)) -> &Counts| {
            let mut all = Counts::new();
            for (name, n) in clients.iter().flat_map(|c| of(c).iter()) {
                *all.entry(name.clone()).or_default() += n;
            }
            all
        };
        Some(Self {
            file_systems: sum(|c| &c.1),
            hosts: sum(|c| &c.2),
            clients,
        })
    }

    /// The spread in two or three phrases.
    pub fn text(&self) -> String {
        let mut text = format!(
            "in all: {}, {}",
            spread(&self.file_systems, "file system"),
            spread(&self.hosts, "server or address")
        );
        if self.clients.len() > 1 {
            let each = |of: fn(&(String, Counts, Counts)) -> usize| {
                let counts = self.clients.iter().map(of);
                range(counts.map(|n| n as u64))
            };
            text += &format!(
                "; each client on {} of these file systems and {} of these servers or addresses",
                each(|c| c.1.len()),
                each(|c| c.2.len())
            );
        }
        text
    }

    /// What is uneven.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        found.extend(uneven("in all", &self.file_systems, "file system"));
        found.extend(uneven("in all", &self.hosts, "server or address"));
        found.extend(self.unequal_clients("file systems", |c| &c.1));
        found.extend(self.unequal_clients("servers or addresses", |c| &c.2));
        if found.is_empty() {
            // Clients that are uneven each may be even together.
            let first = self.clients.iter().find_map(|(name, file_systems, _)| {
                uneven(&format!("client {name}"), file_systems, "file system")
            });
            found.extend(first);
        }
        found
    }

    /// Clients that work on more or fewer of them than others.
    fn unequal_clients(
        &self,
        what: &str,
        of: fn(&(String, Counts, Counts)) -> &Counts,
    ) -> Option<Finding> {
        let seen = |c: &&(String, Counts, Counts)| of(c).len();
        let few = self.clients.iter().min_by_key(seen)?;
        let many = self.clients.iter().max_by_key(seen)?;
        let (least, most) = (of(few).len(), of(many).len());
        (least < most).then(|| {
            let message = format!(
                "access is not uniform: client {} works on {least} of {} {what}, client {} on {most}",
                few.0,
                self.total(what),
                many.0
            );
            finding(message, most - least)
        })
    }

    fn total(&self, what: &str) -> usize {
        match what {
            "file systems" => self.file_systems.len(),
            _ => self.hosts.len(),
        }
    }
}

fn finding(message: String, difference: usize) -> Finding {
    Finding::new(Rule::UniformAccess, Severity::Warning, message).with_limit(
        difference as f64,
        0.0,
        SOURCE,
    )
}

fn count(keys: impl Iterator<Item = String>) -> Counts {
    let mut counts = Counts::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

/// `2`, or `1 to 2`.
fn range(counts: impl Iterator<Item = u64> + Clone) -> String {
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    }
}

/// `3 file systems with 2 to 3 procs each`.
fn spread(counts: &Counts, what: &str) -> String {
    let procs = range(counts.values().copied());
    let each = if counts.len() == 1 { "" } else { " each" };
    let unit = if procs == "1" { "proc" } else { "procs" };
    let what = match (counts.len(), what) {
        (1, what) => format!("1 {what}"),
        (n, "server or address") => format!("{n} servers or addresses"),
        (n, what) => counted(n as u64, what),
    };
    format!("{what} with {procs} {unit}{each}")
}

fn uneven(whose: &str, counts: &Counts, what: &str) -> Option<Finding> {
    let (least, fewest) = counts.iter().min_by_key(|(_, n)| **n)?;
    let (most, highest) = counts.iter().max_by_key(|(_, n)| **n)?;
    (fewest < highest).then(|| {
        let procs = |n: &u64| counted(*n, "proc");
        let message = format!(
            "access is not uniform: {whose} {} work on {what} {most}, {} on {least}",
            procs(highest),
            procs(fewest)
        );
        finding(message, (highest - fewest) as usize)
    })
}
