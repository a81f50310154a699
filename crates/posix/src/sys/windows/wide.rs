//! Names as the system takes them: UTF-16. Nothing here takes from the heap.

use super::errors::numbers;
use crate::sys::{Errno, Result};
use std::ffi::CStr;

/// The longest name of a file, in units of UTF-16.
const NAME_MAX: usize = 255;

/// One name in a directory.
pub(super) struct Wide {
    units: [u16; NAME_MAX],
    len: usize,
}

impl Wide {
    /// The directory itself.
    pub(super) const SELF: Self = Self {
        units: [0; NAME_MAX],
        len: 0,
    };

    /// A name. What the system would take for more than one, or for a part of a file, is
    /// none: `a\b`, `..`, `a:b`.
    pub(super) fn new(name: &str) -> Result<Self> {
        if matches!(name, "" | "." | "..") || name.contains(['\\', '/', ':']) {
            return Err(Errno::INVAL);
        }
        let mut wide = Self::SELF;
        for unit in name.encode_utf16() {
            let at = wide.units.get_mut(wide.len);
            *at.ok_or(Errno(numbers::ENAMETOOLONG as u32))? = unit;
            wide.len += 1;
        }
        Ok(wide)
    }

    /// A name in UTF-8, as the driver gives it.
    pub(super) fn of(name: &CStr) -> Result<Self> {
        Self::new(name.to_str().map_err(|_| Errno::INVAL)?)
    }

    /// Its units.
    pub(super) fn units(&self) -> &[u16] {
        &self.units[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_names() {
        let name = Wide::of(c"f0000001").expect("name");
        assert_eq!(String::from_utf16_lossy(name.units()), "f0000001");
        for bad in [c"", c".", c"..", c"a/b", c"a\\b", c"a:b", c"\xff"] {
            assert_eq!(Wide::of(bad).err(), Some(Errno::INVAL), "{bad:?}");
        }
        assert!(Wide::new(&"é".repeat(255)).is_ok());
        let long = Wide::new(&"x".repeat(256)).err();
        assert_eq!(long, Some(Errno(numbers::ENAMETOOLONG as u32)));
        assert!(Wide::SELF.units().is_empty());
    }
}
