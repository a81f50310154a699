//! The load points, and the clients and procs that make load.

use crate::units::OpsPerSec;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One requested load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Its number, from 1.
    pub number: u32,
    /// What the user asked for.
    #[serde(rename = "asked")]
    pub entered: OpsPerSec,
    /// What is requested: rounded down to whole op/s per proc (manual M, 3.3 LOAD).
    pub requested: OpsPerSec,
    /// Composites: the load in units of the business metric (BUILDs, STREAMs);
    /// 0: there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub units: f64,
    /// Composites: how many of the plan's procs make load; 0: all.
    #[serde(default, skip_serializing_if = "is_zero_count")]
    pub proc_count: u32,
}

impl LoadPoint {
    /// The load point of LOAD=max: no rate is requested, the procs make operations as fast as
    /// they are answered.
    pub const MAX: Self = Self {
        number: 1,
        entered: OpsPerSec(0.0),
        requested: OpsPerSec(0.0),
        units: 0.0,
        proc_count: 0,
    };

    /// The requested rate in words; `max` where none is requested.
    pub fn requested_text(self) -> String {
        match self.is_max() {
            true => "max".to_owned(),
            false => self.requested.to_string(),
        }
    }

    /// Whether no rate is requested.
    pub fn is_max(self) -> bool {
        self.requested.0 <= 0.0
    }
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn is_zero_count(n: &u32) -> bool {
    *n == 0
}

/// One proc of a composite benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcPlan {
    /// Which of the plan's clients it runs on, from 0.
    pub client: u32,
    /// The directory it works in.
    pub mount: MountPoint,
    /// Which component it belongs to, from 0.
    pub component: u32,
    /// Its number among the procs of its component, from 0.
    pub instance: u32,
    /// Its rate; `None`: as fast as it goes.
    pub ops_per_sec: Option<OpsPerSec>,
}

/// Which procs of a run a plan has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcSlice {
    /// Procs in the whole run.
    pub total: u32,
    /// The numbers of those that are here, rising.
    pub numbers: Vec<u32>,
}

/// A client host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientPlan {
    /// Its name as the rc file gives it.
    pub name: String,
    /// One mount point per proc; composites: those that its procs work in, each once.
    pub mounts: Vec<MountPoint>,
}

/// A server and a path on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MountPoint {
    /// Host name or address, without brackets.
    pub host: String,
    /// The exported path; SMB: the share with a backslash before it, and perhaps a
    /// directory in it (`\share\dir`).
    pub path: String,
}

impl MountPoint {
    /// Whether it is a share of an SMB server. A directory of a Windows client on a server
    /// (`\\server\share`) is none: its host is the client.
    pub fn is_share(&self) -> bool {
        self.path.starts_with('\\') && !self.is_unc()
    }

    /// Whether its path is that of a share as Windows writes it, with server and share.
    pub fn is_unc(&self) -> bool {
        self.path.starts_with(r"\\")
    }

    /// The place of what lies in its directory, for people: with the host, and absolute.
    pub fn below(&self, name: &str) -> String {
        match self.path.contains('\\') && !self.path.starts_with('/') {
            true => format!(r"{}\{name}", self.to_string().trim_end_matches('\\')),
            false => format!("{}/{name}", self.to_string().trim_end_matches('/')),
        }
    }
}

impl fmt::Display for MountPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_share() {
            let (open, close) = if self.host.contains(':') {
                ("[", "]")
            } else {
                ("", "")
            };
            return write!(f, r"\\{open}{}{close}{}", self.host, self.path);
        }
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.path)
        } else {
            write!(f, "{}:{}", self.host, self.path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_shown_as_they_are_written() {
        let shown = |host: &str, path: &str| {
            let (host, path) = (host.to_owned(), path.to_owned());
            let mount = MountPoint { host, path };
            (mount.to_string(), mount.below("x"))
        };
        let texts = [
            ("nas", "/vol", "nas:/vol", "nas:/vol/x"),
            ("h", r"/a\b", r"h:/a\b", r"h:/a\b/x"),
            ("::1", "/", "[::1]:/", "[::1]:/x"),
            ("nas", r"\share", r"\\nas\share", r"\\nas\share\x"),
            ("w1", r"\\nas\share", r"w1:\\nas\share", r"w1:\\nas\share\x"),
            ("w1", r"C:\", r"w1:C:\", r"w1:C:\x"),
        ];
        for (host, path, mount, below) in texts {
            assert_eq!(shown(host, path), (mount.to_owned(), below.to_owned()));
        }
    }
}
