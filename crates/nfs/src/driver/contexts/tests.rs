use super::*;
use filermark_onc::rpc::GSS_MAXSEQ;
use std::convert::Infallible;

fn mount(host: &str, path: &str) -> MountPoint {
    MountPoint {
        host: host.to_owned(),
        path: path.to_owned(),
    }
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// The places of the connections, and the host names for which contexts are established.
fn assigned(peers: &[GssPeer], window: u32) -> (Vec<usize>, Vec<String>) {
    let mut hosts = Vec::new();
    let of_conn = assign(peers, |(_, mount)| {
        hosts.push(mount.host.clone());
        Ok::<_, Infallible>(window)
    });
    let Ok(of_conn) = of_conn;
    (of_conn, hosts)
}

#[test]
fn two_names_of_one_address_have_a_context_each() {
    let (first, second) = (mount("a.test", "/x"), mount("b.test", "/x"));
    let of_procs = [(0, &first), (1, &second), (2, &first), (3, &second)];
    let peers = peers([address(1); 4], of_procs);
    let hosts: Vec<&str> = peers.iter().map(|(_, m)| m.host.as_str()).collect();
    assert_eq!(hosts, ["a.test", "b.test", "a.test", "b.test"]);
    let (of_conn, hosts) = assigned(&peers, 32);
    assert_eq!(of_conn, [0, 1, 0, 1]);
    assert_eq!(hosts, ["a.test", "b.test"]);
}

#[test]
fn two_paths_of_one_name_share_a_context() {
    let (first, second) = (mount("a.test", "/x"), mount("a.test", "/y"));
    let peers = peers([address(1); 2], [(0, &first), (1, &second)]);
    assert_eq!(assigned(&peers, 32).0, [0, 0]);
}

#[test]
fn a_context_takes_two_calls_of_each_connection() {
    let only = mount("a.test", "/x");
    let peers = peers([address(1); 5], (0..5).map(|conn| (conn, &only)));
    assert_eq!(assigned(&peers, 4).0, [0, 0, 1, 1, 2]);
    assert_eq!(assigned(&peers, 1).0, [0, 1, 2, 3, 4]);
}

#[test]
fn a_connection_without_a_proc_is_to_the_server_before() {
    let (first, second) = (mount("a.test", "/x"), mount("b.test", "/x"));
    let addresses = [1, 1, 1, 2, 2].map(address);
    let peers = peers(addresses, [(0, &first), (3, &second)]);
    let hosts: Vec<&str> = peers.iter().map(|(_, m)| m.host.as_str()).collect();
    assert_eq!(hosts, ["a.test", "a.test", "a.test", "b.test", "b.test"]);
}

impl Contexts {
    /// One for connection 0 that was not established: it has numbers from `next` on, and signs nothing. `None`: this
    /// host has no library of Kerberos, and needs none (`FILERMARK_TESTBED`).
    #[track_caller]
    pub(in crate::driver) fn for_tests(next: u32) -> Option<Self> {
        let context = GssContext::for_tests(next);
        #[cfg(target_os = "linux")]
        let context = filermark_testbed::available(
            context.map_err(|error| filermark_testbed::Error::Unavailable(error.to_string())),
        )?;
        #[cfg(not(target_os = "linux"))]
        let context = context.ok()?;
        let only = mount("a.test", "/x");
        let plan = crate::driver::tests::plan();
        let place = Place {
            address: address(1),
            options: nfs_options(&plan, &only.host),
            plan,
            current: Some(Box::new(context)),
            earlier: Vec::new(),
            number: 1,
            losses: 0,
            renewal: Renewal::Unplanned,
        };
        Some(Self {
            places: vec![place],
            of_conn: vec![0],
            full_since: vec![None],
            sent: HashMap::new(),
            waiting: Vec::new(),
            plain: Vec::new(),
            timer_at: None,
        })
    }

    pub(in crate::driver) fn has_timer(&self) -> bool {
        self.timer_at.is_some()
    }

    /// Whether a connection is woken when there is a context.
    pub(in crate::driver) fn is_waiting(&self, conn: u32) -> bool {
        self.waiting.contains(&conn)
    }
}

/// A server must refuse a higher number, so no call is sent with one.
#[test]
fn a_context_without_numbers_is_replaced_before_a_call_is_refused() {
    for (next, wanted, is_renewing) in [
        (GSS_MAXSEQ - 1, Space::Free, false),
        (GSS_MAXSEQ, Space::NoContext, true),
    ] {
        let Some(mut contexts) = Contexts::for_tests(next) else {
            return;
        };
        assert_eq!(contexts.space(0, Nanos::ZERO), wanted, "{next}");
        let look = contexts.next_timer(Nanos::ZERO);
        assert_eq!(look, is_renewing.then_some(LOOK_INTERVAL), "{next}");
    }
}

/// The next context is established while calls have the one whose ticket is about to expire; calls that are under way
/// in that one get their replies.
#[test]
fn a_context_is_replaced_before_its_ticket_expires() {
    let hour = Duration::from_secs(3_600);
    let (Some(mut contexts), Ok(mut next)) = (Contexts::for_tests(1), GssContext::for_tests(1))
    else {
        return;
    };
    let place = &mut contexts.places[0];
    let current = place.current.as_mut().expect("there is one");
    current.live_for(hour);
    current.window.take();
    next.live_for(hour);
    let (at, due) = (Nanos::from_secs(5), Nanos::from_secs(5 + 2_700));
    assert_eq!(contexts.next_timer(at), Some(due), "three quarters of it");
    assert_eq!(contexts.next_timer(due), None, "there is a timer");
    // Before that nothing is begun.
    assert_eq!(contexts.renew(Nanos(due.0 - 1)), Renewed::default());
    assert!(matches!(contexts.places[0].renewal, Renewal::At(time) if time == due));
    let (sender, receiver) = sync_channel(1);
    contexts.places[0].renewal = Renewal::UnderWay(receiver);
    assert_eq!(contexts.renew(due), Renewed::default());
    assert_eq!(
        contexts.space(0, due),
        Space::Free,
        "calls have the earlier one"
    );
    assert_eq!(contexts.next_timer(due), Some(due + LOOK_INTERVAL));
    sender.send(Ok(Box::new(next))).expect("it is waited for");
    let found = due + LOOK_INTERVAL;
    assert_eq!(contexts.renew(found).established, 1);
    assert_eq!(
        (contexts.places[0].number, contexts.places[0].earlier.len()),
        (2, 1)
    );
    assert!(contexts.places[0].context(1).is_some());
    assert_eq!(
        contexts.next_timer(found),
        Some(found + Nanos::from_secs(2_700))
    );
    // One that cannot be established leaves the calls the context that there is.
    let (sender, receiver) = sync_channel(1);
    contexts.places[0].renewal = Renewal::UnderWay(receiver);
    drop(sender);
    contexts.renew(found);
    assert_eq!(contexts.space(0, found), Space::Free);
}

#[test]
fn a_ticket_that_is_about_to_expire_is_not_asked_for_all_the_time() {
    let mut left = Duration::from_secs(36_000);
    let mut steps = 0;
    while left > Duration::ZERO {
        left = left.saturating_sub(Duration::from_nanos(renewed_after(left).0));
        steps += 1;
    }
    assert!(steps < 12, "{steps}");
}
