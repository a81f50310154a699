//! Output of the scripts on the hosts: lines `name=value` between a first and a last line, so
//! that other output of a login shell is ignored. Parses bytes into fields.

use filermark_model::text::sanitize;

/// The line before the fields.
pub(super) const BEGIN: &str = "filermark-answer/1";
/// The line after the fields.
const END: &str = "filermark-answer-end";
/// Longest value that is accepted, in characters.
const VALUE_CHARS_MAX: usize = 500;

/// The fields of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostAnswer(Vec<(String, String)>);

impl HostAnswer {
    /// Finds the answer in the output; `None`: there is no complete one.
    pub fn find(output: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(output);
        let mut lines = text.lines().map(str::trim_end);
        lines.find(|l| *l == BEGIN)?;
        let mut fields = Vec::new();
        for line in lines {
            if line == END {
                return Some(Self(fields));
            }
            if let Some((name, value)) = line.split_once('=') {
                fields.push((name.to_owned(), sanitize(value.trim(), VALUE_CHARS_MAX)));
            }
        }
        None
    }

    /// A field; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(n, _)| n == name);
        found.map_or("", |(_, value)| value)
    }

    /// All fields of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The SHA-256 in a field, as sha256sum, shasum and openssl print it.
    pub fn sha256(&self, name: &str) -> Option<&str> {
        let is_hash = |w: &&str| w.len() == 64 && w.bytes().all(|b| b.is_ascii_hexdigit());
        self.get(name).split_whitespace().find(is_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn an_answer_is_found_within_other_output() {
        let text = format!(
            "Welcome!\nx=9\r\n{BEGIN}\r\nos=Linux\nwhy=a=b\nsum=SHA2-256(stdin)= {HASH}\npid=1\npid=2\n{END}\nx=8\nbye\n"
        );
        let answer = HostAnswer::find(text.as_bytes()).unwrap();
        assert_eq!(answer.get("os"), "Linux");
        assert_eq!(answer.get("why"), "a=b");
        assert_eq!(answer.get("x"), "");
        assert_eq!(answer.sha256("sum"), Some(HASH));
        assert_eq!(answer.sha256("os"), None);
        assert_eq!(answer.all("pid").collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn an_incomplete_answer_is_no_answer() {
        for text in [
            "",
            "os=Linux\n",
            &format!("{BEGIN}\nos=Linux\n"),
            &format!("{END}\n"),
        ] {
            assert_eq!(HostAnswer::find(text.as_bytes()), None, "{text:?}");
        }
    }
}
