//! The number of decimals of figures in the report. A rule checks whether meters are as fine.

/// Decimals that leave about three digits.
pub fn shown_decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 3,
    }
}

/// Decimals of MiB/s per W: three significant digits of a value below 1; two of all others,
/// and of one that is 0 in nine decimals.
pub fn efficiency_decimals(value: f64) -> usize {
    let fraction = format!("{:.9}", value.abs());
    match fraction.strip_prefix("0.") {
        Some(digits) => digits.find(|c| c != '0').map_or(2, |zeros| zeros + 3),
        None => 2,
    }
}
