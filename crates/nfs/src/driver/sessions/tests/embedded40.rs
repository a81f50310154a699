//! Version 4.0 against the embedded server, which compares the numbers of owners.

use super::work::{DATA, Work};
use super::*;
use crate::driver::sessions::opens;
use filermark_model::plan::NfsVersion;
use filermark_server::ServerOptions;

/// The number of the owner of the open is not the one that the server expects (RFC 7530 section 9.1.7), which the
/// first LOCK shows. The expected one cannot be asked for: the file is opened again by another owner, and locked by
/// another owner of locks.
#[test]
fn a_first_lock_with_a_wrong_number_is_done_by_other_owners() {
    let mut work = Work::of(ServerOptions::default(), NfsVersion::V40);
    work.good(read_data());
    work.counters();
    let key = opens::of_object(DATA);
    let file = work.shard.core.own.opens[0].find(key);
    let owner = file
        .and_then(|file| file.owner.as_mut())
        .expect("it is open");
    owner.seqid += 7;
    let earlier = owner.number;
    for _ in 0..3 {
        work.good(Action::V4(V4Action::Lock { object: DATA }));
    }
    let file = work.shard.core.own.opens[0].get(key);
    let owner = file.and_then(|file| file.owner).expect("it is open again");
    assert_ne!(owner.number, earlier);
    let counters = work.counters();
    for (name, count) in [
        ("LOCK", 4),
        ("LOCKU", 3),
        ("OPEN", 1),
        ("CLOSE", 1),
        // The open of the owner whose number is not known ends with the lease.
        ("refused_closes", 1),
    ] {
        assert_eq!(counters.get(name), Some(&count), "{name}: {counters:?}");
    }
    work.good(read_data());
}

fn read_data() -> Action {
    Action::Read {
        object: DATA,
        file: 0,
        offset: 0,
        length: SIZE,
    }
}
