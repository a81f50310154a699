//! Chosen interfaces and their names.
//!
//! A switch reports all its ports; the traffic of the server is that of the ports to which it is
//! connected. The user chooses them by number, range or name, for one agent or all.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A pattern of ports: `24`, `1-4`, `uplink`, or one of these for one agent,
/// `10.0.0.248/24`. Numbers are ifIndexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPattern {
    /// The agent; `None` for any agent.
    pub agent: Option<IpAddr>,
    /// The ports of the agent.
    pub which: PortRange,
}

/// Ports of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortRange {
    /// From the first ifIndex to the last, inclusive.
    Range(u32, u32),
    /// The one with this name.
    Name(String),
}

/// Text that names no ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" names no ports; {hint}")]
pub struct PortSyntaxError {
    text: String,
    hint: String,
}

impl PortSyntaxError {
    fn new(text: &str) -> Self {
        let hint = "give an ifIndex as 24, a range as 1-4, a name, or one of these after an agent's address as 10.0.0.248/24";
        Self {
            text: text.to_owned(),
            hint: hint.to_owned(),
        }
    }

    /// An address where a name should be: no interface has such a name.
    fn address(text: &str, agent: IpAddr, port: &str) -> Self {
        let port = if port.is_empty() { "24" } else { port };
        Self {
            text: text.to_owned(),
            hint: format!("an agent's address is followed by a slash: write {agent}/{port}"),
        }
    }
}

impl FromStr for PortPattern {
    type Err = PortSyntaxError;

    fn from_str(text: &str) -> Result<Self, PortSyntaxError> {
        // Names may have slashes too, as 0/24 has: only an address before it is an agent.
        let split = text.split_once('/');
        let of_agent = split.and_then(|(agent, rest)| Some((agent.parse::<IpAddr>().ok()?, rest)));
        let (agent, port) = match of_agent {
            Some((agent, port)) => (Some(agent), port.trim()),
            None => (None, text.trim()),
        };
        let (first, last) = port.split_once('-').unwrap_or((port, port));
        if agent.is_none()
            && let Ok(address) = first.trim().parse::<IpAddr>()
        {
            let port = port.split_once('-').map_or("", |(_, last)| last.trim());
            return Err(PortSyntaxError::address(text, address, port));
        }
        let which = match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => PortRange::Range(first, last),
            (Ok(_), Ok(_)) => return Err(PortSyntaxError::new(text)),
            _ if port.is_empty() => return Err(PortSyntaxError::new(text)),
            _ => PortRange::Name(port.to_owned()),
        };
        Ok(Self { agent, which })
    }
}

impl fmt::Display for PortPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(agent) = self.agent {
            write!(f, "{agent}/")?;
        }
        match &self.which {
            PortRange::Range(first, last) if first == last => write!(f, "{first}"),
            PortRange::Range(first, last) => write!(f, "{first}-{last}"),
            PortRange::Name(name) => f.write_str(name),
        }
    }
}

/// Names of interfaces: sFlow's own counters have only numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<(Option<IpAddr>, u32), String>);

impl Names {
    /// Gives an interface a name; with no agent, on every agent that has no own name for it.
    pub fn set(&mut self, agent: Option<IpAddr>, if_index: u32, name: String) {
        self.0.insert((agent, if_index), name);
    }

    /// Its name, if it has one.
    pub fn get(&self, agent: IpAddr, if_index: u32) -> Option<&str> {
        let own = self.0.get(&(Some(agent), if_index));
        own.or_else(|| self.0.get(&(None, if_index)))
            .map(String::as_str)
    }

    /// The label: the name, or the number where there is none.
    pub fn label(&self, agent: IpAddr, if_index: u32) -> impl fmt::Display {
        match self.get(agent, if_index) {
            Some(name) => format!("{agent} {name}"),
            None => format!("{agent} interface {if_index}"),
        }
    }
}

/// The interfaces that face the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    ports: Vec<PortPattern>,
    /// Names of interfaces.
    pub names: Names,
}

impl Selection {
    /// Without ports, no interface is chosen: none is guessed.
    pub fn new(ports: Vec<PortPattern>, names: Names) -> Self {
        Self { ports, names }
    }

    /// Whether this interface is chosen.
    pub fn has(&self, agent: IpAddr, if_index: u32) -> bool {
        self.ports
            .iter()
            .any(|ports| self.matches(ports, agent, if_index))
    }

    fn matches(&self, ports: &PortPattern, agent: IpAddr, if_index: u32) -> bool {
        ports.agent.is_none_or(|wanted| wanted == agent)
            && match &ports.which {
                PortRange::Range(first, last) => (*first..=*last).contains(&if_index),
                PortRange::Name(name) => self.names.get(agent, if_index) == Some(name),
            }
    }

    /// The patterns that match none of these interfaces: misspelt, or without counters.
    pub fn unmatched<'a>(
        &'a self,
        seen: &'a [(IpAddr, u32)],
    ) -> impl Iterator<Item = &'a PortPattern> {
        let found = |ports: &PortPattern| {
            seen.iter()
                .any(|(agent, index)| self.matches(ports, *agent, *index))
        };
        self.ports.iter().filter(move |ports| !found(ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_by_number_range_and_name() {
        let mut names = Names::default();
        let a: IpAddr = [10, 0, 0, 248].into();
        let b: IpAddr = "fe80::1".parse().expect("an address");
        names.set(None, 7, "0/7".to_owned());
        names.set(Some(b), 7, "uplink".to_owned());
        let texts = ["24", "10.0.0.248/1-3", "0/7", "fe80::1/uplink", "missing"];
        let ports = texts.map(|text| text.parse().expect("ports")).to_vec();
        let selection = Selection::new(ports, names);
        let chosen = |agent| {
            (0..30)
                .filter(|n| selection.has(agent, *n))
                .collect::<Vec<u32>>()
        };
        assert_eq!(chosen(a), [1, 2, 3, 7, 24]);
        assert_eq!(chosen(b), [7, 24]);
        assert_eq!(selection.names.label(b, 7).to_string(), "fe80::1 uplink");
        assert_eq!(
            selection.names.label(a, 9).to_string(),
            "10.0.0.248 interface 9"
        );
        let seen = [(a, 24), (a, 1), (b, 7)];
        let missing: Vec<&PortPattern> = selection.unmatched(&seen).collect();
        assert_eq!(
            missing,
            [
                &texts[2].parse().expect("ports"),
                &texts[4].parse().expect("ports")
            ]
        );
        assert!(!Selection::default().has(a, 1));
    }

    #[test]
    fn ports_are_written_as_they_are_read() {
        for text in ["24", "1-4", "uplink", "10.0.0.248/24", "fe80::1/0/24"] {
            let ports: PortPattern = text.parse().expect("ports");
            assert_eq!(ports.to_string(), text);
        }
    }

    #[test]
    fn invalid_patterns_are_refused_with_a_hint() {
        for bad in ["", " ", "10.0.0.1/", "9-3"] {
            let error = bad
                .parse::<PortPattern>()
                .expect_err("no ports")
                .to_string();
            assert!(error.contains("names no ports"), "{error}");
        }
        for (text, wanted) in [
            ("10.0.0.248-24", "write 10.0.0.248/24"),
            ("10.0.0.248", "write 10.0.0.248/24"),
            ("fe80::1-3", "write fe80::1/3"),
        ] {
            let error = text.parse::<PortPattern>().expect_err(text).to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
