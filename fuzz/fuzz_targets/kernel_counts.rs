#![no_main]

use filermark_posix::fetched::{block, cifs, nfs};

// Files of /proc and /sys with any text: a container may provide them in place of the kernel.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for place in ["/mnt/v4", "/mnt/a b", ""] {
        let bytes = nfs::read_bytes_in(text, place);
        assert!(bytes.is_none() || text.contains("bytes:"));
    }
    for share in ["//10.0.2.2/work", r"\\old\share one", ""] {
        let bytes = cifs::read_bytes_in(text, share);
        assert!(bytes.is_none() || text.contains("Bytes"));
    }
    assert!(block::read_bytes_in(text).is_none_or(|bytes| bytes % 512 == 0 || bytes == u64::MAX));
});
