#![no_main]

use filermark_link::secure::hello::{INVITATION_LEN_MAX, Invitation, LINE_LEN_MAX, HelloLine};

// A line that was parsed is encoded as the same bytes, within the length limit.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(line) = HelloLine::parse(data) {
        let bytes = line.to_bytes();
        assert!(bytes.len() <= LINE_LEN_MAX);
        assert_eq!(bytes.iter().position(|b| *b == b'\n'), Some(bytes.len() - 1));
        assert_eq!(HelloLine::parse(&bytes[..bytes.len() - 1]), Ok(line));
    }
    if let Ok(invitation) = Invitation::parse(data) {
        let line = invitation.to_line();
        assert!(line.len() <= INVITATION_LEN_MAX);
        assert_eq!(Invitation::parse(line.trim_end_matches('\n').as_bytes()), Ok(invitation));
    }
});
