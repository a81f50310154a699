//! The free space that one client reports, file system by file system.

use filermark_driver_kit::driver::ClaimReport;
use filermark_link::facts::FreeSpace;
use filermark_model::plan::{DriverPlan, MountPoint, Target};

/// The free space of one client, mount point by mount point.
#[derive(Debug)]
pub(crate) struct ClientSpace {
    /// Whether the paths are local paths of this host.
    mounted: bool,
    file_systems: Vec<(String, FreeSpace)>,
}

impl ClientSpace {
    /// Empty; the driver defines the meaning of the paths.
    pub fn by(driver: &DriverPlan) -> Self {
        Self {
            mounted: driver.facts().target == Target::Mounted,
            file_systems: Vec::new(),
        }
    }

    /// Adds the result of a claim. Several mount points of one file system, which have one
    /// device number, count once.
    pub fn add(&mut self, mount: &MountPoint, kept: bool, host: &str, found: &ClaimReport) {
        let Some(space) = found.space else {
            return;
        };
        let device = match self.mounted {
            true => device_of(&mount.path),
            false => mount.to_string(),
        };
        match self.file_systems.iter_mut().find(|(d, _)| *d == device) {
            Some((_, known)) => {
                known.bytes = known.bytes.min(space.free_bytes);
                known.kept |= kept;
                known.mounts.push(mount.clone());
            }
            None => {
                let free = FreeSpace {
                    mounts: vec![mount.clone()],
                    file_system: match self.mounted {
                        true => name_of(&device, host, found),
                        // An export or a share is the same on every client.
                        false => device.clone(),
                    },
                    bytes: space.free_bytes,
                    total_bytes: space.total_bytes,
                    kept,
                };
                self.file_systems.push((device, free));
            }
        }
    }

    /// All entries, for the prime.
    pub fn into_free(self) -> Vec<FreeSpace> {
        self.file_systems.into_iter().map(|(_, f)| f).collect()
    }
}

/// Identifies a file system in the same way on all hosts: a remote one by its source, a local
/// one by its host and device.
fn name_of(device: &str, host: &str, found: &ClaimReport) -> String {
    let source = found.server_facts.iter().find(|(name, _)| name == SOURCE);
    match source {
        Some((_, source)) if source.contains(':') || source.starts_with("//") => source.clone(),
        _ => format!("{host} {} {device}", boot_id()),
    }
}

/// Distinguishes hosts with the same name: copies of one virtual machine.
fn boot_id() -> String {
    let id = filermark_system::read_proc("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// The fact in which the driver of mounted file systems reports the source.
const SOURCE: &str = "source";

/// The number of the device of a path; the path itself if there is none.
#[cfg(unix)]
fn device_of(path: &str) -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map_or_else(|_| path.to_owned(), |found| found.dev().to_string())
}

#[cfg(not(unix))]
fn device_of(path: &str) -> String {
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::PosixPlan;
    use filermark_model::survey::Space;

    fn mount(path: &str) -> MountPoint {
        MountPoint {
            host: "localhost".into(),
            path: path.into(),
        }
    }

    /// The report of `host` about a mount point at a path of this machine.
    fn found(host: &str, path: &str, source: &str) -> Vec<FreeSpace> {
        let mut seen = ClientSpace::by(&DriverPlan::Posix(PosixPlan::default()));
        seen.add(&mount(path), false, host, &report(source, 70));
        seen.into_free()
    }

    fn report(source: &str, bytes: u64) -> ClaimReport {
        ClaimReport {
            space: Some(Space {
                free_bytes: bytes,
                total_bytes: 0,
            }),
            server_facts: vec![("source".to_owned(), source.to_owned())],
            ..ClaimReport::default()
        }
    }

    #[test]
    fn file_systems_are_distinguished() {
        let name = |host, path, source| found(host, path, source)[0].file_system.clone();
        // The same export is equal on all hosts; a local disk is not.
        assert_eq!(
            name("one", "/proc", "nas:/vol"),
            name("two", "/proc", "nas:/vol")
        );
        assert_ne!(
            name("one", "/proc", "nas:/vol"),
            name("one", "/proc", "nas:/vol2")
        );
        assert_ne!(name("one", "/proc", "disk"), name("two", "/proc", "disk"));
    }

    /// On one host the device decides: two names of one export are one file system.
    #[test]
    #[cfg(target_os = "linux")]
    fn paths_of_one_device_are_one_file_system() {
        let mut seen = ClientSpace::by(&DriverPlan::Posix(PosixPlan::default()));
        seen.add(&mount("/proc"), false, "one", &report("nas:/vol/a", 70));
        seen.add(&mount("/proc/self"), true, "one", &report("nas:/vol/b", 60));
        seen.add(&mount("/dev"), false, "one", &report("dev", 90));
        seen.add(&mount("/silent"), false, "one", &ClaimReport::default());
        let free = seen.into_free();
        let shown: Vec<_> = free
            .iter()
            .map(|f| (f.mounts.len(), f.bytes, f.kept))
            .collect();
        assert_eq!(shown, [(2, 60, true), (1, 90, false)]);
    }
}
