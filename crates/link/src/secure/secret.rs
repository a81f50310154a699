//! A secret: random bytes. And files that nobody but their owner may read.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Fewest bits of a secret.
pub const SECRET_BITS_MIN: usize = 128;
/// Bytes of a secret that we make, and of the longest that we take.
const SECRET_LEN: usize = 32;
const SECRET_LEN_MAX: usize = 64;
/// Random bytes are not all alike; a secret with fewer different ones was typed.
const DIFFERENT_MIN: usize = 8;

/// Why there is no secret. Every message says how that is mended.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file could not be made, opened or read.
    #[error("key file {path}: {error}{advice}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
        /// What to do.
        advice: &'static str,
    },
    /// Others may read or write it.
    #[error(
        "key file {path}: others may read or write it (mode {mode:03o}); if nobody has, mend it with: chmod 600 {path}"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error("key file {path}: belongs to user {owner}, not to the one who uses it; copy it")]
    WrongOwner {
        /// The file.
        path: PathBuf,
        /// Number of its owner.
        owner: u32,
    },
    /// What is in it is not what is needed.
    #[error("key file {path}{place}: {reason}; {advice}")]
    Content {
        /// The file.
        path: PathBuf,
        /// ":LINE", where it is one line.
        place: String,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// What the key of one side follows from. Does not show itself in logs; overwritten in
/// memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// A new one, of 256 bits.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Self, SecretError> {
        let mut bytes = Zeroizing::new(vec![0; SECRET_LEN]);
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| SecretError::NoRandom)?;
        Ok(Self(bytes))
    }

    /// From hex or base64url (without padding).
    ///
    /// # Errors
    /// What is wrong with it; never any of its characters.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const TOO_LONG: &str = "is too long: 64 bytes are the most";
        if text.len() > SECRET_LEN_MAX * 2 {
            return Err(TOO_LONG);
        }
        let bytes = from_hex(text)
            .or_else(|| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok())
            .map(Zeroizing::new)
            .ok_or("is neither hex nor base64url")?;
        if bytes.len() > SECRET_LEN_MAX {
            return Err(TOO_LONG);
        }
        if bytes.len() * 8 < SECRET_BITS_MIN {
            return Err("has fewer than 128 bits");
        }
        let mut seen = [false; 256];
        for byte in bytes.iter() {
            seen[usize::from(*byte)] = true;
        }
        if seen.iter().filter(|s| **s).count() < DIFFERENT_MIN {
            return Err("is not random");
        }
        Ok(Self(bytes))
    }

    /// In hex, for files and for the invitation of agents.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(to_hex(&self.0))
    }

    /// For the derivation of keys.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bits)", self.0.len() * 8)
    }
}

/// Lower-case hex, in a buffer that does not grow.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(digit.into(), 16));
        }
    }
    text
}

pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect()
}

/// Writes a file that nobody else may read. A file that is there already stays as it
/// is.
///
/// # Errors
/// The file is there already or cannot be made.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), SecretError> {
    let failed = |error: io::Error| SecretError::File {
        path: path.into(),
        advice: match error.kind() {
            io::ErrorKind::AlreadyExists => "; it is not overwritten, since agents may use it",
            _ => "",
        },
        error,
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = std::fs::remove_file(path);
        failed(error)
    })
}

/// Reads a file of at most `len_max` bytes that only its owner can read.
///
/// # Errors
/// The file cannot be read, or is longer, or others can read it.
pub(super) fn read_private(path: &Path, len_max: u64) -> Result<Zeroizing<String>, SecretError> {
    let failed = |error: io::Error| SecretError::File {
        path: path.into(),
        advice: match error.kind() {
            io::ErrorKind::NotFound => {
                "; make the files with: filermark agent --make-keys DIR --clients LIST"
            }
            _ => "",
        },
        error,
    };
    // A pipe that nobody writes to must not hold us.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
        .map_err(failed)?;
    check_file(path, &file, failed)?;
    // Room for all of it at once: a buffer that grows leaves copies behind.
    let len = file.metadata().map_err(failed)?.len().min(len_max);
    let mut text = Zeroizing::new(String::with_capacity(len as usize + 2));
    file.take(len_max + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > len_max {
        return Err(failed(io::Error::other(format!(
            "it is longer than {len_max} bytes"
        ))));
    }
    Ok(text)
}

/// Looks at the open file, not at its name: that may lead elsewhere in a moment.
fn check_file(
    path: &Path,
    file: &File,
    failed: impl Fn(io::Error) -> SecretError,
) -> Result<(), SecretError> {
    let found = file.metadata().map_err(&failed)?;
    if !found.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Open {
            path: path.into(),
            mode,
        });
    }
    let owner = found.uid();
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Err(SecretError::WrongOwner {
            path: path.into(),
            owner,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_written_file_is_read_again_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        write_private(&path, "words\n").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read_private(&path, 6).unwrap().as_str(), "words\n");
        let again = write_private(&path, "other").unwrap_err().to_string();
        assert!(again.contains("not overwritten"), "{again}");
        assert_eq!(read_private(&path, 6).unwrap().as_str(), "words\n");
        let long = read_private(&path, 5).unwrap_err().to_string();
        assert!(long.contains("longer than 5 bytes"), "{long}");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_command_that_mends_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        write_private(&path, "words").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o601] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = read_private(&path, 9).unwrap_err().to_string();
            let mends = format!("chmod 600 {}", path.display());
            assert!(refused.contains(&mends), "{refused}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(read_private(&path, 9).is_ok());
    }

    #[test]
    fn weak_secrets_and_other_things_are_refused_in_words() {
        let refused = |text: &str| Secret::parse(text).unwrap_err();
        assert!(refused("0123456789abcdef0123456789abcd").contains("128 bits"));
        assert!(refused("correct horse battery staple").contains("neither"));
        assert!(refused(&"00".repeat(32)).contains("not random"));
        assert!(refused(&"0123456789abcdef".repeat(5000)).contains("too long"));
        let in_base64 = URL_SAFE_NO_PAD.encode((0..65).collect::<Vec<u8>>());
        assert!(refused(&in_base64).contains("too long"));
        assert!(refused("").contains("128 bits"));
        assert!(Secret::parse("00112233445566778899aabbccddeeff").is_ok());

        let dir = tempfile::tempdir().unwrap();
        let missing = read_private(&dir.path().join("none"), 9).unwrap_err();
        assert!(missing.to_string().contains("filermark agent --make-keys"));
        let no_file = read_private(dir.path(), 9).unwrap_err();
        assert!(no_file.to_string().contains("not a regular file"));
    }

    #[test]
    fn hex_and_base64url_mean_the_same_and_nothing_shows_in_logs() {
        let secret = Secret::random().unwrap();
        let base64url = URL_SAFE_NO_PAD.encode(secret.bytes());
        assert_eq!(Secret::parse(&base64url), Ok(secret.clone()));
        assert_eq!(Secret::parse(&format!("{base64url}=")), Ok(secret.clone()));
        assert_eq!(Secret::parse(&secret.to_hex()), Ok(secret.clone()));
        assert_eq!(
            Secret::parse(&secret.to_hex().to_uppercase()),
            Ok(secret.clone())
        );
        assert_eq!(format!("{secret:?}"), "Secret(256 bits)");
    }
}
