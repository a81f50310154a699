#![no_main]

use filermark_submission::{read_xml, write_xml};

// A submission with any text: the reader does not panic, and what it accepts is written
// as it was read.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(document) = read_xml(&text) {
        let _ = document.faults();
        let _ = document.results();
        let written = write_xml(&document);
        assert_eq!(read_xml(&written).map(|d| write_xml(&d)), Ok(written));
    }
});
