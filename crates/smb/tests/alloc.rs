//! The driver allocates nothing per operation once it is warm, whatever protects its
//! messages. A test binary of its own, because the allocator is the whole program's.

#[path = "it/rig.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod rig;

use filermark_engine::driver::{Action, Completion, Request, Status, Submit};
use filermark_engine::session_action::{AttributeChange, HandleId, OpenFor, SessionAction};
use filermark_model::Nanos;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_testbed::{Counting, SambaOptions};
use rig::{DIR, ShardFixture, file, plan, samba};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is done in a round, in this order.
fn round() -> Vec<SessionAction> {
    let handle = HandleId(0);
    let lock = |unlock| SessionAction::Lock {
        handle,
        offset: 0,
        length: 4096,
        unlock,
    };
    vec![
        SessionAction::Echo,
        SessionAction::QueryFs,
        SessionAction::QueryPath { place: file(1) },
        SessionAction::Find { dir: DIR },
        SessionAction::Open {
            place: file(1),
            handle,
            how: OpenFor::Update,
        },
        SessionAction::QueryFile { handle },
        SessionAction::QuerySecurity { handle },
        SessionAction::Read {
            handle,
            file: 1,
            offset: 4096,
            length: 200_000,
        },
        lock(false),
        SessionAction::Write {
            handle,
            file: 1,
            offset: 0,
            length: 150_000,
        },
        lock(true),
        SessionAction::SetFile {
            handle,
            setting: AttributeChange::Times,
        },
        SessionAction::Flush { handle },
        SessionAction::Close { handle },
    ]
}

fn run(rig: &mut ShardFixture, actions: &[SessionAction], done: &mut Vec<Completion>) {
    for action in actions {
        done.clear();
        let request = Request {
            token: 0,
            proc: 0,
            action: Action::Session(*action),
        };
        assert!(matches!(rig.shard.submit(&request), Submit::Queued));
        while done.is_empty() {
            rig.shard.flush();
            rig.shard.poll(Nanos::MAX, done).expect("sockets work");
        }
        assert_eq!(done[0].outcome.status, Status::Ok, "{action:?}");
    }
}

#[test]
fn nothing_is_allocated_per_operation() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let plans = [
        (Dialect::Nt1, Signing::Required, Encryption::Off),
        (Dialect::V210, Signing::Required, Encryption::Off),
        (Dialect::V300, Signing::Off, Encryption::Required),
        (Dialect::V311, Signing::Auto, Encryption::Off),
        (Dialect::V311, Signing::AesGmac, Encryption::Off),
        (Dialect::V311, Signing::Auto, Encryption::Aes256Gcm),
    ];
    for (dialect, signing, encryption) in plans {
        let mut plan = plan(&samba, dialect);
        plan.signing = signing;
        plan.encryption = encryption;
        samba.sandbox().run(|| {
            let mut rig = ShardFixture::ready(plan);
            rig.fill(1, 1 << 20);
            let actions = round();
            let mut done = Vec::with_capacity(64);
            for _ in 0..30 {
                run(&mut rig, &actions, &mut done);
            }
            let before = Counting::count();
            for _ in 0..30 {
                run(&mut rig, &actions, &mut done);
            }
            let allocations = Counting::count() - before;
            // A buffer may still grow when a burst larger than any before comes; that is
            // not per operation.
            let operations = 30 * actions.len();
            assert!(
                allocations <= 4,
                "{dialect} {signing:?} {encryption:?}: {allocations} allocations in {operations} operations"
            );
        });
    }
}
