//! The clients in the text of `filermark plan`: what they do and how they are reached.
//! Clients with the same work are on one line.

use crate::hosts::fold_hosts;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind, OnLost};
use filermark_model::plan::IpChoice;
use filermark_model::units::counted;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;

/// The most lines that the work of the clients takes.
const LINES_MAX: usize = 200;

/// Groups items with equal marks, in the order in which the marks come.
fn group_equal<T, M: Eq + Hash + Clone>(all: impl Iterator<Item = (T, M)>) -> Vec<(Vec<T>, M)> {
    let mut groups: Vec<(Vec<T>, M)> = Vec::new();
    let mut known: HashMap<M, usize> = HashMap::new();
    for (thing, mark) in all {
        match known.get(&mark).and_then(|at| groups.get_mut(*at)) {
            Some((things, _)) => things.push(thing),
            None => {
                known.insert(mark.clone(), groups.len());
                groups.push((vec![thing], mark));
            }
        }
    }
    groups
}

/// Writes which client works where: for every client its name, and for every place ("on
/// srv:/x") the number of its procs there.
pub(super) fn work<'a>(
    out: &mut String,
    clients: impl Iterator<Item = (&'a str, Vec<(String, u64)>)>,
) -> std::fmt::Result {
    let mut lines = 0;
    let groups = group_equal(clients);
    for (number, (names, places)) in groups.iter().enumerate() {
        if lines >= LINES_MAX {
            let rest = groups[number..].iter().map(|(names, _)| names.len());
            return writeln!(
                out,
                "  ... and {} more",
                counted(rest.sum::<usize>() as u64, "client")
            );
        }
        lines += places.len();
        let each = if names.len() > 1 { " each" } else { "" };
        let names = names_of(names);
        for (place, procs) in places {
            writeln!(out, "  {names}: {}{each} {place}", counted(*procs, "proc"))?;
        }
    }
    Ok(())
}

/// One name as it is, several as ranges.
fn names_of(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        _ => fold_hosts(names.iter().copied()),
    }
}

/// Writes how the clients are reached; nothing where this host is the only one.
pub(super) fn reach(out: &mut String, plan: &LaunchPlan) -> std::fmt::Result {
    let is_local = |h: &HostPlan| h.launcher == LauncherKind::Local;
    if plan.hosts.len() <= 1 && plan.hosts.iter().all(is_local) {
        return Ok(());
    }
    writeln!(out, "\nHow the clients are reached")?;
    let mark = |h: &HostPlan| (h.launcher, h.user.clone(), h.program.clone());
    let hosts = plan.hosts.iter().map(|h| (h.client.as_str(), mark(h)));
    for (names, (launcher, user, program)) in group_equal(hosts) {
        let mut how = way(launcher, plan);
        if let Some(user) = user {
            how += &format!(", user {user}");
        }
        if let Some(program) = program {
            how += &format!(", program {program}");
        }
        writeln!(out, "  {}: {how}", names_of(&names))?;
    }
    if plan.hosts.iter().all(is_local) {
        return Ok(());
    }
    let copied = plan.hosts.iter().any(|h| h.launcher == LauncherKind::Ssh);
    let install = match (copied, plan.install) {
        (true, true) => "the program is copied to clients that lack this version; ",
        (true, false) => "the program must be there already (INSTALL=off); ",
        (false, _) => "",
    };
    let lost = match plan.on_lost {
        OnLost::End => "a lost client ends the run",
        OnLost::Continue => "a lost client does not end the run, but its load points are INVALID",
    };
    writeln!(out, "  {install}{lost}")
}

fn way(launcher: LauncherKind, plan: &LaunchPlan) -> String {
    let ip = match plan.ip {
        IpChoice::Any => "",
        IpChoice::V4 => " over IPv4",
        IpChoice::V6 => " over IPv6",
    };
    match launcher {
        LauncherKind::Local => "this host".into(),
        LauncherKind::Ssh => format!("{}{ip}", plan.ssh_command.join(" ")),
        LauncherKind::Slurm => format!("Slurm ({})", plan.srun_command.join(" ")),
        LauncherKind::Connect(port) => {
            format!("agents started by hand, which listen on port {port}{ip}")
        }
        LauncherKind::Accept => match plan.listen {
            Some(address) => format!("agents started by hand, which connect to {address}"),
            None => "agents started by hand, which connect to this host".into(),
        },
    }
}
