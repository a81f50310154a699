use super::*;

/// An interface of 10 Gb/s that has counted for a while.
fn port() -> InterfaceCounters {
    InterfaceCounters {
        speed: 10_000_000_000,
        direction: 1,
        in_octets: 1_000_000_000_000,
        in_unicast: 1_000_000_000,
        in_multicast: 1000,
        in_broadcast: 100,
        out_octets: 2_000_000_000_000,
        out_unicast: 2_000_000_000,
        out_multicast: 2000,
        out_broadcast: 200,
        ..InterfaceCounters::default()
    }
}

#[test]
fn plain_rates() {
    let from = port();
    let mut to = from;
    to.in_octets += 500_000_000;
    to.in_unicast += 400_000;
    to.in_broadcast += 10;
    to.in_errors += 5;
    to.out_octets += 250_000_000;
    to.out_discards += 20;
    let (input, output) = rates(&from, &to, 5.0).expect("sound");
    assert_eq!(input.bytes_per_s, Some(1e8));
    assert_eq!(input.bytes, Some(500_000_000));
    assert_eq!((input.bad_packets, output.bad_packets), (Some(5), Some(20)));
    assert_eq!(input.packets_per_s, Some(80_002.0));
    assert_eq!(input.errors_per_s, Some(1.0));
    assert_eq!(input.utilisation, Some(0.08));
    assert_eq!(output.bytes_per_s, Some(5e7));
    assert_eq!(output.discards_per_s, Some(4.0));
    assert_eq!(output.utilisation, Some(0.04));
    to.direction = 2;
    let (input, output) = rates(&from, &to, 5.0).expect("sound");
    assert_eq!(
        (input.utilisation, output.utilisation),
        (Some(0.12), Some(0.12))
    );
}

#[test]
fn missing_counters_are_unknown() {
    let mut from = port();
    from.in_multicast = u32::MAX;
    from.in_errors = u32::MAX;
    from.out_octets = u64::MAX;
    from.speed = u64::from(u32::MAX);
    let mut to = from;
    to.in_octets += 100;
    to.in_unicast += 3;
    let (input, output) = rates(&from, &to, 1.0).expect("sound");
    assert_eq!(input.bytes_per_s, Some(100.0));
    assert_eq!(input.packets_per_s, Some(3.0));
    assert_eq!(input.errors_per_s, None);
    assert_eq!((input.bytes, output.bytes), (Some(100), None));
    assert_eq!(input.utilisation, None);
    assert_eq!(output.bytes_per_s, None);
    // It becomes known: no rate from all ones to a figure.
    let mut later = to;
    later.out_octets = 17;
    assert_eq!(rates(&to, &later, 1.0).expect("sound").1.bytes_per_s, None);
    for unknown in [0, u64::from(u32::MAX), u64::MAX] {
        assert_eq!(
            speed(&InterfaceCounters {
                speed: unknown,
                ..port()
            }),
            None
        );
    }
}

#[test]
fn counters_of_64_and_32_bits_wrap() {
    let mut from = port();
    from.in_octets = u64::MAX - 100;
    from.in_unicast = u32::MAX - 10;
    let mut to = from;
    to.in_octets = 900_000;
    to.in_unicast = 990;
    let (input, _) = rates(&from, &to, 1.0).expect("wraps");
    assert_eq!(input.bytes_per_s, Some(900_101.0));
    assert_eq!(input.packets_per_s, Some(1001.0));

    // A counter of 32 bits in a field of 64.
    let mut from = port();
    from.in_octets = u64::from(u32::MAX) - 999;
    let mut to = from;
    to.in_octets = 1_000_000;
    assert_eq!(
        rates(&from, &to, 1.0).expect("a wrap").0.bytes_per_s,
        Some(1_001_000.0)
    );
}

#[test]
fn both_packet_counters_wrap_in_one_interval() {
    let mut from = port();
    (from.in_unicast, from.out_unicast) = (u32::MAX - 10, u32::MAX - 20);
    let mut to = from;
    (to.in_unicast, to.out_unicast) = (89, 79);
    (to.in_octets, to.out_octets) = (from.in_octets + 100_000, from.out_octets + 6_400);
    let (input, output) = rates(&from, &to, 1.0).expect("wraps");
    assert_eq!(
        (input.packets_per_s, output.packets_per_s),
        (Some(100.0), Some(100.0))
    );
}

#[test]
fn counters_that_were_set_back_give_no_rate() {
    let from = port();
    let zero = InterfaceCounters {
        speed: from.speed,
        ..InterfaceCounters::default()
    };
    assert_eq!(rates(&from, &zero, 5.0), None);
    // Below 2^32, where each alone could have wrapped.
    let mut small = zero;
    (small.in_octets, small.in_unicast) = (4_000_000_000, 3_900_000_000);
    assert_eq!(rates(&small, &zero, 5.0), None);
    // Bytes are above their former value again, packets are not.
    let mut from = zero;
    (from.in_octets, from.in_unicast) = (100_000, 1500);
    let mut to = zero;
    (to.in_octets, to.in_unicast) = (150_000, 100);
    assert_eq!(rates(&from, &to, 5.0), None);
    // One counter only, but no wrap gives that value.
    let mut from = zero;
    from.in_octets = 1_000_000;
    assert_eq!(rates(&from, &zero, 5.0), None);
    // 2 GB in a second are too much for 1 Gb/s.
    from.in_octets = 2_500_000_000;
    from.speed = 1_000_000_000;
    let to = InterfaceCounters {
        in_octets: 100_000_000,
        ..from
    };
    assert_eq!(rates(&from, &to, 1.0), None);
    assert!(rates(&from, &to, 100.0).is_some());
}

#[test]
fn cleared_error_counters_are_unknown() {
    let mut from = port();
    from.in_errors = 50;
    let mut to = from;
    to.in_octets += 1;
    to.in_errors = 0;
    let (input, _) = rates(&from, &to, 1.0).expect("sound");
    assert_eq!((input.bytes_per_s, input.errors_per_s), (Some(1.0), None));
}
