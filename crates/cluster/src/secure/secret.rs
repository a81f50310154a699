//! The shared secret: random bytes, and the file that holds them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Fewest bits of a secret.
pub const SECRET_BITS_MIN: usize = 128;
/// Bytes of a secret that we make, and of the longest that we take.
const SECRET_LEN: usize = 32;
const SECRET_LEN_MAX: usize = 64;
/// Longest file that is read, in bytes.
const FILE_LEN_MAX: u64 = 1024;
/// Random bytes are not all alike; a secret with fewer different ones was typed.
const DIFFERENT_MIN: usize = 8;

/// Why there is no secret. Every message says how that is mended.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file could not be made, opened or read.
    #[error("secret file {path}: {error}{advice}")]
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
        "secret file {path}: others may read or write it (mode {mode:03o}); if nobody has, mend it with: chmod 600 {path}"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It belongs to somebody else.
    #[error("secret file {path}: belongs to user {owner}, not to the one who uses it; copy it")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Number of its owner.
        owner: u32,
    },
    /// There is no good secret in it.
    #[error(
        "secret file {path}: {reason}; make a new one with: filermark agent --make-secret FILE"
    )]
    Weak {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// A secret that prime and agents share. Does not show itself in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A new one, of 256 bits.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Self, SecretError> {
        let mut bytes = vec![0; SECRET_LEN];
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
            .ok_or("is neither hex nor base64url")?;
        if bytes.len() > SECRET_LEN_MAX {
            return Err(TOO_LONG);
        }
        if bytes.len() * 8 < SECRET_BITS_MIN {
            return Err("has fewer than 128 bits");
        }
        let mut seen = [false; 256];
        for byte in &bytes {
            seen[usize::from(*byte)] = true;
        }
        if seen.iter().filter(|s| **s).count() < DIFFERENT_MIN {
            return Err("is not random");
        }
        Ok(Self(bytes))
    }

    /// In hex, for files and for the invitation of agents.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
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

fn from_hex(text: &str) -> Option<Vec<u8>> {
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

/// Makes a file with a new secret that nobody else may read. A file that is there
/// already stays as it is.
///
/// # Errors
/// The file is there already or cannot be made.
pub fn make_secret_file(path: &Path) -> Result<Secret, SecretError> {
    let secret = Secret::random()?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| SecretError::File {
            path: path.into(),
            advice: match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    "; it is not overwritten, since agents may use it: name another one, or remove it first"
                }
                _ => "",
            },
            error,
        })?;
    let written = writeln!(file, "{}", secret.to_hex()).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = std::fs::remove_file(path);
        SecretError::File {
            path: path.into(),
            error,
            advice: "",
        }
    })?;
    Ok(secret)
}

/// Reads a secret from a file that only its owner can read.
///
/// # Errors
/// The file cannot be read, or others can read it, or the secret is a weak one.
pub fn read_secret_file(path: &Path) -> Result<Secret, SecretError> {
    let failed = |error: io::Error| SecretError::File {
        path: path.into(),
        advice: match error.kind() {
            io::ErrorKind::NotFound => "; make one with: filermark agent --make-secret FILE",
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
    let mut text = String::new();
    file.take(FILE_LEN_MAX + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Secret::parse(text.trim()).map_err(|reason| SecretError::Weak {
        path: path.into(),
        reason,
    })
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
        return Err(SecretError::Foreign {
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
    fn a_made_file_is_read_again_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let secret = make_secret_file(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read_secret_file(&path).unwrap(), secret);
        assert_ne!(Secret::random().unwrap(), secret);
        let again = make_secret_file(&path).unwrap_err().to_string();
        assert!(again.contains("not overwritten"), "{again}");
        assert_eq!(read_secret_file(&path).unwrap(), secret);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_command_that_mends_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        make_secret_file(&path).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o601] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = read_secret_file(&path).unwrap_err().to_string();
            let mends = format!("chmod 600 {}", path.display());
            assert!(refused.contains(&mends), "{refused}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(read_secret_file(&path).is_ok());
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
        let missing = read_secret_file(&dir.path().join("none")).unwrap_err();
        assert!(
            missing
                .to_string()
                .contains("filermark agent --make-secret")
        );
        let no_file = read_secret_file(dir.path()).unwrap_err();
        assert!(no_file.to_string().contains("not a regular file"));
    }

    #[test]
    fn hex_and_base64url_mean_the_same_and_nothing_shows_in_logs() {
        let secret = Secret::random().unwrap();
        let base64url = URL_SAFE_NO_PAD.encode(&secret.0);
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
