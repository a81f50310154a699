//! The bodies are written by hand after DMTF's schemas (DSP8010) and its published
//! mock-ups; they are not captures.

use super::*;
use serde_json::json;

fn values(body: &Value) -> Vec<(Quantity, f64)> {
    let found = read(body, None, WantedFigures::Everything).expect("a resource");
    found.figures.values
}

fn of(kind: &str, mut body: Value) -> Value {
    body["@odata.type"] = format!("#{kind}.v1_0_0.{kind}").into();
    body
}

#[test]
fn one_power_control_is_the_total() {
    let body = of(
        "Power",
        json!({
            "PowerControl": [{"Name": "Server Power Control", "PowerConsumedWatts": 374}],
            "Voltages": [{"Name": "12V", "ReadingVolts": 12.1}],
            "PowerSupplies": [{"LineInputVoltage": null}, {"LineInputVoltage": 231}],
        }),
    );
    let wanted = [(Quantity::Power, 374.0), (Quantity::Voltage, 231.0)];
    assert_eq!(values(&body), wanted);
}

#[test]
fn the_power_control_of_the_chassis_is_used() {
    let parts = |first: Value| {
        of(
            "Power",
            json!({
                "@odata.id": "/redfish/v1/Chassis/1/Power/",
                "PowerControl": [
                    {"Name": "Memory", "PhysicalContext": "Memory", "PowerConsumedWatts": 20},
                    first,
                    {"Name": "CPU", "PhysicalContext": "CPU", "PowerConsumedWatts": 150},
                ],
            }),
        )
    };
    let bare = parts(json!({"Name": "All", "PowerConsumedWatts": 374}));
    assert_eq!(values(&bare), [(Quantity::Power, 374.0)]);
    let body = of(
        "Power",
        json!({
            "@odata.id": "/redfish/v1/Chassis/1/Power",
            "PowerControl": [
                {"Name": "CPU Sub-system", "PowerConsumedWatts": 150},
                {"Name": "Server", "PowerConsumedWatts": 374,
                 "RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1"},
                                 {"@odata.id": "/redfish/v1/Chassis/1/"}]},
            ],
        }),
    );
    assert_eq!(values(&body), [(Quantity::Power, 374.0)]);
}

#[test]
fn an_ambiguous_total_needs_a_named_entry() {
    let body = of(
        "Power",
        json!({"PowerControl": [
            {"Name": "Node 1", "PowerConsumedWatts": 100},
            {"Name": "Node 2", "PowerConsumedWatts": 120},
        ]}),
    );
    let message = format!(
        "{:?}",
        read(&body, None, WantedFigures::Everything).expect_err("two")
    );
    assert!(
        message.contains("Node 1, Node 2") && message.contains("#/PowerControl/0"),
        "{message}"
    );
    let found = read(&body, Some("/PowerControl/1"), WantedFigures::Everything).expect("one");
    assert_eq!(found.figures.values, [(Quantity::Power, 120.0)]);
    assert!(read(&body, Some("/PowerControl/2"), WantedFigures::Everything).is_err());
}

#[test]
fn the_inlet_is_found_by_its_context_or_name() {
    let body = |temperatures: Value| of("Thermal", json!({ "Temperatures": temperatures }));
    let cpu = json!({"Name": "CPU1 Temp", "PhysicalContext": "CPU", "ReadingCelsius": 62});
    let named = json!({"Name": "01-Inlet Ambient", "ReadingCelsius": 25});
    let intake = json!({"Name": "T7", "PhysicalContext": "Intake", "ReadingCelsius": 24.5});
    let silent = json!({"Name": "T7", "PhysicalContext": "Intake", "ReadingCelsius": null});
    let degrees = |t: f64| vec![(Quantity::Temperature, t)];
    assert_eq!(values(&body(json!([cpu, named, intake]))), degrees(24.5));
    assert_eq!(values(&body(json!([cpu, named]))), degrees(25.0));
    assert_eq!(values(&body(json!([cpu, silent, named]))), []);
    assert_eq!(values(&body(json!([silent, intake]))), degrees(24.5));
    assert_eq!(values(&body(json!([cpu]))), []);
    let found = read(&body(json!([cpu, silent])), None, WantedFigures::Everything).expect("read");
    assert_eq!((found.figures.taken, found.figures.values.len()), (1, 0));
}

#[test]
fn environment_metrics_have_a_temperature_only_where_they_were_named() {
    let body = of(
        "EnvironmentMetrics",
        json!({
            "TemperatureCelsius": {"Reading": 39, "DataSourceUri": "/redfish/v1/x/CPU1Temp"},
            "PowerWatts": {"Reading": 374, "ApparentVA": 380.5, "PowerFactor": 0.98},
            "HumidityPercent": {"Reading": null},
        }),
    );
    let found = read(&body, None, WantedFigures::Power)
        .expect("read")
        .figures;
    let wanted = [
        (Quantity::Power, 374.0),
        (Quantity::ApparentPower, 380.5),
        (Quantity::PowerFactor, 0.98),
    ];
    assert_eq!((found.values.as_slice(), found.taken), (&wanted[..], 4));
    assert!(values(&body).contains(&(Quantity::Temperature, 39.0)));
}

#[test]
fn the_other_resources() {
    let metrics = json!({"TemperatureSummaryCelsius": {
        "Internal": {"Reading": 39}, "Intake": {"Reading": 24.8}, "Ambient": {"Reading": 22.5}}});
    assert_eq!(
        values(&of("ThermalMetrics", metrics)),
        [(Quantity::Temperature, 24.8)]
    );
    let outlet = json!({"PowerWatts": {"Reading": 198.5}, "CurrentAmps": {"Reading": 0.9},
        "Voltage": {"Reading": 229.9, "THDPercent": 1.9}, "FrequencyHz": {"Reading": 50}});
    let wanted = [
        (Quantity::Power, 198.5),
        (Quantity::Voltage, 229.9),
        (Quantity::VoltageDistortion, 1.9),
        (Quantity::Current, 0.9),
        (Quantity::Frequency, 50.0),
    ];
    assert_eq!(values(&of("Outlet", outlet)), wanted);
    let supply = json!({"InputPowerWatts": {"Reading": 250}, "OutputPowerWatts": {"Reading": 230},
        "InputVoltage": {"Reading": 230}, "InputCurrentAmps": {"Reading": 1.1}});
    assert_eq!(
        values(&of("PowerSupplyMetrics", supply))[0],
        (Quantity::Power, 250.0)
    );
    let sensor = |kind: &str, units: &str| {
        values(&of(
            "Sensor",
            json!({"ReadingType": kind, "ReadingUnits": units, "Reading": 2}),
        ))
    };
    assert_eq!(sensor("Power", "W"), [(Quantity::Power, 2.0)]);
    assert_eq!(sensor("Power", "kW"), [(Quantity::Power, 2000.0)]);
    assert_eq!(sensor("EnergykWh", "kW.h"), [(Quantity::Energy, 7.2e6)]);
    assert_eq!(sensor("Humidity", "%"), [(Quantity::Humidity, 2.0)]);
    for (kind, units) in [
        ("Percent", "%"),
        ("Temperature", "K"),
        ("Rotational", "RPM"),
    ] {
        let body = of(
            "Sensor",
            json!({"ReadingType": kind, "ReadingUnits": units, "Reading": 2}),
        );
        assert!(
            read(&body, None, WantedFigures::Everything).is_err(),
            "{kind}"
        );
    }
}

#[test]
fn links_are_followed_on_the_same_host_only() {
    let chassis = of(
        "Chassis",
        json!({
            "Thermal": {"@odata.id": "/redfish/v1/Chassis/1/Thermal"},
            "Power": {"@odata.id": "//other.example/redfish/"},
            "EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/1/EnvironmentMetrics"},
        }),
    );
    let found = read(&chassis, None, WantedFigures::Everything).expect("a chassis");
    let paths: Vec<&str> = found.links.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/redfish/v1/Chassis/1/EnvironmentMetrics",
            "/redfish/v1/Chassis/1/Thermal"
        ]
    );
    for body in [json!({}), json!([]), of("Fan", json!({}))] {
        assert!(read(&body, None, WantedFigures::Everything).is_err());
    }
}

proptest::proptest! {
    #[test]
    fn no_body_makes_it_panic(
        kind in "Power|Thermal|Sensor|Chassis|EnvironmentMetrics|Outlet|ThermalMetrics",
        key in "PowerControl|Temperatures|PowerWatts|Reading|Thermal|PowerSupplies|TemperatureSummaryCelsius",
        text in "null|1|-1e300|\"x\"|\\[\\]|\\{\\}|\\[1\\]|\\[\\{\\}\\]|\\{\"Reading\":null\\}|\\[\\{\"PowerConsumedWatts\":[0-9]\\},\\{\"PowerConsumedWatts\":null\\}\\]",
    ) {
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let mut body = json!({});
        body[key] = value;
        let _ = read(&of(&kind, body), None, WantedFigures::Everything);
    }
}
