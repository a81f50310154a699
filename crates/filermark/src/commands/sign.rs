//! Keys of archives, and their passwords.

use filermark_archive::sign::{KEY_LEN_MAX, SigningKey, VerifyingKey};
use filermark_cli_kit::files::read_limited;
use filermark_model::Secret;
use std::path::Path;
use zeroize::Zeroizing;

/// The environment variable for the password of a key.
const PASSWORD_VARIABLE: &str = "FILERMARK_SIGN_PASSWORD";

/// Reads the secret key at `path`; its password is the first line of `password_file`, or
/// comes from the environment or the terminal.
///
/// # Errors
/// A message with the path, the error and what to do.
pub fn signing_key(path: &Path, password_file: Option<&Path>) -> Result<SigningKey, String> {
    filermark_engine::sys::forbid_core_dumps();
    let text = text_of(path)?;
    let ask = || password(path, password_file);
    SigningKey::read(&text, ask).map_err(|why| format!("{}: {why}", path.display()))
}

/// Reads a public key: a file, or the key itself.
///
/// # Errors
/// It is neither.
pub fn verifying_key(key: &str) -> Result<VerifyingKey, String> {
    if let Some(key) = VerifyingKey::from_base64(key) {
        return Ok(key);
    }
    let advice = "give the file minisign.pub, or the key that it has (RW...)";
    if !Path::new(key).exists() {
        return Err(format!(
            "--key {key}: neither a public key of minisign nor a file; {advice}"
        ));
    }
    let text = text_of(Path::new(key))?;
    VerifyingKey::of_text(&text)
        .ok_or_else(|| format!("{key}: not a public key of minisign; {advice}"))
}

fn password(key: &Path, file: Option<&Path>) -> Result<Secret, String> {
    if let Some(file) = file {
        let text = text_of(file)?;
        return Ok(Secret::new(text.lines().next().unwrap_or_default()));
    }
    match std::env::var(PASSWORD_VARIABLE).map(Zeroizing::new) {
        Ok(word) => return Ok(Secret::new(&word)),
        Err(std::env::VarError::NotUnicode(_)) => {
            return Err(format!("{PASSWORD_VARIABLE} is not UTF-8"));
        }
        Err(std::env::VarError::NotPresent) => {}
    }
    let prompt = format!("Password of {}: ", key.display());
    match rpassword::prompt_password(prompt).map(Zeroizing::new) {
        Ok(word) => Ok(Secret::new(&word)),
        Err(e) => Err(format!(
            "the key has a password, and it cannot be asked for at a terminal ({e}): --password-file FILE has it in its first line, or put it into the environment: {PASSWORD_VARIABLE}"
        )),
    }
}

/// A small text file, which may be a secret.
fn text_of(path: &Path) -> Result<Zeroizing<String>, String> {
    let bytes = read_limited(path, KEY_LEN_MAX)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Zeroizing::new(text)),
        Err(e) => {
            drop(Zeroizing::new(e.into_bytes()));
            Err(format!("{}: not UTF-8 text", path.display()))
        }
    }
}
