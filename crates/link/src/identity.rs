//! The program and host of this process: the contents of the first message.

use crate::build::{own_build, own_commit, own_profile};
use crate::message::{Hello, PROTOCOL};
use crate::secure::seal::Opener;

/// This program on this host.
pub fn own_hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        build: own_build().into(),
        commit: own_commit().into(),
        profile: own_profile().into(),
        host: own_host(),
        key: String::new(),
    }
}

/// The first message of an agent, with a key for secrets.
pub fn agent_hello(opener: &Opener) -> Hello {
    Hello {
        key: opener.key(),
        ..own_hello()
    }
}

/// The name of this host.
pub fn own_host() -> String {
    filermark_system::host_name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::BUILD_DIGITS;

    #[test]
    fn a_program_without_a_declared_build_is_identified_by_its_bytes() {
        let hello = own_hello();
        assert_eq!(hello.build.len(), BUILD_DIGITS);
        assert!(hello.build.chars().all(|c| c.is_ascii_hexdigit()));
        assert!(!hello.host.is_empty());
    }
}
