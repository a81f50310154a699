//! Mounted file systems: how much of what was read left the client, and how much its
//! own memory answered.

use serde::{Deserialize, Serialize};

/// What counts the bytes that come from beyond the client's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadCounter {
    /// The NFS client's, per mount (`/proc/self/mountstats`).
    Nfs,
    /// The SMB client's, per share (`/proc/fs/cifs/Stats`).
    Cifs,
    /// The block device's (`/sys/dev/block`).
    Block,
    /// None is needed: the file system is in the client's memory (tmpfs, a RAM disk).
    Memory,
    /// They are not counted.
    Unknown,
}

/// Where the bytes came from that one client read through one counter in RUN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientReads {
    /// The client's name as the rc file gives it.
    pub client: String,
    /// Its mount points that share the counter.
    pub mounts: Vec<String>,
    /// The type of the file system, as the system calls it.
    pub file_system: String,
    /// What counted.
    pub counter: ReadCounter,
    /// Bytes that operations have read.
    pub read_bytes: u64,
    /// Bytes that came from beyond the client's memory: the server, or a device. Others
    /// that use the same mount or device, and data that is read ahead, are in it.
    /// `None`: not known. If the counter was read late it is the most that it can have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_bytes: Option<u64>,
    /// Names the counter on its host: all entries with the same name, also those of other
    /// clients on that host, are of one counter. Empty in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Why it is not known, or not exactly, what was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl ClientReads {
    /// Bytes read that the counter has not seen: the client's memory answered them, up to
    /// what was fetched between the edges of RUN and the readings. It may have been more,
    /// since read-ahead and other readers are counted too.
    pub fn memory_bytes(&self) -> Option<u64> {
        let fetched = self.fetched_bytes?;
        Some(self.read_bytes.saturating_sub(fetched))
    }
}
