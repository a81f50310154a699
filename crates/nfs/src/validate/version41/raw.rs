//! Calls that are written operation by operation, without the rules that a client follows: a
//! SEQUENCE that is wrong, missing or sent twice.

use super::client::{Client, minor_of, putfh};
use super::ops::Bench;
use crate::client::{NFS_V4, RpcClient, wait_limit};
use crate::validate::text::no_answer;
use crate::version4::{ChannelLimits, ClientIdentity, RetryWaits};
use filermark_driver_kit::checks::{Outcome, Stop};
use filermark_engine::interrupt_guard;
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Decoder;

/// A client ID that no server has given.
pub(super) const UNKNOWN: Clientid4 = 0x00f1_1e3a_0000_0bad;

/// What a COMPOUND is written with.
pub(super) type Writer<'w> = CompoundWriter<'w, Operation>;

/// The answer to a COMPOUND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The status of the last result.
    pub(super) status: Nfsstat4,
    /// How many results there are.
    pub(super) count: usize,
    /// All of it.
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The results of the operation at `index`, of which those before succeeded.
    pub(super) fn result<A, T>(
        &self,
        index: usize,
        take: impl FnOnce(A::Res<'_>) -> Option<T>,
    ) -> Option<T>
    where
        A: Arguments<Operation = Operation>,
    {
        let mut row = CompoundRes::<Operation>::decode(&mut Decoder::new(&self.body)).ok()?;
        for _ in 0..index {
            row.next()?.ok()?;
        }
        take(row.read::<A>().ok()?)
    }

    /// The status must be one of these.
    pub(super) fn must_be(&self, what: &str, wanted: &[Nfsstat4]) -> Outcome {
        if wanted.contains(&self.status) {
            return Ok(());
        }
        let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        Err(Stop::fail(
            format!("{what}: {}", names.join(" or ")),
            self.status,
        ))
    }
}

/// The bytes of a COMPOUND.
pub(super) fn written(minor_version: u32, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut args = Vec::new();
    let mut compound = CompoundWriter::begin(&mut args, b"", minor_version);
    write(&mut compound);
    compound.finish();
    args
}

/// Sends a COMPOUND as it is, and again while the server asks for that before it has executed anything.
pub(super) fn send(rpc: &mut RpcClient, what: &str, args: &[u8]) -> Result<Answer, Stop> {
    let mut waits = RetryWaits::new(wait_limit(rpc.options()));
    loop {
        let answer = send_once(rpc, what, args)?;
        let is_executed = answer.count > 1;
        if is_executed || !may_call_again(&mut waits, answer.status) {
            return Ok(answer);
        }
    }
}

/// Waits if a call with this status is to be repeated.
fn may_call_again(waits: &mut RetryWaits, status: Nfsstat4) -> bool {
    let Some(wait) = waits.next(status) else {
        return false;
    };
    interrupt_guard::sleep(wait);
    !interrupt_guard::stop_requested()
}

fn send_once(rpc: &mut RpcClient, what: &str, args: &[u8]) -> Result<Answer, Stop> {
    let results = rpc
        .call_raw(NFS_V4, PROC_COMPOUND, args)
        .map_err(|error| no_answer(what, &error))?;
    let row = CompoundRes::<Operation>::decode(&mut Decoder::new(results))
        .map_err(|error| Stop::fail(format!("{what}: results of COMPOUND"), error))?;
    ends_with_its_status(what, row)?;
    Ok(Answer {
        status: row.status,
        count: row.left(),
        body: results.to_vec(),
    })
}

/// The status of a COMPOUND is that of its last result, and only that one may be a failure (RFC 8881
/// section 16.2.3). Results that cannot be decoded are left to the check.
fn ends_with_its_status(what: &str, row: CompoundRes<'_, Operation>) -> Outcome {
    let (status, count, mut rest) = (row.status, row.left(), row);
    while let Some(of_result) = rest.next_status() {
        if rest.next().is_none_or(|result| result.is_err()) {
            break;
        }
        let (wanted, why) = match rest.left() {
            0 => (status, "the status of the COMPOUND"),
            _ => (Nfsstat4::Ok, "since others follow"),
        };
        if of_result != wanted {
            let number = count - rest.left();
            let expected = format!("{what}: result {number} of {count} with {wanted}, {why}");
            return Err(Stop::fail(expected, of_result));
        }
    }
    Ok(())
}

/// A session whose first slot is used by hand.
pub(super) struct Raw {
    minor: u32,
    client: Client,
    pub(super) sessionid: Sessionid4,
    pub(super) clientid: Clientid4,
    /// Limits for calls, as granted.
    pub(super) fore: ChannelLimits,
    /// Sequence number of the client ID's next CREATE_SESSION.
    pub(super) create_sequence: u32,
    /// Sequence number of the next call.
    next: u32,
    /// Further sessions of the client, which are ended with it.
    more: Vec<Sessionid4>,
    /// What is open, and is to be closed.
    opens: Vec<(Fh4, Stateid4)>,
}

impl Raw {
    /// SEQUENCE of the next call.
    pub(super) const fn sequence(&self, cachethis: bool) -> SequenceArgs {
        SequenceArgs {
            sessionid: self.sessionid,
            sequenceid: self.next,
            slotid: 0,
            highest_slotid: 0,
            cachethis,
        }
    }

    /// Sends a COMPOUND as it is.
    pub(super) fn send(
        &mut self,
        what: &str,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Answer, Stop> {
        self.send_bytes(what, &written(self.minor, write))
    }

    /// Sends the bytes of a COMPOUND.
    pub(super) fn send_bytes(&mut self, what: &str, args: &[u8]) -> Result<Answer, Stop> {
        send(self.client.nfs.rpc(), what, args)
    }

    /// A COMPOUND that begins with SEQUENCE, which must succeed.
    pub(super) fn call(
        &mut self,
        what: &str,
        cachethis: bool,
        write: impl Fn(&mut Writer<'_>),
    ) -> Result<Answer, Stop> {
        self.call_and_bytes(what, cachethis, write)
            .map(|(answer, _)| answer)
    }

    /// The same with the bytes that were sent, for a call that is to be sent again. A call that the
    /// server could not execute yet is made anew: its sequence number is used up.
    pub(super) fn call_and_bytes(
        &mut self,
        what: &str,
        cachethis: bool,
        write: impl Fn(&mut Writer<'_>),
    ) -> Result<(Answer, Vec<u8>), Stop> {
        let mut waits = RetryWaits::new(wait_limit(self.client.nfs.rpc().options()));
        loop {
            let args = self.call_bytes(cachethis, &write);
            let answer = self.call_written(what, &args)?;
            if !may_call_again(&mut waits, answer.status) {
                return Ok((answer, args));
            }
        }
    }

    /// The bytes of a COMPOUND that begins with SEQUENCE.
    pub(super) fn call_bytes(
        &self,
        cachethis: bool,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> Vec<u8> {
        written(self.minor, |compound| {
            self.begins(compound, cachethis);
            write(compound);
        })
    }

    /// What the calls of the session begin with: SEQUENCE. Version 4.0 has none.
    pub(super) fn begins(&self, compound: &mut Writer<'_>, cachethis: bool) {
        if self.minor > 0 {
            compound.op(&self.sequence(cachethis));
        }
    }

    /// Sends what [`Raw::call_bytes`] returned. The next call has the next sequence number.
    pub(super) fn call_written(&mut self, what: &str, args: &[u8]) -> Result<Answer, Stop> {
        let answer = self.send_bytes(what, args)?;
        if self.minor == 0 {
            return Ok(answer);
        }
        let sequence = answer.result::<SequenceArgs, _>(0, Some);
        match sequence {
            Some(Ok(_)) => self.next = self.next.wrapping_add(1),
            _ => {
                let status = answer.status;
                return Err(Stop::fail(
                    format!("{what}: SEQUENCE {}", Nfsstat4::Ok),
                    status,
                ));
            }
        }
        Ok(answer)
    }

    /// Notes another session that is to be ended.
    pub(super) fn also_ends(&mut self, sessionid: Sessionid4) {
        self.more.push(sessionid);
    }

    /// Notes an open that is to be closed.
    pub(super) fn also_closes(&mut self, file: Fh4, stateid: Stateid4) {
        self.opens.push((file, stateid));
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        for (file, open_stateid) in std::mem::take(&mut self.opens) {
            let _ = self.call("CLOSE", false, |compound| {
                compound.op(&putfh(&file)).op(&CloseArgs {
                    seqid: 0,
                    open_stateid,
                });
            });
        }
        for sessionid in std::mem::take(&mut self.more) {
            // What cannot be ended ends with the lease.
            let _ = self.send("DESTROY_SESSION", |compound| {
                compound.op(&DestroySessionArgs { sessionid });
            });
        }
    }
}

const SEC_PARMS: [CallbackSecParms4<'_>; 1] = [CallbackSecParms4::None];

/// The arguments of CREATE_SESSION for a small session.
pub(super) fn create_session_args(
    clientid: Clientid4,
    sequence: u32,
) -> CreateSessionArgs<'static> {
    let channel = ChannelAttrs4 {
        headerpadsize: 0,
        maxrequestsize: 16_384,
        maxresponsesize: 16_384,
        maxresponsesize_cached: 4096,
        maxoperations: 8,
        maxrequests: 4,
        rdma_ird: None,
    };
    CreateSessionArgs {
        clientid,
        sequence,
        flags: 0,
        fore_chan_attrs: channel,
        back_chan_attrs: ChannelAttrs4 {
            maxrequestsize: 4096,
            maxresponsesize: 4096,
            maxrequests: 1,
            ..channel
        },
        cb_program: 0x4000_0000,
        sec_parms: SecParms::new(&SEC_PARMS).unwrap_or_default(),
    }
}

/// The session that CREATE_SESSION returned, alone in its COMPOUND.
pub(super) fn session_of(answer: &Answer) -> Result<Sessionid4, Stop> {
    answer.must_be("CREATE_SESSION", &[Nfsstat4::Ok])?;
    let created = answer.result::<CreateSessionArgs<'_>, _>(0, |result| result.ok());
    created
        .map(|ok| ok.sessionid)
        .ok_or_else(|| Stop::fail("CREATE_SESSION: its results", "none"))
}

/// The arguments of EXCHANGE_ID.
pub(super) fn exchange_id_args(owner: ClientOwner4<'_>, flags: u32) -> ExchangeIdArgs<'_> {
    ExchangeIdArgs {
        clientowner: owner,
        flags,
        state_protect: StateProtect4A::None,
        client_impl_id: None,
    }
}

impl Bench<'_> {
    /// The minor version that is checked.
    pub(super) fn minor(&self) -> u32 {
        minor_of(self.plan).number()
    }

    /// The index of the first result that is not that of SEQUENCE.
    pub(super) fn first_index(&self) -> usize {
        usize::from(self.minor() > 0)
    }

    /// A session of another client, whose first slot is used by hand.
    pub(super) fn raw(&self) -> Result<Raw, Stop> {
        let mut client = self.another();
        let up = client
            .nfs
            .session()
            .map_err(|error| no_answer("a session", &error))?;
        let session = &up.session;
        Ok(Raw {
            minor: self.minor(),
            sessionid: session.sessionid(),
            clientid: session.clientid(),
            fore: *session.fore(),
            create_sequence: session.create_sequence(),
            next: session.slots().sequenceid(0).unwrap_or(1),
            more: Vec::new(),
            opens: Vec::new(),
            client,
        })
    }

    /// A name of a client that no server knows.
    pub(super) fn new_identity(&self) -> ClientIdentity {
        ClientIdentity::new("validate")
    }
}
