//! Where the runs of a test work, and what the test sees and puts there.

use crate::posix_tree;
use crate::second_client::Peek;
use filermark_server::RunningServer;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the runs of a target work.
pub enum TargetDir {
    /// In an embedded server.
    Export(Box<RunningServer>),
    /// In a directory that the test sees: exported by a real server, or worked in directly.
    Directory(PathBuf),
}

/// Everything there, by its path, with its contents.
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

    /// Puts a foreign file there; false where that is not possible any more.
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

    /// A link to a foreign directory, where the target can have one.
    pub fn plant_link(&self, path: &str, to: &str) -> bool {
        match self {
            TargetDir::Directory(top) => {
                // Relative: a server sees the directory at another path.
                let up = "../".repeat(path.matches('/').count());
                std::os::unix::fs::symlink(format!("{up}{to}"), top.join(path)).is_ok()
            }
            TargetDir::Export(server) => Peek::into(server).symlink(path, to),
        }
    }

    /// A file with a content.
    pub fn write(&self, path: &str, text: &str) {
        match self {
            TargetDir::Directory(top) => std::fs::write(top.join(path), text).expect("a file"),
            TargetDir::Export(server) => Peek::into(server).make_file(path, text.as_bytes()),
        }
    }

    /// A second name of a file; false where the target can have none.
    pub fn hard_link(&self, of: &str, path: &str) -> bool {
        match self {
            TargetDir::Directory(top) => std::fs::hard_link(top.join(of), top.join(path)).is_ok(),
            TargetDir::Export(server) => Peek::into(server).link(of, path),
        }
    }
}
