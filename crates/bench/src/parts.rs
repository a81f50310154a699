//! The parts that can be measured, each a module.

pub mod agents;
mod bare_nfs;
mod bare_ring;
mod codec;
mod day;
mod fill;
mod fio;
mod growth;
mod io;
pub mod krb5p;
mod memory;
mod mounted;
mod nfs_shard;
mod null;
mod pacing;
mod rate;
mod service;
mod sessions;
mod sflow;
pub mod smb;
mod stop;
mod tls;

use crate::measured::MeasuredOrReason;

/// One part.
pub struct Part {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Measures it in this number of rounds.
    pub measure: fn(u32) -> MeasuredOrReason,
}

const PARTS: &[Part] = &[
    Part {
        name: "null",
        about: "the engine on the null driver compared with a bare loop; one thread at full speed",
        measure: null::measure,
    },
    Part {
        name: "rate",
        about: "GETATTR and a mix of one thread, against canned replies of another process",
        measure: rate::measure,
    },
    Part {
        name: "io",
        about: "READ and WRITE of one connection, against canned replies of another process",
        measure: io::measure,
    },
    Part {
        name: "sessions",
        about: "NFSv4.1 compared with NFSv3, against canned replies of another process",
        measure: sessions::measure,
    },
    Part {
        name: "tls",
        about: "READ and WRITE over TLS compared with the cipher alone, against canned replies of another process",
        measure: tls::measure,
    },
    Part {
        name: "krb5p",
        about: "READ and WRITE with encryption by Kerberos compared with the GSS-API library alone (root; ganesha with Kerberos, krb5-kdc)",
        measure: krb5p::measure,
    },
    Part {
        name: "pacing",
        about: "achieved and requested rate; lateness of procs",
        measure: pacing::measure,
    },
    Part {
        name: "stop",
        about: "response times around a stop of the server process, calculated and measured",
        measure: stop::measure,
    },
    Part {
        name: "fill",
        about: "INIT compared with nfs-cp on the same server (root; ganesha, libnfs-utils)",
        measure: fill::measure,
    },
    Part {
        name: "memory",
        about: "memory of a file and of an idle proc",
        measure: memory::measure,
    },
    Part {
        name: "service",
        about: "service times, the server's delay and tshark's times (root; tshark)",
        measure: service::measure,
    },
    Part {
        name: "smb",
        about: "SMB compared with smbtorture and smbclient; ciphers; 5,000 sessions (root; samba, samba-testsuite)",
        measure: smb::measure,
    },
    Part {
        name: "mounted",
        about: "system calls on mounted file systems compared with a bare loop and fio (fio)",
        measure: mounted::measure,
    },
    Part {
        name: "agents",
        about: "the prime with 1,000 simulated agents of another process",
        measure: agents::measure,
    },
    Part {
        name: "growth",
        about: "the cost of an operation over the number of procs, connections, files, clients, load points",
        measure: growth::measure,
    },
    Part {
        name: "sflow",
        about: "sFlow datagrams: decoding, rates, log",
        measure: sflow::measure,
    },
    Part {
        name: "day",
        about: "a day of 100 interfaces, merged with a run and reduced",
        measure: day::measure,
    },
    Part {
        name: "codec",
        about: "single steps of the hot path",
        measure: codec::measure,
    },
];

/// The names for the command line.
pub fn names() -> Vec<&'static str> {
    PARTS.iter().map(|p| p.name).collect()
}

/// The parts with these names, in the order of the table; all parts if there are no names.
pub fn chosen(names: &[String]) -> impl Iterator<Item = &'static Part> + '_ {
    PARTS
        .iter()
        .filter(|p| names.is_empty() || names.iter().any(|n| n == p.name))
}
