//! LAYOUTS=use against a metadata server and a data server in the test.

use super::delegations::{answers, callback, wait_for};
use super::server_layouts::HANDLE;
use super::*;
use crate::driver::tests::fake::{self, Fake, ReceivedCall, ServerAction};
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_model::plan::{DelegationUse, LayoutUse};
use filermark_onc::nfs3::{self, Nfsstat3, StableHow};
use filermark_onc::nfs4::Operation::*;
use filermark_onc::nfs4::callback::{
    Args as CbArgs, CbLayoutrecallArgs, Layoutrecall4, LayoutrecallFile4,
};
use filermark_onc::nfs4::flexfiles::ff_flags;
use filermark_onc::nfs4::{FileHandle4, Layoutiomode4, Nfsstat4, Stateid4, layout_type};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The flags of the layouts of Linux.
pub(super) const LIKE_LINUX: u32 =
    ff_flags::NO_LAYOUTCOMMIT | ff_flags::NO_IO_THRU_MDS | ff_flags::NO_READ_IO;

/// What a client has beside layouts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Plain,
    /// Two connections.
    Trunk,
    /// Delegations for reading and writing.
    Delegations,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Trunk, Self::Delegations];

    fn plan(self) -> NfsPlan {
        let plan = NfsPlan {
            layouts: LayoutUse::Use,
            ..plan()
        };
        match self {
            Self::Plain => plan,
            Self::Trunk => NfsPlan {
                nconnect: 2,
                connections: Connections::Shared(1),
                ..plan
            },
            Self::Delegations => NfsPlan {
                delegations: DelegationUse::Keep,
                ..plan
            },
        }
    }
}

/// A metadata server with a data server at this address.
fn bench(
    data_server: SocketAddr,
    flags: u32,
    script: impl FnMut(&Seen) -> Deed + Send + 'static,
) -> Bench {
    bench_of(Kind::Plain, data_server, flags, script)
}

/// The same with a client of this kind.
pub(super) fn bench_of(
    kind: Kind,
    data_server: SocketAddr,
    flags: u32,
    script: impl FnMut(&Seen) -> Deed + Send + 'static,
) -> Bench {
    bench_with(kind.plan(), data_server, flags, script)
}

/// The same with this plan.
fn bench_with(
    plan: NfsPlan,
    data_server: SocketAddr,
    flags: u32,
    script: impl FnMut(&Seen) -> Deed + Send + 'static,
) -> Bench {
    let server = Server::start(16, script);
    let mut state = server.state();
    state.layouts.data_server = Some(data_server);
    state.layouts.flags = flags;
    state.grants = (plan.delegations == DelegationUse::Keep).then_some(true);
    drop(state);
    Bench::with(plan, 1, server)
}

/// The same with a client of this kind that keeps what it has written for a later COMMIT.
pub(super) fn deferring(
    kind: Kind,
    data_server: SocketAddr,
    flags: u32,
    script: impl FnMut(&Seen) -> Deed + Send + 'static,
) -> Bench {
    let plan = NfsPlan {
        commit: CommitPolicy::Deferred(Deferral {
            writes: 100,
            mib: 100,
            files: 100,
        }),
        ..kind.plan()
    };
    let bench = bench_with(plan, data_server, flags, script);
    // The verifier of the metadata server is another one.
    bench.server.state().verf = [9; 8];
    bench
}

pub(super) fn good(_: &Seen) -> Deed {
    Deed::Good
}

/// A data server that checks handle and user of each call, and the names of the calls that it got.
pub(super) fn data_server(
    mut script: impl FnMut(&ReceivedCall<'_>) -> Option<Vec<ServerAction>> + Send + 'static,
) -> (Fake, Arc<Mutex<Vec<&'static str>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_thread = seen.clone();
    let fake = Fake::start(move |call| {
        let (file, name) = match call.args {
            nfs3::Args::Read(args) => (args.file, "READ"),
            nfs3::Args::Write(args) => (args.file, "WRITE"),
            nfs3::Args::Commit(args) => (args.file, "COMMIT"),
            other => panic!("{other:?}"),
        };
        assert_eq!((file.as_bytes(), call.user), (HANDLE, Some((1234, 56))));
        of_thread.lock().expect("no panic").push(name);
        script(call).unwrap_or_else(|| fake::good(call))
    });
    (fake, seen)
}

#[track_caller]
pub(super) fn counted(counters: &BTreeMap<String, u64>, expected: &[(&str, u64)]) {
    for (name, count) in expected {
        let found = counters.get(*name).copied().unwrap_or(0);
        assert_eq!(found, *count, "{name}: {counters:?}");
    }
}

#[test]
fn transfers_go_to_the_data_server_with_the_handle_and_the_user_of_the_layout() {
    for kind in Kind::ALL {
        let (fake, seen) = data_server(|call| match call.args {
            nfs3::Args::Write(args) => {
                let reply = fake::write_reply(call.xid, args.count, StableHow::Unstable, 1);
                Some(vec![ServerAction::Send(reply)])
            }
            _ => None,
        });
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, good);
        // The verifier of the metadata server is another one.
        bench.server.state().verf = [9; 8];
        for _ in 0..2 {
            bench.succeed(write(0, SIZE));
            bench.succeed(read(0, 2 * SIZE));
        }
        bench.succeed(getattr());
        let expected = ["WRITE", "COMMIT", "READ", "READ"].repeat(2);
        assert_eq!(*seen.lock().expect("no panic"), expected);
        let counters = bench.counters();
        counted(
            &counters,
            &[
                ("OPEN", 1),
                ("LAYOUTGET", 2),
                ("GETDEVICEINFO", 1),
                ("layouts_read", 1),
                ("layouts_write", 1),
                ("READ", 4),
                ("data_server_reads", 4),
                ("WRITE", 2),
                ("data_server_writes", 2),
                ("COMMIT", 2),
                ("data_server_commits", 2),
                (&format!("READ to {}", fake.address), 4),
                (&format!("COMMIT to {}", fake.address), 2),
                ("verifier_changes", 0),
                ("lost_writes", 0),
            ],
        );
        for at_data_server in [Read, Write, Commit] {
            assert_eq!(bench.server.count(at_data_server), 0);
        }
        let asked = bench.server.state().layouts.asked.clone();
        assert_eq!(asked, [Layoutiomode4::Rw, Layoutiomode4::Read]);
        end_with(bench, &[Putfh, Layoutreturn, Close]);
    }
}

/// Ends the clients; the last file is closed with this COMPOUND.
#[track_caller]
pub(super) fn end_with(bench: Bench, close: &[Operation]) {
    let is_set = |compound: &&Vec<Operation>| compound.contains(&Close);
    let state = bench.server.state_of();
    bench.end();
    let state = state.lock().expect("no panic");
    assert_eq!(
        state.executed.iter().rfind(is_set).map(Vec::as_slice),
        Some(close)
    );
    assert!(state.layouts.held.is_empty());
}

#[test]
fn the_end_of_what_was_written_is_committed_unless_the_flags_refuse_that() {
    for kind in Kind::ALL {
        let (fake, seen) = data_server(|_| None);
        let mut bench = bench_of(kind, fake.address, 0, good);
        bench.succeed(write(u64::from(SIZE), SIZE));
        bench.succeed(write(0, SIZE));
        // The layout for writing serves for reading.
        bench.succeed(read(0, SIZE));
        assert_eq!(*seen.lock().expect("no panic"), ["WRITE", "WRITE", "READ"]);
        let state = bench.server.state_of();
        let counters = bench.counters();
        counted(&counters, &[("LAYOUTGET", 1), ("layouts_write", 1)]);
        end_with(bench, &[Putfh, Layoutcommit, Layoutreturn, Close]);
        let last = u64::from(2 * SIZE - 1);
        assert_eq!(
            state.lock().expect("no panic").layouts.committed,
            [Some(last)]
        );
    }
}

#[test]
fn a_file_that_is_filled_and_removed_has_its_own_layout() {
    for kind in Kind::ALL {
        let (fake, seen) = data_server(|_| None);
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, good);
        bench.succeed(fill(1, 3 * u64::from(SIZE)));
        bench.succeed(create(2));
        bench.succeed(Action::Write {
            object: ObjectId(102),
            file: 7,
            offset: 0,
            length: SIZE,
        });
        bench.succeed(remove(2));
        assert_eq!(*seen.lock().expect("no panic"), ["WRITE"; 4]);
        counted(
            &bench.counters(),
            &[
                ("LAYOUTGET", 2),
                ("LAYOUTRETURN", 2),
                ("layouts_returned", 2),
            ],
        );
        bench.end();
    }
}

#[test]
fn without_a_layout_the_metadata_server_serves_transfers() {
    for kind in Kind::ALL {
        for status in [
            Nfsstat4::Layoutunavailable,
            Nfsstat4::Layouttrylater,
            Nfsstat4::UnknownLayouttype,
            Nfsstat4::BadStateid,
        ] {
            let (fake, seen) = data_server(|_| None);
            let mut bench = bench_of(kind, fake.address, LIKE_LINUX, good);
            bench.server.state().layouts.refuses = Some(status);
            bench.succeed(write(0, SIZE));
            bench.succeed(write(0, SIZE));
            bench.succeed(read(0, SIZE));
            bench.succeed(read(0, SIZE));
            assert!(seen.lock().expect("no panic").is_empty());
            counted(
                &bench.counters(),
                &[
                    ("layouts_refused", 2),
                    ("LAYOUTGET", 2),
                    ("READ", 2),
                    ("WRITE", 2),
                    ("OPEN", 1),
                ],
            );
            end_with(bench, &[Putfh, Close]);
        }
    }
}

#[test]
fn layouts_that_cannot_be_used_are_returned_and_counted() {
    for (copies, tightly_coupled, returned) in [(2, false, 1), (1, true, 1)] {
        let (fake, seen) = data_server(|_| None);
        let mut bench = bench(fake.address, LIKE_LINUX, good);
        bench.server.state().layouts.copies = copies;
        bench.server.state().layouts.tightly_coupled = tightly_coupled;
        bench.succeed(write(0, SIZE));
        assert!(seen.lock().expect("no panic").is_empty());
        counted(
            &bench.counters(),
            &[("layouts_unusable", returned), ("layouts_write", 1)],
        );
        end_with(bench, &[Putfh, Layoutreturn, Close]);
    }
}

#[test]
fn an_error_of_the_data_server_is_reported_and_the_metadata_server_goes_on() {
    // The server of the tests has one more open after an OPEN for another access.
    for kind in [Kind::Plain, Kind::Trunk] {
        for status in [Nfsstat3::Stale, Nfsstat3::Acces, Nfsstat3::Io] {
            let (fake, seen) = data_server(move |call| match call.args {
                nfs3::Args::Write(_) => Some(fake::refusal(call, status)),
                _ => None,
            });
            let mut bench = bench_of(kind, fake.address, LIKE_LINUX, good);
            bench.succeed(read(0, SIZE));
            bench.succeed(write(0, SIZE));
            wait_for(&mut bench, |state| state.layouts.held.is_empty());
            bench.succeed(write(0, SIZE));
            bench.succeed(read(0, SIZE));
            assert_eq!(*seen.lock().expect("no panic"), ["READ", "WRITE"]);
            let errors = bench.server.state().layouts.errors.clone();
            assert_eq!(
                errors,
                [(Nfsstat4::from_u32(status.to_u32()), Write.to_u32())]
            );
            counted(
                &bench.counters(),
                &[
                    ("data_server_errors", 1),
                    ("layouts_returned", 1),
                    ("LAYOUTGET", 2),
                    ("WRITE", 3),
                    ("READ", 2),
                ],
            );
            bench.end();
        }
    }
}

#[test]
fn a_full_data_server_is_an_error_of_the_operation() {
    let (fake, _) = data_server(|call| Some(fake::refusal(call, Nfsstat3::Nospc)));
    let mut bench = bench(fake.address, LIKE_LINUX, good);
    let refused = bench.run(write(0, SIZE)).status;
    assert_eq!(refused, Status::Refused(Nfsstat3::Nospc.to_u32()));
    counted(&bench.counters(), &[("data_server_errors", 0)]);
    bench.end();
}

#[test]
fn a_data_server_that_is_out_of_reach_is_left_for_a_while() {
    // The other end of a connection: no program can listen there while it is open.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let held = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    let address = held.local_addr().expect("bound");
    let mut bench = bench(address, LIKE_LINUX, good);
    bench.succeed(write(0, SIZE));
    wait_for(&mut bench, |state| state.layouts.held.is_empty());
    bench.succeed(create(1));
    bench.succeed(Action::Write {
        object: ObjectId(101),
        file: 7,
        offset: 0,
        length: SIZE,
    });
    let errors = bench.server.state().layouts.errors.clone();
    assert_eq!(errors, [(Nfsstat4::Nxio, Write.to_u32())]);
    let counters = bench.counters();
    counted(
        &counters,
        &[
            ("data_servers_gone", 2),
            ("WRITE", 2),
            ("data_server_writes", 0),
        ],
    );
    bench.end();
}

/// Reads once; the data server answers the first READ so, and the second one well.
#[track_caller]
fn read_again_after(
    answer: impl Fn(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static,
    expected: &[(&str, u64)],
) {
    let mut left = 1;
    let (fake, seen) = data_server(move |call| {
        left -= 1;
        (left >= 0).then(|| answer(call))
    });
    let mut bench = bench(fake.address, LIKE_LINUX, good);
    bench.succeed(read(0, SIZE));
    assert_eq!(*seen.lock().expect("no panic"), ["READ", "READ"]);
    counted(&bench.counters(), expected);
    bench.end();
}

#[test]
fn calls_to_a_data_server_are_sent_again_when_its_connection_is_lost() {
    read_again_after(
        |_| vec![ServerAction::Close],
        &[
            ("retransmits", 1),
            ("reconnects", 1),
            ("READ", 1),
            ("data_servers_gone", 0),
        ],
    );
}

#[test]
fn a_data_server_that_is_busy_is_called_again_later() {
    read_again_after(
        |call| fake::refusal(call, Nfsstat3::Jukebox),
        &[("jukebox_waits", 1), ("data_server_errors", 0)],
    );
}

pub(super) fn recall(xid: u32, sequenceid: u32, recall: Layoutrecall4<'_>) -> Deed {
    Deed::Call(callback(
        xid,
        sequenceid,
        &CbArgs::Layoutrecall(CbLayoutrecallArgs {
            layout_type: layout_type::FLEX_FILES,
            iomode: Layoutiomode4::Any,
            changed: false,
            recall,
        }),
    ))
}

#[test]
fn a_recalled_layout_is_returned_and_asked_for_again() {
    for kind in Kind::ALL {
        let (fake, seen) = data_server(|_| None);
        let of_file = |name| {
            Layoutrecall4::File(LayoutrecallFile4 {
                fh: FileHandle4::new(name).expect("short"),
                offset: 0,
                length: u64::MAX,
                stateid: Stateid4::ANONYMOUS,
            })
        };
        let mut asked = 0;
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, move |seen| {
            let is_plain = seen.ops == [Putfh, Getattr];
            asked += u32::from(is_plain);
            match is_plain.then_some(asked) {
                Some(1) => recall(70, 1, of_file(b"another file")),
                Some(2) => recall(71, 2, of_file(b"file")),
                _ => Deed::Good,
            }
        });
        bench.succeed(read(0, SIZE));
        let both = [(70, Nfsstat4::NomatchingLayout), (71, Nfsstat4::Ok)];
        let mut answers = answers(&mut bench, 2);
        // Two connections bring them in any order.
        answers.sort_by_key(|(xid, _)| *xid);
        assert_eq!(answers, both);
        wait_for(&mut bench, |state| state.layouts.held.is_empty());
        bench.succeed(read(0, SIZE));
        assert_eq!(*seen.lock().expect("no panic"), ["READ", "READ"]);
        counted(
            &bench.counters(),
            &[
                ("layouts_recalled", 1),
                ("layouts_returned", 1),
                ("layouts_read", 2),
                ("OPEN", 1),
            ],
        );
        bench.end();
    }
}

/// The server has revoked the layout: the CLOSE behind the LAYOUTRETURN was not executed.
#[test]
fn a_file_is_closed_alone_if_its_layout_is_not_known_any_more() {
    for kind in Kind::ALL {
        let (fake, _) = data_server(|_| None);
        let mut bench = bench_of(kind, fake.address, LIKE_LINUX, good);
        bench.succeed(create(1));
        bench.succeed(Action::Write {
            object: ObjectId(101),
            file: 7,
            offset: 0,
            length: SIZE,
        });
        bench.server.state().layouts.held.clear();
        bench.succeed(remove(1));
        assert!(bench.server.state().opens.is_empty());
        counted(
            &bench.counters(),
            &[("layouts_lost", 1), ("CLOSE", 2), ("layouts_returned", 0)],
        );
        bench.end();
    }
}

#[test]
fn a_client_that_was_lost_asks_for_layouts_and_devices_again() {
    let (fake, seen) = data_server(|_| None);
    let mut asked = 0;
    let mut bench = bench(fake.address, LIKE_LINUX, move |seen| {
        asked += u32::from(seen.ops == [Putfh, Getattr]);
        match seen.ops == [Putfh, Getattr] && asked == 1 {
            true => Deed::Forget(true),
            false => Deed::Good,
        }
    });
    bench.succeed(read(0, SIZE));
    bench.server.state().layouts.held.clear();
    bench.succeed(getattr());
    bench.succeed(read(0, SIZE));
    assert_eq!(*seen.lock().expect("no panic"), ["READ", "READ"]);
    counted(
        &bench.counters(),
        &[
            ("lost_clients", 1),
            ("layouts_lost", 1),
            ("layouts_read", 2),
            ("GETDEVICEINFO", 2),
        ],
    );
    bench.end();
}
