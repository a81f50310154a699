//! The blocking client of NFSv4, against a scripted server; of NFSv4.0 against the embedded one.

use crate::fake4::{Answer, State, start};
use crate::support::{mount, plan};
use filermark_engine::driver::StopFlag;
use filermark_engine::interrupt_guard;
use filermark_model::plan::{MinorVersion, MountPoint, NfsPlan, NfsVersion, Transport};
use filermark_nfs::client::{ClientError, Nfs4Client, RpcOptions};
use filermark_nfs::target::Target;
use filermark_onc::nfs3::Sattr3;
use filermark_onc::nfs4::{Nfsstat4, Operation};
use filermark_onc::rpc::AuthSys;
use filermark_server::{Server, ServerOptions};
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

fn client(port: u16) -> Nfs4Client {
    client_of(MinorVersion::V1, port)
}

fn client_of(minor: MinorVersion, port: u16) -> Nfs4Client {
    let options = RpcOptions {
        reply_timeout: Duration::from_secs(20),
        retries: 2,
        ..RpcOptions::default()
    };
    let cred = AuthSys::new(0, b"test", 0, 0, &[]).to_body();
    Nfs4Client::new(
        minor,
        SocketAddr::from(([127, 0, 0, 1], port)),
        cred,
        options,
    )
}

fn plan4(port: u16) -> NfsPlan {
    NfsPlan {
        version: NfsVersion::V41,
        mount_port: None,
        portmap_port: 111,
        ..plan(port)
    }
}

const SET_UP: [Operation; 3] = [
    Operation::ExchangeId,
    Operation::CreateSession,
    Operation::ReclaimComplete,
];
const END: [Operation; 2] = [Operation::DestroySession, Operation::DestroyClientid];

#[test]
fn a_session_is_set_up_with_the_first_call_and_ended_with_the_client() {
    let (port, state) = start(State::new());
    let mut nfs = client(port);
    assert!(state.lock().unwrap().calls.is_empty());
    let root = nfs.root().unwrap().unwrap();
    assert_eq!(root.object.as_bytes(), b"root");
    assert_eq!(nfs.session().unwrap().lease, Duration::from_secs(60));
    drop(nfs);
    let state = state.lock().unwrap();
    let expected = [&SET_UP[..], &[Operation::Putrootfh], &END].concat();
    assert_eq!(state.calls, expected);
    assert_eq!(state.sequences, [(0, 1), (0, 2)]);
}

#[test]
fn a_client_of_minor_version_2_uses_it_in_all_calls() {
    let (port, state) = start(State {
        minor_version: 2,
        ..State::new()
    });
    let mut nfs = client_of(MinorVersion::V2, port);
    nfs.root().unwrap().unwrap();
    drop(nfs);
    let expected = [&SET_UP[..], &[Operation::Putrootfh], &END].concat();
    assert_eq!(state.lock().unwrap().calls, expected);
}

/// Version 4.0: a client ID, OPEN with an owner of its own for each file, and nothing that ends the client ID.
#[test]
fn a_client_of_minor_version_0_has_a_client_id_alone() {
    let server = Server::start(ServerOptions::default()).expect("a free port");
    let mut nfs = client_of(MinorVersion::V0, server.addrs()[0].port());
    let root = nfs.root().unwrap().unwrap().object;
    let export = nfs.lookup(&root, b"export").unwrap().unwrap().object;
    for name in [b"one", b"two"] {
        let made = nfs.create(&export, name, &Sattr3::mode(0o644));
        let file = made.unwrap().unwrap().object.expect("a handle");
        assert_eq!(nfs.write(&file, 0, name).unwrap(), Ok(3));
        assert_eq!(nfs.read(&file, 0, 9).unwrap().unwrap().data, name);
    }
    assert_eq!(nfs.session().unwrap().lease, Duration::from_secs(90));
    drop(nfs);
    let stats = server.stats();
    let counts = [
        (Operation::Setclientid, 1),
        (Operation::SetclientidConfirm, 1),
        (Operation::Open, 2),
        (Operation::Close, 2),
        (Operation::Sequence, 0),
        (Operation::DestroyClientid, 0),
    ];
    for (operation, count) in counts {
        assert_eq!(stats.of4(operation), count, "{operation:?}");
    }
}

#[test]
fn the_session_is_ended_also_when_the_task_is_to_end() {
    let (port, state) = start(State::new());
    let mut nfs = client(port);
    nfs.root().unwrap().unwrap();
    let stop = StopFlag::new();
    stop.raise();
    let guard = interrupt_guard::interrupt_on(&stop);
    assert!(matches!(nfs.root(), Err(ClientError::Stopped)));
    drop(nfs);
    drop(guard);
    let calls = state.lock().unwrap().calls.clone();
    assert_eq!(calls[calls.len() - 2..], END);
}

#[test]
fn a_lost_session_is_created_again_once() {
    let (port, state) = start(State::new());
    let mut nfs = client(port);
    nfs.root().unwrap().unwrap();
    let lost = Answer::Sequence(Nfsstat4::Badsession);
    state.lock().unwrap().answers.push_back(lost);
    nfs.root().unwrap().unwrap();
    // The client ID is kept.
    let calls = state.lock().unwrap().calls.clone();
    let again = [
        Operation::DestroySession,
        Operation::CreateSession,
        Operation::Putrootfh,
    ];
    assert_eq!(calls[4..], again);
    state.lock().unwrap().answers.extend([lost, lost]);
    assert_eq!(nfs.root().unwrap(), Err(Nfsstat4::Badsession));
}

#[test]
fn delay_is_returned_and_the_grace_period_is_waited_for() {
    let (port, state) = start(State::new());
    let mut nfs = client(port);
    nfs.session().unwrap();
    let answers = [
        // SEQUENCE itself: the same call again.
        Answer::Sequence(Nfsstat4::Delay),
        Answer::Operation(Nfsstat4::Grace),
        Answer::Operation(Nfsstat4::Delay),
    ];
    state.lock().unwrap().answers.extend(answers);
    assert_eq!(nfs.root().unwrap(), Err(Nfsstat4::Delay));
    let sequences = state.lock().unwrap().sequences.clone();
    assert_eq!(sequences, [(0, 1), (0, 2), (0, 2), (0, 3)]);
    nfs.root().unwrap().unwrap();
}

#[test]
fn a_call_whose_reply_is_lost_is_sent_again_with_its_sequence_number() {
    let (port, state) = start(State::new());
    let mut nfs = client(port);
    nfs.session().unwrap();
    state.lock().unwrap().answers.push_back(Answer::Close);
    nfs.root().unwrap().unwrap();
    let sequences = state.lock().unwrap().sequences.clone();
    assert_eq!(sequences, [(0, 1), (0, 2), (0, 2)]);
    // Without an answer at all the session is given up, and the next call gets a new client.
    let close = [Answer::Close; 3];
    state.lock().unwrap().answers.extend(close);
    assert!(matches!(nfs.root(), Err(ClientError::Closed { .. })));
    nfs.root().unwrap().unwrap();
    drop(nfs);
    let calls = state.lock().unwrap().calls.clone();
    let count = |operation| calls.iter().filter(|of| **of == operation).count();
    assert_eq!(count(Operation::ExchangeId), 2);
    assert_eq!(count(Operation::DestroyClientid), 2);
}

#[test]
fn a_file_that_was_opened_is_closed_also_when_reading_fails() {
    let (port, state) = start(State::new());
    let mut nfs = client(port);
    let file = nfs.root().unwrap().unwrap().object;
    let read = nfs.read(&file, 0, 100).unwrap().unwrap();
    assert_eq!(read.data, b"data");
    let answers = [Answer::Success, Answer::Operation(Nfsstat4::Io)];
    state.lock().unwrap().answers.extend(answers);
    assert_eq!(nfs.read(&file, 0, 100).unwrap(), Err(Nfsstat4::Io));
    let calls = state.lock().unwrap().calls.clone();
    let one = [Operation::Open, Operation::Read, Operation::Close];
    assert_eq!(calls[4..], [one, one].concat());
}

fn sentence(plan: &NfsPlan, mount: &MountPoint) -> String {
    let error = Target::resolve(mount, plan).expect_err("refused");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn a_server_without_version_4_is_refused_with_what_it_offers() {
    // The canned replies have no version 4.
    let (_server, port) = crate::support::start(ServerOptions {
        null: true,
        ..ServerOptions::default()
    });
    let text = sentence(&plan4(port), &mount());
    let expected = "the server does not offer NFSv4.1; it offers NFSv2, NFSv3; enable NFSv4.1 on the server, \
                    or set NFS_VERSION=3";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_server_with_another_minor_version_is_refused_with_what_it_offers() {
    let (port, _state) = start(State {
        minor_version: 0,
        ..State::new()
    });
    let text = sentence(&plan4(port), &mount());
    let expected = "the server does not offer NFSv4.1; it offers NFSv3, NFSv4.0; enable";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_server_without_minor_version_2_is_refused_with_the_advice_to_try_1() {
    let (port, _state) = start(State::new());
    let plan = NfsPlan {
        version: NfsVersion::V42,
        ..plan4(port)
    };
    let text = sentence(&plan, &mount());
    let expected = "the server does not offer NFSv4.2; it offers NFSv3, NFSv4.1; enable NFSv4.2 on the \
                    server, or set NFS_VERSION=4.1";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn datagrams_are_refused() {
    let plan = NfsPlan {
        transport: Transport::Udp,
        ..plan4(1)
    };
    let text = sentence(&plan, &mount());
    assert!(
        text.contains("is not sent over UDP") && text.ends_with("set TCP=on"),
        "{text}"
    );
}

#[test]
fn a_refused_client_is_explained() {
    let (port, _state) = start(State {
        edit: Some(Box::new(|_, body| {
            // The status of the COMPOUND and of EXCHANGE_ID.
            let status = Nfsstat4::ClidInuse.to_u32().to_be_bytes();
            body.truncate(20);
            body[..4].copy_from_slice(&status);
            body[16..20].copy_from_slice(&status);
        })),
        ..State::new()
    });
    let text = sentence(&plan4(port), &mount());
    assert!(
        text.contains("EXCHANGE_ID was answered with NFS4ERR_CLID_INUSE"),
        "{text}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Truncated and changed replies to any call end in an answer or an error.
    #[test]
    fn no_reply_makes_it_fail(
        reply in 0usize..12,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        is_cut in any::<bool>(),
    ) {
        let (port, _state) = start(State {
            edit: Some(Box::new(move |number, body| {
                if number != reply {
                    return;
                }
                let at = at.index(body.len());
                // A status that is waited for would only make the test slow.
                match is_cut {
                    true => body.truncate(at),
                    false if byte != 0x18 && byte != 0x1d => body[at] = byte,
                    false => {}
                }
            })),
            ..State::new()
        });
        let mut nfs = client(port);
        let _ = nfs.root();
        let _ = nfs.session();
        if let Ok(Ok(found)) = nfs.root() {
            let _ = nfs.lookup(&found.object, b"name");
            let _ = nfs.read(&found.object, 0, 10);
            let _ = nfs.file_system(&found.object);
            let _ = nfs.readdir(&found.object, (0, [0; 8]), 4096);
        }
    }
}

/// The root of a server is an export like any other, however it is written.
#[test]
fn the_root_of_a_server_is_found_as_an_export() {
    let server = Server::start(ServerOptions::default()).expect("a free port");
    let port = server.addrs()[0].port();
    for version in [NfsVersion::V40, NfsVersion::V41, NfsVersion::V42] {
        let plan = NfsPlan {
            version,
            ..plan4(port)
        };
        let root_of = |path: &str| {
            let mount = MountPoint {
                path: path.to_owned(),
                ..mount()
            };
            let target = Target::resolve(&mount, &plan).expect("it is there");
            assert!(target.session.is_some(), "{path}");
            target.root.as_bytes().to_vec()
        };
        let mut nfs = client_of(version.minor_version().expect("of version 4"), port);
        let root = nfs.root().unwrap().unwrap().object;
        let export = nfs.lookup(&root, b"export").unwrap().unwrap().object;
        assert_eq!(root_of("/"), root.as_bytes());
        assert_eq!(root_of("//"), root.as_bytes());
        assert_eq!(root_of("/export/"), export.as_bytes());
        assert_ne!(root.as_bytes(), export.as_bytes());
    }
}
