use super::*;

const LIMITS: Limits = Limits {
    request_bytes: 4096,
    response_bytes: 4096,
    cached_bytes: 1000 - SLOT_BYTES as u32,
    operations: 8,
    slots: 8,
};

fn request(name: &[u8], verifier: u8) -> ClientRequest<'_> {
    ClientRequest {
        ownerid: name,
        verifier: [verifier; 8],
        uid: 1000,
        is_update: false,
    }
}

fn new_session(clientid: Clientid4, sequence: u32) -> SessionRequest {
    SessionRequest {
        clientid,
        sequence,
        uid: 1000,
        limits: LIMITS,
    }
}

fn clients() -> Clients {
    Clients::new(5, 1 << 20)
}

fn confirmed(clients: &Clients, name: &[u8], verifier: u8) -> (Clientid4, Sessionid4) {
    let id = clients
        .exchange(&request(name, verifier), 0)
        .expect("a client ID");
    let (created, _) = clients.create_session(&new_session(id.clientid, id.sequence), None, 0);
    (id.clientid, created.expect("a session").sessionid)
}

#[test]
fn a_client_is_confirmed_by_its_first_session() {
    let clients = clients();
    let first = clients.exchange(&request(b"one", 1), 0).expect("new");
    assert!(!first.is_confirmed && first.sequence == 1);
    // Unconfirmed: the next EXCHANGE_ID replaces it.
    let second = clients.exchange(&request(b"one", 1), 0).expect("new");
    assert_ne!(first.clientid, second.clientid);
    let stale = clients
        .create_session(&new_session(first.clientid, 1), None, 0)
        .0;
    assert_eq!(stale, Err(Nfsstat4::StaleClientid));
    let created = clients
        .create_session(&new_session(second.clientid, 1), None, 0)
        .0;
    let again = clients
        .create_session(&new_session(second.clientid, 1), None, 0)
        .0;
    assert_eq!(created, again, "a replay");
    let third = clients.exchange(&request(b"one", 1), 0).expect("known");
    let expected = Exchanged {
        clientid: second.clientid,
        sequence: 2,
        is_confirmed: true,
    };
    assert_eq!(third, expected);
    for sequence in [0, 3] {
        let answer = clients
            .create_session(&new_session(second.clientid, sequence), None, 0)
            .0;
        assert_eq!(answer, Err(Nfsstat4::SeqMisordered));
    }
}

#[test]
fn a_restarted_client_replaces_the_earlier_one_with_its_first_session() {
    let clients = clients();
    let (old, session) = confirmed(&clients, b"one", 1);
    let new = clients.exchange(&request(b"one", 2), 0).expect("new");
    assert!(clients.session(&session).is_ok());
    let (created, replaced) = clients.create_session(&new_session(new.clientid, 1), None, 0);
    assert!(created.is_ok());
    let replaced = replaced.expect("a client that ended");
    assert_eq!((replaced.id, replaced.count_state()), (old, false));
    assert!(clients.session(&session).is_err());
    assert_eq!(
        clients.destroy_client(old).err(),
        Some(Nfsstat4::StaleClientid)
    );
}

#[test]
fn updates_and_foreign_users_are_refused() {
    let clients = clients();
    let update = |verifier, uid| ClientRequest {
        uid,
        is_update: true,
        ..request(b"one", verifier)
    };
    let answer = |request: &ClientRequest<'_>| clients.exchange(request, 0).err();
    assert_eq!(answer(&update(1, 1000)), Some(Nfsstat4::Noent));
    let (id, session) = confirmed(&clients, b"one", 1);
    assert_eq!(answer(&update(1, 1000)), None);
    assert_eq!(answer(&update(2, 1000)), Some(Nfsstat4::NotSame));
    assert_eq!(answer(&update(1, 7)), Some(Nfsstat4::Perm));
    let client = clients.session(&session).expect("a session").client.clone();
    assert_eq!(client.id, id);
    assert!(client.count_state());
    let foreign = ClientRequest {
        uid: 7,
        ..request(b"one", 1)
    };
    assert_eq!(answer(&foreign), Some(Nfsstat4::ClidInuse));
    assert_eq!(
        clients.destroy_client(id).err(),
        Some(Nfsstat4::ClientidBusy)
    );
    clients.destroy_session(&session).expect("destroyed");
    assert_eq!(
        clients.destroy_client(id).err(),
        Some(Nfsstat4::ClientidBusy)
    );
    client.count_state_ended();
    assert!(clients.destroy_client(id).is_ok());
    assert!(clients.read().names.is_empty());
}

#[test]
fn clients_end_when_their_lease_has_expired() {
    let clients = clients();
    let (_, silent) = confirmed(&clients, b"silent", 1);
    let (_, active) = confirmed(&clients, b"active", 1);
    clients
        .session(&active)
        .expect("a session")
        .client
        .renew(50);
    let ended = clients.end_expired(50);
    assert_eq!(ended.len(), 1);
    assert!(clients.session(&silent).is_err() && clients.session(&active).is_ok());
}

#[test]
fn sessions_and_their_memory_are_limited() {
    let clients = Clients::new(5, 13_000);
    let (id, first) = confirmed(&clients, b"one", 1);
    let slots = |id: &Sessionid4| clients.session(id).expect("a session").limits.slots;
    assert_eq!(slots(&first), 8);
    let mut ids = vec![first];
    for (sequence, expected) in [(2, 4), (3, 1)] {
        let created = clients
            .create_session(&new_session(id, sequence), None, 0)
            .0;
        ids.push(created.expect("a session").sessionid);
        assert_eq!(slots(&ids[ids.len() - 1]), expected);
    }
    let full = clients.create_session(&new_session(id, 4), None, 0).0;
    assert_eq!(full, Err(Nfsstat4::Nospc));
    for id in &ids {
        clients.destroy_session(id).expect("destroyed");
    }
    assert_eq!(clients.read().cache_bytes, 0);
    let created = clients.create_session(&new_session(id, 5), None, 0).0;
    assert_eq!(slots(&created.expect("a session").sessionid), 8);
}
