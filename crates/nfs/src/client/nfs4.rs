//! NFSv4 as blocking calls: a session with one call at a time, in version 4.0 a client ID.
//!
//! The session is set up with the first call, and ended when the client is dropped: a server keeps clients
//! that do not send DESTROY_CLIENTID for a long time. Nothing is open between two calls, so a session that
//! the server has dropped meanwhile (a lease that expired, a restart) costs a new one and nothing else.

mod ops;
mod translate;

pub use ops::FileSystemFacts;
pub(crate) use ops::next_result;
pub(crate) use translate::status as to_v3_status;

use super::{ClientError, Program, RpcClient, RpcOptions};
use crate::version4::{
    ClientIdentity, EndStep, Established, RetryWaits, SequenceOutcome, SessionEnd, SessionRefusal,
    SessionRequest, SessionSetup, SetupStep, begin_compound,
};
use filermark_engine::driver::StopFlag;
use filermark_engine::interrupt_guard;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{
    CompoundRes, CompoundWriter, Nfsstat4, Operation, PROC_COMPOUND, PROGRAM, SequenceArgs, VERSION,
};
use filermark_onc::rpc::AuthBody;
use filermark_onc::xdr::{DecodeError, Decoder};
use std::net::SocketAddr;
use std::time::Duration;

/// The NFS program in version 4.
pub const NFS_V4: Program = Program {
    prog: PROGRAM,
    vers: VERSION,
};

/// What an operation returned, or the status with which it failed.
pub type Reply4<T> = Result<Result<T, Nfsstat4>, ClientError>;

/// The largest transfer and the slots that are asked for, so that what the server grants is known.
const TRANSFER_BYTES: u32 = crate::target::MAX_TRANSFER_BYTES;
const SLOTS: u32 = 64;
/// The longest wait for a server in its grace period.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// How long the end may take: for the connection, and for each of its two calls.
const END_LIMIT: Duration = Duration::from_secs(2);
/// How often a call is sent again in a new session.
const NEW_SESSIONS: u32 = 1;

/// A list of results.
pub(crate) type Row<'r> = CompoundRes<'r, Operation>;
/// What the results of a COMPOUND mean.
pub(crate) type RowResult<T> = Result<Result<T, Nfsstat4>, DecodeError>;

/// How long a server is waited for that answers NFS4ERR_DELAY or NFS4ERR_GRACE. One in its grace period is
/// waited for longer than for an answer.
pub(crate) fn wait_limit(options: &RpcOptions) -> Duration {
    options.reply_timeout.saturating_mul(2).min(WAIT_MAX)
}

/// A client of one server with a session of its own.
#[derive(Debug)]
pub struct Nfs4Client {
    rpc: RpcClient,
    identity: ClientIdentity,
    request: SessionRequest,
    wait_limit: Duration,
    up: Option<Established>,
    /// Version 4.0: counts owners of opens. Each open has a new one, so none has an earlier sequence number.
    owners: u32,
}

/// What became of one sending of a COMPOUND.
enum Sent<T> {
    Done(Result<T, Nfsstat4>),
    /// To be sent again in the same session after the wait for this status.
    Later(Nfsstat4),
    /// To be sent again in another session.
    Lost,
}

impl Nfs4Client {
    /// A client of this minor version that connects when it is first used.
    pub fn new(
        minor: MinorVersion,
        address: SocketAddr,
        cred: AuthBody,
        options: RpcOptions,
    ) -> Self {
        let wait_limit = wait_limit(&options);
        Self {
            rpc: RpcClient::new(address, NFS_V4, cred, options),
            identity: ClientIdentity::new("control"),
            request: SessionRequest::new(minor, TRANSFER_BYTES, SLOTS),
            wait_limit,
            up: None,
            owners: 0,
        }
    }

    /// The connection underneath.
    pub const fn rpc(&mut self) -> &mut RpcClient {
        &mut self.rpc
    }

    /// The name of the client (`co_ownerid`).
    pub(crate) fn ownerid(&self) -> &[u8] {
        self.identity.ownerid()
    }

    /// The session, set up if there is none.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub fn session(&mut self) -> Result<&Established, ClientError> {
        if self.up.is_none() {
            let setup = SessionSetup::new(self.identity.clone(), self.request, self.wait_limit);
            self.set_up(setup)?;
        }
        match &self.up {
            Some(up) => Ok(up),
            None => Err(self.refused(SessionRefusal::OtherCall {
                call: "EXCHANGE_ID",
            })),
        }
    }

    fn refused(&self, refusal: SessionRefusal) -> ClientError {
        ClientError::NoSession {
            address: self.rpc.address(),
            refusal,
        }
    }

    fn set_up(&mut self, mut setup: SessionSetup) -> Result<(), ClientError> {
        let failed = loop {
            let mut args = Vec::new();
            setup.next_args(&mut args);
            let step = match self.rpc.call_raw(NFS_V4, PROC_COMPOUND, &args) {
                Ok(results) => setup.results(results),
                Err(ClientError::Refused { refusal, .. }) => Err(refusal.into()),
                Err(error) => break error,
            };
            match step {
                Ok(SetupStep::Call) => {}
                Ok(SetupStep::Wait(wait)) => interrupt_guard::sleep(wait),
                Ok(SetupStep::Up(up)) => {
                    self.up = Some(*up);
                    return Ok(());
                }
                Err(refusal) => break self.refused(refusal),
            }
        };
        if let Some(session) = setup.session() {
            self.destroy(SessionEnd::new(session, END_LIMIT));
        }
        Err(failed)
    }

    /// Another session in place of one that is lost or of which the state is not known.
    fn renew(&mut self) -> Result<(), ClientError> {
        let Some(lost) = self.up.take() else {
            return Ok(());
        };
        // Without that the client ID could not be given up in the end.
        self.destroy(SessionEnd::of_session(&lost.session, END_LIMIT));
        if !self.request.minor.has_sessions() {
            self.identity.restart();
        }
        let identity = self.identity.clone();
        let setup = SessionSetup::again(identity, self.request, self.wait_limit, &lost);
        self.set_up(setup)
    }

    /// A COMPOUND that begins with SEQUENCE. `write` appends the operations behind it, `read` reads their
    /// results. `is_change`: it must not be executed twice.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub(crate) fn compound<T>(
        &mut self,
        is_change: bool,
        write: impl Fn(&mut CompoundWriter<'_, Operation>),
        mut read: impl FnMut(&mut Row<'_>) -> RowResult<T>,
    ) -> Reply4<T> {
        let mut waits = RetryWaits::new(self.wait_limit);
        let mut new_sessions = 0;
        loop {
            match self.send(is_change, &write, &mut read)? {
                Sent::Done(result) => return Ok(result),
                Sent::Later(status) => match waits.next(status) {
                    Some(wait) => interrupt_guard::sleep(wait),
                    None => return Ok(Err(status)),
                },
                Sent::Lost if new_sessions < NEW_SESSIONS => {
                    new_sessions += 1;
                    self.renew()?;
                }
                Sent::Lost => return Ok(Err(Nfsstat4::Badsession)),
            }
            if interrupt_guard::stop_requested() {
                return Err(ClientError::Stopped);
            }
        }
    }

    fn send<T>(
        &mut self,
        is_change: bool,
        write: impl Fn(&mut CompoundWriter<'_, Operation>),
        read: &mut impl FnMut(&mut Row<'_>) -> RowResult<T>,
    ) -> Result<Sent<T>, ClientError> {
        self.session()?;
        let Some(up) = &mut self.up else {
            return Ok(Sent::Lost);
        };
        let session = &mut up.session;
        if !session.minor().has_sessions() {
            return self.send_alone(write, read);
        }
        // The only slot that is used. In use: the last call had no answer, or is to be sent again.
        let slotid = match session.slots().is_in_use(0) {
            true => 0,
            false => session.take_slot().unwrap_or_default(),
        };
        let mut args = Vec::new();
        let mut compound = begin_compound(&mut args, session.minor());
        compound.op(&session.sequence(slotid, is_change));
        write(&mut compound);
        compound.finish();
        let address = self.rpc.address();
        let garbage = |source| ClientError::Garbage { address, source };
        let results = match self.rpc.call_raw(NFS_V4, PROC_COMPOUND, &args) {
            Ok(results) => results,
            Err(error) => {
                self.forget_answer();
                return Err(error);
            }
        };
        let mut compound = CompoundRes::decode(&mut Decoder::new(results)).map_err(garbage)?;
        if compound.left() == 0 {
            session.cancel(slotid);
            return Ok(match compound.status {
                Nfsstat4::Delay => Sent::Later(Nfsstat4::Delay),
                status => Sent::Done(Err(status)),
            });
        }
        let sequence = compound.read::<SequenceArgs>().map_err(garbage)?;
        let next = compound.next_status();
        Ok(match session.sequence_result(slotid, &sequence, next) {
            SequenceOutcome::Executed { .. } => match read(&mut compound).map_err(garbage)? {
                Err(Nfsstat4::Grace) => Sent::Later(Nfsstat4::Grace),
                result => Sent::Done(result),
            },
            SequenceOutcome::Later => Sent::Later(Nfsstat4::Delay),
            SequenceOutcome::NotBound
            | SequenceOutcome::SessionLost(_)
            | SequenceOutcome::ClientLost(_)
            | SequenceOutcome::ReplyNotKept => Sent::Lost,
            SequenceOutcome::Refused(status) => Sent::Done(Err(status)),
            SequenceOutcome::OtherCall => {
                self.forget_answer();
                return Err(self.refused(SessionRefusal::OtherCall { call: "SEQUENCE" }));
            }
        })
    }

    /// The same in version 4.0: there is no SEQUENCE.
    fn send_alone<T>(
        &mut self,
        write: impl Fn(&mut CompoundWriter<'_, Operation>),
        read: &mut impl FnMut(&mut Row<'_>) -> RowResult<T>,
    ) -> Result<Sent<T>, ClientError> {
        let mut args = Vec::new();
        let mut compound = begin_compound(&mut args, self.request.minor);
        write(&mut compound);
        compound.finish();
        let address = self.rpc.address();
        let garbage = |source| ClientError::Garbage { address, source };
        let results = self.rpc.call_raw(NFS_V4, PROC_COMPOUND, &args)?;
        let mut compound = CompoundRes::decode(&mut Decoder::new(results)).map_err(garbage)?;
        if compound.left() == 0 {
            return Ok(Sent::Done(Err(compound.status)));
        }
        Ok(match read(&mut compound).map_err(garbage)? {
            Err(Nfsstat4::Grace) => Sent::Later(Nfsstat4::Grace),
            result => Sent::Done(result),
        })
    }

    /// The last call has no answer: whether its sequence number is used up is not known, so the next call
    /// gets another session.
    fn forget_answer(&mut self) {
        if let Some(lost) = self.up.take() {
            self.destroy(SessionEnd::new(&lost.session, END_LIMIT));
            // The same name with the same verifier would be the same client.
            self.identity = ClientIdentity::new("control");
        }
    }

    /// Ends the session and the client; the next call makes new ones. What fails is only logged: the
    /// server drops the client when its lease expires.
    pub fn end(&mut self) {
        if let Some(up) = self.up.take() {
            self.destroy(SessionEnd::new(&up.session, END_LIMIT));
            if !self.request.minor.has_sessions() {
                // The server still has the client ID of this name, and the numbers of its owners.
                self.identity = ClientIdentity::new("control");
            }
        }
    }

    fn destroy(&mut self, mut end: SessionEnd) {
        // A client ID of version 4.0 stays until its lease expires; nothing is open under it.
        if !self.request.minor.has_sessions() {
            return;
        }
        // Also when the task is to end.
        let never = StopFlag::new();
        let _guard = interrupt_guard::interrupt_on(&never);
        let options = self.rpc.limit(END_LIMIT);
        let outcome = loop {
            let mut args = Vec::new();
            end.next_args(&mut args);
            let step = match self.rpc.call_raw(NFS_V4, PROC_COMPOUND, &args) {
                Ok(results) => end.results(results),
                Err(error) => break Err(error),
            };
            match step {
                EndStep::Call => {}
                EndStep::Wait(wait) => interrupt_guard::sleep(wait),
                EndStep::Done(outcome) => break outcome.map_err(|refusal| self.refused(refusal)),
            }
        };
        self.rpc.set_options(options);
        if let Err(error) = outcome {
            tracing::debug!(target: "filermark_nfs::rpc", %error, "the session could not be ended");
        }
    }
}

impl Drop for Nfs4Client {
    fn drop(&mut self) {
        self.end();
    }
}
