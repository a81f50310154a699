//! The parts that can be measured, each a module.

pub mod agents;
mod codec;
mod day;
mod fill;
mod memory;
mod mounted;
mod null;
mod pacing;
mod rate;
mod service;
mod sflow;
pub mod smb;
mod stop;

use crate::figure::FiguresOrSkip;

/// One part.
pub struct Part {
    /// What the command line calls it.
    pub name: &'static str,
    /// One line on it.
    pub about: &'static str,
    /// Measures it in so many rounds.
    pub measure: fn(u32) -> FiguresOrSkip,
}

const PARTS: &[Part] = &[
    Part {
        name: "null",
        about: "the whole engine on the null driver, one shard, rate without limit",
        measure: null::measure,
    },
    Part {
        name: "rate",
        about: "one thread against a server with canned replies in another process",
        measure: rate::measure,
    },
    Part {
        name: "pacing",
        about: "the requested rate kept, and wake-ups late, without spinning",
        measure: pacing::measure,
    },
    Part {
        name: "stop",
        about: "response times around a stop of the server process, calculated and measured",
        measure: stop::measure,
    },
    Part {
        name: "fill",
        about: "INIT beside nfs-cp, on the same server in turns (root; ganesha, libnfs-utils)",
        measure: fill::measure,
    },
    Part {
        name: "memory",
        about: "what a file and an idle proc take",
        measure: memory::measure,
    },
    Part {
        name: "service",
        about: "service times against the server's delay and tshark's (root; tshark)",
        measure: service::measure,
    },
    Part {
        name: "smb",
        about: "SMB beside smbtorture and smbclient, ciphers, 5,000 sessions (root; samba, samba-testsuite)",
        measure: smb::measure,
    },
    Part {
        name: "mounted",
        about: "system calls on mounted file systems beside a bare loop and fio (fio)",
        measure: mounted::measure,
    },
    Part {
        name: "agents",
        about: "what a prime takes that holds 1,000 agents (they pretend, in another process)",
        measure: agents::measure,
    },
    Part {
        name: "sflow",
        about: "collecting sFlow: decoded, made rates of, written",
        measure: sflow::measure,
    },
    Part {
        name: "day",
        about: "a day of 100 interfaces merged with a run, and reduced",
        measure: day::measure,
    },
    Part {
        name: "codec",
        about: "what single steps of the hot path take",
        measure: codec::measure,
    },
];

/// What the command line takes.
pub fn names() -> Vec<&'static str> {
    PARTS.iter().map(|p| p.name).collect()
}

/// The parts with these names, in their own order; without names all.
pub fn chosen(names: &[String]) -> impl Iterator<Item = &'static Part> + '_ {
    PARTS
        .iter()
        .filter(|p| names.is_empty() || names.iter().any(|n| n == p.name))
}
