//! Which interface of the system receives and sends for TCP connections: the reactor, or io_uring
//! where that is asked for.

use crate::system::SocketRing;
use std::cell::Cell;
use std::io::{self, ErrorKind};

/// The environment variable that prescribes it: `epoll`, which is the same as no variable,
/// `io_uring`, or `auto`. On systems without epoll, `epoll` is what they have in its place.
pub const ENGINE_VARIABLE: &str = "FILERMARK_SOCKETS";

/// Which interface is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketEngine {
    /// io_uring where it can be used.
    Auto,
    /// The reactor.
    #[default]
    Reactor,
    /// io_uring, or none.
    Ring,
}

thread_local! {
    /// What a thread prescribes for itself.
    static PRESCRIBED: Cell<Option<SocketEngine>> = const { Cell::new(None) };
}

impl SocketEngine {
    /// Prescribes the engine of what this thread opens from now on, whatever the environment
    /// prescribes: for tests, and for measurements that compare them. `None`: no more.
    pub fn prescribe(engine: Option<Self>) {
        PRESCRIBED.set(engine);
    }

    /// What is prescribed: by [`SocketEngine::prescribe`], else by the environment.
    ///
    /// # Errors
    /// `InvalidInput`: it is none of these, with the message.
    pub fn prescribed() -> io::Result<Self> {
        if let Some(own) = PRESCRIBED.get() {
            return Ok(own);
        }
        match std::env::var_os(ENGINE_VARIABLE) {
            None => Ok(Self::default()),
            Some(text) => Self::of_text(&text.to_string_lossy()),
        }
    }

    fn of_text(text: &str) -> io::Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "" | "epoll" => Ok(Self::Reactor),
            "io_uring" => Ok(Self::Ring),
            other => Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!("{ENGINE_VARIABLE} is {other:?}: use auto, epoll or io_uring"),
            )),
        }
    }

    /// A ring, if one is to be used; it is tested before.
    ///
    /// # Errors
    /// It is prescribed and cannot be used, with the reason.
    pub fn ring(self) -> io::Result<Option<SocketRing>> {
        match self {
            Self::Reactor => Ok(None),
            Self::Auto => Ok(SocketRing::new().ok()),
            Self::Ring => match SocketRing::new() {
                Ok(ring) => Ok(Some(ring)),
                Err(error) => Err(io::Error::new(error.kind(), reason(&error))),
            },
        }
    }
}

/// Which interface is used in this process for TCP connections, and why it is not io_uring; for
/// records.
pub fn engine_text() -> String {
    let wanted = match SocketEngine::prescribed() {
        Ok(wanted) => wanted,
        Err(error) => return error.to_string(),
    };
    if wanted == SocketEngine::Reactor {
        return "epoll".to_owned();
    }
    match SocketRing::new() {
        Ok(_) => "io_uring".to_owned(),
        Err(error) => format!("epoll: {}", reason(&error)),
    }
}

/// Why there is no ring.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::Unsupported => "this system has no io_uring".to_owned(),
        ErrorKind::PermissionDenied => format!(
            "io_uring is forbidden here ({error}): allow it (sysctl kernel.io_uring_disabled=0; \
             in a container its seccomp profile)"
        ),
        ErrorKind::InvalidInput => format!("its io_uring is older than Linux 6.1 ({error})"),
        _ => format!("io_uring cannot be set up ({error}), see io_uring_setup(2)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_has_three_values() {
        let of = |text| SocketEngine::of_text(text).map_err(|e| e.to_string());
        assert_eq!(of(""), Ok(SocketEngine::Reactor));
        assert_eq!(of("auto"), Ok(SocketEngine::Auto));
        assert_eq!(of("epoll"), Ok(SocketEngine::Reactor));
        assert_eq!(of("io_uring"), Ok(SocketEngine::Ring));
        let error = of("poll").expect_err("there is none of this name");
        assert!(
            error.contains("\"poll\": use auto, epoll or io_uring"),
            "{error}"
        );
    }

    #[test]
    fn reasons_state_what_can_be_done() {
        let of = |kind: ErrorKind| reason(&kind.into());
        assert!(of(ErrorKind::PermissionDenied).contains("kernel.io_uring_disabled=0"));
        assert!(of(ErrorKind::InvalidInput).contains("Linux 6.1"));
        assert!(of(ErrorKind::Unsupported).contains("no io_uring"));
        assert!(of(ErrorKind::OutOfMemory).contains("io_uring_setup(2)"));
    }
}
