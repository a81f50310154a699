//! The calls that make a session: EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE (RFC 8881 sections 18.35,
//! 18.36 and 18.51). Version 4.0 has a client ID alone (`client40`). Nothing is sent here: the caller sends [`SessionSetup::next_call`] and hands in the
//! answer.

mod client40;

use super::channel::SessionRequest;
use super::identity::{ClientIdentity, ServerIdentity};
use super::refusal::SessionRefusal;
use super::retry::RetryWaits;
use super::session::{SequenceOutcome, Session};
use super::wire::{self, RowError};
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{
    Attribute, Bitmap4, CallbackSecParms4, Clientid4, CompoundRes, CompoundWriter,
    CreateSessionArgs, CreateSessionOk, ExchangeIdArgs, GetattrArgs, Nfsstat4, Operation,
    PROC_COMPOUND, PutrootfhArgs, ReclaimCompleteArgs, SecParms, SequenceArgs,
    SetclientidConfirmArgs, StateProtect4A, Verf, create_session, exchgid,
};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::DecodeError;
use std::time::Duration;

/// The lease that is assumed when the server does not state it.
pub const LEASE_ASSUMED: Duration = Duration::from_secs(30);
const LEASE_SHORTEST: Duration = Duration::from_secs(1);
const LEASE_LONGEST: Duration = Duration::from_secs(3600);
/// How often the set-up starts again with EXCHANGE_ID when the server does not know the client ID.
const FORGOTTEN_MAX: u32 = 3;
/// Program number of callbacks, from the range for programs without a fixed number (RFC 5531 section 14).
const CB_PROGRAM: u32 = 0x4000_0000;
const SEC_PARMS: [CallbackSecParms4<'_>; 1] = [CallbackSecParms4::None];

/// The set-up of a session. If the connection breaks, the same call is to be sent on the next one.
#[derive(Debug, Clone)]
pub struct SessionSetup {
    identity: ClientIdentity,
    request: SessionRequest,
    waits: RetryWaits,
    forgotten: u32,
    server: ServerIdentity,
    lease: Duration,
    is_new_client: bool,
    stage: Stage,
}

#[derive(Debug, Clone)]
enum Stage {
    ExchangeId,
    CreateSession {
        clientid: Clientid4,
        sequence: u32,
    },
    ReclaimComplete {
        session: Session,
        slotid: u32,
    },
    /// Version 4.0: SETCLIENTID.
    Setclientid,
    /// Version 4.0: SETCLIENTID_CONFIRM.
    Confirm {
        clientid: Clientid4,
        verifier: Verf,
    },
}

impl Stage {
    const fn first(minor: MinorVersion) -> Self {
        match minor.has_sessions() {
            true => Self::ExchangeId,
            false => Self::Setclientid,
        }
    }
}

/// What comes next.
#[derive(Debug)]
pub enum SetupStep {
    /// Send the next call.
    Call,
    /// The server is not ready: send the next call after this time.
    Wait(Duration),
    /// The session exists.
    Up(Box<Established>),
}

/// A session that was set up.
#[derive(Debug, Clone)]
pub struct Established {
    /// The session.
    pub session: Session,
    /// What the server states about itself.
    pub server: ServerIdentity,
    /// How long the server keeps the client's state without a call: at least 1 s, at most an hour;
    /// [`LEASE_ASSUMED`] if the server does not state it.
    pub lease: Duration,
    /// Whether the client ID is new: what was opened under an earlier one is lost.
    pub is_new_client: bool,
}

impl SessionSetup {
    /// A new client with a first session. The waits for a server that is not ready end after `wait_limit`.
    pub fn new(identity: ClientIdentity, request: SessionRequest, wait_limit: Duration) -> Self {
        Self {
            identity,
            request,
            waits: RetryWaits::new(wait_limit),
            forgotten: 0,
            server: ServerIdentity::default(),
            lease: LEASE_ASSUMED,
            is_new_client: false,
            stage: Stage::first(request.minor),
        }
    }

    /// Another session in place of a lost one, with the same client ID if the server still knows it. In
    /// version 4.0 it is another client ID.
    pub fn again(
        identity: ClientIdentity,
        request: SessionRequest,
        wait_limit: Duration,
        lost: &Established,
    ) -> Self {
        Self {
            server: lost.server.clone(),
            lease: lost.lease,
            stage: match request.minor.has_sessions() {
                true => Stage::CreateSession {
                    clientid: lost.session.clientid(),
                    sequence: lost.session.create_sequence(),
                },
                false => Stage::Setclientid,
            },
            ..Self::new(identity, request, wait_limit)
        }
    }

    /// Name of the operation that the next call is for.
    pub const fn call_name(&self) -> &'static str {
        match self.stage {
            Stage::ExchangeId => "EXCHANGE_ID",
            Stage::CreateSession { .. } => "CREATE_SESSION",
            Stage::ReclaimComplete { .. } => "RECLAIM_COMPLETE",
            Stage::Setclientid => "SETCLIENTID",
            Stage::Confirm { .. } => "SETCLIENTID_CONFIRM",
        }
    }

    /// The session, if the server has created it: to be ended where the set-up cannot go on.
    pub const fn session(&self) -> Option<&Session> {
        match &self.stage {
            Stage::ReclaimComplete { session, .. } => Some(session),
            _ => None,
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
        let mut compound = wire::begin_compound(out, self.request.minor);
        match &self.stage {
            Stage::ExchangeId => compound.op(&ExchangeIdArgs {
                clientowner: self.identity.client_owner(),
                flags: match self.request.layouts {
                    true => exchgid::USE_PNFS_MDS,
                    false => exchgid::USE_NON_PNFS,
                },
                state_protect: StateProtect4A::None,
                client_impl_id: None,
            }),
            Stage::CreateSession { clientid, sequence } => compound.op(&CreateSessionArgs {
                clientid: *clientid,
                sequence: *sequence,
                flags: match self.request.callbacks {
                    true => create_session::CONN_BACK_CHAN,
                    false => 0,
                },
                fore_chan_attrs: self.request.fore.to_attributes(),
                back_chan_attrs: self.request.back.to_attributes(),
                cb_program: CB_PROGRAM,
                sec_parms: SecParms::new(&SEC_PARMS).unwrap_or_default(),
            }),
            Stage::ReclaimComplete { session, slotid } => {
                compound
                    .op(&session.sequence(*slotid, true))
                    .op(&ReclaimCompleteArgs { one_fs: false });
                ask_lease(&mut compound)
            }
            Stage::Setclientid => self.setclientid(&mut compound),
            Stage::Confirm { clientid, verifier } => {
                compound.op(&SetclientidConfirmArgs {
                    clientid: *clientid,
                    setclientid_confirm: *verifier,
                });
                ask_lease(&mut compound)
            }
        };
        compound.finish();
    }

    /// Evaluates a whole RPC reply to the last call.
    ///
    /// # Errors
    /// Why there will be no session.
    pub fn reply(&mut self, message: &[u8]) -> Result<SetupStep, SessionRefusal> {
        let results = wire::results_of(message, self.call_name())?;
        self.results(results)
    }

    /// Evaluates the results of the last call: the reply behind its RPC header.
    ///
    /// # Errors
    /// Why there will be no session.
    pub fn results(&mut self, results: &[u8]) -> Result<SetupStep, SessionRefusal> {
        let evaluated = match self.stage {
            Stage::ExchangeId => self.exchange_id_results(results),
            Stage::CreateSession { clientid, sequence } => {
                self.create_session_results(results, clientid, sequence)
            }
            Stage::ReclaimComplete { .. } => self.reclaim_complete_results(results),
            Stage::Setclientid => self.setclientid_results(results),
            Stage::Confirm { clientid, .. } => self.confirm_results(results, clientid),
        };
        let call = self.call_name();
        match evaluated {
            Ok(step) => Ok(step),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(Failure::Row(RowError::NoMinorVersion)) => {
                Err(SessionRefusal::NoMinorVersion(self.request.minor))
            }
            Err(Failure::Row(RowError::Malformed(error))) => {
                Err(SessionRefusal::Malformed { call, error })
            }
            Err(Failure::Row(RowError::Status(status))) => self.failed(status),
        }
    }

    fn exchange_id_results(&mut self, results: &[u8]) -> Result<SetupStep, Failure> {
        let ok = wire::only::<ExchangeIdArgs<'_>>(results)?.map_err(RowError::Status)?;
        self.server = ServerIdentity::of(&ok);
        self.is_new_client = true;
        self.stage = Stage::CreateSession {
            clientid: ok.clientid,
            sequence: ok.sequenceid,
        };
        Ok(SetupStep::Call)
    }

    fn create_session_results(
        &mut self,
        results: &[u8],
        clientid: Clientid4,
        sequence: u32,
    ) -> Result<SetupStep, Failure> {
        let ok: CreateSessionOk = match wire::only::<CreateSessionArgs<'_>>(results)? {
            Ok(ok) => ok,
            Err(status @ (Nfsstat4::StaleClientid | Nfsstat4::SeqMisordered)) => {
                return self.start_again(status);
            }
            Err(status) => return Err(RowError::Status(status).into()),
        };
        let call = self.call_name();
        if ok.sequence != sequence {
            return Err(SessionRefusal::OtherCall { call }.into());
        }
        let fore = self.request.fore.granted(&ok.fore_chan_attrs);
        fore.check()?;
        let back = self.request.back.granted(&ok.back_chan_attrs);
        let next_sequence = sequence.wrapping_add(1);
        let mut session = Session::new(
            self.request.minor,
            ok.sessionid,
            clientid,
            next_sequence,
            fore,
            back,
        );
        if !self.is_new_client {
            return Ok(self.up(session));
        }
        let slotid = session.take_slot().unwrap_or_default();
        self.stage = Stage::ReclaimComplete { session, slotid };
        Ok(SetupStep::Call)
    }

    fn reclaim_complete_results(&mut self, results: &[u8]) -> Result<SetupStep, Failure> {
        let call = self.call_name();
        let Stage::ReclaimComplete { session, slotid } = &mut self.stage else {
            return Err(SessionRefusal::OtherCall { call }.into());
        };
        let mut compound = wire::compound(results)?;
        let sequence = compound.read::<SequenceArgs>()?;
        match session.sequence_result(*slotid, &sequence, compound.next_status()) {
            SequenceOutcome::Executed { .. } => {}
            SequenceOutcome::ReplyNotKept => return Ok(self.up_now()),
            SequenceOutcome::Later => return Err(RowError::Status(Nfsstat4::Delay).into()),
            SequenceOutcome::NotBound => {
                return Err(RowError::Status(Nfsstat4::ConnNotBoundToSession).into());
            }
            SequenceOutcome::SessionLost(status) | SequenceOutcome::ClientLost(status) => {
                return self.start_again(status);
            }
            SequenceOutcome::Refused(status) => return Err(RowError::Status(status).into()),
            SequenceOutcome::OtherCall => return Err(SessionRefusal::OtherCall { call }.into()),
        }
        match compound.read::<ReclaimCompleteArgs>()? {
            Ok(()) | Err(Nfsstat4::CompleteAlready) => {}
            Err(status) => {
                *slotid = session.take_slot().unwrap_or_default();
                return Err(RowError::Status(status).into());
            }
        }
        self.lease = stated_lease(&mut compound)?.unwrap_or(self.lease);
        Ok(self.up_now())
    }

    /// The session of the present stage exists.
    fn up_now(&mut self) -> SetupStep {
        match std::mem::replace(&mut self.stage, Stage::ExchangeId) {
            Stage::ReclaimComplete { session, .. } => self.up(session),
            _ => SetupStep::Call,
        }
    }

    fn up(&mut self, session: Session) -> SetupStep {
        SetupStep::Up(Box::new(Established {
            session,
            server: std::mem::take(&mut self.server),
            lease: self.lease,
            is_new_client: self.is_new_client,
        }))
    }

    /// The server does not know the client ID or the session: all from the beginning.
    fn start_again(&mut self, status: Nfsstat4) -> Result<SetupStep, Failure> {
        self.forgotten += 1;
        if self.forgotten >= FORGOTTEN_MAX {
            let times = self.forgotten;
            return Err(SessionRefusal::Forgotten { times, status }.into());
        }
        self.stage = Stage::first(self.request.minor);
        Ok(SetupStep::Call)
    }

    fn failed(&mut self, status: Nfsstat4) -> Result<SetupStep, SessionRefusal> {
        let call = self.call_name();
        match self.waits.next(status) {
            Some(wait) => Ok(SetupStep::Wait(wait)),
            None if RetryWaits::is_temporary(status) => Err(SessionRefusal::NotReady {
                call,
                status,
                waited: self.waits.waited(),
            }),
            None => Err(SessionRefusal::Status { call, status }),
        }
    }
}

/// Asks for the lease, behind what the call is for.
fn ask_lease<'c, 'o>(
    compound: &'c mut CompoundWriter<'o, Operation>,
) -> &'c mut CompoundWriter<'o, Operation> {
    compound.op(&PutrootfhArgs {}).op(&GetattrArgs {
        attr_request: Bitmap4::of(&[Attribute::LeaseTime]),
    })
}

/// The lease, if the server has stated it.
fn stated_lease(
    compound: &mut CompoundRes<'_, Operation>,
) -> Result<Option<Duration>, DecodeError> {
    if compound.status != Nfsstat4::Ok {
        return Ok(None);
    }
    let root = compound.read::<PutrootfhArgs>()?;
    let attributes = compound.read::<GetattrArgs>()?;
    compound.end()?;
    let (Ok(()), Ok(ok)) = (root, attributes) else {
        return Ok(None);
    };
    let stated = ok.obj_attributes.attributes()?.lease_time;
    let stated = stated.filter(|seconds| *seconds > 0);
    Ok(stated
        .map(|seconds| Duration::from_secs(seconds.into()).clamp(LEASE_SHORTEST, LEASE_LONGEST)))
}

/// Why a call did not lead to the next one.
enum Failure {
    Row(RowError),
    Refused(SessionRefusal),
}

impl From<RowError> for Failure {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}

impl From<filermark_onc::xdr::DecodeError> for Failure {
    fn from(error: filermark_onc::xdr::DecodeError) -> Self {
        Self::Row(error.into())
    }
}

impl From<SessionRefusal> for Failure {
    fn from(refusal: SessionRefusal) -> Self {
        Self::Refused(refusal)
    }
}

#[cfg(test)]
mod tests;
