use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> SourceSpec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    text.parse::<SourceSpec>()
        .expect_err("a source that makes no sense")
        .to_string()
}

#[test]
fn every_kind_is_read() {
    assert_eq!(
        parse("scpi://meter.example"),
        SourceSpec::Scpi {
            host: "meter.example".into(),
            port: 10001,
            element: None
        }
    );
    assert_eq!(
        parse("scpi://[fe80::1]:5025/?element=2"),
        SourceSpec::Scpi {
            host: "fe80::1".into(),
            port: 5025,
            element: Some(2)
        }
    );
    assert_eq!(
        parse("redfish://a%40b@bmc/redfish/v1/Chassis/1?password-file=/run/my%20pw&ca=ca.pem"),
        SourceSpec::Redfish {
            tls: true,
            host: "bmc".into(),
            port: 443,
            path: "/redfish/v1/Chassis/1".into(),
            user: Some("a@b".into()),
            password_file: Some("/run/my pw".into()),
            ca: Some("ca.pem".into()),
            insecure: false,
        }
    );
    assert_eq!(
        parse("redfish+http://bmc/redfish/v1/Chassis/1/Power#/PowerControl/1"),
        SourceSpec::Redfish {
            tls: false,
            host: "bmc".into(),
            port: 80,
            path: "/redfish/v1/Chassis/1/Power#/PowerControl/1".into(),
            user: None,
            password_file: None,
            ca: None,
            insecure: false,
        }
    );
    assert_eq!(
        parse("snmp://lab@pdu:1161/.1.3.6.1,1.3.6.2?quantity=temperature_c&scale=0.1"),
        SourceSpec::Snmp {
            host: "pdu".into(),
            port: 1161,
            community: "lab".into(),
            oids: vec![vec![1, 3, 6, 1], vec![1, 3, 6, 2]],
            quantity: Quantity::Temperature,
            scale: 0.1,
        }
    );
    assert_eq!(
        parse("hwmon:pmbus/pin"),
        SourceSpec::Hwmon {
            chip: Some("pmbus/pin".into())
        }
    );
    assert_eq!(parse("hwmon:"), SourceSpec::Hwmon { chip: None });
    assert_eq!(parse("rapl:"), SourceSpec::Rapl);
    assert_eq!(
        parse("cmd+temperature_c:sensors | awk '/in:/ {print $2}'"),
        SourceSpec::Command {
            command: "sensors | awk '/in:/ {print $2}'".into(),
            quantity: Quantity::Temperature
        }
    );
    let made = parse("sim:idle=22, noise=0.1,seed=7,quantity=temperature_c");
    assert!(made.is_simulated() && !parse("rapl:").is_simulated());
    assert_eq!(made.quantity(), Some(Quantity::Temperature));
    assert_eq!(parse("sim:").quantity(), Some(Quantity::Power));
}

#[test]
fn every_error_states_what_to_write_instead() {
    for (text, wanted) in [
        ("", "there are scpi://"),
        ("meter:10001", "there are scpi://"),
        ("scpi://", "no host is named"),
        ("scpi://:10001", "no host is named"),
        ("scpi://m:0", "1 to 65535"),
        ("scpi://m:65536", "1 to 65535"),
        ("scpi://m:+80", "1 to 65535"),
        ("scpi://fe80::1", "in brackets"),
        ("scpi://[fe80::1", "not closed"),
        ("scpi://[meter]", "not an IPv6 address"),
        ("scpi://[::1]80", ":PORT"),
        ("scpi://a b", "neither a name nor an address"),
        ("scpi://m?elemnt=1", "element=N"),
        ("scpi://m?element=0", "from 1 to 16"),
        ("scpi://m?element=1&element=2", "twice"),
        ("scpi://m?element", "has no value"),
        ("scpi://m/U", "?element=N"),
        ("scpi://me@m", "no user"),
        ("vxi11://m:x", "1 to 65535"),
        ("redfish://bmc", "from /redfish"),
        ("redfish://bmc/redfishy", "from /redfish"),
        ("redfish://me:hush@bmc/redfish/v1", "password-file"),
        ("redfish://@bmc/redfish/v1", "name a user"),
        ("redfish://bmc/redfish/v1?password-file=f", "needs a user"),
        ("redfish://bmc/redfish/v1?insecure=maybe", "yes or no"),
        ("redfish://bmc/redfish/v1?ca=f&insecure=yes", "one of them"),
        ("redfish+http://bmc/redfish/v1?ca=f", "write redfish://"),
        ("redfish://bmc/redfish/v1/ü", "percent-encoded"),
        ("redfish://a%4@bmc/redfish/v1", "hexadecimal"),
        ("snmp://pdu", "is not an object"),
        ("snmp://pdu/1.3..6", "is not an object"),
        ("snmp://pdu/1.3.6.x", "is not an object"),
        ("snmp://pdu/1", "is not an object"),
        ("snmp://pdu/1.40.1", "is not an object"),
        ("snmp://pdu/3.1.1", "is not an object"),
        ("snmp://pdu/1.3.6.4294967296", "is not an object"),
        ("snmp://pdu/1.3.6,1.3.6", "twice"),
        ("snmp://pdu/1.3.6?scale=0", "above 0"),
        ("snmp://pdu/1.3.6?scale=inf", "above 0"),
        ("snmp://pdu/1.3.6?quantity=watt", "there are power_w"),
        ("snmp://***@pdu/1.3.6", "community itself"),
        ("hwmon:/x", "hwmon:CHIP/SENSOR"),
        ("hwmon:a/b/c", "hwmon:CHIP/SENSOR"),
        ("rapl:0", "nothing follows"),
        ("cmd:", "no command"),
        ("cmd+watts:x", "there are power_w"),
        ("cmd:a\nb", "one line"),
        ("sim:idle", "has no value"),
        ("sim:idle=x", "is a number"),
        ("sim:idle=nan", "is a number"),
        ("sim:noise=-1", "0 or more"),
        ("sim:seed=1.5", "whole number"),
        ("sim:idle=1,idle=2", "twice"),
        ("sim:watts=1", "not known"),
    ] {
        let message = refusal(text);
        assert!(message.contains(wanted), "{text}: {message}");
    }
    let long = format!("snmp://pdu/1.3{}", ".1".repeat(200));
    assert!(refusal(&long).contains("is not an object"));
    let many: Vec<String> = (0..17).map(|n| format!("1.3.{n}")).collect();
    let many = format!("snmp://pdu/{}", many.join(","));
    assert!(refusal(&many).contains("at most 16"));
}

#[test]
fn secrets_are_never_shown() {
    let spec = parse("snmp://hush@pdu/1.3.6.1");
    for shown in [spec.to_string(), format!("{spec:?}")] {
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("***@pdu"), "{shown}");
    }
    for text in [
        "redfish://me:hush@bmc/redfish/v1",
        "redfish://me:hu@sh@bmc/redfish/v1",
        "snmp://hush@pdu/1.x",
    ] {
        let message = refusal(text);
        assert!(!message.contains("hu"), "{message}");
    }
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9-]{0,20}(\\.[a-z]{2,5})?",
        any::<[u8; 4]>().prop_map(|ip| std::net::Ipv4Addr::from(ip).to_string()),
        any::<[u16; 8]>().prop_map(|ip| std::net::Ipv6Addr::from(ip).to_string()),
    ]
}

fn a_quantity() -> impl Strategy<Value = Quantity> {
    proptest::sample::select(Quantity::ALL.to_vec())
}

fn a_file() -> impl Strategy<Value = Option<PathBuf>> {
    proptest::option::of("[a-zA-Z0-9/ .%&?=@ü+-]{1,20}").prop_map(|file| file.map(PathBuf::from))
}

fn spec() -> impl Strategy<Value = SourceSpec> {
    let port = 1u16..;
    let scpi = (host(), port.clone(), proptest::option::of(1u32..=16)).prop_map(
        |(host, port, element)| SourceSpec::Scpi {
            host,
            port,
            element,
        },
    );
    let vxi11 = (
        host(),
        proptest::option::of(port.clone()),
        proptest::option::of(1u32..=16),
    );
    let vxi11 = vxi11.prop_map(|(host, port, element)| SourceSpec::Vxi11 {
        host,
        port,
        element,
    });
    let redfish = (
        any::<bool>(),
        host(),
        port.clone(),
        "/redfish(/[A-Za-z0-9.#-]{1,9}){0,5}",
        proptest::option::of("[a-z@/?ü %]{1,12}"),
        a_file(),
        a_file(),
        any::<bool>(),
    );
    let redfish = redfish.prop_map(
        |(tls, host, port, path, user, password_file, ca, insecure)| SourceSpec::Redfish {
            tls,
            host,
            port,
            path,
            password_file: password_file.filter(|_| user.is_some()),
            user,
            insecure: insecure && tls && ca.is_none(),
            ca: ca.filter(|_| tls),
        },
    );
    let oid =
        proptest::collection::vec(any::<u32>(), 0..20).prop_map(|rest| [vec![1, 3], rest].concat());
    let snmp = (
        host(),
        port,
        proptest::collection::btree_set(oid, 1..4),
        a_quantity(),
        1e-9f64..1e9,
    );
    let snmp = snmp.prop_map(|(host, port, oids, quantity, scale)| SourceSpec::Snmp {
        host,
        port,
        community: "public".into(),
        oids: oids.into_iter().collect(),
        quantity,
        scale,
    });
    let made = (
        a_quantity(),
        -1e9f64..1e9,
        -1e3f64..1e3,
        0f64..1e3,
        any::<u64>(),
    );
    let made = made.prop_map(|(quantity, idle, per_mib, noise, seed)| {
        SourceSpec::Simulated(Simulated {
            quantity,
            idle,
            per_mib,
            noise,
            seed,
        })
    });
    let chip = proptest::option::of("[a-z0-9_ -]{1,12}(/[a-zA-Z0-9 ]{1,9})?");
    prop_oneof![
        scpi,
        vxi11,
        redfish,
        snmp,
        made,
        chip.prop_map(|chip| SourceSpec::Hwmon { chip }),
        Just(SourceSpec::Rapl),
        ("[!-~][ -~]{0,40}", a_quantity())
            .prop_map(|(command, quantity)| SourceSpec::Command { command, quantity }),
    ]
}

proptest! {
    #[test]
    fn displayed_sources_are_parsed_again(spec in spec()) {
        let shown = spec.to_string();
        prop_assert_eq!(parse(&shown), spec, "{}", shown);
    }

    #[test]
    fn no_word_makes_it_panic(text in "\\PC{0,80}") {
        let _ = text.parse::<SourceSpec>();
    }

    #[test]
    fn no_url_makes_it_panic(
        scheme in "(scpi|vxi11|redfish|redfish\\+http|snmp)://|hwmon:|sim:|cmd\\+",
        rest in "[a-z0-9@:/?&=%.,\\[\\]*-]{0,60}",
    ) {
        let _ = format!("{scheme}{rest}").parse::<SourceSpec>();
    }
}
