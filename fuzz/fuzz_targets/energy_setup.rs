#![no_main]

use filermark_energy_data::setup::{Setup, SourceSpec};
use std::path::Path;

// The energy setup and the source options, with any text: nothing panics, and an accepted
// source can be printed and parsed again.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = Setup::parse(&text, Path::new("x"));
    if let Ok(spec) = text.parse::<SourceSpec>() {
        let _ = spec.to_string().parse::<SourceSpec>();
    }
});
