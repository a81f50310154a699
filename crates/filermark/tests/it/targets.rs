//! The targets of a test's runs, and the files in them.

use crate::posix_tree;
use crate::second_client::Peek;
use filermark_server::RunningServer;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The location of a target.
pub enum TargetDir {
    /// In an embedded server.
    Export(Box<RunningServer>),
    /// In a directory of this host: exported by a real server, or used directly.
    Directory(PathBuf),
}

/// All objects there, by path, with their contents.
pub type Tree = BTreeMap<String, String>;

impl TargetDir {
    pub fn tree(&self) -> Tree {
        match self {
            TargetDir::Directory(top) => posix_tree::tree(top),
            TargetDir::Export(server) => {
                let mut peek = Peek::into(server);
                let names = peek.tree("");
                let foreign = |name: &str| name.contains("foreign") && !name.ends_with('/');
                let content = |peek: &mut Peek, name: &str| match foreign(name) {
                    true => peek.content(name),
                    false => String::new(),
                };
                names
                    .into_iter()
                    .map(|name| {
                        let content = match name.ends_with('/') {
                            true => String::new(),
                            false => content(&mut peek, &name),
                        };
                        (name.trim_end_matches('/').to_owned(), content)
                    })
                    .collect()
            }
        }
    }

    /// Puts a foreign file there; false: that is not possible any more.
    pub fn plant(&self, path: &str) -> bool {
        match self {
            TargetDir::Directory(top) => std::fs::write(top.join(path), path).is_ok(),
            TargetDir::Export(server) => Peek::into(server).try_make_file(path, path.as_bytes()),
        }
    }

    pub fn plant_dir(&self, path: &str) {
        match self {
            TargetDir::Directory(top) => std::fs::create_dir(top.join(path)).expect("a directory"),
            TargetDir::Export(server) => Peek::into(server).make_dir(path),
        }
    }

    /// Makes a link to a foreign directory, if the target supports it.
    pub fn plant_link(&self, path: &str, to: &str) -> bool {
        match self {
            TargetDir::Directory(top) => {
                // Relative: a server has the directory at another path.
                let up = "../".repeat(path.matches('/').count());
                std::os::unix::fs::symlink(format!("{up}{to}"), top.join(path)).is_ok()
            }
            TargetDir::Export(server) => Peek::into(server).symlink(path, to),
        }
    }

    /// Makes a file with this content.
    pub fn write(&self, path: &str, text: &str) {
        match self {
            TargetDir::Directory(top) => std::fs::write(top.join(path), text).expect("a file"),
            TargetDir::Export(server) => Peek::into(server).make_file(path, text.as_bytes()),
        }
    }

    /// Makes a hard link to a file; false: the target does not support it.
    pub fn hard_link(&self, of: &str, path: &str) -> bool {
        match self {
            TargetDir::Directory(top) => std::fs::hard_link(top.join(of), top.join(path)).is_ok(),
            TargetDir::Export(server) => Peek::into(server).link(of, path),
        }
    }
}
