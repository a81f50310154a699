//! Diagrams that are embedded in the page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Largest picture that is put into a page, in bytes.
pub const IMAGE_BYTES_MAX: u64 = 8 << 20;

/// A picture of a known format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    media_type: &'static str,
    bytes: Vec<u8>,
}

impl Image {
    /// Takes the content of the file `name`.
    ///
    /// # Errors
    /// A message: it is too large, or is not a JPEG, PNG or SVG file.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.len() as u64 > IMAGE_BYTES_MAX {
            return Err(format!("{name}: larger than {} MiB", IMAGE_BYTES_MAX >> 20));
        }
        let media_type = media_type(&bytes)
            .ok_or_else(|| format!("{name}: this is neither a JPEG nor a PNG nor an SVG file"))?;
        Ok(Self { media_type, bytes })
    }

    /// The picture as an address that contains it (a data URI). An SVG that is shown by `<img>`
    /// runs no script and loads nothing, whatever it contains.
    pub(super) fn data_uri(&self) -> String {
        format!(
            "data:{};base64,{}",
            self.media_type,
            STANDARD.encode(&self.bytes)
        )
    }
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some("image/jpeg");
    }
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    let head = bytes.get(..bytes.len().min(4096))?;
    let text = String::from_utf8_lossy(head);
    let is_xml = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<');
    (is_xml && text.contains("<svg")).then_some("image/svg+xml")
}
