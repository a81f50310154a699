//! How a driver reaches its servers.

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
