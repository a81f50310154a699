//! Signatures of archives: minisign signatures (<https://jedisct1.github.io/minisign/>) over
//! the whole archive, in a separate file. Only this module uses the library.

use crate::verify::{CheckStatus, Verification};
use crate::{ArchiveError, ArchiveResult};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use filermark_model::Secret;
use filermark_model::text::one_line;
use filermark_results::Timestamp;
use minisign::{PublicKey, PublicKeyBox, SecretKey, SecretKeyBox, SignatureBox};
use std::io::{self, Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs};
use zeroize::Zeroizing;

pub use crate::name::SIGNATURE_END;

/// Maximum size of a key or signature file, in bytes.
pub const KEY_LEN_MAX: u64 = 16 << 10;
/// The beginning of a signature.
const HEADER: &[u8] = b"untrusted comment:";
/// Bytes of a secret key.
const SECRET_KEY_BYTES: usize = 158;
/// Bytes of a signature, with its algorithm and the number of its key.
const SIGNATURE_BYTES: usize = 74;
/// Bytes of the signature over a signature and its comment.
const SIGNATURE_OF_COMMENT_BYTES: usize = 64;
/// Characters of a public key in base64.
const PUBLIC_KEY_LEN: usize = 56;

/// The path of the signature of an archive.
pub fn signature_path(archive: &Path) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push(SIGNATURE_END);
    path.into()
}

/// Whether a file is a signature, or begins like one.
pub fn is_signature(bytes: &[u8]) -> bool {
    bytes.starts_with(HEADER)
}

/// Reads the signature at `path`; `None`: there is no file.
///
/// # Errors
/// It is not a regular file, larger than [`KEY_LEN_MAX`], or cannot be read.
pub fn read_signature(path: &Path) -> ArchiveResult<Option<Vec<u8>>> {
    let failed = |e: io::Error| ArchiveError::at(path, format_args!("cannot be read: {e}"));
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e)),
        Ok(kind) if !kind.is_file() => {
            let what = "not a signature, but a link, a folder, a pipe, a socket or a device";
            return Err(ArchiveError::at(path, what));
        }
        Ok(_) => {}
    }
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let limit = KEY_LEN_MAX.saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > KEY_LEN_MAX {
        true => Err(ArchiveError::at(
            path,
            "not a signature: larger than 16 KiB",
        )),
        false => Ok(Some(bytes)),
    }
}

/// A secret key that can sign.
pub struct SigningKey(SecretKey);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl SigningKey {
    /// Parses a secret key as `minisign -G` writes it; `ask` returns the password of an
    /// encrypted key.
    ///
    /// # Errors
    /// It is not such a key, or the password is wrong. The message continues after the
    /// file's name.
    pub fn read(text: &str, ask: impl FnOnce() -> Result<Secret, String>) -> Result<Self, String> {
        let line = text.lines().nth(1).unwrap_or_default();
        let bytes = STANDARD.decode(line.trim()).map(Zeroizing::new);
        let bytes = bytes
            .ok()
            .filter(|b| b.len() == SECRET_KEY_BYTES && b.starts_with(b"Ed"));
        let parsed = bytes.and_then(|bytes| SecretKey::from_bytes(&bytes).ok());
        let parsed = parsed.ok_or("not a secret key of minisign; `minisign -G` makes one")?;
        // The library requires a checksum, which Debian's minisign leaves out of keys without
        // a password. A damaged key fails at its first signature.
        if !parsed.is_encrypted() {
            return Ok(Self(parsed));
        }
        let password = ask()?;
        let word = password.reveal().unwrap_or_default().to_owned();
        let key = SecretKeyBox::from(text.to_owned());
        let read = key.into_secret_key(Some(word));
        read.map(Self)
            .map_err(|e| format!("the key cannot be used: {e}"))
    }

    /// The signature file for an archive with this name and time of packing.
    ///
    /// # Errors
    /// The library cannot sign.
    pub fn sign(&self, archive: &[u8], name: &str, made: Timestamp) -> ArchiveResult<String> {
        let seconds = made.unix_seconds() as i64;
        let name = one_line(name);
        let trusted = format!("timestamp:{seconds}\tfile:{name}\thashed");
        let comment = "signature of a Filermark archive; check it with filermark verify --key";
        let public = PublicKey::from_secret_key(&self.0);
        public
            .and_then(|public| {
                let reader = Cursor::new(archive);
                minisign::sign(
                    Some(&public),
                    &self.0,
                    reader,
                    Some(&trusted),
                    Some(comment),
                )
            })
            .map(SignatureBox::into_string)
            .map_err(|e| ArchiveError(format!("the archive cannot be signed: {e}")))
    }
}

/// A public key.
#[derive(Clone, Debug)]
pub struct VerifyingKey(PublicKey);

impl VerifyingKey {
    /// Parses a key in base64, as `minisign -G` prints it; `None`: not a key.
    pub fn from_base64(word: &str) -> Option<Self> {
        let key = (word.len() == PUBLIC_KEY_LEN).then(|| PublicKey::from_base64(word));
        key?.ok().map(Self)
    }

    /// Parses the text of a key file: `minisign.pub`, or the base64 alone.
    pub fn of_text(text: &str) -> Option<Self> {
        let read = || PublicKeyBox::from(text.to_owned()).into_public_key();
        Self::from_base64(text.trim()).or_else(|| read().ok().map(Self))
    }

    /// The key's number, as minisign prints it.
    pub fn id(&self) -> String {
        id(self.0.keynum())
    }
}

fn id(number: &[u8]) -> String {
    number
        .iter()
        .rev()
        .map(|byte| format!("{byte:02X}"))
        .collect()
}

/// Checks the signature of an archive; `signature` is the result of [`read_signature`].
pub fn check(
    archive: &[u8],
    name: &str,
    signature: &ArchiveResult<Option<Vec<u8>>>,
    key: &VerifyingKey,
    verification: &mut Verification,
) {
    let about = format!("{name}{SIGNATURE_END}");
    let result = match signature {
        Err(why) => Err(why.to_string()),
        Ok(None) => {
            Err("missing: the archive is not signed, or its signature was not passed on".to_owned())
        }
        Ok(Some(bytes)) => check_signature(archive, bytes, key),
    };
    match result {
        Ok(text) => verification.push(CheckStatus::Ok, about, text),
        Err(why) => verification.push(CheckStatus::Fail, about, why),
    }
}

fn check_signature(archive: &[u8], signature: &[u8], key: &VerifyingKey) -> Result<String, String> {
    let text = std::str::from_utf8(signature)
        .ok()
        .filter(|_| is_signature(signature));
    let has_lengths = |text: &&str| {
        let len = |line: usize| {
            let word = text.lines().nth(line).unwrap_or_default();
            STANDARD.decode(word.trim()).map_or(0, |bytes| bytes.len())
        };
        len(1) == SIGNATURE_BYTES && len(3) == SIGNATURE_OF_COMMENT_BYTES
    };
    // The library panics on a shorter signature of the comment (minisign 0.10).
    let text = text.filter(has_lengths);
    let text = text.ok_or("not a signature of minisign, or a truncated one")?;
    let signature =
        SignatureBox::from_string(text).map_err(|e| format!("not a signature of minisign: {e}"))?;
    if signature.keynum() != key.0.keynum() {
        return Err(format!(
            "signed with another key: {}, not {}",
            id(signature.keynum()),
            key.id()
        ));
    }
    if !signature.is_prehashed() {
        return Err(
            "a signature of the old format (minisign -l), which is not accepted; sign the archive again".into(),
        );
    }
    minisign::verify(&key.0, &signature, Cursor::new(archive), true, false, false).map_err(
        |e| format!("the archive or its signature was changed since it was signed ({e})"),
    )?;
    let comment = signature.trusted_comment().unwrap_or_default();
    Ok(format!(
        "the archive is unchanged since it was signed with key {} ({})",
        key.id(),
        comment.replace('\t', ", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use minisign::KeyPair;

    const ARCHIVE: &[u8] = b"PK all of it";

    fn keys(password: Option<&str>) -> (String, VerifyingKey) {
        let pair = match password {
            None => KeyPair::generate_unencrypted_keypair(),
            Some(word) => KeyPair::generate_encrypted_keypair(Some(word.to_owned())),
        };
        let pair = pair.unwrap();
        let public = pair.pk.to_box().unwrap().into_string();
        let secret = pair.sk.to_box(None).unwrap().into_string();
        (secret, VerifyingKey::of_text(&public).unwrap())
    }

    fn no_password() -> Result<Secret, String> {
        Err("asked".into())
    }

    fn found(archive: &[u8], signature: Option<&[u8]>, key: &VerifyingKey) -> (bool, String) {
        let mut verification = Verification {
            ok: true,
            ..Verification::default()
        };
        let signature = Ok(signature.map(<[u8]>::to_vec));
        check(archive, "a.zip", &signature, key, &mut verification);
        (verification.ok, verification.checks[0].to_string())
    }

    #[test]
    fn a_signature_covers_every_byte_and_needs_its_key() {
        let (secret, public) = keys(None);
        let key = SigningKey::read(&secret, no_password).unwrap();
        let made = Timestamp::from_unix_seconds(1.7e9);
        let text = key.sign(ARCHIVE, "a.zip", made).unwrap();
        let good = text.as_bytes();
        let (ok, line) = found(ARCHIVE, Some(good), &public);
        assert!(ok, "{line}");
        assert!(line.contains("timestamp:1700000000, file:a.zip"), "{line}");
        for at in 0..ARCHIVE.len() {
            let mut changed = ARCHIVE.to_vec();
            changed[at] ^= 1;
            let (ok, line) = found(&changed, Some(good), &public);
            assert!(!ok && line.contains("was changed since"), "{line}");
        }
        assert!(!found(&[ARCHIVE, b"x"].concat(), Some(good), &public).0);
        let (_, other) = keys(None);
        let (ok, line) = found(ARCHIVE, Some(good), &other);
        assert!(!ok && line.contains("another key"), "{line}");
        let (ok, line) = found(ARCHIVE, None, &public);
        assert!(!ok && line.contains("missing"), "{line}");
    }

    #[cfg(unix)]
    #[test]
    fn files_that_are_no_signatures_fail_and_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert_eq!(read_signature(&at("none")).unwrap(), None);
        fs::write(at("good"), [b'x'; KEY_LEN_MAX as usize]).unwrap();
        assert!(read_signature(&at("good")).unwrap().is_some());
        fs::write(at("large"), [b'x'; KEY_LEN_MAX as usize + 1]).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("link")).unwrap();
        let (_, public) = keys(None);
        for (name, what) in [
            ("large", "larger than 16 KiB"),
            ("folder", "not a signature"),
            ("socket", "not a signature"),
            ("link", "not a signature"),
            ("good/below", "cannot be read"),
        ] {
            let signature = read_signature(&at(name));
            let mut verification = Verification::default();
            check(ARCHIVE, "a.zip", &signature, &public, &mut verification);
            let line = verification.checks[0].to_string();
            assert!(line.starts_with("FAIL  a.zip.minisig: "), "{line}");
            assert!(line.contains(what) && line.contains(name), "{line}");
        }
    }

    #[test]
    fn no_changed_signature_passes_or_panics() {
        let (secret, public) = keys(None);
        let key = SigningKey::read(&secret, no_password).unwrap();
        let text = key.sign(ARCHIVE, "a.zip", Timestamp::now()).unwrap();
        let good = text.as_bytes();
        // The first line is a comment that is not signed.
        let first = text.find('\n').unwrap();
        for at in first + 1..good.len() {
            if good[at].is_ascii_whitespace() {
                continue;
            }
            let mut changed = good.to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(!found(ARCHIVE, Some(&changed), &public).0, "byte {at}");
            assert!(!found(ARCHIVE, Some(&good[..at]), &public).0, "{at} bytes");
        }
        for bad in [
            &b""[..],
            b"untrusted comment:",
            b"\xff\n\n\n\n",
            b"untrusted comment: a\nb\nc\nd\n",
        ] {
            assert!(!found(ARCHIVE, Some(bad), &public).0);
        }
    }

    #[test]
    fn keys_need_their_password_and_other_texts_are_refused() {
        let (secret, public) = keys(Some("geheim"));
        let read = |word: &'static str| SigningKey::read(&secret, || Ok(Secret::new(word)));
        let key = read("geheim").unwrap();
        let text = key.sign(ARCHIVE, "a.zip", Timestamp::now()).unwrap();
        assert!(found(ARCHIVE, Some(text.as_bytes()), &public).0);
        let why = read("geheym").unwrap_err();
        assert!(
            why.contains("Wrong password") && !why.contains("geheym"),
            "{why}"
        );
        assert_eq!(SigningKey::read(&secret, no_password).unwrap_err(), "asked");
        for bad in [
            "",
            "a\n",
            "a\nRWQ=\n",
            "a\n!!!\n",
            &secret[..secret.len() / 2],
        ] {
            assert!(SigningKey::read(bad, no_password).is_err(), "{bad:?}");
            assert!(VerifyingKey::of_text(bad).is_none(), "{bad:?}");
        }
        assert!(VerifyingKey::of_text(&secret).is_none());
    }
}
