//! No COMPOUND makes the server panic, and every one gets an answer.

use super::*;
use proptest::prelude::*;

/// A COMPOUND of many operations, to be damaged.
fn whole(client: &Client) -> Vec<u8> {
    let sequence = client.sequence(true);
    client.written(|compound| {
        compound.op(&sequence);
        export(compound);
        compound.op(&opening(b"file", share::BOTH, 0));
        compound.op(&GetfhArgs {}).op(&SavefhArgs {});
        compound.op(&GetattrArgs {
            attr_request: Attributes::KNOWN.without(Attributes::NOT_IN_GETATTR),
        });
        compound.op(&WriteArgs {
            stateid: Stateid4::CURRENT,
            offset: 0,
            stable: StableHow::Unstable,
            data: b"some data",
        });
        compound.op(&LockArgs {
            locktype: NfsLockType4::Write,
            reclaim: false,
            offset: 5,
            length: u64::MAX,
            locker: Locker4::New(OpenToLockOwner4 {
                open_seqid: 0,
                open_stateid: Stateid4::CURRENT,
                lock_seqid: 0,
                lock_owner: StateOwner4 {
                    clientid: 0,
                    owner: b"lock",
                },
            }),
        });
        compound.op(&AllocateArgs {
            stateid: Stateid4::ANONYMOUS,
            offset: 1,
            length: 70_000,
        });
        compound.op(&SeekArgs {
            stateid: Stateid4::ANONYMOUS,
            offset: 1,
            what: DataContent4::Hole,
        });
        compound.op(&CloneArgs {
            src_stateid: Stateid4::ANONYMOUS,
            dst_stateid: Stateid4::ANONYMOUS,
            src_offset: 0,
            dst_offset: 1 << 20,
            count: 100,
        });
        compound.op(&LookuppArgs {});
    })
}

#[test]
fn the_whole_compound_succeeds_but_for_its_last_operation() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let args = whole(&client);
    let answer = client.send(&args);
    let res = CompoundRes::<Operation>::decode(&mut Decoder::new(&answer.results));
    let res = res.expect("a COMPOUND");
    assert_eq!((res.status, res.left()), (Nfsstat4::Notdir, 13));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_compounds_are_answered(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let server = server(|o| o.capacity_bytes = 8 << 20);
        let mut client = Client::new(&server, b"one");
        let mut args = whole(&client);
        // The front, up to the count of operations, is of the RPC layer: GARBAGE_ARGS.
        let front = 4 + 4 + 4 + 4;
        for (at, value) in damage {
            let at = front + at.index(args.len() - front);
            args[at] = value;
        }
        if let Some(cut) = cut {
            args.truncate(front + cut.index(args.len() - front));
        }
        let answer = client.send(&args);
        let mut res = CompoundRes::<Operation>::decode(&mut Decoder::new(&answer.results))
            .expect("a COMPOUND");
        let mut last = Nfsstat4::Ok;
        let status = res.status;
        while let Some(one) = res.next_status() {
            prop_assert_eq!(last, Nfsstat4::Ok, "results behind a failure");
            last = one;
            prop_assert!(res.next().is_some_and(|one| one.is_ok()));
        }
        prop_assert_eq!(last, status);
        prop_assert!(res.end().is_ok());
        // It serves on.
        let mut next = Client::new(&server, b"two");
        prop_assert_eq!(next.call(|_| ()).status(), Nfsstat4::Ok);
    }
}
