use super::*;
use crate::nfs4::locks::{Range, RangeKind};
use filermark_onc::nfs4::share;
use proptest::prelude::*;

const FILE: FileId = FileId {
    number: 5,
    generation: 1,
};

fn client(id: u64) -> Arc<Client> {
    Arc::new(Client::for_tests(id))
}

fn exclusive(first: u64, last: u64) -> Range {
    Range {
        first,
        last,
        kind: RangeKind::Exclusive,
    }
}

fn lock(
    files: &Files,
    client: &Arc<Client>,
    range: Range,
    locker: Locker<'_>,
) -> Result<Stateid4, NotLocked> {
    files.lock(&LockRequest {
        client,
        file: FILE,
        range,
        locker,
    })
}

impl Files {
    /// An OPEN without a delegation.
    fn open_plain(
        &self,
        client: &Arc<Client>,
        file: FileId,
        owner: &[u8],
        share: Share,
    ) -> Result<Opened, NotOpened> {
        self.open(&OpenRequest {
            client,
            file,
            owner,
            share,
            truncates: false,
            wish: None,
            now_ns: 0,
        })
    }
}

const BOTH: Share = Share {
    access: share::BOTH,
    deny: 0,
};

/// Owners 0 to 3: two of each of two clients.
#[derive(Debug, Clone)]
enum Step {
    Open(usize, Share),
    Close(usize),
    Downgrade(usize, Share),
    Anonymous(u32),
}

fn share_strategy() -> impl Strategy<Value = Share> {
    (1..=3u32, 0..=3u32).prop_map(|(access, deny)| Share { access, deny })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4usize, share_strategy()).prop_map(|(owner, share)| Step::Open(owner, share)),
        2 => (0..4usize).prop_map(Step::Close),
        1 => (0..4usize, share_strategy()).prop_map(|(owner, share)| Step::Downgrade(owner, share)),
        1 => (1..=2u32).prop_map(Step::Anonymous),
    ]
}

/// What the four owners have open, as section 9.7 says it.
#[derive(Default)]
struct Model {
    opens: [Option<(u32, u32)>; 4],
}

impl Model {
    fn open(&mut self, owner: usize, share: Share) -> bool {
        let others = self.opens.iter().enumerate().filter(|(i, _)| *i != owner);
        for (access, deny) in others.filter_map(|(_, open)| *open) {
            for bit in [1, 2] {
                let has = |set: u32| set & bit != 0;
                if (has(share.access) && has(deny)) || (has(share.deny) && has(access)) {
                    return false;
                }
            }
        }
        let (access, deny) = self.opens[owner].unwrap_or_default();
        self.opens[owner] = Some((access | share.access, deny | share.deny));
        true
    }
}

proptest! {
    #[test]
    fn share_reservations_are_those_of_the_model(steps in proptest::collection::vec(step(), 1..80)) {
        let files = Files::new(9);
        let clients = [client(1), client(2)];
        let mut model = Model::default();
        let mut stateids = [None; 4];
        for step in steps {
            match step {
                Step::Open(owner, share) => {
                    let opened = files.open_plain(&clients[owner / 2], FILE, &[owner as u8 % 2], share);
                    let expected = model.open(owner, share);
                    prop_assert_eq!(opened.is_ok(), expected, "{:?}", opened);
                    if let Ok(opened) = opened {
                        prop_assert_eq!(opened.is_new, stateids[owner].is_none());
                        stateids[owner] = Some(opened.stateid);
                    }
                }
                Step::Close(owner) => {
                    let Some(stateid) = stateids[owner].take() else { continue };
                    let of = (&*clients[owner / 2], FILE);
                    prop_assert_eq!(files.close(&stateid, of), Ok(()));
                    prop_assert_eq!(files.close(&stateid, of), Err(Nfsstat4::BadStateid));
                    model.opens[owner] = None;
                }
                Step::Downgrade(owner, share) => {
                    let Some(stateid) = stateids[owner] else { continue };
                    let (access, deny) = model.opens[owner].unwrap_or_default();
                    let done = files.downgrade(&stateid, (&clients[owner / 2], FILE), share);
                    let fits = share.access | access == access && share.deny | deny == deny;
                    prop_assert_eq!(done.is_ok(), fits);
                    if let Ok(stateid) = done {
                        stateids[owner] = Some(stateid);
                        model.opens[owner] = Some((share.access, share.deny));
                    }
                }
                Step::Anonymous(access) => {
                    let denied = model.opens.iter().flatten().any(|(_, deny)| deny & access != 0);
                    prop_assert_eq!(files.check_anonymous(FILE, access).is_err(), denied);
                }
            }
            for (owner, stateid) in stateids.iter().enumerate() {
                let Some(stateid) = stateid else { continue };
                let (access, _) = model.opens[owner].unwrap_or_default();
                for bit in [1, 2] {
                    let checked = files.check_access(stateid, (&clients[owner / 2], FILE), bit);
                    prop_assert_eq!(checked.is_ok(), access & bit != 0);
                }
            }
        }
    }
}

#[test]
fn stateids_are_of_one_client_one_file_and_one_version() {
    let files = Files::new(9);
    let (one, two) = (client(1), client(2));
    let first = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    let second = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    assert_eq!((first.other, first.seqid + 1), (second.other, second.seqid));
    let check = |stateid: &Stateid4, client: &Client, file| {
        files
            .check_access(stateid, (client, file), share::READ)
            .err()
    };
    assert_eq!(check(&second, &one, FILE), None);
    assert_eq!(check(&Stateid4 { seqid: 0, ..second }, &one, FILE), None);
    assert_eq!(check(&first, &one, FILE), Some(Nfsstat4::OldStateid));
    let later = Stateid4 { seqid: 3, ..second };
    assert_eq!(check(&later, &one, FILE), Some(Nfsstat4::BadStateid));
    assert_eq!(check(&second, &two, FILE), Some(Nfsstat4::BadStateid));
    let other = FileId { number: 21, ..FILE };
    assert_eq!(check(&second, &one, other), Some(Nfsstat4::BadStateid));
    let foreign = Files::new(8).stateid(16 + 5, 1);
    assert_eq!(files.test(&foreign, &one), Err(Nfsstat4::BadStateid));
    assert_eq!(files.free(&second, &one), Err(Nfsstat4::LocksHeld));
}

#[test]
fn locks_of_others_are_denied_and_end_with_their_open() {
    let files = Files::new(9);
    let (one, two) = (client(1), client(2));
    let open = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    let theirs = files
        .open_plain(&two, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    let locked = lock(&files, &one, exclusive(0, 9), Locker::New(b"l", &open)).expect("locked");
    let denied = lock(&files, &two, exclusive(9, 20), Locker::New(b"l", &theirs));
    let Err(NotLocked::Denied(holder)) = denied else {
        panic!("{denied:?}");
    };
    assert_eq!(
        (holder.range, holder.clientid, &*holder.owner),
        (exclusive(0, 9), 1, &b"l"[..])
    );
    assert!(
        files
            .test_lock((&two, FILE), b"l", &exclusive(10, 20))
            .is_none()
    );
    let more = lock(&files, &one, exclusive(10, 20), Locker::Existing(&locked)).expect("locked");
    assert_eq!((more.other, more.seqid), (locked.other, locked.seqid + 1));
    assert!(
        files
            .test_lock((&two, FILE), b"l", &exclusive(10, 20))
            .is_some()
    );
    assert_eq!(files.free(&more, &one), Err(Nfsstat4::LocksHeld));
    files.close(&open, (&one, FILE)).expect("closed");
    assert_eq!(files.test(&more, &one), Err(Nfsstat4::BadStateid));
    assert!(lock(&files, &two, exclusive(0, 9), Locker::New(b"l", &theirs)).is_ok());
}

#[test]
fn locks_without_ranges_can_be_freed() {
    let files = Files::new(9);
    let one = client(1);
    let open = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    let locked = lock(&files, &one, exclusive(0, 9), Locker::New(b"l", &open)).expect("locked");
    let left = files
        .unlock(&locked, (&one, FILE), &exclusive(0, u64::MAX))
        .expect("unlocked");
    assert_eq!(files.free(&left, &one), Ok(()));
    assert_eq!(files.free(&left, &one), Err(Nfsstat4::BadStateid));
}

#[test]
fn locked_ranges_are_counted_and_limited() {
    let files = Files::new(9);
    let one = client(1);
    let open = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("an open")
        .stateid;
    let counted = || files.read(5).ranges;
    let mut locked = 0..;
    let refused = locked.find_map(|number: u64| {
        let range = exclusive(number * 10, number * 10 + 3);
        lock(&files, &one, range, Locker::New(b"l", &open)).err()
    });
    assert_eq!(refused, Some(NotLocked::Status(Nfsstat4::Delay)));
    assert_eq!(counted(), 4096);
    // What makes more of them is refused, and the others can be unlocked.
    let latest = |id| Stateid4 {
        seqid: 0,
        ..files.stateid(id, 0)
    };
    let id = files.read(5).locks(FILE).next().map(|(id, _)| id);
    let stateid = latest(id.expect("locks"));
    let unlock = |range| files.unlock(&stateid, (&one, FILE), &range).err();
    assert_eq!(unlock(exclusive(1, 2)), Some(Nfsstat4::Delay));
    assert_eq!(unlock(exclusive(0, 3)), None);
    assert_eq!(unlock(exclusive(11, 12)), None);
    assert_eq!(counted(), 4096);
    files.close(&open, (&one, FILE)).expect("closed");
    assert_eq!(counted(), 0);
}

#[test]
fn a_lock_that_is_refused_for_want_of_ranges_leaves_nothing() {
    let files = Files::new(9);
    let one = client(1);
    let open = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    files.write(5).ranges = RANGES_MAX;
    let refused = lock(&files, &one, exclusive(0, 9), Locker::New(b"l", &open));
    assert_eq!(refused, Err(NotLocked::Status(Nfsstat4::Delay)));
    assert_eq!(files.read(5).locks(FILE).count(), 0);
    files.write(5).ranges = 0;
    assert!(lock(&files, &one, exclusive(0, 9), Locker::New(b"l", &open)).is_ok());
}

#[test]
fn a_lock_needs_an_open_for_its_kind() {
    let files = Files::new(9);
    let one = client(1);
    let read = Share {
        access: share::READ,
        deny: 0,
    };
    let open = files
        .open_plain(&one, FILE, b"a", read)
        .expect("open")
        .stateid;
    let refused = lock(&files, &one, exclusive(0, 9), Locker::New(b"l", &open));
    assert_eq!(refused, Err(NotLocked::Status(Nfsstat4::Openmode)));
    let shared = Range {
        kind: RangeKind::Shared,
        ..exclusive(0, 9)
    };
    assert!(lock(&files, &one, shared, Locker::New(b"l", &open)).is_ok());
}

#[test]
fn everything_of_a_client_ends_with_it() {
    let files = Files::new(9);
    let (one, two) = (client(1), client(2));
    let other = FileId { number: 6, ..FILE };
    let open = files
        .open_plain(&one, FILE, b"a", BOTH)
        .expect("open")
        .stateid;
    files.open_plain(&one, other, b"a", BOTH).expect("open");
    files.open_plain(&two, FILE, b"a", BOTH).expect("open");
    lock(&files, &one, exclusive(0, 9), Locker::New(b"l", &open)).expect("locked");
    let mut closed = files.end_clients(&[one, client(3)]);
    closed.sort();
    assert_eq!(closed, [FILE, other]);
    let left = |shard: usize| files.read(shard).states.len();
    assert_eq!((left(5), left(6)), (1, 0));
    assert!(files.read(6).files.is_empty());
}

/// An access without an open is checked, and keeps delegations away, under one lock until it has ended.
#[test]
fn an_access_without_an_open_keeps_delegations_away() {
    let files = Files::new(9);
    let one = client(1);
    let held = || files.undelegated([Some(FILE), None], None, FileUse::Change, 1);
    let of_part = || files.shards[Files::shard_of(FILE) % SHARDS].try_write();
    let first = held().expect("no delegation");
    assert_eq!(first.check_anonymous(FILE, share::WRITE), Ok(()));
    assert!(of_part().is_err(), "a grant needs this lock");
    drop(first);
    assert!(of_part().is_ok());
    let denying = Share {
        access: share::READ,
        deny: share::WRITE,
    };
    files
        .open_plain(&one, FILE, b"a", denying)
        .expect("an open");
    let second = held().expect("no delegation");
    let denied = second.check_anonymous(FILE, share::WRITE);
    assert_eq!(denied, Err(Nfsstat4::Locked));
    assert_eq!(second.check_anonymous(FILE, share::READ), Ok(()));
}
