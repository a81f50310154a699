//! Redfish against a correct service, and against faulty ones.

use crate::redfish_service::{Answer, Service, rackmount};
use crate::{LIMIT, SHORT, failure, figure, meter, read, try_meter};
use filermark_energy_data::Quantity;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

const CHASSIS: &str = "/redfish/v1/Chassis/1U";

/// A file that only its owner may read.
fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
    path
}

#[test]
fn a_chassis_is_followed_to_its_links() {
    let service = Service::plain(|path, _| rackmount(path));
    let mut meter = meter(&service.source("", CHASSIS), LIMIT);
    let sample = read(&mut *meter);
    assert_eq!(figure(&sample, Quantity::Power), Some(374.0));
    assert_eq!(figure(&sample, Quantity::Humidity), Some(41.5));
    // The inlet, and not the processor of EnvironmentMetrics.
    assert_eq!(figure(&sample, Quantity::Temperature), Some(24.8));
    assert_eq!(sample.at, None);
    let new = [
        "",
        "/EnvironmentMetrics",
        "/ThermalSubsystem",
        "/ThermalSubsystem/ThermalMetrics",
    ];
    let asked = |names: &[&str]| -> Vec<String> {
        names
            .iter()
            .map(|name| format!("{CHASSIS}{name}"))
            .collect()
    };
    assert_eq!(service.paths(), asked(&new));
    // The second reading requests only the resources with figures.
    assert_eq!(read(&mut *meter).values, sample.values);
    assert_eq!(service.paths(), asked(&[new[1], new[3]]));
    let clock = meter.clock();
    assert!(clock.offset_s.abs() < 1e-9 && clock.bound_s.is_none());
    // The clock of the service is in 1994.
    assert!(
        clock.how.contains("Date header") && clock.how.contains("clock is -"),
        "{}",
        clock.how
    );
}

#[test]
fn old_services_have_power_and_thermal() {
    let service = Service::plain(|path, _| match path {
        "/redfish/v1/Chassis/1/" => Answer::Body(json!({
            "@odata.type": "#Chassis.v1_0_0.Chassis",
            "EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/1/Nowhere"},
            "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power/"},
            "Thermal": {"@odata.id": "/redfish/v1/Chassis/1/Thermal/"},
        })),
        "/redfish/v1/Chassis/1/Power/" => Answer::Body(json!({
            "@odata.type": "#Power.1.0.1.Power",
            "PowerControl": [{"PowerConsumedWatts": 590}],
            "PowerSupplies": [{"LineInputVoltage": 230}],
        })),
        "/redfish/v1/Chassis/1/Thermal/" => Answer::Body(json!({
            "@odata.type": "#Thermal.v1_1_0.Thermal",
            "Temperatures": [{"Name": "01-Inlet Ambient", "ReadingCelsius": 22}],
        })),
        _ => Answer::Status("404 Not Found", String::new()),
    });
    let sample = read(&mut *meter(
        &service.source("", "/redfish/v1/Chassis/1/"),
        LIMIT,
    ));
    let wanted = [
        (Quantity::Power, 590.0),
        (Quantity::Voltage, 230.0),
        (Quantity::Temperature, 22.0),
    ];
    assert_eq!(sample.values, wanted);
}

#[test]
fn null_is_left_out_and_a_fragment_names_an_entry() {
    let watts = Mutex::new(json!(null));
    let service = Service::plain(move |_, _| {
        let mut watts = watts.lock().expect("watts");
        let now = std::mem::replace(&mut *watts, json!(120));
        Answer::Body(json!({
            "@odata.type": "#Power.v1_7_1.Power",
            "PowerControl": [{"PowerConsumedWatts": 100}, {"PowerConsumedWatts": now}],
        }))
    });
    let power = "/redfish/v1/Chassis/1/Power#/PowerControl/1";
    let mut node = meter(&service.source("", power), LIMIT);
    assert_eq!(read(&mut *node).values, []);
    assert_eq!(read(&mut *node).values, [(Quantity::Power, 120.0)]);
    assert_eq!(service.paths(), ["/redfish/v1/Chassis/1/Power"; 2]);
    let whole = service.source("", "/redfish/v1/Chassis/1/Power");
    let message = failure(&mut *meter(&whole, LIMIT), LIMIT);
    assert!(message.contains("#/PowerControl/0"), "{message}");
}

#[test]
fn a_login_is_sent_and_never_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    let password = file(&dir, "password", "hush:now\n");
    let service = Service::plain(|path, login| match login {
        // monitor:hush:now
        Some("Basic bW9uaXRvcjpodXNoOm5vdw==") => rackmount(path),
        _ => Answer::Status("401 Unauthorized", String::new()),
    });
    let source = |user: &str, file: &PathBuf| {
        let place = service.source(user, CHASSIS);
        format!("{place}?password-file={}", file.display())
    };
    let mut right = meter(&source("monitor@", &password), LIMIT);
    assert_eq!(figure(&read(&mut *right), Quantity::Power), Some(374.0));
    let wrong = file(&dir, "wrong", "hash\n");
    let message = failure(&mut *meter(&source("monitor@", &wrong), LIMIT), LIMIT);
    assert!(
        message.contains("refuses the login") && !message.contains("hash"),
        "{message}"
    );
    let message = failure(&mut *meter(&service.source("", CHASSIS), LIMIT), LIMIT);
    assert!(message.contains("?password-file=FILE"), "{message}");
    std::fs::set_permissions(&password, PermissionsExt::from_mode(0o644)).expect("set");
    let message = try_meter(&source("monitor@", &password), LIMIT);
    let message = message
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(message.contains("chmod 600"), "{message}");
}

#[test]
fn a_login_goes_to_no_other_host() {
    let other = Service::plain(|path, _| rackmount(path));
    let to = other.source("", CHASSIS).replace("redfish+http", "http");
    // The loopback under another name is another host to a client.
    let to = to.replace("127.0.0.1", "localhost");
    let service =
        Service::plain(move |_, _| Answer::Status("302 Found", format!("Location: {to}\r\n")));
    let dir = tempfile::tempdir().expect("a directory");
    let password = file(&dir, "password", "hush\n");
    let source = service.source("monitor@", CHASSIS);
    let source = format!("{source}?password-file={}", password.display());
    let message = failure(&mut *meter(&source, LIMIT), LIMIT);
    assert!(message.contains("give that address instead"), "{message}");
    assert!(service.requests()[0].1.is_some());
    assert!(other.requests().iter().all(|(_, login)| login.is_none()));
}

#[test]
fn redirects_within_the_service_are_followed() {
    let service = Service::plain(|path, _| match path.strip_suffix('/') {
        Some(path) => rackmount(path),
        None => Answer::Status("301 Moved Permanently", format!("Location: {path}/\r\n")),
    });
    let path = format!("{CHASSIS}/EnvironmentMetrics");
    let sample = read(&mut *meter(&service.source("", &path), LIMIT));
    assert_eq!(figure(&sample, Quantity::Power), Some(374.0));
    assert_eq!(service.paths(), [path.clone(), format!("{path}/")]);
}

#[test]
fn a_certificate_is_checked() {
    let (service, pem) = Service::tls(|path, _| rackmount(path));
    let source = service.source("", CHASSIS);
    let message = failure(&mut *meter(&source, LIMIT), LIMIT);
    assert!(
        message.contains("ca=FILE") && message.contains("insecure=yes"),
        "{message}"
    );
    assert_eq!(service.requests(), []);
    let dir = tempfile::tempdir().expect("a directory");
    let ca = file(&dir, "ca.pem", &pem);
    let mut checked = meter(&format!("{source}?ca={}", ca.display()), LIMIT);
    assert_eq!(figure(&read(&mut *checked), Quantity::Power), Some(374.0));
    let mut any = meter(&format!("{source}?insecure=yes"), LIMIT);
    assert_eq!(figure(&read(&mut *any), Quantity::Power), Some(374.0));
    // The certificate of another service is refused.
    let (_other, pem) = Service::tls(|path, _| rackmount(path));
    let ca = file(&dir, "other.pem", &pem);
    let mut wrong = meter(&format!("{source}?ca={}", ca.display()), LIMIT);
    let message = failure(&mut *wrong, LIMIT);
    assert!(message.contains("ca=FILE"), "{message}");
    for (name, text, wanted) in [
        ("none.pem", "", "no certificate"),
        ("bad.pem", "-----BEGIN", ""),
    ] {
        let ca = file(&dir, name, text);
        let message = try_meter(&format!("{source}?ca={}", ca.display()), LIMIT);
        let message = message
            .err()
            .map(|error| error.to_string())
            .expect("a bad file");
        assert!(
            message.contains("read the certificate") && message.contains(wanted),
            "{message}"
        );
    }
}

#[test]
fn refusals_have_a_message() {
    for (status, wanted) in [
        ("404 Not Found", "/redfish/v1/Chassis lists"),
        ("403 Forbidden", "requires a login"),
        ("503 Service Unavailable", "longer interval"),
        ("500 Internal Server Error", "500"),
        ("204 No Content", "204"),
    ] {
        let service = Service::plain(move |_, _| Answer::Status(status, String::new()));
        let message = failure(&mut *meter(&service.source("", CHASSIS), LIMIT), LIMIT);
        assert!(message.contains(wanted), "{status}: {message}");
    }
}

#[test]
fn loops_of_redirects_and_links_end() {
    let service =
        Service::plain(|path, _| Answer::Status("302 Found", format!("Location: {path}/x\r\n")));
    let message = failure(&mut *meter(&service.source("", CHASSIS), LIMIT), LIMIT);
    assert!(
        message.contains("give the final address instead"),
        "{message}"
    );
    assert!(service.paths().len() <= 4);
    // A resource that links to itself.
    let service = Service::plain(|path, _| {
        Answer::Body(json!({
            "@odata.type": "#PowerDistribution.v1_0_0.PowerDistribution",
            "Metrics": {"@odata.id": format!("{path}/x")},
        }))
    });
    let message = failure(&mut *meter(&service.source("", CHASSIS), LIMIT), LIMIT);
    assert!(message.contains("8 requests were not enough"), "{message}");
    assert_eq!(service.paths().len(), 8);
}

#[test]
fn a_body_has_a_limit() {
    let service = Service::plain(|_, _| Answer::Flood(vec![b' '; 65536]));
    let message = failure(&mut *meter(&service.source("", CHASSIS), LIMIT), LIMIT);
    assert!(message.contains("more than 1048576 bytes"), "{message}");
}

#[test]
fn a_silent_service_takes_no_longer_than_the_limit() {
    let service = Service::plain(|_, _| Answer::Nothing);
    let mut meter = meter(&service.source("", CHASSIS), SHORT);
    for _ in 0..2 {
        let message = failure(&mut *meter, SHORT);
        assert!(message.contains("no answer within 0.4 s"), "{message}");
    }
}

#[test]
fn a_service_without_figures_is_reported() {
    for body in [
        json!({"@odata.type": "#Chassis.v1_0_0.Chassis"}),
        json!({"@odata.type": "#Fan.v1_0_0.Fan"}),
        json!({"hello": "world"}),
        json!(7),
    ] {
        let service = Service::plain(move |_, _| Answer::Body(body.clone()));
        let message = failure(&mut *meter(&service.source("", CHASSIS), LIMIT), LIMIT);
        assert!(message.contains("name a"), "{message}");
    }
}
