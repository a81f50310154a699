#![no_main]

use filermark_config::netmist_text::{export, parse};

// Workload objects that were parsed are exported as text that parses to the same objects.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(objects) = parse("fuzz", text) {
        assert_eq!(parse("fuzz", &export(&objects)), Ok(objects));
    }
});
