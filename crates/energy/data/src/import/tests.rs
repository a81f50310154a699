//! Tables of meters and loggers, whole files at a time.

mod traffic;

use super::*;
use crate::log::EventKind;
use crate::reading::Quantity;
use proptest::prelude::*;
use std::io::Cursor;

const WT: &str = include_str!("../../tests/fixtures/wtviewer-training.csv");
const CW: &str = include_str!("../../tests/fixtures/cw121.csv");
const HIOKI: &str = include_str!("../../tests/fixtures/hioki.csv");

pub(super) struct Imported {
    pub(super) lines: Vec<LogLine>,
    pub(super) report: ImportReport,
}

impl Imported {
    /// Time of day and value of a quantity, of every reading.
    fn values(&self, quantity: Quantity) -> Vec<(String, Option<f64>)> {
        let one = |line: &LogLine| match line {
            LogLine::Readings(r) => Some((
                r.at.to_string()[..23].to_owned(),
                r.values.get(&quantity).copied(),
            )),
            _ => None,
        };
        self.lines.iter().filter_map(one).collect()
    }

    pub(super) fn events(&self, kind: EventKind) -> Vec<String> {
        let one = |line: &LogLine| match line {
            LogLine::Event(e) if e.what == kind => Some(e.message.clone()),
            _ => None,
        };
        self.lines.iter().filter_map(one).collect()
    }
}

fn import(
    bytes: &[u8],
    table: Table,
    zone: Option<&str>,
    columns: &str,
) -> Result<Imported, ImportError> {
    let options = Options {
        zone: zone.map(|z| z.parse().expect("a zone")),
        columns: columns.parse().expect("columns"),
        ..Options::default()
    };
    let mut lines = Vec::new();
    let report = power_csv(
        Path::new("wt.csv"),
        table,
        Cursor::new(bytes),
        &options,
        &mut Ids::default(),
        &mut |line| {
            lines.push(line);
            Ok(())
        },
    )?;
    Ok(Imported { lines, report })
}

fn power(text: &str, columns: &str) -> Result<Imported, ImportError> {
    import(text.as_bytes(), Table::Power, Some("UTC"), columns)
}

fn refused(text: &str, columns: &str, what: &str) {
    match power(text, columns) {
        Ok(imported) => panic!("{:?}", imported.report),
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains(what), "{message}");
            assert!(message.starts_with("wt.csv:"), "{message}");
        }
    }
}

#[test]
fn the_trainings_table() {
    let got = import(WT.as_bytes(), Table::Power, Some("America/Denver"), "").expect("known");
    let report = &got.report;
    assert_eq!(
        (report.good, report.bad, report.form.as_str()),
        (4, 0, "WTViewer table")
    );
    assert_eq!(
        got.values(Quantity::Power),
        [
            ("2018-02-27T23:18:33.353".to_owned(), Some(535.0)),
            ("2018-02-27T23:18:38.353".to_owned(), Some(532.0)),
            ("2018-02-27T23:18:43.353".to_owned(), Some(535.0)),
            ("2018-02-27T23:18:48.354".to_owned(), Some(529.0)),
        ]
    );
    let LogLine::Source(source) = &got.lines[0] else {
        panic!("{:?}", got.lines[0]);
    };
    for (quantity, count, place) in [
        (Quantity::Power, 3, 0),
        (Quantity::Voltage, 5, -2),
        (Quantity::Current, 5, -4),
        (Quantity::PowerFactor, 4, -4),
    ] {
        let digits = source.digits[&quantity];
        assert_eq!((digits.count, digits.place), (count, place), "{quantity}");
    }
    let LogLine::Readings(first) = &got.lines[1] else {
        panic!("{:?}", got.lines[1]);
    };
    let values: Vec<_> = first
        .values
        .iter()
        .map(|(q, v)| format!("{q} {v}"))
        .collect();
    assert_eq!(
        values,
        [
            "power_w 535",
            "apparent_power_va 570",
            "voltage_v 230.29",
            "current_a 2.4751",
            "power_factor 0.9387",
            "frequency_hz 60.002",
            "voltage_thd_pcnt 0.439"
        ]
    );
    let LogLine::Source(source) = &got.lines[0] else {
        panic!("{:?}", got.lines[0]);
    };
    assert_eq!(
        (source.interval_s, source.kind),
        (Some(5.0), SourceKind::Meter)
    );
    assert_eq!(
        report.notes,
        ["WT1:U-1 occurs twice; the first column was read"]
    );
}

/// The digits of a column follow from the figures that are used, and no single one decides.
#[test]
fn refused_rows_and_single_cells_do_not_change_the_digits_of_a_column() {
    let step = |more: &str| {
        let mut text = String::from("Time,Power (W),Voltage (V)\n");
        let mut row = |power: &str| {
            let second = text.lines().count();
            text += &format!("2026-11-21T09:00:{second:02}Z,{power},230.1\n");
        };
        (0..20).for_each(|_| row("5.35E+02"));
        if !more.is_empty() {
            row(more);
        }
        (0..20).for_each(|_| row("1.50E+03"));
        let got = power(&text, "").expect("known");
        let source = got.lines.iter().find_map(|line| match line {
            LogLine::Source(source) => Some(source.clone()),
            _ => None,
        });
        let digits = source.expect("a source").digits;
        assert_eq!(digits[&Quantity::Voltage].step_at(230.0), 0.1);
        digits[&Quantity::Power].step_at(1500.0)
    };
    assert_eq!(step(""), 10.0);
    assert_eq!(step("9999.9E+99"), 10.0, "out of range");
    assert_eq!(step("535.25"), 10.0, "one figure of another form");
}

#[test]
fn the_same_figures_whatever_the_codes_and_separators() {
    let plain = power(WT, "").expect("plain").values(Quantity::Power);
    let semicolons = WT.replace(',', ";");
    let commas = semicolons
        .replace('.', ",")
        .replace("Store No,", "Store No.");
    let quoted: String = WT
        .lines()
        .map(|l| format!("\"{}\"\n", l.replace(',', "\",\"")))
        .collect();
    let utf16: Vec<u8> = format!("\u{feff}{WT}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (name, bytes) in [
        ("semicolons", semicolons.into_bytes()),
        ("decimal commas", commas.into_bytes()),
        ("tabs", WT.replace(',', "\t").into_bytes()),
        ("quotes", quoted.into_bytes()),
        ("mark", format!("\u{feff}{WT}").into_bytes()),
        ("UTF-16", utf16),
        ("preamble", format!("Meter, WT310\r\n\r\n{WT}").into_bytes()),
        (
            "repeated header",
            format!("{WT}{}", WT.lines().next().expect("one")).into_bytes(),
        ),
    ] {
        let got = import(&bytes, Table::Power, Some("UTC"), "").expect(name);
        assert_eq!(got.values(Quantity::Power), plain, "{name}");
        assert_eq!(got.report.bad, 0, "{name}");
    }
}

#[test]
fn a_cw121_with_missing_figures() {
    let got = power(CW, "").expect("known");
    assert_eq!((got.report.good, got.report.bad), (3, 1));
    assert_eq!(got.report.form, "CW120/CW121 table");
    let (line, reason) = got.report.first_bad.clone().expect("one");
    assert_eq!((line, reason.as_str()), (7, "power_w is \"----\""));
    let bad = got.events(EventKind::Invalid);
    assert_eq!(
        bad,
        ["rows that could not be used: 1; the first at wt.csv:7: power_w is \"----\""]
    );
    let lost = got.events(EventKind::Lost);
    assert!(lost[0].contains("wt.csv:8: the meter was without power at 2018-02-03T16:18:42"));
    assert_eq!(got.values(Quantity::Current)[1].1, None);
    assert_eq!(got.values(Quantity::Energy)[0].1, Some(165.0 * 3600.0));
    assert_eq!(
        got.report.notes,
        [
            "times that the meter was without power: 1",
            "rows without current_a: 1"
        ]
    );
}

#[test]
fn a_hioki_with_figures_out_of_range() {
    let got = power(HIOKI, "").expect("known");
    assert_eq!((got.report.good, got.report.bad), (3, 1));
    assert_eq!(
        got.values(Quantity::Power)[2],
        ("2019-03-11T10:00:03.120".into(), Some(524.1))
    );
    assert_eq!(got.values(Quantity::PowerFactor)[0].1, Some(0.9458));
}

#[test]
fn columns_that_the_user_names() {
    let text = "when;id;P1;P2\n2018-03-04 10:00:00;a;0,5;0,25\n2018-03-04 10:00:05;a;0,5;-\n";
    refused(text, "", "no column of time");
    let got = power(text, "datetime=when,power_w=P1*1000+P2*1000").expect("named");
    // Without a part of a sum the row is refused: half the power is not the power.
    assert_eq!(
        got.values(Quantity::Power),
        [("2018-03-04T10:00:00.000".into(), Some(750.0))]
    );
    assert_eq!(got.report.columns, ["power_w = P1*1000+P2*1000"]);
    assert_eq!(got.report.bad, 1);
    let numbers = "2018-03-04,10:00:00,7,1.5\n2018-03-04,10:00:05,7,2.5\n";
    let got = power(numbers, "date=1,time=2,power_w=4").expect("numbers");
    assert_eq!(got.report.good, 2);
    assert_eq!(got.report.columns, ["power_w = column 4"]);
    let commas = "04.03.2018;10:00:00;0,5\n04.03.2018;10:00:05;0,6\n";
    let got = power(commas, "date=1,time=2,power_w=3").expect("a comma in figures");
    assert_eq!(got.values(Quantity::Power)[1].1, Some(0.6));
    let got = power(WT, "power_w=WT1:P-1").expect("time guessed");
    assert_eq!(got.report.columns, ["power_w = WT1:P-1"]);
    assert_eq!(got.values(Quantity::Power)[0].0, "2018-02-27T16:18:33.353");
    let unix = "t,w\n1520000000.5,10\n1520000001.5,11\n";
    let got = import(unix.as_bytes(), Table::Power, None, "unix=t,power_w=w").expect("no zone");
    assert_eq!(got.values(Quantity::Power)[0].0, "2018-03-02T14:13:20.500");
    refused(WT, "power_w=Watts", "no column is called \"Watts\"");
}

#[test]
fn two_possible_columns_of_power_are_refused() {
    let three = "Date,Time,P1,P2,P3,U1,U2,I1,I2\n2018-02-27,10:00:00,1,2,3,230,231,1,2\n";
    refused(
        three,
        "",
        "P1, P2, P3; choose one: --columns power_w=P1 or, if they add up, power_w=P1+P2+P3",
    );
    let one = three.replace("P2,P3", "Q2,Q3");
    let got = power(&one, "").expect("one power");
    assert_eq!(got.report.columns, ["power_w = P1", "voltage_v = U1"]);
    assert_eq!(
        got.report.notes,
        [
            "of U1, U2 only U1 was read as voltage_v",
            "several columns could be current_a: I1, I2; none was read"
        ]
    );
}

#[test]
fn an_ambiguous_order_of_day_and_month_is_refused() {
    let table = |date: &str| format!("Date,Time,Watts\n{date},10:00:00,5\n{date},10:00:05,6\n");
    refused(&table("3/4/2018"), "", "--columns order=dmy");
    let first = |text: &str, columns: &str| {
        let got = power(text, columns).expect("an order");
        got.values(Quantity::Power)[0].0[..10].to_owned()
    };
    assert_eq!(first(&table("3/4/2018"), "order=dmy"), "2018-04-03");
    assert_eq!(first(&table("3/4/2018"), "order=mdy"), "2018-03-04");
    assert_eq!(first(&table("4/4/2018"), ""), "2018-04-04");
    // A later row is unambiguous.
    let later = table("12/2/2018") + "13/2/2018,10:00:00,7\n";
    assert_eq!(first(&later, ""), "2018-02-12");
    // The known form has the month first, and a note reports the ambiguity.
    let wt = WT.replace("2/27/2018", "3/4/2018");
    assert_eq!(first(&wt, ""), "2018-03-04");
    let notes = power(&wt, "").expect("known").report.notes;
    assert!(
        notes.iter().any(|n| n.contains("dates were read as mdy")),
        "{notes:?}"
    );
    assert_eq!(
        first(&wt.replace("3/4/2018", "27/2/2018"), ""),
        "2018-02-27"
    );
}

#[test]
fn times_need_a_zone_go_forward_and_are_not_taken_twice() {
    let error = import(WT.as_bytes(), Table::Power, None, "")
        .err()
        .expect("no zone");
    assert!(error.to_string().contains("wt.csv:2: ") && error.to_string().contains("--zone"));
    let offsets = "timestamp,W\n2018-02-27T16:18:33-06:00,5\n2018-02-27T22:18:34Z,6\n";
    let got = import(offsets.as_bytes(), Table::Power, None, "").expect("offsets");
    assert_eq!(got.report.good, 2);
    let text = "Date,Time,W\n\
        2018-02-27,10:00:00,1\n2018-02-27,10:00:05,2\n2018-02-27,10:00:05,3\n\
        2018-02-27,09:59:00,4\n2018-02-27,10:00:04,5\n2018-02-27,10:00:10,6\n\
        2018-02-27,24:00:00,7\n,,\nx,y,z\n";
    let got = power(text, "").expect("some are good");
    let values: Vec<_> = got
        .values(Quantity::Power)
        .into_iter()
        .filter_map(|v| v.1)
        .collect();
    assert_eq!(values, [1.0, 2.0, 6.0]);
    let report = &got.report;
    assert_eq!(
        (report.good, report.back, report.same_time, report.bad),
        (3, 2, 1, 2)
    );
    let jumps = got.events(EventKind::ClockJump);
    assert_eq!(jumps.len(), 2);
    assert!(jumps[0].starts_with("wt.csv:5: the time goes back from 2018-02-27T10:00:05"));
    // Clocks set back by an hour: both hours are kept, nothing is dropped.
    let autumn = "Date,Time,W\n2018-10-28,02:30:00,1\n2018-10-28,02:59:55,2\n\
        2018-10-28,02:00:00,3\n2018-10-28,02:30:00,4\n";
    let got = import(autumn.as_bytes(), Table::Power, Some("Europe/Berlin"), "").expect("good");
    assert_eq!((got.report.good, got.report.back), (4, 0));
    assert_eq!(got.values(Quantity::Power)[3].0, "2018-10-28T01:30:00.000");
}

#[test]
fn other_files_than_tables_of_power_are_refused() {
    refused("", "", "not a table");
    refused("hello\nworld\n", "", "not a table");
    refused("a,b\n1,2\n", "", "it has: a | b");
    refused("Date,Time,W\n", "", "there is no row below the header");
    refused(
        "Date,Time,W\n2018-01-02,10:00:00,x\n",
        "",
        "line 2: power_w is \"x\"",
    );
    refused(
        "Date,Time,W\n2018-01-02,10:00:00,NaN\n",
        "",
        "power_w is \"NaN\"",
    );
    refused(
        "Time,W\n0.5,17\n1.0,18\n",
        "",
        "\"0.5\" is not a date with a time",
    );
    let error = import(WT.as_bytes(), Table::Environment, Some("UTC"), "").err();
    assert!(
        error
            .expect("no thermometer")
            .to_string()
            .contains("temperature or humidity")
    );
}

#[test]
fn thermometers_and_hygrometers() {
    let text = b"N;Date Time;Temp (\xb0F);Humidity [%]\n\
        1;2018-02-27 10:00:00;68;45,5 %\n2;2018-02-27 10:01:00;;46\n";
    let got = import(text, Table::Environment, Some("UTC"), "").expect("a logger");
    assert_eq!(got.report.good, 2);
    let temperature = got.values(Quantity::Temperature);
    assert!((temperature[0].1.expect("known") - 20.0).abs() < 1e-9);
    assert_eq!(temperature[1].1, None);
    assert_eq!(got.values(Quantity::Humidity)[0].1, Some(45.5));
    let LogLine::Source(source) = &got.lines[0] else {
        panic!("{:?}", got.lines[0]);
    };
    assert_eq!(
        (source.kind, source.interval_s),
        (SourceKind::Sensor, Some(60.0))
    );
}

#[test]
fn a_log_that_cannot_be_written_ends_the_import() {
    let mut left = 3;
    let result = power_csv(
        Path::new("wt.csv"),
        Table::Power,
        Cursor::new(WT),
        &Options {
            zone: Some(Zone::UTC),
            ..Options::default()
        },
        &mut Ids::default(),
        &mut |_| {
            left -= 1;
            match left {
                0 => Err(WriteError::Exists("lab".into())),
                _ => Ok(()),
            }
        },
    );
    assert!(matches!(result, Err(ImportError::Write(_))));
    assert_eq!(left, 0);
}

proptest! {
    #[test]
    fn no_table_makes_it_panic(
        head in prop::sample::select(vec!["", "Date,Time,W\n", "CW12x\nOUTPUT DATE,OUTPUT TIME,P\n", "timestamp;W;V\n"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "[0-9/:.,; \\n-]{0,200}",
        columns in prop::sample::select(vec!["", "date=1,time=2,power_w=3", "unix=1,power_w=2*0.5"]),
    ) {
        let whole = [head.as_bytes(), text.as_bytes(), &bytes].concat();
        for table in [Table::Power, Table::Environment] {
            let Ok(got) = import(&whole, table, Some("Europe/Berlin"), columns) else {
                continue;
            };
            let mut last = None;
            for line in &got.lines {
                if let LogLine::Readings(r) = line {
                    prop_assert!(last < Some(r.at));
                    prop_assert!(r.values.values().all(|v| v.is_finite()) && !r.values.is_empty());
                    last = Some(r.at);
                }
            }
        }
    }
}
