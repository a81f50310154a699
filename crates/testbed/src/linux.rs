//! Which Linux runs in User Mode Linux: the kernel, and the tree of files that is its root.

use crate::tools::{need, search_path};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable with the folder that `ci/debian13-tree` made.
const TREE: &str = "FILERMARK_DEBIAN13";

/// The directory with the kernel modules of Debian's package.
const MODULES: &str = "/usr/lib/uml/modules";

/// The directory of the tree on which the sandbox's directory is mounted.
pub(crate) const TREE_SHARED: &str = "/testbed";

/// A Linux kernel with the programs around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernel {
    /// Debian 12's: its root is the host's files.
    #[default]
    V61,
    /// Debian 13's: its root is the tree that `ci/debian13-tree` makes and FILERMARK_DEBIAN13 names. It has
    /// RPC-with-TLS, WRITE delegations and pNFS.
    V612,
}

impl Kernel {
    /// The version as text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::V61 => "6.1",
            Kernel::V612 => "6.12",
        }
    }

    /// The kernels of this machine; says which one is left out, and why.
    #[must_use]
    pub fn present() -> Vec<Kernel> {
        let newest = Kernel::V612.is_present().then_some(Kernel::V612);
        [Kernel::V61].into_iter().chain(newest).collect()
    }

    /// Whether the machine has been given its files; says so if not. What `ci/full` makes is not required
    /// by `./test`.
    #[must_use]
    pub fn is_present(self) -> bool {
        let is_present = self == Kernel::V61 || std::env::var_os(TREE).is_some();
        if !is_present {
            eprintln!("SKIPPED: Linux 6.12: {TREE} is not set; see ci/debian13-tree");
        }
        is_present
    }

    /// The tree that is its root; `None` for the host's files.
    pub(crate) fn tree(self) -> Result<Option<PathBuf>> {
        if self == Kernel::V61 {
            need(&[("linux.uml", "user-mode-linux"), ("modprobe", "kmod")])?;
            return Ok(None);
        }
        let Some(tree) = std::env::var_os(TREE).map(PathBuf::from) else {
            return Err(Error::Unavailable(format!(
                "{TREE} is not set; see ci/debian13-tree"
            )));
        };
        if !tree.join("testbed").is_dir() {
            return Err(Error::Unavailable(format!(
                "{TREE}: {} is not what ci/debian13-tree makes; run that",
                tree.display()
            )));
        }
        need(&[("chroot", "coreutils"), ("mount", "mount")])?;
        Ok(Some(tree))
    }
}

/// The directory of the kernel's modules, as it is called in its root, and its version.
pub(crate) fn modules(tree: Option<&Path>) -> Result<(PathBuf, String)> {
    let mut command = match tree {
        None => Command::new("linux.uml"),
        Some(tree) => {
            let mut command = Command::new("chroot");
            command.arg(tree).arg("linux.uml");
            command
        }
    };
    let output = command
        .arg("--version")
        .env("PATH", search_path())
        .output()
        .map_err(Error::io("run linux.uml --version"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let modules = Path::new(MODULES).join(&version);
    let outside = match tree {
        None => modules.clone(),
        Some(tree) => tree.join(modules.strip_prefix("/").unwrap_or(&modules)),
    };
    if version.is_empty() || !outside.is_dir() {
        return Err(Error::Unavailable(format!(
            "{} is missing (Debian package user-mode-linux)",
            outside.display()
        )));
    }
    Ok((modules, version))
}

/// Starts a program in a tree: `$1` the tree, `$2` the sandbox's directory. In a mount namespace of its own,
/// so that nothing of it is seen elsewhere.
pub(crate) const IN_TREE: &str = r#"
tree=$1 dir=$2
shift 2
mount --rbind /dev "$tree/dev"
mount -t proc proc "$tree/proc"
mount -t tmpfs -o mode=755 tmpfs "$tree/run"
mount -t tmpfs tmpfs "$tree/tmp"
mkdir "$tree/run/uml"
mount --bind "$dir" "$tree/testbed"
exec chroot "$tree" "$@"
"#;
