#![no_main]

use filermark_config::netmist_text::{export, parse};

// What is taken is written and taken again as the same.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(objects) = parse("fuzz", text) {
        assert_eq!(parse("fuzz", &export(&objects)), Ok(objects));
    }
});
