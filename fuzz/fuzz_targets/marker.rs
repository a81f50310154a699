#![no_main]

use filermark_driver_kit::marker::{Marker, MarkerText};

// A marker file that was parsed is written as text that parses to the same marker.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let MarkerText::Marker(marker) = Marker::read(data) {
        let text = marker.text();
        assert!(text.len() <= 4 * data.len() + 4096);
        let MarkerText::Marker(again) = Marker::read(text.as_bytes()) else {
            panic!("the written marker is not a marker");
        };
        assert_eq!(again.text(), text);
        assert!(marker.who().starts_with("run "));
    }
});
