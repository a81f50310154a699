#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| filermark_smbwire::smb2::fuzzing::smb2_handshake(data));
