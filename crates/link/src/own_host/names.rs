//! Lookups of names and addresses by the system's name service: /etc/hosts, DNS or whatever is
//! configured.

use super::addresses::interface_addresses;
use crate::secure::dial::resolve;
use crate::tool::{self, ToolError};
use filermark_model::plan::IpChoice;
use std::net::IpAddr;
use std::time::Duration;

/// How long one lookup may take.
const ASK_MAX: Duration = Duration::from_secs(10);
/// Any port: nothing is sent.
const ANY_PORT: u16 = 9;
/// Addresses of a name that are looked up in reverse.
const ASKED_BACK_MAX: usize = 4;

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardLookup {
    /// The name that was looked up.
    pub name: String,
    /// Its addresses, or why there are none.
    pub addresses: Result<Vec<IpAddr>, String>,
    /// The results of the reverse lookups.
    pub back: Vec<(IpAddr, ReverseLookup)>,
    /// The line of /etc/hosts that maps the name to a loopback address.
    pub loopback_line: Option<String>,
}

/// The result of a reverse lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReverseLookup {
    /// These names.
    Names(Vec<String>),
    /// No name.
    NoName,
    /// The lookup failed.
    Unknown(String),
}

/// Looks up a name, and its addresses in reverse.
pub fn lookup(name: &str, ip: IpChoice) -> ForwardLookup {
    let addresses = forward(name, ip);
    let asked = addresses.iter().flatten().take(ASKED_BACK_MAX);
    let back = asked.map(|address| (*address, reverse(*address))).collect();
    ForwardLookup {
        name: name.to_owned(),
        addresses,
        back,
        loopback_line: loopback_line(&hosts_file(), name),
    }
}

/// The addresses of a name, each once.
pub fn forward(name: &str, ip: IpChoice) -> Result<Vec<IpAddr>, String> {
    let found = resolve(name, ANY_PORT, ip, ASK_MAX).map_err(|e| e.to_string())?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    Ok(addresses)
}

/// The names of an address. The standard library has no reverse lookup; getent uses the
/// system's.
fn reverse(address: IpAddr) -> ReverseLookup {
    let text = address.to_string();
    match tool::run("getent", &["hosts", &text], ASK_MAX) {
        Ok(output) if output.is_success => ReverseLookup::Names(names_in(&output.stdout)),
        Ok(_) => ReverseLookup::NoName,
        Err(ToolError::Failed(why)) => ReverseLookup::Unknown(why),
        Err(ToolError::Missing) => match names_of(&hosts_file(), address) {
            names if names.is_empty() => ReverseLookup::Unknown("there is no getent".into()),
            names => ReverseLookup::Names(names),
        },
    }
}

/// From the output of getent: an address, and its names.
fn names_in(text: &str) -> Vec<String> {
    let words = text.lines().flat_map(|l| l.split_whitespace().skip(1));
    words.map(str::to_owned).collect()
}

/// The system's file of host names, or nothing.
pub fn hosts_file() -> String {
    let path = hosts_path();
    path.and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default()
}

#[cfg(not(windows))]
fn hosts_path() -> Option<std::path::PathBuf> {
    Some("/etc/hosts".into())
}

/// Of Windows, if its own directory is known.
#[cfg(windows)]
fn hosts_path() -> Option<std::path::PathBuf> {
    let root = std::path::PathBuf::from(std::env::var_os("SystemRoot")?);
    Some(root.join(r"System32\drivers\etc\hosts"))
}

/// The lines of a hosts file without comments: address and names.
fn entries(hosts: &str) -> impl Iterator<Item = (IpAddr, Vec<&str>)> {
    hosts.lines().filter_map(|line| {
        let line = line.split('#').next()?;
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.collect()))
    })
}

fn names_of(hosts: &str, address: IpAddr) -> Vec<String> {
    let of = entries(hosts).filter(|(a, _)| *a == address);
    of.flat_map(|(_, names)| names).map(str::to_owned).collect()
}

/// The line of a hosts file that maps a name to a loopback address; `localhost` may have one.
pub fn loopback_line(hosts: &str, name: &str) -> Option<String> {
    if name.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let found = entries(hosts).find(|(address, names)| {
        address.is_loopback() && names.iter().any(|n| n.eq_ignore_ascii_case(name))
    });
    found.map(|(address, names)| format!("{address} {}", names.join(" ")))
}

/// This host's addresses, except loopback and link-local ones.
pub fn own_addresses() -> Vec<String> {
    let is_link_local = |address: &IpAddr| match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let mut found: Vec<String> = Vec::new();
    for address in interface_addresses() {
        let text = address.to_string();
        let is_listed = !address.is_loopback() && !is_link_local(&address);
        if is_listed && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: &str = "127.0.0.1 localhost\n127.0.1.1\tNode7.lab node7 # by the installer\n\
                         ::1 localhost ip6-localhost\n10.0.0.7 filer\n#127.0.0.1 h9\nnonsense h8\n";

    #[test]
    fn a_loopback_line_of_the_hosts_file_is_found() {
        let line = |name| loopback_line(HOSTS, name);
        assert_eq!(line("node7").as_deref(), Some("127.0.1.1 Node7.lab node7"));
        assert_eq!(line("NODE7.LAB"), line("node7"));
        for fine in ["localhost", "filer", "h9", "h8", ""] {
            assert_eq!(line(fine), None, "{fine}");
        }
        let filer = "10.0.0.7".parse().unwrap();
        assert_eq!(names_of(HOSTS, filer), ["filer"]);
    }

    #[test]
    fn the_output_of_getent_is_parsed() {
        let text = "10.77.0.11      h1 h1.lab\n10.77.0.11 other\n";
        assert_eq!(names_in(text), ["h1", "h1.lab", "other"]);
    }

    #[test]
    fn names_are_looked_up_forward_and_in_reverse() {
        let here = lookup("localhost", IpChoice::Any);
        let addresses = here.addresses.expect("localhost has an address");
        assert!(addresses.iter().all(IpAddr::is_loopback));
        assert!(!here.back.is_empty());
        let nowhere = lookup("no-such-host.invalid", IpChoice::Any);
        assert!(nowhere.addresses.is_err() && nowhere.back.is_empty());
        assert!(own_addresses().iter().all(|a| a != "127.0.0.1"));
    }
}
