//! Which program this is, and on which host: what the first message says.

use crate::message::{Hello, PROTOCOL};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::sync::OnceLock;

/// Digits of the hash that name a build.
const BUILD_DIGITS: usize = 16;

/// This program on this host.
pub fn own_hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        build: own_build().into(),
        host: own_host(),
    }
}

/// The beginning of the SHA-256 of the program file, in hexadecimal; empty: it cannot
/// be read. Read once.
pub fn own_build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| hash_of_program().unwrap_or_default())
}

/// This host, as it calls itself.
pub fn own_host() -> String {
    let uname = rustix::system::uname();
    uname.nodename().to_string_lossy().into_owned()
}

fn hash_of_program() -> std::io::Result<String> {
    // By this name it is there even after it was replaced by another version.
    let mut file = std::fs::File::open("/proc/self/exe")?;
    let mut hash = Sha256::new();
    let mut bytes = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut bytes)?;
        if count == 0 {
            break;
        }
        hash.update(&bytes[..count]);
    }
    let digits = hash
        .finalize()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<String>();
    Ok(digits[..BUILD_DIGITS].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_by_its_bytes() {
        let hello = own_hello();
        assert_eq!(hello.build.len(), BUILD_DIGITS);
        assert!(hello.build.chars().all(|c| c.is_ascii_hexdigit()));
        assert!(!hello.host.is_empty());
    }
}
