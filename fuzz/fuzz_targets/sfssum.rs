#![no_main]

// An sfssum with any bytes: the reader does not panic, and its figures are finite.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(summary) = filermark_results::parse_sfssum(&String::from_utf8_lossy(data)) {
        assert!(summary.curve.ort_ms().is_none_or(f64::is_finite));
        assert!(summary.curve.peak_value().is_none_or(f64::is_finite));
    }
});
