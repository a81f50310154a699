//! Recognizes and reads the submissions of an archive.

use filermark_submission::{Document, ROOT_NAME, XML_LEN_MAX, read_xml};

/// Whether a text has the root element of a submission.
pub(crate) fn looks_like_submission(bytes: &[u8]) -> bool {
    let root = format!("<{ROOT_NAME}");
    let head = &bytes[..bytes.len().min(64 << 10)];
    head.windows(root.len())
        .any(|window| window == root.as_bytes())
}

/// Reads a submission. Messages begin with the line number.
pub(crate) fn parse_submission(bytes: &[u8]) -> Result<Document, String> {
    if bytes.len() > XML_LEN_MAX {
        return Err(format!("larger than {} MiB", XML_LEN_MAX >> 20));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    read_xml(text).map_err(|e| e.to_string())
}
