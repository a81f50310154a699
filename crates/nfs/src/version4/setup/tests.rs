use super::super::samples::{self, GRANTED};
use super::*;
use crate::version4::{SessionEnd, call_template};
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{
    ChannelAttrs4, CompoundArgs, Netaddr4, Operation, OperationSet, SetclientidArgs,
    SetclientidFailed,
};
use filermark_onc::rpc::{AcceptStat, AuthSys, CallHeader, ReplyHeader};
use filermark_onc::xdr::{self, Decoder};
use proptest::prelude::*;

const LIMIT: Duration = Duration::from_secs(5);

fn setup() -> SessionSetup {
    setup_of(MinorVersion::V1)
}

fn setup_of(minor: MinorVersion) -> SessionSetup {
    SessionSetup::new(
        ClientIdentity::new("test"),
        SessionRequest::new(minor, 1 << 20, 64),
        LIMIT,
    )
}

/// The operations of the next call, as a server reads them.
fn operations(setup: &SessionSetup) -> Vec<Operation> {
    let template = call_template(&AuthSys::new(0, b"host", 0, 0, &[]).to_body());
    let mut record = Vec::new();
    setup.next_call(&template, 9, &mut record);
    let mut d = Decoder::new(&record[4..]);
    let header = CallHeader::decode(&mut d).unwrap();
    assert_eq!((header.xid, header.vers, header.proc), (9, 4, 1));
    let compound = CompoundArgs::<Operation>::decode(&mut d).unwrap();
    assert_eq!(compound.minorversion, setup.request.minor.number());
    compound
        .map(|args| Operation::of_args(&args.unwrap()))
        .collect()
}

fn is_call(step: Result<SetupStep, SessionRefusal>) -> bool {
    matches!(step, Ok(SetupStep::Call))
}

fn established(step: Result<SetupStep, SessionRefusal>) -> Established {
    match step {
        Ok(SetupStep::Up(up)) => *up,
        other => panic!("no session: {other:?}"),
    }
}

/// A session of which the server has answered all calls.
fn up() -> Established {
    let mut setup = setup();
    assert!(is_call(setup.results(&samples::exchange_id())));
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    established(setup.results(&samples::reclaim_complete(1, 60)))
}

#[test]
fn three_calls_make_a_session_with_what_the_server_granted() {
    let mut setup = setup();
    assert_eq!(operations(&setup), [Operation::ExchangeId]);
    assert!(is_call(setup.results(&samples::exchange_id())));
    assert_eq!(operations(&setup), [Operation::CreateSession]);
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    let expected = [
        Operation::Sequence,
        Operation::ReclaimComplete,
        Operation::Putrootfh,
        Operation::Getattr,
    ];
    assert_eq!(operations(&setup), expected);
    let up = established(setup.results(&samples::reclaim_complete(1, 60)));
    assert_eq!(up.lease, Duration::from_secs(60));
    assert_eq!(
        (up.server.name.as_str(), up.server.minor_id),
        ("server 1.2", 5)
    );
    let session = &up.session;
    assert_eq!(session.sessionid(), samples::SESSION);
    assert_eq!(
        (session.clientid(), session.create_sequence()),
        (samples::CLIENT, 8)
    );
    assert_eq!(
        (
            session.fore().slots,
            session.fore().operations_max,
            session.fore().request_bytes_max
        ),
        (30, 12, 70_000)
    );
    // The first slot was used once.
    assert_eq!(session.slots().sequenceid(0), Some(2));
    assert_eq!(
        (session.slots().in_use(), session.slots().granted()),
        (0, 30)
    );
}

/// Version 4.0: a client ID and its confirmation, and the lease with that; a lost client ID is another client.
#[test]
fn two_calls_make_a_client_id_of_version_40() {
    let mut setup = setup_of(MinorVersion::V0);
    assert_eq!(operations(&setup), [Operation::Setclientid]);
    let delay = samples::failed(Operation::Setclientid, Nfsstat4::Delay);
    assert!(matches!(setup.results(&delay), Ok(SetupStep::Wait(_))));
    assert!(is_call(setup.results(&samples::setclientid(5))));
    let expected = [
        Operation::SetclientidConfirm,
        Operation::Putrootfh,
        Operation::Getattr,
    ];
    assert_eq!(operations(&setup), expected);
    // The server has restarted between the two.
    let stale = samples::failed(Operation::SetclientidConfirm, Nfsstat4::StaleClientid);
    assert!(is_call(setup.results(&stale)));
    assert_eq!(operations(&setup), [Operation::Setclientid]);
    assert!(is_call(setup.results(&samples::setclientid(6))));
    let up = established(setup.results(&samples::setclientid_confirm(45)));
    assert_eq!(up.lease, Duration::from_secs(45));
    assert_eq!((up.session.clientid(), up.is_new_client), (6, true));
    assert_eq!(up.session.minor(), MinorVersion::V0);
    let request = SessionRequest::new(MinorVersion::V0, 1024, 4);
    let again = SessionSetup::again(ClientIdentity::new("test"), request, LIMIT, &up);
    assert_eq!(operations(&again), [Operation::Setclientid]);
}

#[test]
fn a_client_id_of_another_user_is_refused_with_advice() {
    let mut setup = setup_of(MinorVersion::V0);
    let in_use = samples::results(|compound| {
        let address = Netaddr4 {
            netid: b"tcp",
            addr: b"192.0.2.1.3.5",
        };
        compound.result::<SetclientidArgs<'_>>(&Err(SetclientidFailed::With(address)));
    });
    let refusal = setup.results(&in_use).unwrap_err().to_string();
    assert!(refusal.contains("SETCLIENTID was answered"), "{refusal}");
    assert!(refusal.contains("same UID"), "{refusal}");
}

#[test]
fn all_calls_of_a_session_have_its_minor_version() {
    let mut setup = setup_of(MinorVersion::V2);
    assert_eq!(operations(&setup), [Operation::ExchangeId]);
    assert!(is_call(setup.results(&samples::exchange_id())));
    assert_eq!(operations(&setup), [Operation::CreateSession]);
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    assert_eq!(operations(&setup).len(), 4);
    let up = established(setup.results(&samples::reclaim_complete(1, 60)));
    assert_eq!(up.session.minor(), MinorVersion::V2);
    let mut end = SessionEnd::new(&up.session, LIMIT);
    for _ in 0..2 {
        let mut args = Vec::new();
        end.next_args(&mut args);
        let compound = CompoundArgs::<Operation>::decode(&mut Decoder::new(&args)).unwrap();
        assert_eq!(compound.minorversion, 2);
        end.results(&samples::refused(Nfsstat4::Badsession));
    }
}

#[test]
fn more_than_was_asked_for_is_not_used() {
    let mut setup = SessionSetup::new(
        ClientIdentity::new("test"),
        SessionRequest::new(MinorVersion::V1, 1024, 1),
        LIMIT,
    );
    assert!(is_call(setup.results(&samples::exchange_id())));
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    let session = established(setup.results(&samples::reclaim_complete(1, 60))).session;
    assert_eq!(
        (session.fore().slots, session.fore().request_bytes_max),
        (1, 8192)
    );
}

#[test]
fn a_server_without_the_version_or_minor_version_is_named() {
    let mut message = Vec::new();
    let stat = AcceptStat::ProgMismatch { low: 2, high: 3 };
    xdr::append(&mut message, &ReplyHeader::accepted(9, stat));
    let refusal = setup().reply(&message).unwrap_err();
    assert!(refusal.is_no_version());
    assert_eq!(
        refusal.to_string(),
        "the server does not offer NFSv4, but NFS versions 2 to 3 (PROG_MISMATCH); set NFS_VERSION=3, or \
         enable NFSv4 on the server"
    );
    for (minor, advice) in [
        (
            MinorVersion::V1,
            "not minor version 1 (NFS4ERR_MINOR_VERS_MISMATCH); enable NFSv4.1 on the server, or set \
             NFS_VERSION=4.0 if",
        ),
        (
            MinorVersion::V0,
            "not minor version 0 (NFS4ERR_MINOR_VERS_MISMATCH); enable NFSv4.0 on the server, or set \
             NFS_VERSION=3 if",
        ),
        (
            MinorVersion::V2,
            "not minor version 2 (NFS4ERR_MINOR_VERS_MISMATCH); enable NFSv4.2 on the server, or set \
             NFS_VERSION=4.1 if",
        ),
    ] {
        let refusal = setup_of(minor)
            .results(&samples::refused(Nfsstat4::MinorVersMismatch))
            .unwrap_err();
        assert_eq!(refusal, SessionRefusal::NoMinorVersion(minor));
        assert!(refusal.is_no_version());
        assert!(refusal.to_string().contains(advice), "{refusal}");
    }
}

#[test]
fn a_refusal_names_operation_status_and_what_to_do() {
    let answer = samples::failed(Operation::ExchangeId, Nfsstat4::ClidInuse);
    let refusal = setup().results(&answer).unwrap_err().to_string();
    assert!(
        refusal.starts_with("EXCHANGE_ID was answered with NFS4ERR_CLID_INUSE: another user's"),
        "{refusal}"
    );
    let answer = samples::failed(Operation::ExchangeId, Nfsstat4::Wrongsec);
    let refusal = setup().results(&answer).unwrap_err().to_string();
    for word in ["WRONGSEC", "SECURITY", "TLS", "sec=", "xprtsec="] {
        assert!(refusal.contains(word), "{word}: {refusal}");
    }
}

#[test]
fn a_server_that_is_not_ready_is_asked_again_within_the_limit() {
    let mut setup = setup();
    let delay = samples::failed(Operation::ExchangeId, Nfsstat4::Delay);
    let mut waited = Duration::ZERO;
    let refusal = loop {
        match setup.results(&delay) {
            Ok(SetupStep::Wait(wait)) => waited += wait,
            other => break other.unwrap_err(),
        }
        assert_eq!(operations(&setup), [Operation::ExchangeId]);
    };
    assert_eq!(waited, LIMIT);
    let call = "EXCHANGE_ID";
    let status = Nfsstat4::Delay;
    assert_eq!(
        refusal,
        SessionRefusal::NotReady {
            call,
            status,
            waited
        }
    );
}

#[test]
fn reclaim_complete_is_sent_again_in_the_next_place_of_the_slot_if_the_server_counted_it() {
    let mut setup = setup();
    assert!(is_call(setup.results(&samples::exchange_id())));
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    // Not counted: SEQUENCE itself failed.
    let delay = samples::failed(Operation::Sequence, Nfsstat4::Delay);
    assert!(matches!(setup.results(&delay), Ok(SetupStep::Wait(_))));
    // Counted.
    let grace = samples::results(|compound| {
        compound.result::<SequenceArgs>(&Ok(samples::sequence_ok(1, 0)));
        compound.fail(Operation::ReclaimComplete, Nfsstat4::Grace);
    });
    assert!(matches!(setup.results(&grace), Ok(SetupStep::Wait(_))));
    let up = established(setup.results(&samples::reclaim_complete(2, 0)));
    assert_eq!(up.session.slots().sequenceid(0), Some(3));
    assert_eq!(up.lease, LEASE_ASSUMED);
}

#[test]
fn limits_that_nothing_works_with_are_refused() {
    let few = ChannelAttrs4 {
        maxoperations: 2,
        ..GRANTED
    };
    // READ and WRITE would have no space for data.
    let short = ChannelAttrs4 {
        maxrequestsize: 4096,
        ..GRANTED
    };
    for (granted, reason) in [
        (few, "ca_maxoperations 2; at least 8"),
        (short, "ca_maxrequestsize 4096; at least 8192"),
    ] {
        let mut setup = setup();
        assert!(is_call(setup.results(&samples::exchange_id())));
        let refusal = setup.results(&samples::create_session(7, granted));
        let refusal = refusal.unwrap_err().to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
}

#[test]
fn a_new_session_keeps_the_client_id_if_the_server_knows_it() {
    let lost = up();
    let again = || {
        SessionSetup::again(
            ClientIdentity::new("test"),
            SessionRequest::new(MinorVersion::V1, 1024, 4),
            LIMIT,
            &lost,
        )
    };
    let mut setup = again();
    assert_eq!(operations(&setup), [Operation::CreateSession]);
    let up = established(setup.results(&samples::create_session(8, GRANTED)));
    assert!(!up.is_new_client);
    assert_eq!((up.session.create_sequence(), up.lease), (9, lost.lease));

    let mut setup = again();
    let stale = samples::failed(Operation::CreateSession, Nfsstat4::StaleClientid);
    assert!(is_call(setup.results(&stale)));
    assert_eq!(operations(&setup), [Operation::ExchangeId]);
    assert!(is_call(setup.results(&samples::exchange_id())));
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    let up = established(setup.results(&samples::reclaim_complete(1, 60)));
    assert!(up.is_new_client);
}

#[test]
fn a_server_that_always_forgets_the_client_is_given_up() {
    let mut setup = setup();
    let stale = samples::failed(Operation::CreateSession, Nfsstat4::StaleClientid);
    for _ in 0..2 {
        assert!(is_call(setup.results(&samples::exchange_id())));
        assert!(is_call(setup.results(&stale)));
    }
    assert!(is_call(setup.results(&samples::exchange_id())));
    let refusal = setup.results(&stale).unwrap_err();
    assert!(matches!(
        refusal,
        SessionRefusal::Forgotten { times: 3, .. }
    ));
}

#[test]
fn an_answer_to_another_call_is_refused() {
    let mut setup = setup();
    assert!(is_call(setup.results(&samples::exchange_id())));
    let refusal = setup.results(&samples::create_session(6, GRANTED));
    let call = "CREATE_SESSION";
    assert_eq!(refusal.unwrap_err(), SessionRefusal::OtherCall { call });
    assert!(is_call(setup.results(&samples::create_session(7, GRANTED))));
    let refusal = setup.results(&samples::reclaim_complete(4, 60));
    let call = "RECLAIM_COMPLETE";
    assert_eq!(refusal.unwrap_err(), SessionRefusal::OtherCall { call });
}

proptest! {
    /// Truncated and changed answers end in a step or a sentence.
    #[test]
    fn no_answer_makes_it_fail(
        stage in 0usize..3,
        length in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let answers = [
            samples::exchange_id(),
            samples::create_session(7, GRANTED),
            samples::reclaim_complete(1, 60),
        ];
        let mut setup = setup();
        for answer in &answers[..stage] {
            prop_assert!(is_call(setup.results(answer)));
        }
        let mut changed = answers[stage].clone();
        changed.truncate(length.index(changed.len()));
        prop_assert!(setup.clone().results(&changed).is_err());
        let mut changed = answers[stage].clone();
        let at = at.index(changed.len());
        changed[at] = byte;
        match setup.results(&changed) {
            Ok(SetupStep::Up(up)) => {
                prop_assert!(up.session.slots().granted() <= 64);
                prop_assert!(up.lease >= Duration::from_secs(1));
            }
            Ok(SetupStep::Wait(wait)) => prop_assert!(wait <= LIMIT),
            Ok(SetupStep::Call) => {}
            Err(refusal) => prop_assert!(!refusal.to_string().is_empty()),
        }
    }
}
