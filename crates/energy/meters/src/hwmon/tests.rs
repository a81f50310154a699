use super::*;
use tempfile::TempDir;

/// Files of chips, as `hwmonN/FILE`.
fn root(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    dir
}

fn read_all(root: &TempDir, which: Option<&str>) -> Result<Vec<(Quantity, f64)>, String> {
    let made = Hwmon::new(root.path(), which);
    let sample = made.and_then(|mut hwmon| hwmon.figures());
    sample.map(|s| s.values).map_err(|t| format!("{t:?}"))
}

/// Two supplies with inputs and outputs, and a processor.
const SUPPLIES: [(&str, &str); 16] = [
    ("hwmon0/name", "coretemp\n"),
    ("hwmon0/temp1_input", "41000\n"),
    ("hwmon0/temp1_label", "Package id 0\n"),
    ("hwmon0/temp2_input", "39000\n"),
    ("hwmon1/name", "pmbus\n"),
    ("hwmon1/power1_input", "251000000\n"),
    ("hwmon1/power1_label", "pin\n"),
    ("hwmon1/power2_input", "230000000\n"),
    ("hwmon1/power2_label", "pout1\n"),
    ("hwmon1/temp1_input", "23500\n"),
    ("hwmon1/temp1_label", "Inlet\n"),
    ("hwmon2/name", "pmbus\n"),
    ("hwmon2/power1_input", "249000000\n"),
    ("hwmon2/power1_label", "pin\n"),
    ("hwmon2/power2_input", "228000000\n"),
    ("hwmon2/power2_label", "pout1\n"),
];

#[test]
fn supplies_add_up_once() {
    let root = root(&SUPPLIES);
    let wanted = vec![(Quantity::Power, 500.0), (Quantity::Temperature, 23.5)];
    assert_eq!(read_all(&root, None), Ok(wanted.clone()));
    assert_eq!(read_all(&root, Some("pmbus")), Ok(wanted));
    let one = read_all(&root, Some("coretemp/temp2"));
    assert_eq!(one, Ok(vec![(Quantity::Temperature, 39.0)]));
    let both = read_all(&root, Some("pmbus/pout1"));
    assert_eq!(both, Ok(vec![(Quantity::Power, 458.0)]));
}

#[test]
fn the_whole_machine_is_not_added_to_its_parts() {
    let root = root(&[
        ("hwmon0/name", "power_meter"),
        ("hwmon0/power1_average", "310000000"),
        ("hwmon1/name", "amdgpu"),
        ("hwmon1/power1_average", "20000000"),
        ("hwmon1/power1_input", "30000000"),
    ]);
    assert_eq!(read_all(&root, None), Ok(vec![(Quantity::Power, 310.0)]));
    // "input", where a sensor has both.
    let gpu = read_all(&root, Some("amdgpu"));
    assert_eq!(gpu, Ok(vec![(Quantity::Power, 30.0)]));
}

#[test]
fn ambiguous_sensors_are_refused() {
    let rails = root(&[
        ("hwmon0/name", "ina3221"),
        ("hwmon0/power1_input", "1"),
        ("hwmon0/power2_input", "2"),
    ]);
    let message = read_all(&rails, None).expect_err("ambiguous");
    assert!(
        message.contains("hwmon:CHIP/SENSOR") && message.contains("ina3221/power2"),
        "{message}"
    );
    let mixed = root(&[
        ("hwmon0/name", "pmbus"),
        ("hwmon0/power1_input", "1"),
        ("hwmon0/power1_label", "pin"),
        ("hwmon1/name", "amdgpu"),
        ("hwmon1/power1_input", "2"),
    ]);
    assert!(read_all(&mixed, None).is_err());
    let cores = root(&SUPPLIES);
    let message = read_all(&cores, Some("coretemp")).expect_err("ambiguous");
    assert!(message.contains("CHIP/SENSOR"), "{message}");
}

#[test]
fn one_temperature_and_humidity_of_a_named_chip() {
    let root = root(&[
        ("hwmon3/name", "sht3x"),
        ("hwmon3/temp1_input", "-1500"),
        ("hwmon3/humidity1_input", "45200"),
    ]);
    let wanted = vec![(Quantity::Temperature, -1.5), (Quantity::Humidity, 45.2)];
    assert_eq!(read_all(&root, Some("sht3x")), Ok(wanted));
    // Without a name of the chip it is not known to be the inlet.
    assert!(read_all(&root, None).is_err());
}

#[test]
fn missing_sensors_are_reported() {
    let root = root(&SUPPLIES);
    let message = read_all(&root, Some("acpi")).expect_err("none");
    assert!(message.contains("pmbus/power1 (pin)"), "{message}");
    assert!(read_all(&root, Some("pmbus/power9")).is_err());
    fs::write(root.path().join("hwmon1/power1_input"), "N/A").expect("written");
    let message = read_all(&root, None).expect_err("no figure");
    assert!(message.contains("not a whole number"), "{message}");
    let empty = tempfile::tempdir().expect("a directory");
    assert!(
        read_all(&empty, None)
            .expect_err("none")
            .contains("has none")
    );
    assert!(Hwmon::new(&empty.path().join("no"), None).is_err());
}
