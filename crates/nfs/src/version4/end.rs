//! The calls that end a session and its client: DESTROY_SESSION and DESTROY_CLIENTID (RFC 8881 sections 18.37
//! and 18.50). Servers keep clients that do not send them for a long time.

use super::refusal::SessionRefusal;
use super::retry::RetryWaits;
use super::session::Session;
use super::wire::{self, RowError};
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{
    Clientid4, DestroyClientidArgs, DestroySessionArgs, Nfsstat4, PROC_COMPOUND, Sessionid4,
};
use filermark_onc::template::CallTemplate;
use std::time::Duration;

/// The end of a session and of its client ID. A failure does not end it early: it goes on with the next
/// call and returns the first failure with [`EndStep::Done`].
#[derive(Debug, Clone)]
pub struct SessionEnd {
    minor: MinorVersion,
    sessionid: Option<Sessionid4>,
    clientid: Option<Clientid4>,
    waits: RetryWaits,
    failure: Option<SessionRefusal>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndStep {
    /// Send the next call.
    Call,
    /// The server is not ready: send the next call after this time.
    Wait(Duration),
    /// All was sent.
    Done(Result<(), SessionRefusal>),
}

impl SessionEnd {
    /// The end of this session and of its client ID. The waits end after `wait_limit`.
    pub const fn new(session: &Session, wait_limit: Duration) -> Self {
        Self {
            minor: session.minor(),
            sessionid: Some(session.sessionid()),
            clientid: Some(session.clientid()),
            waits: RetryWaits::new(wait_limit),
            failure: None,
        }
    }

    /// The end of this session alone; its client ID stays.
    pub const fn of_session(session: &Session, wait_limit: Duration) -> Self {
        Self {
            clientid: None,
            ..Self::new(session, wait_limit)
        }
    }

    /// Name of the operation that the next call is for.
    pub const fn call_name(&self) -> &'static str {
        match self.sessionid {
            Some(_) => "DESTROY_SESSION",
            None => "DESTROY_CLIENTID",
        }
    }

    /// Appends the next call as a record. `template` is of [`super::call_template`].
    pub fn next_call(&self, template: &CallTemplate, xid: u32, out: &mut Vec<u8>) {
        let record = template.begin(out, xid, PROC_COMPOUND);
        self.next_args(out);
        record.finish(out);
    }

    /// Appends the arguments of the next call, without an RPC header.
    pub fn next_args(&self, out: &mut Vec<u8>) {
        let mut compound = wire::begin_compound(out, self.minor);
        match self.sessionid {
            Some(sessionid) => compound.op(&DestroySessionArgs { sessionid }),
            None => compound.op(&DestroyClientidArgs {
                clientid: self.clientid.unwrap_or_default(),
            }),
        };
        compound.finish();
    }

    /// Evaluates a whole RPC reply to the last call.
    pub fn reply(&mut self, message: &[u8]) -> EndStep {
        match wire::results_of(message, self.call_name()) {
            Ok(results) => self.results(results),
            Err(refusal) => self.next(Some(refusal)),
        }
    }

    /// Evaluates the results of the last call: the reply behind its RPC header.
    pub fn results(&mut self, results: &[u8]) -> EndStep {
        let result = match self.sessionid {
            Some(_) => wire::only::<DestroySessionArgs>(results),
            None => wire::only::<DestroyClientidArgs>(results),
        };
        let call = self.call_name();
        let status = match result {
            Ok(Ok(())) => return self.next(None),
            Ok(Err(status)) | Err(RowError::Status(status)) => status,
            Err(RowError::NoMinorVersion) => Nfsstat4::MinorVersMismatch,
            Err(RowError::Malformed(error)) => {
                return self.next(Some(SessionRefusal::Malformed { call, error }));
            }
        };
        match status {
            // It is gone already.
            Nfsstat4::Badsession | Nfsstat4::StaleClientid => self.next(None),
            _ => match self.waits.next(status) {
                Some(wait) => EndStep::Wait(wait),
                None => self.next(Some(SessionRefusal::Status { call, status })),
            },
        }
    }

    fn next(&mut self, failure: Option<SessionRefusal>) -> EndStep {
        self.failure = self.failure.or(failure);
        match (self.sessionid.take(), self.clientid) {
            (Some(_), Some(_)) => EndStep::Call,
            _ => EndStep::Done(self.failure.map_or(Ok(()), Err)),
        }
    }
}

#[cfg(test)]
mod tests;
