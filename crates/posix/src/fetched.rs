//! How many bytes have come to this host for a mounted file system, as the system
//! counts them: what was read beyond that came from the client's own memory.
//!
//! | module | counts |
//! |---|---|
//! | `nfs` | bytes that the NFS client read from the server, per mount |
//! | `cifs` | bytes that the SMB client read from the server, per share |
//! | `block` | bytes read from a block device |
//!
//! Linux only. What a meter reads is made by the kernel from its memory, so that a
//! server that hangs holds nothing up.

pub mod block;
pub mod cifs;
pub mod nfs;

use crate::sys::Dir;
use filermark_driver_kit::driver::FetchedBytes;
use filermark_model::client_reads::ReadCounter;
use std::path::PathBuf;

/// Counts what comes from beyond this host's memory for one mount point.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// Names the counter: two mount points with the same share it.
    source: String,
    file_system: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The mount's place in this process's view.
    Nfs(String),
    /// The share, `//server/share`.
    Cifs(String),
    /// The device's `stat` file.
    Block(PathBuf),
    Memory,
    Unknown,
}

impl Meter {
    /// The meter of the file system that a directory is on.
    pub(crate) fn of(dir: &Dir) -> Self {
        let facts = dir.mount_facts();
        let fact = |name: &str| {
            let found = facts.iter().find(|(n, _)| n == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let device = dir.id().map_or(0, |(device, _)| device);
        let kind = kind_of(
            fact("file system"),
            fact("source"),
            fact("mount point"),
            &|| block::of(device, fact("source")),
        );
        Self {
            source: match &kind {
                Kind::Block(path) => path.display().to_string(),
                Kind::Cifs(share) => share.clone(),
                _ => format!("device {device}"),
            },
            file_system: fact("file system").to_owned(),
            kind,
        }
    }

    /// What has come so far.
    pub(crate) fn read(&self) -> FetchedBytes {
        let text = |path: &str| std::fs::read_to_string(path).ok();
        let (counter, bytes) = match &self.kind {
            Kind::Nfs(place) => {
                let stats = text("/proc/self/mountstats");
                let bytes = stats.and_then(|t| nfs::read_bytes_in(&t, place));
                (ReadCounter::Nfs, bytes)
            }
            Kind::Cifs(share) => {
                let stats = text("/proc/fs/cifs/Stats");
                let bytes = stats.and_then(|t| cifs::read_bytes_in(&t, share));
                (ReadCounter::Cifs, bytes)
            }
            Kind::Block(path) => {
                let stat = std::fs::read_to_string(path).ok();
                let bytes = stat.and_then(|t| block::read_bytes_in(&t));
                (ReadCounter::Block, bytes)
            }
            Kind::Memory => (ReadCounter::Memory, Some(0)),
            Kind::Unknown => (ReadCounter::Unknown, None),
        };
        FetchedBytes {
            source: self.source.clone(),
            file_system: self.file_system.clone(),
            counter,
            bytes,
        }
    }
}

/// By the file system's type; those on block devices ask `block`.
fn kind_of(
    file_system: &str,
    source: &str,
    place: &str,
    block: &dyn Fn() -> Option<block::Device>,
) -> Kind {
    match file_system {
        // The counters are files of Linux's kernel.
        _ if !cfg!(target_os = "linux") => Kind::Unknown,
        "nfs" | "nfs4" => Kind::Nfs(place.to_owned()),
        "cifs" | "smb3" => Kind::Cifs(source.to_owned()),
        "tmpfs" | "ramfs" => Kind::Memory,
        _ => match block() {
            Some(block::Device::Memory) => Kind::Memory,
            Some(block::Device::Counted(stat)) => Kind::Block(stat),
            None => Kind::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_type_of_the_file_system_decides() {
        let none = || None;
        let disk = || Some(block::Device::Counted("/s".into()));
        let ram = || Some(block::Device::Memory);
        let kind = |file_system, block| kind_of(file_system, "//s/x", "/mnt", block);
        assert_eq!(kind("nfs4", &none), Kind::Nfs("/mnt".into()));
        assert_eq!(kind("cifs", &none), Kind::Cifs("//s/x".into()));
        assert_eq!(kind("tmpfs", &disk), Kind::Memory);
        assert_eq!(kind("ext4", &disk), Kind::Block("/s".into()));
        assert_eq!(kind("ext2", &ram), Kind::Memory);
        for unknown in ["fuse.sshfs", "overlay", "9p", ""] {
            assert_eq!(kind(unknown, &none), Kind::Unknown);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[cfg_attr(feature = "portable", ignore = "the meters are of Linux")]
    fn the_meter_of_a_directory_can_be_read_twice() {
        let dir = Dir::open_top(std::path::Path::new("/proc")).expect("/proc");
        let meter = Meter::of(&dir);
        let (first, second) = (meter.read(), meter.read());
        assert_eq!(first.source, second.source);
        assert_eq!(
            (first.counter, first.bytes, first.file_system.as_str()),
            (ReadCounter::Unknown, None, "proc")
        );
    }
}
