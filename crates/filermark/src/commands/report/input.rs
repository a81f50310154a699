//! The kinds of input of a report, recognized by the first bytes.

use std::io::Read;
use std::path::Path;

/// How many bytes of a file are read.
const START_LEN: u64 = 4096;

/// The kinds of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A run record: lines of JSON, the first of which is the run.
    Record,
    /// XML.
    Xml,
    /// Everything else is read as an sfssum.
    Sfssum,
}

/// The kind of a file.
///
/// # Errors
/// It cannot be read.
pub fn input_kind(path: &Path) -> Result<InputKind, String> {
    let mut start = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(START_LEN).read_to_end(&mut start))
        .map_err(|e| format!("{}: cannot be read: {e}", path.display()))?;
    Ok(kind_of(&start))
}

/// By the first character that is not a blank, after a byte order mark.
fn kind_of(start: &[u8]) -> InputKind {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match start.trim_ascii_start().first() {
        Some(b'{') => InputKind::Record,
        Some(b'<') => InputKind::Xml,
        _ => InputKind::Sfssum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_recognized_by_content() {
        for (start, kind) in [
            (&b"{\"type\":\"run\",\"schema\":1}\n"[..], InputKind::Record),
            (b"\xef\xbb\xbf\n <?xml version='1.0'?>", InputKind::Xml),
            (
                b"    100      100      1.5  29970  299 NFS3 T 4",
                InputKind::Sfssum,
            ),
            (b"", InputKind::Sfssum),
            (b"\xff\xfe\x00", InputKind::Sfssum),
        ] {
            assert_eq!(kind_of(start), kind, "{start:?}");
        }
        let why = input_kind(Path::new("/no/such/file")).unwrap_err();
        assert!(why.starts_with("/no/such/file: cannot be read"), "{why}");
    }
}
