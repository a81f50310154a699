//! The hot path allocates nothing: requests go into a buffer that has its capacity,
//! answers are read where they lie, signed or not.

use crate::answers::answer;
use filermark_smbwire::smb1::info::{BasicInfo, Entries, FsSize, level};
use filermark_smbwire::smb1::*;
use filermark_testbed::Counting;
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = Counting::count();
    work();
    Counting::count() - before
}

/// The seed's thirteen operations, and their neighbours.
fn every_request(session: &mut Session, out: &mut Vec<u8>) {
    let path = Path {
        dir: "proc-1\\dir",
        name: "fïle",
    };
    let (fid, max_data) = (9, 1024);
    let range = [Range {
        offset: 1,
        length: 2,
    }];
    let info = SetInfo::Basic(BasicInfo::default());
    let locking = Locking {
        fid,
        shared: false,
        timeout_ms: 0,
        pid: 1,
        unlocks: &[],
        locks: &range,
    };
    session.put(
        out,
        1,
        &NtCreate {
            path,
            ..NtCreate::default()
        },
    );
    session.put(out, 2, &Close { fid });
    session.put(out, 3, &Flush { fid });
    session.put(out, 4, &Echo { data: b"echo" });
    session.put(
        out,
        5,
        &ReadAndx {
            fid,
            offset: 1,
            count: 2,
        },
    );
    session.put(out, 6, &locking);
    session.put(
        out,
        7,
        &QueryFs {
            level: level::FS_SIZE,
            max_data,
        },
    );
    session.put(
        out,
        8,
        &QueryFile {
            fid,
            level: level::FILE_ALL,
            max_data,
        },
    );
    session.put(
        out,
        9,
        &QueryPath {
            path,
            level: level::FILE_ALL,
            max_data,
        },
    );
    session.put(out, 10, &SetFile { fid, info });
    session.put(
        out,
        11,
        &FindFirst {
            pattern: path,
            count: 10,
            flags: 2,
            max_data,
        },
    );
    session.put(
        out,
        12,
        &QuerySecurity {
            fid,
            fields: 7,
            max_data: 4096,
        },
    );
    let frame_start = session.begin(out);
    let mark = WriteAndx {
        fid,
        offset: 0,
        write_through: false,
    }
    .begin(&session.head(13), out);
    out.extend_from_slice(&[7; 4096]);
    mark.finish(out);
    session.protect(out, frame_start);
}

#[test]
fn the_hot_path_allocates_nothing() {
    assert_eq!(
        allocations(|| drop(black_box(Vec::<u8>::with_capacity(10)))),
        1
    );
    for signed in [false, true] {
        let mut session = crate::answers::session(signed);
        let mut out = Vec::with_capacity(1 << 16);
        assert_eq!(allocations(|| every_request(&mut session, &mut out)), 0);
        assert!(out.len() > 5000);
    }
    let [read, found, size, created] = ["read", "found-first", "fs-size", "created"].map(answer);
    let count = allocations(|| {
        let reply = Reply::read(&read).expect("sound");
        black_box(ReadData::read(&reply).expect("data"));
        let reply = Reply::read(&created).expect("sound");
        black_box(Created::read(&reply).expect("open"));
        for answer in [&found, &size] {
            let part = Part::read(&Reply::read(answer).expect("sound")).expect("sound");
            let data = part.whole().expect("one piece").data;
            black_box(Entries::new(data, 1).count());
            black_box(FsSize::read(data).expect("long enough"));
        }
    });
    assert_eq!(count, 0);
    let mut session = crate::answers::session(true);
    let mut signed = answer("signed-created");
    let count = allocations(|| {
        black_box(session.unprotect(&mut signed, 5).expect("signed"));
    });
    assert_eq!(count, 0);
}
