//! How a driver reaches its servers.

use crate::units::{Bytes, counted};
use serde::{Deserialize, Serialize};

/// What carries the calls (TCP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A stream with record marks.
    #[default]
    Tcp,
    /// A datagram per call and per reply; lost ones are sent again.
    Udp,
}

impl Transport {
    /// As sfssum has it in column 7 (manual M, section 4.4).
    pub const fn sfssum_letter(self) -> char {
        match self {
            Self::Tcp => 'T',
            Self::Udp => 'U',
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// Which address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpChoice {
    /// IPv4 only (IPV6_ENABLE=off and no IPv6 literal).
    V4,
    /// IPv6 only.
    V6,
    /// Whatever the name resolves to first.
    #[default]
    Any,
}

/// How procs share connections (CONNECTIONS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// One each: the classical rule.
    #[default]
    PerProc,
    /// This many per client and server, as kernel clients do with `nconnect`.
    Shared(u32),
}

impl Connections {
    /// How procs share connections, in text.
    pub fn text(self, transport: Transport) -> String {
        let what = match transport {
            Transport::Tcp => "connection",
            Transport::Udp => "socket",
        };
        match self {
            Self::PerProc => format!("a {what} per proc"),
            Self::Shared(n) => {
                let shared = counted(u64::from(n), &format!("shared {what}"));
                format!("{shared} per server")
            }
        }
    }
}

/// The largest transfers of a driver, in text; `None`: what the server prefers.
pub(crate) fn transfers_text(bytes_max: Option<u32>) -> String {
    match bytes_max {
        Some(bytes) => format!("transfers up to {}", Bytes(u64::from(bytes))),
        None => "transfers as the server prefers".to_owned(),
    }
}
