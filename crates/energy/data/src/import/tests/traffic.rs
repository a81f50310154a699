//! Files of sFlow, whole files at a time.

use super::super::*;
use super::Imported;
use crate::log::{EventKind, PortSample};
use filermark_results::Timestamp;
use std::fmt::Write as _;
use std::io::{BufReader, Read};

const TRAINING: &str = include_str!("../../../tests/fixtures/sflowtool-training.csv");
const PLAIN: &str = "CNTR,10.0.0.254,17,6,100000000,0,2147483648,175283006,136405187,2578019,297011,0,3,0,0,0,0,0,0,0,1\n";

fn text(content: impl Read, zone: Option<&str>) -> Result<Imported, ImportError> {
    let options = Options {
        zone: zone.map(|z| z.parse().expect("a zone")),
        ..Options::default()
    };
    let mut lines = Vec::new();
    let report = sflowtool(
        Path::new("sflow.txt"),
        BufReader::new(content),
        &options,
        &mut Ids::default(),
        &mut |line| {
            lines.push(line);
            Ok(())
        },
    )?;
    Ok(Imported { lines, report })
}

fn samples(lines: &[LogLine]) -> Vec<(Timestamp, PortSample)> {
    let mut all = Vec::new();
    for line in lines {
        if let LogLine::Traffic(traffic) = line {
            let at = |s: &PortSample| traffic.at.plus_seconds(s.after_us as f64 / 1e6);
            all.extend(traffic.samples.iter().map(|s| (at(s), *s)));
        }
    }
    all
}

/// A row of counters at a second of 2018-03-04, of interface `port`.
fn row(second: u32, port: u32, bytes: u64) -> String {
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "CNTR,10.0.0.248,2018-03-04 {h:02}:{m:02}:{s:02},{port},6,10000000000,1,3,{bytes},{second},0,0,0,0,0,{},{second},0,0,0,0,1\n",
        bytes * 2
    )
}

#[test]
fn the_trainings_rows() {
    let got = text(TRAINING.as_bytes(), Some("America/Denver")).expect("rows");
    let report = &got.report;
    assert_eq!((report.good, report.bad), (4, 9));
    let all: Vec<_> = samples(&got.lines)
        .iter()
        .map(|(at, s)| {
            (
                at.readable(),
                s.interval_us,
                s.in_bytes,
                s.out_bytes,
                s.bad_packets,
            )
        })
        .collect();
    // 1912086457 - 1296109924 and so on: whole bytes as the counters had them.
    assert_eq!(
        all,
        [
            (
                "2018-03-05 02:10:56 UTC".into(),
                20_000_000,
                Some(39_016_674),
                Some(615_976_533),
                Some(0)
            ),
            (
                "2018-03-05 02:11:01 UTC".into(),
                5_000_000,
                Some(8_791_152),
                Some(140_180_622),
                Some(0)
            ),
            (
                "2018-03-05 02:11:22 UTC".into(),
                21_000_000,
                Some(38_843_835),
                Some(609_321_036),
                Some(0)
            ),
        ]
    );
    let port = &report.ports[0];
    assert_eq!((port.if_index, port.samples), (24, 3));
    assert!((port.out_mib - 1_365_478_191.0 / 1_048_576.0).abs() < 1e-6);
    let bad = got.events(EventKind::Invalid);
    assert!(
        bad[0].starts_with("rows that could not be read: 9; the first at sflow.txt:1: not a row"),
        "{bad:?}"
    );
}

#[test]
fn rows_without_a_known_time_are_refused() {
    for (content, zone, what) in [
        (
            format!("{PLAIN}{PLAIN}"),
            Some("UTC"),
            "2 of 2 rows of counters have no time",
        ),
        (TRAINING.to_owned(), None, "--zone Europe/Berlin"),
        (row(1, 1, 0), Some("UTC"), "there are 1 readings"),
        (
            "hello\n".into(),
            Some("UTC"),
            "no traffic in this sflowtool file",
        ),
    ] {
        let error = text(content.as_bytes(), zone)
            .err()
            .expect(what)
            .to_string();
        assert!(
            error.contains(what) && error.starts_with("sflow.txt: "),
            "{error}"
        );
    }
}

#[test]
fn samples_are_in_order_and_lines_have_limits() {
    let mut content = String::new();
    for second in 0..300 {
        for port in 1..=30 {
            // Interfaces alternate, some are a little late.
            let late = if port == 7 { 4 } else { 0 };
            content += &row(1000 + second + 4 - late, port, u64::from(second) * 1000);
        }
    }
    let got = text(content.as_bytes(), Some("UTC")).expect("rows");
    assert_eq!((got.report.back, got.report.bad), (0, 0));
    let all = samples(&got.lines);
    assert_eq!(all.len(), 299 * 30);
    assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    for line in &got.lines {
        if let LogLine::Traffic(traffic) = line {
            assert!(traffic.samples.len() <= 4096);
            assert!(
                traffic
                    .samples
                    .iter()
                    .all(|s| (0..60_000_000).contains(&s.after_us))
            );
        }
    }
    let total: f64 = got.report.ports.iter().map(|p| p.in_mib).sum();
    assert!(
        (total - 299.0 * 1000.0 * 30.0 / 1_048_576.0).abs() < 1e-6,
        "{total}"
    );
}

#[test]
fn a_clock_that_goes_back_drops_samples_with_a_note() {
    let mut content = String::new();
    let seconds = [
        1000, 1005, 1010, 1100, 1105, 500, 505, 510, 1110, 1115, 1112, 1117,
    ];
    for (n, second) in (0..).zip(seconds) {
        content += &row(second, 1, n * 1000);
    }
    let got = text(content.as_bytes(), Some("UTC")).expect("rows");
    let all = samples(&got.lines);
    assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert!(!got.events(EventKind::ClockJump).is_empty());
    assert!(
        got.report.notes.iter().any(|n| n.contains("went back")),
        "{:?}",
        got.report.notes
    );
    // Samples of the wrong time and overlaps are dropped: 505, 510, 1110 (from 510 on) and 1117
    // (from 1112 on). 500 and 1112 had no interval.
    let at = |s: &(Timestamp, PortSample)| s.0.to_string()[11..19].to_owned();
    let times: Vec<_> = all.iter().map(at).collect();
    assert_eq!(
        times,
        ["00:16:45", "00:16:50", "00:18:20", "00:18:25", "00:18:35"]
    );
    assert_eq!(got.report.back, 4);
}

#[test]
fn json_and_captures() {
    let json = include_str!("../../../tests/fixtures/sflowtool.json");
    let error = text(json.as_bytes(), None)
        .err()
        .expect("one datagram")
        .to_string();
    assert!(error.contains("no traffic"), "{error}");
    let capture = include_bytes!("../../../tests/fixtures/ovs-sflow.pcap");
    let mut lines = Vec::new();
    let mut ids = Ids {
        source: 3,
        port: 40,
    };
    let report = pcap(
        Path::new("ovs.pcap"),
        &capture[..],
        &Options::default(),
        &mut ids,
        &mut |line| {
            lines.push(line);
            Ok(())
        },
    )
    .expect("a capture");
    assert!(report.good > 0 && report.bad == 0, "{report:?}");
    assert_eq!((report.source, report.ports[0].port), (3, 40));
    assert_eq!(
        (ids.source, ids.port as usize),
        (4, 40 + report.ports.len())
    );
    assert!(!samples(&lines).is_empty());
    let error = pcap(
        Path::new("x"),
        &b"hello"[..],
        &Options::default(),
        &mut ids,
        &mut |_| Ok(()),
    );
    assert!(
        error
            .expect_err("no capture")
            .to_string()
            .contains("neither pcap nor pcapng")
    );
}

/// Seconds of that file.
const SECONDS: u32 = 3600;

/// Makes rows on demand, so that the whole file is never in memory.
struct Hour {
    second: u32,
    port: u32,
    waiting: Vec<u8>,
    at: usize,
}

impl Read for Hour {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.waiting.len() {
            if self.second == SECONDS {
                return Ok(0);
            }
            let mut text = String::new();
            let _ = write!(
                text,
                "{}",
                row(self.second, self.port, u64::from(self.second) * 1_000_000)
            );
            (self.waiting, self.at) = (text.into_bytes(), 0);
            self.port = self.port % 20 + 1;
            self.second += u32::from(self.port == 1);
        }
        let n = buffer.len().min(self.waiting.len() - self.at);
        buffer[..n].copy_from_slice(&self.waiting[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// An hour of 20 interfaces, every second, in a file that is never in memory.
#[test]
fn an_hour_of_twenty_interfaces() {
    let hour = Hour {
        second: 0,
        port: 1,
        waiting: Vec::new(),
        at: 0,
    };
    let began = std::time::Instant::now();
    let (mut lines, mut count, mut longest) = (0_u64, 0_u64, 0);
    let report = sflowtool(
        Path::new("hour"),
        BufReader::new(hour),
        &Options {
            zone: Some(Zone::UTC),
            ..Options::default()
        },
        &mut Ids::default(),
        &mut |line| {
            lines += 1;
            if let LogLine::Traffic(traffic) = line {
                count += traffic.samples.len() as u64;
                longest = longest.max(traffic.samples.len());
            }
            Ok(())
        },
    )
    .expect("an hour");
    println!(
        "{} rows in {:.1} s: {lines} lines, {count} samples, at most {longest} in a line",
        report.good,
        began.elapsed().as_secs_f64()
    );
    assert_eq!(
        (report.good, count),
        (u64::from(SECONDS) * 20, u64::from(SECONDS - 1) * 20)
    );
    let mib: f64 = report.ports.iter().map(|p| p.in_mib).sum();
    assert!((mib / (f64::from(SECONDS - 1) * 20.0 * 1e6 / 1_048_576.0) - 1.0).abs() < 1e-9);
}
