#![no_main]

use filermark_config::import::{ConvertedFormat, ImportOutcome, import};
use filermark_config::rc::parse_rc;

// A converted rc file is parsed without an error.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(ImportOutcome::Made(made)) = import("fuzz", text)
        && made.form == ConvertedFormat::Rc
    {
        assert_eq!(parse_rc("made", &made.text).errors, []);
    }
});
