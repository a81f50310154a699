//! Random sequences of operations, against a model that is too simple to be wrong.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Create(usize, u8),
    Mkdir(usize, u8),
    Remove(usize, u8),
    Rmdir(usize, u8),
    Rename(usize, u8, usize, u8),
    Link(usize, usize, u8),
    Write(usize, u32, u16, u8),
    SetSize(usize, u32),
}

#[derive(Debug, Clone)]
enum Node {
    Gone,
    File(Vec<u8>),
    Dir(Vec<(u8, usize)>),
}

/// Nodes by their order of making; node 0 is the root. Names are single bytes.
struct Model(Vec<Node>);

impl Model {
    fn dir(&self, at: usize) -> Result<&Vec<(u8, usize)>, FsError> {
        match &self.0[at] {
            Node::Gone => Err(FsError::Stale),
            Node::File(_) => Err(FsError::NotDir),
            Node::Dir(names) => Ok(names),
        }
    }

    fn find(&self, dir: usize, name: u8) -> Result<Option<usize>, FsError> {
        Ok(self
            .dir(dir)?
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, node)| *node))
    }

    fn put(&mut self, dir: usize, name: u8, node: usize) {
        self.take(dir, name);
        if let Node::Dir(names) = &mut self.0[dir] {
            names.push((name, node));
        }
    }

    fn take(&mut self, dir: usize, name: u8) {
        if let Node::Dir(names) = &mut self.0[dir] {
            names.retain(|(n, _)| *n != name);
        }
    }

    fn names_of(&self, node: usize) -> usize {
        let names = self
            .0
            .iter()
            .filter_map(|n| if let Node::Dir(d) = n { Some(d) } else { None });
        names.flatten().filter(|(_, n)| *n == node).count()
    }

    fn bury_nameless(&mut self, node: usize) {
        if self.names_of(node) == 0 {
            self.0[node] = Node::Gone;
        }
    }

    fn holds(&self, above: usize, node: usize) -> bool {
        above == node
            || self
                .dir(above)
                .is_ok_and(|names| names.iter().any(|(_, n)| self.holds(*n, node)))
    }

    fn make(&mut self, dir: usize, name: u8, node: Node) -> Result<(), FsError> {
        if self.find(dir, name)?.is_some() {
            return Err(FsError::Exist);
        }
        self.0.push(node);
        self.put(dir, name, self.0.len() - 1);
        Ok(())
    }

    fn remove(&mut self, dir: usize, name: u8, directory: bool) -> Result<(), FsError> {
        let node = self.find(dir, name)?.ok_or(FsError::NoEnt)?;
        match (&self.0[node], directory) {
            (Node::Dir(_), false) => return Err(FsError::IsDir),
            (Node::Dir(names), true) if !names.is_empty() => return Err(FsError::NotEmpty),
            (Node::File(_), true) => return Err(FsError::NotDir),
            _ => {}
        }
        self.take(dir, name);
        self.bury_nameless(node);
        Ok(())
    }

    fn rename(&mut self, from: usize, a: u8, to: usize, b: u8) -> Result<(), FsError> {
        self.dir(from)?;
        self.dir(to)?;
        let source = self.find(from, a)?.ok_or(FsError::NoEnt)?;
        let is_dir = matches!(self.0[source], Node::Dir(_));
        if is_dir && self.holds(source, to) {
            return Err(FsError::Inval);
        }
        let target = self.find(to, b)?;
        if target == Some(source) {
            return Ok(());
        }
        match (is_dir, target.map(|t| &self.0[t])) {
            (true, Some(Node::Dir(names))) if !names.is_empty() => return Err(FsError::NotEmpty),
            (true, Some(Node::File(_))) => return Err(FsError::NotDir),
            (false, Some(Node::Dir(_))) => return Err(FsError::IsDir),
            _ => {}
        }
        self.take(from, a);
        self.put(to, b, source);
        if let Some(target) = target {
            self.bury_nameless(target);
        }
        Ok(())
    }

    fn link(&mut self, node: usize, dir: usize, name: u8) -> Result<(), FsError> {
        if matches!(self.0[node], Node::Gone) {
            return Err(FsError::Stale);
        }
        self.dir(dir)?;
        if matches!(self.0[node], Node::Dir(_)) {
            return Err(FsError::IsDir);
        }
        if self.find(dir, name)?.is_some() {
            return Err(FsError::Exist);
        }
        self.put(dir, name, node);
        Ok(())
    }

    fn edit(&mut self, node: usize, edit: impl FnOnce(&mut Vec<u8>)) -> Result<(), FsError> {
        match &mut self.0[node] {
            Node::Gone => Err(FsError::Stale),
            Node::Dir(_) => Err(FsError::IsDir),
            Node::File(data) => {
                edit(data);
                Ok(())
            }
        }
    }
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let node = 0..24usize;
    let name = b'a'..=b'd';
    let op = prop_oneof![
        3 => (node.clone(), name.clone()).prop_map(|(d, n)| Op::Create(d, n)),
        3 => (node.clone(), name.clone()).prop_map(|(d, n)| Op::Mkdir(d, n)),
        1 => (node.clone(), name.clone()).prop_map(|(d, n)| Op::Remove(d, n)),
        1 => (node.clone(), name.clone()).prop_map(|(d, n)| Op::Rmdir(d, n)),
        3 => (node.clone(), name.clone(), node.clone(), name.clone())
            .prop_map(|(d, n, e, m)| Op::Rename(d, n, e, m)),
        1 => (node.clone(), node.clone(), name).prop_map(|(f, d, n)| Op::Link(f, d, n)),
        2 => (node.clone(), 0..150_000u32, 0..9000u16, any::<u8>())
            .prop_map(|(f, o, l, b)| Op::Write(f, o, l, b)),
        1 => (node, 0..150_000u32).prop_map(|(f, s)| Op::SetSize(f, s)),
    ];
    proptest::collection::vec(op, 1..80)
}

/// Does one operation on both; new nodes get their handle into `ids`.
fn apply(fs: &MemFs, ids: &mut Vec<FileId>, model: &mut Model, op: &Op) {
    let root = Cred::ROOT;
    let at = |node: usize| node % ids.len();
    let (real, expected) = match *op {
        Op::Create(d, n) => {
            let how = CreateHow::Guarded(SetAttr::default());
            let made = fs.create(ids[at(d)], &[n], &how, &root).result;
            let expected = model.make(at(d), n, Node::File(Vec::new()));
            (made.map(|found| ids.push(found.id)), expected)
        }
        Op::Mkdir(d, n) => {
            let made = fs
                .mkdir(ids[at(d)], &[n], &SetAttr::default(), &root)
                .result;
            let expected = model.make(at(d), n, Node::Dir(Vec::new()));
            (made.map(|found| ids.push(found.id)), expected)
        }
        Op::Remove(d, n) => (
            fs.remove(ids[at(d)], &[n], &root).result,
            model.remove(at(d), n, false),
        ),
        Op::Rmdir(d, n) => (
            fs.rmdir(ids[at(d)], &[n], &root).result,
            model.remove(at(d), n, true),
        ),
        Op::Rename(d, n, e, m) => {
            let (from, to) = (
                DirEntryName {
                    dir: ids[at(d)],
                    name: &[n],
                },
                DirEntryName {
                    dir: ids[at(e)],
                    name: &[m],
                },
            );
            (
                fs.rename(from, to, &root).2,
                model.rename(at(d), n, at(e), m),
            )
        }
        Op::Link(f, d, n) => {
            let real = fs.link(ids[at(f)], ids[at(d)], &[n], &root).1.result;
            (real, model.link(at(f), at(d), n))
        }
        Op::Write(f, offset, len, byte) => {
            let (offset, len) = (offset as usize, len as usize);
            let real = fs
                .write_file(ids[at(f)], offset as u64, &vec![byte; len], &root)
                .result;
            let expected = model.edit(at(f), |data| {
                if len > 0 {
                    data.resize(data.len().max(offset + len), 0);
                    data[offset..offset + len].fill(byte);
                }
            });
            (real, expected)
        }
        Op::SetSize(f, size) => {
            let set = SetAttr {
                size: Some(u64::from(size)),
                ..SetAttr::default()
            };
            let real = fs.setattr(ids[at(f)], &set, None, &root).result;
            (
                real,
                model.edit(at(f), |data| data.resize(size as usize, 0)),
            )
        }
    };
    assert_eq!(real, expected, "{op:?}");
}

fn compare(fs: &MemFs, ids: &[FileId], model: &Model) {
    for (at, (id, node)) in ids.iter().zip(&model.0).enumerate() {
        let attr = fs.getattr(*id);
        match node {
            Node::Gone => assert_eq!(attr, Err(FsError::Stale)),
            Node::File(data) => {
                assert!(content(fs, *id) == *data);
                assert_eq!(attr.expect("alive").nlink as usize, model.names_of(at));
            }
            Node::Dir(names) => {
                let list = fs
                    .readdir(*id, 0, Some(0), &Cred::ROOT, false, |_| true)
                    .1
                    .expect("list");
                let mut real: Vec<_> = list.entries[2..]
                    .iter()
                    .map(|e| (e.name[0], e.id))
                    .collect();
                let mut expected: Vec<_> = names.iter().map(|(n, node)| (*n, ids[*node])).collect();
                real.sort();
                expected.sort();
                assert_eq!(real, expected);
                let dirs = names
                    .iter()
                    .filter(|(_, n)| matches!(model.0[*n], Node::Dir(_)))
                    .count();
                assert_eq!(attr.expect("alive").nlink as usize, 2 + dirs);
            }
        }
    }
}

/// Removes everything under a directory, through the interface.
fn clear(fs: &MemFs, dir: FileId) {
    let list = fs
        .readdir(dir, 0, Some(0), &Cred::ROOT, true, |_| true)
        .1
        .expect("list");
    for entry in &list.entries[2..] {
        let removed = if entry.attr.is_some_and(|a| a.kind == FileKind::Directory) {
            clear(fs, entry.id);
            fs.rmdir(dir, &entry.name, &Cred::ROOT)
        } else {
            fs.remove(dir, &entry.name, &Cred::ROOT)
        };
        assert_eq!(removed.result, Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn behaves_like_the_model(ops in ops()) {
        let fs = fs();
        let (mut ids, mut model) = (vec![fs.root()], Model(vec![Node::Dir(Vec::new())]));
        for op in &ops {
            apply(&fs, &mut ids, &mut model, op);
        }
        compare(&fs, &ids, &model);
        clear(&fs, fs.root());
        let stat = fs.fsstat(fs.root()).1.expect("fsstat");
        prop_assert_eq!(stat.free_bytes, stat.total_bytes);
        prop_assert_eq!(stat.free_files, stat.total_files - 1);
    }
}
