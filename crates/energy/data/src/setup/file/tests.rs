use super::*;
use crate::setup::SetupError;

const WHOLE: &str = r#"drives = 24
raw_capacity_gb = 96000
nominal_voltage_v = 230
interval = "250ms"
[sflow]
listen = "127.0.0.1:16343"
ports = ["10.0.0.248/24", "1-3", "filer-e0a"]
time_basis = "agent"
[sflow.names]
"10.0.0.248/24" = "filer-e0a"
"7" = "uplink"
[[meter]]
name = "psu-a"
at = "scpi://meter.example:10001"
interval = 5
clock_offset = -3600.0
[[meter]]
at = "snmp://hush@pdu/1.3.6.1"
role = "client"
[[sensor]]
name = "inlet"
at = "redfish://monitor@bmc.example/redfish/v1/Chassis/1"
interval = "2min"
"#;

fn parsed(text: &str) -> Setup {
    Setup::parse(text, Path::new("energy.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    let error = Setup::parse(text, Path::new("energy.toml")).expect_err("a bad setup");
    assert!(matches!(error, SetupError::Bad { .. }));
    error.to_string()
}

#[test]
fn a_whole_file_is_read() {
    let setup = parsed(WHOLE);
    assert_eq!(setup.lab.drives, Some(24));
    assert_eq!(setup.lab.raw_capacity_gb, Some(96000.0));
    assert_eq!(setup.lab.nominal_voltage_v, Some(230.0));
    assert_eq!(setup.lab.ports, ["10.0.0.248/24", "1-3", "filer-e0a"]);
    let sflow = setup.sflow.expect("a collector");
    assert_eq!(sflow.listen.to_string(), "127.0.0.1:16343");
    assert_eq!(sflow.time_basis, TimeBasis::AgentUptime);
    assert_eq!(sflow.ports.len(), 3);
    let agent = [10, 0, 0, 248].into();
    assert!(sflow.selection.has(agent, 24) && sflow.selection.has(agent, 2));
    assert_eq!(sflow.selection.names.get(agent, 24), Some("filer-e0a"));
    assert_eq!(sflow.selection.names.get(agent, 7), Some("uplink"));
    let [a, b] = &setup.meters[..] else {
        panic!("{:?}", setup.meters)
    };
    assert_eq!((a.name.as_str(), a.role), ("psu-a", Role::Server));
    assert_eq!(a.interval, Duration::from_secs(5));
    assert_eq!(a.clock_offset_s, Some(-3600.0));
    assert_eq!(
        (b.role, b.interval),
        (Role::Client, Duration::from_millis(250))
    );
    assert_eq!(
        b.name,
        "snmp://***@pdu:161/1.3.6.1?quantity=power_w&scale=1"
    );
    assert_eq!(setup.sensors[0].interval, Duration::from_secs(120));
    assert!(!format!("{:?}", setup.meters).contains("hush"));
}

#[test]
fn missing_keys_have_their_defaults() {
    let setup = parsed("");
    assert!(setup.sflow.is_none() && setup.meters.is_empty() && setup.sensors.is_empty());
    assert_eq!(setup.lab, Lab::default());
    let sflow = parsed("[sflow]").sflow.expect("a collector");
    assert_eq!(sflow.listen.to_string(), "0.0.0.0:6343");
    assert_eq!(sflow.time_basis, TimeBasis::Receiver);
    let setup = parsed("[[meter]]\nat = \"rapl:\"");
    assert_eq!(setup.meters[0].name, "rapl:");
    assert_eq!(setup.meters[0].interval, Duration::from_secs(1));
    assert_eq!(setup.meters[0].clock_offset_s, None);
}

#[test]
fn every_error_is_reported_with_its_line() {
    for (text, line, wanted) in [
        ("drives = 0", 1, "from 1"),
        ("\ndrives = -1", 2, "u32"),
        ("drives = \"many\"", 1, "numbers are not"),
        ("raw_capacity_gb = 0", 1, "above 0"),
        ("nominal_voltage_v = nan", 1, "above 0"),
        ("interval = 0.01", 1, "from 50 ms"),
        ("interval = \"11min\"", 1, "to 10 min"),
        ("interval = -5", 1, "to 10 min"),
        ("interval = \"5h\"", 1, "to 10 min"),
        ("interval = [1]", 1, "to 10 min"),
        ("\n\nintervall = 1", 3, "correct the key"),
        ("[sflow]\nlisten = \"6343\"", 2, "\"0.0.0.0:6343\""),
        ("[sflow]\nports = [\"1\",\n\"9-3\"]", 3, "names no ports"),
        ("[sflow]\nports = [\"1\",\n\"1-1\"]", 3, "twice"),
        ("[sflow]\nports = \"1\"", 2, "invalid type"),
        (
            "[sflow]\ntime_basis = \"switch\"",
            2,
            "\"receiver\" or \"agent\"",
        ),
        ("[sflow.names]\n1-3 = \"x\"", 2, "one interface"),
        ("[sflow.names]\nuplink = \"x\"", 2, "one interface"),
        ("[sflow.names]\n1 = \"\"", 2, "from 1 to 64"),
        ("[[meter]]\nname = \"a\"", 1, "needs its location"),
        ("[[meter]]\nat = \"scpi://\"", 2, "no host is named"),
        ("[[meter]]\nat = \"rapl:\"\nrole = \"sut\"", 3, "\"client\""),
        ("[[meter]]\nat = \"rapl:\"\nport = 1", 3, "correct the key"),
        (
            "[[meter]]\nat = \"rapl:\"\nclock_offset = inf",
            3,
            "day and a half",
        ),
        (
            "[[meter]]\nat = \"rapl:\"\n[[meter]]\nat = \"rapl:\"",
            4,
            "its own name",
        ),
        (
            "[[meter]]\nname = \"a\"\nat = \"rapl:\"\n[[meter]]\nat = \"sim:\"\nname = \"a\"",
            6,
            "its own name",
        ),
        (
            "[[meter]]\nat = \"redfish://me:hush@b/redfish/v1\"",
            2,
            "password-file",
        ),
        ("[[sensor]]\nat = \"cmd:cat t\"", 2, "cmd+temperature_c:"),
        ("[[sensor]]\nat = \"rapl:\"", 2, "under [[meter]]"),
        (
            "[[meter]]\nat = \"snmp://p/1.3?quantity=humidity_pcnt\"",
            2,
            "under [[sensor]]",
        ),
        ("meter = 1", 1, "invalid type"),
        ("a = = b", 1, ""),
    ] {
        let message = refused(text);
        let place = format!("energy.toml:{line}: ");
        assert!(
            message.starts_with(&place) && message.contains(wanted),
            "{text}: {message}"
        );
        assert!(!message.contains("hush"), "{message}");
    }
}

#[test]
fn the_number_of_sources_is_limited() {
    let sources = |count: usize| -> String {
        (0..count)
            .map(|n| format!("[[meter]]\nname = \"{n}\"\nat = \"rapl:\"\n"))
            .collect()
    };
    assert_eq!(parsed(&sources(256)).meters.len(), 256);
    assert!(refused(&sources(257)).contains("at most 256"));
}

#[test]
fn a_file_is_read_up_to_a_limit() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("energy.toml");
    std::fs::write(&path, WHOLE).expect("written");
    assert_eq!(Setup::read(&path).expect("read").meters.len(), 2);
    std::fs::write(&path, " ".repeat(FILE_LEN_MAX as usize + 1)).expect("written");
    let error = Setup::read(&path).expect_err("too large").to_string();
    assert!(error.contains("not an energy setup"), "{error}");
    let error = Setup::read(&dir.path().join("none")).expect_err("none");
    assert!(matches!(error, SetupError::Io { .. }));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([a-z_]{1,9} = [0-9\"a-z\\[\\]]{1,9}\n|\\[\\[?(meter|sensor|sflow)\\]\\]?\n){0,6}") {
        let _ = Setup::parse(&text, Path::new("x"));
    }
}

#[test]
fn fields_of_the_worksheet_are_read_and_errors_have_their_line() {
    let setup = parsed(
        r#"place = "Lab 2, Cologne"
measured_by = "Example Labs"
[product]
vendor = "Example Storage"
name = "Filer 9"
firmware = "9.1.4"
[sflow]
instrument = { make = "Quanta", model = "LB6M" }
[[meter]]
name = "wt"
at = "scpi://meter.example"
instrument = { make = "Yokogawa", model = "WT310E", serial = "C3", calibrated = 2026-03-01 }
"#,
    );
    assert_eq!(setup.lab.place.as_deref(), Some("Lab 2, Cologne"));
    assert_eq!(setup.lab.measured_by.as_deref(), Some("Example Labs"));
    assert_eq!(setup.lab.product.firmware.as_deref(), Some("9.1.4"));
    assert_eq!(setup.lab.product.serial, None);
    let all = setup.instruments();
    assert_eq!(all["wt"].calibrated.as_deref(), Some("2026-03-01"));
    assert_eq!(all["sflow"].model.as_deref(), Some("LB6M"));
    for (text, what) in [
        ("place = \"\"", "energy.toml:1: this is a text of 1 to 400"),
        (
            "[product]\nname = \"a\\nb\"",
            "energy.toml:2: this is a text",
        ),
        ("[product]\nmaker = \"x\"", "correct the key"),
        (
            "[[meter]]\nat = \"rapl:\"\ninstrument = { calibrated = \"2026-13-01\" }",
            "energy.toml:3: calibrated is a day",
        ),
    ] {
        let message = refused(text);
        assert!(message.contains(what), "{message}");
    }
}
