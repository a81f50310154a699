//! What only Windows has.

use super::*;
use crate::testing::is_wine;
use std::os::windows::fs::MetadataExt;
use tempfile::TempDir;

fn ground() -> (TempDir, Dir) {
    let top = tempfile::tempdir().expect("tempdir");
    let dir = Dir::open_top(top.path()).expect("open");
    (top, dir)
}

/// Wine shows the mounts of the system below as mounted volumes, so that the check that
/// also finds junctions and links can be run there.
#[test]
fn a_mounted_volume_is_not_entered() {
    if !is_wine() {
        eprintln!("only Wine has a mount at a known place");
        return;
    }
    let root = Dir::open_top(Path::new("Z:\\")).expect("root");
    assert_eq!(root.open_dir(c"proc").err(), Some(Errno::XDEV));
    assert_eq!(root.open_dir(c"proc/self").err(), Some(Errno::XDEV));
    assert_eq!(root.meta(c"proc").expect("meta").kind, Kind::Other);
    assert_eq!(root.remove_dir(c"proc").err(), Some(Errno::NOTDIR));
    assert!(root.open_dir(c"usr").is_ok());
}

#[test]
fn a_junction_is_not_entered() {
    let (top, dir) = ground();
    std::fs::create_dir(top.path().join("theirs")).expect("dir");
    let (at, to) = (top.path().join("j"), top.path().join("theirs"));
    let mklink = ["/c", "mklink", "/J"].map(std::ffi::OsString::from);
    let args = mklink.into_iter().chain([at.clone().into(), to.into()]);
    let made = std::process::Command::new("cmd").args(args).output();
    drop(made);
    if at.symlink_metadata().is_err() {
        eprintln!("no junction can be made here (Wine has none)");
        return;
    }
    assert_eq!(dir.open_dir(c"j").err(), Some(Errno::XDEV));
    assert_eq!(dir.remove_dir(c"j"), Err(Errno::NOTDIR));
    assert!(at.symlink_metadata().is_ok());
}

#[test]
fn names_that_mean_something_else_are_refused() {
    let (top, dir) = ground();
    for name in [c"a:b", c"..", c".", c"a\\b", c""] {
        assert_eq!(dir.open_new(name).err(), Some(Errno::INVAL), "{name:?}");
        assert_eq!(dir.open_dir(name).err(), Some(Errno::INVAL), "{name:?}");
    }
    assert_eq!(std::fs::read_dir(top.path()).expect("dir").count(), 0);
}

#[test]
fn files_can_be_removed_and_renamed_while_they_are_open() {
    let (top, dir) = ground();
    let file = dir.open_new(c"a").expect("made");
    let other = dir.open_new(c"b").expect("made");
    assert_eq!(other.write_at(b"b", 0), Ok(1));
    drop(other);
    dir.rename(c"b", &dir, c"c").expect("renamed");
    let open = dir.open_to_read(c"c").expect("open");
    dir.rename(c"c", &dir, c"d").expect("renamed while open");
    drop(open);
    let fresh = dir.open_new(c"e").expect("made");
    drop(fresh);
    dir.rename(c"e", &dir, c"d")
        .expect("another file gives way");
    assert_eq!(std::fs::read(top.path().join("d")).expect("file"), b"");
    dir.unlink(c"a").expect("removed while open");
    drop(file);
    assert_eq!(dir.meta(c"a").err(), Some(Errno::NOENT));
    dir.make_dir(c"sub").expect("made");
    let sub = dir.open_dir(c"sub").expect("sub");
    dir.rename(c"d", &sub, c"f")
        .expect("into another directory");
    assert!(top.path().join("sub/f").exists());
    assert_eq!(dir.remove_dir(c"sub"), Err(Errno::NOTEMPTY));
    assert_eq!(dir.unlink(c"sub"), Err(Errno::ISDIR));
    assert_eq!(dir.remove_dir(c"none"), Err(Errno::NOENT));
    assert_eq!(sub.remove_dir(c"f"), Err(Errno::NOTDIR));
    assert_eq!(sub.open_dir(c"f").err(), Some(Errno::NOTDIR));
}

#[test]
fn permissions_are_attributes() {
    let (top, dir) = ground();
    drop(dir.open_new(c"f").expect("made"));
    let attributes = || {
        let meta = std::fs::metadata(top.path().join("f")).expect("meta");
        meta.file_attributes()
    };
    dir.chmod(c"f", 0o444).expect("changed");
    assert_ne!(attributes() & w::FILE_ATTRIBUTE_READONLY, 0);
    // Wine asks the system below, where root may write.
    if !is_wine() {
        let opened = dir.open_file(c"f", OpenMode::default(), false);
        assert_eq!(opened.err(), Some(Errno::ACCES));
    }
    dir.chmod(c"f", 0o600).expect("changed");
    assert_eq!(attributes() & w::FILE_ATTRIBUTE_READONLY, 0);
    dir.chmod(c"f", 0o644).expect("changed");
    assert_ne!(attributes() & w::FILE_ATTRIBUTE_ARCHIVE, 0);
    assert!(dir.open_file(c"f", OpenMode::default(), false).is_ok());
}

#[test]
fn the_volume_is_described() {
    let (_top, dir) = ground();
    let facts = dir.mount_facts();
    for wanted in ["file system", "source", "mount point", "mount options"] {
        let found = facts.iter().find(|(name, _)| name == wanted);
        assert!(found.is_some_and(|(_, v)| !v.is_empty()), "{facts:?}");
    }
    assert!(facts[3].1.contains("serial=") && facts[3].1.contains("sector="));
    let space = dir.space().expect("space");
    assert!(space.free_bytes > 0 && space.total_bytes >= space.free_bytes);
    assert!([512, 1024, 2048, 4096].contains(&dir.direct_unit()));
}

#[test]
fn a_drive_without_a_directory_is_its_root() {
    assert_eq!(whole(Path::new("Z:")), Path::new(r"Z:\"));
    assert_eq!(whole(Path::new(r"Z:\a")), Path::new(r"Z:\a"));
    assert_eq!(whole(Path::new(r"\\s\x")), Path::new(r"\\s\x\"));
    assert_eq!(whole(Path::new(r"\\s\x\a")), Path::new(r"\\s\x\a"));
}

#[test]
fn paths_longer_than_the_old_limit_can_be_used() {
    let (top, _) = ground();
    let mut path = top.path().to_owned();
    for _ in 0..3 {
        path.push("x".repeat(100));
    }
    std::fs::create_dir_all(&path).expect("dirs");
    assert!(path.as_os_str().len() > 300);
    let dir = Dir::open_top(&path).expect("open");
    drop(dir.open_new(c"f").expect("made"));
    assert!(path.join("f").exists());
}
