//! Values of the kernel by name, of macOS and FreeBSD: sysctlbyname(3). No crate of the workspace
//! wraps it.
#![allow(unsafe_code)] // The call itself; nothing else is in here.

use std::ffi::CStr;

/// Longest value that is read, in bytes, with the final zero of a text.
const VALUE_LEN_MAX: usize = 256;

/// The names of the memory size in bytes, and of the processor's model: sysctl(3).
const NAMES: [&CStr; 2] = match cfg!(target_os = "macos") {
    true => [c"hw.memsize", c"machdep.cpu.brand_string"],
    false => [c"hw.physmem", c"hw.model"],
};

/// Physical memory in bytes; zero: the system does not say.
pub(crate) fn memory_bytes() -> u64 {
    let value = value(NAMES[0]).unwrap_or_default();
    value.try_into().map_or(0, u64::from_ne_bytes)
}

/// The processor's model; empty: the system does not say.
pub(crate) fn cpu_model() -> String {
    let value = value(NAMES[1]).unwrap_or_default();
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}

/// The bytes of a value; `None`: there is none, or it is too long.
fn value(name: &CStr) -> Option<Vec<u8>> {
    let mut value = vec![0_u8; VALUE_LEN_MAX];
    let mut len = value.len();
    // SAFETY: the name ends with a zero, `value` has `len` bytes, and both live through the call;
    // a null pointer means that nothing is set.
    let failed = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            &raw mut len,
            std::ptr::null_mut(),
            0,
        )
    };
    if failed != 0 {
        return None;
    }
    value.truncate(len);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names() {
        assert!(memory_bytes() > 1 << 20);
        assert!(!cpu_model().is_empty());
        assert_eq!(value(c"filermark.none"), None);
    }
}
