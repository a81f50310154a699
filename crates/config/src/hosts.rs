//! Client hosts as people write them: one by one, as ranges, or as "those of the
//! Slurm allocation".
//!
//! The results are used on the command lines of ssh and srun, so names,
//! users and programs are checked against lists of allowed characters.
//! This module resolves no name and starts no other program.

mod account;
mod compress;
mod ranges;

pub(crate) use account::{check_program, check_user};
pub use compress::fold_hosts;
pub use ranges::expand_hosts;
pub(crate) use ranges::{Pattern, split_words};

use crate::given::Values;
use crate::params::{self, Launcher};
use crate::sources::SLURM_VARIABLE;
use std::net::Ipv6Addr;

/// The most clients of a run.
pub const CLIENTS_MAX: usize = 10_000;
/// RFC 1035, section 2.3.4.
const HOST_BYTES_MAX: usize = 255;
/// Stands for the nodes of the allocation, with LAUNCHER=slurm.
pub(crate) const SLURM: &str = "slurm";

/// A word that is invalid: (what is wrong, what to try).
pub type HostWordError = (String, String);

/// The message of [`check_host`] for most names.
pub(crate) const NO_NAME: &str = "has an invalid client name";

/// Whether a text can be a host's name or address; IPv6 without brackets.
pub(crate) fn check_host(host: &str) -> Result<(), &'static str> {
    if host.starts_with('-') {
        return Err("has a client name that begins with '-', as options do");
    }
    if host.contains([':', '%']) {
        let (address, scope) = host.split_once('%').unwrap_or((host, "0"));
        let is_scope = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let ok = address.parse::<Ipv6Addr>().is_ok()
            && (1..=HOST_BYTES_MAX).contains(&scope.len())
            && scope.chars().all(is_scope);
        return if ok { Ok(()) } else { Err(NO_NAME) };
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if host.len() > HOST_BYTES_MAX || !host.starts_with(begins) || !host.chars().all(is_name) {
        return Err(NO_NAME);
    }
    match host.bytes().all(|b| b.is_ascii_digit()) {
        true => Err("has a number where a client's name belongs"),
        false => Ok(()),
    }
}

/// A client's name as a key of maps: names are equal in any case.
pub(crate) fn key(client: &str) -> String {
    client.to_ascii_lowercase()
}

/// The meaning of the words that name clients.
pub(crate) struct ClientNames {
    /// With LAUNCHER=slurm: the nodes of the allocation, or why there are none.
    allocation: Option<Result<Vec<String>, HostWordError>>,
}

impl ClientNames {
    /// According to LAUNCHER; `nodelist` is Slurm's text for its allocation.
    pub fn new(values: &Values, nodelist: Option<&str>) -> Self {
        let slurm = values.get(&params::LAUNCHER) == Launcher::Slurm;
        Self {
            allocation: slurm.then(|| allocation(nodelist)),
        }
    }

    /// Whether a word stands for the nodes of the allocation.
    pub fn is_allocation(&self, word: &str) -> bool {
        self.allocation.is_some() && word.eq_ignore_ascii_case(SLURM)
    }

    /// The names that a word stands for, [`CLIENTS_MAX`] at most.
    ///
    /// # Errors
    /// (what is wrong with the word, what to try).
    pub fn names(&self, word: &str) -> Result<Vec<String>, HostWordError> {
        match &self.allocation {
            Some(nodes) if self.is_allocation(word) => nodes.clone(),
            _ => Ok(Pattern::parse(word)?.names()),
        }
    }
}

fn allocation(nodelist: Option<&str>) -> Result<Vec<String>, HostWordError> {
    let Some(text) = nodelist.filter(|text| !text.trim().is_empty()) else {
        return Err((
            format!("stands for the nodes of a Slurm allocation, and {SLURM_VARIABLE} is not set"),
            "run inside of one (salloc -N 4 filermark run ...), or name the nodes".into(),
        ));
    };
    expand_hosts(text).map_err(|(what, _)| {
        let what = format!("stands for the nodes in {SLURM_VARIABLE}, where {what}");
        (what, "name the nodes yourself".into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_can_be() {
        for host in [
            "a",
            "nv3",
            "A.b-c_d",
            "10.0.0.1",
            "::1",
            "fe80::1%eth0",
            "3com",
            "xn--bcher-kva.example",
        ] {
            assert_eq!(check_host(host), Ok(()), "{host}");
        }
        let long = "a".repeat(256);
        for host in [
            "",
            "-oProxyCommand=x",
            "a b",
            "a;b",
            "a/b",
            "$(x)",
            "a\0",
            "me@host",
            ".",
            "..",
            "h:22",
            "::1%",
            "::1%a;b",
            "%eth0",
            "4",
            "0017",
            "ä",
            &long,
        ] {
            assert!(check_host(host).is_err(), "{host:?}");
        }
    }

    #[test]
    fn the_allocation_is_read_as_slurm_writes_it() {
        assert_eq!(
            allocation(Some("n[01-03,7],gpu1")).unwrap(),
            ["n01", "n02", "n03", "n7", "gpu1"]
        );
        let (what, hint) = allocation(None).unwrap_err();
        assert!(what.contains("SLURM_JOB_NODELIST is not set"), "{what}");
        assert!(hint.contains("salloc"), "{hint}");
        let (what, _) = allocation(Some("n[1-")).unwrap_err();
        assert!(what.contains("'n[1-' has no closing bracket"), "{what}");
    }
}
