//! sflowtool's text.

use filermark_energy_data::sflow::sflowtool::{Row, SflowtoolReader};
use filermark_energy_data::sflow::{Collector, PortOptions, TrafficSample, Zone};
use filermark_results::Timestamp;

/// Rows of the training on the Emerald specification, as on its slides: in some, commas have
/// become full stops.
const TRAINING: &str = include_str!("../fixtures/sflowtool-training.csv");
const PLAIN: &str = "CNTR,10.0.0.254,17,6,100000000,0,2147483648,175283006,136405187,2578019,297011,0,3,0,0,0,0,0,0,0,1";
const FLOW: &str = "FLOW,10.0.0.254,563,1073741823,00902773db08,001083265e00,0x0800,0,-1,10.0.0.1,10.0.0.254,17,0x00,64,35690,161,0x00,143,125,80";
/// Shortened from `sflowtool -J`: one datagram with both kinds of samples.
const PRETTY: &str = include_str!("../fixtures/sflowtool.json");

fn read(zone: Option<&str>, text: &str) -> (Vec<Row>, SflowtoolReader) {
    let mut reader = SflowtoolReader::new(zone.map(|zone| zone.parse::<Zone>().expect("a zone")));
    let mut rows = Vec::new();
    for line in text.lines() {
        reader.line(line, &mut |row| rows.push(row));
    }
    reader.end();
    (rows, reader)
}

fn rates(rows: &[Row]) -> (Vec<TrafficSample>, Collector) {
    let mut collector = Collector::new(PortOptions::default());
    let mut samples = Vec::new();
    for (second, row) in rows.iter().enumerate() {
        let now = Timestamp::from_unix_seconds(second as f64);
        collector.row(now, row, &mut |sample| samples.push(sample));
    }
    (samples, collector)
}

#[test]
fn the_trainings_rows() {
    let (rows, reader) = read(Some("America/Denver"), TRAINING);
    let lines = reader.lines();
    // 10:36, 10:56, 11:01 and 11:22 are whole.
    assert_eq!((lines.read, lines.rows, lines.bad), (13, 4, 9));
    let (number, bad) = lines.first_bad.clone().expect("a bad one");
    assert_eq!((number, &bad[..16]), (1, "CNTR.10.0.0.248."));
    let (samples, _) = rates(&rows);
    let mib: Vec<String> = samples
        .iter()
        .map(|s| {
            format!(
                "{} {} {:.3}",
                s.at.readable(),
                s.seconds,
                s.mib_per_s().expect("known")
            )
        })
        .collect();
    // (39016674 + 615976533) / 20 s, (8791152 + 140180622) / 5 s and (38843835 + 609321036) / 21 s,
    // in MiB.
    let wanted = [
        "2018-03-05 02:10:56 UTC 20 31.233",
        "2018-03-05 02:11:01 UTC 5 28.414",
        "2018-03-05 02:11:22 UTC 21 29.435",
    ];
    assert_eq!(mib, wanted);
    assert_eq!(
        samples[0].input.packets_per_s,
        Some((283_152.0 + 46.0 + 15.0) / 20.0)
    );
    assert_eq!(samples[0].output.utilisation, None);
}

#[test]
fn local_times_need_a_zone() {
    let (rows, reader) = read(None, TRAINING);
    assert_eq!((rows.len(), reader.lines().no_zone), (0, 4));
    let offset = TRAINING
        .lines()
        .nth(1)
        .expect("a row")
        .replace("2018-03-04 19:10:36", "2018-03-04T19:10:36-0700");
    let (rows, _) = read(None, &offset);
    let Row::Counters { at: Some(at), .. } = rows[0] else {
        panic!("{rows:?}");
    };
    assert_eq!(at.readable(), "2018-03-05 02:10:36 UTC");
}

#[test]
fn plain_rows_and_sampled_packets() {
    let text = format!(
        "startDatagram ====\n{PLAIN}\n{FLOW}\n{PLAIN}\n\nCNTR\nFLOW,x\nCNTR,10.0.0.254,17\n"
    );
    let (rows, reader) = read(None, &text);
    assert_eq!((reader.lines().rows, reader.lines().bad), (3, 3));
    let Row::Counters {
        at: None,
        key,
        counters,
    } = &rows[0]
    else {
        panic!("{rows:?}");
    };
    assert_eq!(key.agent.to_string(), "10.0.0.254");
    assert_eq!(
        (counters.if_index, counters.in_octets, counters.in_errors),
        (17, 175_283_006, 3)
    );
    assert_eq!(
        (counters.in_unicast, counters.promiscuous),
        (136_405_187, 1)
    );
    assert!(matches!(rows[1], Row::Packet), "{rows:?}");
    // The times are those of the reader, two seconds apart.
    let (samples, _) = rates(&rows);
    assert_eq!(
        (samples[0].seconds, samples[0].input.bytes_per_s),
        (2.0, Some(0.0))
    );
}

#[test]
fn objects_on_many_lines_and_on_one() {
    let (pretty, reader) = read(None, PRETTY);
    assert_eq!((reader.lines().rows, reader.lines().bad), (2, 0));
    let compact = PRETTY.replace('\n', "");
    assert_eq!(read(None, &compact).0, pretty);
    let Row::Head {
        at,
        key,
        sequence,
        uptime_ms,
    } = pretty[0]
    else {
        panic!("{pretty:?}");
    };
    assert_eq!(at.readable(), "2022-06-16 13:35:49 UTC");
    assert_eq!(
        (key.agent.to_string().as_str(), key.sub_agent),
        ("10.210.24.181", 100_000)
    );
    assert_eq!((sequence, uptime_ms), (1509, 15_736_722));
    // Again five seconds later, with more bytes; and the first one again.
    let later = PRETTY
        .replace("1655386549", "1655386554")
        .replace("\"1509\"", "\"1510\"")
        .replace("15736722", "15741722")
        .replace("\"51596772\"", "\"51696772\"");
    let (rows, _) = read(None, &format!("{PRETTY}\n{later}\n{PRETTY}\n"));
    let (samples, collector) = rates(&rows);
    let out: Vec<_> = samples.iter().map(|s| s.output.bytes_per_s).collect();
    assert_eq!(out, [Some(20_000.0)]);
    assert_eq!(collector.ports.counts().duplicates, 1);
}

#[test]
fn a_truncated_object_is_reported_and_the_next_is_read() {
    let cut: String = PRETTY
        .lines()
        .take(9)
        .map(|line| format!("{line}\n"))
        .collect();
    let broken = PRETTY.replace("\"ifInOctets\":\"0\"", "\"ifInOctets\":\"many\"");
    let (rows, reader) = read(
        None,
        &format!("{cut}{PRETTY}\n{broken}\n{{}}\n{{\"agent\":\n"),
    );
    let lines = reader.lines();
    assert_eq!((rows.len(), lines.rows, lines.bad), (5, 3, 4));
    let (first, text) = lines.first_bad.clone().expect("a bad one");
    assert_eq!((first, text.starts_with('{')), (1, true));
}

#[test]
fn an_object_without_end_is_bounded() {
    let mut reader = SflowtoolReader::new(None);
    let line = format!("{{\"agent\":[{}", "0,".repeat(30_000));
    for _ in 0..60 {
        reader.line(&line[1..], &mut |_| panic!("no row"));
        reader.line(&format!(" {line}"), &mut |_| panic!("no row"));
    }
    reader.end();
    assert!(reader.lines().bad >= 3, "{:?}", reader.lines());
}

#[test]
fn a_text_with_a_line_of_megabytes_and_invalid_utf8() {
    let mut text = b"CNTR,".to_vec();
    text.extend(vec![b'9'; 3 << 20]);
    text.extend(format!("\nCNTR,10.0.0.254,\n{PLAIN}\r\n{{\"agent\":").into_bytes());
    text[5 + (3 << 20) + 12] = 0xff;
    let mut reader = SflowtoolReader::new(None);
    let mut rows = 0;
    reader.text(&text[..], &mut |_| rows += 1).expect("memory");
    let lines = reader.lines();
    assert_eq!((rows, lines.read, lines.rows, lines.bad), (1, 4, 1, 3));
    assert!(
        lines
            .first_bad
            .as_ref()
            .is_some_and(|(line, text)| *line == 1 && text.len() <= 80)
    );
}

proptest::proptest! {
    #[test]
    fn any_lines_are_survived(lines in proptest::collection::vec("(CNTR,|FLOW,|\\{|\\}|\\[|\")?[ -~é]{0,60}", 0..50)) {
        read(Some("Europe/Berlin"), &lines.join("\n"));
    }

    #[test]
    fn rows_with_wrong_bytes_are_survived(place in 0..PRETTY.len() * 2, byte in 32..127u8) {
        let mut text = format!("{PLAIN}\n{PRETTY}\n{FLOW}\n{TRAINING}").into_bytes();
        let at = place % text.len();
        text[at] = byte;
        let (rows, _) = read(Some("UTC"), &String::from_utf8_lossy(&text));
        rates(&rows);
    }
}
