//! Maps the inode numbers that the kernel uses to paths.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// FUSE's inode number of the root.
pub(super) const ROOT: u64 = 1;

#[derive(Debug)]
struct Node {
    /// Parent and name; `None` once it is unlinked.
    place: Option<(u64, OsString)>,
    /// Lookups reported to the kernel that it has not forgotten.
    lookup_count: u64,
}

/// Every file with an inode number that the kernel may use.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    nodes: HashMap<u64, Node>,
    names: HashMap<(u64, OsString), u64>,
    last: u64,
}

impl Tree {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            nodes: HashMap::new(),
            names: HashMap::new(),
            last: ROOT,
        }
    }

    /// The current path of a file; `None`: it was removed.
    pub(super) fn path(&self, number: u64) -> Option<PathBuf> {
        let mut names = Vec::new();
        let mut at = number;
        while at != ROOT {
            let (parent, name) = self.nodes.get(&at)?.place.as_ref()?;
            names.push(name);
            at = *parent;
        }
        let mut path = self.root.clone();
        path.extend(names.iter().rev());
        Some(path)
    }

    /// The path of a name in a directory.
    pub(super) fn child(&self, parent: u64, name: &OsStr) -> Option<PathBuf> {
        Some(self.path(parent)?.join(name))
    }

    /// The number of an existing name; counts the lookup, which is then reported to the kernel.
    pub(super) fn found(&mut self, parent: u64, name: &OsStr) -> u64 {
        if let Some(&number) = self.names.get(&(parent, name.to_owned()))
            && let Some(node) = self.nodes.get_mut(&number)
        {
            node.lookup_count += 1;
            return number;
        }
        self.made(parent, name)
    }

    /// A new number, for a new file.
    pub(super) fn made(&mut self, parent: u64, name: &OsStr) -> u64 {
        self.removed(parent, name);
        self.last += 1;
        let place = (parent, name.to_owned());
        self.names.insert(place.clone(), self.last);
        let node = Node {
            place: Some(place),
            lookup_count: 1,
        };
        self.nodes.insert(self.last, node);
        self.last
    }

    /// A name was removed; its number stays until the kernel forgets it.
    pub(super) fn removed(&mut self, parent: u64, name: &OsStr) {
        if let Some(number) = self.names.remove(&(parent, name.to_owned()))
            && let Some(node) = self.nodes.get_mut(&number)
        {
            node.place = None;
        }
    }

    /// A file, or a directory with its contents, was renamed.
    pub(super) fn renamed(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) {
        self.removed(to.0, to.1);
        let Some(number) = self.names.remove(&(from.0, from.1.to_owned())) else {
            return;
        };
        let place = (to.0, to.1.to_owned());
        self.names.insert(place.clone(), number);
        if let Some(node) = self.nodes.get_mut(&number) {
            node.place = Some(place);
        }
    }

    /// The kernel has forgotten this number of its lookups.
    pub(super) fn forget(&mut self, number: u64, lookup_count: u64) {
        let Some(node) = self.nodes.get_mut(&number) else {
            return;
        };
        node.lookup_count = node.lookup_count.saturating_sub(lookup_count);
        if node.lookup_count > 0 {
            return;
        }
        if let Some(Node {
            place: Some(place), ..
        }) = self.nodes.remove(&number)
            && self.names.get(&place) == Some(&number)
        {
            self.names.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn files_below_a_renamed_directory_get_new_paths() {
        let mut tree = Tree::new("/r".into());
        let dir = tree.found(ROOT, name("a"));
        let file = tree.found(dir, name("f"));
        assert_eq!(tree.found(ROOT, name("a")), dir);
        assert_eq!(tree.path(file), Some("/r/a/f".into()));
        tree.renamed((ROOT, name("a")), (ROOT, name("b")));
        assert_eq!(tree.path(file), Some("/r/b/f".into()));
        assert_ne!(tree.found(ROOT, name("a")), dir);
    }

    #[test]
    fn a_removed_name_has_no_path_and_a_new_file_of_that_name_another_number() {
        let mut tree = Tree::new("/r".into());
        let first = tree.made(ROOT, name("f"));
        tree.removed(ROOT, name("f"));
        assert_eq!(tree.path(first), None);
        let second = tree.made(ROOT, name("f"));
        assert_ne!(first, second);
        // Forgetting the first must not remove the name of the second.
        tree.forget(first, 1);
        assert_eq!(tree.found(ROOT, name("f")), second);
        tree.forget(second, 2);
        assert_eq!(tree.path(second), None);
        assert!(tree.nodes.is_empty() && tree.names.is_empty());
    }
}
