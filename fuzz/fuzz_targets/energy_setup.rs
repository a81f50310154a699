#![no_main]

use filermark_energy_data::setup::{Setup, SourceSpec};
use std::path::Path;

// What a person writes of meters: nothing panics, and a source that reads reads again as it
// is shown, but for its secrets.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = Setup::parse(&text, Path::new("x"));
    if let Ok(spec) = text.parse::<SourceSpec>() {
        let _ = spec.to_string().parse::<SourceSpec>();
    }
});
