#![no_main]

use filermark_tls::testing::scripts;

// Records of an open session, sealed with known keys or not at all, in any pieces: no bytes cause a panic,
// plaintext is what was sent, and the outcome does not depend on where the stream is cut.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = scripts::check(data);
});
