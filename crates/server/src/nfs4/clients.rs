//! Client IDs and the sessions of clients (RFC 8881 sections 2.4, 18.35 and 18.36).

mod client40;

use super::back::Back;
use super::session::{Limits, Session};
use filermark_onc::nfs4::{Clientid4, Nfsstat4, Sessionid4, Verf};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Most client IDs.
const CLIENTS_MAX: usize = 32_768;
/// Most sessions of one client.
const SESSIONS_MAX: usize = 16;
/// What a slot takes beside its reply, in bytes.
const SLOT_BYTES: u64 = 128;

/// One client ID.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: Clientid4,
    ownerid: Box<[u8]>,
    verifier: Verf,
    /// The user that made it (AUTH_SYS): another one may not use it.
    uid: u32,
    renewed_ns: AtomicU64,
    reclaim_complete: AtomicBool,
    /// It has ended: it can get no more opens and locks.
    ended: AtomicBool,
    /// Opens, owners of locks by file, and delegations.
    states: AtomicU64,
    /// Delegations that were revoked, until the client has confirmed that.
    revoked: AtomicU64,
}

impl Client {
    fn new(id: Clientid4, request: &ClientRequest<'_>, now_ns: u64) -> Client {
        Client {
            id,
            ownerid: request.ownerid.into(),
            verifier: request.verifier,
            uid: request.uid,
            renewed_ns: AtomicU64::new(now_ns),
            reclaim_complete: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            states: AtomicU64::new(0),
            revoked: AtomicU64::new(0),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(id: Clientid4) -> Client {
        let request = ClientRequest {
            ownerid: b"test",
            verifier: [0; 8],
            uid: 0,
            is_update: false,
        };
        Client::new(id, &request, 0)
    }

    /// The lease begins again.
    #[inline]
    pub(crate) fn renew(&self, now_ns: u64) {
        self.renewed_ns.store(now_ns, Ordering::Relaxed);
    }

    /// RECLAIM_COMPLETE. `false`: it was sent before.
    pub(crate) fn complete_reclaim(&self) -> bool {
        !self.reclaim_complete.swap(true, Ordering::Relaxed)
    }

    /// Whether RECLAIM_COMPLETE was sent.
    pub(crate) fn has_reclaimed(&self) -> bool {
        self.reclaim_complete.load(Ordering::Relaxed)
    }

    /// Counts one more state. `false`: the client has ended, and nothing was counted. A thread that ends it looks
    /// at the count afterwards (both in one order, `SeqCst`), so no state of an ended client is overlooked.
    pub(super) fn count_state(&self) -> bool {
        self.states.fetch_add(1, Ordering::SeqCst);
        let is_alive = !self.ended.load(Ordering::SeqCst);
        if !is_alive {
            self.count_state_ended();
        }
        is_alive
    }

    pub(super) fn count_state_ended(&self) {
        self.states.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn has_states(&self) -> bool {
        self.states.load(Ordering::SeqCst) > 0
    }

    /// One of the counted states was revoked.
    pub(super) fn state_is_revoked(&self) {
        self.revoked.fetch_add(1, Ordering::SeqCst);
        self.count_state_ended();
    }

    pub(super) fn revoked_state_ended(&self) {
        self.revoked.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a state was revoked and the client has not confirmed it.
    pub(crate) fn has_revoked(&self) -> bool {
        self.revoked.load(Ordering::Relaxed) > 0
    }
}

/// Who asks for a client ID with EXCHANGE_ID.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientRequest<'a> {
    pub(crate) ownerid: &'a [u8],
    pub(crate) verifier: Verf,
    pub(crate) uid: u32,
    /// EXCHGID4_FLAG_UPD_CONFIRMED_REC_A.
    pub(crate) is_update: bool,
}

/// What EXCHANGE_ID found or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchanged {
    pub(crate) clientid: Clientid4,
    /// The sequence number of the next CREATE_SESSION.
    pub(crate) sequence: u32,
    pub(crate) is_confirmed: bool,
}

/// A CREATE_SESSION.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionRequest {
    pub(crate) clientid: Clientid4,
    pub(crate) sequence: u32,
    pub(crate) uid: u32,
    /// What is granted, if there is memory for it; else fewer slots.
    pub(crate) limits: Limits,
}

/// What CREATE_SESSION returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) sessionid: Sessionid4,
    pub(crate) limits: Limits,
    /// It has a channel for callbacks.
    pub(crate) has_back: bool,
}

#[derive(Debug)]
struct Record {
    client: Arc<Client>,
    is_confirmed: bool,
    /// Of the last CREATE_SESSION, with its answer.
    sequence: u32,
    last: Option<Result<Sent, Nfsstat4>>,
    sessions: Vec<Sessionid4>,
}

/// The client IDs of one name.
#[derive(Debug, Default, Clone, Copy)]
struct Named {
    confirmed: Option<Clientid4>,
    unconfirmed: Option<Clientid4>,
}

#[derive(Debug, Default)]
struct Table {
    records: HashMap<Clientid4, Record>,
    names: HashMap<Box<[u8]>, Named>,
    sessions: HashMap<Sessionid4, Arc<Session>>,
    /// What the slots of all sessions may take.
    cache_bytes: u64,
    made: u64,
}

/// All clients of one server.
#[derive(Debug)]
pub(crate) struct Clients {
    table: RwLock<Table>,
    epoch: u64,
    cache_bytes_max: u64,
}

const fn bytes_of(limits: &Limits) -> u64 {
    limits.slots as u64 * (limits.cached_bytes as u64 + SLOT_BYTES)
}

impl Table {
    fn remove(&mut self, clientid: Clientid4) -> Option<Arc<Client>> {
        let record = self.records.remove(&clientid)?;
        for session in &record.sessions {
            self.remove_session(session);
        }
        if let Some(named) = self.names.get_mut(&record.client.ownerid) {
            named.confirmed = named.confirmed.filter(|id| *id != clientid);
            named.unconfirmed = named.unconfirmed.filter(|id| *id != clientid);
            if named.confirmed.is_none() && named.unconfirmed.is_none() {
                self.names.remove(&record.client.ownerid);
            }
        }
        record.client.ended.store(true, Ordering::SeqCst);
        Some(record.client)
    }

    fn remove_session(&mut self, id: &Sessionid4) -> Option<Arc<Session>> {
        let session = self.sessions.remove(id)?;
        self.cache_bytes -= bytes_of(&session.limits);
        Some(session)
    }

    fn named(&self, ownerid: &[u8]) -> Named {
        self.names.get(ownerid).copied().unwrap_or_default()
    }
}

impl Clients {
    pub(super) fn new(epoch: u64, cache_bytes_max: u64) -> Clients {
        Clients {
            table: RwLock::default(),
            epoch,
            cache_bytes_max,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// EXCHANGE_ID (RFC 8881 section 18.35.4).
    ///
    /// # Errors
    /// Its status.
    pub(crate) fn exchange(
        &self,
        request: &ClientRequest<'_>,
        now_ns: u64,
    ) -> Result<Exchanged, Nfsstat4> {
        let table = &mut *self.write();
        let named = table.named(request.ownerid);
        let confirmed = named.confirmed.and_then(|id| table.records.get(&id));
        if let Some(record) = confirmed {
            let (client, sequence) = (&record.client, record.sequence.wrapping_add(1));
            let known = Exchanged {
                clientid: client.id,
                sequence,
                is_confirmed: true,
            };
            match (
                client.uid == request.uid,
                client.verifier == request.verifier,
            ) {
                (true, true) => {
                    client.renew(now_ns);
                    return Ok(known);
                }
                (true, false) if request.is_update => return Err(Nfsstat4::NotSame),
                (false, _) if request.is_update => return Err(Nfsstat4::Perm),
                (false, _) if client.has_states() => return Err(Nfsstat4::ClidInuse),
                _ => {}
            }
        } else if request.is_update {
            return Err(Nfsstat4::Noent);
        }
        Ok(Exchanged {
            clientid: self.add(table, request, now_ns)?,
            sequence: 1,
            is_confirmed: false,
        })
    }

    /// A client ID that is not confirmed, in place of an earlier one of its name.
    fn add(
        &self,
        table: &mut Table,
        request: &ClientRequest<'_>,
        now_ns: u64,
    ) -> Result<Clientid4, Nfsstat4> {
        if let Some(earlier) = table.named(request.ownerid).unconfirmed {
            table.remove(earlier);
        }
        if table.records.len() >= CLIENTS_MAX {
            return Err(Nfsstat4::Delay);
        }
        table.made += 1;
        let id = (self.epoch << 24).wrapping_add(table.made);
        let client = Arc::new(Client::new(id, request, now_ns));
        let name = table.names.entry(request.ownerid.into()).or_default();
        name.unconfirmed = Some(id);
        let record = Record {
            client,
            is_confirmed: false,
            sequence: 0,
            last: None,
            sessions: Vec::new(),
        };
        table.records.insert(id, record);
        Ok(id)
    }

    /// CREATE_SESSION (RFC 8881 section 18.36.4). The client that this one replaces, if its name had
    /// another one before, has ended: its opens and locks are to be ended, too.
    pub(crate) fn create_session(
        &self,
        request: &SessionRequest,
        back: Option<Back>,
        now_ns: u64,
    ) -> (Result<Sent, Nfsstat4>, Option<Arc<Client>>) {
        let table = &mut *self.write();
        let Some(record) = table.records.get(&request.clientid) else {
            return (Err(Nfsstat4::StaleClientid), None);
        };
        if let Some(last) = record.last.filter(|_| request.sequence == record.sequence) {
            return (last, None);
        }
        if request.sequence != record.sequence.wrapping_add(1) {
            return (Err(Nfsstat4::SeqMisordered), None);
        }
        if !record.is_confirmed && record.client.uid != request.uid {
            return (Err(Nfsstat4::ClidInuse), None);
        }
        record.client.renew(now_ns);
        let created = self.add_session(table, request, back);
        let replaced = match created {
            Ok(_) => confirm(table, request.clientid),
            Err(_) => None,
        };
        if let Some(record) = table.records.get_mut(&request.clientid) {
            record.sequence = request.sequence;
            record.last = Some(created);
        }
        (created, replaced)
    }

    fn add_session(
        &self,
        table: &mut Table,
        request: &SessionRequest,
        back: Option<Back>,
    ) -> Result<Sent, Nfsstat4> {
        let record = table.records.get_mut(&request.clientid);
        let record = record.ok_or(Nfsstat4::StaleClientid)?;
        if record.sessions.len() >= SESSIONS_MAX {
            return Err(Nfsstat4::Nospc);
        }
        let mut limits = request.limits;
        let left = self.cache_bytes_max.saturating_sub(table.cache_bytes);
        while bytes_of(&limits) > left {
            if limits.slots <= 1 {
                return Err(Nfsstat4::Nospc);
            }
            limits.slots /= 2;
        }
        table.cache_bytes += bytes_of(&limits);
        table.made += 1;
        let mut sessionid = [0; 16];
        sessionid[..8].copy_from_slice(&self.epoch.to_be_bytes());
        sessionid[8..].copy_from_slice(&table.made.to_be_bytes());
        record.sessions.push(sessionid);
        let has_back = back.is_some();
        let session = Session::new(sessionid, record.client.clone(), limits, back);
        table.sessions.insert(sessionid, Arc::new(session));
        Ok(Sent {
            sessionid,
            limits,
            has_back,
        })
    }

    /// The session with this ID.
    ///
    /// # Errors
    /// BADSESSION.
    #[inline]
    pub(crate) fn session(&self, id: &Sessionid4) -> Result<Arc<Session>, Nfsstat4> {
        let table = self.read();
        table.sessions.get(id).cloned().ok_or(Nfsstat4::Badsession)
    }

    /// The sessions of a client that have a channel for callbacks.
    pub(crate) fn sessions_with_back(&self, id: Clientid4) -> Vec<Arc<Session>> {
        let table = self.read();
        let sessions = table.records.get(&id).map(|record| &record.sessions);
        let found = sessions.into_iter().flatten();
        let found = found.filter_map(|id| table.sessions.get(id));
        found
            .filter(|session| session.back.is_some())
            .cloned()
            .collect()
    }

    /// DESTROY_SESSION.
    ///
    /// # Errors
    /// BADSESSION.
    pub(crate) fn destroy_session(&self, id: &Sessionid4) -> Result<(), Nfsstat4> {
        let table = &mut *self.write();
        let session = table.remove_session(id).ok_or(Nfsstat4::Badsession)?;
        if let Some(record) = table.records.get_mut(&session.client.id) {
            record.sessions.retain(|other| other != id);
        }
        Ok(())
    }

    /// DESTROY_CLIENTID. What was revoked of the client is to be ended.
    ///
    /// # Errors
    /// STALE_CLIENTID, and CLIENTID_BUSY of a client with sessions or state.
    pub(crate) fn destroy_client(&self, id: Clientid4) -> Result<Option<Arc<Client>>, Nfsstat4> {
        let table = &mut *self.write();
        let record = table.records.get(&id).ok_or(Nfsstat4::StaleClientid)?;
        if !record.sessions.is_empty() || record.client.has_states() {
            return Err(Nfsstat4::ClientidBusy);
        }
        Ok(table.remove(id))
    }

    /// Ends the clients whose leases began before `oldest_ns`.
    pub(super) fn end_expired(&self, oldest_ns: u64) -> Vec<Arc<Client>> {
        let expired =
            |record: &Record| record.client.renewed_ns.load(Ordering::Relaxed) < oldest_ns;
        let ids: Vec<Clientid4> = {
            let table = self.read();
            let found = table.records.iter().filter(|(_, record)| expired(record));
            found.map(|(id, _)| *id).collect()
        };
        if ids.is_empty() {
            return Vec::new();
        }
        let table = &mut *self.write();
        let still = |id: &Clientid4| table.records.get(id).is_some_and(expired);
        let ids: Vec<Clientid4> = ids.into_iter().filter(still).collect();
        ids.into_iter().filter_map(|id| table.remove(id)).collect()
    }
}

/// The first session of a client ID confirms it; the one that its name had before ends.
fn confirm(table: &mut Table, id: Clientid4) -> Option<Arc<Client>> {
    let record = table.records.get_mut(&id)?;
    if std::mem::replace(&mut record.is_confirmed, true) {
        return None;
    }
    let ownerid = record.client.ownerid.clone();
    let named = table.names.entry(ownerid).or_default();
    named.unconfirmed = None;
    let earlier = named.confirmed.replace(id)?;
    table.remove(earlier)
}

#[cfg(test)]
mod tests;
