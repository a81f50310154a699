//! What several crates ask the operating system: the name of the host, the user, who may use
//! a file, free space, processes. One module per system, with the same functions in each.
//!
//! What a system does not have is `None` or an error here, never a made-up value. Knows no
//! protocols, plans or results.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(any(windows, test))]
mod access_list;
mod proc_files;
#[cfg(any(target_os = "freebsd", target_os = "macos"))]
mod sysctl;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
pub mod uring;
#[cfg(unix)]
use unix as own;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as own;

pub use own::{
    create_at_once, create_private, file_number, free_bytes, host_facts, host_name, limits,
    make_private_dir, make_private_dirs, may_be_hidden, memory_available_bytes, open_at_once,
    platform, private_command, script_command, stdin, take_stdio, unwritable, user, wait_readable,
};
#[cfg(windows)]
pub use own::{ending, job};
pub use proc_files::{list_proc, mem_bytes, proc_exists, read_proc};

/// The system that programs run on, as `uname` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The operating system: `Linux`, `FreeBSD`, `Darwin`, `Windows`.
    pub os: String,
    /// The architecture of the processor.
    pub processor: String,
}

/// What a system says about its host by calls; empty or zero: it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// The operating system, by the name that its vendor gives it.
    pub os: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// The processor's model.
    pub cpu_model: String,
    /// Physical memory in bytes.
    pub memory_bytes: u64,
}

/// The user that this process runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The real user id.
    pub uid: u32,
    /// The real group id.
    pub gid: u32,
    /// The effective user id, which decides what the process may do.
    pub effective_uid: u32,
}

/// Limits of this process; `None`: there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Open files, at present.
    pub open_files_soft: Option<u64>,
    /// Open files, as far as the process may raise that limit.
    pub open_files_hard: Option<u64>,
    /// Processes and threads of the user.
    pub threads: Option<u64>,
}

/// Who may use a file besides this user and the administrators of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// No other user.
    Private,
    /// Other users.
    Shared {
        /// Who, for a message: `mode 644`, `access for Users`.
        who: String,
        /// Whether they may read it; else they may only change or run it.
        may_read: bool,
    },
    /// It belongs to this other user: a number or a name.
    Foreign(String),
}

/// Who may use an open file.
///
/// # Errors
/// The system's.
pub fn privacy(file: &File) -> io::Result<Privacy> {
    own::privacy(file)
}

/// Whether others may read the file at a path; `false` where that is not known.
pub fn others_may_read(path: &Path) -> bool {
    // A pipe is not opened: it may be one that another program waits for.
    if !path.is_file() {
        return false;
    }
    let found = open_at_once(path).and_then(|file| privacy(&file));
    matches!(found, Ok(Privacy::Shared { may_read: true, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_a_name_and_a_platform() {
        assert!(!host_name().is_empty());
        let here = platform();
        assert!(!here.os.is_empty() && !here.processor.is_empty());
        let facts = host_facts();
        assert!(facts.kernel.contains(['.']), "{facts:?}");
        if cfg!(windows) {
            assert!(facts.os.starts_with("Windows"), "{facts:?}");
        }
        if cfg!(any(windows, target_os = "freebsd", target_os = "macos")) {
            assert!(!facts.cpu_model.is_empty(), "{facts:?}");
            assert!(facts.memory_bytes > 1 << 20, "{facts:?}");
        }
    }

    #[test]
    fn free_space_is_known_where_the_directory_exists() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(free_bytes(&dir.path().join("none")).is_err());
    }

    #[test]
    fn directories_that_take_no_files_have_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(dir.path()), None);
        assert!(unwritable(&dir.path().join("none")).is_some());
    }

    #[test]
    fn files_are_created_at_once_and_have_their_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1"), dir.path().join("2"));
        let number = |path| file_number(&create_at_once(path).unwrap().unwrap()).unwrap();
        assert_eq!(number(&one), number(&one));
        assert_ne!(number(&one), number(&two));
        assert!(create_at_once(&dir.path().join("no/where")).is_err());
    }

    #[test]
    fn private_files_and_directories_are_the_owner_s_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (sub, file) = (dir.path().join("d"), dir.path().join("f"));
        let deep = dir.path().join("home/none/.ssh");
        assert!(make_private_dir(&deep).is_err(), "nothing above it is made");
        assert!(!dir.path().join("home").exists());
        make_private_dir(&sub).unwrap();
        make_private_dir(&sub).unwrap();
        make_private_dirs(&deep).unwrap();
        create_private(&file).unwrap();
        assert!(create_private(&file).is_err(), "it is there already");
        // Windows opens no directories as files.
        for path in [sub, file.clone()]
            .into_iter()
            .skip(usize::from(cfg!(windows)))
        {
            let found = privacy(&std::fs::File::open(path).unwrap()).unwrap();
            assert_eq!(found, Privacy::Private);
        }
        assert!(!others_may_read(&file));
        assert!(private_command(&file).contains(&file.display().to_string()));
    }

    #[test]
    #[cfg(unix)]
    fn files_that_others_may_use_are_recognized() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        create_private(&path).unwrap();
        for (mode, who, may_read) in [(0o640, "mode 640", true), (0o602, "mode 602", false)] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let who = who.to_owned();
            let found = privacy(&File::open(&path).unwrap()).unwrap();
            assert_eq!(found, Privacy::Shared { who, may_read });
            assert_eq!(others_may_read(&path), may_read);
        }
    }

    #[test]
    #[cfg(unix)]
    fn processes_that_are_visible_or_gone_are_not_hidden() {
        assert!(!may_be_hidden(u32::MAX), "no process has this number");
        assert!(!may_be_hidden(std::process::id()), "this one is visible");
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        assert!(!may_be_hidden(ended.id()), "it has ended");
    }
}
