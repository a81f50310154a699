//! The programs that a prime brings to its clients: its own, and those for other systems, from
//! the directory that AGENTS_DIR names. A file is checked completely before anything is sent.

use filermark_link::build::{Program, own_build};
use filermark_model::launch::HostPlan;
use filermark_system::Platform;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a program file that state what it is for.
const HEAD_LEN: usize = 4096;

/// A system and a processor, as Filermark names them: `linux-x86_64`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SystemName {
    os: String,
    processor: String,
}

impl SystemName {
    /// The name of what `uname`, or Windows, states.
    pub fn of(platform: &Platform) -> Self {
        let os = match platform.os.to_ascii_lowercase().as_str() {
            "darwin" => "macos".to_owned(),
            "windows_nt" => "windows".to_owned(),
            other => other.to_owned(),
        };
        let processor = match platform.processor.to_ascii_lowercase().as_str() {
            "amd64" | "x64" => "x86_64".to_owned(),
            "arm64" => "aarch64".to_owned(),
            other => other.to_owned(),
        };
        Self { os, processor }
    }

    /// Whether it is Windows, which has no POSIX shell.
    pub fn is_windows(&self) -> bool {
        self.os == "windows"
    }

    /// The name of a program for it in AGENTS_DIR.
    pub fn file_name(&self) -> String {
        let end = if self.is_windows() { ".exe" } else { "" };
        format!("filermark-{self}{end}")
    }
}

impl std::fmt::Display for SystemName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.os, self.processor)
    }
}

/// The name of the directory where `install` puts a build for a system: hosts with different
/// processors may have one home directory. On POSIX systems it has the words of `uname`, as the
/// scripts there make it. Windows states one processor as `AMD64` or `x86_64`, depending on who
/// asks; the directory has Filermark's name of it.
pub fn build_dir(build: &str, platform: &Platform) -> String {
    let name = SystemName::of(platform);
    let system = match name.is_windows() {
        true => name.to_string(),
        false => format!("{} {}", platform.os, platform.processor),
    };
    let plain = |c: char| match c.is_ascii_alphanumeric() || "._-".contains(c) {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    format!("{build}-{}", system.chars().map(plain).collect::<String>())
}

/// The systems of hosts, as far as they were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSystems(HashMap<(String, Option<String>), Platform>);

impl HostSystems {
    /// Adds a host.
    pub fn add(&mut self, host: &HostPlan, platform: Platform) {
        self.0
            .insert((host.client.clone(), host.user.clone()), platform);
    }

    /// The system of a host; `None`: it was not asked.
    pub fn of(&self, host: &HostPlan) -> Option<&Platform> {
        self.0.get(&(host.client.clone(), host.user.clone()))
    }
}

/// Whether EXEC_PATH of a host is a path of Windows: with a drive letter, or ending in `.exe`.
pub(crate) fn has_windows_path(host: &HostPlan) -> bool {
    host.program.as_deref().is_some_and(|path| {
        let bytes = path.as_bytes();
        let has_drive = bytes.get(1) == Some(&b':') && bytes[0].is_ascii_alphabetic();
        has_drive || path.to_ascii_lowercase().ends_with(".exe")
    })
}

/// The programs for the clients of a run.
pub(crate) struct Programs {
    own: Arc<Program>,
    own_system: SystemName,
    /// The name that all must have.
    build: String,
    dir: Option<PathBuf>,
    read: Mutex<HashMap<SystemName, Result<Arc<Program>, String>>>,
}

impl Programs {
    /// This program, and those of a directory.
    pub fn new(own: Program, dir: Option<&Path>) -> Self {
        Self {
            build: match &own.mark {
                Some(mark) => mark.sources.clone(),
                None => own_build().to_owned(),
            },
            own: Arc::new(own),
            own_system: SystemName::of(&filermark_system::platform()),
            dir: dir.map(Path::to_owned),
            read: Mutex::default(),
        }
    }

    /// The name of the build that is installed.
    pub fn build(&self) -> &str {
        match &self.own.mark {
            Some(mark) => &mark.sources,
            None => self.own.build(),
        }
    }

    /// The program for a system.
    ///
    /// # Errors
    /// A message: there is none, or the file is not a program of this build for that system.
    pub fn of(&self, platform: &Platform) -> Result<Arc<Program>, String> {
        let system = SystemName::of(platform);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || self.find(&system);
        read.entry(system.clone()).or_insert_with(find).clone()
    }

    fn find(&self, system: &SystemName) -> Result<Arc<Program>, String> {
        let is_own = *system == self.own_system;
        let Some(dir) = &self.dir else {
            return match is_own {
                true => Ok(self.own.clone()),
                false => Err(format!(
                    "the host is {system}, this program is for {}: set AGENTS_DIR (--agents) to a \
                     directory with {}, built from the same sources, or remove the host from \
                     CLIENTS",
                    self.own_system,
                    system.file_name()
                )),
            };
        };
        let path = dir.join(system.file_name());
        if is_own && !path.exists() {
            return Ok(self.own.clone());
        }
        let shown = path.display().to_string();
        let program = Program::read(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => format!(
                "the host is {system}, and {shown} is missing: build it from the same sources, or \
                 remove the host from CLIENTS"
            ),
            _ => format!("{shown}: cannot be read: {e}"),
        })?;
        let found = head_of(&program.path).map_err(|e| format!("{shown}: cannot be read: {e}"))?;
        match system_in(&found) {
            Some(found) if found == *system => {}
            Some(found) => {
                return Err(format!(
                    "{shown}: is a program for {found}, not for {system}: put the right one there"
                ));
            }
            None => {
                return Err(format!(
                    "{shown}: is no program for {system} (neither ELF, PE nor Mach-O for a known \
                     processor): put the right one there"
                ));
            }
        }
        let Some(mark) = &program.mark else {
            return Err(format!(
                "{shown}: is not Filermark, or an older version: build it from the same sources \
                 as this program"
            ));
        };
        if mark.sources != self.build {
            return Err(format!(
                "{shown}: is filermark {} ({mark}), this program is build {}: build both from \
                 the same sources",
                mark.version, self.build
            ));
        }
        Ok(Arc::new(program))
    }
}

fn head_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD_LEN);
    File::open(path)?
        .take(HEAD_LEN as u64)
        .read_to_end(&mut head)?;
    Ok(head)
}

/// The system that a program file is for, from its first bytes; `None`: it is no program for a
/// known processor.
fn system_in(head: &[u8]) -> Option<SystemName> {
    let named = |os: &str, processor: &str| SystemName {
        os: os.into(),
        processor: processor.into(),
    };
    let word = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    if head.starts_with(b"\x7fELF\x02\x01") {
        // EI_OSABI: FreeBSD states itself, Linux is 0 or 3; then e_machine.
        let os = match head.get(7)? {
            9 => "freebsd",
            0 | 3 => "linux",
            _ => return None,
        };
        return match word(18)? {
            62 => Some(named(os, "x86_64")),
            183 => Some(named(os, "aarch64")),
            243 => Some(named(os, "riscv64")),
            _ => None,
        };
    }
    if head.starts_with(b"MZ") {
        // The offset of the PE header, then its machine.
        let at = usize::try_from(long(0x3c)?).ok()?;
        if head.get(at..at.checked_add(4)?)? != b"PE\0\0" {
            return None;
        }
        return match word(at + 4)? {
            0x8664 => Some(named("windows", "x86_64")),
            0xaa64 => Some(named("windows", "aarch64")),
            _ => None,
        };
    }
    // Mach-O of 64 bits, then its processor.
    match (long(0)?, long(4)?) {
        (0xfeed_facf, 0x0100_000c) => Some(named("macos", "aarch64")),
        (0xfeed_facf, 0x0100_0007) => Some(named("macos", "x86_64")),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
