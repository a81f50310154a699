//! Secrets of random bytes, and files that only their owner may read.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use filermark_system::Privacy;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Minimum bits of a secret.
pub const SECRET_BITS_MIN: usize = 128;
/// Bytes of a new secret, and of the longest accepted one.
const SECRET_LEN: usize = 32;
const SECRET_LEN_MAX: usize = 64;
/// Random bytes differ; a secret with fewer distinct ones was typed.
const DIFFERENT_MIN: usize = 8;

/// Why there is no secret. Every message has advice.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file could not be made, opened or read.
    #[error("key file {path}: {error}{advice}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
        /// Advice.
        advice: &'static str,
    },
    /// Others may read or write it.
    #[error(
        "key file {path}: its permissions are too open ({who}); fix it with: {fix}; if it may have been read by others, make new keys"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// The permissions of others.
        who: String,
        /// The command that removes them.
        fix: String,
    },
    /// It belongs to another user.
    #[error("key file {path}: belongs to user {owner}, not to the current user; copy it")]
    WrongOwner {
        /// The file.
        path: PathBuf,
        /// The number or the name of its owner.
        owner: String,
    },
    /// Its contents are not valid.
    #[error("key file {path}{position}: {reason}; {advice}")]
    Content {
        /// The file.
        path: PathBuf,
        /// ":LINE", if the error is in one line.
        position: String,
        /// What is wrong.
        reason: String,
        /// Advice.
        advice: &'static str,
    },
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// The secret from which the key of one side is derived. It is not shown in logs, and
/// overwritten in memory when it is dropped.
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

    /// Parses hex or base64url (without padding).
    ///
    /// # Errors
    /// What is wrong with it; never any of its characters.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const TOO_LONG: &str = "is too long: the limit is 64 bytes";
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

/// Writes a file that only this user may read. An existing file is not changed.
///
/// # Errors
/// The file exists already or cannot be made.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), SecretError> {
    let failed = |error: io::Error| SecretError::File {
        path: path.into(),
        advice: match error.kind() {
            io::ErrorKind::AlreadyExists => "; it is not overwritten, because agents may use it",
            _ => "",
        },
        error,
    };
    let mut file = filermark_system::create_private(path).map_err(failed)?;
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
    // A pipe without a writer must not block.
    let file = filermark_system::open_at_once(path).map_err(failed)?;
    check_file(path, &file, failed)?;
    // Allocated once: a growing buffer would leave copies in memory.
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

/// Checks the open file, not its name, which may be replaced meanwhile.
fn check_file(
    path: &Path,
    file: &File,
    failed: impl Fn(io::Error) -> SecretError,
) -> Result<(), SecretError> {
    let found = file.metadata().map_err(&failed)?;
    if !found.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let path = path.to_owned();
    match filermark_system::privacy(file).map_err(failed)? {
        Privacy::Private => Ok(()),
        Privacy::Shared { who, .. } => Err(SecretError::Open {
            fix: filermark_system::private_command(&path),
            path,
            who,
        }),
        Privacy::Foreign(owner) => Err(SecretError::WrongOwner { path, owner }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_read_again_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        write_private(&path, "words\n").unwrap();
        assert_eq!(read_private(&path, 6).unwrap().as_str(), "words\n");
        let again = write_private(&path, "other").unwrap_err().to_string();
        assert!(again.contains("not overwritten"), "{again}");
        assert_eq!(read_private(&path, 6).unwrap().as_str(), "words\n");
        let long = read_private(&path, 5).unwrap_err().to_string();
        assert!(long.contains("longer than 5 bytes"), "{long}");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_may_read_is_refused_with_the_command_that_fixes_it() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        write_private(&path, "words").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o601] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = read_private(&path, 9).unwrap_err().to_string();
            let advice = format!("chmod 600 {}", path.display());
            assert!(refused.contains(&advice), "{refused}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(read_private(&path, 9).is_ok());
    }

    #[test]
    fn weak_secrets_and_other_text_are_refused_with_the_reason() {
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
        // Windows does not open a directory at all.
        assert!(cfg!(windows) || no_file.to_string().contains("not a regular file"));
    }

    #[test]
    fn hex_and_base64url_are_equivalent_and_secrets_are_not_logged() {
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
