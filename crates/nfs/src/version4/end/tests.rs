use super::super::samples;
use super::*;
use crate::version4::SessionRequest;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{CompoundArgs, Operation, OperationSet};
use filermark_onc::xdr::Decoder;
use proptest::prelude::*;

fn end() -> SessionEnd {
    let limits = SessionRequest::new(MinorVersion::V1, 1024, 4);
    let session = Session::new(
        limits.minor,
        samples::SESSION,
        samples::CLIENT,
        2,
        limits.fore,
        limits.back,
    );
    SessionEnd::new(&session, Duration::from_secs(1))
}

fn operations(end: &SessionEnd) -> Vec<Operation> {
    let mut args = Vec::new();
    end.next_args(&mut args);
    let compound = CompoundArgs::<Operation>::decode(&mut Decoder::new(&args)).unwrap();
    compound
        .map(|args| Operation::of_args(&args.unwrap()))
        .collect()
}

fn session_destroyed() -> Vec<u8> {
    samples::results(|compound| {
        compound.result::<DestroySessionArgs>(&Ok(()));
    })
}

fn client_destroyed() -> Vec<u8> {
    samples::results(|compound| {
        compound.result::<DestroyClientidArgs>(&Ok(()));
    })
}

#[test]
fn session_and_client_are_destroyed() {
    let mut end = end();
    assert_eq!(operations(&end), [Operation::DestroySession]);
    assert_eq!(end.results(&session_destroyed()), EndStep::Call);
    assert_eq!(operations(&end), [Operation::DestroyClientid]);
    assert_eq!(end.results(&client_destroyed()), EndStep::Done(Ok(())));
}

#[test]
fn what_is_gone_already_is_no_failure() {
    let mut end = end();
    let gone = samples::failed(Operation::DestroySession, Nfsstat4::Badsession);
    assert_eq!(end.results(&gone), EndStep::Call);
    let gone = samples::failed(Operation::DestroyClientid, Nfsstat4::StaleClientid);
    assert_eq!(end.results(&gone), EndStep::Done(Ok(())));
}

#[test]
fn a_failure_is_returned_after_the_last_call() {
    let mut end = end();
    let failed = samples::failed(Operation::DestroySession, Nfsstat4::Serverfault);
    assert_eq!(end.results(&failed), EndStep::Call);
    let EndStep::Done(Err(failure)) = end.results(&client_destroyed()) else {
        panic!("the failure is not returned");
    };
    assert!(failure.to_string().starts_with("DESTROY_SESSION was"));
}

#[test]
fn a_busy_server_is_waited_for_within_the_limit() {
    let mut end = end();
    let delay = samples::failed(Operation::DestroySession, Nfsstat4::Delay);
    let mut waited = Duration::ZERO;
    while let EndStep::Wait(wait) = end.results(&delay) {
        waited += wait;
    }
    assert_eq!(waited, Duration::from_secs(1));
    assert_eq!(operations(&end), [Operation::DestroyClientid]);
}

proptest! {
    #[test]
    fn no_answer_makes_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut end = end();
        end.results(&bytes);
        end.reply(&bytes);
    }
}
