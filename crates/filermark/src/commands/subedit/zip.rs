//! The zip of `-z` and `.s file.zip`: the one place that knows how an archive is made.

use super::store::write_whole;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Writes an archive with these files, in this order; all of it or nothing.
///
/// # Errors
/// In words: it cannot be packed or written.
pub fn save_zip(path: &Path, files: &[(String, Vec<u8>)]) -> Result<(), String> {
    let archive = pack(files).map_err(|e| format!("{}: cannot be packed: {e}", path.display()))?;
    write_whole(path, &archive)
}

/// The same bytes for the same files: without times.
fn pack(files: &[(String, Vec<u8>)]) -> zip::result::ZipResult<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(name.as_str(), options)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}
