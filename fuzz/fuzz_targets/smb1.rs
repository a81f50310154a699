#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| filermark_smbwire::smb1::fuzzing::smb1(data));
