#![no_main]

use filermark_energy_data::other_kits::{add_sfssum, looks_like_sfslog, read_sfslog};
use filermark_energy_data::sflow::Zone;
use std::path::Path;

// An sfslog with any bytes: nothing panics, and phases begin in the order of time.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = looks_like_sfslog(data);
    let Ok(mut run) = read_sfslog(Path::new("x"), data, Some(Zone::UTC), "x") else {
        return;
    };
    let mut begins = run.points.iter().flat_map(|point| &point.phases);
    let mut last = begins.next().expect("a load point has begun").at;
    for begin in begins {
        assert!(last <= begin.at);
        last = begin.at;
    }
    if let Ok(summary) = filermark_results::parse_sfssum(&String::from_utf8_lossy(data)) {
        let _ = add_sfssum(&mut run, &summary);
    }
});
