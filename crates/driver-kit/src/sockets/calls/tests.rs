use super::*;
use crate::extends;

const SLOTS: u32 = 512;

#[derive(Debug)]
struct Call {
    base: CallBase,
}

extends!(Call, CallBase);

impl From<CallBase> for Call {
    fn from(base: CallBase) -> Self {
        Self { base }
    }
}

fn table(connections: usize, generation: u32) -> Calls<Call> {
    Calls::new(connections, SLOTS, generation)
}

fn begin(calls: &mut Calls<Call>, conn: u32) -> u32 {
    let call = calls.begin(9, conn, Nanos(1));
    call.map(|c| c.xid).expect("a free slot")
}

fn slot(calls: &Calls<Call>, xid: u32) -> u32 {
    calls.find(xid).expect("under way")
}

#[test]
fn a_reply_finds_its_call_and_no_later_one() {
    let mut calls = table(1, 77);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 * SLOTS {
        let xid = begin(&mut calls, 0);
        assert!(seen.insert(xid), "xid {xid:#x} is repeated");
        let slot = slot(&calls, xid);
        calls.end(slot);
        assert_eq!(calls.find(xid), None);
    }
    assert_eq!(calls.find(u32::MAX), None);
    assert_eq!(calls.slots.len() as u32, SLOTS);
}

#[test]
fn calls_are_encoded_and_stamped_in_order_and_again_after_a_rewind() {
    let mut calls = table(2, 0);
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
    let mut calls = table(2, 0);
    let xids: Vec<u32> = (0..3).map(|n| begin(&mut calls, n % 2)).collect();
    let oldest = |calls: &Calls<Call>| calls.oldest().next().map(|(_, c)| c.xid);
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
fn the_slab_grows_as_needed() {
    let mut calls = table(1, 3);
    let free = calls.free_slots();
    for n in 1..=2000 {
        begin(&mut calls, 0);
        assert_eq!(calls.free_slots(), free - n);
    }
}

#[test]
fn each_stage_has_its_own_oldest_call_and_calls_that_are_sent_again_are_last() {
    let mut calls = table(1, 0);
    let xids: Vec<u32> = (0..4)
        .map(|n| calls.begin(n, 0, Nanos(n.into())).expect("a free slot").xid)
        .collect();
    let slots: Vec<u32> = xids.iter().map(|x| calls.find(*x).expect("used")).collect();
    for at in 0..4 {
        assert_eq!(calls.next_to_encode(0), Some(slots[at as usize]));
        calls.encoded(0, at);
    }
    // The system has taken two of four.
    assert_eq!(calls.next_sent(0, 2), Some(slots[0]));
    assert_eq!(calls.next_sent(0, 2), Some(slots[1]));
    assert_eq!(calls.next_sent(0, 2), None);
    calls.rewind_unsent(0);
    assert_eq!(calls.next_to_encode(0), Some(slots[2]));
    // The first is sent again, after those that were never sent.
    calls.send_again(slots[0], 1, Nanos(9));
    let oldest: Vec<u32> = calls.oldest().map(|(slot, _)| slot).collect();
    assert_eq!(oldest, [slots[1], slots[0]]);
    let mut order = Vec::new();
    while let Some(slot) = calls.next_to_encode(0) {
        calls.encoded(0, 2 + order.len() as u32);
        order.push(slot);
    }
    assert_eq!(order, [slots[2], slots[3], slots[0]]);
    assert_eq!(calls.get(slots[0]).xid, xids[0], "the same xid");
    // The last stage is the limit.
    calls.send_again(slots[1], u8::MAX, Nanos(10));
    assert_eq!(usize::from(calls.get(slots[1]).stage), STAGES - 1);
    slots.iter().for_each(|slot| calls.end(*slot));
    assert_eq!(calls.oldest().count(), 0);
}

/// A call whose session had expired is sent first when the session is renewed.
#[test]
fn a_requeued_call_is_the_next_one_and_is_stamped_again() {
    for (encoded, stamped) in [(1, 1), (2, 2), (3, 2), (3, 3)] {
        let mut calls = table(1, 0);
        let xids: Vec<u32> = (0..3).map(|_| begin(&mut calls, 0)).collect();
        let slots: Vec<u32> = xids.iter().map(|x| slot(&calls, *x)).collect();
        for at in 0..encoded {
            calls.encoded(0, at);
        }
        for nth in 0..stamped {
            assert_eq!(calls.next_sent(0, stamped), Some(slots[nth as usize]));
        }
        assert!(calls.get(slots[0]).is_encoded());
        calls.requeue(slots[0]);
        assert!(!calls.get(slots[0]).is_encoded());
        assert_eq!(calls.next_to_encode(0), Some(slots[0]), "of {encoded}");
        // Calls that were encoded and not sent are still before it.
        for nth in stamped..encoded {
            assert_eq!(calls.next_sent(0, encoded), Some(slots[nth as usize]));
        }
        let mut order = Vec::new();
        while let Some(slot) = calls.next_to_encode(0) {
            calls.encoded(0, 10 + order.len() as u32);
            order.push(slot);
        }
        let rest = &slots[encoded as usize..];
        assert_eq!(order[0], slots[0]);
        assert_eq!(&order[1..], rest);
        for slot in &order {
            assert_eq!(calls.next_sent(0, 99), Some(*slot));
        }
        calls.rewind(0);
        assert!(slots.iter().all(|s| !calls.get(*s).is_encoded()));
        slots.iter().for_each(|slot| calls.end(*slot));
        assert_eq!((calls.first(0), calls.oldest().count()), (None, 0));
    }
}

#[test]
fn a_connection_is_dirty_once_until_its_turn() {
    let mut calls = table(3, 0);
    begin(&mut calls, 2);
    begin(&mut calls, 2);
    calls.mark_dirty(0);
    assert_eq!(calls.next_dirty(0), Some(2));
    calls.mark_dirty(2);
    assert_eq!(
        [1, 2, 3].map(|place| calls.next_dirty(place)),
        [Some(0), Some(2), None]
    );
    assert_eq!(calls.next_dirty(0), None);
}
