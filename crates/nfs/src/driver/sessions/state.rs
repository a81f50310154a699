//! The state of version 4: of a shard, and of a call.

use super::client::Client;
use super::compounds::StateCall;
use super::conns::{self, ClientConn};
use super::data_servers::DataServers;
use super::layouts::{Access, Layouts};
use super::names::ProcNames;
use super::opens::ProcOpens;
use super::owners::{Owner, ProcOwners};
use super::scratch::Scratch;
use super::work_calls::WorkState;
use crate::version4::{DELAY_LONGEST, SessionRequest};
use filermark_model::Nanos;
use filermark_model::plan::{DelegationUse, LayoutUse};
use filermark_onc::nfs4::{Fh4, Stateid4};
use std::time::Duration;

/// What a call has in this version.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionCall {
    /// What the driver itself wants, if it is no procedure of version 3.
    pub(super) kind: Option<StateCall>,
    /// Its slot of the session, from its encoding to its reply.
    pub(super) slot: Option<u32>,
    /// The number of the client's session in which it has the slot.
    pub(super) session: u32,
    /// The file whose open it uses.
    pub(super) used: Option<u32>,
    /// The state of this open that it has used last.
    pub(super) stateid: Stateid4,
    /// Version 4.0: the owner of its OPEN, until the file is open.
    pub(super) owner: Option<Owner>,
    /// The second file whose open it uses, and its state.
    pub(super) second: Option<(u32, Stateid4)>,
    /// READ: by READ_PLUS.
    pub(super) is_plus: bool,
    /// The layout with which it is sent to a data server: its place in the table, and for which access.
    pub(super) layout: Option<(u32, Access)>,
    /// It is in the queue of a data server.
    pub(super) at_data_server: bool,
    /// The server may have executed it in an earlier session; in version 4.0 on an earlier connection.
    pub(super) is_repeated: bool,
    /// How often it has waited for COMMIT or LAYOUTCOMMIT of its files.
    pub(super) commits: u8,
    /// How often its file was opened again because the server had lost the state.
    pub(super) reopened: u8,
}

/// A call that waits until a file is open or closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) proc: u32,
    pub(super) key: u32,
    pub(super) xid: u32,
}

/// A file that is being closed, whose delegation is being returned, or about whose layouts a call is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    pub(super) stateid: Stateid4,
    pub(super) handle: Fh4,
    pub(super) proc: u32,
    pub(super) key: u32,
    /// Version 4.0: its owner.
    pub(super) owner: Option<Owner>,
    /// Its entry in the table of layouts.
    pub(super) layout: Option<u32>,
    /// What the server has not executed of its call.
    pub(super) left: Left,
    /// Version 4.0: the number of the owner of its locks, which is released after that.
    pub(super) lock_owner: Option<u32>,
}

impl Closing {
    /// A file with this state.
    pub(super) const fn new(stateid: Stateid4, handle: Fh4, (proc, key): (u32, u32)) -> Self {
        Self {
            stateid,
            handle,
            proc,
            key,
            owner: None,
            layout: None,
            left: Left::Nothing,
            lock_owner: None,
        }
    }
}

/// What a call that returns layouts has left out, because an operation in front of it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// CLOSE, where the call has one.
    Close,
    /// LAYOUTRETURN, and what comes behind it.
    Return,
}

/// Version 4.0: an owner of locks whose RELEASE_LOCKOWNER could not be begun yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Released {
    pub(super) conn: u32,
    pub(super) proc: u32,
    pub(super) number: u32,
}

/// The state of all connections and procs of a shard.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(super) clients: Vec<Client>,
    /// By connection.
    pub(super) conns: Vec<ClientConn>,
    /// By proc: what is open.
    pub(super) opens: Vec<ProcOpens>,
    /// By proc: its number in the run, which names the owner of its opens.
    pub(super) owners: Vec<u32>,
    /// Version 4.0, by proc: owners that have nothing open.
    pub(super) free_owners: Vec<ProcOwners>,
    /// Version 4.0, by proc: names, by which files are opened.
    pub(super) names: Vec<ProcNames>,
    /// What is asked of servers for a session.
    pub(super) request: SessionRequest,
    /// The longest wait of a set-up for a server that is not ready.
    pub(super) ready_max: Duration,
    /// Most waits of a call for a server that is not ready.
    pub(super) delays_max: u16,
    /// Calls that wait until a file is open or closed.
    pub(super) waiting: Vec<Waiter>,
    /// Files that are being closed.
    pub(super) closing: Vec<Option<Closing>>,
    pub(super) closing_free: Vec<u32>,
    /// Version 4.0: owners of locks that are to be released.
    pub(super) released: Vec<Released>,
    /// Counts uses of opens.
    pub(super) uses: u64,
    /// By operation: what those keep that version 3 does not have.
    pub(super) works: Vec<WorkState>,
    /// By proc, once one has begun such an operation: its scratch files.
    pub(super) scratch: Vec<Scratch>,
    /// COPYs and CLONEs that could be compared.
    pub(super) copies: u64,
    /// What is done with delegations.
    pub(super) delegations: DelegationUse,
    /// What is done with layouts.
    layout_use: LayoutUse,
    /// The layouts of open files.
    pub(super) layouts: Layouts,
    /// The data servers of layouts.
    pub(super) data_servers: DataServers,
}

impl Sessions {
    /// These clients, the client of each connection, and procs with these numbers. `busy_max` is the longest
    /// time that a call waits for a server that is not ready.
    pub(crate) fn new(
        (mut clients, client_of): (Vec<Client>, &[u32]),
        procs: Vec<u32>,
        request: SessionRequest,
        busy_max: Nanos,
        delegations: DelegationUse,
        (layout_use, data_servers): (LayoutUse, DataServers),
    ) -> Self {
        Self {
            conns: conns::of_clients(&mut clients, client_of),
            clients,
            opens: procs.iter().map(|_| ProcOpens::default()).collect(),
            free_owners: procs.iter().map(|_| ProcOwners::default()).collect(),
            names: procs.iter().map(|_| ProcNames::default()).collect(),
            owners: procs,
            request,
            ready_max: Duration::from_nanos(busy_max.0),
            delays_max: (busy_max.0 / DELAY_LONGEST.0).clamp(1, u16::MAX.into()) as u16,
            waiting: Vec::with_capacity(64),
            closing: Vec::new(),
            closing_free: Vec::new(),
            released: Vec::new(),
            uses: 0,
            works: Vec::new(),
            scratch: Vec::new(),
            copies: 0,
            delegations,
            layout_use,
            layouts: Layouts::default(),
            data_servers,
        }
    }

    /// Whether calls have slots of a session; version 4.0 has none.
    #[inline]
    pub(super) const fn has_sessions(&self) -> bool {
        self.request.minor.has_sessions()
    }

    /// Whether layouts are used.
    #[inline]
    pub(super) const fn uses_layouts(&self) -> bool {
        !self.layout_use.is_refuse()
    }

    /// The client of a connection.
    pub(super) fn client(&mut self, conn: u32) -> &mut Client {
        let place = self.place(conn);
        &mut self.clients[place]
    }

    /// Keeps a file that is being closed; returns its place.
    pub(super) fn keep_closing(&mut self, closing: Closing) -> u32 {
        match self.closing_free.pop() {
            Some(place) => {
                self.closing[place as usize] = Some(closing);
                place
            }
            None => {
                self.closing.push(Some(closing));
                self.closing.len() as u32 - 1
            }
        }
    }

    /// Its call has ended.
    pub(super) fn forget_closing(&mut self, place: u32) -> Option<Closing> {
        let closing = self.closing.get_mut(place as usize)?.take()?;
        self.closing_free.push(place);
        Some(closing)
    }

    /// Version 4.0: the owner of a file that is being closed.
    pub(super) fn closing_owner(&mut self, place: u32) -> Option<&mut Option<Owner>> {
        let closing = self.closing.get_mut(place as usize)?.as_mut()?;
        Some(&mut closing.owner)
    }

    /// Notes what the server has not executed of its call.
    pub(super) fn note_left(&mut self, place: u32, left: Left) {
        if let Some(Some(closing)) = self.closing.get_mut(place as usize) {
            closing.left = left;
        }
    }

    /// What the server has not executed of its call, if no other call was made for that yet.
    pub(super) fn take_left(&mut self, place: u32) -> Left {
        match self.closing.get_mut(place as usize) {
            Some(Some(closing)) => std::mem::replace(&mut closing.left, Left::Nothing),
            Some(None) | None => Left::Nothing,
        }
    }

    pub(super) fn closing(&self, place: u32) -> Option<Closing> {
        *self.closing.get(place as usize)?
    }
}
