//! Signatures of archives, and the one place that knows the library: those of minisign
//! (<https://jedisct1.github.io/minisign/>), beside the archive and over all of it.

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

/// Largest key or signature file, in bytes.
pub const KEY_LEN_MAX: u64 = 16 << 10;
/// How a signature begins.
const FRONT: &[u8] = b"untrusted comment:";
/// Bytes of a secret key.
const SECRET_KEY_BYTES: usize = 158;
/// Bytes of a signature, with its form and the number of its key.
const SIGNATURE_BYTES: usize = 74;
/// Bytes of the signature of a signature and its comment.
const SIGNATURE_OF_COMMENT_BYTES: usize = 64;
/// Letters of a public key in one line.
const PUBLIC_KEY_LEN: usize = 56;

/// Where the signature of an archive is.
pub fn signature_path(archive: &Path) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push(SIGNATURE_END);
    path.into()
}

/// Whether a file is a signature, or begins like one.
pub fn is_signature(bytes: &[u8]) -> bool {
    bytes.starts_with(FRONT)
}

/// Reads the signature at `path`; `None`: nothing is there.
///
/// # Errors
/// It is no regular file, larger than [`KEY_LEN_MAX`], or cannot be read.
pub fn read_signature(path: &Path) -> ArchiveResult<Option<Vec<u8>>> {
    let failed = |e: io::Error| ArchiveError::at(path, format_args!("cannot be read: {e}"));
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e)),
        Ok(kind) if !kind.is_file() => {
            let what = "this is a link, a folder, a pipe or a device, and no signature";
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
            "larger than 16 KiB, so no signature",
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
    /// Reads the text of a secret key as `minisign -G` writes it; `ask` gives the
    /// password, where it has one.
    ///
    /// # Errors
    /// It is no such key, or the password is another; in words that go on after the
    /// file's name.
    pub fn read(text: &str, ask: impl FnOnce() -> Result<Secret, String>) -> Result<Self, String> {
        let line = text.lines().nth(1).unwrap_or_default();
        let bytes = STANDARD.decode(line.trim()).map(Zeroizing::new);
        let bytes = bytes
            .ok()
            .filter(|b| b.len() == SECRET_KEY_BYTES && b.starts_with(b"Ed"));
        let parsed = bytes.and_then(|bytes| SecretKey::from_bytes(&bytes).ok());
        let parsed = parsed.ok_or("not a secret key of minisign; `minisign -G` makes one")?;
        // Debian's minisign leaves the checksum of a key without a password out, which
        // the library asks for; whether the key is whole, its first signature tells.
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

    /// The signature file for an archive of this name, made then.
    ///
    /// # Errors
    /// The library failed.
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
    /// The key that is this word, as `minisign -G` prints it; `None`: it is none.
    pub fn from_base64(word: &str) -> Option<Self> {
        let key = (word.len() == PUBLIC_KEY_LEN).then(|| PublicKey::from_base64(word));
        key?.ok().map(Self)
    }

    /// The key of a file: minisign.pub, or the word alone.
    pub fn of_text(text: &str) -> Option<Self> {
        let read = || PublicKeyBox::from(text.to_owned()).into_public_key();
        Self::from_base64(text.trim()).or_else(|| read().ok().map(Self))
    }

    /// Its number, as minisign prints it.
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

/// Holds an archive against its signature; `signature` is what came of reading that file.
pub fn check(
    archive: &[u8],
    name: &str,
    signature: &ArchiveResult<Option<Vec<u8>>>,
    key: &VerifyingKey,
    told: &mut Verification,
) {
    let about = format!("{name}{SIGNATURE_END}");
    let result = match signature {
        Err(why) => Err(why.to_string()),
        Ok(None) => Err(
            "not there: the archive is not signed, or its signature was not handed on".to_owned(),
        ),
        Ok(Some(bytes)) => outcome(archive, bytes, key),
    };
    match result {
        Ok(text) => told.push(CheckStatus::Ok, about, text),
        Err(why) => told.push(CheckStatus::Fail, about, why),
    }
}

fn outcome(archive: &[u8], signature: &[u8], key: &VerifyingKey) -> Result<String, String> {
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
    // The library panics at a shorter signature of the comment (minisign 0.10).
    let text = text.filter(has_lengths);
    let text = text.ok_or("not a signature of minisign, or a cut one")?;
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
            "a signature of the old form (minisign -l), which is not taken; sign it again".into(),
        );
    }
    minisign::verify(&key.0, &signature, Cursor::new(archive), true, false, false).map_err(
        |e| format!("the archive or its signature was changed since it was signed ({e})"),
    )?;
    let comment = signature.trusted_comment().unwrap_or_default();
    Ok(format!(
        "the whole archive is as it was signed with key {} ({})",
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
        let mut told = Verification {
            ok: true,
            ..Verification::default()
        };
        let signature = Ok(signature.map(<[u8]>::to_vec));
        check(archive, "a.zip", &signature, key, &mut told);
        (told.ok, told.checks[0].to_string())
    }

    #[test]
    fn a_signature_is_over_every_byte_and_of_one_key() {
        let (secret, public) = keys(None);
        let key = SigningKey::read(&secret, no_password).unwrap();
        let made = Timestamp::from_unix_seconds(1.7e9);
        let text = key.sign(ARCHIVE, "a.zip", made).unwrap();
        let good = text.as_bytes();
        let (ok, said) = found(ARCHIVE, Some(good), &public);
        assert!(ok, "{said}");
        assert!(said.contains("timestamp:1700000000, file:a.zip"), "{said}");
        for at in 0..ARCHIVE.len() {
            let mut changed = ARCHIVE.to_vec();
            changed[at] ^= 1;
            let (ok, said) = found(&changed, Some(good), &public);
            assert!(!ok && said.contains("was changed since"), "{said}");
        }
        assert!(!found(&[ARCHIVE, b"x"].concat(), Some(good), &public).0);
        let (_, other) = keys(None);
        let (ok, said) = found(ARCHIVE, Some(good), &other);
        assert!(!ok && said.contains("another key"), "{said}");
        let (ok, said) = found(ARCHIVE, None, &public);
        assert!(!ok && said.contains("not there"), "{said}");
    }

    #[test]
    fn what_cannot_be_a_signature_is_neither_read_nor_passed_over() {
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
            ("folder", "no signature"),
            ("socket", "no signature"),
            ("link", "no signature"),
            ("good/below", "cannot be read"),
        ] {
            let signature = read_signature(&at(name));
            let mut told = Verification::default();
            check(ARCHIVE, "a.zip", &signature, &public, &mut told);
            let said = told.checks[0].to_string();
            assert!(said.starts_with("FAIL  a.zip.minisig: "), "{said}");
            assert!(said.contains(what) && said.contains(name), "{said}");
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
    fn keys_are_read_with_their_password_and_nothing_else_is_a_key() {
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
