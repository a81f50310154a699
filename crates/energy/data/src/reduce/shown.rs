//! How many decimals figures are shown with: the report shows them so, and a rule asks
//! whether meters bear them out.

/// Decimals that leave about three digits.
pub fn shown_decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 3,
    }
}

/// Decimals of MiB/s per W, of which nine are looked at: three significant digits of a value
/// below 1; two of all others, and of one that is nothing in nine decimals.
pub fn efficiency_decimals(value: f64) -> usize {
    let fraction = format!("{:.9}", value.abs());
    match fraction.strip_prefix("0.") {
        Some(digits) => digits.find(|c| c != '0').map_or(2, |zeros| zeros + 3),
        None => 2,
    }
}
