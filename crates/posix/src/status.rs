//! The numbers of refusals: those of the platform as they are, our own above them.

use crate::sys::{Errno, FOREIGN};
use std::fmt;

/// The run's directory is not where it was.
pub(crate) const RUN_DIR_GONE: Errno = Errno(0x8000_0001);
/// The user's program behind custom1 or custom2 answered `error`.
pub(crate) const CUSTOM_ERROR: Errno = Errno(0x8000_0002);
/// It answered something else than the protocol has.
pub(crate) const CUSTOM_GARBAGE: Errno = Errno(0x8000_0003);
/// A directory that is to be made is there, and is that of another run.
pub(crate) const NOT_OURS: Errno = Errno(0x8000_0004);

/// An error number as text: `ENOSPC: no space left on device`.
pub(crate) fn text(code: u32) -> String {
    match Errno(code) {
        RUN_DIR_GONE => return "the run's directory is gone".to_owned(),
        CUSTOM_ERROR => return "the custom program reported an error".to_owned(),
        NOT_OURS => {
            return "a directory of this name is there, with the owner file of another run"
                .to_owned();
        }
        CUSTOM_GARBAGE => return "the custom program sent an invalid answer".to_owned(),
        _ => {}
    }
    let number = i32::try_from(code).unwrap_or(i32::MAX);
    let words = crate::sys::message_of(number);
    let words = words.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    let lower = letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect::<String>())
        .unwrap_or_default();
    match crate::sys::name_of(number) {
        Some(name) => format!("{name}: {lower}"),
        None => format!("error {}: {lower}", code & !FOREIGN),
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::status::text(self.0))
    }
}

/// Advice for errors after which the run cannot go on.
pub(crate) fn fatal_advice(code: u32) -> Option<&'static str> {
    Some(match Errno(code) {
        Errno::NOSPC => {
            "the file system is full: free some space, or use a smaller load or smaller files"
        }
        Errno::DQUOT => "the quota is used up: raise it, or use a smaller load or smaller files",
        Errno::ROFS => {
            "the file system is read-only: check the kernel's log for an error after which it was remounted"
        }
        Errno::STALE => {
            "the server does not know the directory any more: mount the file system again"
        }
        Errno::MFILE => "too few file descriptors: raise the limit (ulimit -n), or lower MAX_FD",
        Errno::NFILE => {
            "the system has no file descriptors left: raise fs.file-max, or lower MAX_FD"
        }
        Errno::NOTCONN | Errno::NODEV => {
            "the file system behind the mount is gone: check its log and mount it again"
        }
        NOT_OURS => {
            "Filermark leaves it alone: move it away, or choose another suffix (-s); \
             .filermark-owner in it names its run"
        }
        RUN_DIR_GONE => "check whether the file system was unmounted or the directory was removed",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_names_and_words() {
        assert_eq!(text(Errno::NOSPC.0), "ENOSPC: no space left on device");
        assert!(text(Errno::STALE.0).starts_with("ESTALE: stale file handle"));
        for code in [RUN_DIR_GONE, CUSTOM_ERROR, CUSTOM_GARBAGE, NOT_OURS] {
            assert!(!text(code.0).contains("error 2"), "{}", text(code.0));
        }
        for code in [0, 77, 4000, u32::MAX] {
            assert!(!text(code).is_empty());
        }
    }

    #[test]
    fn only_what_stays_is_fatal() {
        for code in [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::ROFS,
            Errno::STALE,
            RUN_DIR_GONE,
        ] {
            assert!(fatal_advice(code.0).is_some(), "{}", text(code.0));
        }
        for code in [Errno::NOENT, Errno::IO, Errno::TIMEDOUT, CUSTOM_ERROR] {
            assert!(fatal_advice(code.0).is_none(), "{}", text(code.0));
        }
    }
}
