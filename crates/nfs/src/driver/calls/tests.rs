use super::*;

fn begin(calls: &mut Calls, conn: u32) -> u32 {
    let call = calls.begin(9, conn, Procedure::Getattr, Nanos(1));
    call.map(|c| c.xid).expect("room")
}

fn slot(calls: &Calls, xid: u32) -> u32 {
    calls.find(xid).expect("under way")
}

#[test]
fn a_reply_finds_its_call_and_no_later_one() {
    let mut calls = Calls::new(1, 77);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 * SLOTS_MIN {
        let xid = begin(&mut calls, 0);
        assert!(seen.insert(xid), "xid {xid:#x} came back");
        let slot = slot(&calls, xid);
        calls.end(slot);
        assert_eq!(calls.find(xid), None);
    }
    assert_eq!(calls.find(u32::MAX), None);
    assert_eq!(calls.slots.len() as u32, SLOTS_MIN);
}

#[test]
fn calls_are_encoded_and_stamped_in_order_and_again_after_a_rewind() {
    let mut calls = Calls::new(2, 0);
    let xids: Vec<u32> = (0..4).map(|_| begin(&mut calls, 1)).collect();
    assert_eq!(calls.next_to_encode(0), None);
    let slots: Vec<u32> = xids.iter().map(|x| slot(&calls, *x)).collect();
    // Positions near the wrap of 32 bits.
    let base = u32::MAX - 150;
    for at in 0..3u32 {
        assert_eq!(calls.next_to_encode(1), Some(slots[at as usize]));
        calls.encoded(1, base.wrapping_add(at * 100));
    }
    assert_eq!(calls.next_sent(1, base), None);
    assert_eq!(calls.next_sent(1, base + 1), Some(slots[0]));
    assert_eq!(calls.next_sent(1, base + 1), None);
    calls.end(slots[1]);
    assert_eq!(calls.next_sent(1, base.wrapping_add(300)), Some(slots[2]));
    assert_eq!(calls.next_sent(1, base.wrapping_add(999)), None);
    calls.rewind(1);
    assert_eq!(calls.next_to_encode(1), Some(slots[0]));
    calls.end(slots[0]);
    assert_eq!(calls.next_to_encode(1), Some(slots[2]));
    assert_eq!(calls.first(1), Some(slots[2]));
    assert_eq!(calls.after(slots[2]), Some(slots[3]));
    assert_eq!(calls.after(slots[3]), None);
}

#[test]
fn the_oldest_call_is_known() {
    let mut calls = Calls::new(2, 0);
    let xids: Vec<u32> = (0..3).map(|n| begin(&mut calls, n % 2)).collect();
    let oldest = |calls: &Calls| calls.oldest().map(|c| c.xid);
    assert_eq!(oldest(&calls), Some(xids[0]));
    let first = slot(&calls, xids[0]);
    calls.renew(first, Nanos(5));
    assert_eq!(oldest(&calls), Some(xids[1]));
    calls.end(slot(&calls, xids[1]));
    let third = slot(&calls, xids[2]);
    calls.park(third);
    assert_eq!(oldest(&calls), Some(xids[0]));
    calls.end(first);
    assert_eq!(oldest(&calls), None);
    calls.unpark(third, Nanos(9));
    assert_ne!(oldest(&calls), Some(xids[2]), "it has a new xid");
    assert_eq!(calls.find(xids[2]), None);
    assert_eq!(calls.first(0), Some(third));
    calls.end(third);
    assert_eq!(calls.first(0), None);
}

#[test]
fn the_slab_grows_when_it_must() {
    let mut calls = Calls::new(1, 3);
    let room = calls.room();
    for n in 1..=2000 {
        begin(&mut calls, 0);
        assert_eq!(calls.room(), room - n);
    }
}
