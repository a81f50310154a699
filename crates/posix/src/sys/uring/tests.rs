use super::*;
use std::io::Write;

const LIMIT: Option<Duration> = Some(Duration::from_secs(60));

/// io_uring is needed for these tests, as for a workload with a depth.
fn ring(slots: u32, slot_bytes: usize) -> Ring {
    Ring::new(slots, slot_bytes, 4).expect("io_uring; sysctl kernel.io_uring_disabled=0")
}

fn ended(ring: &mut Ring) -> Ended {
    loop {
        if let Some(ended) = ring.next_ended() {
            return ended;
        }
        ring.wait(LIMIT).expect("waited");
    }
}

/// Whether an address is mapped in this process.
fn is_mapped(at: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    maps.lines().any(|line| {
        let range = line.split(' ').next().unwrap_or_default();
        let (from, to) = range.split_once('-').unwrap_or_default();
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        (number(from)..number(to)).contains(&at)
    })
}

#[test]
fn what_is_written_is_read_by_as_many_calls_as_there_are_slots() {
    let file = tempfile::tempfile().expect("file");
    let mut ring = ring(8, 4096);
    ring.set_fd(2, Some(file.as_fd())).expect("listed");
    for slot in 0..8 {
        ring.buffer(slot).expect("free").fill(slot as u8 + 1);
        let at = u64::from(slot) * 4096;
        ring.start(slot, Call::Write, 2, 0..4096, at)
            .expect("begun");
    }
    assert_eq!((ring.busy_count(), ring.queued_count()), (8, 8));
    let mut seen: Vec<u32> = (0..8)
        .map(|_| {
            let Ended { slot, result } = ended(&mut ring);
            assert_eq!(result, Ok(4096));
            slot
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..8).collect::<Vec<u32>>());
    assert_eq!((ring.busy_count(), ring.queued_count()), (0, 0));
    ring.start(5, Call::Sync, 2, 0..0, 0).expect("begun");
    assert_eq!(ended(&mut ring).result, Ok(0));
    // The place after the end of the file is read short.
    ring.buffer(0).expect("free").fill(0);
    ring.start(0, Call::Read, 2, 100..4096, 7 * 4096 + 200)
        .expect("begun");
    assert_eq!(ended(&mut ring).result, Ok(3896));
    let bytes = ring.buffer(0).expect("free");
    assert!(bytes[100..3996].iter().all(|b| *b == 8));
    assert!(bytes[..100].iter().chain(&bytes[3996..]).all(|b| *b == 0));
}

#[test]
fn a_buffer_is_not_given_away_while_its_call_is_under_way() {
    let (from, mut to) = std::io::pipe().expect("pipe");
    let mut ring = ring(2, 4096);
    ring.set_fd(0, Some(from.as_fd())).expect("listed");
    // Offset -1: a pipe has no places.
    ring.start(1, Call::Read, 0, 0..10, u64::MAX)
        .expect("begun");
    assert!(ring.buffer(1).is_none() && ring.buffer(0).is_some());
    ring.wait(None).expect("sent");
    ring.wait(Some(Duration::from_millis(1))).expect("waited");
    assert_eq!(
        (ring.next_ended(), ring.busy_count(), ring.queued_count()),
        (None, 1, 0)
    );
    assert!(ring.buffer(1).is_none());
    let again = ring.start(1, Call::Read, 0, 0..10, u64::MAX);
    assert_eq!(again, Err(Errno::BUSY));
    to.write_all(b"abc").expect("written");
    assert_eq!(
        ended(&mut ring),
        Ended {
            slot: 1,
            result: Ok(3)
        }
    );
    assert_eq!(&ring.buffer(1).expect("free")[..3], b"abc");
}

#[test]
fn places_that_do_not_exist_are_refused() {
    let mut ring = ring(2, 4096);
    let mut refused = |slot, file, part: Range<usize>| {
        assert_eq!(
            ring.start(slot, Call::Read, file, part, 0),
            Err(Errno::INVAL)
        );
    };
    refused(2, 0, 0..1);
    refused(0, 4, 0..1);
    refused(0, 0, 0..4097);
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    refused(0, 0, 2..1);
    assert!(ring.buffer(2).is_none());
    assert!(ring.set_fd(4, None).is_err());
    // A place without a file is an error of the call.
    ring.start(0, Call::Read, 3, 0..1, 0).expect("begun");
    assert_eq!(
        ended(&mut ring).result.map_err(|e| e.0),
        Err(libc::EBADF as u32)
    );
    assert_eq!(ring.busy_count(), 0);
}

#[test]
fn a_queued_call_means_the_file_that_was_there() {
    let mut old = tempfile::tempfile().expect("file");
    let mut new = tempfile::tempfile().expect("file");
    old.write_all(b"old").expect("written");
    new.write_all(b"new").expect("written");
    let mut ring = ring(2, 4096);
    ring.set_fd(0, Some(old.as_fd())).expect("listed");
    ring.start(0, Call::Read, 0, 0..3, 0).expect("begun");
    drop(old);
    ring.set_fd(0, Some(new.as_fd())).expect("listed");
    assert_eq!(ended(&mut ring).result, Ok(3));
    assert_eq!(&ring.buffer(0).expect("free")[..3], b"old");
    ring.start(0, Call::Read, 0, 0..3, 0).expect("begun");
    ended(&mut ring);
    assert_eq!(&ring.buffer(0).expect("free")[..3], b"new");
}

/// A wait ends at its limit, and one without a limit at once.
#[test]
fn waits_end() {
    let (from, _to) = std::io::pipe().expect("pipe");
    let mut ring = ring(1, 4096);
    ring.set_fd(0, Some(from.as_fd())).expect("listed");
    ring.start(0, Call::Read, 0, 0..10, u64::MAX)
        .expect("begun");
    let began = Instant::now();
    ring.wait(None).expect("sent");
    ring.wait(Some(Duration::from_millis(20))).expect("waited");
    assert!(began.elapsed() >= Duration::from_millis(20));
    assert_eq!(ring.next_ended(), None);
}

#[test]
fn what_is_under_way_is_cancelled() {
    let (from, _to) = std::io::pipe().expect("pipe");
    let mut ring = ring(2, 4096);
    ring.set_fd(0, Some(from.as_fd())).expect("listed");
    for slot in 0..2 {
        ring.start(slot, Call::Read, 0, 0..10, u64::MAX)
            .expect("begun");
    }
    ring.wait(None).expect("sent");
    ring.cancel();
    for _ in 0..2 {
        assert_eq!(ended(&mut ring).result, Err(Errno::CANCELED));
    }
}

/// The memory of a ring that is dropped is unmapped only if the kernel does not use it.
#[test]
fn memory_outlives_the_calls_that_use_it() {
    let (from, mut to) = std::io::pipe().expect("pipe");
    for (is_sent, drop_max, is_left) in [
        (false, DROP_MAX, false),
        (true, Duration::from_secs(60), false),
        // As if the file system did not answer: nothing is waited for.
        (true, Duration::ZERO, true),
    ] {
        let mut ring = ring(2, 8192);
        ring.set_fd(0, Some(from.as_fd())).expect("listed");
        let at = ring.buffer(0).expect("free").as_ptr() as usize;
        ring.start(0, Call::Read, 0, 0..10, u64::MAX)
            .expect("begun");
        ring.drop_max = drop_max;
        ring.never_cancels = is_left;
        if is_sent {
            ring.wait(None).expect("sent");
        }
        assert!(is_mapped(at));
        drop(ring);
        assert_eq!(is_mapped(at), is_left, "{is_sent} {drop_max:?}");
    }
    // No thread waits for it any more.
    to.write_all(b"0123456789").expect("written");
}

/// However many calls are queued, one system call gives them to the kernel, and none is made where
/// some have ended and nothing is queued.
#[test]
fn what_is_queued_is_sent_by_one_system_call() {
    let file = tempfile::tempfile().expect("file");
    file.set_len(1 << 20).expect("extended");
    let mut ring = ring(32, 4096);
    ring.set_fd(0, Some(file.as_fd())).expect("listed");
    for turn in 0..100_u64 {
        for slot in 0..32 {
            let at = (turn * 32 + u64::from(slot)) % 256 * 4096;
            ring.start(slot, Call::Read, 0, 0..4096, at).expect("begun");
        }
        let before = ring.entered_count();
        ring.wait(LIMIT).expect("waited");
        assert_eq!((ring.queued_count(), ring.entered_count() - before), (0, 1));
        if ring.ended_count() > 0 {
            ring.wait(LIMIT).expect("waited");
            assert_eq!(ring.entered_count() - before, 1);
        }
        let mut left = 32;
        while left > 0 {
            ring.wait(LIMIT).expect("waited");
            while let Some(ended) = ring.next_ended() {
                assert_eq!(ended.result, Ok(4096));
                left -= 1;
            }
        }
    }
}
