#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| filermark_onc::fuzzing::rpcsec_gss(data));
