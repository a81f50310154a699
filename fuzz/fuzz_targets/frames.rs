#![no_main]

use filermark_link::frame::Deframer;
use filermark_link::message::{Order, Report};

// The frames between prime and agent, in both directions: no bytes cause a panic, and no
// length is used before it is checked.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for mut deframer in [Deframer::of_agent(), Deframer::of_prime()] {
        for piece in data.chunks(1000) {
            deframer.push(piece);
            while let Ok(Some(frame)) = deframer.next_frame() {
                let _ = frame.decode::<Order>();
                let _ = frame.decode::<Report>();
            }
        }
    }
});
