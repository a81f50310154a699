//! Pipes and devices of Unix systems.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a pipe or a device, without waiting; `None`: it has no reader.
pub(super) fn open_stream(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32);
    match options.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Ok(None),
        Err(e) => Err(e),
    }
}
