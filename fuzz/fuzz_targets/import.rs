#![no_main]

use filermark_config::import::{Import, MadeForm, import};
use filermark_config::rc::parse_rc;

// A converted rc file is one that is read without a mistake.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(Import::Made(made)) = import("fuzz", text)
        && made.form == MadeForm::Rc
    {
        assert_eq!(parse_rc("made", &made.text).errors, []);
    }
});
