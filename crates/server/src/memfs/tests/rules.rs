//! Permissions, attributes and times.

use super::*;

const ALICE: Cred<'static> = Cred {
    uid: 10,
    gid: 20,
    groups: &[30],
};
const BOB: Cred<'static> = Cred {
    uid: 11,
    gid: 21,
    groups: &[],
};

fn file_of(fs: &MemFs, cred: &Cred<'_>, name: &str, mode: u32) -> FileId {
    let how = CreateHow::Guarded(set_mode(mode));
    fs.create(fs.root(), name.as_bytes(), &how, cred)
        .result
        .expect("create")
        .id
}

#[test]
fn mode_bits_hold_for_others_and_not_for_root() {
    let fs = fs();
    let file = file_of(&fs, &ALICE, "f", 0o640);
    let read = |cred: &Cred<'_>| {
        fs.read_file(file, 0, 1, cred, &mut Vec::new())
            .1
            .map(|_| ())
    };
    let write = |cred: &Cred<'_>| fs.write_file(file, 0, b"x", cred).result;
    assert_eq!((read(&ALICE), write(&ALICE)), (Ok(()), Ok(())));
    assert_eq!(
        (read(&BOB), write(&BOB)),
        (Err(FsError::Acces), Err(FsError::Acces))
    );
    let in_group = Cred {
        uid: 12,
        gid: 99,
        groups: &[20],
    };
    assert_eq!(
        (read(&in_group), write(&in_group)),
        (Ok(()), Err(FsError::Acces))
    );
    assert_eq!((read(&Cred::ROOT), write(&Cred::ROOT)), (Ok(()), Ok(())));
    let rights = fs.access(file, &in_group).1.expect("access");
    assert!(rights.read && !rights.write && !rights.execute);
    assert!(!fs.access(file, &Cred::ROOT).1.expect("access").execute);
}

#[test]
fn owners_write_what_they_closed_to_themselves() {
    let fs = fs();
    let file = file_of(&fs, &ALICE, "f", 0);
    assert!(
        fs.write_file(file, 0, b"x", &ALICE).result.is_ok(),
        "the client checked at open"
    );
    let executable = file_of(&fs, &ALICE, "g", 0o711);
    assert!(
        fs.read_file(executable, 0, 1, &BOB, &mut Vec::new())
            .1
            .is_ok()
    );
}

#[test]
fn directories_ask_for_search_and_write() {
    let fs = fs();
    let dir = fs
        .mkdir(fs.root(), b"d", &set_mode(0o744), &ALICE)
        .result
        .expect("mkdir")
        .id;
    mkfile(&fs, dir, "f");
    assert_eq!(fs.lookup(dir, b"f", &BOB).1, Err(FsError::Acces));
    assert!(fs.readdir(dir, 0, Some(0), &BOB, false, |_| true).1.is_ok());
    assert_eq!(fs.remove(dir, b"f", &BOB).result, Err(FsError::Acces));
    assert_eq!(
        fs.setattr(dir, &set_mode(0o777), None, &BOB).result,
        Err(FsError::Perm)
    );
    assert_eq!(
        fs.setattr(dir, &set_mode(0o1777), None, &ALICE).result,
        Ok(())
    );
    assert_eq!(
        fs.remove(dir, b"f", &BOB).result,
        Err(FsError::Perm),
        "sticky"
    );
    let bobs = fs
        .mkdir(dir, b"b", &SetAttr::default(), &BOB)
        .result
        .expect("mkdir");
    assert_eq!((bobs.attr.uid, bobs.attr.gid), (11, 21));
    assert_eq!(
        fs.rmdir(dir, b"b", &ALICE).result,
        Ok(()),
        "alice owns the directory"
    );
}

#[test]
fn who_may_change_owner_group_and_times() {
    let fs = fs();
    let file = file_of(&fs, &ALICE, "f", 0o6755);
    let set = |set: SetAttr, cred: &Cred<'_>| fs.setattr(file, &set, None, cred).result;
    let none = SetAttr::default();
    assert_eq!(
        set(
            SetAttr {
                uid: Some(11),
                ..none
            },
            &ALICE
        ),
        Err(FsError::Perm)
    );
    assert_eq!(
        set(
            SetAttr {
                gid: Some(21),
                ..none
            },
            &ALICE
        ),
        Err(FsError::Perm)
    );
    assert_eq!(
        set(
            SetAttr {
                gid: Some(30),
                ..none
            },
            &ALICE
        ),
        Ok(())
    );
    assert_eq!(fs.getattr(file).map(|a| (a.gid, a.mode)), Ok((30, 0o755)));
    assert_eq!(
        set(
            SetAttr {
                mtime: SetTime::To(5),
                ..none
            },
            &BOB
        ),
        Err(FsError::Perm)
    );
    assert_eq!(
        set(
            SetAttr {
                mtime: SetTime::Now,
                ..none
            },
            &BOB
        ),
        Err(FsError::Acces)
    );
    let times = SetAttr {
        atime: SetTime::To(4),
        mtime: SetTime::To(5),
        ..none
    };
    assert_eq!(set(times, &ALICE), Ok(()));
    assert_eq!(
        fs.getattr(file).map(|a| (a.atime_ns, a.mtime_ns)),
        Ok((4, 5))
    );
    assert_eq!(
        set(
            SetAttr {
                uid: Some(11),
                ..none
            },
            &Cred::ROOT
        ),
        Ok(())
    );
    assert_eq!(fs.getattr(file).map(|a| a.uid), Ok(11));
    let refused = fs.create(
        fs.root(),
        b"g",
        &CreateHow::Guarded(SetAttr {
            uid: Some(1),
            ..none
        }),
        &BOB,
    );
    assert_eq!(refused.result, Err(FsError::Perm));
    assert_eq!(fs.lookup(fs.root(), b"g", &BOB).1, Err(FsError::NoEnt));
}

#[test]
fn the_guard_is_the_exact_ctime() {
    let fs = fs();
    let file = mkfile(&fs, fs.root(), "f");
    let ctime = fs.getattr(file).expect("attr").ctime_ns;
    let set = set_mode(0o600);
    let wrong = fs.setattr(file, &set, Some(ctime + 1), &Cred::ROOT);
    assert_eq!(wrong.result, Err(FsError::NotSync));
    assert_eq!(
        fs.setattr(file, &set, Some(ctime), &Cred::ROOT).result,
        Ok(())
    );
    assert_eq!(
        fs.setattr(file, &set, Some(ctime), &Cred::ROOT).result,
        Err(FsError::NotSync)
    );
}

#[test]
fn sizes_are_set_on_files_only() {
    let fs = fs();
    let file = mkfile(&fs, fs.root(), "f");
    let size = |size| SetAttr {
        size: Some(size),
        ..SetAttr::default()
    };
    let set = |id, bytes| fs.setattr(id, &size(bytes), None, &Cred::ROOT).result;
    assert_eq!(set(file, 1 << 40), Ok(()));
    assert_eq!(fs.getattr(file).map(|a| (a.size, a.used)), Ok((1 << 40, 0)));
    assert_eq!(set(file, MAX_FILE_SIZE + 1), Err(FsError::FBig));
    assert_eq!(set(fs.root(), 0), Err(FsError::IsDir));
    let far = fs.write_file(file, MAX_FILE_SIZE, b"x", &Cred::ROOT).result;
    assert_eq!(far, Err(FsError::FBig));
    assert_eq!(
        fs.write_file(file, u64::MAX, b"x", &Cred::ROOT).result,
        Err(FsError::FBig)
    );
    assert_eq!(set(file, 2), Ok(()));
    assert_eq!(content(&fs, file), [0, 0]);
}

#[test]
fn names_that_cannot_be() {
    let fs = fs();
    let root = fs.root();
    let longest = "x".repeat(255);
    let file = mkfile(&fs, root, &longest);
    assert_eq!(
        fs.lookup(root, longest.as_bytes(), &Cred::ROOT)
            .1
            .map(|f| f.id),
        Ok(file)
    );
    let long = fs.lookup(root, &[b'x'; 256], &Cred::ROOT).1;
    assert_eq!(long, Err(FsError::NameTooLong));
    for bad in [&b""[..], b"a/b", b"a\0"] {
        let made = fs.mkdir(root, bad, &SetAttr::default(), &Cred::ROOT).result;
        assert_eq!(made, Err(FsError::Inval), "{bad:?}");
    }
    assert_eq!(
        fs.rmdir(root, b".", &Cred::ROOT).result,
        Err(FsError::Inval)
    );
    assert_eq!(
        fs.rmdir(root, b"..", &Cred::ROOT).result,
        Err(FsError::Exist)
    );
    assert_eq!(
        fs.rmdir(root, longest.as_bytes(), &Cred::ROOT).result,
        Err(FsError::NotDir)
    );
    assert_eq!(fs.lookup(file, b"x", &Cred::ROOT).1, Err(FsError::NotDir));
}

#[test]
fn the_verifier_changes_on_request() {
    let fs = fs();
    let file = mkfile(&fs, fs.root(), "f");
    let first = fs.write_verifier();
    assert_eq!(fs.commit(file, &Cred::ROOT).result, Ok(()));
    assert_eq!(fs.write_verifier(), first);
    fs.change_write_verifier();
    assert_ne!(fs.write_verifier(), first);
    assert_eq!(
        fs.commit(fs.root(), &Cred::ROOT).result,
        Err(FsError::IsDir)
    );
    assert_eq!(fs.commit(file, &BOB).result, Err(FsError::Acces));
}
