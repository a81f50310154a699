#![no_main]

use filermark_config::netmist::parse_tokens;

// A token file is parsed into valid lines or at most 50 errors.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match parse_tokens("fuzz", text) {
        Ok(lines) => assert!(lines.iter().all(|l| l.instances > 0 && l.workdir.starts_with('/'))),
        Err(errors) => assert!((1..=50).contains(&errors.len())),
    }
});
