#![no_main]

use filermark_link::secure::keys::{ClientKey, PrimeKeys};
use std::path::Path;

// A text is a key file, or an error whose message contains no value of a `secret` line.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let path = Path::new("fuzz");
    let prime = PrimeKeys::of_text(text, path).err();
    let client = ClientKey::of_text(text, path).err();
    assert!(prime.is_some() || client.is_some(), "one file is both");
    for error in [prime, client].into_iter().flatten() {
        let message = error.to_string();
        let secrets = text.lines().filter_map(|line| line.trim().strip_prefix("secret "));
        for secret in secrets.map(str::trim).filter(|secret| secret.len() >= 32) {
            assert!(!message.contains(secret), "{message}");
        }
    }
});
