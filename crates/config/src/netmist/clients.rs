//! The clients of a token file: the hosts of its lines, and their procs.

use super::args::{NetmistArgs, number};
use super::tokens::TokenLine;
use crate::error::quoted;
use crate::hosts::{ClientNames, key};
use crate::launch_settings::HostLogins;
use crate::params::PROCS_MAX;
use crate::reading::Reports;
use filermark_model::plan::IpChoice;
use filermark_model::{Finding, Rule, Severity};

/// The address family for the connections to the clients (`-y`).
pub(super) fn ip(reports: &mut Reports, args: &NetmistArgs) -> IpChoice {
    let version = |text: &str| match text {
        "6" => Some(IpChoice::V6),
        "4" => Some(IpChoice::V4),
        _ => None,
    };
    number(reports, args, 'y', "6 (or 4)", version).unwrap_or(IpChoice::Any)
}

/// Lines of the client `slurm` become lines of every node of the allocation.
pub(super) fn in_allocation(
    reports: &mut Reports,
    lines: Vec<TokenLine>,
    naming: &ClientNames,
) -> Vec<TokenLine> {
    if !lines.iter().any(|l| naming.is_allocation(&l.client)) {
        return lines;
    }
    let mut all = Vec::new();
    let mut procs = 0;
    for line in lines {
        let nodes = match naming.is_allocation(&line.client) {
            false => vec![line.client.clone()],
            true => match naming.names(&line.client) {
                Ok(nodes) => nodes,
                Err((what, hint)) => {
                    let message = format!("'{}' {what}", quoted(&line.client));
                    reports.refuse(line.location, message, hint);
                    return all;
                }
            },
        };
        procs += nodes.len() as u64 * u64::from(line.instances);
        if procs > PROCS_MAX {
            let message = format!("up to this line there are {procs} procs");
            let hint = format!("{PROCS_MAX} are the most: lower the Instances");
            reports.refuse(line.location, message, hint);
            return all;
        }
        let on = |client| TokenLine {
            client,
            ..line.clone()
        };
        all.extend(nodes.into_iter().map(on));
    }
    all
}

/// The finding that passwords have no effect.
pub(super) fn passwords(lines: &[TokenLine]) -> Option<Finding> {
    let line = lines.iter().find(|l| l.has_password)?;
    let text = format!(
        "Password ({}) has no effect and is not kept: clients are reached with SSH keys",
        line.location
    );
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

/// The users and programs that the lines name.
pub(super) fn accounts(lines: &[TokenLine]) -> HostLogins {
    let mut accounts = HostLogins::new();
    for line in lines {
        let account = accounts.entry(key(&line.client)).or_default();
        let or = |old: &mut Option<String>, new: &Option<String>| {
            if let (None, Some(new)) = (&old, new) {
                *old = Some(new.clone());
            }
        };
        or(&mut account.user, &line.user);
        or(&mut account.program, &line.program);
    }
    accounts
}
