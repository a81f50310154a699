//! Semantics, one promise per test.

mod listing;
mod model;
mod rules;

use super::*;

fn fs() -> MemFs {
    MemFs::new(FsConfig::default())
}

fn set_mode(mode: u32) -> SetAttr {
    SetAttr {
        mode: Some(mode),
        ..SetAttr::default()
    }
}

fn mkfile(fs: &MemFs, dir: FileId, name: &str) -> FileId {
    let how = CreateHow::Guarded(SetAttr::default());
    fs.create(dir, name.as_bytes(), &how, &Cred::ROOT)
        .result
        .expect("create")
        .id
}

fn mkdir(fs: &MemFs, dir: FileId, name: &str) -> FileId {
    let made = fs.mkdir(dir, name.as_bytes(), &SetAttr::default(), &Cred::ROOT);
    made.result.expect("mkdir").id
}

fn mv(fs: &MemFs, from: (FileId, &str), to: (FileId, &str)) -> Result<(), FsError> {
    let from = DirEntryName {
        dir: from.0,
        name: from.1.as_bytes(),
    };
    let to = DirEntryName {
        dir: to.0,
        name: to.1.as_bytes(),
    };
    fs.rename(from, to, &Cred::ROOT).2
}

fn content(fs: &MemFs, id: FileId) -> Vec<u8> {
    let mut out = Vec::new();
    fs.read_file(id, 0, u32::MAX, &Cred::ROOT, &mut out)
        .1
        .expect("read");
    out
}

#[test]
fn data_comes_back_with_eof() {
    let fs = fs();
    let file = mkfile(&fs, fs.root(), "f");
    assert!(fs.write_file(file, 3, b"abc", &Cred::ROOT).result.is_ok());
    let mut out = Vec::new();
    let (attr, end) = fs.read_file(file, 2, 3, &Cred::ROOT, &mut out);
    assert_eq!(
        (out.as_slice(), attr.map(|a| a.size)),
        (&b"\0ab"[..], Some(6))
    );
    assert_eq!(
        end,
        Ok(ReadEnd {
            count: 3,
            eof: false
        })
    );
    assert!(
        fs.read_file(file, 2, 4, &Cred::ROOT, &mut out)
            .1
            .expect("read")
            .eof
    );
    let end = fs.read_file(file, u64::MAX, 4, &Cred::ROOT, &mut out).1;
    assert_eq!(
        end,
        Ok(ReadEnd {
            count: 0,
            eof: true
        })
    );
}

#[test]
fn a_reused_number_does_not_revive_old_handles() {
    let fs = fs();
    let old = mkfile(&fs, fs.root(), "f");
    assert!(fs.remove(fs.root(), b"f", &Cred::ROOT).result.is_ok());
    assert_eq!(fs.getattr(old), Err(FsError::Stale));
    let new = mkfile(&fs, fs.root(), "g");
    assert_eq!(new.number, old.number);
    assert_eq!(fs.getattr(old), Err(FsError::Stale));
    assert_eq!(
        fs.write_file(old, 0, b"x", &Cred::ROOT).result,
        Err(FsError::Stale)
    );
    assert_eq!(fs.write_file(old, 0, b"x", &Cred::ROOT).wcc, Wcc::default());
    assert_eq!(fs.getattr(FileId { number: 0, ..old }), Err(FsError::Stale));
    assert_eq!(
        fs.getattr(FileId {
            number: u64::MAX,
            ..old
        }),
        Err(FsError::Stale)
    );
}

#[test]
fn wcc_brackets_the_change() {
    let fs = fs();
    let before = fs.getattr(fs.root()).expect("root");
    let made = fs.mkdir(fs.root(), b"d", &SetAttr::default(), &Cred::ROOT);
    let (pre, post) = (
        made.wcc.before.expect("before"),
        made.wcc.after.expect("after"),
    );
    assert_eq!(
        (pre.mtime_ns, pre.ctime_ns),
        (before.mtime_ns, before.ctime_ns)
    );
    assert!(post.mtime_ns > pre.mtime_ns && post.ctime_ns > pre.ctime_ns);
    assert_eq!(post.nlink, 3);
    let failed = fs.mkdir(fs.root(), b"d", &SetAttr::default(), &Cred::ROOT);
    assert_eq!(failed.result, Err(FsError::Exist));
    assert_eq!(failed.wcc.after, Some(post));
    assert_eq!(failed.wcc.before.map(|b| b.ctime_ns), Some(post.ctime_ns));
}

#[test]
fn hard_links_share_one_inode() {
    let fs = fs();
    let file = mkfile(&fs, fs.root(), "a");
    let (attr, made) = fs.link(file, fs.root(), b"b", &Cred::ROOT);
    assert_eq!((attr.map(|a| a.nlink), made.result), (Some(2), Ok(())));
    assert_eq!(
        fs.link(file, fs.root(), b"b", &Cred::ROOT).1.result,
        Err(FsError::Exist)
    );
    let dir = mkdir(&fs, fs.root(), "d");
    assert_eq!(
        fs.link(dir, fs.root(), b"e", &Cred::ROOT).1.result,
        Err(FsError::IsDir)
    );
    assert!(fs.remove(fs.root(), b"a", &Cred::ROOT).result.is_ok());
    assert_eq!(fs.getattr(file).map(|a| a.nlink), Ok(1));
    assert_eq!(mv(&fs, (fs.root(), "b"), (fs.root(), "b")), Ok(()));
    assert!(fs.link(file, dir, b"c", &Cred::ROOT).1.result.is_ok());
    assert_eq!(mv(&fs, (fs.root(), "b"), (dir, "c")), Ok(()));
    assert!(
        fs.lookup(fs.root(), b"b", &Cred::ROOT).1.is_ok(),
        "rename to itself does nothing"
    );
}

#[test]
fn rename_over_what_fits_and_what_does_not() {
    let fs = fs();
    let root = fs.root();
    let (file, victim) = (mkfile(&fs, root, "f"), mkfile(&fs, root, "v"));
    let (dir, full) = (mkdir(&fs, root, "d"), mkdir(&fs, root, "full"));
    let inner = mkdir(&fs, full, "inner");
    assert_eq!(mv(&fs, (root, "f"), (root, "d")), Err(FsError::IsDir));
    assert_eq!(mv(&fs, (root, "d"), (root, "f")), Err(FsError::NotDir));
    assert_eq!(mv(&fs, (root, "d"), (root, "full")), Err(FsError::NotEmpty));
    assert_eq!(mv(&fs, (root, "full"), (inner, "x")), Err(FsError::Inval));
    assert_eq!(mv(&fs, (root, "full"), (full, "x")), Err(FsError::Inval));
    assert_eq!(mv(&fs, (root, "."), (root, "x")), Err(FsError::Inval));
    assert_eq!(mv(&fs, (root, "none"), (root, "x")), Err(FsError::NoEnt));
    assert_eq!(mv(&fs, (root, "f"), (file, "x")), Err(FsError::NotDir));
    assert_eq!(
        mv(&fs, (root, "f"), (root, &"x".repeat(256))),
        Err(FsError::NameTooLong)
    );
    assert_eq!(mv(&fs, (root, "f"), (root, "v")), Ok(()));
    assert_eq!(fs.getattr(victim), Err(FsError::Stale));
    assert_eq!(fs.lookup(root, b"v", &Cred::ROOT).1.map(|f| f.id), Ok(file));
    // A directory over an empty one: the link counts and ".." follow.
    assert_eq!(fs.getattr(root).map(|a| a.nlink), Ok(4));
    assert_eq!(mv(&fs, (full, "inner"), (root, "d")), Ok(()));
    assert_eq!(fs.getattr(dir), Err(FsError::Stale));
    assert_eq!(fs.getattr(root).map(|a| a.nlink), Ok(4));
    assert_eq!(fs.getattr(full).map(|a| a.nlink), Ok(2));
    assert_eq!(
        fs.lookup(inner, b"..", &Cred::ROOT).1.map(|f| f.id),
        Ok(root)
    );
}

#[test]
fn create_in_its_three_ways() {
    let fs = fs();
    let root = fs.root();
    let create = |name: &str, how| fs.create(root, name.as_bytes(), &how, &Cred::ROOT).result;
    let file = create("f", CreateHow::Guarded(set_mode(0o640))).expect("made");
    assert_eq!(file.attr.mode, 0o640);
    assert_eq!(
        create("f", CreateHow::Guarded(set_mode(0o600))),
        Err(FsError::Exist)
    );
    fs.write_file(file.id, 0, b"abc", &Cred::ROOT)
        .result
        .expect("write");
    let cut = SetAttr {
        size: Some(1),
        mode: Some(0o777),
        ..SetAttr::default()
    };
    let again = create("f", CreateHow::Unchecked(cut)).expect("found");
    assert_eq!(
        (again.id, again.attr.size, again.attr.mode),
        (file.id, 1, 0o640)
    );
    let first = create("x", CreateHow::Exclusive(7, SetAttr::default())).expect("made");
    assert_eq!(
        create("x", CreateHow::Exclusive(7, SetAttr::default())).map(|f| f.id),
        Ok(first.id)
    );
    assert_eq!(
        create("x", CreateHow::Exclusive(8, SetAttr::default())),
        Err(FsError::Exist)
    );
    assert_eq!(
        create("f", CreateHow::Exclusive(7, SetAttr::default())),
        Err(FsError::Exist)
    );
    mkdir(&fs, root, "d");
    assert_eq!(
        create("d", CreateHow::Unchecked(SetAttr::default())),
        Err(FsError::IsDir)
    );
    assert_eq!(
        create("..", CreateHow::Unchecked(SetAttr::default())),
        Err(FsError::Exist)
    );
}

#[test]
fn special_files_and_symlinks() {
    let fs = fs();
    let root = fs.root();
    let none = SetAttr::default();
    let device = SpecialKind::CharDevice(1, 3);
    let made = fs
        .mknod(root, b"null", device, &none, &Cred::ROOT)
        .result
        .expect("mknod");
    assert_eq!(
        (made.attr.kind, made.attr.rdev),
        (FileKind::CharDevice, (1, 3))
    );
    let refused = fs
        .mknod(root, b"n2", device, &none, &Cred::ANONYMOUS)
        .result;
    assert_eq!(refused, Err(FsError::Perm));
    assert!(
        fs.mknod(root, b"p", SpecialKind::Fifo, &none, &Cred::ANONYMOUS)
            .result
            .is_ok()
    );
    let link = fs
        .symlink(root, b"l", b"../x", &none, &Cred::ROOT)
        .result
        .expect("symlink");
    assert_eq!(fs.readlink(link.id).1.as_deref(), Ok(&b"../x"[..]));
    assert_eq!((link.attr.kind, link.attr.size), (FileKind::Symlink, 4));
    assert_eq!(fs.readlink(made.id).1, Err(FsError::Inval));
    let read = fs.read_file(link.id, 0, 1, &Cred::ROOT, &mut Vec::new()).1;
    assert_eq!(read, Err(FsError::Inval));
}

#[test]
fn a_full_disk_returns_nospc_and_recovers() {
    // Two blocks, and what a file and a directory with their names take beside.
    let beside = 2 * (super::table::INODE_BYTES + super::dir::charge_of_name(b"f"));
    let fs = MemFs::new(FsConfig {
        capacity_bytes: 8192 + beside,
        max_files: 3,
        ..FsConfig::default()
    });
    let file = mkfile(&fs, fs.root(), "f");
    assert!(
        fs.write_file(file, 0, &[1; 5000], &Cred::ROOT)
            .result
            .is_ok()
    );
    let refused = fs.write_file(file, 8192, b"x", &Cred::ROOT);
    assert_eq!(refused.result, Err(FsError::NoSpc));
    assert_eq!(
        refused.wcc.after.map(|a| a.size),
        Some(5000),
        "nothing was written"
    );
    assert_eq!(
        fs.fsstat(file).1.map(|s| (s.free_bytes, s.free_files)),
        Ok((beside / 2, 1))
    );
    mkdir(&fs, fs.root(), "d");
    let more = fs
        .mkdir(fs.root(), b"e", &SetAttr::default(), &Cred::ROOT)
        .result;
    assert_eq!(more, Err(FsError::NoSpc));
    assert!(fs.remove(fs.root(), b"f", &Cred::ROOT).result.is_ok());
    assert_eq!(
        fs.fsstat(fs.root()).1.map(|s| (s.free_bytes, s.free_files)),
        Ok((8192 + beside / 2, 1))
    );
}

/// Seen in version 0.1: 196,000 empty files with long names fitted into any capacity.
#[test]
fn names_and_empty_files_count_against_the_capacity() {
    let fs = MemFs::new(FsConfig {
        capacity_bytes: 1 << 20,
        ..FsConfig::default()
    });
    let how = CreateHow::Unchecked(SetAttr::default());
    let name = |i: u32| format!("{i:0>250}").into_bytes();
    let full = (0..10_000).find_map(|i| {
        let made = fs.create(fs.root(), &name(i), &how, &Cred::ROOT).result;
        made.is_err().then_some((i, made.err()))
    });
    let (count, error) = full.expect("an end");
    assert_eq!(error, Some(FsError::NoSpc));
    assert!((500..3000).contains(&count), "{count} files in 1 MiB");
    assert_eq!(fs.no_space_count(), 1);
    // Further names of one file count too, and so do longer ones.
    let first = fs
        .lookup(fs.root(), &name(0), &Cred::ROOT)
        .1
        .expect("the first")
        .id;
    let link = fs
        .link(first, fs.root(), &name(20_000), &Cred::ROOT)
        .1
        .result;
    assert_eq!(link, Err(FsError::NoSpc));
    // What is removed is free again, to the byte.
    for i in 0..count {
        assert!(fs.remove(fs.root(), &name(i), &Cred::ROOT).result.is_ok());
    }
    let free = fs.fsstat(fs.root()).1.map(|s| s.free_bytes);
    assert_eq!(free, Ok(1 << 20));
}

#[test]
fn read_only_refuses_changes_and_allows_looks() {
    let fs = MemFs::new(FsConfig {
        read_only: true,
        ..FsConfig::default()
    });
    let made = fs.mkdir(fs.root(), b"d", &SetAttr::default(), &Cred::ROOT);
    assert_eq!(made.result, Err(FsError::RoFs));
    assert!(made.wcc.after.is_some());
    let rights = fs.access(fs.root(), &Cred::ROOT).1.expect("access");
    assert!(rights.read && !rights.write);
}
