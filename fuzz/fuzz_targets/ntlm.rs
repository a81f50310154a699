#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| filermark_smbwire::ntlm::fuzzing::ntlm(data));
