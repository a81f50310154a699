//! Servers that send invalid replies: nothing may panic, and every operation must end.

use super::fake::{ServerAction, good, good_reply};
use super::*;
use filermark_onc::nfs3::Procedure;
use proptest::prelude::*;
use std::sync::Mutex;

fn short_timeout() -> NfsPlan {
    NfsPlan {
        rpc_timeout_ms: 50,
        rpc_retries: 0,
        ..plan()
    }
}

/// One of each procedure.
fn all_actions() -> Vec<Action> {
    let dir = PROC_DIR;
    let object = FILE;
    let small = name(NameKind::Small, 1);
    vec![
        Action::Null,
        getattr(),
        Action::Setattr { object, size: None },
        Action::Lookup {
            dir,
            name: small,
            object: ObjectId(2),
        },
        Action::Access { object },
        Action::Readlink { object },
        read(0, 2 * SIZE),
        write(0, 2 * SIZE),
        create(1),
        Action::Mkdir {
            dir,
            name: small,
            object: ObjectId(3),
        },
        Action::Symlink {
            dir,
            name: small,
            object: ObjectId(3),
        },
        Action::Mknod {
            dir,
            name: small,
            object: ObjectId(3),
        },
        Action::Remove { dir, name: small },
        Action::Rmdir { dir, name: small },
        Action::Rename {
            dir,
            name: small,
            object,
            new_name: small,
            new_object: object,
        },
        Action::Link {
            object,
            dir,
            new_name: small,
            new_object: ObjectId(4),
        },
        Action::Readdir { dir, plus: false },
        Action::Readdir { dir, plus: true },
        Action::Fsstat,
        Action::Fsinfo,
        Action::Pathconf,
        Action::Commit { object },
    ]
}

#[test]
fn a_reply_with_another_xid_is_ignored() {
    let mut bench = Bench::new(|call| {
        let wrong = |change: u32| {
            let mut record = good_reply(call);
            record[..4].copy_from_slice(&(call.xid ^ change).to_be_bytes());
            ServerAction::Send(record)
        };
        let mut acts = vec![
            wrong(1),
            wrong(1 << 31),
            wrong(u32::MAX),
            ServerAction::Send(vec![1]),
        ];
        acts.extend(good(call));
        acts.extend(good(call));
        acts
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    assert_eq!(bench.status(getattr()), Status::Ok);
    // Four before each valid reply, and the second valid reply to the first call; that to
    // the second call may come too late.
    let stale = bench.counters()["stale_replies"];
    assert!(stale == 9 || stale == 10, "{stale}");
}

#[test]
fn replies_in_fragments_are_put_together() {
    for size in [1usize, 3, 4, 28, 1000] {
        let mut bench = Bench::with(plan(), 1, VerifyLevel::All, move |call| {
            let record = good_reply(call);
            let size = size.max(record.len() / 500);
            vec![ServerAction::SendFragments(record, size)]
        });
        let outcome = bench.run(read(0, 3 * SIZE));
        assert_eq!((outcome.status, outcome.physical), (Status::Ok, 3));
    }
}

#[test]
fn replies_cut_short_at_any_byte_are_garbage() {
    let actions = all_actions();
    let cut_at = Arc::new(Mutex::new(4));
    let cut_at_server = cut_at.clone();
    let mut bench = Bench::new(move |call| {
        let mut record = good_reply(call);
        record.truncate(*cut_at_server.lock().expect("ok"));
        vec![ServerAction::Send(record)]
    });
    for len in (4..60).step_by(4) {
        *cut_at.lock().expect("ok") = len;
        for action in &actions {
            let outcome = bench.run(*action);
            if len < 24 {
                assert_eq!(outcome.status, Status::Garbage, "{action:?} at {len}");
            }
        }
    }
}

#[test]
fn a_stream_without_valid_records_is_closed_and_connected_again() {
    let mut bench = Bench::new(|call| match call.nth {
        0 => vec![ServerAction::Raw(
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        )],
        _ => good(call),
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    let expected = counted(&[
        ("GETATTR", 1),
        ("reconnects", 1),
        ("retransmits", 1),
        ("stream_errors", 1),
    ]);
    assert_eq!(bench.counters(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Bytes that are no records, and records that are no replies.
    #[test]
    fn noise_ends_every_operation(
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..6),
        framed in any::<bool>(),
    ) {
        let mut bench = Bench::with(short_timeout(), 1, VerifyLevel::All, move |call| {
            let bytes = noise[call.nth % noise.len()].clone();
            vec![if framed { ServerAction::Send(bytes) } else { ServerAction::Raw(bytes) }]
        });
        for action in [getattr(), read(0, SIZE), create(1)] {
            prop_assert_ne!(bench.status(action), Status::Ok);
        }
    }

    /// Valid headers with any results after them.
    #[test]
    fn any_results_end_every_operation(
        words in prop::collection::vec(prop_oneof![0u32..3, 0u32..80, Just(10_008u32), any::<u32>()], 0..40),
    ) {
        let body: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
        let mut bench = Bench::with(plan(), 1, VerifyLevel::All, move |call| {
            let mut record = call.xid.to_be_bytes().to_vec();
            record.extend_from_slice(&[0, 0, 0, 1]);
            record.extend_from_slice(&[0; 16]);
            record.extend_from_slice(&body);
            vec![ServerAction::Send(record)]
        });
        let actions = all_actions();
        prop_assert_eq!(actions.len(), Procedure::COUNT);
        for action in &actions {
            // Some may be valid by chance; they only have to end.
            let known = bench.shard.core.procs[0].handles.get(FILE).is_some();
            if !known {
                bench.shard.core.procs[0].handles.set(FILE, b"file");
            }
            bench.run(*action);
        }
    }
}
