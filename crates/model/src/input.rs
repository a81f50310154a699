//! The files that a run reads its parameters from, by name and SHA-256.

use crate::secret_text::without_secrets;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;

/// A file that a run read before it began. Files that hold nothing but a secret are none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InputFile {
    /// What named it: a parameter (`MIXFILE`) or an option (`-r`).
    pub option: String,
    /// Its name, without folders.
    pub name: String,
    /// SHA-256, in hexadecimal, of its text without secrets ([`without_secrets`]): a
    /// password could be guessed from the sum of a text that is known but for it.
    pub sha256: String,
    /// How many lines the sum leaves out, whole or in part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub secret_line_count: u32,
}

/// The option that names the rc file.
pub const RC_OPTION: &str = "-r";

impl InputFile {
    /// The file at `path`, which has this text.
    pub fn of(option: &str, path: &Path, text: &str) -> Self {
        let name = path.file_name().unwrap_or_default();
        let (sha256, secret_line_count) = sum(text);
        Self {
            option: option.to_owned(),
            name: name.to_string_lossy().into_owned(),
            sha256,
            secret_line_count,
        }
    }

    /// Whether it is the rc file.
    pub fn is_rc(&self) -> bool {
        self.option == RC_OPTION
    }

    /// Whether these bytes are what was read; secrets may have been taken out of them, but
    /// no lines with secrets may have been added.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok_and(|text| {
            let (sha256, secret_line_count) = sum(text);
            sha256 == self.sha256 && secret_line_count <= self.secret_line_count
        })
    }

    /// Why these bytes are not what was read: the beginnings of both sums, or how many
    /// lines with secrets there are.
    pub fn difference(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let (sha256, lines) = sum(&text);
        if sha256 == self.sha256 && lines > self.secret_line_count {
            return format!(
                "it has {lines} lines with secrets, which its sum leaves out; the file which the run read ({}) had {}",
                self.option, self.secret_line_count
            );
        }
        let of_run: String = self.sha256.chars().take(SHOWN_DIGITS).collect();
        let found: String = sha256.chars().take(SHOWN_DIGITS).collect();
        format!(
            "its SHA-256 begins with {found}, that of the file which the run read ({}) with {of_run}",
            self.option
        )
    }
}

/// Digits of a sum that messages show.
const SHOWN_DIGITS: usize = 12;

/// The sum of a text without its lines with secrets, and how many these are.
fn sum(text: &str) -> (String, u32) {
    let (text, left_out) = without_secrets(text);
    let digest = Sha256::digest(text.as_bytes());
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    (hex, left_out)
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_file_where_it_has_no_secret() {
        let file = InputFile::of("MIXFILE", Path::new("mixes/abc"), "abc");
        assert_eq!((file.name.as_str(), file.secret_line_count), ("abc", 0));
        // FIPS 180-4's example.
        assert!(file.sha256.starts_with("ba7816bf8f01cfea414140de5dae2223"));
        assert!(file.is_of(b"abc") && !file.is_of(b"abcd") && !file.is_of(b"\xff"));
        let difference = file.difference(b"");
        assert!(
            difference.contains("e3b0c44298fc,") && difference.contains("ba7816bf8f01"),
            "{difference}"
        );
    }

    #[test]
    fn a_password_is_not_in_the_sum_and_nothing_else_is_left_out() {
        let with = |word: &str| format!("LOAD=1\nPASSWORD={word}\nPROCS=2\n");
        let file = InputFile::of(RC_OPTION, Path::new("sfs_rc"), &with("a"));
        assert_eq!(file.secret_line_count, 1);
        assert!(file.is_rc() && file.is_of(with("b").as_bytes()));
        // The line is removed before the file is given away.
        assert!(file.is_of(b"LOAD=1\nPROCS=2\n"));
        assert!(!file.is_of(b"LOAD=1\nPROCS=3\n"));
    }

    #[test]
    fn nothing_hides_from_the_sum_on_a_line_with_a_secret() {
        let rc = "LOAD=1\nPROCS=2\n";
        let of = |text: &str| InputFile::of(RC_OPTION, Path::new("sfs_rc"), text);
        let secret = format!("{rc}PASSWORD=geheim\n");
        for added in [
            "LOAD=500 # PASSWORD=x\n",
            "X=1 # PASSWORD=\"\nLOAD=500\n",
            "X=1 # PASSWORD=\"\nLOAD=500 # \"\n",
            "PASSWORD=\"\nLOAD=500\n\"\n",
            "PASSWORD=x LOAD=500\n",
        ] {
            let text = format!("{rc}{added}");
            assert!(!of(rc).is_of(text.as_bytes()), "{added}");
            assert!(!of(&secret).is_of(text.as_bytes()), "{added}");
        }
        // Lines with secrets are counted.
        let difference = of(rc).difference(secret.as_bytes());
        assert!(!of(rc).is_of(secret.as_bytes()), "{difference}");
        assert!(
            difference.contains("it has 1 lines with secrets"),
            "{difference}"
        );
        // No value of a secret is in a sum.
        for form in ["PASSWORD=", "# PASSWORD=", "X=1 # PASSWORD=", "X=1 pass="] {
            let sums = ["a", "'b c'"].map(|word| of(&format!("{form}{word}\n")).sha256);
            assert_eq!(sums[0], sums[1], "{form}");
        }
    }
}
