//! The line protocol against devices on a loopback port.

use crate::device::{Device, Wattmeter};
use crate::{LIMIT, SHORT, failure, figure, meter, read};
use filermark_energy_data::Quantity;
use std::io::{Read, Write};
use std::net::TcpStream;

fn source(device: &Device) -> String {
    format!("scpi://{}", device.address())
}

#[test]
fn all_figures_come_with_one_query() {
    let wattmeter = Wattmeter::new();
    let device = Device::start(move |stream| wattmeter.serve(stream));
    let mut meter = meter(&source(&device), LIMIT);
    for _ in 0..3 {
        let sample = read(&mut *meter);
        assert_eq!(sample.at, None);
        assert_eq!(
            sample.values,
            [
                (Quantity::Power, 535.2),
                (Quantity::Voltage, 230.1),
                (Quantity::Current, 2.341),
                (Quantity::ApparentPower, 538.66),
                (Quantity::PowerFactor, 0.9936),
                (Quantity::Frequency, 49.998),
                (Quantity::VoltageDistortion, 1.85),
            ]
        );
    }
    assert_eq!(device.connections(), 1);
}

#[test]
fn figures_that_the_meter_lacks_are_left_out() {
    let wattmeter = Wattmeter {
        harmonics: false,
        ..Wattmeter::new()
    };
    let answer = wattmeter.answer.clone();
    let device = Device::start(move |stream| wattmeter.serve(stream));
    let mut meter = meter(&source(&device), LIMIT);
    let sample = read(&mut *meter);
    assert_eq!(figure(&sample, Quantity::VoltageDistortion), None);
    assert_eq!(sample.values.len(), 6);
    *answer.lock().expect("an answer") = Some("INF,230.1E+00,NAN,NAN,NAN,NAN,NAN".into());
    let sample = read(&mut *meter);
    assert_eq!(sample.values, [(Quantity::Voltage, 230.1)]);
    *answer.lock().expect("an answer") = Some(["NAN"; 7].join(","));
    assert!(failure(&mut *meter, LIMIT).contains("the answer has no figure"));
    *answer.lock().expect("an answer") = None;
    assert_eq!(figure(&read(&mut *meter), Quantity::Power), Some(535.2));
    assert_eq!(device.connections(), 2);
}

#[test]
fn a_missing_input_is_reported() {
    let wattmeter = Wattmeter::new();
    let device = Device::start(move |stream| wattmeter.serve(stream));
    let mut meter = meter(&format!("{}?element=2", source(&device)), LIMIT);
    let message = failure(&mut *meter, LIMIT);
    assert!(message.contains("does it have an input 2"), "{message}");
}

#[test]
fn a_device_that_comes_back_is_read_again() {
    let wattmeter = Wattmeter::new();
    let first = std::sync::atomic::AtomicBool::new(true);
    let device = Device::start(move |stream| {
        if !first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            wattmeter.serve(stream);
        }
    });
    let mut meter = meter(&source(&device), LIMIT);
    let message = failure(&mut *meter, LIMIT);
    assert!(message.starts_with(&source(&device)), "{message}");
    assert_eq!(figure(&read(&mut *meter), Quantity::Power), Some(535.2));
}

#[test]
fn a_missing_device_is_reported() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let mut meter = meter(&format!("scpi://{address}"), LIMIT);
    let message = failure(&mut *meter, LIMIT);
    assert!(message.contains("the meter's line port"), "{message}");
}

/// Waits until the other side disconnects.
fn wait_for_disconnect(mut stream: &TcpStream) {
    let mut bytes = [0; 64];
    while matches!(stream.read(&mut bytes), Ok(len) if len > 0) {}
}

#[test]
fn a_silent_device_takes_no_longer_than_the_limit() {
    let device = Device::start(|stream| wait_for_disconnect(&stream));
    let mut meter = meter(&source(&device), SHORT);
    for _ in 0..2 {
        let message = failure(&mut *meter, SHORT);
        assert!(
            message.contains("identify the meter: no answer within 0.4 s"),
            "{message}"
        );
    }
}

#[test]
fn a_slow_sender_takes_no_longer_than_the_limit() {
    let device = Device::start(|mut stream| {
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let message = failure(&mut *meter(&source(&device), SHORT), SHORT);
    assert!(message.contains("no answer within"), "{message}");
}

#[test]
fn an_answer_without_end_is_cut() {
    let device = Device::start(|mut stream| while stream.write_all(&[b'1'; 4096]).is_ok() {});
    let message = failure(&mut *meter(&source(&device), LIMIT), LIMIT);
    assert!(
        message.contains("1024 bytes without an end of line"),
        "{message}"
    );
}

#[test]
fn invalid_answers_are_reported_and_sanitized() {
    for (answer, wanted) in [
        (
            &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
            "not an instrument's identification",
        ),
        (b"\x1b[2Ja,b\n", "not an instrument's identification"),
        (b"\xff\xfe\n", "is not text"),
        (b"a,b,c,d\nmore\n", "more than one answer"),
        (b"a,b,c,d\n", "no answer within"),
    ] {
        let device = Device::start(move |mut stream| {
            if stream.write_all(answer).is_ok() {
                wait_for_disconnect(&stream);
            }
        });
        let message = failure(&mut *meter(&source(&device), SHORT), SHORT);
        assert!(message.contains(wanted), "{message}");
        assert!(!message.contains('\x1b'), "{message:?}");
    }
}

#[test]
fn a_late_answer_is_not_taken_for_the_next() {
    let wattmeter = Wattmeter::new();
    let device = Device::start(move |mut stream| {
        // The answer to a query of the previous connection comes first.
        let _ = stream.write_all(b"1,1,1,1,1,1,1\n");
        wattmeter.serve(stream);
    });
    let message = failure(&mut *meter(&source(&device), SHORT), SHORT);
    assert!(
        message.contains("instrument's identification") || message.contains("more than"),
        "{message}"
    );
}
