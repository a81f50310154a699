//! The build of a program: the sources and the profile that it was made with, and the system that
//! it was made for. Prime and agents are compared by sources and profile, so that programs for
//! different systems can work together.
//!
//! A program declares its build in one text, which is also in its file: so the build of a file
//! for another system is known without running it.

use std::fmt;
use std::io::Read;
use std::sync::OnceLock;

/// The beginning of the text.
pub const BUILD_MARK: &str = "filermark-build/1: ";
/// What precedes the profile in the text.
const PROFILE: &str = "profile=";
/// Digits of a build's name.
pub const BUILD_DIGITS: usize = 16;
/// Longest text behind the mark that is read, in bytes.
const TEXT_LEN_MAX: usize = 200;
/// Bytes of a file that are read at once.
const CHUNK_LEN: usize = 1 << 20;

/// The build of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildMark {
    /// Its name: the beginning of the SHA-256 of its profile and its sources.
    pub sources: String,
    /// The version.
    pub version: String,
    /// The system and the processor that it is for: `linux-x86_64`.
    pub system: String,
    /// The commit of its sources, with `+` if they differ from it; empty: not known.
    pub commit: String,
    /// Cargo's profile: `debug` or `release`, with those that inherit it; empty: not known.
    pub profile: String,
}

impl BuildMark {
    /// Reads the text of a declaration: `filermark-build/1: SOURCES; VERSION; SYSTEM;
    /// COMMIT;profile=PROFILE;`. Programs before 0.2.0 was finished declare no profile.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.strip_prefix(BUILD_MARK)?.split("; ");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        let plain = |field: &str| field.chars().all(is_plain).then(|| field.to_owned());
        let mut next = || plain(fields.next()?);
        let (sources, version, system) = (next()?, next()?, next()?);
        let (commit, rest) = fields.next()?.split_once(';')?;
        // Behind a text without a profile there may be anything.
        let profile = rest
            .strip_prefix(PROFILE)
            .and_then(|rest| plain(rest.split_once(';')?.0));
        let mark = Self {
            sources,
            version,
            system,
            commit: plain(commit)?,
            profile: profile.unwrap_or_default(),
        };
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let is_name = mark.sources.len() == BUILD_DIGITS && mark.sources.chars().all(is_digit);
        is_name.then_some(mark)
    }

    /// Finds the declaration in a program file; `None`: the file has none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn find(file: impl Read) -> std::io::Result<Option<Self>> {
        let mut found = None;
        search(file, BUILD_MARK.as_bytes(), TEXT_LEN_MAX, &mut |at| {
            // Bytes behind it that are no text belong to other constants.
            let text = at.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            found = Self::parse(text);
            found.is_some()
        })?;
        Ok(found)
    }
}

impl fmt::Display for BuildMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "build {}", self.sources)?;
        if !self.commit.is_empty() {
            write!(f, ", commit {}", self.commit)?;
        }
        match self.profile.is_empty() {
            true => Ok(()),
            false => write!(f, ", profile {}", self.profile),
        }
    }
}

/// The advice if two builds of one version and commit differ by their profiles alone, each given
/// as version, commit, profile; `None`: they differ by more, or it is not known.
pub fn profile_advice(one: [&str; 3], other: [&str; 3]) -> Option<&'static str> {
    let [version, commit, profile] = one;
    let is_same = version == other[0] && commit == other[1];
    let is_known = !profile.is_empty() && !other[2].is_empty();
    (is_same && is_known && profile != other[2])
        .then_some("use programs of one profile (--release) for all")
}

static OWN: OnceLock<BuildMark> = OnceLock::new();

/// States the build of this program, once, before any link is made. A text that is not a
/// declaration is ignored: the program is then identified by its file.
pub fn declare(text: &'static str) {
    // The text that is in the file, not a copy that the compiler took apart.
    if let Some(mark) = BuildMark::parse(std::hint::black_box(text)) {
        let _ = OWN.set(mark);
    }
}

/// The build that this program has declared.
pub fn own_mark() -> Option<&'static BuildMark> {
    OWN.get()
}

/// Calls `found` with the bytes from each occurrence of `needle` on, `behind` bytes past it at
/// most, until it returns true. Returns whether it did.
pub(crate) fn search(
    mut file: impl Read,
    needle: &[u8],
    behind: usize,
    found: &mut dyn FnMut(&[u8]) -> bool,
) -> std::io::Result<bool> {
    let whole = needle.len() + behind;
    let mut window: Vec<u8> = Vec::with_capacity(CHUNK_LEN + whole);
    loop {
        let kept = window.len();
        let chunk = file.by_ref().take(CHUNK_LEN as u64);
        match { chunk }.read_to_end(&mut window) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        let is_end = window.len() == kept;
        // What is nearer to the end than this is searched with the next chunk.
        let complete = match is_end {
            true => window.len(),
            false => window.len().saturating_sub(whole - 1),
        };
        let mut from = 0;
        while let Some(next) = position(&window[from..], needle) {
            let at = from + next;
            if at >= complete {
                break;
            }
            if found(&window[at..window.len().min(at + whole)]) {
                return Ok(true);
            }
            from = at + 1;
        }
        if is_end {
            return Ok(false);
        }
        window.drain(..complete);
    }
}

fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(next) = bytes[from..].iter().position(|b| *b == first) {
        from += next;
        if bytes[from..].starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        format!("{BUILD_MARK}0123456789abcdef; 0.2.0; linux-x86_64; 34ae63a3ffff+;")
    }

    #[test]
    fn a_declaration_is_read() {
        let mark = BuildMark::parse(&text()).unwrap();
        assert_eq!(mark.sources, "0123456789abcdef");
        assert_eq!(
            (mark.version.as_str(), mark.system.as_str()),
            ("0.2.0", "linux-x86_64")
        );
        assert_eq!(
            mark.to_string(),
            "build 0123456789abcdef, commit 34ae63a3ffff+"
        );
        let archive = text().replace("34ae63a3ffff+", "");
        let mark = BuildMark::parse(&archive).unwrap();
        assert_eq!(mark.to_string(), "build 0123456789abcdef");
        let named = BuildMark::parse(&format!("{}profile=release;x; y", text())).unwrap();
        assert_eq!(named.profile, "release");
        assert_eq!(
            named.to_string(),
            "build 0123456789abcdef, commit 34ae63a3ffff+, profile release"
        );
        for rest in [
            "profile=release",
            "profile=\u{1b}[2J;",
            "release;",
            "; debug;",
        ] {
            let mark = BuildMark::parse(&format!("{}{rest}", text())).unwrap();
            assert_eq!(mark.profile, "", "{rest}");
        }
    }

    #[test]
    fn only_a_difference_of_the_profile_alone_is_advised_on() {
        let debug = ["0.2.0", "34ae", "debug"];
        let release = ["0.2.0", "34ae", "release"];
        let advice = profile_advice(debug, release).unwrap();
        assert!(advice.contains("--release"), "{advice}");
        for other in [
            debug,
            ["0.2.1", "34ae", "release"],
            ["0.2.0", "34af", "release"],
            ["0.2.0", "34ae", ""],
        ] {
            assert_eq!(profile_advice(debug, other), None, "{other:?}");
            assert_eq!(profile_advice(other, debug), None, "{other:?}");
        }
    }

    #[test]
    fn other_text_is_no_declaration() {
        for text in [
            String::new(),
            BUILD_MARK.to_owned(),
            text().replace("0123456789abcdef", "0123456789abcdeg"),
            text().replace("0123456789abcdef", "0123456789abcde"),
            text().replace("0.2.0", "0\u{1b}[2J"),
            text().replace("+;", ""),
            text().replace("+;", "\u{1b}[2J;"),
            text().replace(" linux-x86_64;", ""),
        ] {
            assert_eq!(BuildMark::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn the_build_of_a_file_is_found_at_any_offset() {
        for before in [
            0,
            1,
            CHUNK_LEN - 40,
            CHUNK_LEN - 10,
            CHUNK_LEN,
            2 * CHUNK_LEN + 5,
        ] {
            let mut bytes = vec![b'f'; before];
            // The pattern of a search is in the file, too.
            bytes.extend_from_slice(BUILD_MARK.as_bytes());
            bytes.extend_from_slice(text().as_bytes());
            bytes.extend_from_slice(&[0xff; 300]);
            let found = BuildMark::find(bytes.as_slice()).unwrap();
            assert_eq!(found.unwrap().system, "linux-x86_64", "{before}");
        }
        assert_eq!(BuildMark::find(&b"none"[..]).unwrap(), None);
    }
}
