//! The contexts of RPCSEC_GSS of a shard (RFC 2203). A context belongs to a user and a server and is
//! used over several connections: as many as may each have two calls in its sequence window. It is
//! established before the load begins, and again, on a thread of its own: some time before its ticket expires, while
//! calls have the earlier one, or when the server has lost it; calls wait for that.

use crate::client::{ClientError, RpcClient, RpcOptions, nfs_program};
use crate::security::{GssContext, lost_context};
use crate::target::{Service, explain, nfs_options};
use filermark_engine::driver::DriverError;
use filermark_model::Nanos;
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_onc::rpc::{AuthBody, peek_xid};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

/// Calls of one connection for which a context has space, when all are used alike.
const CALLS_PER_CONN: u32 = 2;
/// How often in a row a context may be lost before calls end.
const LOSSES_MAX: u32 = 8;
/// The pause after a context that could not be established.
const RETRY_AFTER: Nanos = Nanos::from_secs(1);
/// How often it is looked for contexts that are being established.
const LOOK_INTERVAL: Nanos = Nanos::from_millis(2);
/// The longest wait for an answer when contexts are ended.
const END_LIMIT: Duration = Duration::from_secs(1);
/// Bytes of a message that show its xid and its kind, and no more.
const FRONT_BYTES: usize = 8;

/// The peer of a connection: its address, and a mount point on it. The host of that is in the server's principal.
pub(crate) type GssPeer = (SocketAddr, MountPoint);

/// The peers of the connections, from the mount points of the procs that use them. The connections to one server are
/// numbered in a row, and the first of them has a proc: one without a proc has the peer of the one before.
pub(crate) fn peers<'m>(
    addresses: impl IntoIterator<Item = SocketAddr>,
    mounts: impl IntoIterator<Item = (u32, &'m MountPoint)>,
) -> Vec<GssPeer> {
    let mounts: HashMap<u32, &MountPoint> = mounts.into_iter().collect();
    let mut peers: Vec<GssPeer> = Vec::new();
    for (number, address) in addresses.into_iter().enumerate() {
        let own = mounts.get(&(number as u32)).copied();
        let before = peers.last().map(|(_, mount)| mount);
        if let Some(mount) = own.or(before).cloned() {
            peers.push((address, mount));
        }
    }
    peers
}

/// Which place each connection has: those to one address under one host name share places, as far as there is space.
/// `establish` makes another place and returns its window.
fn assign<E>(
    peers: &[GssPeer],
    mut establish: impl FnMut(&GssPeer) -> Result<u32, E>,
) -> Result<Vec<usize>, E> {
    // The last place of each server, and how many connections it takes.
    let mut open: HashMap<(SocketAddr, &str), (usize, u32)> = HashMap::new();
    let (mut of_conn, mut places) = (Vec::with_capacity(peers.len()), 0);
    for peer in peers {
        let server = (peer.0, peer.1.host.as_str());
        let place = match open.get_mut(&server) {
            Some((place, left)) if *left > 0 => {
                *left -= 1;
                *place
            }
            _ => {
                let conns = (establish(peer)? / CALLS_PER_CONN).max(1);
                open.insert(server, (places, conns - 1));
                places += 1;
                places - 1
            }
        };
        of_conn.push(place);
    }
    Ok(of_conn)
}

/// The contexts of a shard, and the calls under way in them.
#[derive(Debug)]
pub(crate) struct Contexts {
    places: Vec<Place>,
    /// The place of each connection.
    of_conn: Vec<usize>,
    /// The calls under way, by connection and xid.
    sent: HashMap<(u32, u32), Sent>,
    /// Connections whose calls wait for a window or a context.
    waiting: Vec<u32>,
    /// By connection: since when its calls wait for the window.
    full_since: Vec<Option<Nanos>>,
    /// The last reply without its protection.
    plain: Vec<u8>,
    /// When a timer of the shard looks for contexts that are due or established.
    timer_at: Option<Nanos>,
}

/// Where a context is, or one is to be.
#[derive(Debug)]
struct Place {
    address: SocketAddr,
    plan: NfsPlan,
    options: RpcOptions,
    current: Option<Box<GssContext>>,
    /// The ones before with their numbers, for replies that are still to come.
    earlier: Vec<(u32, Box<GssContext>)>,
    /// Counts contexts; the number of the current one.
    number: u32,
    /// Contexts lost since the last reply.
    losses: u32,
    renewal: Renewal,
}

/// How far the next context is.
#[derive(Debug)]
enum Renewal {
    /// When one is needed is not known yet.
    Unplanned,
    /// None is needed as long as the server has this one: it has no limit.
    NotNeeded,
    /// One is established then.
    At(Nanos),
    /// A thread establishes it.
    UnderWay(Receiver<Result<Box<GssContext>, ClientError>>),
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The number of its context.
    context: u32,
    /// Its sequence number.
    number: u32,
}

/// Why calls of a connection wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// They do not.
    Free,
    /// The window is full.
    WindowIsFull,
    /// There is no context.
    NoContext,
}

/// A reply without its protection.
#[derive(Debug)]
pub(crate) enum Opened<'r> {
    /// The reply. One that is not protected as it must be has nothing but its xid.
    Reply(&'r [u8]),
    /// The server has not executed the call, because it does not know the context: the call is to be sent
    /// again. The text says why.
    Lost(&'static str),
}

/// What has become of contexts that were established again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renewed {
    pub(crate) established: u64,
    pub(crate) failed: u64,
}

impl Contexts {
    /// Establishes the contexts for connections to these peers. `None`: the plan has no Kerberos.
    ///
    /// # Errors
    /// A context could not be established: why, and what to do.
    pub(crate) fn establish(
        plan: &NfsPlan,
        peers: &[GssPeer],
    ) -> Result<Option<Self>, DriverError> {
        if plan.security.is_sys() {
            return Ok(None);
        }
        let mut places = Vec::new();
        let of_conn = assign(peers, |(address, mount)| {
            let place = Place::establish(plan, *address, mount)?;
            let window = place.window();
            places.push(place);
            Ok::<_, DriverError>(window)
        })?;
        Ok(Some(Self {
            full_since: vec![None; of_conn.len()],
            places,
            of_conn,
            sent: HashMap::new(),
            waiting: Vec::new(),
            plain: Vec::new(),
            timer_at: None,
        }))
    }

    fn place(&mut self, conn: u32) -> &mut Place {
        let place = self.of_conn[conn as usize];
        &mut self.places[place]
    }

    /// Whether another call of a connection can be protected now. A connection whose calls cannot is
    /// noted.
    pub(crate) fn space(&mut self, conn: u32, now: Nanos) -> Space {
        let place = self.place(conn);
        place.replace_used_up(now);
        let space = place.space();
        if space != Space::Free && !self.waiting.contains(&conn) {
            self.waiting.push(conn);
        }
        if space == Space::WindowIsFull
            && let Some(since) = self.full_since.get_mut(conn as usize)
        {
            since.get_or_insert(now);
        }
        space
    }

    /// Since when calls of a connection wait for the window. `None`: none waits, or all have gone.
    #[inline]
    pub(crate) fn full_since(&mut self, conn: u32) -> Option<&mut Option<Nanos>> {
        self.full_since.get_mut(conn as usize)
    }

    /// Takes the connections that waited and that have space now.
    pub(crate) fn take_free(&mut self, mut each: impl FnMut(u32)) {
        let (of_conn, places) = (&self.of_conn, &self.places);
        self.waiting.retain(|conn| {
            let is_free = places[of_conn[*conn as usize]].space() == Space::Free;
            if is_free {
                each(*conn);
            }
            !is_free
        });
    }

    /// Protects the call that is a record from `start` to the end of `out`; `false`: it cannot be
    /// protected, `out` ends at `start`, and another context is needed.
    pub(crate) fn protect(
        &mut self,
        conn: u32,
        out: &mut Vec<u8>,
        start: usize,
        now: Nanos,
    ) -> bool {
        // Behind the record mark.
        let xid = out.get(start + 4..).and_then(peek_xid).unwrap_or_default();
        let place = self.place(conn);
        let context = place.number;
        let protected = place.current.as_mut().map(|c| c.protect(out, start));
        match protected {
            Some(Ok(number)) => {
                let before = self.sent.insert((conn, xid), Sent { context, number });
                if let Some(before) = before {
                    self.place(conn).release(before);
                }
                true
            }
            Some(Err(error)) => {
                tracing::debug!(target: "filermark_nfs::rpc", conn, %error, "context lost");
                out.truncate(start);
                self.place(conn).lose(context, now);
                false
            }
            None => {
                out.truncate(start);
                false
            }
        }
    }

    /// Takes the protection from a reply.
    pub(crate) fn open<'r>(&'r mut self, conn: u32, record: &'r [u8], now: Nanos) -> Opened<'r> {
        let front = record.get(..FRONT_BYTES).unwrap_or(record);
        let xid = peek_xid(record).unwrap_or_default();
        let Some(sent) = self.sent.remove(&(conn, xid)) else {
            return Opened::Reply(front);
        };
        let place = &mut self.places[self.of_conn[conn as usize]];
        if let Some(stat) = lost_context(record) {
            place.release(sent);
            return match place.lose(sent.context, now) {
                true => Opened::Lost(stat.name()),
                false => Opened::Reply(record),
            };
        }
        // It is there: it had a call under way.
        let Some(context) = place.context(sent.context) else {
            return Opened::Reply(front);
        };
        let opened = context.open(sent.number, record, &mut self.plain);
        place.losses *= u32::from(opened.is_err());
        place.release(sent);
        match opened {
            Ok(plain) => Opened::Reply(plain),
            Err(error) => {
                tracing::debug!(target: "filermark_nfs::rpc", conn, %error, "bad reply");
                Opened::Reply(front)
            }
        }
    }

    /// A connection has ended: its calls get no replies.
    pub(crate) fn closed(&mut self, conn: u32) {
        let place = &mut self.places[self.of_conn[conn as usize]];
        self.sent.retain(|(of, _), sent| {
            if *of == conn {
                place.release(*sent);
            }
            *of != conn
        });
    }

    /// When a timer is to be started that looks for contexts; `None`: there is one that is as early, or nothing
    /// is to be looked for.
    pub(crate) fn next_timer(&mut self, now: Nanos) -> Option<Nanos> {
        let next = self
            .places
            .iter_mut()
            .filter_map(|p| p.next_look(now))
            .min();
        let next = next?.max(now + LOOK_INTERVAL);
        let is_later = self.timer_at.is_some_and(|at| at <= next);
        (!is_later).then(|| *self.timer_at.insert(next))
    }

    /// A timer has expired. Begins to establish contexts that are due, and takes those that are established.
    pub(crate) fn renew(&mut self, now: Nanos) -> Renewed {
        self.timer_at.take_if(|at| *at <= now);
        let mut renewed = Renewed::default();
        for place in &mut self.places {
            place.renew(now, &mut renewed);
        }
        renewed
    }

    /// There are no timers any more.
    pub(crate) fn timers_taken(&mut self) {
        self.timer_at = None;
    }

    /// Ends all contexts on the servers (RPCSEC_GSS_DESTROY). Blocks for a moment.
    pub(crate) fn end(&mut self) {
        let mut servers: HashMap<SocketAddr, RpcClient> = HashMap::new();
        for place in &mut self.places {
            let Some(mut context) = place.current.take() else {
                continue;
            };
            let rpc = servers.entry(place.address).or_insert_with(|| {
                let options = RpcOptions {
                    kerberos: None,
                    connect_timeout: END_LIMIT,
                    reply_timeout: END_LIMIT,
                    ..place.options.clone()
                };
                client(&place.plan, place.address, options)
            });
            if !rpc.destroy(&mut context) {
                return;
            }
        }
    }
}

impl Place {
    fn establish(
        plan: &NfsPlan,
        address: SocketAddr,
        mount: &MountPoint,
    ) -> Result<Self, DriverError> {
        let options = RpcOptions {
            retries: 0,
            ..nfs_options(plan, &mount.host)
        };
        let context = client(plan, address, options.clone()).new_context();
        let context = context.map_err(|error| {
            let step = "establish a context of Kerberos";
            explain(&mount.host, step, Service::Nfs, address, &error)
        })?;
        Ok(Self {
            address,
            plan: plan.clone(),
            options,
            current: Some(context),
            earlier: Vec::new(),
            number: 1,
            losses: 0,
            renewal: Renewal::Unplanned,
        })
    }

    fn window(&self) -> u32 {
        self.current.as_ref().map_or(1, |c| c.window.size())
    }

    fn space(&self) -> Space {
        match &self.current {
            None => Space::NoContext,
            Some(context) if context.window.is_full() => Space::WindowIsFull,
            Some(_) => Space::Free,
        }
    }

    /// The context of this number, if it is still known.
    fn context(&mut self, number: u32) -> Option<&mut GssContext> {
        match &mut self.current {
            Some(current) if number == self.number => Some(current),
            _ => {
                let mut earlier = self.earlier.iter_mut();
                let (_, context) = earlier.find(|(of, _)| *of == number)?;
                Some(context)
            }
        }
    }

    fn release(&mut self, sent: Sent) {
        if let Some(context) = self.context(sent.context) {
            context.window.release(sent.number);
        }
        if !self.earlier.is_empty() {
            self.earlier
                .retain(|(_, context)| !context.window.is_idle());
        }
    }

    /// The context of this number cannot be used any more; returns whether calls are to be sent again in
    /// another one.
    fn lose(&mut self, number: u32, now: Nanos) -> bool {
        if number == self.number
            && let Some(lost) = self.current.take()
        {
            if !lost.window.is_idle() {
                self.earlier.push((number, lost));
            }
            self.renewal = Renewal::At(now);
            self.losses += 1;
        }
        self.losses <= LOSSES_MAX
    }

    /// Loses a context that has no more sequence numbers (RFC 2203 section 5.3.3.1).
    fn replace_used_up(&mut self, now: Nanos) {
        if self.current.as_ref().is_some_and(|c| c.window.is_used_up()) {
            self.lose(self.number, now);
        }
    }

    /// When it is to be looked for its next context; `None`: none is needed.
    fn next_look(&mut self, now: Nanos) -> Option<Nanos> {
        if let (Renewal::Unplanned, Some(current)) = (&self.renewal, &self.current) {
            let due = current.lifetime().map(renewed_after);
            self.renewal = due.map_or(Renewal::NotNeeded, |after| Renewal::At(now + after));
        }
        match self.renewal {
            Renewal::Unplanned | Renewal::NotNeeded => None,
            Renewal::At(time) => Some(time),
            Renewal::UnderWay(_) => Some(now),
        }
    }

    fn renew(&mut self, now: Nanos, renewed: &mut Renewed) {
        match &self.renewal {
            Renewal::Unplanned | Renewal::NotNeeded => {}
            Renewal::At(time) if *time <= now => self.renewal = self.begin(now),
            Renewal::At(_) => {}
            Renewal::UnderWay(receiver) => match receiver.try_recv() {
                Ok(Ok(context)) => {
                    if let Some(before) = self.current.replace(context)
                        && !before.window.is_idle()
                    {
                        self.earlier.push((self.number, before));
                    }
                    self.number = self.number.wrapping_add(1);
                    self.renewal = Renewal::Unplanned;
                    renewed.established += 1;
                }
                Ok(Err(error)) => {
                    tracing::warn!(server = %self.address, %error, "a context of Kerberos cannot be established");
                    self.renewal = Renewal::At(now + RETRY_AFTER);
                    renewed.failed += 1;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.renewal = Renewal::At(now + RETRY_AFTER),
            },
        }
    }

    /// Begins to establish a context. The thread ends by the time limits of its client, and of the library.
    fn begin(&self, now: Nanos) -> Renewal {
        let (sender, receiver) = sync_channel(1);
        let (plan, address, options) = (self.plan.clone(), self.address, self.options.clone());
        let thread = std::thread::Builder::new().name("kerberos".into());
        let begun = thread.spawn(move || {
            let _ = sender.send(client(&plan, address, options).new_context());
        });
        match begun {
            Ok(_) => Renewal::UnderWay(receiver),
            Err(_) => Renewal::At(now + RETRY_AFTER),
        }
    }
}

/// After which part of its lifetime a context is replaced. Where the ticket stays the same, so does the time at which
/// it expires, and the steps get shorter; the last one is not longer than a pause.
fn renewed_after(lifetime: Duration) -> Nanos {
    let lifetime = u64::try_from(lifetime.as_nanos()).unwrap_or(u64::MAX);
    Nanos(lifetime / 4 * 3).max(RETRY_AFTER)
}

fn client(plan: &NfsPlan, address: SocketAddr, options: RpcOptions) -> RpcClient {
    RpcClient::new(address, nfs_program(plan.version), AuthBody::NONE, options)
}

#[cfg(test)]
mod tests;
